package ui

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"weak"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/x/ansi"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/findings"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/model/polls"
	"github.com/dlxtop/dlxtop/ui/causes"
	"github.com/dlxtop/dlxtop/ui/messages"
	"github.com/dlxtop/dlxtop/ui/shell"
	"github.com/dlxtop/dlxtop/ui/term"
)

// overhearing is a screen that records the kinds of messages that it was sent.
type overhearing struct {
	lock
	kinds map[string]int
}

func (o *overhearing) Init() tea.Cmd        { return nil }
func (o *overhearing) View(int, int) string { return "" }
func (o *overhearing) Title() string        { return "overhearing" }
func (o *overhearing) Keys() []term.Key     { return nil }
func (o *overhearing) Typing() bool         { return false }
func (o *overhearing) of(msg tea.Msg) int {
	return under(o, func() int { return o.kinds[fmt.Sprintf("%T", msg)] })
}

func (o *overhearing) Update(msg tea.Msg) tea.Cmd {
	o.change(func() { o.kinds[fmt.Sprintf("%T", msg)]++ })
	return nil
}

// A look, a plan, the progress of a run and its end come to the screen that requested them. A screen below it on the
// same stack gets polls and counts, which are for all, and one on another tab nothing.
func TestAnswersReachTheScreenThatAsked(t *testing.T) {
	o := failed(5)
	below := &overhearing{kinds: map[string]int{}}
	beside := &overhearing{kinds: map[string]int{}}
	term := newTerminal(t, o, 120, 36, func(a *app) {
		a.tabs[1].stack = append(a.tabs[1].stack, a.NewPage(beside))
		a.tabs[0].stack = append(a.tabs[0].stack, a.NewPage(below),
			a.NewPage(messages.NewScreen(a.Env, ref(failedQueue))))
	})

	term.await("5 messages").press("d").await("enter drop 1 message")
	term.press(keyEnter).await("What happened", "1 message dropped")
	assert.That(t, below.of(shell.TopologyMsg{}) != 0, "a screen of the tab that is seen got no poll")

	for name, o := range map[string]*overhearing{"below": below, "beside": beside} {
		o.Lock()
		for kind, n := range o.kinds {
			forAll := kind == fmt.Sprintf("%T", shell.TopologyMsg{}) || kind == fmt.Sprintf("%T", shell.CountedMsg{})
			assert.That(t, forAll, "the screen %s got %d x %s", name, n, kind)
			assert.That(t, name != "beside", "the screen %s got %d x %s", name, n, kind)
		}
		o.Unlock()
	}
}

// What a look has read is closed when its screen is gone, and no other screen takes it.
func TestLateLookIsLetGo(t *testing.T) {
	a := newApp(t.Context(), failed(1))
	p := a.NewPage(messages.NewScreen(a.Env, ref(failedQueue)))
	closed := false
	late := p.Asked(func() tea.Msg {
		msg := messages.PeekedMsg{Queue: ref(failedQueue)}
		msg.Peeked.Messages = &closeable{closed: &closed}
		return msg
	})

	if _, cmd := a.Update(late()); cmd != nil {
		cmd()
	}

	assert.That(t, closed, "the messages of a look that no screen waits for are still open")
}

// closeable is an empty list of messages that records that it was closed.
type closeable struct {
	message.MessageList
	closed *bool
}

func (c *closeable) Close() error {
	*c.closed = true
	return nil
}

// Two keys that are read at once both close the screen that took them, and nothing below it. If its tab was left
// meanwhile, it is closed there.
func TestAScreenClosesOnce(t *testing.T) {
	help := tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune("?")}
	for name, leave := range map[string]bool{"both keys on the same tab": false, "the tab is left": true} {
		t.Run(name, func(t *testing.T) {
			a := newApp(t.Context(), failed(1))
			update := func(msg tea.Msg) {
				m, _ := a.Update(msg)
				a = m.(app)
			}

			update(tea.WindowSizeMsg{Width: 120, Height: 36})
			a.push(messages.NewScreen(a.Env, ref(failedQueue)))
			update(help)
			must.Equal(t, len(a.tabs[0].stack), 3, "screens are open")

			first, second := a.toScreen(help), a.toScreen(help)
			if leave {
				a.show(1)
			}
			update(first())
			update(second())

			assert.Equal(t, len(a.tabs[0].stack), 2, "screens are left")
		})
	}
}

