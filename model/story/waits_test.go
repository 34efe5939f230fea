package story

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/build"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/model/peek"
)

// buffered returns a peek at a buffer at noon: TTLs in seconds (negative: none), each message published some seconds
// before, by the broker's clock (negative: unknown).
func buffered(ages []float64, ttls ...float64) peek.Peeked {
	var messages message.MessageList
	for i, s := range ttls {
		m := message.Message{Position: i + 1}
		if s >= 0 {
			m.Properties.Expiration = strconv.Itoa(int(s * 1000))
		}
		if i < len(ages) && ages[i] >= 0 {
			age := time.Duration(ages[i] * float64(time.Second))
			m.Headers = model.Table{"timestamp_in_ms": build.Noon.Add(-age).UnixMilli()}
		}

		messages = append(messages, m)
	}

	return peek.Peeked{TakenAt: build.Noon, Depth: model.Some(int64(len(ttls))), Messages: messages}
}

func same(age float64, n int) []float64 {
	ages := make([]float64, n)
	for i := range ages {
		ages[i] = age
	}
	return ages
}

// waiting are the messages of a queue q, whose worker is w.
type waiting struct {
	Name       string
	Queue      build.Part
	Ages, TTLs []float64 // of buffered
}

// waits returns those of the peek, at noon.
func (c *waiting) waits() *Waits {
	topology := build.Described("4.0.5", "queue w consumers=1", c.Queue)
	return waitsIn(topology, build.Ref("q"), buffered(c.Ages, c.TTLs...), Sight{})
}

func TestBlocked(t *testing.T) {
	type expected struct {
		waiting
		After float64 // seconds after the peek
		Want  string  // "": nothing blocks
	}

	must.Run(t, "testdata/blocked.toml", func(t *testing.T, c expected) {
		got := ""

		if w := c.waits(); w != nil {
			if b, ok := w.Blocked(build.Noon.Add(time.Duration(c.After * float64(time.Second)))); ok {
				got = fmt.Sprintf("by %d past %d waiting %d", b.By.Position, b.Past, b.Waiting)
			}
		}

		assert.Equal(t, got, c.Want)
	})
}

// Only the head expires: when each message leaves, without overflows.
func TestOnlyTheHeadExpires(t *testing.T) {
	type expected struct {
		waiting
		Want []string
	}

	must.Run(t, "testdata/head_expires.toml", func(t *testing.T, c expected) {
		var got []string
		for _, m := range c.waits().Messages {
			got = append(got, m.Leaves.In(build.Noon))
		}
		assert.Same(t, c.Want, got)
	})
}

// A peek is forgotten when a newer count shows that messages were taken out.
func TestWaitsHold(t *testing.T) {
	const lag = 10 * time.Second
	count := func(after time.Duration, ready int64, settings ...build.Setting) *model.Queue {
		q := &build.TopologyOf("4.0.5", build.Queue("q", settings...)).Snapshot.Queues[0]
		q.Ready, q.CountedAt = model.Some(ready), build.Noon.Add(after)
		return q
	}

	w := waitsIn(build.Described("4.0.5", `
		queue w
		queue q dlx= key=w
	`),
		build.Ref("q"), buffered(same(0, 3), 5, 60, 3600), Sight{})
	for _, c := range []struct {
		name string
		q    *model.Queue
		want bool
	}{
		{"a count that may be older than the look", count(9*time.Second, 0), true},
		{"one has expired", count(11*time.Second, 2), true},
		{"others came", count(11*time.Second, 200), true},
		{"one was taken out", count(11*time.Second, 1), false},
		{"all have expired", count(2*time.Hour, 0), true},
		{"consumers take what they like", count(11*time.Second, 3, build.Consumers(1)), false},
	} {
		t.Run(c.name, func(t *testing.T) {
			assert.Equal(t, w.Holds(c.q, lag), c.want)
		})
	}
}

