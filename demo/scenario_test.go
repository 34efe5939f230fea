package demo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	rabbithole "github.com/michaelklishin/rabbit-hole/v2"
	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/manage"
	"github.com/dlxtop/dlxtop/internal/must"
)

func vhost(t *testing.T) (name, amqpURL string) {
	t.Helper()
	name = strings.ToLower(strings.ReplaceAll(t.Name(), "/", "-"))
	return manage.VHost(t, shared.API(), name), shared.AMQP() + name
}

// api returns the node's management API.
func api(t *testing.T) manage.Node {
	t.Helper()
	return manage.Of(t, shared.API())
}

// current returns the queues as they are now, not by the last statistics.
func current(t *testing.T, vhost string) []rabbithole.QueueInfo {
	t.Helper()
	query := url.Values{"disable_stats": {"true"}, "enable_queue_totals": {"true"}}
	return must.Get(api(t).ListQueuesWithParametersIn(vhost, query))(t)
}

// counts reads how many messages are ready in each queue.
func counts(t *testing.T, vhost string) map[string]int {
	t.Helper()
	ready := map[string]int{}
	for _, q := range current(t, vhost) {
		ready[q.Name] = q.MessagesReady
	}

	return ready
}

// declaredIn lists what a vhost has beyond what every vhost has, each on a line.
func declaredIn(t *testing.T, vhost string) []string {
	t.Helper()
	var list []string
	for _, q := range current(t, vhost) {
		delete(q.Arguments, "x-queue-type") // 4.x writes the default in
		arguments, _ := json.Marshal(q.Arguments)
		list = append(list, fmt.Sprintf("queue %s %s\n", q.Name, arguments))
	}

	for _, e := range must.Get(api(t).ListExchangesIn(vhost))(t) {
		if e.Name != "" && !strings.HasPrefix(e.Name, "amq.") {
			list = append(list, fmt.Sprintf("exchange %s %s\n", e.Name, e.Type))
		}
	}

	for _, b := range must.Get(api(t).ListBindingsIn(vhost))(t) {
		if b.Source != "" {
			list = append(list, fmt.Sprintf("binding %s %q %s\n", b.Source, b.RoutingKey, b.Destination))
		}
	}

	slices.Sort(list)
	return list
}

func TestDeclare(t *testing.T) {
	wanted := map[string]string{}
	for _, topology := range must.Cases[struct{ Name, List string }](t, "testdata/topologies.toml") {
		wanted[topology.Name] = topology.List
	}

	for _, scenario := range Scenarios() {
		t.Run(scenario.Name, func(t *testing.T) {
			t.Parallel()
			name, broker := vhost(t)
			begin := time.Now()
			must.Do(t, scenario.Declare(t.Context(), broker))
			t.Logf("declared in %s", time.Since(begin))
			want := slices.Sorted(strings.Lines(wanted[scenario.Name]))
			got := declaredIn(t, name)
			assert.That(t, slices.Equal(got, want),
				"declared:\n%s\nwant:\n%s", strings.Join(got, ""), strings.Join(want, ""))

			if scenario.Name == "lifecycle" {
				return // a second connection would not be let in
			}
			before := counts(t, name)
			assert.Succeeds(t, scenario.Declare(t.Context(), broker))
			after := counts(t, name)
			assert.That(t, total(after) == total(before), "the second Declare changed the messages from %v to %v", before, after)
		})
	}
}

func total(counts map[string]int) (sum int) {
	for _, ready := range counts {
		sum += ready
	}
	return sum
}

// Each scenario's traffic is visible within some seconds: messages enter the queues in which they wait, and leave their
// buffers.
func TestRunMoves(t *testing.T) {
	moves := map[string]struct{ buffer, delivered string }{
		"retry-queue":   {"test-delay", "RetryQueue"},
		"delayed":       {"buffer-queue", "worker-queue"},
		"delayed-retry": {"retry.buffer-queue", "retry.worker-queue"},
		"pubsub":        {"", "ucenter@user"},
		"lifecycle":     {"example.delay.life", "example.delay.heaven"},
	}

	for _, scenario := range Scenarios() {
		t.Run(scenario.Name, func(t *testing.T) {
			t.Parallel()
			name, broker := vhost(t)
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan error, 1) // room for the one result
			go func() { ended <- scenario.Run(ctx, broker) }()

			move := moves[scenario.Name]
			if move.buffer != "" {
				await(t, func(context.Context) error {
					if counts(t, name)[move.buffer] == 0 {
						return fmt.Errorf("nothing waits in %s", move.buffer)
					}
					return nil
				})
			}

			await(t, func(context.Context) error {
				if _, there := counts(t, name)[move.delivered]; !there {
					return fmt.Errorf("no queue %s yet", move.delivered)
				}
				columns := url.Values{"columns": {"name,messages_ready,message_stats"}}
				queue := must.Get(api(t).GetQueueWithParameters(name, move.delivered, columns))(t)
				if queue.MessagesReady == 0 && (queue.MessageStats == nil || queue.MessageStats.Ack == 0) {
					return fmt.Errorf("nothing came to %s", move.delivered)
				}
				return nil
			})

			cancel()
			assert.Succeeds(t, <-ended)
		})
	}
}

