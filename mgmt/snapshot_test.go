package mgmt

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	rabbithole "github.com/michaelklishin/rabbit-hole/v2"
	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/dlxtop/dlxtop/demo"
	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/dial"
	"github.com/dlxtop/dlxtop/internal/manage"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/internal/seed"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/findings"
	"github.com/dlxtop/dlxtop/model/trouble"
)

// poll takes a snapshot that must succeed.
func poll(t *testing.T, c *Client) *model.Snapshot {
	t.Helper()
	return must.Get(c.Snapshot(t.Context()))(t)
}

// pollUntil polls until the snapshot is as wanted: statistics are late.
func pollUntil(t *testing.T, c *Client, what string, wanted func(*model.Snapshot) bool) *model.Snapshot {
	t.Helper()
	var s *model.Snapshot
	must.Await(t, what, func() bool {
		s = poll(t, c)
		return wanted(s)
	})

	return s
}

func find(t *testing.T, s *model.Snapshot, name string) *model.Queue {
	t.Helper()
	for i := range s.Queues {
		if s.Queues[i].Name == name {
			return &s.Queues[i]
		}
	}

	t.Fatalf("queue %s is not in the snapshot", name)
	return nil
}

func declare(t *testing.T, b broker, name, vhost string) demo.Scenario {
	t.Helper()
	scenario := must.Get(demo.ScenarioNamed(name))(t)
	must.Do(t, scenario.Declare(t.Context(), b.AMQP()+vhost))
	return scenario
}

func TestSnapshotHasExactlyWhatWasDeclared(t *testing.T) {
	b := realBroker(t)
	vhost := b.vhost("declared")
	scenario := declare(t, b, "pubsub", vhost)
	c := client(t, Options{URL: b.API(), VHost: vhost})
	s := pollUntil(t, c, "the failed queue's messages are counted", func(s *model.Snapshot) bool {
		failed := find(t, s, "ucenter@user@failed")
		return failed.Ready.Or(0) == 12 && failed.ReadyBytes.Or(0) > 0
	})

	var queues []string
	for _, q := range s.Queues {
		queues = append(queues, q.Name)
		assert.Equal(t, q.VHost, vhost, "queue %+v is not a plain durable classic queue of its vhost", q)
		assert.Equal(t, q.Type, model.Classic, "%v", q)
		assert.That(t, q.Durable, "queue %+v is not a plain durable classic queue of its vhost", q)
		assert.That(t, !q.AutoDelete, "queue %+v is not a plain durable classic queue of its vhost", q)
		assert.That(t, !q.Exclusive, "queue %+v is not a plain durable classic queue of its vhost", q)
		assert.That(t, !q.OwnedByAnother, "queue %+v is not a plain durable classic queue of its vhost", q)
		assert.That(t, !q.SingleActive, "queue %+v is not a plain durable classic queue of its vhost", q)
	}

	wanted := scenario.Queues()
	slices.Sort(queues)
	slices.Sort(wanted)
	assert.Same(t, wanted, queues, "queues (-declared +reported)")
	retry := find(t, s, "ucenter@user@retry")
	delete(retry.Arguments, "x-queue-type") // 4.x adds it
	assert.Same(t, model.Table{
		"x-dead-letter-exchange": "master", "x-dead-letter-routing-key": "ucenter@user", "x-message-ttl": int64(30000),
	}, retry.Arguments, "arguments (-declared +reported)")

	if failed := find(t, s, "ucenter@user@failed"); failed.ReadyBytes.Or(0) <= 0 || failed.Unacked.Or(-1) != 0 ||
		failed.Consumers.Or(-1) != 0 {
		t.Errorf("bytes %s, unacked %s, consumers %s of the failed queue", failed.ReadyBytes, failed.Unacked,
			failed.Consumers)
	}

	wantPubsubBindings(t, s, vhost)
	for _, name := range []string{"master", "master.retry", "master.failed"} {
		assert.That(t, slices.ContainsFunc(s.Exchanges, func(x model.Exchange) bool {
			return x.Name == name && x.Type == "topic"
		}), "exchange %s is not a topic exchange in the snapshot", name)
	}

	assert.That(t, slices.ContainsFunc(s.Exchanges, func(x model.Exchange) bool {
		return x.Name == "" && x.Type == "direct"
	}), "the default exchange is missing")
	assert.Equal(t, cmp.Diff([]string{vhost}, s.VHosts), "", "vhosts %s, missing %q, policies %v", s.VHosts, s.Missing,
		s.Policies)
	assert.Equal(t, len(s.Missing), 0)
	must.That(t, s.Policies != nil, "vhosts %s, missing %q, policies %v", s.VHosts, s.Missing, s.Policies)
	assert.Equal(t, len(s.Policies), 0)
	o := s.Overview
	assert.Equal(t, o.Version.String(), b.Version(), "overview %+v", o)
	assert.Equal(t, o.User, "guest")
	assert.That(t, slices.Contains(o.UserTags, "administrator"), "overview %+v", o)
	assert.That(t, o.Node != "", "overview %+v", o)
	assert.That(t, o.ClusterName != "", "overview %+v", o)
	assert.Equal(t, o.RatesMode, "basic")
	assert.That(t, !o.StatsOff, "overview %+v", o)
	assert.Equal(t, o.ClockSkew.Or(time.Hour), 0)
	checked := must.Get(c.Check(t.Context()))(t)
	assert.NoDiff(t, cmp.Diff(o, checked, cmp.AllowUnexported(model.Opt[time.Duration]{})))
}

