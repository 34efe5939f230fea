package plan

import (
	"cmp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/build"
	"github.com/dlxtop/dlxtop/model/message"
)

func canaryWant(from string, sample ...message.Message) ActionWant {
	want := replayOf(from, "queue:w", sample...)
	want.Mark, want.Canary = true, 10*time.Second
	return want
}

func TestCanaryPlans(t *testing.T) {
	type expected struct {
		Name, Version    string
		From             build.Part
		To               string
		Used             []int64
		Written          int64 // by the publisher
		Refusal, Warning string
		OneLook          bool
	}

	must.Run(t, "testdata/canary_plans.toml", func(t *testing.T, test expected) {
		topology := build.TopologyOf(test.Version, test.From, build.Text(`
				queue w consumers=1
				queue idle
			`))

		if test.Used == nil {
			test.Used = []int64{0}
		}

		var sample message.MessageList
		for _, n := range test.Used {
			sample = append(sample, message.Message{Redelivered: true, Headers: model.Table{"x-delivery-count": n}})
		}
		if test.Written > 0 {
			sample = append(sample, message.Message{Headers: model.Table{"x-delivery-count": test.Written}})
		}

		want := canaryWant("f", sample...)
		want.Fixed.RoutingKey = cmp.Or(test.To, "w")

		plan := New(topology, want)
		must.That(t, plan.Canary != nil, "%+v", plan.Canary)
		must.Equal(t, plan.Canary.OneLook, test.OneLook)
		assert.That(t, test.Refusal != "" || !plan.Refusal.Refused(), "refusal %q, want %q", plan.Refusal.Words(),
			test.Refusal)
		assert.Contains(t, plan.Refusal.Words(), test.Refusal)
		assert.Contains(t, warnedOf(plan.Warnings), test.Warning)
	})
}

// Failing messages come back after the retry buffers, and a canary that watches for a shorter time does not see them.
func TestCanaryIsHonestAboutRetries(t *testing.T) {
	topology := build.TopologyOf("3.10.8", build.ScenarioParts["pubsub"]...)
	want := replayOf("ucenter@user@failed", "", message.Message{Exchange: "master.failed", RoutingKey: "ucenter@user"})
	want.Canary = 10 * time.Second
	got := warnedOf(New(topology, want).Warnings)
	assert.Contains(t, got, "retry buffers for 30s or more")
	assert.Contains(t, got, "a canary of 10s does not see that")
	want.Canary = 2 * time.Minute
	got = warnedOf(New(topology, want).Warnings)
	assert.Lacks(t, got, "does not see")
}

// A canary watches as long as the selected messages waited in their worker's retry buffers before they failed, at least
// once through all of them, plus a margin.
func TestCanaryWaitsAsRetriesTake(t *testing.T) {
	topology := build.TopologyOf("3.10.8", build.ScenarioParts["pubsub"]...)
	died := func(queue, reason string, count int64) message.Death {
		return message.Death{Queue: queue, Reason: model.Reason(reason), Count: count}
	}
	for name, test := range map[string]struct {
		deaths []message.Death
		want   time.Duration
	}{
		"no deaths":    {nil, 35 * time.Second},
		"three rounds": {[]message.Death{died("ucenter@user@retry", "expired", 3)}, 99 * time.Second},
		"of another": {
			[]message.Death{died("other.retry", "expired", 30), died("ucenter@user@retry", "rejected", 30)}, 35 * time.Second,
		},
		"for ever": {[]message.Death{died("ucenter@user@retry", "expired", 1<<60)}, time.Hour},
	} {
		want := replayOf("ucenter@user@failed", "", message.Message{
			Exchange: "master.failed", RoutingKey: "ucenter@user", Deaths: test.deaths,
		})
		want.Canary = CanaryAuto
		got := New(topology, want)
		assert.Equal(t, got.Canary.Wait, test.want, "%s", name)
		early := strings.Contains(warnedOf(got.Warnings), "does not see that")
		assert.Equal(t, early, name == "for ever", "%s", name)
	}

	plain := build.Described("3.10.8", `
		queue f ready=1
		queue w consumers=1
	`)
	want := canaryWant("f", message.Message{})
	want.Canary = CanaryAuto
	assert.Equal(t, New(plain, want).Canary.Wait, 10*time.Second, "without retries")
}

