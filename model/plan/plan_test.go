package plan

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/build"
	"github.com/dlxtop/dlxtop/model/filter"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/model/target"
)

func TestReplayGoesTheNarrowestWay(t *testing.T) {
	// a failed message of the pubsub system: first published to master with user.create, which also reaches user-monitor
	failed := message.Message{
		Exchange: "master.failed", RoutingKey: "ucenter@user",
		Headers:    model.Table{"x-death": []any{}, "x-orig-routing-key": "user.create", "CC": []any{"z"}},
		Properties: message.Properties{Expiration: "50", UserID: "somebody", MessageID: "m1"},
		Deaths: []message.Death{{
			Queue: "ucenter@user@retry", Reason: model.Expired, Count: 3,
			Exchange: "master.retry", RoutingKeys: []string{"ucenter@user"},
		}},
	}

	want := replayOf("ucenter@user@failed", "auto", failed)
	want.User = "guest"
	plan := newRun(build.TopologyOf("3.10.8", build.ScenarioParts["pubsub"]...), want)
	must.Equal(t, plan.Refusal.Words(), "")
	assert.Equal(t, plan.Ways[0].Address, model.Address{Exchange: "master", RoutingKey: "ucenter@user"}, "it goes to")
	assert.NoDiff(t, cmp.Diff(
		[]Recipient{{Queue: build.Ref("ucenter@user"), Consumers: build.Some(1), Messages: 1}},
		plan.Recipients, cmp.AllowUnexported(model.Opt[int64]{})))
	assert.Same(t, []string{"CC", "expiration", "user_id", "x-death"}, plan.Strips)
	got := must.Get(plan.Publishing(&failed))(t)
	assert.Same(t, message.Publishing{
		Address: model.Address{Exchange: "master", RoutingKey: "ucenter@user"},
		Headers: model.Table{"x-orig-routing-key": "user.create"}, Properties: message.Properties{MessageID: "m1"},
		Reaches: build.Refs("ucenter@user"),
	}, got)
}

func TestReplayToItsOriginWhenThatIsNarrow(t *testing.T) {
	topology := build.Described("3.10.8",
		`
			exchange direct orders
			queue orders consumers=1 dlx=dead
			bind orders created orders
			exchange fanout dead
			queue orders.dlq
			bind dead orders.dlq
		`)

	m := message.Message{
		Exchange: "dead", RoutingKey: "created",
		Deaths: []message.Death{{
			Queue: "orders", Reason: model.Rejected, Count: 1, Exchange: "orders", RoutingKeys: []string{"created"},
		}},
	}

	plan := newRun(topology, replayOf("orders.dlq", "", m))
	want := (model.Address{Exchange: "orders", RoutingKey: "created"})
	must.Equal(t, len(plan.Ways), 1, "goes to %+v, want %v", plan.Ways, want)
	must.Equal(t, plan.Ways[0].Address, want)
}

// What a plan says of a replay: why it is refused, or what it warns of.
func TestReplayIsRefusedOrWarns(t *testing.T) {
	type expected struct {
		Name, From, To, Refusal, Warning string
		Parts                            build.Part
	}
	must.Run(t, "testdata/replays.toml", func(t *testing.T, test expected) {
		topology := build.TopologyOf("3.10.8", build.ScenarioParts["pubsub"]...)
		if test.Parts != nil {
			topology = build.TopologyOf("3.10.8", test.Parts)
		}

		plan := newRun(topology, wantTo(t, topology, test.From, test.To, message.Message{}))
		assert.Contains(t, plan.Refusal.Words(), test.Refusal, "refusal")
		assert.Contains(t, warnedOf(plan.Warnings), test.Warning, "warnings")
	})
}

func TestPublishingRefusesWhomThePlanDoesNotName(t *testing.T) {
	topology := build.TopologyOf("3.10.8", build.ScenarioParts["pubsub"]...)
	m := message.Message{Exchange: "master.failed", RoutingKey: "ucenter@user"}
	plan := newRun(topology, replayOf("ucenter@user@failed", "", m))
	plan.Recipients = nil
	_, err := plan.Publishing(&message.Message{})
	assert.Fails(t, err, "ucenter@user")
}

