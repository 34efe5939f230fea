package ui

import (
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/ui/shell"
)

// command types into the palette and waits until it shows something.
func (term *terminal) command(text string, shows ...string) {
	term.t.Helper()
	term.press(":", text)
	term.await(shows...)
}

// The palette offers flows and queues by parts of their names, tab completes them, and enter opens what is named.
func TestPaletteOpensByName(t *testing.T) {
	o, _, _ := failedOptions(5)
	term := newTerminal(t, o, 120, 36)
	term.await("ucenter@user")
	term.command("user@fai", "▸ queue ucenter@user@failed")
	term.press(keyEnter)
	term.await("5 messages")

	term.command("flow work", "▸ flow worker-queue")
	term.press(keyTab)
	term.await(" : flow worker-queue ")
	term.press(keyEnter)
	term.await("ucenter@user@failed › worker-queue")
}

// What tab completes goes round, and a command that takes a name offers the names.
func TestPaletteCompletes(t *testing.T) {
	term := newTerminal(t, frozen(&recorded{snapshot: busyBroker()}), 80, 24)
	term.await("ucenter@user")
	term.command("f", "▸ flows")
	term.press(keyTab)
	term.await(" : flows ")
	term.press(keyTab)
	term.await(" : failed ")
	term.press("\x1b[Z")
	term.await(" : flows ")
	term.press("\x15ta", keyTab) // ctrl-u empties the line
	term.await(" : tap ", "▸ tap RetryExchange")
	term.press("RetryEx", keyTab)
	term.await(" : tap RetryExchange ")
	term.press(keyEnter)
	term.await("Tap RetryExchange")
}

// ↑ and ↓ go through earlier commands; what was being typed is behind the newest.
func TestPaletteRemembers(t *testing.T) {
	term := newTerminal(t, frozen(&recorded{snapshot: busyBroker()}), 80, 24)
	term.await("ucenter@user")
	for _, c := range [][2]string{{"queues", "READY"}, {"findings", "WHAT"}, {"findings", "WHAT"}} {
		term.press(":", c[0], keyEnter)
		term.await(c[1])
		term.awaitGone("tab completes")
	}
	term.command("jour", "▸ journal")
	term.press(keyUp)
	term.await(" : findings ")
	term.press(keyUp)
	term.await(" : queues ") // done twice in a row, findings is there once
	term.press(keyUp, keyDown, keyDown)
	term.await(" : jour ")
	term.press(keyUp, keyEnter)
	term.await("WHAT")
}

func TestPaletteSaysWhatItDoesNotFind(t *testing.T) {
	term := newTerminal(t, frozen(&recorded{snapshot: busyBroker()}), 80, 24)
	term.await("ucenter@user")
	term.command("zzzz", "✗ no command, flow or queue has that name")
	term.press(keyEnter)
	term.settle()
	term.await("✗ no command, flow or queue has that name")
	term.press("\x15", "queue no\x1b")
	term.awaitGone("tab completes")
	term.command("queue zzzz", "✗ there is no queue zzzz")
}

// What keys do on this screen can be found by its words. Nothing that a dialog asks is among it.
func TestPaletteOffersKeys(t *testing.T) {
	o, broker, _ := failedOptions(5)
	term := newTerminal(t, o, 120, 36)
	term.await("ucenter@user")
	term.press("3", "f", keyEnter)
	term.await("5 messages")
	term.command("replay all", "▸ replay all shown", "key R")
	term.press(keyEnter)
	term.await("enter replay")
	assert.Equal(t, len(broker.executed()), 0, "plans were executed: only the dialog was asked for")
}

