package broker_test

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	amqp "github.com/rabbitmq/amqp091-go"

	"dlxtop/model"
)

// TestPeekKeepsEveryMessageOnDiskAsItIs compares what a peek keeps on disk with what the broker delivers, for random messages.
func TestPeekKeepsEveryMessageOnDiskAsItIs(t *testing.T) {
	const n = 1000
	a, c := newApp(t), client(t)
	c.SpoolAll()
	q := a.queue("q", model.Classic)
	r := rand.New(rand.NewPCG(4, 2026))
	messages := make([]amqp.Publishing, n)
	for i := range messages {
		messages[i] = random(r, i+1)
	}
	messages[n-1].Headers = everyType()
	messages[n-2].Body = make([]byte, 300_000) // larger than what waits to be written
	a.publish(q, messages...)
	var want []model.Message
	if _, err := c.Read(t.Context(), planPeek(described(q, model.Classic), model.PeekWant{ForAction: true}), func(m *model.Message) error {
		want = append(want, *m)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	a.await(q, n)
	got := peek(t, c, planPeek(described(q, model.Classic), model.PeekWant{Limit: n})).Messages
	for i := range want {
		want[i].Redelivered = true // by Read
		if len(want[i].Body) == 0 {
			want[i].Body = []byte{}
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for i := range got {
		if again := model.FingerprintOf(&got[i]); again != got[i].Fingerprint {
			t.Errorf("message %d: its fingerprint is %s, not %s", i+1, again, got[i].Fingerprint)
		}
	}
}

// spools are the files of peeks that this process has open, and those that have a name.
func spools(t *testing.T) (open, named []string) {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if path, _ := os.Readlink(filepath.Join("/proc/self/fd", e.Name())); strings.Contains(path, "dlxtop-peek-") {
			open = append(open, path)
		}
	}
	named, err = filepath.Glob(filepath.Join(os.TempDir(), "dlxtop-peek-*"))
	if err != nil {
		t.Fatal(err)
	}
	return open, named
}

// TestPeekFileHasNoNameAndGoes: nobody else can open what was read, and nothing of it stays.
func TestPeekFileHasNoNameAndGoes(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("it looks into /proc")
	}
	t.Setenv("TMPDIR", t.TempDir())
	a, c := newApp(t), client(t)
	q := a.queue("q", model.Classic)
	messages := numbered(100)
	for i := range messages {
		messages[i].Body = make([]byte, 100_000)
	}
	a.publish(q, messages...)
	before, _ := spools(t)
	few, err := c.Peek(t.Context(), planPeek(described(q, model.Classic), model.PeekWant{Limit: 10}))
	if err != nil {
		t.Fatal(err)
	}
	if open, _ := spools(t); len(open) != len(before) || few.Messages.Len() != 10 {
		t.Errorf("a short look made a file: %v", open)
	}
	peeked, err := c.Peek(t.Context(), planPeek(described(q, model.Classic), model.PeekWant{Limit: 100}))
	if err != nil {
		t.Fatal(err)
	}
	open, named := spools(t)
	if len(open) != len(before)+1 || !strings.HasSuffix(open[len(open)-1], "(deleted)") || len(named) > 0 {
		t.Errorf("open: %v, with a name: %v", open, named)
	}
	if m, err := peeked.Messages.At(99, 0); err != nil || len(m.Body) != 100_000 {
		t.Errorf("%d bytes: %v", len(m.Body), err)
	}
	if err := peeked.Messages.Close(); err != nil {
		t.Error(err)
	}
	if open, _ := spools(t); len(open) != len(before) {
		t.Errorf("it stays open: %v", open)
	}
	if _, err := peeked.Messages.At(0, 0); err == nil {
		t.Error("it can be read after its end")
	}
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
	peeked := peek(t, c, planPeek(described(q, model.Quorum), model.PeekWant{Limit: 200}))
	if n := len(peeked.Messages); n < 50 || n >= 100 || !slices.Equal(messageIDs(peeked.Messages), count(n)) {
		t.Errorf("%d messages", n)
	}
	if !strings.Contains(peeked.Stopped, "TMPDIR") {
		t.Errorf("stopped: %q", peeked.Stopped)
	}
	a.await(q, 200)
	wantIDs(t, "the queue", a.drain(q, 200), count(200))
}
