package trace

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/build"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/model/plan"
)

func TestPlanTap(t *testing.T) {
	topology := build.TopologyOf("4.0.5", build.Exchange("direct", "dlx"), build.Exchange("topic", "events"),
		build.Exchange("headers", "by.header"), build.Exchange("fanout", "empty"),
		build.Exchange("x-consistent-hash", "shared"), build.Exchange("fanout", "front", "alternate-exchange", "dlx"),
		build.Exchange("fanout", "nowhere"), build.Exchange("x-delayed-message", "later", "x-delayed-type", "direct"),
		build.Queue("worker"), build.Queue("buffer", build.DLX("dlx", "lost")),
		build.Queue("own", build.DLX("dlx")), build.Bind("dlx", "a", "worker"), build.Bind("dlx", "a", "buffer"),
		build.Bind("dlx", "b", "worker"), build.Bind("dlx", "gone", "deleted"), build.BindExchange("dlx", "c", "nowhere"),
		build.Bind("events", "order.#", "worker"), build.BindExchange("events", "x.*", "dlx"),
		build.BindHeaders("by.header", "worker", model.Table{"x-match": "any", "n": int64(1)}),
		build.Bind("front", "in", "buffer"), build.Bind("front", "own.key", "own"), build.Bind("later", "k", "worker"),
		build.Bind("shared", "1", "worker"), build.Bind("dlx", "other tap", model.TapPrefix+"1"),
		build.Queue(model.TapPrefix+"1"))
	for _, c := range []struct {
		exchange string
		unrouted bool
		keys     string
		refusal  string
	}{
		{"dlx", false, "a b", ""},
		{"dlx", true, "a b lost own", ""},
		{"events", false, "order.# x.*", ""},
		{"events", true, "#", ""},
		{"by.header", false, " n=1", ""},
		{"by.header", true, "", ""},
		{"front", false, "", ""},
		{"later", false, "k", ""},
		{"front", true, "", "alternate exchange dlx"},
		{"empty", false, "", "no binding of empty"},
		{"empty", true, "", ""},
		{"", false, "", "default exchange cannot be tapped"},
		{"missing", false, "", "there is no exchange missing"},
		{"shared", false, "", "shares messages out"},
	} {
		t.Run(fmt.Sprint(c.exchange, c.unrouted), func(t *testing.T) {
			p := PlanTap(topology, TapWant{VHost: "/", Exchanges: []string{c.exchange}, Unrouted: c.unrouted})
			must.That(t, c.refusal != "" == p.Refusal.Refused() && strings.Contains(p.Refusal.Words(), c.refusal),
				"refusal %q", p.Refusal.Words())
			if p.Refusal.Refused() {
				return
			}
			var keys []string
			for _, b := range p.Bindings {
				key := b.Key
				if n, ok := b.Arguments.Integer("n"); ok {
					key += fmt.Sprint(" n=", n)
				}
				keys = append(keys, key)
			}
			assert.Equal(t, strings.Join(keys, " "), c.keys, "binds")
		})
	}
	for _, q := range topology.Snapshot.Queues {
		assert.That(t, !strings.HasPrefix(q.Name, model.TapPrefix), "the queue of a tap is a part of the topology")
	}
	unread := *topology.Snapshot
	unread.Bindings = nil
	p := PlanTap(model.NewTopology(&unread), TapWant{VHost: "/", Exchanges: []string{"dlx"}})
	assert.Contains(t, p.Refusal.Words(), "could not be read", "without bindings")
}

// tapTopology is a flow whose buffers lead to dlx.
func tapTopology(skew model.Opt[time.Duration]) *model.Topology {
	s := build.Broker("4.0.5", build.Exchange("fanout", "dlx"), build.Queue("fixed", build.DLX("dlx"), build.TTL(5000)),
		build.Queue("own", build.DLX("dlx")), build.Queue("second", build.DLX("dlx2"), build.TTL(1000)),
		build.Exchange("fanout", "dlx2"), build.Queue("worker", build.DLX("retry", "r")),
		build.Exchange("direct", "retry"), build.Bind("retry", "r", "fixed"), build.Bind("dlx", "", "worker"))
	s.Overview.ClockSkew = skew
	return model.NewTopology(s)
}

func expiredIn(queue, expiration string, count int64) message.Death {
	return message.Death{Queue: queue, Reason: model.Expired, Count: count, OriginalExpiration: expiration}
}

