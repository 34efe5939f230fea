package ui

import (
	"context"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/plan"
	"github.com/dlxtop/dlxtop/ui/act"
	"github.com/dlxtop/dlxtop/ui/press"
	"github.com/dlxtop/dlxtop/ui/shell"
	"github.com/dlxtop/dlxtop/ui/term"
)

// command types into the palette and waits until it shows something.
func (term *terminal) command(text string, shows ...string) *terminal {
	term.t.Helper()
	return term.press(":", text).await(shows...)
}

// The palette offers flows and queues by parts of their names, tab completes them, and enter opens them.
func TestPaletteOpensByName(t *testing.T) {
	term := failed(5).open(t).await("ucenter@user").command("user@fai", "▸ queue ucenter@user@failed")
	term.press(keyEnter).await("5 messages")

	term.command("flow work", "▸ flow worker-queue").press(keyTab).await(" : flow worker-queue ")
	term.press(keyEnter).await("ucenter@user@failed › worker-queue")
}

// Tab cycles through completions, and a command that takes a name offers names.
func TestPaletteCompletes(t *testing.T) {
	term := busy().open(t, 80, 24).await("ucenter@user")
	term.command("f", "▸ flows").press(keyTab).await(" : flows ").press(keyTab).await(" : failed ")
	term.press("\x1b[Z").await(" : flows ")
	term.press("\x15ta", keyTab) // ctrl-u empties the line
	term.await(" : tap ", "▸ tap RetryExchange").press("RetryEx", keyTab).await(" : tap RetryExchange ")
	term.press(keyEnter).await("Tap RetryExchange")
}

// ↑ and ↓ go through earlier commands; after the newest comes what was being typed.
func TestPaletteRemembers(t *testing.T) {
	term := busy().open(t, 80, 24).await("ucenter@user")
	for _, c := range [][2]string{{"queues", "READY"}, {"findings", "WHAT"}, {"findings", "WHAT"}} {
		term.press(":", c[0], keyEnter).await(c[1]).awaitGone("tab completes")
	}
	term.command("jour", "▸ journal").press(keyUp).await(" : findings ").press(keyUp)
	term.await(" : queues ") // repeated at once, findings is there once
	term.press(keyUp, keyDown, keyDown).await(" : jour ").press(keyUp, keyEnter).await("WHAT")
}

func TestPaletteSaysWhatItDoesNotFind(t *testing.T) {
	term := busy().open(t, 80, 24).await("ucenter@user")
	term.command("zzzz", "✗ no command, flow or queue has that name").press(keyEnter).settle()
	term.await("✗ no command, flow or queue has that name").press("\x15", "queue no\x1b").awaitGone("tab completes")
	term.command("queue zzzz", "✗ there is no queue zzzz")
}

// What keys do on this screen can be found by its words, except keys that answer a dialog.
func TestPaletteOffersKeys(t *testing.T) {
	term := failed(5).open(t).await("ucenter@user").press("3", "f", keyEnter).await("5 messages")
	term.command("replay all", "▸ replay all shown", "key R").press(keyEnter).await("enter replay")
	assert.Equal(t, len(term.broker.executed()), 0, "plans were executed: only the dialog was asked for")
}

// Suggestions that appear once a screen has read, or with the first poll, need no retyping.
func TestPaletteOffersWhatComesLater(t *testing.T) {
	o, broker, _ := failedOptions(5)
	source := &hanging{recorded: recorded{snapshot: o.Source.(*recorded).snapshot}, turn: make(chan struct{})}
	o.Source, o.Interval = source, time.Hour
	term := o.open(t).await("Flows")
	term.command("queue user@failed", "✗ no such command, and the broker has not been read yet")
	source.turn <- struct{}{}
	term.await("▸ queue ucenter@user@failed")
	broker.Lock()
	term.press(keyEnter).await("reading the queue").command("replay all", "✗ no command, flow or queue has that name")
	broker.Unlock()
	term.await("▸ replay all shown", "key R")
}

