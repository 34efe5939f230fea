package ui

import (
	"fmt"
	"strings"
	"sync"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/x/vt"
)

// glass is the emulator behind a lock of its own: vt.SafeEmulator hands out its cells unlocked.
type glass struct {
	mu       sync.Mutex
	emulator *vt.Emulator
	drawn    string // what stands on it
	stale    bool   // it was written to since
	title    string
}

func newGlass(width, height int) *glass {
	g := &glass{emulator: vt.NewEmulator(width, height), stale: true}
	g.emulator.SetCallbacks(vt.Callbacks{Title: func(title string) { g.title = title }}) // while it is written to
	return g
}

func (g *glass) Write(p []byte) (int, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.stale = true
	return g.emulator.Write(p)
}

func (g *glass) resize(width, height int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.stale = true
	g.emulator.Resize(width, height)
}

// text is what stands on it. Who waits asks often, and it changes seldom.
func (g *glass) text() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.stale {
		return g.drawn
	}
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
	g.drawn, g.stale = strings.Join(lines, "\n")+"\n", false
	return g.drawn
}

// cursor is where the terminal's own is.
func (g *glass) cursor() (x, y int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	at := g.emulator.CursorPosition()
	return at.X, at.Y
}

// mark is the latest that was drawn.
func (g *glass) mark() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.title
}

// keyMark is a key that dlxtop does not know.
const keyMark = "\x1b[34~"

// marked is the program's model. When it gets keyMark, everything that was pressed before has been handled: then it
// puts a title that nobody sees behind the last line, with the number of marks until now.
type marked struct {
	tea.Model
	marks int
}

func (m marked) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.KeyMsg:
		if msg.Type == tea.KeyF20 {
			m.marks++
			return m, nil
		}
	case inside:
		msg(m.Model.(app))
		return m, nil
	}
	var command tea.Cmd
	m.Model, command = m.Model.Update(msg)
	return m, command
}

func (m marked) View() string {
	if m.marks == 0 {
		return m.Model.View()
	}
	return m.Model.View() + fmt.Sprintf("\x1b]2;%s\x07", markOf(m.marks))
}

// inside reads the program between two messages.
type inside func(a app)

// awaitInside waits until the program is in a state that the screen does not show.
func (term *terminal) awaitInside(what string, wanted func(a app) bool) {
	term.t.Helper()
	term.awaitThat(what, func(string) bool {
		answer := make(chan bool, 1)
		term.program.Send(inside(func(a app) { answer <- wanted(a) }))
		select {
		case is := <-answer:
			return is
		case <-term.ended:
			return false
		}
	})
}

func markOf(n int) string { return fmt.Sprint("mark ", n) }

// settle waits until everything that was pressed so far has been handled and drawn. What a command answers later may
// still come.
func (term *terminal) settle() {
	term.t.Helper()
	term.marks++
	term.press(keyMark)
	term.awaitThat("the mark behind the keys", func(string) bool { return term.glass.mark() == markOf(term.marks) })
}
