package ui

import (
	"context"
	"strings"
	"testing"
	"time"

	"dlxtop/demo"
	"dlxtop/mgmt"
)

// A real broker goes away while the dashboard shows it, and comes back.
func TestRealBrokerIsShownLostAndShownAgain(t *testing.T) {
	node, err := demo.Start(t.Context(), demo.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := node.Stop(); err != nil {
			t.Error(err)
		}
	})
	scenario, err := demo.ScenarioNamed("pubsub")
	if err != nil {
		t.Fatal(err)
	}
	if err := scenario.Declare(t.Context(), node.AMQP()); err != nil {
		t.Fatal(err)
	}
	source, err := mgmt.New(mgmt.Options{URL: node.API(), User: "guest", Password: "guest", Timeout: 5 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	defer source.Close()
	term := newTerminal(t, Options{Source: source, Title: "real", Interval: 200 * time.Millisecond}, 120, 36)
	term.await(node.Version(), "live 200ms", "ucenter@enterprise", "ucenter@user", "user-monitor", "retry 30s", "none !")
	term.press("/", "ucenter@user", keyEnter)
	term.await("ucenter@user@failed", "TTL 30s (argument) → master")

	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := node.Halt(); err != nil {
		t.Fatal(err)
	}
	term.await("! lost", "stale: this is how it was at", "ucenter@user@failed")
	if err := node.Resume(ctx); err != nil {
		t.Fatal(err)
	}
	term.patience = 30 * time.Second
	term.await("live 200ms", "ucenter@user@failed")
	if screen := term.screen(); strings.Contains(screen, "stale") {
		t.Errorf("the broker is back and the screen still says stale:\n%s", screen)
	}
}
