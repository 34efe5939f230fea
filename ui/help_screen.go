package ui

import (
	"cmp"

	"github.com/charmbracelet/bubbles/key"
	tea "github.com/charmbracelet/bubbletea"

	"github.com/dlxtop/dlxtop/ui/shell"
	"github.com/dlxtop/dlxtop/ui/term"
)

// helpScreen lists the keys that do something on the screen it was opened from.
type helpScreen struct {
	env  *shell.Env
	list term.List[int, helpRow]
}

type helpRow struct {
	place int
	where string
	help  key.Help
}

func newHelpScreen(e *shell.Env, of shell.Screen) shell.Screen {
	if h, ok := of.(helpScreen); ok {
		return h
	}
	k := e.Keys
	shared := []key.Binding{term.Binding("1 … 5", "flows … journal", "1")}
	for _, b := range everywhere(k)[len(k.Screens):] {
		shared = append(shared, b.binding)
	}
	var rows []helpRow
	for _, group := range []struct {
		where    string
		bindings []key.Binding
	}{
		{of.Title(), of.Keys()},
		{"moving", k.Motions()},
		{"everywhere", shared},
	} {
		for _, b := range group.bindings {
			if b.Enabled() {
				rows = append(rows, helpRow{len(rows), group.where, b.Help()})
			}
		}
	}
	byPlace := func(a, b helpRow) int { return cmp.Compare(a.place, b.place) }
	s := e.Styles
	table := term.NewTable(e.Kit(), func(r helpRow) int { return r.place }, byPlace,
		term.Column[helpRow]{
			Title: "KEY", Width: 12, Compare: byPlace,
			Cell: func(r helpRow) term.Field { return term.Field{Text: r.help.Key, Style: s.Accent} },
		},
		term.Column[helpRow]{
			Title: "WHAT IT DOES", Width: 20, Flex: 1, Max: 40,
			Cell: func(r helpRow) term.Field { return term.Field{Text: r.help.Desc, Style: s.Text} },
		},
		term.Column[helpRow]{
			Title: "WHERE", Width: 12, Flex: 1,
			Cell: func(r helpRow) term.Field { return term.Field{Text: r.where, Style: s.Muted} },
		})
	table.Set(rows)
	texts := func(r helpRow) []string { return []string{r.help.Key, r.help.Desc, r.where} }
	return helpScreen{e, term.NewList(table, texts)}
}

func (h helpScreen) Update(msg tea.Msg) (shell.Screen, tea.Cmd) {
	if msg, ok := msg.(tea.KeyMsg); ok && !h.list.Handle(msg) && term.Is(msg, h.env.Keys.Help) {
		return h, shell.Pop
	}
	return h, nil
}

func (h helpScreen) Title() string { return "help" }

func (h helpScreen) Typing() bool { return h.list.Filter.Typing }

// Keys makes a second "?" close the help.
func (h helpScreen) Keys() []key.Binding {
	return h.list.Bindings(term.Describe(h.env.Keys.Help, "close"))
}

func (h helpScreen) View(width, height int) string {
	s := h.env.Styles
	marks := "   " + s.Danger.Render(term.MarkError) + " lost or will be   " +
		s.Warning.Render(term.MarkWarning) + " risky   " +
		s.Accent.Render(term.MarkCursor) + " cursor   " + s.Chosen.Render(term.MarkChosen) + " selected   " +
		s.Muted.Render("?") + " not known"
	list := h.list.View(width, height-2, nil) // first: it fits the rows to the height
	more := term.Partition(s, "", h.list.Table.Position(), width)
	return list + "\n" + term.Block([]string{more, term.Cut(marks, width, "…")}, width, 2)
}