func TestComeBacks(t *testing.T) {
	sent := []message.Publishing{
		{Properties: message.Properties{MessageID: "a"}, Body: []byte("one")},
		{Properties: message.Properties{MessageID: "b"}, Body: []byte("two")},
		{Body: []byte("three")},
		{},
	}

	for _, test := range must.Cases[struct {
		Name, Replay, Body string
		Mark               model.Table
		Properties         message.Properties
		Arrived            bool
		Want               int
	}](t, "testdata/come_backs.toml") {
		m := message.Message{Properties: test.Properties, Body: []byte(test.Body), BodyBytes: len(test.Body)}
		if test.Mark != nil {
			m.Headers = model.Table{message.ReplayHeader: test.Mark}
		}

		r := Released{Mark: test.Replay}
		for i := range sent {
			r.Add(&sent[i])
		}

		pass := r.ComeBacks()
		pass.Look(&m, test.Arrived)
		assert.Equal(t, pass.Count, test.Want, "%s", test.Name)
	}

	// No more may come back than were sent.
	r := Released{}
	r.Add(&sent[2])
	pass := r.ComeBacks()
	for range 3 {
		pass.Look(&message.Message{Body: []byte("three")}, true)
	}

	assert.Equal(t, pass.Count, 1, "of 1 came back")
}

func readyBytes(n int64) build.Setting { return func(q *model.Queue) { q.ReadyBytes = model.Some(n) } }

// sized returns messages with bodies of these sizes.
func sized(sizes ...int) message.MessageList {
	list := make(message.MessageList, len(sizes))
	for i, n := range sizes {
		list[i].BodyBytes = n
	}
	return list
}

// What a limit drops is known before.
func TestLimitLoss(t *testing.T) {
	type expected struct {
		limited
		Want string
	}

	must.Run(t, "testdata/limit_losses.toml", func(t *testing.T, test expected) {
		topology := build.TopologyOf("3.10.8", test.part,
			build.Queue("f", build.Ready(12), readyBytes(120)), build.Text(`
					exchange fanout void
					exchange fanout dead
					queue aside
					bind dead aside
				`))
		if test.Sample == nil {
			test.Sample = slices.Repeat([]int{10}, 12)
		}

		want := moveOf("f", "w", sized(test.Sample...)...)
		want.Planned += test.More
		plan := New(topology, want)
		if test.Want == "" {
			assert.Equal(t, plan.Refusal.Words(), "")
			assert.That(t, plan.Losses == nil, "refused: %s", plan.Refusal.Words())
			assert.That(t, !plan.Whole, "refused: %s", plan.Refusal.Words())
			return
		}

		assert.Contains(t, plan.Refusal.Words(), test.Want)
		assert.That(t, plan.Refusal.Overridable(), "%q (%q), want something with %q", plan.Refusal.Words(),
			plan.Refusal.Override(), test.Want)
		assert.That(t, !plan.Whole, "%q (%q), want something with %q", plan.Refusal.Words(), plan.Refusal.Override(),
			test.Want)
		want.Insist = true
		plan = New(topology, want)
		assert.That(t, !plan.Refusal.Refused(), "insisted: %q, whole %t, warnings %q", plan.Refusal.Words(), plan.Whole,
			warned(plan.Warnings))
		assert.That(t, plan.Whole, "insisted: %q, whole %t, warnings %q", plan.Refusal.Words(), plan.Whole,
			warned(plan.Warnings))
		assert.Contains(t, warnedOf(plan.Warnings), test.Want)
	})
}

