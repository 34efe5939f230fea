package broker_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/dlxtop/dlxtop/demo"
	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/internal/seed"
	"github.com/dlxtop/dlxtop/internal/size"
	"github.com/dlxtop/dlxtop/model/plan"
)

// TestFaultsOfTheNode strikes a whole node, which nobody else uses meanwhile: a stop and start, and an alarm.
func TestFaultsOfTheNode(t *testing.T) {
	size.Long(t)
	t.Parallel()
	n := roughNode(t)
	rounds := size.Rounds(1)
	for _, f := range []struct {
		name       string
		operations []plan.Operation
		messages   int
		rate       float64 // so that it is still under way when it is struck; 0: as fast as it goes
		strike     func(t *testing.T, n *demo.Node, stages []*stage, begin func())
		check      func(*stage)
	}{
		{"broker stopped and started", both, size.Of(1500, 6000), 500, restart, func(*stage) {}},
		{"memory alarm", []plan.Operation{plan.Replay}, size.Of(1500, 3000), 1000, alarm, wentOn},
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
					struck := 0
					for _, s := range stages {
						s.app = newAppOn(t, n) // the old one may have lost its connection
						f.check(s)
						v := s.judge()
						total.add(v)
						struck += v.struck
						s.deleteQueue(s.from.Name)
						s.deleteQueue(s.to.Name)
					}
					assert.That(t, struck != 0, "all was over before it was struck")
				})
			}
			t.Log(f.name + ": " + total.String())
		})
	}
}

// strikeAll runs all at once, and strikes them: strike says when they begin.
func strikeAll(
	t *testing.T,
	n *demo.Node,
	stages []*stage,
	strike func(*testing.T, *demo.Node, []*stage, func()),
) {
	t.Helper()
	var running sync.WaitGroup
	strike(t, n, stages, func() {
		for _, s := range stages {
			running.Go(func() { s.run(t) })
		}
	})
	running.Wait()
}

// restart stops the broker as an administrator would, and starts it again. That begins when some messages of a stage
// are moved.
func restart(t *testing.T, n *demo.Node, stages []*stage, begin func()) {
	begin()
	some := 1 + seed.Rand(t).IntN(stages[0].n/2)
	stages[0].until(func() error {
		if moved, _, ended := stages[0].progress(); !ended && moved < some {
			return fmt.Errorf("%d of %d were moved", moved, some)
		}
		return nil
	})
	assert.Succeeds(t, n.Halt())
	assert.Succeeds(t, n.Resume(t.Context()))
}

// alarm lets the broker believe for a while that it uses too much memory: it then blocks those who publish. That begins
// when some messages of each stage are moved, and ends a moment after each was told to wait. rabbitmqctl takes its
// time, so it is there before they begin, and does what it is told by files.
func alarm(t *testing.T, n *demo.Node, stages []*stage, begin func()) {
	dir := t.TempDir()
	must.Do(t, os.Chmod(dir, 0o777))
	here, raise, lift := filepath.Join(dir, "here"), filepath.Join(dir, "raise"), filepath.Join(dir, "lift")
	ended := make(chan error, 1)
	go func() {
		_, err := n.Control(context.Background(), "eval", fmt.Sprintf(`
			Await = fun Await(File, Left) ->
				case filelib:is_file(File) orelse Left =:= 0 of true -> ok; false -> timer:sleep(5), Await(File, Left - 1) end
			end,
			ok = file:write_file(%q, ""),
			Await(%q, %[4]d),
			vm_memory_monitor:set_vm_memory_high_watermark(0.000001),
			Await(%[3]q, %[4]d),
			vm_memory_monitor:set_vm_memory_high_watermark({absolute, "2GB"}).`,
			here, raise, lift, patience/(5*time.Millisecond)))
		ended <- err
	}()
	r := seed.Rand(t)
	some := r.IntN(stages[0].n / 2)
	all := func(what string, holds func(moved int, waited string) bool) {
		t.Helper()
		stages[0].until(func() error {
			for _, s := range stages {
				if moved, waited, ended := s.progress(); !ended && !holds(moved, waited) {
					return fmt.Errorf("%s: %s: %d moved, waiting for %q", what, s.from, moved, waited)
				}
			}
			return nil
		})
	}
	tell := func(file string) {
		t.Helper()
		must.Do(t, os.WriteFile(file, nil, 0o600))
	}
	stages[0].until(func() error {
		_, err := os.Stat(here)
		return err
	})
	begin()
	all("before the alarm", func(moved int, _ string) bool { return moved >= some })
	tell(raise)
	all("in the alarm", func(_ int, waited string) bool { return strings.Contains(waited, blocked) })
	time.Sleep(seed.Within(r, time.Second))
	tell(lift)
	assert.Succeeds(t, <-ended)
}

const blocked = "blocks publishers" // is said of an alarm

// wentOn checks that what was blocked was told as waiting, and went on.
func wentOn(s *stage) {
	if !s.account.Complete() || s.account.Waiting != "" {
		s.Errorf("it did not go on: %+v", s.account)
	}
	if !strings.Contains(s.under.waited, blocked) {
		s.Errorf("it was told to wait for %q", s.under.waited)
	}
}