func TestParseTarget(t *testing.T) {
	tests := []struct {
		to   string
		mode target.Mode
		want model.Address
	}{
		{"", target.ToAuto, model.Address{}},
		{"auto", target.ToAuto, model.Address{}},
		{"origin", target.ToOrigin, model.Address{}},
		{"queue:a:b/c", target.ToQueue, model.Address{Exchange: "", RoutingKey: "a:b/c"}},
		{"exchange:x/k/l", target.ToExchange, model.Address{Exchange: "x/k/l"}},
		{"exchange:x", target.ToExchange, model.Address{Exchange: "x", RoutingKey: ""}},
	}

	for _, test := range tests {
		mode, address, err := target.Parse(test.to, model.Unknown[string]())
		must.That(t, err == nil, "%q: %v %v %v", test.to, mode, address, err)
		assert.Equal(t, mode, test.mode, "%v", test.to)
		assert.Equal(t, address, test.want, "%v", test.to)
	}

	for _, bad := range []string{"queue:", "somewhere", "exchange:"} {
		_, _, err := target.Parse(bad, model.Unknown[string]())
		assert.That(t, err != nil, "%q is accepted", bad)
	}
}

// wantTo is replayOf for any target.
func wantTo(t testing.TB, topology *model.Topology, from, to string, sample ...message.Message) ActionWant {
	t.Helper()
	want := replayOf(from, to, sample...)
	want.Planned = max(len(sample), 1)
	if want.Mode == target.ToExchange {
		want.Fixed = must.Get(target.Split(topology, want.From, want.Fixed.Exchange))(t)
	}
	return want
}

// How names of exchanges and keys with slashes are parsed, and how a plan writes them.
func TestSplitTarget(t *testing.T) {
	type expected struct {
		Name, Typed, Want, To string
		Parts                 build.Part
	}

	for _, test := range must.Cases[expected](t, "testdata/split_targets.toml") {
		topology := build.TopologyOf("4.0.5", test.Parts)
		a, err := target.Split(topology, build.Ref("f"), test.Typed)
		got := a.Exchange + " " + a.RoutingKey
		assert.That(t, err != nil || got == test.Want, "%s: %q, %v", test.Name, got, err)
		assert.That(t, err == nil || strings.Contains(err.Error(), test.Want), "%s: %q, %v", test.Name, got, err)

		if err == nil {
			p := New(topology, wantTo(t, topology, "f", "exchange:"+test.Typed))
			assert.Equal(t, p.To(), test.To, "%s: the plan", test.Name)
		}
	}

	topology := build.Described("4.0.5", `
		exchange direct api
		exchange direct api/v1
		queue q
		queue f
		bind api v1/order q
		bind api/v1 order q
	`)
	want := wantTo(t, topology, "f", "exchange:api")
	want.Fixed.RoutingKey = "v1/order"
	p := New(topology, want)
	assert.Equal(t, p.To(), `exchange:api --key v1/order`, "the plan")
}

func selected(t *testing.T, s Selection, messages []message.Message) (picked []int, p *Picker) {
	t.Helper()
	p = s.Picker(model.QueueRef{})
	for i := range messages {
		if p.Pick(&messages[i]) {
			picked = append(picked, i+1)
		}
	}

	assert.That(t, p.Picked() == len(picked), "%d picked, it says %d", len(picked), p.Picked())
	return picked, p
}

