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
)

func TestPlanTap(t *testing.T) {
	topology := build.Described("4.0.5", `
		exchange direct dlx
		exchange topic events
		exchange headers by.header
		exchange fanout empty
		exchange x-consistent-hash shared
		exchange fanout front alternate-exchange=dlx
		exchange fanout nowhere
		exchange x-delayed-message later x-delayed-type=direct
		queue worker
		queue buffer dlx=dlx key=lost
		queue own dlx=dlx
		bind dlx a worker
		bind dlx a buffer
		bind dlx b worker
		bind dlx gone deleted
		bind-exchange dlx c nowhere
		bind events order.# worker
		bind-exchange events x.* dlx
		bind-headers by.header worker x-match=any n=1
		bind front in buffer
		bind front own.key own
		bind later k worker
		bind shared 1 worker
	`, build.Bind("dlx", "other tap", model.TapPrefix+"1"),

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
			must.Equal(t, c.refusal != "", p.Refusal.Refused(), "refusal %q", p.Refusal.Words())
			must.Contains(t, p.Refusal.Words(), c.refusal)

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

// tapTopology returns a flow whose buffers lead to dlx.
func tapTopology(skew model.Opt[time.Duration]) *model.Topology {
	s := build.Broker("4.0.5", build.Text(`
		exchange fanout dlx
		queue fixed dlx=dlx ttl=5000
		queue own dlx=dlx
		queue second dlx=dlx2 ttl=1000
		exchange fanout dlx2
		queue worker dlx=retry key=r
		exchange direct retry
		bind retry r fixed
		bind dlx worker
	`))

	s.Overview.ClockSkew = skew
	return model.NewTopology(s)
}

func expiredIn(queue, expiration string, count int64) message.Death {
	return message.Death{Queue: queue, Reason: model.Expired, Count: count, OriginalExpiration: expiration}
}

// How long a message has waited by its own account, when it was not seen entering.
func TestWaitsOfPassedMessages(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	type expected struct {
		Name           string
		Stamped        time.Duration // ago, by the publisher; 0: not
		Entered        time.Duration // ago, by the broker; 0: not told
		Replayed       bool
		Skew           time.Duration // of the broker's clock; 0: not known
		Deaths         []message.Death
		Waited, Should time.Duration // 0: not known
		Known          WaitKnown
	}

	known := func(d time.Duration) (o model.Opt[time.Duration]) {
		if d != 0 {
			o = model.Some(d)
		}
		return o
	}

	must.Run(t, "testdata/waits.toml", func(t *testing.T, c expected) {
		m := message.Message{Exchange: "dlx", Deaths: c.Deaths}
		if c.Stamped != 0 {
			m.Properties.Timestamp = now.Add(-c.Stamped)
		}
		if c.Entered != 0 {
			m.Headers = model.Table{"timestamp_in_ms": now.Add(c.Skew - c.Entered).UnixMilli()}
		}
		if c.Replayed {
			m.Headers = model.Table{message.ReplayHeader: model.Table{"count": int64(1)}}
		}

		row := NewPassing("/", tapTopology(known(c.Skew))).See(&m, now)
		assert.Equal(t, row.From, m.Deaths[0].Queue)
		assert.Equal(t, row.Waited, known(c.Waited))
		assert.Equal(t, row.Should, known(c.Should))
		assert.Equal(t, row.Known, c.Known)

		late, ok := row.Late.Get()
		assert.Equal(t, ok, c.Waited != 0 && c.Should != 0, "late %v", row.Late)
		assert.That(t, late == 0 || c.Name == "held behind another" || c.Name == "the queue is gone", "late %v", row.Late)
	})
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
		must.Equal(t, row.From, "", "it was published, not from")
	}

	left := func(exchange, id string, n int, deaths ...message.Death) Passed {
		properties := message.Properties{MessageID: id}
		return p.See(&message.Message{Exchange: exchange, Properties: properties, Deaths: deaths}, ms(n))
	}

	is := func(row Passed, waited, late, behind int) {
		t.Helper()
		assert.Equal(t, row.Known, WaitTapped)
		assert.Equal(t, row.Waited.Or(0), ms(waited).Sub(at))
		assert.Equal(t, row.Late.Or(-1), ms(late).Sub(at))
		assert.Equal(t, row.Behind.Or(0), ms(behind).Sub(at))
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
	assert.Equal(t, again.From, "")
	assert.Equal(t, again.Tries.Or(0), 2)
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

	assert.Equal(t, sum, tapRemembers)
	assert.Equal(t, len(p.order), tapRemembers, "%d are remembered", sum)
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
		assert.That(t, ok, "%+v: %d tries, want %d", m, got, want)
		assert.Equal(t, got, want, "%v", m)
	}

	assert.That(t, !tries((&message.Message{DeathsError: "x"})).Known(), "it cannot be read, and is counted")
}

func TestTapChoices(t *testing.T) {
	topology := build.Described("4.0.5", `
		exchange direct front
		exchange direct dlx
		exchange x-random random
		exchange direct retry
		queue buffer dlx=dlx key=w ttl=5000
		bind front in buffer
		bind random buffer
		queue worker consumers=1 dlx=retry key=r
		bind dlx w worker
		queue worker.retry dlx=dlx key=w ttl=1000
		bind retry r worker.retry
	`)

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
