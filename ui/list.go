package ui

import (
	"strings"

	"github.com/charmbracelet/bubbles/key"
	tea "github.com/charmbracelet/bubbletea"

	"dlxtop/model"
)

// list is a table with a filter over plain text: what the screens of names have in common.
type list[K comparable, T any] struct {
	env    *env
	table  table[K, T]
	filter filterField
	texts  func(T) []string // what the filter looks at
}

func newList[K comparable, T any](e *env, t table[K, T], texts func(T) []string) list[K, T] {
	return list[K, T]{env: e, table: t, filter: newFilterField(e), texts: texts}
}

// handle takes the keys of the filter, of moving and of sorting. It reports whether the key was one of them.
func (l *list[K, T]) handle(msg tea.KeyMsg) bool {
	k := l.env.keys
	switch {
	case l.filter.typing:
		l.filter.handle(msg)
		l.apply()
	case is(msg, k.Filter):
		l.filter.open()
	case is(msg, k.Abandon) && l.filter.text() != "":
		l.filter.clear()
		l.apply()
	default:
		return l.table.motion(msg)
	}
	return true
}

func (l *list[K, T]) apply() {
	needle := strings.ToLower(strings.TrimSpace(l.filter.text()))
	if needle == "" {
		l.table.narrow(nil)
		return
	}
	texts := l.texts
	l.table.narrow(func(item T) bool { return containsFold(needle, texts(item)...) })
}

// bindings are the list's own keys, after those of its screen.
func (l *list[K, T]) bindings(own ...key.Binding) []key.Binding {
	k := l.env.keys
	if l.filter.typing {
		return []key.Binding{k.Accept, k.Abandon}
	}
	if l.filter.text() != "" {
		own = append(own, describe(k.Abandon, "clear the filter"))
	}
	return append(own, k.Filter, describe(k.Sort, "sort"), describe(k.Reverse, "reverse"))
}

// rows are the lines that the list takes of a height when a pane below it needs at least so many. A short list leaves the pane
// more; what the filter hides does not change that, or the picture would jump while one types.
func (l *list[K, T]) rows(height, pane int) int { return min(len(l.table.all)+2, height-pane) }

// view draws the table, and below it the filter when there is one. empty is shown instead of no rows.
func (l *list[K, T]) view(width, height int, empty []string) string {
	rows := height
	if l.filter.visible() {
		rows--
	}
	s := l.env.styles
	var picture string
	switch {
	case len(l.table.all) == 0:
		picture = block(empty, width, rows)
	case len(l.table.shown) == 0:
		picture = block([]string{"", "   " + s.Muted.Render("nothing matches")}, width, rows)
	default:
		picture = l.table.view(width, rows)
	}
	if l.filter.visible() {
		found := model.Count(int64(len(l.table.shown))) + " of " + model.Count(int64(len(l.table.all)))
		picture += "\n" + l.filter.view(s, width, found)
	}
	return picture
}

// aimless is the pane below the list when there is nothing at the cursor to tell about.
func (l *list[K, T]) aimless(what string, width int) []string {
	s := l.env.styles
	lines := []string{partition(s, "", l.table.position(), width)}
	if len(l.table.shown) > 0 {
		lines = append(lines, "   "+s.Muted.Render("no "+what+" at the cursor: move it"))
	}
	return lines
}
