package demo

import (
	"context"
	"testing"
	"time"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
)

// remove deletes what a topology declared in the shared node's vhost /.
func remove(t *testing.T, declared topology) {
	t.Helper()
	conn := must.Get(dial(context.Background(), shared.AMQP(), "test"))(t)
	defer closeConnection(conn)
	channel := must.Get(conn.Channel())(t)
	for _, q := range declared.queues {
		_, err := channel.QueueDelete(q.name, false, false, false)
		assert.That(t, err == nil, "%v", err)
	}
	for _, e := range declared.exchanges {
		assert.Succeeds(t, channel.ExchangeDelete(e.name, false, false))
	}
}

// When RunAll says that it is ready, the broker shows every queue, a consumer of each worker, and the failed messages.
func TestRunAllIsReadyWhenComplete(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	ready, ended := make(chan struct{}), make(chan error, 1) // room for the one result
	begin := time.Now()
	go func() { ended <- RunAll(ctx, shared, func() { close(ready) }) }()
	select {
	case <-ready:
	case err := <-ended:
		t.Fatalf("RunAll ended with %v", err)
	}
	t.Logf("ready after %s", time.Since(begin).Round(100*time.Millisecond))
	shown := must.Get(shownQueues(ctx, shared.API()))(t)
	for _, scenario := range Scenarios() {
		assert.Succeeds(t, scenario.complete(shown))
	}
	for _, name := range []string{"RetryQueue", "worker-queue", "worker-queue-5s", "ucenter@user", "user-monitor"} {
		queue, ok := shown[name]
		assert.That(t, ok && *queue.Consumers == 1, "%s is shown as %+v, want one consumer", name, queue)
	}
	failed := shown["ucenter@user@failed"]
	assert.That(t, *failed.Ready >= 12, "ucenter@user@failed has %d messages, want the 12 of the seed", *failed.Ready)
	cancel()
	assert.Succeeds(t, <-ended)
	for _, scenario := range Scenarios() {
		remove(t, scenario.topology)
	}
}

// What is not shown yet is named: a queue that is missing or has no statistics, a worker, the first messages.
func TestCompleteNamesWhatIsMissing(t *testing.T) {
	scenario := Scenario{
		topology: topology{queues: []queue{{name: "work"}, {name: "failed"}}},
		workers:  []worker{{queue: "work"}}, filled: map[string]int{"failed": 3},
	}
	shown := func(consumers, failed int) map[string]shownQueue {
		none := 0
		return map[string]shownQueue{
			"work": {Ready: &none, Consumers: &consumers}, "failed": {Ready: &failed, Consumers: &none},
		}
	}
	withoutCounts := shown(1, 3)
	withoutCounts["work"] = shownQueue{}
	for _, test := range []struct {
		shown map[string]shownQueue
		want  string
	}{
		{map[string]shownQueue{}, "no counts of work"},
		{withoutCounts, "no counts of work"},
		{shown(0, 3), "work has no consumers"},
		{shown(1, 2), "failed has 2 messages, not yet 3"},
		{shown(1, 3), ""},
	} {
		got := ""
		if err := scenario.complete(test.shown); err != nil {
			got = err.Error()
		}
		assert.Equal(t, got, test.want)
	}
}