// How long a message has waited by its own account, when it was not seen entering.
func TestWaitsOfPassedMessages(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	stamped := func(ago time.Duration, deaths ...message.Death) message.Message {
		return message.Message{Properties: message.Properties{Timestamp: now.Add(-ago)}, Deaths: deaths}
	}
	fixed, own := expiredIn("fixed", "", 1), expiredIn("own", "700", 1)
	replayed := stamped(5*time.Second, fixed)
	replayed.Headers = model.Table{message.ReplayHeader: model.Table{"count": int64(1)}}
	none, some := model.Unknown[time.Duration](), model.Some[time.Duration]
	const short = 700 * time.Millisecond
	for _, c := range []struct {
		name           string
		m              message.Message
		skew           model.Opt[time.Duration]
		waited, should model.Opt[time.Duration]
		known          WaitKnown
	}{
		{"nothing reported", message.Message{Deaths: []message.Death{own}}, none, none, some(short), ""},
		{"timestamp", stamped(5*time.Second, fixed), none, some(5 * time.Second), some(5 * time.Second), WaitPublisher},
		{"the publisher's clock is ahead", stamped(-3*time.Minute, fixed), none, none, some(5 * time.Second), ""},
		{"ahead by less than the TTL", stamped(2*time.Second, fixed), none, none, some(5 * time.Second), ""},
		{"far behind", stamped(10*time.Minute, fixed), none, none, some(5 * time.Second), ""},
		{"held behind another", stamped(10*time.Minute, own), none, some(10 * time.Minute), some(short), WaitPublisher},
		{"years", stamped(24*365*10*time.Hour, own), none, none, some(short), ""},
		{
			"the broker's clock differs", message.Message{
				Headers: model.Table{"timestamp_in_ms": now.Add(3*time.Minute - 5*time.Second).UnixMilli()},
				Deaths:  []message.Death{fixed},
			}, some(3 * time.Minute), some(5 * time.Second), some(5 * time.Second), WaitBroker,
		},
		{
			"an expiration of 2^40 ms",
			message.Message{Deaths: []message.Death{expiredIn("own", "1099511627776", 1)}},
			none, none, none, "",
		},
		{"died again in the same queue", stamped(time.Minute, expiredIn("own", "700", 2)), none, none, none, ""},
		{"replayed", replayed, none, none, some(5 * time.Second), ""},
		{
			"rejected by the worker before", stamped(time.Hour, fixed,
				message.Death{Queue: "worker", Reason: model.Rejected, Count: 1, Time: now.Add(-5 * time.Second)}),
			none, some(5 * time.Second), some(5 * time.Second), WaitDied,
		},
		{
			"the queue is gone", stamped(time.Second, expiredIn("deleted", "700", 1)), none, some(time.Second),
			some(short), WaitPublisher,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.m.Exchange = "dlx"
			row := NewPassing("/", tapTopology(c.skew)).See(&c.m, now)
			assert.That(t, row.From == c.m.Deaths[0].Queue && row.Waited == c.waited && row.Should == c.should &&
				row.Known == c.known, "from %q waited %v (%s), should %v", row.From, row.Waited, row.Known, row.Should)
			late, ok := row.Late.Get()
			assert.That(t, ok == (c.waited.Known() && c.should.Known()) && (late == 0 || c.name == "held behind another" ||
				c.name == "the queue is gone"), "late %v", row.Late)
		})
	}
}

// The wait of messages seen entering is exact, also for twins, for one that dies twice, and for one that others hold
// up.
func TestPassedTwice(t *testing.T) {
	p := NewPassing("/", tapTopology(model.Unknown[time.Duration]()))
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	ms := func(n int) time.Time { return at.Add(time.Duration(n) * time.Millisecond) }
	entered := func(id, expiration string, n int) {
		properties := message.Properties{MessageID: id, Expiration: expiration}
		row := p.See(&message.Message{Exchange: "front", Properties: properties}, ms(n))
		must.That(t, row.From == "", "it was published, not from %s", row.From)
	}
	left := func(exchange, id string, n int, deaths ...message.Death) Passed {
		properties := message.Properties{MessageID: id}
		return p.See(&message.Message{Exchange: exchange, Properties: properties, Deaths: deaths}, ms(n))
	}
	is := func(row Passed, waited, late, behind int) {
		t.Helper()
		assert.That(t, row.Known == WaitTapped && row.Waited.Or(0) == ms(waited).Sub(at) &&
			row.Late.Or(-1) == ms(late).Sub(at) && row.Behind.Or(0) == ms(behind).Sub(at), "waited %v, late %v, behind %v",
			row.Waited, row.Late, row.Behind)
	}
	entered("long", "3000", 0)
	entered("short", "100", 10)
	entered("twin", "100", 20)
	entered("twin", "100", 30)
	is(left("dlx", "long", 3001, expiredIn("own", "3000", 1)), 3001, 1, 0)
	is(left("dlx", "short", 3002, expiredIn("own", "100", 1)), 2992, 2892, 2890)
	is(left("dlx", "twin", 3003, expiredIn("own", "100", 1)), 2983, 2883, 2880)
	is(left("dlx", "twin", 3004, expiredIn("own", "100", 1)), 2974, 2874, 2870)
	// From the first exchange it went on into the next buffer.
	is(left("dlx2", "short", 4002, expiredIn("second", "", 1), expiredIn("own", "100", 1)), 1000, 0, 0)
	// An application republishes it with its old x-death, which the broker does not continue.
	again := left("front", "short", 5000, expiredIn("second", "", 1), expiredIn("own", "100", 1))
	assert.That(t, again.From == "" && again.Tries.Or(0) == 2, "published again: %+v", again)
	is(left("dlx2", "short", 6001, expiredIn("second", "", 1)), 1001, 1, 0)
}

