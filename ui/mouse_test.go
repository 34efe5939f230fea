package ui

import (
	"fmt"
	"strings"
	"testing"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/x/ansi"

	"github.com/dlxtop/dlxtop/internal/assert"
)

const (
	wheelUp   = "\x1b[<64;10;10M"
	wheelDown = "\x1b[<65;10;10M"
)

// click presses and releases the left button on a text of the screen.
func (term *terminal) click(text string) {
	term.t.Helper()
	for y, line := range strings.Split(term.screen(), "\n") {
		if before, _, ok := strings.Cut(line, text); ok {
			at := fmt.Sprintf("%d;%d", ansi.StringWidthWc(before)+1, y+1)
			term.press("\x1b[<0;"+at+"M", "\x1b[<0;"+at+"m")
			return
		}
	}
	term.t.Fatalf("there is no %s to click on:\n%s", text, term.screen())
}

// clickLast is the same on the last line.
func (term *terminal) clickLast(text string) {
	term.t.Helper()
	lines := strings.Split(strings.TrimRight(term.screen(), "\n"), "\n")
	before, _, ok := strings.Cut(lines[len(lines)-1], text)
	if !ok {
		term.t.Fatalf("there is no %s to click on in the last line:\n%s", text, term.screen())
	}
	at := fmt.Sprintf("%d;%d", ansi.StringWidthWc(before)+1, len(lines))
	term.press("\x1b[<0;"+at+"M", "\x1b[<0;"+at+"m")
}

func clicking(n int) (Options, *recordedBroker) {
	o, broker, _ := failedOptions(n)
	o.Mouse = true
	return o, broker
}

func TestMouse(t *testing.T) {
	o, broker := clicking(47)
	term := newTerminal(t, o, 120, 36)
	term.await("ucenter@user ")
	term.press(wheelDown)
	term.awaitThat("the cursor is three rows on", func(string) bool {
		return strings.Contains(term.cursorRow(), "ucenter@enterprise")
	})
	term.press(wheelUp)
	term.awaitThat("the cursor is back", func(string) bool {
		return strings.Contains(term.cursorRow(), "example.delay.heaven")
	})
	term.click("3 Failed")
	term.await("3 failed queues")
	term.press("f")
	term.await("FAILED QUEUE")
	before := broker.peeked()
	term.click("ucenter@enterprise@failed")
	term.awaitThat("the cursor is on the row", func(string) bool {
		return strings.Contains(term.cursorRow(), "ucenter@enterprise@failed")
	})
	term.click("ucenter@user@failed  ")
	term.awaitThat("the cursor is on the other row", func(string) bool {
		return strings.Contains(term.cursorRow(), "ucenter@user@failed")
	})
	assert.Equal(t, broker.peeked()-before, 0, "the first click on a row has opened it")
	term.click("ucenter@user@failed  ")
	term.await("47 messages")
	term.click("0f3c9a") // in the detail: no row
	term.click("r replay")
	term.await("enter replay")
	term.click("c canary")
	term.await("c no canary")
	term.clickLast("enter replay")
	term.click("enter replay")
	term.settle()
	assert.Equal(t, len(broker.executed()), 0, "plans were executed by mouse")
	term.await("enter replay")
	term.clickLast("esc back")
	term.awaitGone("enter replay")
	term.clickLast("q back")
	term.await("FAILED QUEUE")
	term.clickLast("? help")
	term.await("WHAT IT DOES", "everywhere")
}

// The cursor that a key has put on a row is no first click.
func TestClickAfterAKey(t *testing.T) {
	o, broker := clicking(5)
	term := newTerminal(t, o, 80, 24)
	term.await("ucenter@user ")
	term.press("3")
	term.await("TimeoutError")
	term.press("f")
	term.await("▸ ucenter@user@failed")
	before := broker.peeked()
	term.click("ucenter@user@failed  ")
	term.settle()
	term.click("FAILED QUEUE") // the head
	term.settle()
	assert.Equal(t, broker.peeked()-before, 0, "one click has opened the row")
	term.click("ucenter@user@failed  ")
	term.await("5 messages")
}

// Without the option, and where nobody sees what a click would do, the mouse does nothing.
func TestNoMouse(t *testing.T) {
	o, _ := clicking(5)
	o.Mouse = false
	term := newTerminal(t, o, 80, 24)
	term.await("ucenter@user ")
	term.click("3 Failed")
	term.press(wheelDown)
	term.settle()
	term.await("BUFFERS")
	assert.Contains(t, term.cursorRow(), "example.delay.heaven", "the cursor is on")
}

// An editor gets a terminal without a mouse, and the dashboard takes it again: Bubble Tea leaves that to its program.
func TestMouseIsTakenAgain(t *testing.T) {
	o, _ := clicking(1)
	a := newApp(t.Context(), o)
	over := a.withMouse(func(error) tea.Msg { return resumedMsg{} })
	messages := fmt.Sprintf("%T", over(nil))
	assert.Equal(t, messages, "tea.BatchMsg", "what follows the editor")
	a.env.Mouse = false
	_, ok := a.withMouse(func(error) tea.Msg { return resumedMsg{} })(nil).(resumedMsg)
	assert.That(t, ok, "without a mouse something else than the answer follows the editor")
}
