package broker_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"dlxtop/demo"
	"dlxtop/model"
)

// TestFaultsOfTheNode strikes a whole node, which nobody else uses meanwhile: a stop and start, and an alarm.
func TestFaultsOfTheNode(t *testing.T) {
	t.Parallel()
	n := roughNode(t)
	rounds := sized(1, func(faults int) int { return faults })
	for _, f := range []struct {
		name       string
		operations []model.Operation
		messages   int
		rate       float64 // so that what strikes is there in time; 0: as fast as it goes
		strike     func(t *testing.T, n *demo.Node, begin func())
		check      func(*stage)
	}{
		{"broker stopped and started", both, sized(3000, always(6000)), 0, restart, func(*stage) {}},
		{"memory alarm", []model.Operation{model.Replay}, sized(2000, always(3000)), 1000, alarm, wentOn},
	} {
		t.Run(f.name, func(t *testing.T) {
			var total verdict
			for round := range rounds {
				t.Run(fmt.Sprint(round), func(t *testing.T) {
					var stages []*stage
					for _, operation := range f.operations {
						for _, kind := range kinds {
							s := newStage(t, n, operation, kind, f.messages)
							s.rate = f.rate
							stages = append(stages, s)
						}
					}
					strikeAll(t, n, stages, f.strike)
					for _, s := range stages {
						s.app = newAppOn(t, n) // the old one may have lost its connection
						f.check(s)
						total.add(s.judge())
						s.deleteQueue(s.from.Name)
						s.deleteQueue(s.to.Name)
					}
				})
			}
			t.Log(f.name + ": " + total.String())
		})
	}
}

// strikeAll runs all at once, and strikes them: strike says when they begin.
func strikeAll(t *testing.T, n *demo.Node, stages []*stage, strike func(*testing.T, *demo.Node, func())) {
	t.Helper()
	var running sync.WaitGroup
	strike(t, n, func() {
		for _, s := range stages {
			running.Go(func() { s.run(t) })
		}
	})
	running.Wait()
}

// restart stops the broker as an administrator would, and starts it again.
func restart(t *testing.T, n *demo.Node, begin func()) {
	begin()
	time.Sleep(rand.N(time.Second))
	if err := n.Halt(); err != nil {
		t.Error(err)
	}
	if err := n.Resume(t.Context()); err != nil {
		t.Error(err)
	}
}

// alarm lets the broker believe for a while that it uses too much memory: it then blocks those who publish. rabbitmqctl takes its time, so
// they begin when the broker says that it has begun.
func alarm(t *testing.T, n *demo.Node, begin func()) {
	begun := filepath.Join(t.TempDir(), "begun")
	if err := os.Chmod(filepath.Dir(begun), 0o777); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() {
		_, err := n.Control(context.Background(), "eval", fmt.Sprintf(`
			ok = file:write_file("%s", ""),
			timer:sleep(%d),
			vm_memory_monitor:set_vm_memory_high_watermark(0.000001),
			timer:sleep(%d),
			vm_memory_monitor:set_vm_memory_high_watermark({absolute, "2GB"}).`,
			begun, rand.N(time.Second).Milliseconds(), (300*time.Millisecond+rand.N(time.Second)).Milliseconds()))
		ended <- err
	}()
	for deadline := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
		if _, err := os.Stat(begun); err == nil {
			break
		}
		if time.Now().After(deadline) {
			t.Error("rabbitmqctl did nothing")
			break
		}
	}
	begin()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// wentOn checks that what was blocked was told as waiting, and went on.
func wentOn(s *stage) {
	if !s.account.Complete() || s.account.Waiting != "" {
		s.Errorf("it did not go on: %+v", s.account)
	}
	if !strings.Contains(s.waited, "blocks publishers") {
		s.Errorf("it was told to wait for %q", s.waited)
	}
}
