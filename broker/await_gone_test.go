package broker_test

import (
	"context"
	"slices"
	"testing"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/dlxtop/dlxtop/broker"
	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/mgmt"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/plan"
)

// TestGoneIsNotWhatIsNotListedYet: the list of connections does not have the newest ones. A program that was killed as
// soon as it published is waited for although the list does not show its connection yet.
func TestGoneIsNotWhatIsNotListedYet(t *testing.T) {
	t.Parallel()
	a := newApp(t)
	queue := a.queue("q", model.Classic)
	source, err := mgmt.New(mgmt.Options{URL: node.API()})
	must.Do(t, err)
	defer source.Close()
	late, err := source.Connections(t.Context())
	must.Do(t, err)
	const session = "NOTLISTEDYET"
	name := "dlxtop replay " + session
	dead, err := amqp.DialConfig(node.AMQP(), amqp.Config{Properties: amqp.Table{"connection_name": name}})
	must.Do(t, err)
	defer dead.Close()
	c := newClient(t, broker.Options{URL: node.AMQP()})
	asked, seen, closed := 0, false, false
	err = c.AwaitGone(t.Context(), &plan.Record{Operation: plan.Replay, Session: session, From: queue},
		func(ctx context.Context) ([]string, error) {
			if asked++; asked <= 3 { // a list that is late
				return late, nil
			}
			names, err := source.Connections(ctx)
			if listed := slices.Contains(names, name); listed && !closed {
				seen, closed = true, true
				assert.Succeeds(t, dead.Close())
			}
			return names, err
		}, queue)
	assert.That(t, err == nil && seen, "it waited for %d lists, and did not see the connection: %v", asked, err)
	if names, err := source.Connections(t.Context()); err != nil || slices.Contains(names, name) {
		t.Errorf("it is still there: %q, %v", names, err)
	}
}
