package plan

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/build"
	"github.com/dlxtop/dlxtop/model/message"
)

// celeryTask returns a failed task of protocol 2.
func celeryTask(n int, headers model.Table) message.Message {
	m := message.Message{
		Exchange: "dead", RoutingKey: "orders", Body: fmt.Appendf(nil, `[[%d], {}, {"chord": null}]`, n),
		Properties: message.Properties{MessageID: fmt.Sprint("c", n), ReplyTo: "0c5b"},
		Headers: model.Table{
			"task": "shop.charge", "id": fmt.Sprint(n), "root_id": fmt.Sprint(n), "retries": int32(2), "lang": "py",
		},
		Deaths: []message.Death{{Queue: "orders", Reason: model.Rejected, Count: 1, RoutingKeys: []string{"orders"}}},
	}

	maps.Copy(m.Headers, headers)
	m.BodyBytes = len(m.Body)
	m.Fingerprint = message.FingerprintOf(&m)
	return m
}

func failedBy(queue string, headers model.Table, properties message.Properties) message.Message {
	m := message.Message{
		RoutingKey: "all.failed", Headers: headers, Body: []byte("{}"), BodyBytes: 2, Properties: properties,
		Deaths: []message.Death{{Queue: queue, Reason: model.Rejected, Count: 1, RoutingKeys: []string{queue}}},
	}

	m.Fingerprint = message.FingerprintOf(&m)
	return m
}

// frameworksTopology has workers of several frameworks, and one queue for all their failures.
func frameworksTopology() *model.Topology {
	parts := []build.Part{
		build.Text(`
			exchange fanout dead
			queue all.failed
			bind dead all.failed
		`),
	}
	for _, queue := range []string{"orders", "messages", "shop:user:save"} {
		parts = append(parts, build.Queue(queue, build.Consumers(1), build.DLX("dead")))
	}
	return build.TopologyOf("3.10.8", parts...)
}

// A plan says what it resets, the published message looks as if it was never tried, and an undo restores it.
func TestReplayBeginsAtTheFirstTry(t *testing.T) {
	m := celeryTask(1, model.Table{"error": "no", "x": "y"})
	want := replayOf("all.failed", "auto", m)
	want.User, want.Mark = "guest", true
	run := newRun(frameworksTopology(), want)

	var words []string
	for _, r := range run.Resets {
		words = append(words, r.Words())
	}

	diff := cmp.Diff([]string{"resets retries 2 -> 0"}, words)
	assert.NoDiff(t, diff)
	assert.List(t, run.Strips, []string{"error"})
	p, err := run.Publishing(&m)
	must.Do(t, err)
	must.That(t, p.Headers["retries"] == int32(0), "%v %v", err, p.Headers)
	must.That(t, p.Headers["error"] == nil, "%v %v", err, p.Headers)
	must.That(t, p.Headers["x"] == "y", "%v %v", err, p.Headers)
	entry := NewEntry(&m, &p, false)
	restored := message.Message{Headers: p.Headers, Properties: p.Properties, Body: p.Body}
	entry.Sent.Former.restore(&restored)
	diff = cmp.Diff(m.Headers, restored.Headers)
	assert.Equal(t, diff, "")

	want.KeepTries = true
	run = newRun(frameworksTopology(), want)
	p, err = run.Publishing(&m)
	must.Do(t, err)
	assert.That(t, p.Headers["retries"] == int32(2), "%v %v %v", err, p.Headers, run.Resets)
	assert.Equal(t, run.Resets[0].Words(), "keeps retries 2")
	in := run.Intent(1)
	assert.That(t, in.KeepTries, "a resume would reset them")
	assert.Contains(t, string(must.Get(json.Marshal(in))(t)), `"keep_tries":true`)
}

