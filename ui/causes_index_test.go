package ui

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/kept"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/cause"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/ui/causes"
	"github.com/dlxtop/dlxtop/ui/shell"
)

// indexed is the screen of causes with an index in a directory, after its failed queues were read, the costly one too.
// The next one that is started with these options begins an hour later.
func indexed(t *testing.T, dir string) (Options, *recordedBroker, *recorded, *clock) {
	t.Helper()
	o, b, source, c := manyFailed()
	o.Index = kept.Index{Dir: dir}
	source.snapshot.Overview.ClusterName = "rabbit@mq1"
	term := onCauses(t, o, 120, 36)
	term.await("88 of 90 read")
	term.press("i")
	term.await("Read 1 failed queue")
	term.press(keyEnter)
	term.await("   90 read", "KeyError")
	term.awaitGone("as of")
	term.press("q")
	<-term.ended
	c.advance(time.Hour)
	source.tell(countedAt(c, later(source.snapshot, 0, nil)))
	return o, b, source, c
}

// filesOf are the files of an index.
func filesOf(t *testing.T, dir string) (paths []string) {
	t.Helper()
	entries := must.Get(os.ReadDir(dir))(t)
	for _, entry := range entries {
		paths = append(paths, filepath.Join(dir, entry.Name()))
	}
	return paths
}

// What was read before stands at once, with its time, until it is read again. Where a look has a cost, it is not read
// again unless that is asked for.
func TestCausesOfEarlierStarts(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "causes")
	o, b, _, _ := indexed(t, dir)
	looks := b.looksAt("lots.failed")
	b.fail(errors.New("the broker is busy"))
	term := onCauses(t, o, 120, 36)
	term.await("90 messages   90 read, 90 of them as of 03:04", "ValueError: the user", "KeyError",
		"not read again: mail.failed: the broker is busy", "not read again: ucenter@user@failed: the broker",
		"as of 03:04: 2 of lots.failed: a look has a cost")
	if strings.Contains(term.screen(), "example  ") {
		t.Errorf("the text of a message was kept:\n%s", term.screen())
	}
	term.settle()
	term.golden()
	b.fail(nil)
	term.press(keyCtrlR)
	term.await("90 read, 2 of them as of 03:04", "example  ")
	if n := b.looksAt("lots.failed"); n != looks {
		t.Errorf("it looked %d times where a look has a cost", n-looks)
	}
	term.press("i")
	term.await("Read 1 failed queue", "lots.failed, 2 messages")
	term.press(keyEnter)
	term.awaitGone("as of")
	if n := b.looksAt("lots.failed"); n != looks+1 {
		t.Errorf("it looked %d times when it was asked to", n-looks)
	}
}

// When messages have left a queue, nobody knows which: none of its causes is shown, and all of it is not read. What
// came later is not read, either.
func TestEarlierCausesThatAreUnknownNow(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "causes")
	o, b, source, c := indexed(t, dir)
	b.put("lots.failed", failedFor(3, "KeyError: lot"))
	source.tell(countedAt(c, later(source.snapshot, 0, map[string]int64{"lots.failed": 3})))
	o.Interval = 10 * time.Millisecond
	term := onCauses(t, o, 120, 36)
	term.await("90 of 91 read, 2 of them as of 03:04", "as of 03:04: 2 of lots.failed, not read: 1: a look",
		"KeyError")
	source.tell(countedAt(c, later(source.snapshot, 0, map[string]int64{"lots.failed": 1})))
	term.await("88 of 89 read", "not read: 1 of lots.failed: a look has a cost")
	term.awaitGone("KeyError")
	assert.Equal(t, len(filesOf(t, dir)), 2, "queues are in the index")
	term.press("q")
	<-term.ended

	term = onCauses(t, o, 120, 36)
	term.await("88 of 89 read", "not read: 1 of lots.failed: a look has a cost")
	term.awaitGone("as of")
	if strings.Contains(term.screen(), "KeyError") {
		t.Errorf("it shows what is not known any more:\n%s", term.screen())
	}
}

// What was read where a look has a cost is not read again by itself: when messages have left since, it is not known any
// more, either.
func TestCostlyCausesThatAreUnknownNow(t *testing.T) {
	o, _, source, c := manyFailed()
	o.Interval = 10 * time.Millisecond
	term := onCauses(t, o, 120, 36)
	term.await("88 of 90 read")
	term.press("i")
	term.await("Read 1 failed queue")
	term.press(keyEnter)
	term.await("   90 read", "KeyError")
	c.advance(time.Minute)
	source.tell(countedAt(c, later(source.snapshot, 0, map[string]int64{"lots.failed": 1})))
	term.await("88 of 89 read", "not read: 1 of lots.failed: a look has a cost")
	term.awaitGone("KeyError")
}

// A damaged or foreign index is written again, and nothing else is affected; one that cannot be written neither.
func TestDamagedIndex(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "causes")
	o, _, _, _ := indexed(t, dir)
	files := filesOf(t, dir)
	must.That(t, len(files) == 3, "the index is %q", files)
	for i, path := range files {
		text := [][]byte{[]byte("dlxtop causes 1\n…"), {}, []byte("{}")}[i]
		must.Do(t, os.WriteFile(path, text, 0o600))
	}
	term := onCauses(t, o, 120, 36)
	term.await("88 of 90 read", "not read: 2 of lots.failed")
	term.awaitGone("as of")
	term.press("q")
	<-term.ended
	term = onCauses(t, o, 120, 36)
	term.await("88 of 90 read")
	sound := 0
	for _, path := range files {
		if text, err := os.ReadFile(path); err == nil && strings.HasPrefix(string(text), "dlxtop causes 4\n") {
			sound++
		}
	}
	assert.Equal(t, sound, 2, "files were written again")

	file := filepath.Join(t.TempDir(), "file")
	must.Do(t, os.WriteFile(file, nil, 0o600))
	o.Index = kept.Index{Dir: filepath.Join(file, "causes")}
	onCauses(t, o, 120, 36).await("88 of 90 read")
}

// A cause is not back because of messages that only the index has: where they do not say when they failed, it is their
// number that decides, and they may have left.
func TestEarlierCausesAreNotBack(t *testing.T) {
	o, _, _, c := manyFailed()
	marks, lots := &shell.MarksInMemory{}, ref("lots.failed")
	o.Marks = marks
	r := causes.NewReading(newApp(t.Context(), o).env)
	for i := range 2 {
		m := message.Message{Headers: model.Table{"x-error": "KeyError: lot"}, Fingerprint: message.Fingerprint{byte(i)}}
		r.Groups.Add(lots, &m)
	}
	found := r.Groups.List()[0]
	_, err := marks.Change(func(text []byte) ([]byte, error) {
		return cause.WithStates(text, r.Broker, func(s cause.States) {
			s.Mark(&cause.Group{ID: found.ID, Cause: found.Cause}, cause.Resolved, c.now()) // none of them was left
		})
	})
	must.Do(t, err)
	for _, c := range []struct {
		earlier *cause.Earlier
		want    cause.State
	}{{&cause.Earlier{}, cause.Resolved}, {nil, cause.Back}} {
		r.Queues[lots] = &causes.Queue{Ref: lots, Earlier: c.earlier}
		msg := causes.ReadMsg{At: r.Env.Now()}
		r.Finishing(nil)(&msg)
		if got := msg.Marks.States.Of(found.ID).State; got != c.want || len(msg.List) != 1 || msg.List[0].Messages != 2 {
			t.Errorf("of the index %v: it is %s, %+v", c.earlier != nil, got, msg.List)
		}
	}
}
