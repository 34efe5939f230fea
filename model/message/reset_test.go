package message

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/model"
)

// How a replay changes each framework's headers: counters at their start, no past failure, and everything else as it
// was.
func TestReset(t *testing.T) {
	type expected struct {
		Name      string
		Was, Want asJSON // Want is nil where nothing changes
		Resets    []Reset
	}

	must.Run(t, "testdata/resets.toml", func(t *testing.T, test expected) {
		m := headed(model.Table(test.Was))

		before := FingerprintOf(&m)
		got, resets := m.Reset(ResetWish{})
		for range 20 { // a map's order is another each time
			assert.Same(t, test.Resets, resets)
			got, resets = m.Reset(ResetWish{})
		}

		if test.Want == nil {
			test.Want = test.Was
		}

		assert.Same(t, model.Table(test.Want), got.Headers)
		assert.That(t, FingerprintOf(&m) == before, "the message itself was changed")
		again, more := got.Reset(ResetWish{})
		assert.That(t, more == nil, "reset twice: %+v", more)
		assert.Equal(t, FingerprintOf(again), FingerprintOf(got))
	})
}

// Counters may be kept, and a move removes only what would make the next worker fail the message at once.
func TestResetAsWished(t *testing.T) {
	m := written(t)["Celery"]
	m.Headers["error"] = "no"
	got, resets := m.Reset(ResetWish{KeepTries: true})
	assert.That(t, got.Headers["retries"] == int32(2), "%v %v", got.Headers, resets)
	assert.That(t, got.Headers["error"] == nil, "%v %v", got.Headers, resets)
	assert.Equal(t, resets[0], Reset{"Celery", CounterKept, "retries", "retries", 2, 2, ""})
	got, resets = m.Reset(ResetWish{MarksOnly: true})
	assert.That(t, got == &m, "%v", resets)
	assert.That(t, resets == nil, "%v", resets)
	m = written(t)["Rascal"]
	recovery := m.Headers["rascal"].(model.Table)["recovery"].(model.Table)
	recovery["shop:user:save"] = model.Table{"immediateNack": true, "forwarded": int32(1)}
	got, resets = m.Reset(ResetWish{MarksOnly: true})
	left := got.Headers["rascal"].(model.Table)
	diff := cmp.Diff(model.Table{"shop:user:save": model.Table{"forwarded": int32(1)}}, left["recovery"])
	assert.NoDiff(t, diff)
	assert.Equal(t, len(resets), 1, "%v %v", diff, resets)
	assert.That(t, left["error"] != nil, "%v %v", diff, resets)
}

// Resetting a count in a JSON body touches no other byte.
func TestResetOfABody(t *testing.T) {
	for _, test := range []struct{ was, want string }{
		{celeryFirst, celeryFirst[:len(celeryFirst)-len(celeryTail)] + `"retries": 0` + celeryTail[len(`"retries": 2`):]},
		{faktoryJob, `{"jid":"a1b2c3","queue":"mail","jobtype":"SendMail","args":[1],"retry":25}`},
	} {
		m := Message{Body: []byte(test.was), BodyBytes: len(test.was)}
		got, _ := m.Reset(ResetWish{})
		assert.Equal(t, string(got.Body), test.want)
		assert.Equal(t, got.BodyBytes, len(test.want), "%v", test.want)
		m.Body = m.Body[:len(m.Body)-1] // an incomplete body
		cut, resets := m.Reset(ResetWish{})
		assert.That(t, cut == &m, "%v", resets)
	}
}

// celeryTail is the part of celeryFirst with its count.
const celeryTail = `"retries": 2, "eta": "2026-11-22T07:00:05.123456+00:00", "expires": null, "utc": true, ` +
	`"callbacks": null, "errbacks": null, "timelimit": [null, null], "taskset": null, "chord": null}`