// A replay to a worker removes Rascal's mark, which would make the worker nack it at once; so does a move, unless the
// death history that goes with the mark stays.
func TestRecoveryMarkOfRascal(t *testing.T) {
	m := failedBy("shop:user:save", model.Table{"rascal": model.Table{
		"originalQueue": "shop:user:save", "error": model.Table{"message": "no"},
		"recovery": model.Table{
			"shop:user:save": model.Table{"immediateNack": true, "xDeath": model.Table{"count": int64(0)}},
		},
	}}, message.Properties{})

	topology := build.Described("3.10.8", `
		queue all.failed
		queue parking
		queue shop:user:save consumers=1 dlx=
	`)
	for _, test := range []struct {
		operation Operation
		to        string
		marked    bool
	}{{Replay, "shop:user:save", false}, {Move, "shop:user:save", false}, {Move, "parking", true}} {
		want := replayOf("all.failed", "queue:"+test.to, m)
		want.Operation = test.operation
		run := newRun(topology, want)
		p := must.Get(run.Publishing(&m))(t)
		assert.Equal(t, strings.Contains(fmt.Sprint(p.Headers), "immediateNack"), test.marked,
			"%s to %s: %v", test.operation, test.to, p.Headers)
		assert.Equal(t, strings.Contains(fmt.Sprint(p.Headers), "error"), test.operation == Move,
			"%s to %s: %v", test.operation, test.to, p.Headers)
	}
}

// The plan says what awaits the messages at their worker, with a count.
func TestWhatAwaitsReplayedMessages(t *testing.T) {
	topology := frameworksTopology()
	at := func(d time.Duration) string {
		return topology.Snapshot.TakenAt.Add(d).UTC().Format("2006-01-02T15:04:05.000000+00:00")
	}
	machinery := `{"UUID":"1","Name":"ship","RoutingKey":"k","ETA":"` + at(time.Minute) +
		`","RetryCount":0,"RetryTimeout":8}`
	last := failedBy("orders", nil, message.Properties{})
	last.Body = []byte(machinery)
	last.BodyBytes = len(machinery)
	both := celeryTask(9, model.Table{"x-exception-message": "no"})

	want := replayOf("all.failed", "auto",
		celeryTask(1, model.Table{"expires": at(-5 * time.Minute)}),
		celeryTask(2, model.Table{"expires": at(-7 * time.Minute)}), celeryTask(3, model.Table{"eta": at(time.Hour)}),
		celeryTask(4, model.Table{"expires": at(time.Hour), "eta": at(-time.Hour)}),
		failedBy("messages", nil, message.Properties{ReplyTo: "amq.gen-gone"}),
		failedBy("messages", nil, message.Properties{ReplyTo: "orders"}), last, both,
		failedBy("messages", nil, message.Properties{ReplyTo: "amq.rabbitmq.reply-to.g1AAB.kq"}),
		failedBy("messages", nil, message.Properties{ReplyTo: "amq.rabbitmq.reply-to.g1AAC.kq"}),
	)
	plan := New(topology, want)

	for _, want := range []string{
		"2 Celery messages have expired (5m ago): the worker will discard them. Begin with a canary",
		"1 Celery message is due later, the last in 1h: the worker holds it until then. Begin with a canary",
		"1 message asks for an answer in amq.gen-gone, which does not exist: the answer is lost",
		"2 messages ask for an answer by direct reply-to: the answers are lost unless the requester still waits on the " +
			"same channel",
		"1 Machinery message is due later, the last in 1m: replayed now, it runs at once",
		"1 Machinery message gets one try and no retry: RetryCount is 0, and how many there were is not in the message",
		"1 message has the marks of Spring AMQP and Celery: what each of them wrote is reset",
	} {
		assert.That(t, slices.Contains(warned(plan.Warnings), want), "%q is not in\n%s", want, warnedOf(plan.Warnings))
	}

	assert.That(t, len(plan.Warnings) == 7, "%s", warnedOf(plan.Warnings))
	waits := plan.Counted(topology)[0]
	want.Counts = model.CountsByQueue{waits: {Consumers: build.Some(1)}}
	assert.Contains(t, warnedOf(New(topology, want).Warnings),
		"1 message asks for an answer by direct reply-to, and the requester is gone: the answer is lost")
}

