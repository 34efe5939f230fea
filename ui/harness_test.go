package ui

import (
	"context"
	"io"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/x/exp/golden"
	"github.com/muesli/termenv"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/ui/term"
)

// patience is how long a test waits for something to be on the screen.
const patience = 2 * time.Minute

// terminal is the real program in a terminal emulator.
type terminal struct {
	t       *testing.T
	marks   int // that were sent
	glass   *glass
	voice   *voice // nil: the screen is not plain
	program *tea.Program
	keys    io.WriteCloser
	ended   chan struct{}
	err     error // of the program, once ended
	last    app   // as the program left it, once ended
}

// newTerminal runs the program in a terminal of this size, without colours unless adjust changes that.
func newTerminal(t *testing.T, o Options, width, height int, adjust ...func(*app)) *terminal {
	t.Helper()
	a := newApp(t.Context(), o)
	if !o.Plain {
		a.env.Styles = term.NewStyles(term.Mono, termenv.Ascii)
	}
	for _, f := range adjust {
		f(&a)
	}
	var keyboard io.ReadCloser
	var keys io.WriteCloser
	if keyboard, keys = io.Pipe(); o.Editor != "" {
		var err error
		// a file: the program can stop reading it while an editor has the terminal
		if keyboard, keys, err = os.Pipe(); err != nil {
			t.Fatal(err)
		}
	}
	term := &terminal{t: t, glass: newGlass(width, height), keys: keys, ended: make(chan struct{})}
	var output io.Writer = term.glass
	if o.Plain {
		term.voice = &voice{to: output}
		output = term.voice
	}
	term.program = tea.NewProgram(marked{Model: a}, tea.WithInput(keyboard), tea.WithOutput(output),
		tea.WithAltScreen(), tea.WithoutSignals(), tea.WithFPS(120))
	go func() {
		defer close(term.ended)
		last, err := term.program.Run()
		if m, ok := last.(marked); ok {
			term.last, _ = m.Model.(app)
		}
		term.err = err
		a.env.Work.End()
	}()
	drained := make(chan struct{})
	go func() { // a terminal's answers to questions: nobody reads them, but they must go somewhere
		defer close(drained)
		_, _ = io.Copy(io.Discard, term.glass.emulator)
	}()
	term.program.Send(tea.WindowSizeMsg{Width: width, Height: height})
	t.Cleanup(func() {
		term.program.Quit()
		select {
		case <-term.ended:
		case <-time.After(patience):
			t.Error("the program did not end")
		}
		keys.Close()
		keyboard.Close()
		// Not emulator.Close, which races with its own Read.
		_ = term.glass.emulator.InputPipe().(io.Closer).Close()
		<-drained
	})
	return term
}

// press types keys: text, or the escape sequences of key* below. It returns the terminal, for what they lead to.
func (term *terminal) press(keys ...string) *terminal {
	for _, k := range keys {
		if _, err := io.WriteString(term.keys, k); err != nil {
			term.t.Fatalf("press %q: %v", k, err)
		}
	}
	return term
}

const (
	keyEnter   = "\r"
	keyEsc     = "\x1b"
	keyDown    = "\x1b[B"
	keyUp      = "\x1b[A"
	keyTab     = "\t"
	keyCtrlC   = "\x03"
	keyCtrlR   = "\x12"
	keyCtrlD   = "\x04"
	keyBackTab = "\x1b[Z"
)

// screen is what stands on the screen, without the blanks at the ends of lines.
func (term *terminal) screen() string { return term.glass.text() }

// await waits until all texts are on the screen.
func (term *terminal) await(texts ...string) *terminal {
	term.t.Helper()
	return term.awaitThat("there is "+strings.Join(texts, ", "), func(screen string) bool {
		for _, text := range texts {
			if !strings.Contains(screen, text) {
				return false
			}
		}
		return true
	})
}

// awaitGone waits until a text is not on the screen.
func (term *terminal) awaitGone(text string) *terminal {
	term.t.Helper()
	return term.awaitThat("there is no "+text, func(screen string) bool { return !strings.Contains(screen, text) })
}

