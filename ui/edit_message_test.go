package ui

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/dlxtop/dlxtop/export"
	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/depth"
	"github.com/dlxtop/dlxtop/internal/dial"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/model/mend"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/model/plan"
)

// scripted is an editor that runs a script on the file; it records the file's mode and content beside the script.
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

// What the editor is given, how private that is, and that nothing of it stays.
func TestEditorHasThePrivateFile(t *testing.T) {
	o, _, _ := failedOptions(5)
	editor, dir := scripted(t, "")
	o.Editor = editor
	term := o.onFailed(t).press("e")
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
	term.press(keyEnter).await("1 message moved")
	term.ran(func(p plan.Run) bool { return p.Edited == nil })
}

// An error in an edited text is shown with its line, and the editor opens with it again.
func TestBadEditIsNotLost(t *testing.T) {
	o := failed(5)
	editor, dir := scripted(t, `if [ -e broken ]; then sed -i 's/priority": "high"/priority": 7/' "$f"; else touch broken; sed -i 's/"properties": {/"properties": {\n    "priority": "high",/; s/guan yu/zhang fei/' "$f"; fi`)
	o.Editor = editor
	term := o.onFailed(t).press("e")
	term.await("Edit, then replay", "what was typed cannot be read: line 7: properties.priority has the wrong",
		"Nothing is lost", "e edit again")
	term.press("e").await(`priority: "" → 7`, "zhang fei")
	assert.Contains(t, read(t, dir, "given"), "zhang fei", "the second time it had")
	term.press(keyEsc).awaitGone("Replay 1 message").wantFroms()
}

func TestEditIsRefused(t *testing.T) {
	for name, test := range map[string]struct {
		change      func(t *testing.T, o *Options)
		keys, words string
	}{
		"more than one": {nil, "  ", "2 messages are selected, and one is edited at a time"},
		"read-only":     {func(_ *testing.T, o *Options) { o.ReadOnly = true }, "", "read-only:"},
		"the editor fails": {
			func(_ *testing.T, o *Options) { o.Editor = "false" }, "",
			"the editor ended with an error (exit status 1): nothing was done",
		},
		"no editor": {
			func(t *testing.T, _ *Options) { t.Setenv("PATH", t.TempDir()) }, "",
			"there is no editor: name one in VISUAL or EDITOR",
		},
	} {
		t.Run(name, func(t *testing.T) {
			o := failed(5)
			if test.change != nil {
				test.change(t, &o)
			}
			o.onFailed(t).press(test.keys, "e").await(test.words)
		})
	}
}

// A truncated body is read whole, the edited message is published, and an undo brings back the original byte for byte.
func TestEditOnARealBroker(t *testing.T) {
	o, _, channel := real(t)
	dial.Queue(t, channel, "ui.edit.worker", nil)
	dial.Queue(t, channel, "ui.edit.failed", nil)
	body := strings.Repeat("0123456789", 30_000) + "the end"
	dial.Publish(t, channel, "ui.edit.failed",
		amqp.Publishing{
			MessageId: "one", Headers: amqp.Table{"n": int32(1), "x": "y"}, Body: []byte(body),
			DeliveryMode: 2, Priority: 3,
		})
	editor, _ := scripted(t, `sed -i 's/"exchange": ".*"/"exchange": ""/; s/"routing_key": ".*"/"routing_key": "ui.edit.worker"/; s/the end/another end/; s/"x": "y"/"x": "z"/' "$f"`)
	o.Editor = editor
	term := o.onQueue(t, "ui.edit.failed").await("1 message").press("e")
	term.await("routing_key: ", "→ ui.edit.worker", `header x: "y" → "z"`,
		"body: 300007 → 300,011 bytes, different from byte 300001 on", "reaches   ui.edit.worker")
	term.press(keyEnter).await("1 message moved to ui.edit.worker")
	term.awaitThat("it arrived", func(string) bool { return depth.Of(t, channel, "ui.edit.worker") == 1 })
	d := take(t, channel, "ui.edit.worker", false)
	assert.That(t, string(d.Body) == strings.Replace(body, "the end", "another end", 1) && d.Headers["n"] == int32(1) &&
		d.Headers["x"] == "z" && d.Priority == 3 && d.Headers[message.ReplayHeader] != nil, "%v %+v %d bytes", d.Headers,
		d.Priority, len(d.Body))
	must.Do(t, d.Nack(false, true))
	term.press(keyEnter, "u").await("enter bring back").press(keyEnter).await("1 of 1 message brought back")
	term.awaitThat("it is back", func(string) bool { return depth.Of(t, channel, "ui.edit.failed") == 1 })
	d = take(t, channel, "ui.edit.failed", true)
	assert.That(t, string(d.Body) == body && d.Headers["x"] == "y" && len(d.Headers) == 2 && d.Priority == 3 &&
		d.MessageId == "one", "%v %d bytes", d.Headers, len(d.Body))
}