func TestTaskTriesAndTimes(t *testing.T) {
	celery := written(t)["Celery"]
	rascal := written(t)["Rascal"]
	for _, test := range []struct {
		name, task   string
		m            Message
		tries        int64
		eta, expires string
		held         bool
	}{
		{"Celery", "shop.charge", celery, 2, "2026-11-22T07:00:05Z", "2026-11-22T07:00:12Z", true},
		{"Celery, protocol 1", "shop.charge", bodied(celeryFirst), 2, "2026-11-22T07:00:05Z", "", true},
		{"Rascal", "", rascal, 2, "", "", false},
		{"Machinery", "ship", bodied(machineryTask), 0, "2026-11-22T07:00:05Z", "", false},
		{"Dramatiq", "send", bodied(dramatiqActor), 3, "", "", false},
		{"Faktory", "SendMail", bodied(faktoryJob), 3, "", "", false},
		{"none", "", Message{Headers: model.Table{"task": "t", "retries": int64(4)}}, 0, "", "", false},
	} {
		task, _ := test.m.Task()
		tries, _, _ := test.m.Retried()
		eta, held, _ := test.m.Eta()
		expires, _ := test.m.Expires()
		second := "2006-01-02T15:04:05Z"

		assert.Equal(t, task, test.task, "%v", test.name)
		assert.Equal(t, tries, test.tries, "%v", test.name)
		assert.Equal(t, held, test.held, "%s: %q %d %v %v %v", test.name, task, tries, eta, held, expires)
		assert.That(t, eta.UTC().Format(second) == test.eta || test.eta == "" && eta.IsZero(), "%s: %q %d %v %v %v",
			test.name, task, tries, eta, held, expires)
		assert.That(t, expires.UTC().Format(second) == test.expires || test.expires == "" && expires.IsZero(),
			"%s: %q %d %v %v %v", test.name, task, tries, eta, held, expires)
	}

	assert.Equal(t, celery.FrameworkWords(), "Celery: shop.charge, counts 2, due 2026-11-22T07:00:05.123Z, "+
		"expires 2026-11-22T07:00:12.000Z")
	m := bodied(machineryTask)
	assert.Equal(t, m.FrameworkWords(), "Machinery: ship, retries left: 1, due 2026-11-22T07:00:05.123Z")
	left, ok := m.RetriesLeft()
	assert.Equal(t, left, 1)
	assert.That(t, ok, "%v", left)
	celery.Headers["eta"], celery.Headers["expires"] = "2026-11-22T07:00:05", int64(7) // without a zone; of another type
	eta, _, due := celery.Eta()
	expires, ends := celery.Expires()
	assert.That(t, !due, "due %v, expires %v", eta, expires)
	assert.That(t, !ends, "due %v, expires %v", eta, expires)
}

func TestReplayMark(t *testing.T) {
	m := Message{Headers: model.Table{"kept": "x"}}
	for n := int64(1); n <= 3; n++ {
		p := Publishing{Headers: model.Table{"kept": "x"}}
		p.Mark(&m, nil, "a", false)
		m = Message{Headers: p.Headers}
		_, text := p.Headers[ReplayHeader].(string)
		assert.That(t, text, "the mark is %v", p.Headers[ReplayHeader])
		assert.That(t, m.MarkedBy("a"), "the mark is %v", p.Headers[ReplayHeader])
		assert.That(t, !m.MarkedBy("b"), "the mark is %v", p.Headers[ReplayHeader])
		assert.That(t, !m.MarkedBy(""), "the mark is %v", p.Headers[ReplayHeader])
		got, last, ok := m.Replays()
		assert.That(t, ok, "after %d: %d %s %t", n, got, last, ok)
		assert.Equal(t, got, n)
		assert.That(t, time.Since(last) <= time.Minute, "after %d: %d %s %t", n, got, last, ok)
		assert.That(t, m.Headers["kept"] == "x", "after %d: %d %s %t", n, got, last, ok)
	}

	for _, test := range []struct {
		value any
		words string
	}{
		{nil, ""},
		{"twice", ""},
		{"count=", ""},
		{"count=-1; time=2026-11-22T05:00:00Z", ""},
		{"count=99999999999999999999999", ""},
		{"count=1", "replayed once"},
		{"count=2; time=yesterday; replay=a; more=b", "replayed 2 times"},
		{model.Table{"count": "2"}, ""},
		{model.Table{"count": int64(-1)}, ""},
		{model.Table{"count": int64(1)}, "replayed once"},
		{model.Table{"count": int8(2), "time": "yesterday"}, "replayed 2 times"},
	} {
		m := Message{Headers: model.Table{ReplayHeader: test.value}}
		assert.Equal(t, m.ReplayedWords(), test.words, "%v", test.value)
	}
}
