package ui

import (
	"context"
	"strings"
	"testing"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/ui/shell"
	"github.com/dlxtop/dlxtop/ui/trace"
)

// going are options with contexts to go to.
func going(n int) (Options, *recordedBroker) {
	o, broker, _ := failedOptions(n)
	o.Contexts = []string{"evil\x1b[2J", "prod", "staging"}
	return o, broker
}

func TestContextIsChosenInThePalette(t *testing.T) {
	o, _ := going(5)
	o.Trouble = "still prod, not away: nothing listens"
	term := newTerminal(t, o, 120, 36)
	term.await("ucenter@user", "! still prod, not away: nothing listens")
	term.command("context ", `evil\x1b[2J`, "context prod", "this one", "context staging")
	term.press("prod", keyEnter)
	term.await("this is prod")
	term.command("context nowhere", "✗ there is no context nowhere")
	term.press(keyEsc)
	term.awaitGone("tab completes")
	term.command("context st", "▸ context staging")
	term.press(keyEnter)
	term.awaitEnd()
	assert.That(t, term.last.next == "staging" && term.err == nil, "goes to %q: %v", term.last.next, term.err)
}

// Without a broker there is still a way to another one.
func TestContextIsChosenWithoutABroker(t *testing.T) {
	o, _ := going(5)
	o.Source = &recorded{err: context.DeadlineExceeded}
	term := newTerminal(t, o, 80, 24)
	term.await("lost")
	term.command("context evil", `▸ context evil\x1b[2J`)
	term.press(keyEnter)
	term.awaitEnd()
	assert.Equal(t, term.last.next, "evil\x1b[2J", "goes to")
}

// What runs, on whichever tab, is not left.
func TestContextWaitsForWhatRuns(t *testing.T) {
	o, _ := going(5)
	a := newApp(t.Context(), o)
	busy := trace.NewProbeScreen(a.env, ref("worker-queue")).(trace.ProbeScreen)
	busy.State = shell.DialogRunning
	a.tabs[1].stack = append(a.tabs[1].stack, a.env.NewPage(busy))
	left, _ := a.goToContext(name{name: "staging", shown: "staging"})
	if b := left.(app); b.next != "" || !strings.Contains(b.notice.Text, "what runs on probe worker-queue") {
		t.Errorf("goes to %q, and says %q", b.next, b.notice.Text)
	}
}
