package ui

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/dlxtop/dlxtop/broker"
	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/depth"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/journal"
	"github.com/dlxtop/dlxtop/model/message"
)

// scripted is an editor that runs a script on the file; it keeps its mode, and what it was given, beside the script.
func scripted(t *testing.T, script string) (editor, dir string) {
	t.Helper()
	dir = t.TempDir()
	path := filepath.Join(dir, "editor")
	content := fmt.Sprintf("#!/bin/sh\ncd %q\nfor f; do :; done # the last argument\nls -l \"$f\" | cut -c1-10 "+
		">mode\necho \"$f\" >>path\ncp \"$f\" given\n%s\n", dir, script)
	must.Do(t, os.WriteFile(path, []byte(content), 0o700))
	return path + " --wait", dir
}

func read(t *testing.T, path ...string) string {
	t.Helper()
	text := must.Get(os.ReadFile(filepath.Join(path...)))(t)
	return string(text)
}

func TestEditDialogGolden(t *testing.T) {
	atSizes(t, func(t *testing.T, width, height int) {
		o, _, _ := failedOptions(47)
		o.Editor, _ = scripted(t, `sed -i 's/"app_id": "ucenter"/"app_id": "by-hand"/; s/guan yu/zhang fei/; s/"headers": {/"headers": {"fixed": true,/' "$f"`)
		term := onQueue(t, o, failedQueue, width, height)
		term.await("47 messages")
		term.press("e")
		term.await("app_id: ucenter → by-hand", "with the header fixed: true", "guan yu", "zhang fei")
		term.golden()
	})
}

// TestEditorHasThePrivateFile: what it is given, how private that is, and that nothing of it stays.
func TestEditorHasThePrivateFile(t *testing.T) {
	o, b, _ := failedOptions(5)
	editor, dir := scripted(t, "")
	o.Editor = editor
	term := onQueue(t, o, failedQueue, 120, 36)
	term.await("5 messages")
	term.press("e")
	term.await("Replay 1 message", "nothing was changed in the editor: this is a plain replay", "e edit")
	assert.Equal(t, strings.TrimSpace(read(t, dir, "mode")), "-rw-------", "the file's mode")
	path := strings.TrimSpace(read(t, dir, "path"))
	term.awaitThat("nothing of the file stays", func(string) bool {
		_, err := os.Stat(filepath.Dir(path))
		return os.IsNotExist(err)
	})
	given := read(t, dir, "given")
	for _, want := range []string{
		`"exchange": "master"`, `"routing_key": "ucenter@user"`,
		`"message_id": "0f3c9a00-user"`, "----- body (utf-8) -----\n{\"id\":120",
	} {
		assert.That(t, strings.Contains(given, want), "%s is not in\n%s", want, given)
	}
	assert.That(t, !strings.Contains(given, "x-death"), "what is stripped is offered:\n%s", given)
	term.press(keyEnter)
	term.await("1 message moved")
	plans := b.executed()
	assert.That(t, len(plans) == 1 && plans[0].Edited == nil, "executed %+v", plans)
}

// TestBadEditIsNotLost: what cannot be read is told with its line, and the editor opens with it again.
func TestBadEditIsNotLost(t *testing.T) {
	o, b, _ := failedOptions(5)
	editor, dir := scripted(t, `if [ -e broken ]; then sed -i 's/priority": "high"/priority": 7/' "$f"; else touch broken; sed -i 's/"properties": {/"properties": {\n    "priority": "high",/; s/guan yu/zhang fei/' "$f"; fi`)
	o.Editor = editor
	term := onQueue(t, o, failedQueue, 120, 36)
	term.await("5 messages")
	term.press("e")
	term.await("Edit, then replay", "what was typed cannot be read: line 7: properties.priority has the wrong",
		"Nothing is lost", "e edit again")
	term.press("e")
	term.await(`priority: "" → 7`, "zhang fei")
	assert.Contains(t, read(t, dir, "given"), "zhang fei", "the second time it had")
	term.press(keyEsc)
	term.awaitGone("Replay 1 message")
	plans := b.executed()
	assert.That(t, len(plans) == 0, "executed %+v", plans)
}

