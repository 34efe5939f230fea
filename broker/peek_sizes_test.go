package broker_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/internal/seed"
	"github.com/dlxtop/dlxtop/internal/size"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/build"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/model/peek"
)

// forEachSize runs a test with queues of each type and with few and many messages.
func forEachSize(t *testing.T, test func(t *testing.T, kind model.QueueType, n int)) {
	forEachKind(t, func(t *testing.T, kind model.QueueType) {
		for _, n := range []int{1, 100, size.Of(1200, 20_000)} {
			t.Run(fmt.Sprint(n), func(t *testing.T) {
				t.Parallel()
				test(t, kind, n)
			})
		}
	})
}

func TestPeekKeepsOrderContentAndCounts(t *testing.T) {
	forEachSize(t, func(t *testing.T, kind model.QueueType, n int) {
		a, c := newApp(t), client(t)
		q := a.filled("q", kind, numbered(n)...)
		plan := planPeek(q, peek.Want{Limit: n + 1000})
		for look := range 2 {
			wantAllSeen(t, peekAt(t, c, plan), n, 0, look > 0)
			a.await(q, n)
		}

		got := a.drain(q, n)
		wantIDs(t, "afterwards", got, count(n))
		for i, d := range got {
			must.Equal(t, string(d.Body), fmt.Sprintf("body of %d", i+1), "message %d: %s %v", i+1, d.Body, d.Headers)
			must.That(t, d.Headers["number"] == int64(i+1), "message %d: %s %v", i+1, d.Body, d.Headers)
			wantCounts(t, kind, d, 2)
		}
	})
}

// wantAllSeen wants a look to have seen all of n messages except the first of them, which are held elsewhere.
func wantAllSeen(t *testing.T, peeked looked, n, held int, redelivered bool) {
	t.Helper()
	depth, _ := peeked.Depth.Get()
	must.Equal(t, len(peeked.Messages), n-held, "messages, depth %d, stopped %q", depth, peeked.Stopped)
	must.Equal(t, depth, int64(n-held))
	must.Equal(t, peeked.Stopped, "")
	for i, m := range peeked.Messages {
		id := fmt.Sprint(held + i + 1)
		must.Equal(t, m.Properties.MessageID, id, "message %d: %+v", i+1, m)
		must.Equal(t, m.Position, i+1, "%v", m)
		must.Equal(t, string(m.Body), "body of "+id, "%v", i+1)
		must.Equal(t, m.Redelivered, redelivered, "%v", i+1)
	}
}

// wantCounts checks the counters of a message that was looked at this often, and is now delivered again.
func wantCounts(t *testing.T, kind model.QueueType, d amqp.Delivery, looks int64) {
	t.Helper()
	deliveries, _ := model.Table(d.Headers).Integer("x-delivery-count")
	acquired, _ := model.Table(d.Headers).Integer("x-acquired-count")
	switch b := behaviour(); {
	case kind != model.Quorum && deliveries+acquired == 0:
	case kind == model.Quorum && b.ReturnCountsAsDelivery && deliveries == looks:
	case kind == model.Quorum && !b.ReturnCountsAsDelivery && deliveries == 0 && acquired == looks:
	default:
		t.Fatalf("message %s: x-delivery-count %d, x-acquired-count %d after %d looks", d.MessageId, deliveries,
			acquired, looks)
	}
}

// A consumer keeps what it holds, and gets the rest in order.
func TestPeekBesideAConsumer(t *testing.T) {
	forEachSize(t, func(t *testing.T, kind model.QueueType, n int) {
		a, c := newApp(t), client(t)
		q := a.filled("q", kind, numbered(n)...)
		channel, deliveries := a.consumer(q, 10)
		held := min(n, 10)
		a.await(q, n-held)

		q.Consumers = build.Some(1)
		for look := range 2 {
			wantAllSeen(t, lookAt(t, c, q, peek.Want{Limit: n + 1000}), n, held, look > 0)
			a.await(q, n-held)
		}

		var worked []string
		for len(worked) < n {
			d := <-deliveries
			worked = append(worked, d.MessageId)
			if looks := int64(2); len(worked) > held {
				wantCounts(t, kind, d, looks)
			}
			must.Do(t, d.Ack(false))
		}

		assert.That(t, slices.Equal(count(n), worked), "%v", cmp.Diff(count(n), worked))
		assert.Succeeds(t, channel.Close())
	})
}

