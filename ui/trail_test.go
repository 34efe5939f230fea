package ui

import (
	"strings"
	"testing"

	"github.com/dlxtop/dlxtop/internal/assert"
)

// "-" goes to the screen seen before, across tabs, and back again; what was closed is opened again.
func TestLastScreen(t *testing.T) {
	o, broker, _ := failedOptions(5)
	term := newTerminal(t, o, 120, 36)
	way := func() string {
		_, path, _ := strings.Cut(strings.Split(term.screen(), "\n")[1], "5 Journal")
		return strings.TrimSpace(path)
	}
	term.await("ucenter@user")
	term.press("-")
	term.await("no other screen was seen before this one")
	term.press("j", keyEnter)
	term.await("next queue")
	term.press("f")
	term.await("5 messages")
	assert.Equal(t, way(), "ucenter@user › ucenter@user@failed", "the way")
	term.press("4")
	term.await("WHAT")
	term.press("-")
	term.await("5 messages")
	term.press("-")
	term.await("WHAT")
	assert.Equal(t, way(), "", "the way to the findings")
	term.press("-")
	term.await("5 messages")
	assert.Equal(t, broker.peeked(), 1, "looked")

	term.press("q") // closes the messages
	term.await("next queue")
	term.press("-")
	term.await("5 messages")
	assert.Equal(t, way(), "ucenter@user › ucenter@user@failed", "the way to what was closed")
	assert.Equal(t, broker.peeked(), 2, "looked")
	term.press("-")
	term.await("next queue")
	term.press("-")
	term.await("5 messages")
}

// The help is over when it was closed: "-" goes past it. In a text "-" is a letter.
func TestLastScreenPassesWhatIsOver(t *testing.T) {
	o, _, _ := failedOptions(5)
	term := newTerminal(t, o, 120, 36)
	term.await("ucenter@user")
	term.press("2")
	term.await("UNACKED")
	term.press("?")
	term.await("everywhere")
	term.press("?")
	term.await("UNACKED")
	term.press("-")
	term.await("MOVED/s")
	term.press("-")
	term.await("UNACKED")
	term.press("/a-b")
	term.await("/ a-b")
}