func TestSelection(t *testing.T) {
	ids := []string{"a", "b", "b", "c", "b"}
	prints := []message.Fingerprint{{1}} // one that is gone
	messages := make([]message.Message, len(ids))
	for i, id := range ids {
		messages[i] = message.Message{
			Properties: message.Properties{MessageID: id}, Body: []byte(id), Headers: model.Table{"error": "KeyError: no " + id},
		}
		messages[i].Fingerprint = message.FingerprintOf(&messages[i])
		prints = append(prints, messages[i].Fingerprint)
	}

	type expected struct {
		Name      string
		Selection Selection
		Chosen    []int  // by position; 0: one that is gone
		Condition string // its filter
		Picked    []int
		Done      bool
		Missing   int
		All, Each bool
	}

	must.Run(t, "testdata/selection.toml", func(t *testing.T, test expected) {
		if test.Chosen != nil {
			test.Selection.Fingerprints = message.Twins{}
		}
		for _, position := range test.Chosen {
			test.Selection.Fingerprints[prints[position]]++
		}
		if test.Condition != "" {
			test.Selection.Filter = must.Get(filter.ParseExpression(test.Condition))(t)
		}

		picked, p := selected(t, test.Selection, messages)
		assert.List(t, picked, test.Picked)
		assert.Equal(t, p.Done(), test.Done, "picked %v, done %v, missing %d", picked, p.Done(), p.Missing())
		assert.Equal(t, p.Missing(), test.Missing)
		assert.Equal(t, test.Selection.All(), test.All, "all %v, one by one %v", test.Selection.All(),
			test.Selection.OneByOne())
		assert.Equal(t, test.Selection.OneByOne(), test.Each)
	})
}

// deadMessage returns a message with a history, and with everything that a move must leave behind.
func deadMessage() message.Message {
	m := message.Message{
		Exchange: "dead", RoutingKey: "k", Body: []byte("a body"), BodyBytes: 6,
		Properties: message.Properties{MessageID: "m1", Expiration: "50", UserID: "somebody", DeliveryMode: 2},
		Headers: model.Table{
			"x-death": []any{model.Table{
				"queue": "w", "reason": "rejected", "count": int64(3), "exchange": "", "routing-keys": []any{"w"},
			}},
			"x-first-death-queue": "w", "x-last-death-queue": "w", "x-delivery-count": int64(2), "x-acquired-count": int64(2),
			"CC": []any{"z"}, "BCC": []any{"y"}, "own": "kept", message.ReplayHeader: model.Table{"count": int64(1)},
		},
	}

	m.Deaths, m.DeathsError = message.ParseDeaths(m.Headers)
	m.Fingerprint = message.FingerprintOf(&m)
	return m
}

func moveWant(to string, sample ...message.Message) ActionWant {
	want := moveOf("f", to, sample...)
	want.User, want.Mark = "guest", true
	return want
}

func TestMoveKeepsTheDeathHistoryWhereNothingCountsIt(t *testing.T) {
	topology := build.Described("3.10.8", `
		queue f ready=1
		queue parking consumers=0
		queue counter consumers=1
		queue worker dlx=
		queue ruled policy=p,dead-letter-exchange=x
	`)
	always := []string{"BCC", "CC", "expiration", "user_id", "x-acquired-count", "x-delivery-count"}
	deaths := []string{"x-death", "x-first-death-queue", "x-last-death-queue"}
	all := slices.Sorted(slices.Values(slices.Concat(always, deaths)))

	for _, test := range []struct {
		to            string
		strips, keeps []string
	}{
		{"parking", always, deaths},
		{"counter", all, nil},
		{"worker", all, nil},
		{"ruled", all, nil},
	} {
		t.Run(test.to, func(t *testing.T) {
			m := deadMessage()
			plan := newRun(topology, moveWant(test.to, m))
			must.Equal(t, plan.Refusal.Words(), "")
			assert.Same(t, test.strips, plan.Strips)
			assert.Same(t, test.keeps, plan.Keeps)
			assert.That(t, len(plan.Adds()) <= 0, "adds %v, goes to %s by %v", plan.Adds(), plan.To(), plan.Ways)
			assert.Equal(t, plan.To(), "queue:"+test.to)
			assert.Equal(t, plan.Ways[0].Address, model.Address{Exchange: "", RoutingKey: test.to})
			p := must.Get(plan.Publishing(&m))(t)

			want := model.Table{"own": "kept", message.ReplayHeader: m.Headers[message.ReplayHeader]}
			for _, key := range test.keeps {
				want[key] = m.Headers[key]
			}

			assert.Same(t, want, p.Headers)
			assert.Same(t, message.Properties{MessageID: "m1", DeliveryMode: 2}, p.Properties)
		})
	}
}

