package term

import (
	"cmp"
	"reflect"
	"slices"
	"strings"

	"github.com/charmbracelet/bubbles/key"
	tea "github.com/charmbracelet/bubbletea"

	"github.com/dlxtop/dlxtop/model"
)

// List adds a filter by plain text to a table, for the screens of names.
type List[K comparable, T any] struct {
	Table  Table[K, T]
	Filter FilterField
	about  bool             // on a plain screen: the pane has the room, not the rows
	texts  func(T) []string // what the filter looks at
}

func NewList[K comparable, T any](t Table[K, T], texts func(T) []string) List[K, T] {
	return List[K, T]{Table: t, Filter: NewFilterField(t.Keys), texts: texts}
}

// Handle handles the keys for filtering, moving and sorting. It reports whether the key was one of them.
func (l *List[K, T]) Handle(msg tea.KeyMsg) bool {
	if l.Filter.Typing {
		l.Filter.Handle(msg)
		l.apply()
		return true
	}

	if l.Table.Motion(msg) {
		return true
	}
	_, pressed := Press(l.Keys(), msg)
	return pressed
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
func (l *List[K, T]) Keys(own ...Key) []Key {
	k := l.Table.Keys
	if l.Filter.Typing {
		return l.Filter.TypingKeys()
	}

	step := func(by int) func() { return func() { l.Table.Step(by) } }
	filtered := l.Filter.Text() != ""

	own = append(own,
		On(k.NextMatch, "the next row that matches the filter; from the last one to the first", step(1)).When(filtered),
		On(k.PrevMatch, "the row before", step(-1)).When(filtered),
		On(k.Abandon, "clear the filter", l.clear).As("clear the filter").When(filtered),
		On(k.About, "more of this row, and back", func() { l.about = !l.about }).When(l.Table.Styles.Plain),
		On(k.Filter, "filter: plain text; on messages also `=` and an expression", l.Filter.Open))

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
	case !l.Table.Styles.Plain:
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

	s := l.Table.Styles
	var picture string
	switch {
	case len(l.Table.All) == 0:
		picture = Block(empty, width, rows)
	case len(l.Table.Shown) == 0:
		picture = Block([]string{"", "   " + s.Muted.Render("nothing matches")}, width, rows)
	default:
		picture = l.Table.View(width, rows)
	}

	if l.Filter.Visible() {
		found := model.Count(len(l.Table.Shown)) + " of " + model.Count(len(l.Table.All))
		picture += "\n" + l.Filter.View(s, width, found)
	}

	return picture
}

// Aimless draws the pane below the list when the cursor is on nothing.
func (l *List[K, T]) Aimless(what string, width int) []string {
	s := l.Table.Styles
	lines := []string{Partition(s, "", l.Table.Position(), width)}
	if len(l.Table.Shown) > 0 {
		lines = append(lines, "   "+s.Muted.Render("no "+what+" at the cursor: move it"))
	}
	return lines
}

// ListKeys move in a list, filter, sort and select.
type ListKeys struct {
	Up       key.Binding `keys:"up,k" named:"↑ k" does:"up"`
	Down     key.Binding `keys:"down,j" named:"↓ j" does:"down"`
	Top      key.Binding `keys:"g,home" does:"first"`
	Bottom   key.Binding `keys:"G,end" does:"last"`
	HalfUp   key.Binding `keys:"ctrl+u" does:"half page up"`
	HalfDown key.Binding `keys:"ctrl+d" does:"half page down"`
	PageUp   key.Binding `keys:"pgup,ctrl+b" does:"page up"`
	PageDown key.Binding `keys:"pgdown,ctrl+f" named:"pgdn" does:"page down"`

	Filter    key.Binding `keys:"/" does:"filter"`
	NextMatch key.Binding `keys:"n" does:"next match"`
	PrevMatch key.Binding `keys:"N" does:"previous match"`
	Sort      key.Binding `keys:"s" does:"sort"`
	Reverse   key.Binding `keys:"S" does:"reverse"`
	Choose    key.Binding `keys:" " does:"select"`
	Range     key.Binding `keys:"v" does:"select a range"`
	ChooseAll key.Binding `keys:"*" does:"select all shown"`
	About     key.Binding `keys:"z" does:"more of this row, and back"` // with --plain

	// While the filter is typed.
	Accept  key.Binding `keys:"enter" does:"keep"`
	Abandon key.Binding `keys:"esc" does:"clear"`
}

// Bind makes the bindings of a key map by the tags of its fields: the keys, what they do, and their name if it is not
// that of the first.
func Bind(keys any) {
	fields := reflect.ValueOf(keys).Elem()
	for i := range fields.NumField() {
		if b, ok := fields.Field(i).Addr().Interface().(*key.Binding); ok {
			tag := fields.Type().Field(i).Tag
			*b = Binding(tag.Get("does"), strings.Split(tag.Get("keys"), ",")...)
			b.SetHelp(cmp.Or(tag.Get("named"), b.Help().Key), b.Help().Desc)
		}
	}
}

// Binding makes a binding of keys, named by the first of them, with what they do for the help.
func Binding(what string, keys ...string) key.Binding {
	return key.NewBinding(key.WithKeys(keys...), key.WithHelp(KeyName(keys[0]), what))
}

// KeyName returns how a key is written, by Bubble Tea's name for it.
func KeyName(pressed string) string {
	signs := []string{"up", "↑", "down", "↓", "left", "←", "right", "→", " ", "space", "+", "+"}
	if i := slices.Index(signs, pressed); i >= 0 && i%2 == 0 {
		return signs[i+1]
	}
	return strings.ReplaceAll(pressed, "+", "-")
}

type Kit struct {
	Styles *Styles
	Keys   *ListKeys
}

// Describe gives a binding another description, for a screen where it does something particular.
func Describe(b key.Binding, what string) key.Binding {
	b.SetHelp(b.Help().Key, what)
	return b
}

// Is reports whether a key press is one of a binding's keys.
func Is(msg tea.KeyMsg, b key.Binding) bool { return key.Matches(msg, b) }

// Motions returns the keys that move the cursor, in the order of the steps in Step.
func (k *ListKeys) Motions() []key.Binding {
	return []key.Binding{k.Up, k.Down, k.Top, k.Bottom, k.HalfUp, k.HalfDown, k.PageUp, k.PageDown}
}

// Step returns how many rows a key moves when a page has this many, far beyond the ends for the first and the last row;
// ok is false when it is none of the motions.
func (k *ListKeys) Step(msg tea.KeyMsg, page int) (rows int, ok bool) {
	const far = 1 << 30
	page, half := max(1, page), max(1, page/2)
	steps := [...]int{-1, 1, -far, far, -half, half, -page, page} // in the order of Motions
	i := slices.IndexFunc(k.Motions(), func(b key.Binding) bool { return Is(msg, b) })
	if i < 0 {
		return 0, false
	}

	return steps[i], true
}
