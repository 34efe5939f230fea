package shell

import (
	tea "github.com/charmbracelet/bubbletea"

	"github.com/dlxtop/dlxtop/ui/term"
)

// Listing is what screens with a single list share: a screen embeds it, and passes it messages first.
type Listing[K comparable, T any] struct {
	term.List[K, T]
	Env    *Env
	Latest TopologyMsg // the newest poll; zero before the first, and while the screen rests
	Hides  bool        // its columns can be hidden
	Above  int         // lines of the screen above the list
	again  bool        // the last click was on the cursor's row, after another click on it
	name   string
}

func NewListing[K comparable, T any](
	e *Env, name string, identity func(T) K, natural func(a, b T) int, texts func(T) []string,
	cells func(T) []any, columns []term.Column,
) Listing[K, T] {
	rows := term.NewTable(e.Kit(), identity, natural, cells, columns)
	return Listing[K, T]{List: term.NewList(rows, texts), Env: e, name: name}
}

type (
	// ClickMsg puts the cursor on the row that was drawn there; coordinates are relative to the screen.
	ClickMsg struct{ X, Y int }
	// RestMsg makes a hidden screen release its poll: the next one is complete again, and comes before the screen is seen.
	// On a large broker a poll is tens of megabytes.
	RestMsg struct{}
)

// Handle handles what concerns only the list, and applies polls. It reports whether nothing else is to be done.
func (l *Listing[K, T]) Handle(msg tea.Msg) bool {
	switch msg := msg.(type) {
	case TopologyMsg:
		l.Latest = msg
		return false
	case RestMsg:
		l.Latest = TopologyMsg{}
		return false
	case HideMsg:
		if msg.Screen == l.name {
			l.Table.Hide(msg.Titles)
		}
		return true
	case ClickMsg:
		l.again = l.Table.Click(msg.X, msg.Y-l.Above)
		return true
	case tea.KeyMsg:
		return l.List.Handle(msg)
	}

	return false
}

func (l Listing[K, T]) Title() string { return l.name }

func (l Listing[K, T]) Typing() bool { return l.Filter.Typing }

// List is a Listing with any type of rows.
type List interface {
	Title() string
	Typing() bool
	Handle(msg tea.Msg) bool
	Clicked() bool
	Columns() (titles, hidden []string)
	Listed(width, height int) string
}

// Pane returns the pane below the list about the row at the cursor: tell fills the lines, and returns the row's name.
func (l *Listing[K, T]) Pane(what string, width int, tell func(row T, lines *DialogLines) (name string)) []string {
	r, ok := l.Table.Current()
	if !ok {
		return l.Aimless(what, width)
	}
	lines := NewPaneLines(l.Env.Styles, width)
	name := tell(r, lines)
	return append([]string{term.Partition(l.Env.Styles, name, l.Table.Position(), width)}, lines.Indented()...)
}

// Rests marks it as a screen that handles RestMsg.
func (l Listing[K, T]) Rests() {}

func (l Listing[K, T]) Clicked() bool { return l.again }

func (l Listing[K, T]) Columns() (titles, hidden []string) {
	if !l.Hides {
		return nil, nil
	}
	return l.Table.Hideable()
}

func (l Listing[K, T]) Listed(width, height int) string { return l.List.View(width, height, nil) }