// What waits behind a message under an earlier TTL has no due time, and no TTL that is there is blamed.
func TestWaitsUnderAnEarlierTTL(t *testing.T) {
	type expected struct {
		waiting
		Want    []string // when each leaves
		Blocked string
	}

	must.Run(t, "testdata/earlier_ttl.toml", func(t *testing.T, c expected) {
		w := c.waits()
		var got []string
		for _, m := range w.Messages {
			words := m.Leaves.In(build.Noon)
			if !m.Leaves.Known() {
				words = string(m.Leaves.Kind)
			}
			got = append(got, words)
		}

		assert.Same(t, c.Want, got)
		words := ""
		if b, ok := w.Blocked(build.Noon); ok {
			words = b.Words(build.Noon)
		}

		assert.Equal(t, words, c.Blocked)
	})
}

func nothing(model.QueueRef) *Waits { return nil }

// flowTo returns the flow of a worker w with these buffers.
func flowTo(parts ...build.Part) (*model.Topology, *model.Flow) {
	topology := build.TopologyOf("4.0.5", append([]build.Part{build.Text("queue w consumers=1")}, parts...)...)
	return topology, &topology.Flows()[0]
}

// dueWords returns the words of the histogram of all buffers.
func dueWords(t *model.Topology, f *model.Flow, looks func(model.QueueRef) *Waits, now time.Time) string {
	var h DueHistogram
	for _, b := range f.Buffers {
		h.Add(HistogramOf(t, b, looks, DueTime{}, now))
	}
	return h.Words()
}

func TestDueHistogram(t *testing.T) {
	rung := func(name string, s, n int64) build.Part { return build.Buffer(name, "w", s*1000, build.Ready(n)) }
	for want, parts := range map[string][]build.Part{
		"all 1,204 within 30s":               {rung("q", 30, 1204)},
		"all 9 within 5m   ≤ 1m 6   ≤ 10m 3": {rung("a", 10, 4), rung("b", 60, 2), rung("c", 300, 3)},
		"not looked at 7":                    {build.Text("queue q dlx= key=w ready=7")},
	} {
		topology, f := flowTo(parts...)
		assert.Equal(t, dueWords(topology, f, nothing, build.Noon), want, "without a look")
	}

	t.Run("with a look at some of them", func(t *testing.T) {
		topology, f := flowTo(build.Text("queue q dlx= key=w ready=107"))
		peeked := buffered(same(0, 7), 30, 300, 2, 1800, 7200, 200_000, -1)
		peeked.Depth = build.Some(107)
		w := waitsIn(topology, build.Ref("q"), peeked, Sight{})
		looks := func(model.QueueRef) *Waits { return w }
		assert.Equal(t, dueWords(topology, f, looks, build.Noon),
			"≤ 1m 1   ≤ 10m 2   ≤ 1h 1   ≤ 1d 1   later 1   never 1   not looked at 100")

		// 3 s later one of 2 s is past its time behind one of 300 s; the 30 s have not passed.
		assert.Equal(t, dueWords(topology, f, looks, build.Noon.Add(3*time.Second)),
			"≤ 1m 1   ≤ 10m 1   ≤ 1h 1   ≤ 1d 1   later 1   overdue 1, behind another   never 1   not looked at 100")
	})

	t.Run("28 levels", func(t *testing.T) {
		h := DueHistogram{}
		h.add(1, DueTime{Kind: DueAtMost, Time: build.Noon.Add(math.MaxInt64)}, build.Noon)
		assert.That(t, h.Within[len(dueSpans)-1] == 1, "%+v", h)
	})
}

