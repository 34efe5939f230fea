package ui

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/kept"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/ui/causes"
)

// failedAt is a message whose last failure was at a time.
func failedAt(i int, reason string, at time.Time) message.Message {
	m := failedFor(i, reason)
	m.Headers["x-death"].([]any)[0].(model.Table)["time"] = at
	return m
}

// onMarked is the screen of causes with states in a file.
func onMarked(t *testing.T, path string, width, height int) (*terminal, *recordedBroker, *recorded, *clock) {
	t.Helper()
	o, b, source, c := manyFailed()
	o.Interval, o.Marks = 10*time.Millisecond, kept.File{Path: path}
	term := onCauses(t, o, width, height)
	term.await("88 of 90 read")
	return term, b, source, c
}

// A cause that was resolved and fails again is shown as back, also by a program that was started later.
func TestResolvedCauseComesBack(t *testing.T) {
	path := filepath.Join(t.TempDir(), kept.CausesName)
	term, b, source, c := onMarked(t, path, 120, 36)
	term.awaitThat("it is new", func(string) bool { return strings.Contains(term.cursorRow(), "new") })
	term.press("o")
	term.await("marked as resolved")
	term.awaitThat("it is resolved", func(string) bool { return strings.Contains(term.cursorRow(), "resolved") })
	term.press("o")
	term.awaitThat("it is not", func(string) bool { return strings.Contains(term.cursorRow(), "seen") })
	term.press("o")
	term.awaitThat("it is resolved", func(string) bool { return strings.Contains(term.cursorRow(), "resolved") })

	c.advance(time.Minute)
	b.put("mail.failed", failedAt(500, "TimeoutError: smtp gateway did not answer in 500 s", c.now()))
	source.tell(countedAt(c, later(source.snapshot, 0, map[string]int64{"mail.failed": 42})))
	term.awaitThat("it is back", func(string) bool { return strings.Contains(term.cursorRow(), "! back 03:05") })
	term.await("back: it came again after it was resolved")

	again, _, _, _ := onMarked(t, path, 120, 36)
	again.awaitThat("what is back is first", func(string) bool {
		return strings.Contains(again.cursorRow(), "! back") && strings.Contains(again.cursorRow(), "smtp gateway")
	})
	again.press("O")
	again.awaitThat("it is ignored", func(string) bool { return strings.Contains(again.cursorRow(), "ignored") })
}

// A note stays with its cause.
func TestNoteOfACause(t *testing.T) {
	path := filepath.Join(t.TempDir(), kept.CausesName)
	term, _, _, _ := onMarked(t, path, 80, 24)
	term.press("W")
	term.await("one line, kept beside the journal")
	term.press("gateway down, ticket 12", keyEnter)
	term.await("note      gateway down, ticket 12")
	again, _, _, _ := onMarked(t, path, 120, 36)
	again.await("note      gateway down, ticket 12")
}

// An action that leaves none of a cause offers to mark it as resolved.
func TestEmptiedCauseIsResolved(t *testing.T) {
	path := filepath.Join(t.TempDir(), kept.CausesName)
	term, _, _, _ := onMarked(t, path, 120, 36)
	term.press(keyDown, "d")
	term.await("Drop 23 messages", "enter drop")
	term.press(keyEnter)
	term.await("What happened", "23")
	term.press(keyEnter)
	term.await("none of this cause is left here: o marks it as resolved")
	term.press("o")
	term.await("marked as resolved")
}

// One that is resolved already is not offered: the key would take that back.
func TestEmptiedCauseStaysResolved(t *testing.T) {
	term, _, _, _ := onMarked(t, filepath.Join(t.TempDir(), kept.CausesName), 120, 36)
	term.press(keyDown, "o")
	term.await("marked as resolved")
	term.press("d")
	term.await("Drop 23 messages", "enter drop")
	term.press(keyEnter)
	term.await("What happened", "23")
	term.press(keyEnter)
	term.await("none of this cause is left here")
	if strings.Contains(term.screen(), "marks it as resolved") {
		t.Error(term.screen())
	}
}

// A damaged file changes nothing but that states begin again, and it is not lost.
func TestDamagedMarks(t *testing.T) {
	f := kept.File{Path: filepath.Join(t.TempDir(), kept.CausesName)}
	must.Do(t, f.Save([]byte("{damaged")))
	o, _, _, _ := manyFailed()
	o.Marks = f
	term := onCauses(t, o, 120, 36)
	term.await("the states of causes cannot be used")
	term.press("o")
	term.await("states of causes were damaged: they begin again", "causes.json.damaged")
	term.awaitThat("it is resolved", func(string) bool { return strings.Contains(term.cursorRow(), "resolved") })
	text, err := (kept.File{Path: f.Path + ".damaged"}).Load()
	assert.That(t, string(text) == "{damaged" && err == nil, "what was set aside has %q: %v", text, err)
}

// A broker that fails in the middle of reading: what was read stays, with the reason, and reading goes on by itself.
func TestReadingCausesGoesOn(t *testing.T) {
	o, b, source, c := manyFailed()
	o.Interval = 10 * time.Millisecond
	term := onCauses(t, o, 120, 36)
	term.await("88 of 90 read")
	b.fail(errors.New("access to queue 'mail.failed' refused"))
	c.advance(causes.Pause + time.Second)
	source.tell(countedAt(c, later(source.snapshot, 0, map[string]int64{"mail.failed": 40})))
	term.await("not read again: mail.failed: access to queue 'mail.failed' refused", "88 of 90 read", smtpCause)
	b.fail(nil)
	b.mu.Lock()
	b.messages[ref("mail.failed")] = b.messages[ref("mail.failed")][:40]
	b.mu.Unlock()
	c.advance(causes.Retry + time.Second)
	term.press("j")
	term.await("87 of 89 read")
	term.awaitGone("refused")
}