// wantPubsubBindings wants exactly the bindings that the scenario pubsub declares.
func wantPubsubBindings(t *testing.T, s *model.Snapshot, vhost string) {
	t.Helper()
	var bindings []string
	for _, binding := range s.Bindings {
		bindings = append(bindings, binding.Source+" "+binding.RoutingKey+" "+binding.Destination)
		assert.Equal(t, binding.VHost, vhost, "binding %+v", binding)
		assert.That(t, !binding.ToExchange, "binding %+v", binding)
		assert.That(t, binding.PropertiesKey != "", "binding %+v", binding)
	}

	slices.Sort(bindings)
	var declared []string
	for service, pattern := range map[string]string{
		"ucenter@user": "user.*", "ucenter@enterprise": "enterprise.*", "user-monitor": "user.*",
	} {
		retry := service + "@retry"
		failed := service + "@failed"
		declared = append(declared, "master "+pattern+" "+service, "master "+service+" "+service,
			"master.retry "+retry+" "+retry, "master.failed "+failed+" "+failed)
	}

	slices.Sort(declared)
	assert.Same(t, declared, bindings, "bindings (-declared +reported)")
}

func TestPoliciesAreJoined(t *testing.T) {
	b := realBroker(t)
	vhost := b.vhost("policies")
	n := b.api()
	policies := []model.Policy{
		{
			VHost: vhost, Name: "alternate", Pattern: "^x$", ApplyTo: "exchanges",
			Definition: model.Table{"alternate-exchange": "amq.fanout"},
		},
		{
			VHost: vhost, Name: "cap", Pattern: "^a$", ApplyTo: "queues",
			Definition: model.Table{"message-ttl": int64(30000)}, Operator: true,
		},
		{
			VHost: vhost, Name: "ttl", Pattern: "^a$", ApplyTo: "queues", Priority: 7,
			Definition: model.Table{"message-ttl": int64(60000), "dead-letter-exchange": "x"},
		},
	}

	for _, p := range policies {
		n.SetPolicy(p.Operator, rabbithole.Policy{
			Vhost: vhost, Name: p.Name, Pattern: p.Pattern, ApplyTo: p.ApplyTo, Priority: int(p.Priority),
			Definition: rabbithole.PolicyDefinition(p.Definition),
		})
	}

	b.queue(vhost, "a", nil)
	b.queue(vhost, "q", amqp.Table{"x-queue-type": "quorum", "x-delivery-limit": 5, "x-single-active-consumer": true})
	internal := amqp.Table{"x-note": amqp.Table{"n": 1.5, "list": []any{int64(1), "two"}}}
	must.Do(t, dial.Channel(t, b.AMQP()+vhost).ExchangeDeclare("x", "topic", true, false, true, false, internal))
	n.Done(n.DeclareExchange(vhost, "y", rabbithole.ExchangeSettings{Type: "headers", Durable: true}))
	n.Done(n.DeclareBinding(vhost, rabbithole.BindingInfo{
		Source: "x", Destination: "y", DestinationType: "exchange", RoutingKey: "k.*",
		Arguments: amqp.Table{"x-match": "all", "count": 3, "share": 0.5},
	}))

	c := client(t, Options{URL: b.API(), VHost: vhost})
	s := pollUntil(t, c, "policies of both queues are reported", func(s *model.Snapshot) bool {
		return find(t, s, "a").OperatorPolicy != "" && find(t, s, "q").DeadLettering.Known()
	})

	a := find(t, s, "a")
	assert.Equal(t, a.Policy, "ttl", "operator policy %q", a.OperatorPolicy)
	assert.Equal(t, a.OperatorPolicy, "cap")
	assert.Same(t, model.Table{"message-ttl": int64(30000), "dead-letter-exchange": "x"},
		a.PolicyDefinition, "effective definition (-wanted +reported)")
	q := find(t, s, "q")
	assert.Equal(t, q.Type, model.Quorum, "quorum queue %+v", q)
	assert.That(t, q.SingleActive, "quorum queue %+v", q)
	assert.Equal(t, q.Policy, "")
	assert.Equal(t, len(q.PolicyDefinition), 0)
	assert.Equal(t, q.DeadLettering.Or(-1), 0)
	limit, ok := q.Arguments.Integer("x-delivery-limit")
	assert.That(t, ok, "arguments of the quorum queue: %v", q.Arguments)
	assert.Equal(t, limit, 5)

	for _, x := range s.Exchanges {
		if x.Name != "x" {
			continue
		}
		assert.Equal(t, x.Policy, "alternate", "exchange %+v", x)
		assert.That(t, x.Internal, "exchange %+v", x)
		assert.Same(t, model.Table{"alternate-exchange": "amq.fanout"}, x.PolicyDefinition, "%v", x)
		assert.Same(t, model.Table{"x-note": model.Table{"n": 1.5, "list": []any{int64(1), "two"}}},
			x.Arguments, "arguments of the exchange (-wanted +reported)")
	}

	slices.SortFunc(s.Policies, func(x, y model.Policy) int { return strings.Compare(x.Name, y.Name) })
	assert.Same(t, policies, s.Policies, "policies (-wanted +reported)")

	i := slices.IndexFunc(s.Bindings, func(b model.Binding) bool { return b.ToExchange })
	must.That(t, i >= 0, "the binding between exchanges is missing")

	assert.Same(t, model.Binding{
		VHost: vhost, Source: "x", Destination: "y", ToExchange: true, RoutingKey: "k.*",
		PropertiesKey: s.Bindings[i].PropertiesKey,
		Arguments:     model.Table{"x-match": "all", "count": int64(3), "share": 0.5},
	}, s.Bindings[i], "binding (-wanted +reported)")
}

