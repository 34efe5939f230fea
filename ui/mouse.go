package ui

import (
	"slices"
	"strings"

	"github.com/charmbracelet/bubbles/key"
	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/x/ansi"

	"github.com/dlxtop/dlxtop/ui/shell"
)

// wheelRows is how far one notch of the wheel goes in a list.
const wheelRows = 3

// tabRow is the line of the terminal that names the tabs.
const tabRow = 1

// handleMouse takes the wheel and clicks with the left button.
func (a app) handleMouse(msg tea.MouseMsg) (app, tea.Cmd) {
	if !a.env.Mouse || a.tooSmall() || a.palette.open {
		return a, nil
	}
	switch {
	case msg.Button == tea.MouseButtonWheelUp:
		return a.wheel(tea.KeyUp)
	case msg.Button == tea.MouseButtonWheelDown:
		return a.wheel(tea.KeyDown)
	case msg.Action != tea.MouseActionPress || msg.Button != tea.MouseButtonLeft:
		return a, nil
	case msg.Y == a.height-1, a.top().Typing():
		return a.clickHint(msg.X, msg.Y)
	case msg.Y == tabRow:
		if i, ok := a.tabAt(msg.X); ok {
			a.notice = shell.NoticeMsg{}
			return a.show(i)
		}
		return a, nil
	}
	return a.click(msg.X, msg.Y-aboveScreen)
}

// clickHint presses the key that a line names where it was clicked on, as "key does". What is agreed to, and what has a
// cost, is not clicked on: a hand on a mouse slips.
func (a app) clickHint(x, y int) (app, tea.Cmd) {
	lines := strings.Split(ansi.Strip(a.View()), "\n")
	if y >= len(lines) {
		return a, nil
	}
	k := a.env.Keys
	_, rows := a.top().(shell.Clickable) // enter opens one; elsewhere it agrees
	opens := rows && !a.top().Typing()
	for _, b := range slices.Concat(a.top().Keys(), []key.Binding{k.Quit, k.Help, k.Palette}) {
		if !b.Enabled() || !hintAt(lines[y], b, x) || sharesKey(b, k.Insist) || !opens && sharesKey(b, k.Confirm) {
			continue
		}
		if press, ok := shell.PressOf(b.Keys()[0]); ok {
			return a.handleKey(press)
		}
	}
	return a, nil
}

// hintAt reports whether a line names a binding in a column. What a key does may be told in other words there: up to
// the next gap of two.
func hintAt(line string, b key.Binding, x int) bool {
	for from := 0; ; {
		i := strings.Index(line[from:], b.Help().Key+" ")
		if i < 0 {
			return false
		}
		at := from + i
		text, _, _ := strings.Cut(line[at:], "  ")
		from = at + len(b.Help().Key)
		left := ansi.StringWidthWc(line[:at])
		if (at == 0 || line[at-1] == ' ') && x >= left && x < left+ansi.StringWidthWc(text) {
			return true
		}
	}
}

// sharesKey reports whether two bindings have a key in common.
func sharesKey(a, b key.Binding) bool {
	return slices.ContainsFunc(a.Keys(), func(name string) bool { return slices.Contains(b.Keys(), name) })
}

// wheel moves in a list or scrolls a text, by the keys that do so.
func (a app) wheel(direction tea.KeyType) (app, tea.Cmd) {
	rows := 1
	if _, list := a.top().(shell.Clickable); list {
		rows = wheelRows
	}
	var cmds []tea.Cmd
	for range rows {
		var cmd tea.Cmd
		a, cmd = a.toScreen(tea.KeyMsg{Type: direction})
		cmds = append(cmds, cmd)
	}
	return a, tea.Batch(cmds...)
}

// click puts the cursor on a row of the screen, and opens it when a click had put it there.
func (a app) click(x, y int) (app, tea.Cmd) {
	_, ok := a.top().(shell.Clickable)
	if !ok || y < 0 || y >= a.height-aboveScreen-len(a.below()) || a.latest.Topology == nil {
		return a, nil
	}
	a, cmd := a.toScreen(shell.ClickMsg{X: x, Y: y})
	if a.top().(shell.Clickable).Clicked() {
		return a.toScreen(tea.KeyMsg{Type: tea.KeyEnter})
	}
	return a, cmd
}

// tabAt is the tab whose name is drawn in a column of the tab line.
func (a app) tabAt(x int) (i int, ok bool) {
	column := 0
	for i := range a.tabs {
		name, count, _ := a.tabLabel(i)
		wide := ansi.StringWidthWc(name+count) + 3
		if x > column && x < column+wide {
			return i, true
		}
		column += wide
	}
	return 0, false
}

// withMouse takes the mouse again when a program that had the terminal is over: Bubble Tea 1.3.10 does not.
func (a app) withMouse(over func(error) tea.Msg) func(error) tea.Msg {
	if !a.env.Mouse {
		return over
	}
	return func(err error) tea.Msg {
		return tea.BatchMsg{tea.EnableMouseCellMotion, func() tea.Msg { return over(err) }}
	}
}