// memory is a file of choices that a test inspects.
type memory struct {
	lock
	text  string
	saved int
	err   error
}

func (m *memory) Load() ([]byte, error) {
	return []byte(m.now()), nil
}

func (m *memory) Change(how func([]byte) ([]byte, error)) (string, error) {
	m.Lock()
	defer m.Unlock()
	m.saved++
	if m.err != nil {
		return "", m.err
	}
	text, err := how([]byte(m.text))
	m.text = string(text)
	return "", err
}

func (m *memory) now() string { return under(m, func() string { return m.text }) }

// awaitKept waits until the file has all of these.
func (m *memory) awaitKept(term *terminal, texts ...string) {
	term.t.Helper()
	term.awaitThat("the file has "+strings.Join(texts, ", "), func(string) bool {
		for _, text := range texts {
			if !strings.Contains(m.now(), text) {
				return false
			}
		}
		return true
	})
}

func remembering(m *memory) Options {
	o := busy()
	o.Preferences = m
	return o
}

// Hidden columns stay hidden, between starts too, until they are shown again.
func TestColumnsAreChosenAndKept(t *testing.T) {
	m := &memory{}
	term := remembering(m).open(t).await("IN WORKER").command("columns", "▸ columns")
	term.press(keyEnter).await("columns of flows", "[x] WAITING", "▸ [x] WAITING")
	term.press(" ", keyDown, keyDown, " ").await("[ ] WAITING", "[ ] NEXT DUE")
	m.awaitKept(term, "WAITING", "NEXT DUE")
	head := func(term *terminal) string { return strings.Split(term.screen(), "\n")[3] }
	term.awaitThat("the list hides them, too", func(string) bool { return !strings.Contains(head(term), "NEXT DUE") })
	term.golden().press(keyEsc).awaitGone("columns of flows")
	h := head(term)
	assert.Lacks(t, h, "WAITING")
	assert.Lacks(t, h, "NEXT DUE")
	assert.Contains(t, h, "FLOW")
	term.press("2")
	term.await("UNACKED") // other lists have their own

	again := remembering(m).open(t).await("IN WORKER")
	again.awaitThat("what was hidden is", func(string) bool { return !strings.Contains(head(again), "WAITING") })
	again.press(":", keyUp).await(" : columns ").press(keyEnter).await("[ ] WAITING")
	again.press("*").await("[x] WAITING", "[x] NEXT DUE")
	again.awaitThat("nothing is hidden", func(string) bool { return !strings.Contains(m.now(), "hidden_columns") })
	again.press(keyEsc).awaitGone("columns of flows").command("findings", "▸ findings").press(keyEnter).await("WHERE")
	again.command("columns", "▸ columns").press(keyEnter).await("columns are chosen on 1 flows, 2 queues and 3 failed")
}

// A damaged, foreign or nonsensical file is not an error; one that cannot be written is reported once.
func TestChoicesOfAnyFile(t *testing.T) {
	many := `{"commands":["` + strings.Repeat(`queue x\u001b[2J","flows","`, 5000) + `queues"]}`
	for _, text := range []string{"", "{", "[1]", "\x00\xff", `{"commands":7}`, `{"hidden_columns":{"flows":["FLOW","NO SUCH"]}}`, many} {
		m := &memory{text: text, err: errors.New("read-only file system")}
		term := remembering(m).open(t, 80, 24).await("FLOW", "WAITING").command("queues", "▸ queues")
		term.press(keyEnter).await("! columns and commands are not kept for the next start: read-only file system")
		term.command("flows", "▸ flows").press(keyEnter)
		term.awaitThat("it was tried again", func(string) bool {
			return under(m, func() bool { return m.saved == 2 })
		})
		term.settle()
		assert.That(t, !strings.Contains(term.screen(), "not kept"), "with %.40q it says so again", text)
	}

	c := shell.ChoicesIn([]byte(many))
	assert.That(t, len(c.Commands) == shell.MostCommands, "%d commands are remembered", len(c.Commands))
	text := fmt.Sprintf(`{"commands":[%q,"flows"]}`, strings.Repeat("x", 10_000))
	c = shell.ChoicesIn([]byte(text))
	assert.Equal(t, len(c.Commands), 1, "a command of 10,000 letters is remembered")
}

