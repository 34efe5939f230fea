package ui

import (
	"slices"
	"strings"

	tea "github.com/charmbracelet/bubbletea"
)

// field is one cell of a table: plain printable text and its look. It is cut by what it shows, never by bytes.
type field struct {
	text  string
	style Style
}

// column says what a table shows of each item, how wide, and how it sorts.
type column[T any] struct {
	title   string
	width   int                // cells; the least, when flex is set
	max     int                // the most that flex may give; 0: no limit
	flex    int                // share of the width that is left over; 0: width is fixed
	drop    int                // on a narrow terminal columns go, the highest drop first; 0 never goes
	right   bool               // numbers stand to the right
	middle  bool               // long texts lose their middle, not their end: names of queues differ at both ends
	cell    func(item T) field // what is shown
	compare func(a, b T) int   // how it sorts; nil: it does not
	most    bool               // the first press sorts the highest to the top
}

// table is a windowed list with a cursor and a selection that follow the identity of items: whatever a refresh reorders, the
// cursor stays on its item, and on its line of the screen. Only the rows that are seen are made.
//
// set brings new data (a poll, a page), narrow a filter, sortBy another order; view draws. An item that vanishes under the
// cursor leaves no cursor, so that a key never hits what was not aimed at: current then reports false until the cursor is moved.
type table[K comparable, T any] struct {
	columns []column[T]
	key     func(T) K
	natural func(a, b T) int // the order when no column is chosen, and between equals
	styles  *Styles
	keys    *keyMap

	all   []T // as set, sorted
	shown []T // of those, what the filter lets through
	match func(T) bool

	sorted  int // column, -1: the natural order
	reverse bool

	at     K    // the cursor's item
	index  int  // where it is, or where it was
	aimed  bool // whether the cursor is on an item
	moved  bool // whether the cursor has ever been on one
	chosen map[K]struct{}
	anchor *K // where the range starts that v is choosing; nil: none

	drawn *frame
}

// frame is what the last view showed: keys like page down, pressed by somebody who looks at it, mean that.
type frame struct {
	top    int // the first row
	height int // how many rows there was room for
}

func newTable[K comparable, T any](e *env, key func(T) K, natural func(a, b T) int, columns ...column[T]) table[K, T] {
	return table[K, T]{
		columns: columns, key: key, natural: natural, styles: e.styles, keys: e.keys,
		sorted: -1, chosen: map[K]struct{}{}, drawn: &frame{},
	}
}

// setColumns replaces the columns. The order stays by the column of the same title.
func (t *table[K, T]) setColumns(columns []column[T]) {
	if t.sorted >= 0 {
		title := t.columns[t.sorted].title
		t.sorted = slices.IndexFunc(columns, func(c column[T]) bool { return c.title == title })
	}
	t.columns = columns
}

// set replaces the items. Cursor, selection and the cursor's line stay.
func (t *table[K, T]) set(items []T) {
	t.all = slices.Clone(items)
	t.order()
	t.filter()
	t.prune()
	if !t.follow() && !t.moved {
		t.moveTo(0)
	}
}

// narrow shows only what matches; nil shows all. It is the operator's own doing, so a cursor whose item is hidden goes to the
// nearest one.
func (t *table[K, T]) narrow(match func(T) bool) {
	t.match = match
	t.filter()
	if !t.follow() && len(t.shown) > 0 {
		t.moveTo(min(t.index, len(t.shown)-1))
	}
}

// sortNext sorts by the next column that sorts, and after the last one in the natural order again.
func (t *table[K, T]) sortNext() {
	for {
		t.sorted++
		if t.sorted >= len(t.columns) {
			t.sorted = -1
		}
		if t.sorted < 0 || t.columns[t.sorted].compare != nil {
			break
		}
	}
	t.reverse = t.sorted >= 0 && t.columns[t.sorted].most
	t.resort()
}

// sortReverse turns the order round.
func (t *table[K, T]) sortReverse() {
	t.reverse = !t.reverse
	t.resort()
}

// resort shows the new order from its top: who sorts wants to see what is first now.
func (t *table[K, T]) resort() {
	t.order()
	t.filter()
	t.moveTo(0)
}