// Names of any bytes are drawn printable and opened exactly, in the right vhost.
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
	term := o.open(t).await("No flows here").command("\u202egnp", `\u{202e}gnp`)
	term.press("\x15evil").await("▸ queue evil ")
	screen := term.screen()
	must.That(t, !strings.ContainsAny(screen, "\x1b\u202e"), "something unprintable is on the screen:\n%q", screen)
	must.That(t, utf8.ValidString(screen), "something unprintable is on the screen:\n%q", screen)
	term.press(keyTab, keyEnter).await("now 1").command("failed", "vhost orders", "vhost /")
	term.press("\x15queue orders/failed").await("▸ queue orders/failed").press(keyTab, keyTab, keyEnter)
	term.awaitThat("both were opened", func(string) bool { return broker.peeked() == 2 })
	broker.Lock()
	defer broker.Unlock()
	assert.Equal(t, broker.peeks[0].Queue.Name, evil, "opened")
	got := broker.peeks[1].Queue
	assert.That(t, got == other.QueueRef || got == ref("orders/failed"), "opened %v", got)
}

// Before the broker was read there are commands, and no names.
func TestPaletteBeforeTheFirstAnswer(t *testing.T) {
	term := frozen(&recorded{err: fmt.Errorf("no broker")}).open(t, 80, 24).await("lost")
	term.command("queue x", "the broker has not been read yet").press("\x15quit", keyEnter)
	term.awaitEnd()
}

func TestNearest(t *testing.T) {
	var names []name
	for _, n := range []string{"billing.Orders", "orders", "orders.failed", "o-r-d-e-r-s", "payments"} {
		names = append(names, name{QueueRef: ref(n), shown: n})
	}

	found, all := nearest(names, "orders")
	var got []string
	for _, n := range found {
		got = append(got, n.Name)
	}

	want := "orders orders.failed billing.Orders o-r-d-e-r-s"
	assert.Equal(t, strings.Join(got, " "), want, "found %v of %d, want %s", got, all, want)
	assert.Equal(t, all, 4)
	found, all = nearest(slices.Repeat([]name{{shown: "queue"}}, 10_000), "queue")
	assert.Equal(t, len(found), mostNames, "offers %d of %d", len(found), all)
	assert.Equal(t, all, 10_000)
}

func TestPressOfEveryKey(t *testing.T) {
	for _, name := range []string{"r", " ", "*", "ctrl+r", "enter", "shift+tab", "pgup"} {
		press, ok := shell.PressOf(name)
		assert.That(t, ok, "the press of %q is %q", name, press.String())
		assert.Equal(t, press.String(), name)
	}

	_, ok := shell.PressOf("hyper+x")
	assert.That(t, !ok, "there is a press for a key that is none")
	got := shell.Remembered(make([]string, 10_000), "x")
	must.Equal(t, len(got), shell.MostCommands, "%d commands are remembered", len(got))
	assert.Equal(t, got[len(got)-1], "x")
}

// Every binding of the program is explained somewhere: a new key needs a description.
func TestKeyHelpHasEveryKey(t *testing.T) {
	var explained []string
	for _, g := range KeyHelp() {
		assert.That(t, g.Place != "", "%+v is empty", g)
		assert.That(t, len(g.Keys) > 0, "%+v is empty", g)
		for _, k := range g.Keys {
			assert.That(t, len(k.Names) > 0, "%s: %+v is empty", g.Place, k)
			assert.That(t, k.Does != "", "%s: %+v is empty", g.Place, k)
			explained = append(explained, k.Names...)
		}
	}

	source := must.Get(os.ReadFile("press/keys.go"))(t)
	declared := regexp.MustCompile(`(?m)^\t(\w+) += (?:bind\(|named\("[^"]+", )"([^"]+)"`)
	keys := declared.FindAllStringSubmatch(string(source), -1)
	must.That(t, len(keys) > 60, "press declares %d keys", len(keys))
	for _, of := range keys {
		for pressed := range strings.SplitSeq(of[2], ",") {
			assert.That(t, slices.Contains(explained, press.KeyName(pressed)), "%s (%s) is not in KeyHelp", of[1], pressed)
		}
	}
}

// "-" goes to the previous screen, across tabs, and back again; a closed one is opened again.
func TestLastScreen(t *testing.T) {
	term := failed(5).open(t)
	way := func() string {
		_, path, _ := strings.Cut(strings.Split(term.screen(), "\n")[1], "5 Journal")
		return strings.TrimSpace(path)
	}

	term.await("ucenter@user").press("-").await("no other screen was seen before this one")
	term.press("j", keyEnter).await("next queue").press("f").await("5 messages   read")
	assert.Equal(t, way(), "ucenter@user › ucenter@user@failed", "the way")
	looks := term.broker.peeked() // including the picture's
	term.press("4").await("WHAT").press("-").await("5 messages   read").press("-").await("WHAT")
	assert.Equal(t, way(), "", "the way to the findings")
	term.press("-").await("5 messages   read")
	assert.Equal(t, term.broker.peeked(), looks, "looked at what was on the screen all the time")

	term.press("q") // closes the messages
	term.await("next queue").press("-").await("5 messages   read")
	assert.Equal(t, way(), "ucenter@user › ucenter@user@failed", "the way to what was closed")
	assert.Equal(t, term.broker.peeked(), looks+1, "looked at what was opened again")
	term.press("-").await("next queue").press("-").await("5 messages   read")
}

