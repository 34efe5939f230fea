package broker_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/dlxtop/dlxtop/broker"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/model/trace"
)

func TestTapWithoutRights(t *testing.T) {
	a := newApp(t)
	x, worker := a.exchange("x", "fanout", false, nil), a.queue("worker", model.Classic)
	a.bind(worker, x, "", nil)
	topology := topologyNow(t)
	plan := trace.PlanTap(topology, trace.TapWant{VHost: "/", Exchanges: []string{x}})
	of := func(name, rights string) *broker.Client {
		c := newClient(t, broker.Options{URL: user(t, name, rights)})
		return c
	}
	for name, test := range map[string]struct{ rights, says string }{
		"configure": {`{"configure":"","write":".*","read":".*"}`, "declare"},
		"exchange":  {`{"configure":".*","write":".*","read":"^dlxtop"}`, "bind to"},
	} {
		err := of("tap-no-"+name, test.rights).Tap(t.Context(), plan, nil, func(*message.Message, time.Time) {}, nil)
		if err == nil || !strings.Contains(err.Error(), "may not "+test.says) ||
			!strings.Contains(err.Error(), "set_permissions") || strings.Contains(err.Error(), "secret") {
			t.Errorf("without %s it says %v", name, err)
		}
	}
	// Nothing more than what it says that it needs; without a right on the default exchange it cannot count what it
	// misses.
	least := `{"configure":"^dlxtop\\.tap-","write":"^dlxtop\\.tap-","read":"^(dlxtop\\.tap-.*|` + x + `)$"}`
	busy := make(chan struct{})
	plan.MaxMessages = 10
	tap := startTap(a, of("tap-least", least), topology, plan, func() { <-busy })
	a.send(x, "", numbered(1000)...)
	a.until(func() error {
		tap.mu.Lock()
		defer tap.mu.Unlock()
		if tap.counts.MissedWords() == "" {
			return fmt.Errorf("it says nothing of what it misses")
		}
		return nil
	})
	close(busy)
	tap.end()
	awaitNoTap(t)
}
