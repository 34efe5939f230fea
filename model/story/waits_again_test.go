package story

import (
	"strings"
	"testing"
	"time"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/build"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/model/peek"
)

// named are messages of a look after noon: a name with a capital has an id, the same name is the same message. A number
// behind it is how often the worker has rejected it, and a + that it was delivered before.
func named(after time.Duration, names string) peek.Peeked {
	var messages message.MessageList
	for i, name := range strings.Fields(names) {
		name, redelivered := strings.CutSuffix(name, "+")
		m := message.Message{Position: i + 1, Redelivered: redelivered, Body: []byte(name)}
		if n := name[len(name)-1]; n >= '0' && n <= '9' {
			deaths := []any{model.Table{"queue": "w", "reason": "rejected", "count": int64(n - '0')}}
			m.Headers = model.Table{"x-death": deaths}
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

// What a look knew of messages that still wait, a later one does not make worse; of messages that may have been
// elsewhere meanwhile it says nothing.
func TestALaterLookIsNoWorse(t *testing.T) {
	delayed := []build.Part{
		build.Queue("w", build.Consumers(1)), build.Queue("q", build.DLX(""), build.DeadKey("w"), build.TTL(60_000)),
	}
	retried := []build.Part{
		build.Queue("w", build.Consumers(1), build.DLX(""), build.DeadKey("q")),
		build.Queue("q", build.DLX(""), build.DeadKey("w"), build.TTL(60_000)),
	}
	for _, c := range []struct {
		name          string
		parts         []build.Part
		before, after string
		since         time.Duration // how long after noon the head came, at the latest; negative: nothing says
		later         time.Duration
		want          string
	}{
		{"nothing has left", delayed, "a b", "a b c", 0, 20 * time.Second, "≤ 40s ≤ 40s ≤ 1m"},
		{"nothing has left a retry buffer", retried, "a b", "a b", 0, 20 * time.Second, "≤ 40s ≤ 40s"},
		{"the head has left", delayed, "A B C", "B C D", 19 * time.Second, 20 * time.Second, "≤ 40s ≤ 40s ≤ 1m"},
		{"no poll says what has left", delayed, "A B", "A B", -1, 20 * time.Second, "≤ 40s ≤ 40s"},
		{"without ids, the head has left", delayed, "a b", "b c", 19 * time.Second, 20 * time.Second, "≤ 59s ≤ 1m"},
		{"the head has left a retry buffer", retried, "A B", "B A", 19 * time.Second, 20 * time.Second, "≤ 59s ≤ 1m"},
		{
			"the broker counts what comes into it", retried, "A1 B2 C1", "B2 C1 A2", 19 * time.Second, 20 * time.Second,
			"≤ 40s ≤ 40s ≤ 1m",
		},
		{"a round in between", retried, "A1", "A2", 19 * time.Second, 20 * time.Second, "≤ 59s"},
		{"it was to have left", delayed, "A", "A", 0, 61 * time.Second, "overdue"},
		{"it was to have left, and no poll says since when it is there", delayed, "A", "A", -1, 61 * time.Second, "≤ 1m"},
		{"delivered before, a moment ago", delayed, "a b", "a+ b+ c", 9 * time.Second, 9 * time.Second, "≤ 51s ≤ 51s ≤ 1m"},
		{"delivered before, and the head has left", delayed, "a b", "b+ c", 9 * time.Second, 9 * time.Second, "≤ 51s ≤ 1m"},
		{"delivered before, in a retry buffer", retried, "a", "a+", 9 * time.Second, 9 * time.Second, "≤ 51s"},
		{"delivered before, maybe where it died", retried, "a1", "a1+", 9 * time.Second, 9 * time.Second, "≤ 1m"},
		{"not delivered before: it has come since", retried, "a", "a", 9 * time.Second, 9 * time.Second, "≤ 1m"},
		{"delivered before, of two that are the same", delayed, "a b a", "a+", 9 * time.Second, 9 * time.Second, "≤ 1m"},
		{"delivered before, by whom is unknown", delayed, "a", "a+", 19 * time.Second, 20 * time.Second, "≤ 59s"},
		{"no look before", delayed, "", "a", 15 * time.Second, 20 * time.Second, "≤ 55s"},
	} {
		t.Run(c.name, func(t *testing.T) {
			topology := build.TopologyOf("4.0.5", c.parts...)
			var before *Waits
			if c.before != "" {
				before = waitsIn(topology, build.Ref("q"), named(0, c.before), Sight{})
			}
			var head Sight
			if c.since >= 0 {
				head.Since = build.Noon.Add(c.since)
			}
			peeked := named(c.later, c.after)
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
			assert.Equal(t, strings.Join(got, " "), c.want)
		})
	}
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