func TestAFreshQueueHasNoStatistics(t *testing.T) {
	s := newStage(t)
	s.declare("policy ttl ^fresh 0 message-ttl=60000")
	// On a slow machine, the statistics from its declaration may overtake the poll: then it is not fresh. And right after
	// its start a node lists no queue without statistics (30 to 600 ms, 4.0.5 and 4.3.6).
	var name string
	var q *model.Queue
	tries := 0
	must.Await(t, "a poll sees a queue before its statistics", func() bool {
		tries++
		name = fmt.Sprint("fresh", tries)
		s.queue(name, nil)
		s.publish(name, nil)
		q = find(t, poll(t, s.poll), name)
		return !q.Consumers.Known() && q.Policy != ""
	})

	assert.That(t, !q.DeliverRate.Known(), "a fresh queue knows %+v", q)
	assert.That(t, !q.AckRate.Known(), "a fresh queue knows %+v", q)
	assert.That(t, !q.Acked.Known(), "a fresh queue knows %+v", q)
	assert.That(t, !q.HeadTimestamp.Known(), "a fresh queue knows %+v", q)
	assert.That(t, !q.DeadLettering.Known(), "a fresh queue knows %+v", q)
	assert.Equal(t, q.Ready.Or(-1), 1, "a fresh queue has %s ready and policy %q %v", q.Ready, q.Policy,
		q.PolicyDefinition)
	assert.Equal(t, q.Policy, "ttl")
	assert.Same(t, model.Table{"message-ttl": int64(60000)}, q.PolicyDefinition)

	must.Await(t, "a poll sees a quorum queue before its statistics", func() bool {
		tries++
		s.declare(fmt.Sprint("quorum late", tries))
		s.publish(fmt.Sprint("late", tries), nil)
		q = find(t, poll(t, s.poll), fmt.Sprint("late", tries))
		return !q.Consumers.Known()
	})
	assert.Equal(t, q.Ready.Or(1), 1, "a fresh quorum queue")

	pollUntil(t, s.poll, "the queue's statistics are known", func(s *model.Snapshot) bool {
		q := find(t, s, name)
		return q.Ready.Known() && q.Consumers.Known()
	})
}