// order sorts all items by the chosen column, equals in the natural order.
func (t *table[K, T]) order() {
	compare := t.natural
	if t.sorted >= 0 {
		by := t.columns[t.sorted].compare
		compare = func(a, b T) int {
			c := by(a, b)
			if t.reverse {
				c = -c
			}
			if c == 0 && t.natural != nil {
				return t.natural(a, b)
			}
			return c
		}
	} else if t.reverse && t.natural != nil {
		compare = func(a, b T) int { return t.natural(b, a) }
	}
	if compare != nil {
		slices.SortStableFunc(t.all, compare)
	}
}

func (t *table[K, T]) filter() {
	if t.match == nil {
		t.shown = t.all
		if t.shown == nil {
			t.shown = []T{}
		}
		return
	}
	t.shown = make([]T, 0, len(t.all))
	for _, item := range t.all {
		if t.match(item) {
			t.shown = append(t.shown, item)
		}
	}
}

// follow finds the cursor's item again, one that had vanished too, and keeps it on its line of the screen. It reports whether the
// item is there.
func (t *table[K, T]) follow() bool {
	if !t.moved {
		return false
	}
	if i := slices.IndexFunc(t.shown, func(item T) bool { return t.key(item) == t.at }); i >= 0 {
		t.drawn.top += i - t.index
		t.index, t.aimed = i, true
		return true
	}
	t.aimed = false
	return false
}

func (t *table[K, T]) moveTo(i int) {
	if len(t.shown) == 0 {
		return
	}
	t.index = max(0, min(i, len(t.shown)-1))
	t.at, t.aimed, t.moved = t.key(t.shown[t.index]), true, true
	if t.anchor != nil {
		t.chooseRange()
	}
}

// current is the item under the cursor.
func (t *table[K, T]) current() (item T, ok bool) {
	if !t.aimed || t.index >= len(t.shown) {
		return item, false
	}
	return t.shown[t.index], true
}

// motion handles the keys that move the cursor and those that sort. It reports whether the key was one of them.
func (t *table[K, T]) motion(msg tea.KeyMsg) bool {
	page := max(1, t.drawn.height)
	switch k := t.keys; {
	case is(msg, k.Up):
		t.moveTo(t.index - 1)
	case is(msg, k.Down):
		// Without a cursor the row that took the vanished one's place is the next one.
		if t.aimed {
			t.moveTo(t.index + 1)
		} else {
			t.moveTo(t.index)
		}
	case is(msg, k.Top):
		t.moveTo(0)
	case is(msg, k.Bottom):
		t.moveTo(len(t.shown) - 1)
	case is(msg, k.HalfUp):
		t.moveTo(t.index - max(1, page/2))
	case is(msg, k.HalfDown):
		t.moveTo(t.index + max(1, page/2))
	case is(msg, k.PageUp):
		t.moveTo(t.index - page)
	case is(msg, k.PageDown):
		t.moveTo(t.index + page)
	case is(msg, k.Sort):
		t.sortNext()
	case is(msg, k.Reverse):
		t.sortReverse()
	default:
		return false
	}
	return true
}

// view draws the head and as many rows as fit into width x height, every line filled to width; the last cell of it stays blank.
func (t *table[K, T]) view(width, height int) string {
	if height < 1 {
		return ""
	}
	rows := height - 1
	t.scroll(rows)
	widths := columnWidths(t.columns, width-gutter-1)
	lines := make([]string, 0, height)
	lines = append(lines, t.head(widths, width))
	for i := t.drawn.top; i < len(t.shown) && len(lines) < height; i++ {
		lines = append(lines, t.row(i, widths, width))
	}
	for len(lines) < height {
		lines = append(lines, strings.Repeat(" ", max(0, width)))
	}
	return strings.Join(lines, "\n")
}

// scroll moves the window so that the cursor is in it and no room is wasted.
func (t *table[K, T]) scroll(rows int) {
	f := t.drawn
	f.height = rows
	if t.index >= f.top+rows {
		f.top = t.index - rows + 1
	}
	if t.index < f.top {
		f.top = t.index
	}
	f.top = max(0, min(f.top, len(t.shown)-rows))
}
