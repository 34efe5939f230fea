package ui

import (
	"strings"
	"testing"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/ui/picture"
)

// TestHomeMoves: messages are seen to move before any key is pressed, and nothing is counted for a picture that has no
// room.
func TestHomeMoves(t *testing.T) {
	o, b := countedOptions()
	term := newTerminal(t, o, 120, 36)
	term.await("MOVED/s", "25 ready", "╭ ")
	term.awaitThat("it is counted", func(string) bool { return b.times() > 1 })
	left, asked := int64(25), b.times()
	term.awaitThat("messages move, one a count", func(screen string) bool {
		if n := b.times(); n > asked && left > 0 {
			asked, left = n, left-1
			b.set(nil, map[string]int64{"buffer-queue": left, "worker-queue": 25 - left})
		}
		return strings.Contains(screen, picture.MarkDot)
	})
	b.set(nil, map[string]int64{"buffer-queue": 3, "worker-queue": 22})
	term.await("3 ready", "22 ready")
	term.resize(200, 50)
	term.await("3 ready", "22 ready")
	term.awaitThat("list and picture stand side by side", func(string) bool {
		return sideBySideOn(term.screen())
	})
}

// sideBySideOn reports whether a line of the screen has the head of the list and the beginning of the picture.
func sideBySideOn(screen string) bool {
	for line := range strings.SplitSeq(screen, "\n") {
		if strings.Contains(line, "MOVED/s") && strings.Contains(line, "│── worker-queue") {
			return true
		}
	}
	return false
}

// TestHomeFollowsTheCursor: the picture follows the cursor.
func TestHomeFollowsTheCursor(t *testing.T) {
	term := newTerminal(t, frozen(&recorded{snapshot: busyBroker()}), 120, 36)
	term.await("example.delay.life  ")
	term.press("j")
	term.await("ucenter@user@retry ─", "via master.retry")
	term.awaitGone("example.delay.life ─")
	term.press("/", "user-monitor", keyEnter)
	term.await("▸ user-monitor ─")
}

func TestHomeWide(t *testing.T) {
	term := newTerminal(t, frozen(&recorded{snapshot: busyBroker()}), 200, 50)
	term.await("example.delay.life  ")
	term.settle()
	term.golden()
}

// TestProductionIsSeen: its header has a colour of its own, and the word where there are no colours.
func TestProductionIsSeen(t *testing.T) {
	o := frozen(&recorded{snapshot: busyBroker()})
	o.Production = true
	a := newApp(t.Context(), o)
	a.width, a.height = 120, 36
	line := a.headerLine()
	assert.Contains(t, line, "prod production", "the header")
	o.Production = false
	plain := newApp(t.Context(), o)
	plain.width, plain.height = 120, 36
	if opened := a.env.Styles.Production.Under("x"); line[:4] != opened[:4] || plain.headerLine()[:4] == opened[:4] {
		t.Errorf("production looks like anything else: %q, %q", line, plain.headerLine())
	}
}
