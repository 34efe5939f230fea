package ui

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/ui/shell"
)

// memory is a file of choices that a test looks into.
type memory struct {
	mu    sync.Mutex
	text  string
	saved int
	err   error
}

func (m *memory) Load() ([]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return []byte(m.text), nil
}

func (m *memory) Save(text []byte) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.err == nil {
		m.text = string(text)
	}
	m.saved++
	return m.err
}

func (m *memory) now() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.text
}

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
	o := frozen(&recorded{snapshot: busyBroker()})
	o.Kept = m
	return o
}

// What is hidden stays so, from start to start, until it is shown again.
func TestColumnsAreChosenAndKept(t *testing.T) {
	m := &memory{}
	term := newTerminal(t, remembering(m), 120, 36)
	term.await("IN WORKER")
	term.command("columns", "▸ columns")
	term.press(keyEnter)
	term.await("columns of flows", "[x] WAITING", "▸ [x] WAITING")
	term.press(" ", keyDown, keyDown, " ")
	term.await("[ ] WAITING", "[ ] NEXT DUE")
	m.awaitKept(term, "WAITING", "NEXT DUE")
	head := func(term *terminal) string { return strings.Split(term.screen(), "\n")[3] }
	term.awaitThat("the list hides them, too", func(string) bool { return !strings.Contains(head(term), "NEXT DUE") })
	term.golden()
	term.press(keyEsc)
	term.awaitGone("columns of flows")
	if h := head(term); strings.Contains(h, "WAITING") || strings.Contains(h, "NEXT DUE") || !strings.Contains(h, "FLOW") {
		t.Errorf("the head is %q", h)
	}
	term.press("2")
	term.await("UNACKED") // other lists have their own

	again := newTerminal(t, remembering(m), 120, 36)
	again.await("IN WORKER")
	again.awaitThat("what was hidden is", func(string) bool { return !strings.Contains(head(again), "WAITING") })
	again.press(":", keyUp)
	again.await(" : columns ")
	again.press(keyEnter)
	again.await("[ ] WAITING")
	again.press("*")
	again.await("[x] WAITING", "[x] NEXT DUE")
	again.awaitThat("nothing is hidden", func(string) bool { return !strings.Contains(m.now(), "hidden_columns") })
	again.press(keyEsc)
	again.awaitGone("columns of flows")
	again.command("findings", "▸ findings")
	again.press(keyEnter)
	again.await("WHERE")
	again.command("columns", "▸ columns")
	again.press(keyEnter)
	again.await("columns are chosen on 1 flows, 2 queues and 3 failed")
}

// A file that is damaged, foreign or full of what cannot be is no error; one that cannot be written is said once.
func TestChoicesOfAnyFile(t *testing.T) {
	many := `{"commands":["` + strings.Repeat(`queue x\u001b[2J","flows","`, 5000) + `queues"]}`
	for _, text := range []string{"", "{", "[1]", "\x00\xff", `{"commands":7}`, `{"hidden_columns":{"flows":["FLOW","NO SUCH"]}}`, many} {
		m := &memory{text: text, err: errors.New("read-only file system")}
		term := newTerminal(t, remembering(m), 80, 24)
		term.await("FLOW", "WAITING")
		term.command("queues", "▸ queues")
		term.press(keyEnter)
		term.await("! columns and commands are not kept for the next start: read-only file system")
		term.command("flows", "▸ flows")
		term.press(keyEnter)
		term.awaitThat("it was tried again", func(string) bool {
			m.mu.Lock()
			defer m.mu.Unlock()
			return m.saved == 2
		})
		term.settle()
		assert.That(t, !strings.Contains(term.screen(), "not kept"), "with %.40q it says so again", text)
	}
	if c := shell.ChoicesIn([]byte(many)); len(c.Commands) != shell.MostCommands {
		t.Errorf("%d commands are remembered", len(c.Commands))
	}
	text := fmt.Sprintf(`{"commands":[%q,"flows"]}`, strings.Repeat("x", 10_000))
	if c := shell.ChoicesIn([]byte(text)); len(c.Commands) != 1 {
		t.Errorf("a command of 10,000 letters is remembered: %d", len(c.Commands))
	}
}

// Commands of earlier starts are behind ↑, drawn printable.
func TestCommandsOfEarlierStarts(t *testing.T) {
	m := &memory{text: `{"commands":["journal","queue evil\u001b[2J\u202e"]}`}
	term := newTerminal(t, remembering(m), 80, 24)
	term.await("WAITING")
	term.awaitThat("they are read", func(string) bool {
		term.press(":", keyUp)
		term.settle()
		screen := term.screen()
		must.That(t, !strings.ContainsAny(screen, "\x1b\u202e"), "something unprintable is on the screen:\n%q", screen)
		return strings.Contains(screen, "evil")
	})
	term.press(keyUp)
	term.await(" : journal ")
}
