package ui

import (
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"

	"github.com/dlxtop/dlxtop/internal/assert"
)

// What is on disk is read by commands, and nothing flickers meanwhile: a line stands empty, and the detail stays as it
// was, until the answer comes.
func TestDetailStaysUntilTheNextMessageWasRead(t *testing.T) {
	o, _, _ := failedOptions(5)
	o.Broker = askedBroker{o.Broker}
	d := drive(t, o)
	d.await("ucenter@user")
	d.press("3")
	d.press("f")
	d.await("FAILED QUEUE")
	d.press(keyEnter)
	const first, second = "user0@example.com", "user1@example.com"
	d.await(`"email": "` + first)
	d.press(keyDown)
	assert.Contains(t, ansi.Strip(d.app.View()), `"email": "`+first, "the detail is gone before the next one was read")
	d.await(`"email": "` + second)
	view := ansi.Strip(d.app.View())
	assert.That(t, !strings.Contains(view, `"email": "`+first), "the detail is of two messages:\n%s", view)
}