func TestCountsAreCurrent(t *testing.T) {
	stage := newStage(t)
	stage.declare("queue c\nquorum q")
	for range 3 {
		stage.publish("c", nil)
	}

	counts := must.Get(stage.poll.Counts(t.Context()))(t)
	got := counts[stage.ref("c")]
	assert.Equal(t, len(counts), 2, "counts %v: they should have the three messages at once", counts)
	assert.Equal(t, got.Ready.Or(-1), 3)
	assert.Equal(t, got.Unacked.Or(-1), 0)
	s := pollUntil(t, stage.poll, "the statistics have the messages",
		func(s *model.Snapshot) bool { return find(t, s, "c").Published.Or(0) == 3 })
	q := find(t, s, "c")
	assert.That(t, !q.Delivered.Known(), "delivered %s, ack rate %s after publishes only", q.Delivered, q.AckRate)
	assert.That(t, !q.AckRate.Known(), "delivered %s, ack rate %s after publishes only", q.Delivered, q.AckRate)
}

func TestExclusiveQueuesAreKnownAsSuch(t *testing.T) {
	stage := newStage(t)
	declare(t, stage.b, "lifecycle", stage.vhost)
	channel, c := stage.channel, stage.poll
	must.Get(channel.QueueDeclare("held", true, true, false, false, nil))(t)
	must.Get(channel.Consume("held", "mine", false, true, false, false, nil))(t)
	head := time.Now().Add(-time.Hour).Truncate(time.Second)
	must.Do(t, channel.Publish("amq.fanout", "", false, false, amqp.Publishing{Timestamp: head}))
	s := pollUntil(t, c, "the consumer is known",
		func(s *model.Snapshot) bool { return find(t, s, "held").Consumers.Or(0) == 1 })
	q := find(t, s, "held")
	assert.That(t, q.ExclusiveHeld, "a queue with an exclusive consumer: %+v", q)
	assert.That(t, !q.OwnedByAnother, "a queue with an exclusive consumer: %+v", q)
	assert.That(t, !q.Exclusive, "a queue with an exclusive consumer: %+v", q)
	assert.That(t, q.AutoDelete, "a queue with an exclusive consumer: %+v", q)
	s = pollUntil(t, c, "the message is counted",
		func(s *model.Snapshot) bool { return find(t, s, "example.delay.life").Ready.Or(0) == 1 })
	q = find(t, s, "example.delay.life")
	assert.That(t, q.OwnedByAnother, "an exclusive queue: %+v", q)
	assert.That(t, q.Exclusive, "an exclusive queue: %+v", q)
	assert.That(t, !q.ExclusiveHeld, "an exclusive queue: %+v", q)

	if !s.Overview.Version.AtLeast(4, 0) { // 4.x does not look into the queue for it
		s = pollUntil(t, c, "the head's timestamp is known",
			func(s *model.Snapshot) bool { return find(t, s, "example.delay.life").HeadTimestamp.Known() })
		got := find(t, s, "example.delay.life").HeadTimestamp.Or(time.Time{})
		assert.That(t, got.Equal(head), "the head's timestamp is %s, not %s", got, head)
	}
}

