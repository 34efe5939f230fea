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
	"github.com/charmbracelet/x/vt"

	"dlxtop/model"
)

// patience is how long a test waits for something to be on the screen.
const patience = 10 * time.Second

// terminal is the real program in a terminal emulator.
type terminal struct {
	t        *testing.T
	glass    *glass
	program  *tea.Program
	keys     io.WriteCloser
	ended    chan struct{}
	err      error         // of the program, once ended
	patience time.Duration // of a wait; a test may change it
}

// newTerminal runs the program in a terminal of this size, without colours unless adjust changes that.
func newTerminal(t *testing.T, o Options, width, height int, adjust ...func(*app)) *terminal {
	t.Helper()
	a := newApp(t.Context(), o)
	a.env.styles = newStyles(false)
	for _, f := range adjust {
		f(&a)
	}
	var keyboard io.ReadCloser
	var keys io.WriteCloser
	if keyboard, keys = io.Pipe(); o.Editor != "" {
		var err error
		if keyboard, keys, err = os.Pipe(); err != nil { // a file: the program can stop reading it while an editor has the terminal
			t.Fatal(err)
		}
	}
	term := &terminal{t: t, glass: &glass{emulator: vt.NewEmulator(width, height)}, keys: keys, ended: make(chan struct{}), patience: patience}
	term.program = tea.NewProgram(a, tea.WithInput(keyboard), tea.WithOutput(term.glass), tea.WithAltScreen(),
		tea.WithoutSignals(), tea.WithFPS(120))
	go func() {
		defer close(term.ended)
		_, term.err = term.program.Run()
		a.env.work.end()
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

// press types keys: text, or the escape sequences of key* below.
func (term *terminal) press(keys ...string) {
	for _, k := range keys {
		if _, err := io.WriteString(term.keys, k); err != nil {
			term.t.Fatalf("press %q: %v", k, err)
		}
	}
}

const (
	keyEnter = "\r"
	keyEsc   = "\x1b"
	keyDown  = "\x1b[B"
	keyUp    = "\x1b[A"
	keyTab   = "\t"
	keyCtrlC = "\x03"
	keyCtrlR = "\x12"
	keyCtrlD = "\x04"
)

// screen is what stands on the screen, without the blanks at the ends of lines.
func (term *terminal) screen() string { return term.glass.text() }

// glass is the emulator behind a lock of its own: vt.SafeEmulator hands out its cells unlocked.
type glass struct {
	mu       sync.Mutex
	emulator *vt.Emulator
}

func (g *glass) Write(p []byte) (int, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.emulator.Write(p)
}

func (g *glass) resize(width, height int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.emulator.Resize(width, height)
}

func (g *glass) text() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	lines := make([]string, g.emulator.Height())
	for y := range lines {
		var b strings.Builder
		for x := 0; x < g.emulator.Width(); {
			c := g.emulator.CellAt(x, y)
			if c == nil || c.Width == 0 || c.Content == "" {
				b.WriteByte(' ')
				x++
				continue
			}
			b.WriteString(c.Content)
			x += c.Width
		}
		lines[y] = strings.TrimRight(b.String(), " ")
	}
	return strings.Join(lines, "\n") + "\n"
}

// await waits until all texts are on the screen.
func (term *terminal) await(texts ...string) {
	term.t.Helper()
	term.awaitThat("there is "+strings.Join(texts, ", "), func(screen string) bool {
		for _, text := range texts {
			if !strings.Contains(screen, text) {
				return false
			}
		}
		return true
	})
}

// awaitGone waits until a text is not on the screen.
func (term *terminal) awaitGone(text string) {
	term.t.Helper()
	term.awaitThat("there is no "+text, func(screen string) bool { return !strings.Contains(screen, text) })
}

// awaitThat waits until the screen is as it is wanted.
func (term *terminal) awaitThat(what string, wanted func(screen string) bool) {
	term.t.Helper()
	deadline := time.Now().Add(term.patience)
	for {
		screen := term.screen()
		if wanted(screen) {
			return
		}
		if time.Now().After(deadline) {
			term.t.Fatalf("not on the screen within %v: %s\n%s", term.patience, what, screen)
		}
		select {
		case <-term.ended:
			term.t.Fatalf("the program ended (%v) while waiting until %s\n%s", term.err, what, screen)
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// cursorRow is the line with the cursor's mark.
func (term *terminal) cursorRow() string {
	for _, line := range strings.Split(term.screen(), "\n") {
		if strings.HasPrefix(strings.TrimLeft(line, " "+markChosen), markCursor) {
			return line
		}
	}
	return ""
}

func (term *terminal) resize(width, height int) {
	term.glass.resize(width, height)
	term.program.Send(tea.WindowSizeMsg{Width: width, Height: height})
}

// golden compares the screen with the recorded one; go test ./ui -update records it anew.
func (term *terminal) golden() {
	term.t.Helper()
	golden.RequireEqual(term.t, term.screen())
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

func (r *recorded) Snapshot(context.Context) (*model.Snapshot, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.asked++
	return r.snapshot, r.err
}

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

// settle waits until everything that was pressed so far has been handled and drawn: the screen does not change for a while.
func (term *terminal) settle() {
	term.t.Helper()
	last, since := "", time.Now()
	term.awaitThat("stillness", func(screen string) bool {
		if screen != last {
			last, since = screen, time.Now()
		}
		return time.Since(since) > 150*time.Millisecond
	})
}
