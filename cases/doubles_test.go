package cases

import (
	"slices"
	"strings"
	"testing"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/dlxtop/dlxtop/model/build"
)

// One failure in several failed queues.
func TestDoubles(t *testing.T) {
	play(t,
		situation{
			name: "two services with one dead-letter exchange", from: "trela-official/rabbitmq-pika-flask #30 (c22)",
			parts: twoServices(),
			traffic: func(w *world) {
				w.work("A", rejects)
				for _, id := range []string{"u1", "u2", "", ""} {
					w.publish("main", "user.created", id)
				}
				w.depth("A.dlq", 4)
				w.depth("B.dlq", 4)
			},
			says:    []string{"warning failure-in-two-queues A: arrives in A.dlq, B.dlq"},
			silent:  []string{"failure-in-two-queues B"},
			replays: []replay{{queue: "B.dlq", reach: "A", warns: "also arrive in A.dlq"}},
			check: func(w *world) {
				w.work("A", acks)
				w.runs(0, "replay", "B.dlq", "--yes")
				w.depth("B.dlq", 0)
				errs := w.runs(1, "replay", "A.dlq", "--yes")
				if !strings.Contains(errs, "/B.dlq is replayed to the same queue, or was") {
					w.Errorf("it says %s", errs)
				}
				w.depth("A.dlq", 4)
				w.work("A", rejects)
				w.runs(0, "replay", "A.dlq", "--yes", "--doubles")
				w.depth("B.dlq", 4) // they have failed again
				w.depth("A.dlq", 4)
				w.work("A", acks)
				w.runs(0, "replay", "B.dlq", "--yes", "--limit", "1")
				w.runs(1, "replay", "A.dlq", "--yes", "--canary", "--canary-wait", "1s")
				w.depth("A.dlq", 1) // of what B.dlq had first
				w.runs(1, "journal", "undo", "3", "--yes")
			},
		},
		situation{
			name: "the same id twice, and once with another body", from: "the same kind",
			parts: []build.Part{build.Queue("mail"), build.Queue("mail.failed")},
			traffic: func(w *world) {
				for _, body := range []string{"a", "a", "b"} {
					w.publish("", "mail.failed", "m1", func(p *amqp.Publishing) { p.Body = []byte(body) })
				}
				w.publish("", "mail.failed", "")
				w.publish("", "mail.failed", "")
			},
			check: func(w *world) {
				errs := w.runs(1, "replay", "mail.failed", "--to", "queue:mail", "--yes")
				for _, want := range []string{"1 of them stays: a copy from", "1 message with the message_id of another one"} {
					if !strings.Contains(errs, want) {
						w.Errorf("%q is not in %s", want, errs)
					}
				}
				w.depth("mail", 4)
				w.depth("mail.failed", 1)
				w.runs(0, "journal", "undo", "1", "--yes")
				w.runs(0, "replay", "mail.failed", "--to", "queue:mail", "--yes", "--doubles")
				w.depth("mail", 5)
			},
		},
		situation{
			name: "two services that failed each on its own copy", from: "the same kind",
			parts: append(twoServices(), build.Queue("C", build.DLX("dlx")), build.Bind("main", "user.created", "C")),
			traffic: func(w *world) {
				w.work("A", rejects)
				w.publish("main", "user.created", "u1")
				w.depth("A.dlq", 1)
				w.work("C", rejects)
				w.depth("A.dlq", 2)
			},
			check: func(w *world) {
				w.work("A", acks)
				w.work("C", acks)
				w.runs(0, "replay", "A.dlq", "--yes")
				if got := w.seen(); !slices.Contains(got[2:], "A u1") || !slices.Contains(got[2:], "C u1") {
					w.Errorf("the workers got %v", got)
				}
				w.runs(1, "replay", "B.dlq", "--yes")
				w.depth("B.dlq", 2)
			},
		},
	)
}

// twoServices have failed queues of their own, and both get what A rejects.
func twoServices() []build.Part {
	return []build.Part{
		build.Exchange("topic", "main"), build.Exchange("fanout", "dlx"),
		build.Queue("A", build.DLX("dlx")), build.Bind("main", "user.created", "A"),
		build.Queue("B", build.Consumers(1)), build.Bind("main", "user.created", "B"),
		build.Queue("A.dlq"), build.Bind("dlx", "", "A.dlq"), build.Queue("B.dlq"), build.Bind("dlx", "", "B.dlq"),
	}
}

// runs runs dlxtop, and checks its exit status.
func (w *world) runs(want int, args ...string) (errs string) {
	w.Helper()
	status, out, errs := w.dlxtop(args...)
	if status != want {
		w.Errorf("%v: exit status %d, want %d: %s%s", args, status, want, out, errs)
	}
	return errs
}