// What a screen can do once it has read is offered then, and what the first poll brings, too: nothing is typed again.
func TestPaletteOffersWhatComesLater(t *testing.T) {
	o, broker, _ := failedOptions(5)
	source := &hanging{recorded: recorded{snapshot: o.Source.(*recorded).snapshot}, turn: make(chan struct{})}
	o.Source, o.Interval = source, time.Hour
	term := newTerminal(t, o, 120, 36)
	term.await("Flows")
	term.command("queue user@failed", "✗ no such command, and the broker has not been read yet")
	source.turn <- struct{}{}
	term.await("▸ queue ucenter@user@failed")
	broker.mu.Lock()
	term.press(keyEnter)
	term.await("reading the queue")
	term.command("replay all", "✗ no command, flow or queue has that name")
	broker.mu.Unlock()
	term.await("▸ replay all shown", "key R")
}

// Names of any bytes are drawn printable and opened as they are, in the vhost that was meant.
func TestPaletteTakesAnyName(t *testing.T) {
	evil := "evil \x1b[2J\u202egnp\xff 日本語 "
	s := recording(queue(evil, ready(1)), queue("orders/failed"))
	s.VHosts = []string{"/", "orders"}
	other := s.Queues[1]
	other.QueueRef = model.QueueRef{VHost: "orders", Name: "failed"}
	s.Queues = append(s.Queues, other)
	o := frozen(&recorded{snapshot: s})
	c := newClock()
	broker := newRecordedBroker(c)
	o.Broker, o.Now = broker, c.now
	term := newTerminal(t, o, 120, 36)
	term.await("No flows here")
	term.command("evil", "▸ queue evil ")
	if screen := term.screen(); strings.ContainsAny(screen, "\x1b\u202e") || !utf8.ValidString(screen) {
		t.Fatalf("something unprintable is on the screen:\n%q", screen)
	}
	term.press(keyTab, keyEnter)
	term.await("now 1")
	term.command("failed", "vhost orders", "vhost /")
	term.press("\x15queue orders/failed")
	term.await("▸ queue orders/failed")
	term.press(keyTab, keyTab, keyEnter)
	term.awaitThat("both were opened", func(string) bool { return broker.peeked() == 2 })
	broker.mu.Lock()
	defer broker.mu.Unlock()
	assert.Equal(t, broker.peeks[0].Queue.Name, evil, "opened")
	got := broker.peeks[1].Queue
	assert.That(t, got == other.QueueRef || got == ref("orders/failed"), "opened %v", got)
}

// Before the broker was read there are commands, and no names.
func TestPaletteBeforeTheFirstAnswer(t *testing.T) {
	term := newTerminal(t, frozen(&recorded{err: fmt.Errorf("no broker")}), 80, 24)
	term.await("lost")
	term.command("queue x", "the broker has not been read yet")
	term.press("\x15quit", keyEnter)
	term.awaitEnd()
}

func TestNearest(t *testing.T) {
	var names []name
	for _, n := range []string{"billing.Orders", "orders", "orders.failed", "o-r-d-e-r-s", "payments"} {
		names = append(names, name{vhost: "/", name: n, shown: n})
	}
	found, all := nearest(names, "orders")
	var got []string
	for _, n := range found {
		got = append(got, n.name)
	}
	want := "orders orders.failed billing.Orders o-r-d-e-r-s"
	assert.That(t, strings.Join(got, " ") == want && all == 4, "found %v of %d, want %s", got, all, want)
	many := make([]name, 10_000)
	for i := range many {
		many[i] = name{shown: fmt.Sprint("queue", i)}
	}
	if found, all := nearest(many, "queue"); len(found) != mostNames || all != len(many) {
		t.Errorf("offers %d of %d", len(found), all)
	}
}

func TestPressOfEveryKey(t *testing.T) {
	for _, name := range []string{"r", " ", "*", "ctrl+r", "enter", "shift+tab", "pgup"} {
		press, ok := shell.PressOf(name)
		assert.That(t, ok && press.String() == name, "the press of %q is %q", name, press.String())
	}
	if _, ok := shell.PressOf("hyper+x"); ok {
		t.Error("there is a press for a key that is none")
	}
	got := shell.Remembered(make([]string, 10_000), "x")
	assert.That(t, len(got) == shell.MostCommands && got[len(got)-1] == "x", "%d commands are remembered", len(got))
}