// The selection is changed, and its replay has the program.
func TestMendSelection(t *testing.T) {
	term := failed(5).onFailed(t).press(" ", " ", "E").await("Edit 2 messages with jq", "the selection: 2 messages")
	term.press(".body.name = 5", keyEnter).await("2 of 2 messages are changed", "E edit the program")
	term.press("E").awaitGone("E edit the program")
	term.press(` | .body.new = "x"`, keyEnter).await("2 of 2 messages are changed", "to the replay")
	term.press(keyEnter).await("edited", "enter replay")
	term.press("E").await("Edit 2 messages with jq", "earlier programs").press(keyEnter).await("to the replay")
	term.press(keyEnter).await("enter replay").press("c").await("c no canary", "enter replay")
	term.press("c").awaitGone("c no canary")
	term.await("enter replay") // the plan without it is there
	term.press(keyEnter).await("2 messages moved")
	term.ran(func(p plan.Run) bool {
		return p.Mend != nil && p.Mend.Text == `.body.name = 5 | .body.new = "x"` && p.Mended.Changed == 2
	})
	term.press(keyEnter).awaitGone("What happened")
	term.press("E", keyUp).await(`program   .body.name = 5 | .body.new = "x"`).press(keyUp).awaitGone(".body.new")
	term.press("\x1b[B", "\x1b[B").awaitGone(".body.name").press(keyEsc).awaitGone("with jq")
}

func TestMendIsRefused(t *testing.T) {
	o := failed(5)
	term := o.onFailed(t).press("E", ".body", keyEnter)
	term.await("not possible: the jq program gives another object instead", "5 messages: the jq program",
		"E edit the program")
	term.press(keyEnter, "E").await("earlier programs")
	for range len(".body") {
		term.press("\x7f")
	}
	term.press(keyEnter).await("this is not a jq program")
	term.press("def f: f; f", keyEnter).await("did not end within 1 million steps").press(keyEsc).awaitGone("with jq")
	term.wantFroms()
	o = failed(5)
	o.ReadOnly = true
	o.onFailed(t).press("E").await("read-only:")
}

// The journal says what changed the messages.
func TestRecordNamesTheProgram(t *testing.T) {
	o, _, _ := failedOptions(5)
	j := withJournal(t, &o, 3)
	program := must.Get(mend.Parse(`.body.fixed = true`))(t)
	id, err := j.Begin(t.Context(), plan.Record{
		Operation: plan.Replay, From: ref(failedQueue), User: "guest", Broker: "mq1:5672", Planned: 1,
		Intent: &plan.Intent{Mend: program},
	})
	if err == nil {
		err = j.Finish(id, nil, plan.Account{Planned: 1, Gone: 1})
	}
	must.Do(t, err)
	term := o.open(t).press("5").await("1 gone")
	term.press(keyEnter).await("changed by the jq program .body.fixed = true")
}

// exported reads a file back.
func exported(t *testing.T, path string) (messages []message.Message) {
	t.Helper()
	must.Do(t, (export.Files{}).Read(t.Context(), path,
		func(m *message.Message) error { messages = append(messages, *m); return nil }))
	return messages
}

// retype replaces a field's content.
func (term *terminal) retype(text string) *terminal {
	return term.press("\x15", text) // ctrl-u
}

func TestExportOfTheSelection(t *testing.T) {
	home := t.TempDir()
	t.Chdir(home)
	t.Setenv("HOME", home)
	o := failed(5)
	o.Files = export.Files{}
	term := o.onFailed(t)
	term.press(keyDown, " ", keyDown, " ", "x").await("Export 2 messages", "the selection: 2 messages").press(keyEnter)
	const name = failedQueue + "-20260301-030405.jsonl"
	term.await("2 messages written to", "/"+name)
	got := exported(t, name)
	assert.That(t, len(got) == 2 && got[0].Position == 2 && got[1].Position == 4 &&
		got[0].Properties.MessageID == "0f3c9a01-user", "%+v", got)
	info, err := os.Stat(name)
	assert.That(t, err == nil && info.Mode().Perm() == 0o600, "%v %v", err, info)
	term.press("x", keyEnter).await("is there already", "Export 2 messages").retype("")
	term.press(keyEnter).await("name a file")
	term.press("~/other.jsonl", keyEnter).await("2 messages written to", filepath.Join(home, "other.jsonl"))
	term.press(keyEsc).awaitGone("selected").press("x").await("Export 5 messages")
	term.press(keyEsc).awaitGone("Export 5 messages")
	files, _ := os.ReadDir(".")
	assert.That(t, len(files) == 2, "there are %v", files)
}

// Even if the screen only shows the beginning.
func TestExportWritesWholeBodies(t *testing.T) {
	o, _, channel := real(t)
	o.Files = export.Files{}
	dial.Queue(t, channel, "ui.export", nil)
	dial.Publish(
		t, channel, "ui.export",
		amqp.Publishing{MessageId: "small", Body: []byte("small")},
		amqp.Publishing{MessageId: "large", Body: []byte(strings.Repeat("l", 300_000))},
		amqp.Publishing{MessageId: "huge", Body: []byte(strings.Repeat("h", 6_000_000))},
	)
	term := o.onQueue(t, "ui.export").await("3 messages")
	path := filepath.Join(t.TempDir(), "all.jsonl")
	term.press("x").await("Export 3 messages").retype(path).press(keyEnter).await("3 messages written", path)
	got := exported(t, path)
	assert.That(t, len(got) == 3 && len(got[1].Body) == 300_000 && len(got[2].Body) == 6_000_000 &&
		got[0].Properties.MessageID == "small", "%d messages", len(got))
}

// While a filter is not applied yet, the displayed messages are not the requested ones.
func TestExportWaitsForTheFilter(t *testing.T) {
	o := failed(5)
	o.Files = export.Files{}
	term := o.onFailed(t)
	term.press("/", "= body_bytes +").await("cannot be read").press(keyEnter, "x").await("the filter is not complete")
}