func TestAUserSeesOnlyItsVHosts(t *testing.T) {
	b := realBroker(t)
	mine, other := b.vhost("mine"), b.vhost("other")
	b.queue(mine, "q", nil)
	b.queue(other, "q", nil)
	manage.User(t, b.API(), "narrow", "management", mine)
	s := poll(t, client(t, Options{URL: b.as("narrow", manage.Password)}))
	assert.List(t, s.VHosts, []string{mine})
	assert.Equal(t, len(s.Queues), 1, "vhosts %s, queues %v, missing %q", s.VHosts, s.Queues, s.Missing)
	assert.Equal(t, len(s.Missing), 0)
	o := s.Overview
	assert.Equal(t, o.User, "narrow", "overview %+v", o)
	assert.List(t, o.UserTags, []string{"management"})
	assert.That(t, o.Version.Known(), "overview %+v", o)
	all := poll(t, client(t, Options{URL: b.API()}))
	assert.That(t, slices.Contains(all.VHosts, mine), "an administrator's vhosts are %s", all.VHosts)
	assert.That(t, slices.Contains(all.VHosts, other), "an administrator's vhosts are %s", all.VHosts)
	assert.That(t, slices.IsSorted(all.VHosts), "an administrator's vhosts are %s", all.VHosts)
	one := poll(t, client(t, Options{URL: b.API(), VHost: other}))
	elsewhere := func(x model.Exchange) bool { return x.VHost != other }
	must.Equal(t, len(one.Queues), 1, "restricted to one vhost: %+v", one)
	assert.Equal(t, one.Queues[0].VHost, other)
	assert.That(t, !slices.ContainsFunc(one.Exchanges, elsewhere), "restricted to one vhost: %+v", one)
}

// What one broker reports is not mixed with what another one reported before.
func TestAnotherClusterAtTheSameAddress(t *testing.T) {
	b := realBroker(t)
	var moved atomic.Bool
	c := client(t, Options{URL: b.before(func(path string, body []byte) []byte {
		if moved.Load() {
			return regexp.MustCompile(`"cluster_name":"[^"]*"`).ReplaceAll(body, []byte(`"cluster_name":"another@one"`))
		}
		return body
	})})

	poll(t, c)
	moved.Store(true)
	_, err := c.Snapshot(t.Context())
	connect := connectError(t, err)
	assert.Equal(t, connect.Kind, trouble.TwoBrokers, "%v", err)
	assert.Contains(t, connect.Cause, "another@one now")
	moved.Store(false)
	poll(t, c)
}

