package ui

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/dlxtop/dlxtop/export"
	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/model/message"
)

func TestExportDialogGolden(t *testing.T) {
	atSizes(t, func(t *testing.T, width, height int) {
		o, _, _ := failedOptions(47)
		o.Files = export.Files{}
		term := onQueue(t, o, failedQueue, width, height)
		term.await("47 messages")
		term.press("x")
		term.await("Export 47 messages", "ucenter@user@failed-20260301-030405.jsonl")
		term.golden()
	})
}

// exported reads a file back.
func exported(t *testing.T, path string) (messages []message.Message) {
	t.Helper()
	must.Do(t, (export.Files{}).Read(t.Context(), path,
		func(m *message.Message) error { messages = append(messages, *m); return nil }))
	return messages
}

// retype replaces what a field holds.
func (term *terminal) retype(text string) {
	term.press("\x15", text) // ctrl-u
}

func TestExportOfTheSelection(t *testing.T) {
	t.Chdir(t.TempDir())
	o, _, _ := failedOptions(5)
	o.Files = export.Files{}
	term := onQueue(t, o, failedQueue, 120, 36)
	term.await("5 messages")
	term.press(keyDown, " ", keyDown, " ", "x")
	term.await("Export 2 messages", "the selection: 2 messages")
	term.press(keyEnter)
	const name = failedQueue + "-20260301-030405.jsonl"
	term.await("2 messages written to", "/"+name)
	got := exported(t, name)
	assert.That(t, len(got) == 2 && got[0].Position == 2 && got[1].Position == 4 &&
		got[0].Properties.MessageID == "0f3c9a01-user", "%+v", got)
	info, err := os.Stat(name)
	assert.That(t, err == nil && info.Mode().Perm() == 0o600, "%v %v", err, info)
	term.press("x", keyEnter)
	term.await("is there already", "Export 2 messages")
	term.retype("")
	term.press(keyEnter)
	term.await("name a file")
	term.press("other.jsonl", keyEnter)
	term.await("2 messages written to", "/other.jsonl")
	term.press(keyEsc)
	term.awaitGone("selected")
	term.press("x")
	term.await("Export 5 messages")
	term.press(keyEsc)
	term.awaitGone("Export 5 messages")
	files, _ := os.ReadDir(".")
	assert.That(t, len(files) == 2, "there are %v", files)
}

// TestExportWritesWholeBodies: also where the screen shows the beginning only. It says where the file is.
func TestExportWritesWholeBodies(t *testing.T) {
	o, _, channel := real(t)
	o.Files = export.Files{}
	declare(t, channel, "ui.export", nil)
	publish(
		t, channel, "ui.export",
		amqp.Publishing{MessageId: "small", Body: []byte("small")},
		amqp.Publishing{MessageId: "large", Body: []byte(strings.Repeat("l", 300_000))},
		amqp.Publishing{MessageId: "huge", Body: []byte(strings.Repeat("h", 6_000_000))},
	)
	term := onQueue(t, o, "ui.export", 120, 36)
	term.await("3 messages")
	home := t.TempDir()
	t.Setenv("HOME", home)
	path := filepath.Join(home, "all.jsonl")
	term.press("x")
	term.await("Export 3 messages")
	term.retype("~/all.jsonl")
	term.press(keyEnter)
	term.await("3 messages written", path)
	got := exported(t, path)
	assert.That(t, len(got) == 3 && len(got[1].Body) == 300_000 && len(got[2].Body) == 6_000_000 &&
		got[0].Properties.MessageID == "small", "%d messages", len(got))
}

// TestExportWaitsForTheFilter: what an expression that is not complete shows is not what was asked for.
func TestExportWaitsForTheFilter(t *testing.T) {
	o, _, _ := failedOptions(5)
	o.Files = export.Files{}
	term := onQueue(t, o, failedQueue, 120, 36)
	term.await("5 messages")
	term.press("/", "= body_bytes +")
	term.await("cannot be read")
	term.press(keyEnter, "x")
	term.await("the filter is not complete")
}