func TestPassedForgets(t *testing.T) {
	p := NewPassing("/", tapTopology(model.Unknown[time.Duration]()))
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for i := range tapRemembers + 10 {
		p.See(&message.Message{Exchange: "front", Properties: message.Properties{MessageID: fmt.Sprint(i % 1000)}}, at)
	}
	sum := 0
	for _, twins := range p.entered {
		sum += len(twins.seen)
	}
	assert.That(t, sum == tapRemembers && len(p.order) == tapRemembers, "%d are remembered", sum)
	row := p.See(&message.Message{
		Exchange: "dlx", Properties: message.Properties{MessageID: "5"},
		Deaths: []message.Death{expiredIn("own", "1", 1)},
	}, at)
	assert.That(t, row.Known == WaitTapped, "%+v", row)
}

func TestTriesOfATappedMessageAreCountedByItsDeaths(t *testing.T) {
	rejected := message.Death{Queue: "worker", Reason: model.Rejected, Count: 2}
	for want, m := range map[int64]message.Message{
		0: {}, 2: {Deaths: []message.Death{expiredIn("retry", "", 3), rejected}},
		3: {Deaths: []message.Death{expiredIn("retry", "", 3)}},
		7: {Headers: model.Table{"x-retry-count": int32(7)}, Deaths: []message.Death{expiredIn("retry", "", 3)}},
	} {
		got, ok := tries(&m).Get()
		assert.That(t, ok && got == want, "%+v: %d tries, want %d", m, got, want)
	}
	assert.That(t, !tries((&message.Message{DeathsError: "x"})).Known(), "it cannot be read, and is counted")
}

func TestTapChoices(t *testing.T) {
	topology := build.TopologyOf("4.0.5", build.Exchange("direct", "front"), build.Exchange("direct", "dlx"),
		build.Exchange("x-random", "random"), build.Exchange("direct", "retry"),
		build.Queue("buffer", build.DLX("dlx", "w"), build.TTL(5000)), build.Bind("front", "in", "buffer"),
		build.Bind("random", "", "buffer"), build.Queue("worker", build.Consumers(1), build.DLX("retry", "r")),
		build.Bind("dlx", "w", "worker"), build.Queue("worker.retry", build.DLX("dlx", "w"), build.TTL(1000)),
		build.Bind("retry", "r", "worker.retry"))
	flow, ok := topology.FlowOf(build.Ref("worker"))
	must.That(t, ok, "there is no flow")
	exchanges := func(wants []TapWant) string {
		var got []string
		for _, w := range wants {
			got = append(got, fmt.Sprint(w.Exchanges))
		}
		return strings.Join(got, " ")
	}
	for name, want := range map[string]string{"dlx": "[dlx retry front] [dlx]", "front": "[front]"} {
		assert.Equal(t, exchanges(TapsOf(topology, model.ExchangeRef{VHost: "/", Name: name})), want, "of %s", name)
	}
	for cursor, want := range map[string]string{
		"buffer":       "[dlx front] [dlx] [dlx retry] [retry]",
		"worker.retry": "[dlx retry] [dlx] [dlx front] [retry]",
	} {
		assert.Equal(t, exchanges(TapChoices(topology, flow, build.Ref(cursor))), want, "at %s", cursor)
	}
}

// Whatever the fractions: waited is should plus late.
func TestPassedJSONAddsUp(t *testing.T) {
	for _, waited := range []time.Duration{
		98_600 * time.Microsecond, 98_500 * time.Microsecond, 100 * time.Millisecond,
		100_400 * time.Microsecond, 101_600 * time.Microsecond,
	} {
		should := 100 * time.Millisecond
		p := Passed{
			Message: &message.Message{}, Waited: model.Some(waited), Should: model.Some(should),
			Late: model.Some(waited - should),
		}
		j := p.JSON()
		assert.That(t, j.Waited.Or(0)-j.Should.Or(0) == j.Late.Or(0),
			"waited %d, should %d, late %d", j.Waited.Or(0), j.Should.Or(0), j.Late.Or(0))
	}
}