func TestMoveIsRefused(t *testing.T) {
	exclusive := func(q *model.Queue) { q.Exclusive, q.OwnedByAnother = true, true }
	topology := build.Described("4.0.5", `
		queue f ready=1
		stream s
	`, build.Queue("e", exclusive), build.Queue("ok"))
	for _, test := range []struct{ to, want string }{
		{"nope", "there is no queue nope"},
		{"", "needs a queue"},
		{"f", "the queue they are in"},
		{"s", "is a stream"},
		{"e", "is exclusive"},
		{"ok", ""},
	} {
		plan := newRun(topology, moveWant(test.to, deadMessage()))
		assert.That(t, test.want != "" || !plan.Refusal.Refused(), "%q: %q, want %q", test.to, plan.Refusal.Words(),
			test.want)
		assert.Contains(t, plan.Refusal.Words(), test.want, "%v", test.to)
		assert.Lacks(t, plan.Refusal.Words(), "\n", "%v", test.to)
	}

	want := moveWant("ok", deadMessage())
	want.From = build.Ref("s")
	assert.Contains(t, newRun(topology, want).Refusal.Words(), "stream", "out of a stream")
}

func TestMoveTargets(t *testing.T) {
	parts := append([]build.Part{build.Text(`
		queue a
		queue Z
		stream s
	`)},
		build.ScenarioParts["pubsub"]...)
	var names []string
	for _, q := range MoveTargets(build.TopologyOf("3.10.8", parts...), build.Ref("ucenter@user@failed")) {
		names = append(names, q.Name)
	}
	assert.Equal(t, strings.Join(names, " "), "ucenter@user ucenter@user@retry a user-monitor Z")
}

// A moved message is in the other queue as it was in this one.
func TestMoveOpensNoEnvelope(t *testing.T) {
	body := []byte(`{"Exception":"x","RoutingKey":"k","Exchange":"e","Queue":"w","DateTime":"2020-01-01T00:00:00Z","BasicProperties":{},"Message":"{}"}`)
	m := message.Message{Properties: message.Properties{Type: message.EasyNetQType}, Body: body, BodyBytes: len(body)}
	_, ok := m.Envelope()
	must.That(t, ok, "it is no envelope")
	plan := newRun(build.Described("3.10.8", `
		queue f ready=1
		queue parking
	`),
		moveWant("parking", m))
	p, err := plan.Publishing(&m)
	must.Do(t, err)
	assert.Equal(t, string(p.Body), string(body))
	assert.Equal(t, p.Properties.Type, message.EasyNetQType)
	assert.That(t, len(plan.Warnings) <= 0, "%v %q %v %q", err, p.Body, p.Properties, warned(plan.Warnings))
}

func TestChangesAreShown(t *testing.T) {
	topology := build.Described("3.10.8", `
		queue f ready=1
		queue parking
		queue worker dlx=
	`)
	replay := replayOf("f", "queue:worker")
	replay.User, replay.Mark = "somebody", true
	for _, test := range []struct {
		name string
		want ActionWant
		told string
	}{
		{"a drop", ActionWant{Operation: Drop, From: build.Ref("f")}, ""},
		{"a move", moveWant("parking"), "routing key parking instead of k; without expiration 50; without user_id " +
			"somebody; without BCC, CC, x-acquired-count, x-delivery-count"},
		{
			"a replay", replay,
			"routing key worker instead of k; without expiration 50; without BCC, CC, x-acquired-count, x-death, " +
				"x-delivery-count, x-first-death-queue, x-last-death-queue; changed dlxtop-replay",
		},
	} {
		m := deadMessage()
		test.want.Sample = message.MessageList{m}
		plan := newRun(topology, test.want)
		var p *message.Publishing

		if test.want.Operation.Publishes() {
			made := must.Get(plan.Publishing(&m))(t)
			p = &made
		}

		r := Record{Operation: test.want.Operation, User: test.want.User}
		e := NewEntry(&m, p, false)
		assert.Equal(t, strings.Join(r.Changes(&e), "; "), test.told, "%s", test.name)
	}
}