// A busy consumer gets every message, while others look.
func TestPeekBesideABusyConsumer(t *testing.T) {
	forEachSize(t, func(t *testing.T, kind model.QueueType, n int) {
		a, c := newApp(t), client(t)
		q := a.filled("q", kind, numbered(n)...)
		channel, deliveries := a.consumer(q, 20)
		worked := make(chan map[string]int)
		go func() {
			seen := map[string]int{}
			for len(seen) < n {
				select {
				case d := <-deliveries:
					if string(d.Body) == "body of "+d.MessageId && d.Ack(false) == nil {
						seen[d.MessageId]++
					}
				case <-time.After(patience):
					worked <- seen
					return
				}
			}

			worked <- seen
		}()

		q.Consumers = build.Some(1)

		var seen map[string]int
		for seen == nil {
			peeked, err := c.Peek(t.Context(), planPeek(q, peek.Want{Limit: n, Timeout: time.Second}))
			var limit peek.RefusedLook
			switch {
			case errors.As(err, &limit): // the looks reached the delivery limit before the worker was done
				seen = <-worked
				continue
			case errors.Is(err, model.ErrQueueSilent): // the machine is stalled
				continue
			case err != nil:
				t.Fatal(err)
			}

			must.Do(t, peeked.Messages.Close())
			select {
			case seen = <-worked:
			default:
			}
		}

		must.That(t, len(seen) == n, "%d of %d messages were worked on", len(seen), n)
		for id, times := range seen {
			assert.Equal(t, times, 1, "%s was worked on", id)
		}

		assert.Succeeds(t, channel.Close())
		a.await(q, 0)
	})
}

// TestPeekKeepsEveryMessageOnDiskAsItIs compares what a peek keeps on disk with what the broker delivers, for random
// messages.
func TestPeekKeepsEveryMessageOnDiskAsItIs(t *testing.T) {
	t.Parallel()
	n := size.Of(100, 1000)
	a, c := newApp(t), client(t)
	c.SpoolAll()
	q := a.queue("q", model.Classic)
	r := seed.Rand(t)

	messages := make([]amqp.Publishing, n)
	for i := range messages {
		messages[i] = random(r, i+1)
	}

	messages[n-1].Headers = everyType()
	messages[n-2].Body = make([]byte, 300_000) // larger than the write buffer
	a.publish(q, messages...)
	var want []message.Message
	must.Get(c.Read(t.Context(), planPeek(q, peek.Want{ForAction: true}),
		func(m *message.Message) error {
			want = append(want, *m)
			return nil
		}))(t)

	a.await(q, n)
	got := lookAt(t, c, q, peek.Want{Limit: n}).Messages

	for i := range want {
		want[i].Redelivered = true // by Read
		if len(want[i].Body) == 0 {
			want[i].Body = []byte{}
		}
	}

	assert.NoDiff(t, cmp.Diff(want, got, cmpopts.IgnoreUnexported(message.Message{})))
	for i := range got {
		assert.Equal(t, message.FingerprintOf(&got[i]), got[i].Fingerprint, "message %d: its fingerprint", i+1)
	}
}

// namedSpools returns the files of looks that others could open.
func namedSpools(t *testing.T) []string {
	t.Helper()
	return must.Get(filepath.Glob(filepath.Join(os.TempDir(), "dlxtop-peek-*")))(t)
}

// TestPeekWithoutRoomOnTheDisk keeps what is in memory, says why there is no more, and leaves the queue as it was.
func TestPeekWithoutRoomOnTheDisk(t *testing.T) {
	a, c := newApp(t), client(t)
	q := a.filled("q", model.Quorum, sized(200, 50_000)...)
	t.Setenv("TMPDIR", filepath.Join(t.TempDir(), "missing"))
	peeked := lookAt(t, c, q, peek.Want{Limit: 200})
	n := len(peeked.Messages)
	assert.That(t, n >= 50, "%d messages", n)
	assert.That(t, n < 100, "%d messages", n)
	assert.List(t, messageIDs(peeked.Messages), count(n))
	assert.Contains(t, peeked.Stopped, "TMPDIR", "stopped")
	a.await(q, 200)
	wantIDs(t, "the queue", a.drain(q, 200), count(200))
}