// The help is over when it was closed: "-" skips it. In a text "-" is a letter.
func TestLastScreenPassesWhatIsOver(t *testing.T) {
	term := failed(5).open(t).await("ucenter@user").press("2").await("UNACKED")
	term.press("?").await("everywhere").press("?").await("UNACKED").press("-").await("MOVED/s")
	term.press("-").await("UNACKED").press("/a-b").await("/ a-b")
}

// going returns options with contexts to switch to.
func going(n int) Options {
	o := failed(n)
	o.Contexts = []string{"evil\x1b[2J", "prod", "staging"}
	return o
}

func TestContextIsChosenInThePalette(t *testing.T) {
	o := going(5)
	o.Trouble = "still prod, not away: nothing listens"
	term := o.open(t).await("ucenter@user", "! still prod, not away: nothing listens")
	term.command("context ", `evil\x1b[2J`, "context prod", "this one", "context staging")
	term.press("prod", keyEnter).await("this is prod").command("context nowhere", "✗ there is no context nowhere")
	term.press(keyEsc).awaitGone("tab completes").command("context st", "▸ context staging").press(keyEnter)
	term.awaitEnd()
	must.Do(t, term.err)
	assert.Equal(t, term.last.next, "staging", "goes to %q: %v", term.last.next, term.err)
}

// Without a broker there is still a way to another one.
func TestContextIsChosenWithoutABroker(t *testing.T) {
	o := going(5)
	o.Source = &recorded{err: context.DeadlineExceeded}
	term := o.open(t, 80, 24).await("lost").command("context evil", `▸ context evil\x1b[2J`).press(keyEnter)
	term.awaitEnd()
	assert.Equal(t, term.last.next, "evil\x1b[2J", "goes to")
}

// A running action, on any tab, prevents switching.
func TestContextWaitsForWhatRuns(t *testing.T) {
	o := going(5)
	a := newApp(t.Context(), o)
	busy := act.NewUndoScreen(a.Env, 7).(*act.FollowUpScreen)
	busy.State = shell.DialogRunning
	a.tabs[1].stack = append(a.tabs[1].stack, a.NewPage(busy))
	a.goToContext(name{QueueRef: model.QueueRef{Name: "staging"}, shown: "staging"})
	assert.Equal(t, a.next, "", "goes to %q, and says %q", a.next, a.notice.Text)
	assert.Contains(t, a.notice.Text, "what runs on undo")
}

func TestMoveToAQueueOfChoice(t *testing.T) {
	terms := journaled(t, 5, 0).onFailed(t).press(" ", keyDown, " ", "m")
	terms.await("Move 2 messages", "Type a part of the queue's name")
	terms.lacks(term.MarkCursor+" "+failedQueue, "the source is offered")
	terms.press("no such queue").await("no queue has that in its name").press(keyEnter).settle()
	terms.await("no queue has that in its name")
	for range "no such queue" {
		terms.press("\x7f")
	}

	terms.press("USER").await(term.MarkCursor + " ucenter@user ")
	terms.press(keyDown).await(term.MarkCursor+" ucenter@user@retry").press(keyUp, keyEnter)
	terms.await("through (default), key ucenter@user", "reaches   ucenter@user, 3 consumers", "strips    x-death",
		"other queue", "enter move")
	terms.lacks("adds", "a move adds no header")
	terms.press(keyTab).await("Type a part of the queue's name", "> USER")
	terms.press("@retry", keyEnter).await("reaches   ucenter@user@retry", "strips    x-death", "expire, after 30s")
	terms.press(keyEnter).await("2 messages moved to ucenter@user@retry")
	terms.press(keyEnter).await("3 messages", "2 taken out")
	terms.ran(func(p plan.Run) bool {
		return p.Operation == plan.Move && p.To() == "queue:ucenter@user@retry" && !p.Mark
	})
}