const manyKeys = 20_000

// manyOf are failed messages of orders, each with its own routing key, that came through an exchange.
func manyOf(exchange string, n int) message.MessageList {
	list := make(message.MessageList, n)
	for i := range list {
		list[i] = message.Message{
			Exchange: "dead", RoutingKey: "orders.failed",
			Deaths: []message.Death{{
				Queue: "orders", Reason: model.Rejected, Count: 1, Exchange: exchange,
				RoutingKeys: []string{fmt.Sprintf("order.%d", i)},
			}},
		}
	}

	return list
}

func manyPlan(sample message.MessageList, more ...build.Part) *Run {
	t := build.TopologyOf("3.10.8", append([]build.Part{
		build.Text(`
			exchange topic events
			queue orders consumers=1 dlx= key=orders.failed
			bind events order.# orders
			queue orders.failed
		`),
	}, more...)...)

	return newRun(t, replayOf("orders.failed", "auto", sample...))
}

// audited are parts in which no exchange leads to orders alone.
var audited = []build.Part{build.Text(`
	queue audit
	bind events order.# audit
`)}

const unheard = "; orders is bound for other keys only: an application that chooses by the key may acknowledge them " +
	"unseen"

// Messages that all have different keys: one warning covers all, and making and comparing the plan takes time linear in
// their number (no clock: quadratic time would take many minutes).
func TestAsManyKeysAsMessages(t *testing.T) {
	plan := manyPlan(manyOf("gone", manyKeys), audited...)
	words := warned(plan.Warnings)
	const want = "key order.0 -> orders, key order.1 -> orders, key order.2 -> orders, key order.3 -> orders, " +
		"key order.4 -> orders, 19,995 more: the worker sees another routing key than before" + unheard
	must.Equal(t, len(words), 1, "%d warnings, the first %q, not %q", len(words),
		strings.Join(words[:min(len(words), 1)], ""), want)
	assert.Equal(t, words[0], want)
	ways := manyPlan(manyOf("events", manyKeys))
	must.Equal(t, len(ways.Ways), manyKeys, "%d ways", len(ways.Ways))
	assert.Equal(t, ways.Ways[7].Messages, 1)
	was := ways.Promise()
	other := manyPlan(manyOf("events", manyKeys-1)).Promise()
	changes := was.Changes(&was)
	assert.That(t, changes == nil, "%d changes", len(changes))
	changes = was.Changes(&other)
	must.Equal(t, len(changes), 1, "changes %+v", changes)
	assert.That(t, strings.HasPrefix(changes[0].Says, "no message goes "), "changes %+v", changes)
}

// A single key is named in the warning.
func TestOneOtherKey(t *testing.T) {
	sample := manyOf("gone", 1)
	plan := manyPlan(append(sample, sample...), audited...)
	const want = "key order.0 -> orders: the worker sees another routing key than before" + unheard
	must.Equal(t, len(plan.Warnings), 1, "warnings %+v", plan.Warnings)
	assert.Equal(t, plan.Warnings[0].Words(), want)

	retried := manyPlan(sample, audited[0], build.Buffer("orders.wait", "orders", 1000))
	assert.Equal(t, retried.Warnings[0].Words()+unheard, want, "its retries have that key")
}

