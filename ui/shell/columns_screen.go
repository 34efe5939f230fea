package shell

import (
	"slices"

	"github.com/charmbracelet/bubbles/key"
	tea "github.com/charmbracelet/bubbletea"

	"github.com/dlxtop/dlxtop/ui/term"
)

// Columned is a list screen whose columns can be hidden.
type Columned interface {
	Screen
	// Columns are the titles of the columns that can be hidden, and of those that are.
	Columns() (titles, hidden []string)
	// Listed draws only the list.
	Listed(width, height int) string
}

// ColumnsScreen hides and shows the columns of the list below it, which stays visible.
type ColumnsScreen struct {
	Env    *Env
	List   Columned
	Titles []string
	Hidden []string
	at     int
}

func (c ColumnsScreen) Title() string { return "columns" }

func (c ColumnsScreen) Typing() bool { return false }

func (c ColumnsScreen) Keys() []key.Binding {
	k := c.Env.Keys
	return []key.Binding{
		term.Describe(k.Choose, "hide or show"), term.Describe(k.ChooseAll, "show all"), k.Up, k.Down,
		term.Describe(k.Back, "done"),
	}
}

func (c ColumnsScreen) Update(msg tea.Msg) (Screen, tea.Cmd) {
	switch msg := msg.(type) {
	case TopologyMsg, HideMsg:
		next, _ := c.List.Update(msg) // its commands concern the screen itself, which gets this message, too
		c.List = next.(Columned)
	case tea.KeyMsg:
		return c.handleKey(msg)
	}
	return c, nil
}

func (c ColumnsScreen) handleKey(msg tea.KeyMsg) (Screen, tea.Cmd) {
	k := c.Env.Keys
	hidden := slices.Clone(c.Hidden)
	switch {
	case term.Is(msg, k.Back):
		return c, Pop
	case term.Is(msg, k.Up):
		c.at = max(c.at-1, 0)
		return c, nil
	case term.Is(msg, k.Down):
		c.at = min(c.at+1, len(c.Titles)-1)
		return c, nil
	case term.Is(msg, k.ChooseAll):
		hidden = nil
	case term.Is(msg, k.Choose), term.Is(msg, k.Open):
		title := c.Titles[c.at]
		if i := slices.Index(hidden, title); i >= 0 {
			hidden = slices.Delete(hidden, i, i+1)
		} else {
			hidden = append(hidden, title)
		}
	default:
		return c, nil
	}
	c.Hidden = hidden
	name := c.List.Title()
	return c, func() tea.Msg { return HideMsg{name, hidden} }
}

func (c ColumnsScreen) View(width, height int) string {
	s := c.Env.Styles
	how := "until dlxtop ends"
	if c.Env.Choices != nil {
		how = "kept for the next start"
	}
	lines := []string{term.Partition(s, "columns of "+c.List.Title(), how, width)}
	for i, title := range c.Titles {
		mark, box, look := "  ", "[x] ", s.Text
		if slices.Contains(c.Hidden, title) {
			box, look = "[ ] ", s.Muted
		}
		if i == c.at {
			mark = s.Accent.Render(term.MarkCursor) + " "
		}
		lines = append(lines, " "+mark+look.Render(box+title))
	}
	rows := max(height-len(lines), 2)
	return c.List.Listed(width, rows) + "\n" + term.Block(lines, width, height-rows)
}