// ↑ brings commands of earlier starts, drawn printable.
func TestCommandsOfEarlierStarts(t *testing.T) {
	m := &memory{text: `{"commands":["journal","queue evil\u001b[2J\u202e"]}`}
	term := remembering(m).open(t, 80, 24).await("WAITING")
	term.awaitThat("they are read", func(string) bool {
		term.press(":", keyUp).settle()
		screen := term.screen()
		must.That(t, !strings.ContainsAny(screen, "\x1b\u202e"), "something unprintable is on the screen:\n%q", screen)
		return strings.Contains(screen, "evil")
	})

	term.press(keyUp).await(" : journal ")
}

const (
	wheelUp   = "\x1b[<64;10;10M"
	wheelDown = "\x1b[<65;10;10M"
)

// click presses and releases the left button on a text of the screen.
func (term *terminal) click(text string) *terminal {
	term.t.Helper()
	return term.clickFrom(0, text)
}

// clickLast returns the same on the last line.
func (term *terminal) clickLast(text string) *terminal {
	term.t.Helper()
	return term.clickFrom(strings.Count(term.screen(), "\n")-1, text)
}

func (term *terminal) clickFrom(first int, text string) *terminal {
	term.t.Helper()
	for y, line := range strings.Split(term.screen(), "\n")[first:] {
		if before, _, ok := strings.Cut(line, text); ok {
			at := fmt.Sprintf("%d;%d", ansi.StringWidthWc(before)+1, first+y+1)
			return term.press("\x1b[<0;"+at+"M", "\x1b[<0;"+at+"m")
		}
	}

	term.t.Fatalf("there is no %s to click on:\n%s", text, term.screen())
	return nil
}

func clicking(n int) Options {
	o := failed(n)
	o.Mouse = true
	return o
}

func TestMouse(t *testing.T) {
	term := clicking(47).open(t).await("ucenter@user ").press(wheelDown).awaitRow("ucenter@enterprise")
	term.press(wheelUp).awaitRow("example.delay.heaven")
	term.click("3 Failed").await("3 failed queues").press("f").await("FAILED QUEUE")
	before := term.broker.peeked()
	term.click("ucenter@enterprise@failed").awaitRow("ucenter@enterprise@failed")
	term.click("ucenter@user@failed  ").awaitRow("ucenter@user@failed")
	assert.Equal(t, term.broker.peeked()-before, 0, "the first click on a row has opened it")
	term.click("ucenter@user@failed  ").await("47 messages")
	term.click("0f3c9a") // in the detail: no row
	term.clickLast("r replay").await("enter replay").clickLast("c canary").await("c no canary").clickLast("enter replay")
	term.click("enter replay").settle()
	assert.Equal(t, len(term.broker.executed()), 0, "plans were executed by mouse")
	term.await("enter replay").clickLast("esc back").awaitGone("enter replay").clickLast("q back")
	term.await("FAILED QUEUE").clickLast("? help").await("to move", "everywhere")
}

// Rows of causes and of search results: the first click moves the cursor, the second opens.
func TestCausesAndFoundAreClicked(t *testing.T) {
	o := failedQueues()
	o.Mouse = true
	term := o.onCauses(t).await("ValueError: the user").click("ValueError: the user")
	term.awaitRow("ValueError: the user")
	term.click("ValueError: the user").await("cause: ValueError: the user")

	o = orders()
	o.Mouse = true
	term = o.open(t).await("ucenter@user").command("find a-471", "▸ find a-471").press(keyEnter)
	term.await("test-delay  ").click("test-delay  ").awaitRow("test-delay")
	term.click("test-delay  ").await("again, ", "q back").awaitGone("found")
}

// On a narrow terminal the tabs are closer together.
func TestNarrowTabsAreClicked(t *testing.T) {
	term := clicking(1).open(t, 60, 16).await("ucenter@user").click("4 Findings").await("WHAT")
	term.click("5 Journal").await("no journal")
}

// Moving the cursor to a row with a key does not count as a first click.
func TestClickAfterAKey(t *testing.T) {
	term := clicking(5).open(t, 80, 24).await("ucenter@user ").press("3").await("TimeoutError")
	term.press("f").await("▸ ucenter@user@failed")
	before := term.broker.peeked()
	term.click("ucenter@user@failed  ").settle()
	term.click("FAILED QUEUE") // the head
	term.settle()
	assert.Equal(t, term.broker.peeked()-before, 0, "one click has opened the row")
	term.click("ucenter@user@failed  ").await("5 messages")
}