// awaitRow waits until a text is in the row under the cursor.
func (term *terminal) awaitRow(text string) *terminal {
	term.t.Helper()
	return term.awaitThat("the cursor is on "+text, func(string) bool { return strings.Contains(term.cursorRow(), text) })
}

// lacks checks that a text is not on the screen now.
func (term *terminal) lacks(text, why string) *terminal {
	term.t.Helper()
	screen := term.screen()
	assert.That(term.t, !strings.Contains(screen, text), "%s: there is %s in\n%s", why, text, screen)
	return term
}

// awaitThat waits until the screen is as it is wanted.
func (term *terminal) awaitThat(what string, wanted func(screen string) bool) *terminal {
	term.t.Helper()
	deadline := time.Now().Add(patience)
	for {
		screen := term.screen()
		if wanted(screen) {
			return term
		}
		if time.Now().After(deadline) {
			term.t.Fatalf("not on the screen within %v: %s\n%s", patience, what, screen)
		}
		select {
		case <-term.ended:
			term.t.Fatalf("the program ended (%v) while waiting until %s\n%s", term.err, what, screen)
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// cursorRow is the line with the cursor's mark.
func (terms *terminal) cursorRow() string {
	for _, line := range strings.Split(terms.screen(), "\n") {
		if strings.HasPrefix(strings.TrimLeft(line, " "+term.MarkChosen), term.MarkCursor) {
			return line
		}
	}
	return ""
}

func (term *terminal) resize(width, height int) *terminal {
	term.glass.resize(width, height)
	term.program.Send(tea.WindowSizeMsg{Width: width, Height: height})
	return term
}

// golden compares the screen with the recorded one; go test ./ui -update records it again. A poll that took long on a
// busy machine is told of in the first line, until the next one.
func (term *terminal) golden() *terminal {
	term.t.Helper()
	term.settle().awaitThat("the last poll was quick", func(screen string) bool {
		header, _, _ := strings.Cut(screen, "\n")
		return !strings.Contains(header, "old, every ") && !strings.Contains(header, "slow, ")
	})
	golden.RequireEqual(term.t, term.screen())
	return term
}

// awaitEnd waits until the program has ended by itself.
func (term *terminal) awaitEnd() {
	term.t.Helper()
	select {
	case <-term.ended:
	case <-time.After(patience):
		term.t.Fatal("the program did not end\n" + term.screen())
	}
}

// clock is a time that only tests move.
type clock struct {
	mu sync.Mutex
	at time.Time
}

func newClock() *clock { return &clock{at: time.Date(2026, 3, 1, 3, 4, 5, 0, time.UTC)} }

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *clock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
}

// recorded is a source that tells what it was given: a value of the domain, or an error.
type recorded struct {
	mu       sync.Mutex
	snapshot *model.Snapshot
	err      error
	asked    int
	counted  int
}

func (r *recorded) Current(ctx context.Context) (*model.Snapshot, error) { return r.Snapshot(ctx) }

func (r *recorded) Snapshot(context.Context) (*model.Snapshot, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.asked++
	if r.snapshot == nil {
		return nil, r.err
	}
	fresh := *r.snapshot // as each poll is
	return &fresh, r.err
}

func (r *recorded) Connections(context.Context) ([]string, error) { return nil, nil }

// Counts are those of the snapshot.
func (r *recorded) Counts(context.Context) (map[model.QueueRef]model.QueueCounts, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.counted++
	counts := map[model.QueueRef]model.QueueCounts{}
	if r.snapshot != nil {
		for _, q := range r.snapshot.Queues {
			counts[q.QueueRef] = model.QueueCounts{Ready: q.Ready, Unacked: q.Unacked}
		}
	}
	return counts, r.err
}

func (r *recorded) tell(s *model.Snapshot) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.snapshot, r.err = s, nil
}

func (r *recorded) fail(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.err = err
}

func (r *recorded) times() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.asked
}

func ref(name string) model.QueueRef { return model.QueueRef{VHost: "/", Name: name} }
