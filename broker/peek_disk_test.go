package broker_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/internal/seed"
	"github.com/dlxtop/dlxtop/internal/size"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/model/peek"
)

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
	messages[n-2].Body = make([]byte, 300_000) // larger than what waits to be written
	a.publish(q, messages...)
	var want []message.Message
	must.Get(c.Read(t.Context(), planPeek(described(q, model.Classic), peek.Want{ForAction: true}),
		func(m *message.Message) error {
			want = append(want, *m)
			return nil
		}))(t)
	a.await(q, n)
	got := peekAt(t, c, planPeek(described(q, model.Classic), peek.Want{Limit: n})).Messages
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

// namedSpools are the files of looks that others could open.
func namedSpools(t *testing.T) []string {
	t.Helper()
	named := must.Get(filepath.Glob(filepath.Join(os.TempDir(), "dlxtop-peek-*")))(t)
	return named
}

// TestPeekWithoutRoomOnTheDisk keeps what is in memory, says why there is no more, and leaves the queue as it was.
func TestPeekWithoutRoomOnTheDisk(t *testing.T) {
	a, c := newApp(t), client(t)
	q := a.queue("q", model.Quorum)
	messages := numbered(200)
	for i := range messages {
		messages[i].Body = make([]byte, 50_000)
	}
	a.publish(q, messages...)
	t.Setenv("TMPDIR", filepath.Join(t.TempDir(), "missing"))
	peeked := peekAt(t, c, planPeek(described(q, model.Quorum), peek.Want{Limit: 200}))
	n := len(peeked.Messages)
	assert.That(t, n >= 50 && n < 100 && slices.Equal(messageIDs(peeked.Messages), count(n)), "%d messages", n)
	assert.Contains(t, peeked.Stopped, "TMPDIR", "stopped")
	a.await(q, 200)
	wantIDs(t, "the queue", a.drain(q, 200), count(200))
}