func TestOneOddElementLosesOnlyItself(t *testing.T) {
	b := realBroker(t)
	vhost := b.vhost("odd")
	for _, name := range []string{"a", "b", "c"} {
		b.queue(vhost, name, amqp.Table{"x-message-ttl": 1000})
	}

	type expected struct {
		Name, List, Element string
		Instead             string         // JSON; "": the element, with other values
		Values              map[string]any // in JSON; "": gone
		Queues              int
		Missing             []string
	}
	must.Run(t, "testdata/odd_elements.toml", func(t *testing.T, test expected) {
		changed := b.before(func(path string, body []byte) []byte {
			switch {
			case !strings.Contains(path, "/api/"+test.List):
				return body
			case test.Element == "":
				return []byte("<html>")
			}

			return damage(t, body, test.Element, func(element map[string]any) any {
				if test.Instead != "" {
					return json.RawMessage(test.Instead)
				}
				maps.Copy(element, test.Values)
				maps.DeleteFunc(element, func(_ string, value any) bool { return value == "" })
				return element
			})
		})

		s := poll(t, client(t, Options{URL: changed, VHost: vhost}))
		must.Equal(t, len(s.Queues), test.Queues, "queues, missing %q", s.Missing)
		must.Equal(t, len(s.Missing), len(test.Missing))

		for i, words := range test.Missing {
			assert.That(t, strings.HasPrefix(s.Missing[i], words), "missing %q, want %q", s.Missing[i], words)
		}

		assert.That(t, test.Element != "" || s.Bindings == nil, "bindings that could not be read are not nil")
	})
}

// What is said about routes must hold for all bindings.
func TestOneOddBindingLosesAll(t *testing.T) {
	stage := newStage(t)
	stage.declare("queue a\nbind amq.topic k a")
	for _, odd := range []string{`1`, `[]`, `{"source":{}}`, `{"source":"x","destination":"a","arguments":"none"}`} {
		changed := stage.b.before(func(path string, body []byte) []byte {
			if !strings.Contains(path, "/api/bindings") {
				return body
			}
			return append(bytes.TrimSuffix(bytes.TrimSpace(body), []byte("]")), ","+odd+"]"...)
		})

		s := poll(t, client(t, Options{URL: changed, VHost: stage.vhost}))
		assert.That(t, s.Bindings == nil, "%s: bindings %v, missing %q", odd, s.Bindings, s.Missing)
		must.Equal(t, len(s.Missing), 1, "%v", odd)
		assert.That(t, strings.HasPrefix(s.Missing[0], "bindings: "), "%s: bindings %v, missing %q", odd, s.Bindings,
			s.Missing)
	}

	if s := poll(t, stage.poll); len(s.Bindings) != 1 {
		t.Errorf("as reported: %v", s.Bindings)
	}
}

// The demo's node keeps statistics, so only its overview is changed; the lists come from the real node, requested as
// from a node without statistics.
func TestCountsWithoutStatistics(t *testing.T) {
	stage := newStage(t)
	stage.declare("policy ttl ^c$ 0 message-ttl=60000\nqueue c")
	stage.publish("c", nil)

	changed := stage.b.before(func(path string, body []byte) []byte {
		if strings.HasSuffix(path, "/api/overview") {
			return []byte(strings.Replace(string(body), `"disable_stats":false`, `"disable_stats":true`, 1))
		}
		return body
	})

	s := poll(t, client(t, Options{URL: changed, VHost: stage.vhost}))
	q := find(t, s, "c")
	assert.That(t, s.Overview.StatsOff, "stats off %t, missing %q, queue %+v", s.Overview.StatsOff, s.Missing, q)
	assert.Equal(t, q.Ready.Or(-1), 1)
	assert.That(t, !q.Consumers.Known(), "stats off %t, missing %q, queue %+v", s.Overview.StatsOff, s.Missing, q)
	must.Equal(t, len(s.Missing), 1)
	assert.Contains(t, s.Missing[0], "switched off")
	assert.Equal(t, q.Policy, "ttl", "%v: the policy list should have its definition", q.PolicyDefinition)
	assert.Same(t, model.Table{"message-ttl": int64(60000)}, q.PolicyDefinition)
}