func TestDueHistogramOfLevels(t *testing.T) {
	var parts []build.Part
	for i := range 6 {
		level := build.Buffer(fmt.Sprintf("level-%d", i), "w", 1000<<i, build.Ready(1))
		if i > 0 {
			level = build.Queue(fmt.Sprintf("level-%d", i), build.DLX(""),
				build.DeadKey(fmt.Sprintf("level-%d", i-1)), build.TTL(1000<<i), build.Ready(1))
		}
		parts = append(parts, level)
	}

	topology, f := flowTo(parts...)
	must.Equal(t, len(f.Buffers), 1, "%+v", f.Buffers)
	must.Equal(t, len(f.Buffers[0].Levels), 6)
	// 1, 3, 7, 15, 31 and 63 s at most.
	got := dueWords(topology, f, nothing, build.Noon)
	want := "all 6 within 1m3s   ≤ 1m 5   ≤ 10m 1"
	assert.Equal(t, got, want)
}

// waitsIn adds the messages of a peek from the last to the first: the order makes no difference.
func waitsIn(t *model.Topology, ref model.QueueRef, peeked peek.Peeked, head Sight) *Waits {
	w := WaitingIn(t, ref, peeked, head)
	for i := peeked.Messages.Len() - 1; i >= 0; i-- {
		m, _ := peeked.Messages.At(i, 1) // they are in memory
		w.See(i, &m)
	}

	return w.Waits()
}

// named are peeked messages after noon: a capitalized name has an id, and the same name is the same message. A number
// after it is how often the worker has rejected it, first at noon where it begins with "noon"; a + means that it was
// delivered before.
func named(after time.Duration, names string) peek.Peeked {
	var messages message.MessageList
	for i, name := range strings.Fields(names) {
		name, redelivered := strings.CutSuffix(name, "+")
		m := message.Message{Position: i + 1, Redelivered: redelivered, Body: []byte(name)}
		if n := name[len(name)-1]; n >= '0' && n <= '9' {
			death := model.Table{"queue": "w", "reason": "rejected", "count": int64(n - '0')}
			if strings.HasPrefix(name, "noon") {
				death["time"] = build.Noon
			}
			m.Headers = model.Table{"x-death": []any{death}}
			m.Deaths, m.DeathsError = message.ParseDeaths(m.Headers)
		}

		if strings.ToUpper(name) == name {
			m.Properties.MessageID = name
		}

		m.Fingerprint = message.FingerprintOf(&m)
		messages = append(messages, m)
	}

	return peek.Peeked{TakenAt: build.Noon.Add(after), Messages: messages}
}

// A later peek never knows less of messages that still wait than an earlier one; it takes nothing over for messages
// that may have been elsewhere meanwhile.
func TestALaterLookIsNoWorse(t *testing.T) {
	type expected struct {
		Name          string
		Parts         []build.Part
		Before, After string
		Since         time.Duration // how long after noon the head came, at the latest; negative: unknown
		Later         time.Duration
		Want          string
	}

	must.Run(t, "testdata/later_looks.toml", func(t *testing.T, c expected) {
		topology := build.TopologyOf("4.0.5", c.Parts...)

		var before *Waits
		if c.Before != "" {
			before = waitsIn(topology, build.Ref("q"), named(0, c.Before), Sight{})
		}

		var head Sight
		if c.Since >= 0 {
			head.Since = build.Noon.Add(c.Since)
		}

		peeked := named(c.Later, c.After)
		w := WaitingIn(topology, build.Ref("q"), peeked, head)
		w.After(before)
		for i := range peeked.Messages.Len() {
			m, _ := peeked.Messages.At(i, 1)
			w.See(i, &m)
		}

		var got []string
		for _, wait := range w.Waits().Messages {
			got = append(got, wait.Due.In(peeked.TakenAt))
		}

		assert.Equal(t, strings.Join(got, " "), c.Want)
	})
}

