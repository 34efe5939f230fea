package term

import (
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/ui/press"
)

// List adds a filter by plain text to a table, for the screens of names.
type List[K comparable, T any] struct {
	Table  Table[K, T]
	Filter FilterField
	about  bool             // on a plain screen: the pane has the room, not the rows
	texts  func(T) []string // what the filter looks at
}

func NewList[K comparable, T any](t Table[K, T], texts func(T) []string) List[K, T] {
	return List[K, T]{Table: t, Filter: NewFilterField(), texts: texts}
}

// Press handles a key: of the filter, one that moves or sorts, or one of those of its screen.
func (l *List[K, T]) Press(msg tea.KeyMsg, own []Key) (cmd tea.Cmd) {
	switch {
	case l.Filter.Typing:
		l.Filter.Handle(msg)
		l.apply()
	case !l.Table.Motion(msg):
		cmd, _ = Press(l.Keys(own), msg)
	}

	return cmd
}

func (l *List[K, T]) apply() {
	needle := strings.ToLower(strings.TrimSpace(l.Filter.Text()))
	if needle == "" {
		l.Table.Narrow(nil)
		return
	}
	texts := l.texts
	l.Table.Narrow(func(item T) bool { return ContainsFold(needle, texts(item)...) })
}

// Keys adds the list's own keys to those of its screen.
func (l *List[K, T]) Keys(own []Key) []Key {
	if l.Filter.Typing {
		return l.Filter.TypingKeys()
	}

	step := func(by int) func() { return func() { l.Table.Step(by) } }
	filtered := l.Filter.Text() != ""

	own = append(own,
		On(press.NextMatch, "the next row that matches the filter; from the last one to the first", step(1)).When(filtered),
		On(press.PrevMatch, "the row before", step(-1)).When(filtered),
		On(press.Abandon, "clear the filter", l.clear).As("clear the filter").When(filtered),
		On(press.About, "more of this row, and back", func() { l.about = !l.about }).When(l.Table.Plain),
		On(press.Filter, "filter: plain text; on messages also `=` and an expression", l.Filter.Open))

	return append(own, l.Table.Sorting()...)
}

func (l *List[K, T]) clear() {
	l.Filter.Clear()
	l.apply()
}

// Rows returns how many lines of a height the list needs when the pane below has at least pane lines. A short list
// leaves more to the pane; hidden rows still count, so that the picture does not jump while a filter is typed.
func (l *List[K, T]) Rows(height, pane int) int {
	return l.Share(height, min(len(l.Table.All)+2, height-pane))
}

// Share returns how many lines a list with this many rows has beside its pane. On a plain screen they take turns:
// otherwise everything below would follow each step in the list.
func (l *List[K, T]) Share(height, rows int) int {
	switch {
	case !l.Table.Plain:
		return rows
	case l.about:
		return 1
	}

	return height
}

func (l *List[K, T]) Seen(height int) []T {
	if l.Filter.Visible() {
		height--
	}
	return l.Table.Seen(height)
}

// View draws the table, and the filter below it if there is one. empty is shown when there are no rows.
func (l *List[K, T]) View(width, height int, empty []string) string {
	rows := height
	if l.Filter.Visible() {
		rows--
	}

	var picture string
	switch {
	case len(l.Table.All) == 0:
		picture = Block(empty, width, rows)
	case len(l.Table.Shown) == 0:
		picture = Block([]string{"", "   " + Muted.Render("nothing matches")}, width, rows)
	default:
		picture = l.Table.View(width, rows)
	}

	if l.Filter.Visible() {
		found := model.Sayf("%v of %v", len(l.Table.Shown), len(l.Table.All))
		picture += "\n" + l.Filter.View(width, found)
	}

	return picture
}

// Aimless draws the pane below the list when the cursor is on nothing.
func (l *List[K, T]) Aimless(what string, width int) []string {
	lines := []string{Partition("", l.Table.Position(), width)}
	if len(l.Table.Shown) > 0 {
		lines = append(lines, "   "+Muted.Render("no "+what+" at the cursor: move it"))
	}
	return lines
}