// What outvotes a name is reported once, however many keys say so.
func TestOneClueOfManyKeys(t *testing.T) {
	sample := manyOf("events", 50)
	for i := range sample {
		sample[i].Headers = model.Table{"x-original-routingKey": fmt.Sprintf("order.%d", i), "x-original-exchange": "events"}
		sample[i].Deaths = nil
	}

	topology := build.Described("3.10.8", `
		exchange topic events
		queue mail consumers=1
		queue mail.failed
		queue orders consumers=1
		bind events order.# orders
	`)
	plan := newRun(topology, replayOf("mail.failed", "auto", sample...))
	var outvoted []string
	for _, w := range plan.Warnings {
		if strings.HasSuffix(w.Words(), "weighs more") {
			outvoted = append(outvoted, w.Words())
		}
	}

	const want = "mail (by name): orders (its origin, exchange events, key order.0) weighs more"
	must.Equal(t, len(outvoted), 1, "%d times %q, not %q once", len(outvoted),
		strings.Join(outvoted[:min(len(outvoted), 1)], ""), want)
	assert.Equal(t, outvoted[0], want)
	const line = "orders (its origin, exchange events, key order.0) (50 messages, by 50 routing keys)"
	lines := plan.Evidence()
	must.Equal(t, len(lines), 1, "%d lines, %q, not %q", len(lines), lines, line)
	assert.Equal(t, lines[0], line)
}

// A worker that no longer exists here, but does in another vhost: the warning names the first of them.
func TestWorkerOfAnotherVHost(t *testing.T) {
	s := build.Broker("3.10.8", build.Queue("mail.failed"))
	s.VHosts = []string{"/", "a", "b"}
	for _, vhost := range s.VHosts[1:] {
		s.Queues = append(s.Queues, model.Queue{QueueRef: model.QueueRef{VHost: vhost, Name: "orders"}})
	}

	plan := newRun(model.NewTopology(s), replayOf("mail.failed", "auto", manyOf("", 1)...))
	const want = "orders, which is gone; the vhost a has one of that name"
	assert.Contains(t, plan.Refusal.Words(), want, "refusal")
}

func BenchmarkPlanOfManyKeys(b *testing.B) {
	sample := manyOf("gone", 10_000)
	b.ResetTimer()
	for range b.N {
		manyPlan(sample)
	}
}

// A target that keeps nothing: the plan says where messages go that no consumer takes at once.
func TestTargetsWithATTLOfZero(t *testing.T) {
	for name, want := range map[string]string{"lossy": "are lost", "passing": "expire to orders.dead"} {
		topology := build.Described("4.0.5", `
			queue orders.dead
			queue lossy ttl=0 consumers=1
			queue passing ttl=0 dlx= key=orders.dead consumers=1
			queue steady ttl=1000 consumers=1
		`)

		p := New(topology, replayOf("orders.dead", "queue:"+name, failedBy(name, nil, message.Properties{})))
		says := fmt.Sprint(p.Warnings)
		assert.Contains(t, says, "do not take at once, because they are busy, "+want)
		p = New(topology, replayOf("orders.dead", "queue:steady", failedBy(name, nil, message.Properties{})))
		assert.That(t, !strings.Contains(fmt.Sprint(p.Warnings), "at once"), "%v", p.Warnings)
	}
}

func chosen(messages []message.Message) Selection {
	s := Nobody()
	for i := range messages {
		s.Fingerprints[messages[i].Fingerprint]++
	}
	return s
}

// A plan says which consumers get the messages, where they are not served in turn.
func TestChosenConsumers(t *testing.T) {
	for want, is := range map[string]build.Setting{
		"": func(q *model.Queue) {},
		"w has a single active consumer: one of its 3 consumers gets all of them": func(q *model.Queue) {
			q.SingleActive = true
		},
		"of the 3 consumers of w, 2 get them first, by a higher priority": func(q *model.Queue) { q.Favoured = 2 },
		"the one consumer of w is exclusive: it alone gets them":          func(q *model.Queue) { q.ExclusiveHeld = true },
	} {
		topology := build.TopologyOf("4.3.6", build.Queue("w", build.Consumers(3), is), build.Queue("w.failed"))
		plan := newRun(topology, replayOf("w.failed", "queue:w"))
		assert.Equal(t, strings.Join(warned(plan.Warnings), "; "), want)
	}
}