// mixed returns messages of five frameworks in one failed queue, and some without a known framework.
func mixed(n int) message.MessageList {
	var list message.MessageList
	for i := range n {
		switch i % 6 {
		case 0, 1:
			list = append(list, celeryTask(i, nil))
		case 2:
			stamped := model.Table{"X-Message-Stamp-A": "[]", "type": "A"}
			list = append(list, failedBy("messages", stamped, message.Properties{}))
		case 3:
			list = append(list, failedBy("shop:user:save", model.Table{"rascal": model.Table{
				"originalQueue": "shop:user:save",
				"recovery":      model.Table{"shop:user:save": model.Table{"forwarded": int64(i % 4)}},
			}}, message.Properties{}))
		case 4:
			list = append(list, failedBy("messages", model.Table{"reason_poisoned": "no"}, message.Properties{}))
		case 5:
			list = append(list, failedBy("nowhere", model.Table{"nameko.call_id_stack": []any{"a"}}, message.Properties{}))
		}
	}

	return list
}

func TestPlanGroupsWhatOneQueueHolds(t *testing.T) {
	plan := New(frameworksTopology(), replayOf("all.failed", "auto", mixed(1000)...))
	want := "334 Celery to orders, 167 Rascal to shop:user:save, 167 Symfony Messenger to messages, " +
		"166 Nameko without a target: stay, 166 Watermill to messages"
	assert.Equal(t, plan.GroupWords(), want)

	var words []string
	for _, r := range plan.Resets {
		words = append(words, fmt.Sprint(r.Words(), " of ", r.Messages))
	}

	assert.Same(t, []string{
		"resets retries 2 -> 0 of 334", "resets rascal.recovery.shop:user:save.forwarded 1 to 3 -> 0 of 167",
	}, words)
}

// Planning 50,000 messages of five frameworks takes less than 2 s.
func BenchmarkPlanOfManyFrameworks(b *testing.B) {
	topology := frameworksTopology()
	sample := mixed(50_000)
	b.ResetTimer()
	for b.Loop() {
		New(topology, replayOf("all.failed", "auto", sample...))
	}
}

// main shares the key "k" of the exchange "x" with audit, and dead-letters with the messages' own keys.
func shared(parts ...build.Part) []build.Part {
	return append([]build.Part{
		build.Text(`
			exchange direct x
			queue main dlx=dlx consumers=1
			queue audit
			bind x k main
			bind x k audit
			queue failed
		`),
	}, parts...)
}

func rejectedBy(queue, exchange string, keys ...string) message.Message {
	return message.Message{
		Exchange: "dlx", RoutingKey: keys[0], Headers: model.Table{"region": "eu"},
		Deaths: []message.Death{{Queue: queue, Reason: model.Rejected, Count: 1, Exchange: exchange, RoutingKeys: keys}},
	}
}