// RabbitMQ accepts a queue whose arguments are nested deeper than encoding/json reads. It must not hide the others.
func TestADeepQueueHidesNoOther(t *testing.T) {
	b := realBroker(t)
	vhost := b.vhost("deep")
	b.queue(vhost, "a", amqp.Table{"x-message-ttl": 1000})
	deep := []any{}
	for range 10_100 {
		deep = []any{deep}
	}
	must.Get(dial.Channel(t, b.AMQP()+vhost).QueueDeclare("d", true, false, false, false, amqp.Table{
		"x-message-ttl": 2000, "x-deep": deep,
	}))(t)

	c := client(t, Options{URL: b.API(), VHost: vhost, Timeout: 60 * time.Second})
	s := poll(t, c)
	must.Equal(t, len(s.Queues), 2, "queues, missing %q", s.Missing)
	must.Equal(t, len(s.Missing), 0)

	for name, ttl := range map[string]int64{"a": 1000, "d": 2000} {
		q := find(t, s, name)
		assert.That(t, q.Arguments["x-message-ttl"] == ttl, "queue %s has %v", name, q.Arguments["x-message-ttl"])
	}

	counts := must.Get(c.Counts(t.Context()))(t)
	assert.Equal(t, len(counts), 2, "%v", counts)
}

func TestClockOfOneAnswer(t *testing.T) {
	const header = "Fri, 20 Nov 2026 08:52:38 GMT"
	at := time.Date(2026, 11, 20, 8, 52, 38, 0, time.UTC)
	for _, test := range []struct {
		header string
		now    time.Time
		want   model.Opt[time.Duration]
		within time.Duration
	}{
		{header, at.Add(900 * time.Millisecond), model.Some(time.Duration(0)), 0},
		// the server's date is up to two seconds old
		{header, at.Add(1900 * time.Millisecond), model.Some(time.Duration(0)), 0},
		{header, at.Add(-5 * time.Second), model.Some(6 * time.Second), time.Second},
		{header, at.Add(time.Hour + 500*time.Millisecond), model.Some(-time.Hour + 500*time.Millisecond), time.Second},
		{"", at, model.Unknown[time.Duration](), 0},
		{"yesterday", at, model.Unknown[time.Duration](), 0},
	} {
		var c clock
		c.measure(test.header, test.now, test.now)
		got, within := c.ahead()
		assert.Equal(t, got, test.want, "%q at %s: ± %s, want ± %s", test.header, test.now, within, test.within)
		assert.Equal(t, within, test.within, "%v", test.header)
	}
}

// Many answers are more precise than one: the true value is within the bounds, half a second either way. A clock that
// is set is followed at once.
func TestClockOfManyAnswers(t *testing.T) {
	random := seed.Rand(t)
	for _, ahead := range []time.Duration{0, 400 * time.Millisecond, 3*time.Minute + 12*time.Second +
		345*time.Millisecond, -time.Hour, 26 * time.Hour} {
		phase := time.Duration(random.Int64N(int64(time.Second)))
		now := time.Date(2026, 11, 20, 8, 52, 38, 0, time.UTC)
		var c clock
		answers := func(ahead time.Duration, n int) {
			for range n {
				now = now.Add(time.Duration(random.Int64N(int64(3 * time.Second))))
				took := time.Duration(random.Int64N(int64(80 * time.Millisecond)))
				theirs := now.Add(took / 2).Add(ahead)
				written := theirs.Add(-phase).Truncate(time.Second).Add(phase) // when the server's timer last ran
				c.measure(written.UTC().Format(http.TimeFormat), now, now.Add(took))
			}
		}

		check := func(ahead time.Duration, most time.Duration) {
			t.Helper()
			got, within := c.ahead()
			skew := got.Or(1 << 62)
			assert.That(t, (skew-ahead).Abs() <= within || skew == 0 && ahead.Abs() <= time.Second, "%s: %s ± %s", ahead, skew,
				within)
			assert.That(t, within <= most, "%s: %s ± %s", ahead, skew, within)
		}

		answers(ahead, 1)
		check(ahead, 1100*time.Millisecond)
		answers(ahead, 100)
		check(ahead, 600*time.Millisecond)
		answers(ahead+time.Minute, 1)
		check(ahead+time.Minute, 1100*time.Millisecond)
		answers(ahead+time.Minute, 1000)
		check(ahead+time.Minute, 600*time.Millisecond)
	}
}

