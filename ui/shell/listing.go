package shell

import (
	tea "github.com/charmbracelet/bubbletea"

	"github.com/dlxtop/dlxtop/ui/term"
)

// Listing is what screens with a single list share: it is embedded in a screen, which passes it messages.
type Listing[K comparable, T any] struct {
	term.List[K, T]
	Env    *Env
	Own    func() []term.Key     // the keys of the screen, before those of the list
	Polled func(TopologyMsg) []T // the rows of a poll; nil: they come in another way, and stay while the screen rests
	Latest TopologyMsg           // the newest poll; zero before the first, and while the screen rests
	Hides  bool                  // its columns can be hidden
	Above  int                   // lines of the screen above the list
	again  bool                  // the last click was on the cursor's row, after another click on it
	name   string
}

func NewListing[K comparable, T any](
	e *Env, name string, identity func(T) K, natural func(a, b T) int, texts func(T) []string,
	cells func(T) []any, columns []term.Column,
) Listing[K, T] {
	rows := term.NewTable(e.Plain, identity, natural, cells, columns)
	return Listing[K, T]{List: term.NewList(rows, texts), Env: e, name: name}
}

type (
	// ClickMsg puts the cursor on the row that was drawn there; coordinates are relative to the screen.
	ClickMsg struct{ X, Y int }
	// RestMsg makes a hidden screen release its poll: the next one is complete again, and comes before the screen is seen.
	// On a large broker a poll is tens of megabytes.
	RestMsg struct{}
)

func (l *Listing[K, T]) Update(msg tea.Msg) (cmd tea.Cmd) {
	switch msg := msg.(type) {
	case TopologyMsg:
		if l.Latest = msg; l.Polled != nil {
			l.Table.Set(l.Polled(msg))
		}
	case RestMsg:
		if l.Latest = (TopologyMsg{}); l.Polled != nil {
			l.Table.Rest()
		}
	case HideMsg:
		if msg.Screen == l.name {
			l.Table.Hide(msg.Titles)
		}
	case ClickMsg:
		l.again = l.Table.Click(msg.X, msg.Y-l.Above)
	case tea.KeyMsg:
		cmd = l.Press(msg, l.Own())
	}

	return cmd
}

func (l *Listing[K, T]) Keys() []term.Key { return l.List.Keys(l.Own()) }

func (l *Listing[K, T]) Title() string { return l.name }

func (l *Listing[K, T]) Typing() bool { return l.Filter.Typing }

// List is a Listing with any type of rows.
type List interface {
	Title() string
	Typing() bool
	Keys() []term.Key
	Update(msg tea.Msg) tea.Cmd
	Clicked() bool
	Columns() (list string, titles, hidden []string)
	Listed(width, height int) string
}

// Pane returns the pane below the list about the row at the cursor: tell fills the lines, and returns the row's name.
func (l *Listing[K, T]) Pane(what string, width int, tell func(row T, lines *DialogLines) (name string)) []string {
	r, ok := l.Table.Current()
	if !ok {
		return l.Aimless(what, width)
	}
	lines := NewPaneLines(width)
	name := tell(r, lines)
	return append([]string{term.Partition(name, l.Table.Position(), width)}, lines.Indented()...)
}

// Rests marks it as a screen that handles RestMsg.
func (l *Listing[K, T]) Rests() {}

func (l *Listing[K, T]) Clicked() bool { return l.again }

func (l *Listing[K, T]) Columns() (list string, titles, hidden []string) {
	if l.Hides {
		titles, hidden = l.Table.Hideable()
	}
	return l.name, titles, hidden
}

func (l *Listing[K, T]) Listed(width, height int) string { return l.List.View(width, height, nil) }