// What happens to a copy that fails again, and which way avoids losing it.
func TestSecondFailure(t *testing.T) {
	type expected struct {
		Name  string
		Parts []build.Part
		M     message.Message // zero: rejected in main, through x with k
		To    string          // "": auto
		Way   string          // "EXCHANGE KEY"
		Again string          // words of the refusal; "": it is not refused
		Warns string
	}

	for _, test := range append(must.Cases[expected](t, "testdata/second_failure.toml"), []expected{
		{
			Name: "the application's own are lost, too", Way: " main",
			Parts: shared(build.Exchange("direct", "dlx"), func(s *model.Snapshot) {
				for q := range model.Each(s.Queues) {
					q.Published, q.Delivered = build.Some(2), build.Some(6)
				}
			}),
			Warns: "it loses the application's own messages, too, unless its worker declares a queue for them in time",
		},
	}...) {
		t.Run(test.Name, func(t *testing.T) {
			m := test.M

			if m.Deaths == nil {
				m = rejectedBy("main", "x", "k")
			}

			topology := build.TopologyOf("4.0.5", test.Parts...)
			want := wantTo(t, topology, "failed", test.To, m)
			p := New(topology, want)
			must.Equal(t, len(p.Ways), 1, "ways %+v, not %s", p.Ways, test.Way)
			must.Equal(t, p.Ways[0].Exchange+" "+p.Ways[0].RoutingKey, test.Way)
			words := p.Refusal.Words()
			assert.Equal(t, p.Refusal.Refused(), test.Again != "", "refused: %q, not %q", words, test.Again)
			assert.Contains(t, words, test.Again)
			assert.Contains(t, warnedOf(p.Warnings), test.Warns)
			run := p.On(topology)
			_, err := run.Publishing(&m)
			assert.That(t, (err != nil) == (test.Again != ""), "published: %v", err)
			want.Insist = true
			insisted := New(topology, want)
			run = insisted.On(topology)
			_, err = run.Publishing(&m)
			grave := slices.ContainsFunc(insisted.Warnings, func(w Warning) bool { return w.Grave })
			must.Do(t, err)
			assert.That(t, !insisted.Refusal.Refused(), "insisted: %v, %s, whole %t, grave %t", err, insisted.Refusal.Words(),
				insisted.KeepsWhole(), grave)
			assert.Equal(t, insisted.KeepsWhole(), test.Again != "")
			assert.Equal(t, grave, test.Again != "")
			again := New(topology, want)
			was, is := insisted.Promise(), again.Promise()

			assert.That(t, len(was.Changes(&is)) == 0, "changes: %s", ChangesWords(was.Changes(&is)))
		})
	}
}

// The same rule for what goes to a queue by name: a move, an import, an undo.
func TestSecondFailureElsewhere(t *testing.T) {
	topology := build.TopologyOf("4.0.5", shared(build.Text(`
		exchange direct dlx
		bind dlx k failed
		queue wait ttl=1000 dlx=x
		bind dlx wait wait
	`))...)
	moved := New(topology, moveOf("failed", "main", rejectedBy("main", "x", "k")))
	assert.Contains(t, moved.Refusal.Words(), "fail again in main are lost", "a move")
	imported := ForImport(topology, ImportWant{To: build.Ref("main"), Sizes: []int64{1}})
	assert.That(t, imported.Refusal.Refused(), "an import: %q", imported.Refusal.Words())
	assert.That(t, imported.Refusal.Overridable(), "an import: %q", imported.Refusal.Words())
	edit := wantTo(t, topology, "failed", "exchange:x/k", rejectedBy("main", "x", "k"))
	edit.Mend = programmed(t, `.exchange = "" | .routing_key = "main"`)
	assert.That(t, New(topology, edit).Again != nil, "an edit: not refused")
	kept := message.Message{Exchange: "dlx", RoutingKey: "wait", Headers: model.Table{"CC": []any{"k"}}}

	p := must.Get(ForUndo(topology, UndoWant{
		Record: Record{ID: 1, Operation: Drop, From: build.Ref("wait")},
		Entries: entriesOf(Entry{
			Position: 1, Address: model.Address{RoutingKey: "wait"}, Message: &kept, Outcome: Dropped,
		}),
	}))(t)
	assert.Contains(t, p.Refusal.Words(), "(for k it does)")
}

// BenchmarkEntry hashes what a replay hashes of each message: the original, and the published copy.
func BenchmarkEntry(b *testing.B) {
	for _, size := range []int{1 << 10, 16 << 10} {
		b.Run(message.Size(int64(size)), func(b *testing.B) {
			m := message.Message{
				RoutingKey: "failed", Properties: message.Properties{MessageID: "m1", DeliveryMode: 2},
				Headers: model.Table{"tenant": "a", "x-death": []any{model.Table{"queue": "worker", "count": int64(1)}}},
				Body:    bytes.Repeat([]byte{'b'}, size), BodyBytes: size,
			}

			p := message.Publishing{
				Address: model.Address{RoutingKey: "worker"}, Properties: m.Properties,
				Headers: model.Table{"tenant": "a"}, Body: m.Body, Reaches: []model.QueueRef{{Name: "worker"}},
			}

			b.ReportAllocs()

			for b.Loop() {
				m.Identify()
				NewEntry(&m, &p, false)
			}
		})
	}
}