// Without the option, and where its effect would be invisible, the mouse does nothing.
func TestNoMouse(t *testing.T) {
	o := clicking(5)
	o.Mouse = false
	term := o.open(t, 80, 24).await("ucenter@user ").click("3 Failed").press(wheelDown).settle()
	term.await("BUFFERS").awaitRow("example.delay.heaven")
}

// An editor gets a terminal without a mouse, and the dashboard enables it again: Bubble Tea leaves that to its program.
func TestMouseIsTakenAgain(t *testing.T) {
	o := clicking(1)
	a := newApp(t.Context(), o)
	over := a.withMouse(func(error) tea.Msg { return resumedMsg{} })
	messages := fmt.Sprintf("%T", over(nil))
	assert.Equal(t, messages, "tea.BatchMsg", "what follows the editor")
	a.Mouse = false
	_, ok := a.withMouse(func(error) tea.Msg { return resumedMsg{} })(nil).(resumedMsg)
	assert.That(t, ok, "without a mouse something else than the answer follows the editor")
}

// On a large broker each poll is tens of megabytes. Hidden screens release an older one, and restore cursor and order
// when they are shown again.
func TestHiddenTabsKeepNoOldPoll(t *testing.T) {
	c := newClock()
	a := newApp(t.Context(), lively(&recorded{snapshot: busyBroker()}, c))
	a.Styles = mono
	update := func(msg tea.Msg) {
		next, _ := a.Update(msg)
		a = next.(app)
	}

	var kept []weak.Pointer[model.Topology]

	poll := func() {
		topology := model.NewTopology(busyBroker())
		kept = append(kept, weak.Make(topology))
		found := findings.Of(topology)
		a.poller.inFlight = a.NewRequest()
		update(polledMsg{request: a.poller.inFlight, poll: polls.Poll{Topology: topology}, topology: shell.TopologyMsg{
			Topology: topology, Flows: topology.Flows(), Findings: found, About: findings.NewAbout(found),
		}})
	}

	key := func(r rune) { update(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune{r}}) }
	update(tea.WindowSizeMsg{Width: 120, Height: 36})

	var screens []string
	for tab := range a.tabs {
		key(rune('1' + tab))
		poll()
		key('j')
		key('s')
		key('j')
		screens = append(screens, a.View())
	}

	for range 3 {
		poll()
	}

	runtime.GC()
	runtime.GC()
	for i, p := range kept[:len(kept)-1] {
		assert.That(t, p.Value() == nil, "poll %d of %d is still in memory", i+1, len(kept))
	}

	for tab := range a.tabs {
		key(rune('1' + tab))
		assert.Equal(t, a.View(), screens[tab], "it shows")
	}

	last := kept[len(kept)-1].Value()
	must.That(t, last != nil, "the newest poll is not the one that is shown")
	assert.That(t, last == a.latest.Topology, "the newest poll is not the one that is shown")
}

// A look that is answered while its tab is hidden cannot name the workers: the poll that comes before the tab is seen
// again does.
func TestCausesReadInAHiddenTabNameTheirWorkers(t *testing.T) {
	o, _, source, _ := manyFailed()
	a := newApp(t.Context(), o)
	a.Styles = mono
	topology := model.NewTopology(source.snapshot)
	poll := shell.TopologyMsg{Topology: topology, Flows: topology.Flows()}
	screen := causes.NewFailedScreen(a.Env, model.QueueRef{})
	update := func(msg tea.Msg) { screen.Update(msg) }

	prepare := func() tea.Cmd { return screen.(shell.Preparing).Prepare(120, 30) }

	update(poll)

	for cmd := prepare(); cmd != nil; cmd = prepare() {
		update(cmd())
	}

	before := screen.View(120, 30)
	must.Contains(t, before, "mail")
	must.Contains(t, before, smtpCause)

	update(tea.KeyMsg{Type: tea.KeyCtrlR})
	hidden := 0
	for cmd := prepare(); cmd != nil; cmd = prepare() {
		update(shell.RestMsg{})
		update(cmd())
		update(poll)
		hidden++
	}

	must.That(t, hidden > 0, "nothing was read again")
	assert.Equal(t, screen.View(120, 30), before, "it shows")
}
