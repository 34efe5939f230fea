package shell

import (
	"slices"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/dlxtop/dlxtop/ui/press"
	"github.com/dlxtop/dlxtop/ui/term"
)

// Columned is a list screen whose columns can be hidden.
type Columned interface {
	Screen
	// Columns are the titles of the columns that can be hidden, and of those that are, of the list with that name.
	Columns() (list string, titles, hidden []string)
	// Listed draws only the list.
	Listed(width, height int) string
}

// ColumnsScreen hides and shows the columns of the list below it, which stays visible.
type ColumnsScreen struct {
	Env    *Env
	List   Columned
	Name   string
	Titles []string
	Hidden []string
	at     int
}

func (c *ColumnsScreen) Title() string { return "columns" }

func (c *ColumnsScreen) Typing() bool { return false }

func (c *ColumnsScreen) Keys() []term.Key {
	move := func(by int) func() { return func() { c.at = min(max(c.at+by, 0), len(c.Titles)-1) } }

	return []term.Key{
		term.On(press.Choose, "", c.turn).As("hide or show"),
		term.On(press.Open, "", c.turn).Shown(false),
		term.On(press.ChooseAll, "", func() tea.Cmd { return c.hide(nil) }).As("show all"),
		term.On(press.Up, "", move(-1)),
		term.On(press.Down, "", move(1)),
		term.On(press.Back, "", Pop).As("done"),
	}
}

func (c *ColumnsScreen) Update(msg tea.Msg) (cmd tea.Cmd) {
	if msg, ok := msg.(tea.KeyMsg); ok {
		cmd, _ = term.Press(c.Keys(), msg)
	}
	return cmd
}

func (c *ColumnsScreen) turn() tea.Cmd {
	title, hidden := c.Titles[c.at], slices.Clone(c.Hidden)
	if i := slices.Index(hidden, title); i >= 0 {
		return c.hide(slices.Delete(hidden, i, i+1))
	}
	return c.hide(append(hidden, title))
}

func (c *ColumnsScreen) hide(titles []string) tea.Cmd {
	c.Hidden = titles
	return func() tea.Msg { return HideMsg{c.Name, titles} }
}

func (c *ColumnsScreen) View(width, height int) string {
	how := "until dlxtop ends"
	if c.Env.Preferences != nil {
		how = "kept for the next start"
	}

	lines := []string{term.Partition("columns of "+c.Name, how, width)}
	for i, title := range c.Titles {
		mark := "  "
		box := "[x] "
		look := term.Text
		if slices.Contains(c.Hidden, title) {
			box, look = "[ ] ", term.Muted
		}
		if i == c.at {
			mark = term.Accent.Render(term.MarkCursor) + " "
		}
		lines = append(lines, " "+mark+look.Render(box+title))
	}

	rows := max(height-len(lines), 2)
	return c.List.Listed(width, rows) + "\n" + term.Block(lines, width, height-rows)
}