// Statistics lag some seconds, and the actual depth of a queue decides.
func TestLimitLossByNewerCounts(t *testing.T) {
	topology := build.Described("3.10.8", "queue f\nqueue w max-length=5")
	want := moveOf("f", "w", sized(1, 1)...)
	want.Journaled = false
	plan := New(topology, want)
	must.That(t, !plan.Refusal.Refused(), "%q, to be counted: %v", plan.Refusal.Words(), plan.Counted(topology))
	must.That(t, slices.Equal(plan.Counted(topology), build.Refs("w")), "%q, to be counted: %v", plan.Refusal.Words(),
		plan.Counted(topology))
	want.Counts = model.CountsByQueue{build.Ref("w"): {
		Ready: build.Some(4), Consumers: build.Some(0),
	}}
	plan = New(topology, want)
	must.Equal(t, len(plan.Losses), 1, "%+v", plan.Losses)
	assert.Equal(t, plan.Losses[0].Old, 1)
	assert.Equal(t, plan.Losses[0].Ours, 0)
	want.Insist = true
	plan = New(topology, want)
	assert.That(t, !plan.Whole, "whole %t: %v", plan.Whole, warned(plan.Warnings))
	assert.Contains(t, warnedOf(plan.Warnings), "without the journal, lost messages cannot be brought back")
}

func TestImportIntoALimit(t *testing.T) {
	topology := build.Described("3.10.8", `
		queue w ready=3 max-length=5
		queue late ttl=1000 consumers=1
	`)
	want := ImportWant{To: build.Ref("w"), Sizes: []int64{1, 1, 1}}
	plan := ForImport(topology, want)
	assert.Contains(t, plan.Refusal.Words(), "1 message would be dropped: 1 of the 3 that it holds")
	assert.Equal(t, plan.Planned, 3)
	assert.That(t, plan.Refusal.Overridable(), "%+v", plan)
	want.Insist = true
	plan = ForImport(topology, want)
	assert.Equal(t, plan.Refusal.Words(), "")
	plan = ForImport(topology, ImportWant{To: build.Ref("nowhere")})
	assert.Contains(t, plan.Refusal.Words(), "there is no queue nowhere")
	assert.That(t, !plan.Refusal.Overridable(), "%+v", plan)
	plan = ForImport(topology, ImportWant{To: build.Ref("late"), Sizes: []int64{1}})
	must.Equal(t, len(plan.Warnings), 1, "%q", warned(plan.Warnings))
	assert.Contains(t, plan.Warnings[0].Words(), "expires its messages")
}