// The backlog of pubsub died as often as its worker would have let it, each time by the TTL of its retry queue.
func TestPubsubSeeds(t *testing.T) {
	t.Parallel()
	name, broker := vhost(t)
	scenario := must.Get(ScenarioNamed("pubsub"))(t)
	must.Do(t, scenario.Declare(t.Context(), broker))
	ready := counts(t, name)
	assert.Equal(t, total(ready), 15, "the queues hold %v", ready)
	assert.Equal(t, ready["ucenter@user@failed"], 12)
	assert.Equal(t, ready["ucenter@enterprise@failed"], 3)
	conn := must.Get(dial(t.Context(), broker, "test"))(t)
	defer conn.Close()
	channel := must.Get(conn.Channel())(t)
	d, ok, err := channel.Get("ucenter@user@failed", false)
	must.Do(t, err)
	must.That(t, ok, "nothing to get")
	deaths, _ := d.Headers["x-death"].([]any)
	must.That(t, len(deaths) == 1, "x-death is %v", d.Headers["x-death"])
	death := deaths[0].(amqp.Table)

	// From 4.0 the broker does not continue the count of a republished message.
	want := int64(3)

	if strings.HasPrefix(shared.Version(), "4.") {
		want = 1
	}

	assert.That(t, death["queue"] == "ucenter@user@retry", "the death of a message of %s is %v, want %d", d.Timestamp,
		death, want)
	assert.That(t, death["reason"] == "expired", "the death of a message of %s is %v, want %d", d.Timestamp, death, want)
	assert.That(t, death["count"] == want, "the death of a message of %s is %v, want %d", d.Timestamp, death, want)
	assert.That(t, death["original-expiration"] == nil, "the death of a message of %s is %v, want %d", d.Timestamp, death,
		want)
	assert.Equal(t, death["time"].(time.Time).Sub(d.Timestamp), retryTTL)
	assert.That(t, d.Headers["x-orig-routing-key"] == "user.created", "the message is %+v", d)
	assert.That(t, d.Headers["x-error"] != nil, "the message is %+v", d)
	assert.That(t, d.MessageId != "", "the message is %+v", d)
	assert.That(t, !d.Timestamp.IsZero(), "the message is %+v", d)
	assert.Equal(t, d.ContentType, "application/json")
	assert.Equal(t, d.Expiration, "")
	assert.That(t, json.Valid(d.Body), "the message is %+v", d)
}

// Traffic returns by itself when the broker does.
func TestRunSurvivesLostConnections(t *testing.T) {
	t.Parallel()
	name, broker := vhost(t)
	scenario := must.Get(ScenarioNamed("delayed-retry"))(t)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1) // room for the one result
	go func() { ended <- scenario.Run(ctx, broker) }()
	var before string

	connection := func(context.Context) error {
		connections, err := api(t).ListConnections()
		if err != nil {
			return err
		}
		for _, c := range connections {
			if c.Vhost == name && c.Name != before {
				before = c.Name
				return nil
			}
		}

		return fmt.Errorf("no new connection")
	}

	await(t, connection)

	// The first connection must last until all is declared: then there are consumers.
	await(t, func(context.Context) error {
		columns := url.Values{"columns": {"name,consumers"}}
		queues := must.Get(api(t).ListQueuesWithParametersIn(name, columns))(t)
		if !slices.ContainsFunc(queues, func(q rabbithole.QueueInfo) bool { return q.Consumers > 0 }) {
			return errors.New("no consumer")
		}
		return nil
	})

	n := api(t)
	n.Done(n.CloseConnection(before))
	await(t, connection)
	cancel()
	assert.Succeeds(t, <-ended)
}

func TestRunAllReportsWhatCannotBeDeclared(t *testing.T) {
	conn := must.Get(dial(t.Context(), shared.AMQP(), "test"))(t)
	other := topology{queues: []queue{{name: "test-delay"}}}
	must.Do(t, other.declare(conn))
	closeConnection(conn)
	t.Cleanup(func() { remove(t, other) })
	scenario := must.Get(ScenarioNamed("retry-queue"))(t)
	err := RunAll(t.Context(), shared, nil, scenario)
	must.Fails(t, err, "test-delay")
	assert.Contains(t, err.Error(), "retry-queue")
}

func TestScenarioNamed(t *testing.T) {
	for _, scenario := range Scenarios() {
		got, err := ScenarioNamed(scenario.Name)
		must.That(t, err == nil, "%s: got %q, %v", scenario.Name, got.Name, err)
		assert.Equal(t, got.Name, scenario.Name)
		assert.That(t, got.Summary != "", "%s: got %q, %v", scenario.Name, got.Name, err)
	}

	_, err := ScenarioNamed("nonsense")
	want := `there is no scenario "nonsense"; there are retry-queue, delayed, delayed-retry, pubsub, lifecycle`
	must.That(t, err != nil, "got %v, want %s", err, want)
	assert.Equal(t, err.Error(), want)
}

// remove deletes what a topology declared in the shared node's vhost /.
func remove(t *testing.T, declared topology) {
	t.Helper()
	conn := must.Get(dial(context.Background(), shared.AMQP(), "test"))(t)
	defer closeConnection(conn)
	channel := must.Get(conn.Channel())(t)
	for _, q := range declared.queues {
		_, err := channel.QueueDelete(q.name, false, false, false)
		assert.Succeeds(t, err)
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
		assert.That(t, ok, "%s is shown as %+v, want one consumer", name, queue)
		assert.Equal(t, *queue.Consumers, 1, "%v", name)
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