func TestPlanProbe(t *testing.T) {
	topology := build.TopologyOf("4.0.5", build.Exchange("direct", "front"), build.Exchange("fanout", "all"),
		build.Exchange("direct", "dlx"), build.Queue("buffer", build.DLX("dlx", "w"), build.TTL(5000), build.Ready(3)),
		build.Bind("front", "in", "buffer"), build.Bind("all", "", "buffer"), build.Bind("all", "", "worker"),
		build.Queue("own.delay", build.DLX("dlx", "w"), build.Ready(3)), build.Bind("all", "", "own.delay"),
		build.Queue("lossy", build.DLX("dlx", "nobody"), build.TTL(1000)), build.Queue("worker"),
		build.Bind("dlx", "w", "worker"), build.Queue("busy", build.Consumers(2)), build.Buffer("before", "busy", 100),
		build.Queue("stream", build.OfType(model.Stream)), build.Buffer("to.stream", "stream", 100))
	flow := func(worker string) *model.Flow {
		f, ok := topology.FlowOf(build.Ref(worker))
		must.That(t, ok, "there is no flow of %s", worker)
		return f
	}
	p := PlanProbe(topology, ProbeWant{ID: "x", Flow: flow("worker"), Buffer: build.Ref("buffer")})
	assert.That(t, !p.Refusal.Refused() && p.Entrance == (model.Address{Exchange: "front", RoutingKey: "in"}) &&
		p.TTL.Or(0) == 5*time.Second && p.Timeout == 15*time.Second && len(p.Removals) == 2 && p.Taps("dlx") &&
		p.Taps("front"), "%+v", p)
	for _, r := range p.Removals {
		assert.That(t, r.Operation == plan.Drop && r.Selection.MessageID == "x", "%+v", r)
	}
	// A fanout leads to the worker too, so the way in is the default exchange; the queue has no TTL, so the probe brings
	// one.
	p = PlanProbe(topology, ProbeWant{ID: "x", Flow: flow("worker"), Buffer: build.Ref("own.delay"), Timeout: time.Minute})
	assert.That(t, p.Entrance == (model.Address{Exchange: "", RoutingKey: "own.delay"}) && p.Expiration == "1000" &&
		p.TTL.Or(0) == time.Second && p.Timeout == time.Minute && !p.Taps("") &&
		strings.Contains(strings.Join(p.Warnings, "; "), "3 messages are in front of it"), "%+v", p)
	m := p.Publishing()
	assert.That(t, m.Properties.Expiration == "1000" && p.IsProbe(&message.Message{Headers: m.Headers}) &&
		!p.IsProbe(&message.Message{Headers: model.Table{ProbeHeader: "x"}}), "%+v", m)
	for _, c := range []struct {
		worker string
		want   ProbeWant
		says   string
		agreed bool // refused only because of the consumers
	}{
		{"busy", ProbeWant{}, "busy (2 consumers)", true},
		{"busy", ProbeWant{ToConsumers: true}, "", false},
		{
			"worker",
			ProbeWant{Consumers: func(model.QueueRef) model.Opt[int64] { return model.Unknown[int64]() }},
			"worker (consumers unknown)", true,
		},
		{"worker", ProbeWant{Buffer: build.Ref("worker")}, "not a buffer of this flow", false},
		{"stream", ProbeWant{}, "could not be taken out of stream again", false},
	} {
		c.want.ID, c.want.Flow = "x", flow(c.worker)
		p := PlanProbe(topology, c.want)
		assert.That(t, (c.says != "") == p.Refusal.Refused() && strings.Contains(p.Refusal.Words(), c.says) &&
			p.NeedsConsumers == c.agreed, "%s: %q, only for its consumers %v", c.worker, p.Refusal.Words(), p.NeedsConsumers)
	}
}

func TestProbeInWords(t *testing.T) {
	r := ProbeResult{Waited: model.Some(5003 * time.Millisecond), Should: model.Some(5 * time.Second), Steps: []ProbeStep{
		{ProbeEntered, "buffer-queue", 12 * time.Millisecond, ""},
		{ProbeExpired, "dlx", 5005 * time.Millisecond, ""},
		{ProbeReached, "worker\x1b", 5011 * time.Millisecond, ""},
		{ProbeRemoved, "worker", 5011 * time.Millisecond, ""},
	}}
	assert.Equal(t, r.String(), `entered buffer-queue 12ms, expired after 5.003s (TTL 5s), worker\x1b 5.011s`)
}