// From 4.4 on a quorum queue confirms such a message and holds it back, so a replay removes the header unless asked to
// keep it; an undo that does not find the copy then does not call it gone. An import and an edit do the same.
func TestDeliveryTime(t *testing.T) {
	now := time.Date(2026, 11, 26, 12, 0, 0, 0, time.UTC)
	m := failedBy("orders", model.Table{message.DeliveryTimeHeader: now.Add(time.Hour).UnixMilli()}, message.Properties{})
	for _, test := range []struct {
		version  string
		keep     bool
		strips   string
		warning  string
		gone     GoneWhy
		undoSays string
	}{
		{"4.3.6", false, "", "", GoneTaken, ""},
		{"4.4.0", false, message.DeliveryTimeHeader, "in 1h: x-opt-delivery-time is removed", GoneTaken, ""},
		{"4.4.0", true, "", "RabbitMQ confirms them, and keeps them back", GoneWaits, "kept back by RabbitMQ until the time"},

		{"5.0.0", false, message.DeliveryTimeHeader, "(--keep-delay keeps it)", GoneTaken, ""},
	} {
		t.Run(test.version, func(t *testing.T) {
			topology := build.Described(test.version, `
				queue failed
				queue orders
			`)
			topology.Snapshot.TakenAt = now
			want := replayOf("failed", "queue:orders", m)
			want.KeepDelay, want.User = test.keep, "guest"
			run := newRun(topology, want)
			words := warnedOf(run.Warnings)
			file := ImportWant{To: build.Ref("orders"), KeepDelay: test.keep}
			file.Add(topology, &m)

			imported := ForImport(topology, file)
			says := warnedOf(imported.Warnings)
			assert.Contains(t, says, test.warning)
			assert.That(t, test.warning != "" || !strings.Contains(says, "x-opt"), "an import strips %s, says %s",
				imported.Strips, says)
			assert.Equal(t, strings.Join(imported.Strips, " "), test.strips)
			want.Mend = programmed(t, `.headers["x-opt-delivery-time"] = 4102444800000`)
			edited := newRun(topology, want)
			assert.Equal(t, edited.Refusal.Refused(), test.strips != "", "an edit: %s, %s", edited.Refusal.Words(),
				warnedOf(edited.Warnings))
			assert.That(t, !test.keep || strings.Contains(warnedOf(edited.Warnings), test.warning), "an edit: %s, %s",
				edited.Refusal.Words(), warnedOf(edited.Warnings))
			assert.Equal(t, strings.Join(run.Strips, " "), test.strips)
			assert.Contains(t, words, test.warning)
			assert.That(t, test.warning != "" || !strings.Contains(words, "x-opt-delivery"), "strips %s, says %s", run.Strips,
				words)
			p, err := run.Publishing(&m)
			must.Do(t, err)
			assert.Equal(t, p.Headers[message.DeliveryTimeHeader] == nil, test.strips != "", "%v %v", err, p.Headers)

			e := NewEntry(&m, &p, false)
			e.Outcome = Moved
			undo := must.Get(ForUndo(topology, UndoWant{
				Record:  Record{Operation: Replay, From: build.Ref("failed"), Intent: run.Intent(1), Ended: now},
				Entries: entriesOf(e), User: "guest",
			}))(t)
			assert.Equal(t, undo.Gone(), test.gone)
			assert.Contains(t, undo.Gone().Words(), test.undoSays)
		})
	}
}

// From 4.4 on an undone message is held back in its queue, and the plan says so. When an earlier undo has an unknown
// outcome, the message is left, as no peek shows whether it came back.
func TestUndoBringsDelayBack(t *testing.T) {
	now := time.Date(2026, 11, 26, 12, 0, 0, 0, time.UTC)
	m := failedBy("orders", model.Table{message.DeliveryTimeHeader: now.UnixMilli() + 3_600_000}, message.Properties{})
	sent := message.Publishing{Properties: m.Properties, Body: m.Body, Reaches: build.Refs("orders")}
	for version, delays := range map[string]bool{"4.3.6": false, "4.4.0": true} {
		topology := build.Described(version, `
			queue failed
			queue orders
		`)
		topology.Snapshot.TakenAt = now
		for _, publishing := range []*message.Publishing{nil, &sent} {
			for _, before := range [][]Attempt{nil, {{By: 3}}} {
				e := NewEntry(&m, publishing, false)
				e.Outcome, e.Undoing = Moved, before
				undo, err := ForUndo(topology, UndoWant{
					Record:  Record{ID: 2, From: build.Ref("failed"), Ended: now},
					Entries: entriesOf(e), User: "guest", There: message.Twins{},
				})

				says := strings.Contains(warnedOf(undo.Warnings), "keeps them back until then")
				first := len(before) == 0
				must.That(t, err == nil, "%s, sent: %v, undone before: %v: %s, %+v, %v", version, publishing != nil, !first,
					undo.Refusal.Words(), undo, err)
				assert.Equal(t, undo.Refusal.Refused(), delays && !first, "%v", version)
				assert.Equal(t, undo.Delayed, delays && first, "%v", version)
				assert.Equal(t, says, undo.Delayed, "%v", version)
				assert.That(t, len(undo.Takes) == 0 || undo.Takes[0].Intent(1).KeepDelay == delays,
					"%s, sent: %v, undone before: %v: %s, %+v, %v", version, publishing != nil, !first, undo.Refusal.Words(), undo,
					err)
			}
		}
	}
}