func TestEditIsRefused(t *testing.T) {
	edits := func(t *testing.T, o Options, words string, keys ...string) {
		t.Helper()
		term := onQueue(t, o, failedQueue, 120, 36)
		term.await("5 messages")
		term.press(append(keys, "e")...)
		term.await(words)
	}
	t.Run("more than one", func(t *testing.T) {
		o, _, _ := failedOptions(5)
		edits(t, o, "2 messages are selected, and one is edited at a time", " ", " ")
	})
	t.Run("read-only", func(t *testing.T) {
		o, _, _ := failedOptions(5)
		o.ReadOnly = true
		edits(t, o, "read-only:")
	})
	t.Run("the editor fails", func(t *testing.T) {
		o, _, _ := failedOptions(5)
		o.Editor = "false"
		edits(t, o, "the editor ended with an error (exit status 1): nothing was done")
	})
	t.Run("no editor", func(t *testing.T) {
		o, _, _ := failedOptions(5)
		t.Setenv("PATH", t.TempDir())
		edits(t, o, "there is no editor: name one in VISUAL or EDITOR")
	})
}

// TestEditOnARealBroker: a body that was cut is read whole, what was edited is published, and an undo brings back the
// original byte for byte.
func TestEditOnARealBroker(t *testing.T) {
	o, node, channel := real(t)
	j := journal.New(journal.Options{Path: filepath.Join(t.TempDir(), "journal.db")})
	t.Cleanup(func() { j.Close() })
	client, err := broker.New(broker.Options{URL: node.AMQP(), Journal: j})
	must.Do(t, err)
	o.Journal, o.Broker = j, client
	declare(t, channel, "ui.edit.worker", nil)
	declare(t, channel, "ui.edit.failed", nil)
	body := strings.Repeat("0123456789", 30_000) + "the end"
	publish(t, channel, "ui.edit.failed",
		amqp.Publishing{
			MessageId: "one", Headers: amqp.Table{"n": int32(1), "x": "y"}, Body: []byte(body),
			DeliveryMode: 2, Priority: 3,
		})
	editor, _ := scripted(t, `sed -i 's/"exchange": ".*"/"exchange": ""/; s/"routing_key": ".*"/"routing_key": "ui.edit.worker"/; s/the end/another end/; s/"x": "y"/"x": "z"/' "$f"`)
	o.Editor = editor
	term := onQueue(t, o, "ui.edit.failed", 120, 36)
	term.await("1 message")
	term.press("e")
	term.await("routing_key: ", "→ ui.edit.worker", `header x: "y" → "z"`,
		"body: 300007 → 300,011 bytes, different from byte 300001 on", "reaches   ui.edit.worker")
	term.press(keyEnter)
	term.await("1 message moved to ui.edit.worker")
	term.awaitThat("it arrived", func(string) bool { return depth.Of(t, channel, "ui.edit.worker") == 1 })
	d, ok, err := channel.Get("ui.edit.worker", false)
	must.That(t, err == nil && ok, "%v %v", ok, err)
	assert.That(t, string(d.Body) == strings.Replace(body, "the end", "another end", 1) && d.Headers["n"] == int32(1) &&
		d.Headers["x"] == "z" && d.Priority == 3 && d.Headers[message.ReplayHeader] != nil, "%v %+v %d bytes", d.Headers,
		d.Priority, len(d.Body))
	must.Do(t, d.Nack(false, true))
	term.press(keyEnter, "u")
	term.await("enter bring back")
	term.press(keyEnter)
	term.await("1 of 1 message brought back")
	term.awaitThat("it is back", func(string) bool { return depth.Of(t, channel, "ui.edit.failed") == 1 })
	d, ok, err = channel.Get("ui.edit.failed", true)
	assert.That(t, err == nil && ok && string(d.Body) == body && d.Headers["x"] == "y" && len(d.Headers) == 2 &&
		d.Priority == 3 && d.MessageId == "one", "%v %v %v %d bytes", ok, err, d.Headers, len(d.Body))
}