func TestTwoBoundsNarrowADueTime(t *testing.T) {
	at := func(from, to int) DueTime {
		d := DueTime{Kind: DueAtMost, Time: build.Noon.Add(time.Duration(to) * time.Second)}
		if from >= 0 {
			d.Earliest = build.Noon.Add(time.Duration(from) * time.Second)
		}
		if from >= 0 && to-from <= 1 {
			d.Kind = DueExact
		}
		return d
	}

	for _, c := range []struct {
		name       string
		a, b, want DueTime
	}{
		{"the lower bound", at(-1, 40), at(-1, 60), at(-1, 40)},
		{"and the other way round", at(-1, 60), at(-1, 40), at(-1, 40)},
		{"exact stays exact", at(-1, 60), at(39, 40), at(39, 40)},
		{"two bounds that meet are exact", at(39, 60), at(-1, 40), at(39, 40)},
		{"a contradiction: the first holds", at(50, 60), at(-1, 40), at(50, 60)},
		{"nothing more is known", at(-1, 60), DueTime{}, at(-1, 60)},
		{"it never leaves", DueTime{Kind: DueUnknown}, at(-1, 60), DueTime{Kind: DueUnknown}},
	} {
		assert.Equal(t, c.a.Narrowed(c.b), c.want, "%s", c.name)
	}
}

// sentAgain returns a message as Symfony's worker sends it to a buffer for another try, this long after noon. It has no
// id and no timestamp.
func sentAgain(after time.Duration, deaths ...any) message.Message {
	at := build.Noon.Add(after).Format(time.RFC3339)
	m := message.Message{Position: 1, Body: []byte("{}"), BodyBytes: 2, Headers: model.Table{
		`X-Message-Stamp-Symfony\Component\Messenger\Stamp\RedeliveryStamp`: `[{"retryCount":1,"redeliveredAt":"` + at + `"}]`,
	}}
	if len(deaths) > 0 {
		m.Headers["x-death"] = deaths
		m.Deaths, m.DeathsError = message.ParseDeaths(m.Headers)
	}

	m.Fingerprint = message.FingerprintOf(&m)
	return m
}

// A retry is another message without an id, and at each peek the polls may say that something has left since: the
// previous try, or its twin. If the worker recorded when it sent this one, its due time stays.
func TestARetryThatSaysWhenItWasSent(t *testing.T) {
	expired := func(after time.Duration) model.Table {
		return model.Table{
			"queue": "q", "reason": "expired", "count": int64(1), "time": build.Noon.Add(after),
			"exchange": "", "routing-keys": []any{"q"},
		}
	}

	retried := []build.Part{
		build.Text(`
			queue messages consumers=1
			buffer delay_retry messages 60000
		`),
	}

	for _, c := range []struct {
		name string
		m    message.Message
		want string // 20 s, 30 s and 50 s after noon
	}{
		{"sent at noon", sentAgain(0), "41s 31s 11s"},
		{"sent at noon, after an earlier wait", sentAgain(0, expired(-time.Second)), "41s 31s 11s"},
		{"sent before it came here by expiry", sentAgain(0, expired(15*time.Second)), "≤ 1m ≤ 1m ≤ 1m"},
		{"by a clock that is an hour slow", sentAgain(-time.Hour), "≤ 1m ≤ 1m ≤ 1m"},
		{"by a clock that is an hour fast", sentAgain(time.Hour), "≤ 1m ≤ 1m ≤ 1m"},
		{"no time", message.Message{Position: 1, Body: []byte("{}")}, "≤ 1m ≤ 1m ≤ 1m"},
	} {
		t.Run(c.name, func(t *testing.T) {
			topology := build.TopologyOf("3.10.8", retried...)
			var before *Waits
			var got []string
			for _, after := range []time.Duration{20 * time.Second, 30 * time.Second, 50 * time.Second} {
				at := build.Noon.Add(after)
				peeked := peek.Peeked{TakenAt: at, Messages: message.MessageList{c.m}}
				w := WaitingIn(topology, build.Ref("delay_retry"), peeked, Sight{Since: at}) // something has left
				w.After(before)
				w.See(0, &c.m)
				before = w.Waits()
				got = append(got, before.Messages[0].Due.In(at))
			}

			assert.Equal(t, strings.Join(got, " "), c.want)
		})
	}
}