// A real broker whose answers are dated 3 minutes and 12 seconds back, as if its clock were behind.
func TestClockOfARealBroker(t *testing.T) {
	const behind = 3*time.Minute + 12*time.Second
	proxy := realBroker(t).proxy(nil)
	same := proxy.ModifyResponse
	proxy.ModifyResponse = func(r *http.Response) error {
		date, err := http.ParseTime(r.Header.Get("Date"))
		if err != nil {
			return err
		}
		r.Header.Set("Date", date.Add(-behind).UTC().Format(http.TimeFormat))
		return same(r)
	}

	address := served(t, proxy.ServeHTTP)
	began := time.Now()
	s := poll(t, client(t, Options{URL: address}))
	most := time.Second + time.Since(began) // the header's precision, and how long the answers took
	got := s.Overview.ClockSkew.Or(0)
	assert.That(t, (got+behind).Abs() <= s.Overview.ClockWithin && s.Overview.ClockWithin <= most,
		"the broker's clock is %s ± %s ahead, want -%s", got, s.Overview.ClockWithin, behind)
	found := findings.Of(model.NewTopology(s))
	skewed := func(f findings.Finding) bool { return f.Code == "clock-skew" }
	assert.That(t, slices.ContainsFunc(found, skewed), "findings: %+v", found)
}

// Statistics are 5 s behind the policies: a poll shows what the policies say, never the settings before.
func TestPoliciesAreCurrent(t *testing.T) {
	s := newStage(t)
	ttl := func(queue string) string {
		ref := s.ref(queue)
		return model.NewTopology(poll(t, s.poll)).Settings(ref).TTL.String()
	}

	n := s.b.api()
	set := func(operator bool, name, pattern string, priority, ms int) {
		n.SetPolicy(operator, rabbithole.Policy{
			Vhost: s.vhost, Name: name, Pattern: pattern, ApplyTo: "queues", Priority: priority,
			Definition: rabbithole.PolicyDefinition{"message-ttl": ms},
		})
	}

	for _, kind := range []string{"classic", "quorum"} {
		s.queue(kind, amqp.Table{"x-queue-type": kind})
		pollUntil(t, s.poll, "statistics know "+kind, func(p *model.Snapshot) bool {
			q := find(t, p, kind)
			return q.PolicyDefinition != nil && q.Consumers.Known()
		})

		pattern := "^" + kind + "$"
		assert.Equal(t, ttl(kind), "not set", "%s without a policy", kind)
		set(false, kind, pattern, 0, 3_600_000)
		assert.Equal(t, ttl(kind), "1h (policy "+kind+")", "%s with a policy", kind)
		set(false, kind, pattern, 0, 5000)
		assert.Equal(t, ttl(kind), "5s (policy "+kind+")", "%s with another definition", kind)
		set(false, kind+"-high", pattern, 1, 7000)
		assert.Equal(t, ttl(kind), "7s (policy "+kind+"-high)", "%s with another policy", kind)
		set(true, kind+"-cap", pattern, 0, 2000)
		assert.Equal(t, ttl(kind), "2s (operator policy "+kind+"-cap)", "%s with an operator policy", kind)
		n.Done(n.DeleteOperatorPolicy(s.vhost, kind+"-cap"))
		assert.Equal(t, ttl(kind), "7s (policy "+kind+"-high)", "%s without the operator policy", kind)
		n.Done(n.DeletePolicy(s.vhost, kind+"-high"))
		n.Done(n.DeletePolicy(s.vhost, kind))
		assert.Equal(t, ttl(kind), "not set", "%s without policies", kind)
	}
}
