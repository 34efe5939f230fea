package ui

import (
	"slices"

	"github.com/charmbracelet/bubbles/key"
	tea "github.com/charmbracelet/bubbletea"

	"github.com/dlxtop/dlxtop/ui/term"
)

// columned is a list screen whose columns can be hidden.
type columned interface {
	screen
	// Columns are the titles of those that can be, and of those that are.
	Columns() (titles, hidden []string)
	// List draws the list alone.
	List(width, height int) string
}

// columnsScreen hides and shows the columns of the list below it, which is seen meanwhile.
type columnsScreen struct {
	env    *env
	list   columned
	titles []string
	hidden []string
	at     int
}

func (c columnsScreen) Init() tea.Cmd { return nil }

func (c columnsScreen) Title() string { return "columns" }

func (c columnsScreen) Typing() bool { return false }

// Keys are those of a list of switches.
func (c columnsScreen) Keys() []key.Binding {
	k := c.env.keys
	return []key.Binding{
		term.Describe(k.Choose, "hide or show"), term.Describe(k.ChooseAll, "show all"), k.Up, k.Down,
		term.Describe(k.Back, "done"),
	}
}

func (c columnsScreen) Update(msg tea.Msg) (screen, tea.Cmd) {
	switch msg := msg.(type) {
	case topologyMsg, hideMsg:
		next, _ := c.list.Update(msg) // what it asks for concerns the screen itself, which gets this, too
		c.list = next.(columned)
	case tea.KeyMsg:
		return c.handleKey(msg)
	}
	return c, nil
}

func (c columnsScreen) handleKey(msg tea.KeyMsg) (screen, tea.Cmd) {
	k := c.env.keys
	hidden := slices.Clone(c.hidden)
	switch {
	case term.Is(msg, k.Back):
		return c, pop
	case term.Is(msg, k.Up):
		c.at = max(c.at-1, 0)
		return c, nil
	case term.Is(msg, k.Down):
		c.at = min(c.at+1, len(c.titles)-1)
		return c, nil
	case term.Is(msg, k.ChooseAll):
		hidden = nil
	case term.Is(msg, k.Choose), term.Is(msg, k.Open):
		title := c.titles[c.at]
		if i := slices.Index(hidden, title); i >= 0 {
			hidden = slices.Delete(hidden, i, i+1)
		} else {
			hidden = append(hidden, title)
		}
	default:
		return c, nil
	}
	c.hidden = hidden
	name := c.list.Title()
	return c, func() tea.Msg { return hideMsg{name, hidden} }
}

func (c columnsScreen) View(width, height int) string {
	s := c.env.styles
	how := "until dlxtop ends"
	if c.env.keeper.file != nil {
		how = "kept for the next start"
	}
	lines := []string{term.Partition(s, "columns of "+c.list.Title(), how, width)}
	for i, title := range c.titles {
		mark, box, look := "  ", "[x] ", s.Text
		if slices.Contains(c.hidden, title) {
			box, look = "[ ] ", s.Muted
		}
		if i == c.at {
			mark = s.Accent.Render(term.MarkCursor) + " "
		}
		lines = append(lines, " "+mark+look.Render(box+title))
	}
	rows := max(height-len(lines), 2)
	return c.list.List(width, rows) + "\n" + term.Block(lines, width, height-rows)
}
