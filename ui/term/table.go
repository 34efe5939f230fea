package term

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/x/ansi"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/ui/press"
)

// Number returns a count: 0 is muted, others have the given style, unknown is "?".
func Number(n model.Opt[int64], some Style) Span {
	v, ok := n.Get()
	switch {
	case !ok:
		return unknown()
	case v == 0:
		return Muted.Span("0")
	}

	return some.Span(model.Count(v)).By(float64(v))
}

// unknown is sorted below all numbers.
func unknown() Span { return Muted.Span("?").By(-1) }

// rate returns how many a second.
func rate(r model.Opt[float64]) Span {
	v, ok := r.Get()
	look, text := Good, strconv.FormatFloat(v, 'f', 1, 64)
	switch {
	case !ok:
		return unknown()
	case v < 0.05:
		look, text = Muted, "0.0"
	case v >= 1000:
		text = model.Count(int64(v + 0.5))
	}

	return look.Span(text).By(v)
}

// Column is how one of the cells of each row is laid out.
type Column struct {
	Title  string
	Width  int   // cells; the minimum, when flex is set
	Max    int   // the most that flex gives while others need it; 0: unlimited
	Flex   int   // share of the remaining width, up to what the cells need; 0: width is fixed
	Blank  bool  // it is hidden while all cells seen are empty
	Drop   int   // on a narrow terminal columns are hidden, highest drop first; 0: never
	Right  bool  // numbers are aligned to the right
	Middle bool  // long texts are cut in the middle, not at the end: names of queues differ at both ends
	Sorts  bool  // the user can sort by it
	Most   bool  // the same, and the first press sorts the highest to the top
	Style  Style // of cells without a style of their own
}

// columnStyles are those that a column may name.
var columnStyles = map[string]Style{"muted": Muted, "strong": Strong, "waiting": Waiting, "danger": Danger}

// Columns reads columns from lines: the title, the width, the style, and options, some of them with a number.
func Columns(text string) (columns []Column) {
	for line := range strings.Lines(strings.TrimSpace(text)) {
		title, options, _ := strings.Cut(strings.TrimSpace(line), ":")
		c := Column{Title: title}
		numbers := map[string]*int{"max": &c.Max, "flex": &c.Flex, "drop": &c.Drop}
		marks := map[string]*bool{
			"blank": &c.Blank, "right": &c.Right, "middle": &c.Middle, "sorts": &c.Sorts, "most": &c.Most,
		}

		number := &c.Width
		for _, word := range strings.Fields(options) {
			if mark := marks[word]; mark != nil {
				*mark = true
			} else if named := numbers[word]; named != nil {
				number = named
			} else if style, is := columnStyles[word]; is {
				c.Style = style
			} else {
				*number, _ = strconv.Atoi(word)
			}
		}

		columns = append(columns, c)
	}

	return columns
}

// By compares items by a value of each.
func By[T any, V cmp.Ordered](of func(T) V) func(a, b T) int {
	return func(a, b T) int { return cmp.Compare(of(a), of(b)) }
}

// pad fills a text to width cells, or cuts it.
func (c *Column) pad(text string, width int) string {
	switch {
	case c.Right:
		return PadLeft(text, width)
	case c.Middle:
		return PadMiddle(text, width)
	}

	return Pad(text, width)
}

// Table is a windowed list with a cursor and a selection that follow the identity of items: whatever a refresh
// reorders, the cursor stays on its item, and on its line of the screen. Only visible rows are made.
//
// Set brings new data (a poll, a page), Narrow a filter, sortBy another order; View draws. If the cursor's item
// vanishes there is no cursor, so that a key never hits another item: Current then reports false until the cursor is
// moved, or the list was empty in between.
type Table[K comparable, T any] struct {
	Columns []Column
	Cells   func(T) []any // of a row, for each column: a Span, a text, a count, or a rate
	key     func(T) K
	natural func(a, b T) int // the default order, and between equals
	Plain   bool             // everything in one column and no pictures, for a screen that is heard or felt

	All   []T // as set, sorted
	Shown []T // of those, what the filter matches
	Match func(T) bool

	Sorted  int // the column, -1: the default order
	reverse bool

	at     K    // the cursor's item
	Index  int  // where it is, or where it was
	aimed  bool // whether the cursor is on an item
	moved  bool // whether the cursor has ever been on one
	Chosen map[K]struct{}
	anchor *K // where the range begins that v selects; nil: none

	hidden []string // titles of columns
	frame[K]
	clicked *K // the cursor was put here by a click; nil: it was moved since
}

// frame is what the last View drew. Page keys move by that, and a click refers to what was seen, whatever a refresh
// brought since.
type frame[K comparable] struct {
	top    int   // the first row
	height int   // how many rows there was room for
	widest []int // cells of each column, over all rows seen: columns keep their places while scrolling
	width  int
	keys   []K // of the rows, from the top
}

func NewTable[K comparable, T any](
	plain bool, key func(T) K, natural func(a, b T) int, cells func(T) []any, columns []Column,
) Table[K, T] {
	return Table[K, T]{
		Columns: columns,
		Cells:   cells,
		key:     key,
		natural: natural,
		Plain:   plain,
		Sorted:  -1,
		Chosen:  map[K]struct{}{},
	}
}

// SetColumns replaces the columns. The order stays, by the column with the same title.
func (t *Table[K, T]) SetColumns(columns []Column) {
	sorted := t.Sorted
	was := t.Columns
	if t.Columns, t.widest = columns, nil; sorted >= 0 {
		t.Sorted = t.column(was[sorted].Title)
	}
}

func (t *Table[K, T]) column(title string) int {
	return slices.IndexFunc(t.Columns, func(c Column) bool { return c.Title == title })
}

// Set replaces the items. Cursor, selection and the cursor's line stay.
func (t *Table[K, T]) Set(items []T) {
	between := t.between()
	t.All = slices.Clone(items)
	t.order()
	t.filter()
	t.prune()
	followed := t.follow()
	t.endRange(between)

	if len(t.Shown) == 0 {
		t.moved, t.Index = false, 0
	}
	if !followed && !t.moved {
		t.MoveTo(0)
	}
}

// Regain puts a cursor whose item is gone on the row that took its place, after the user's own action.
func (t *Table[K, T]) Regain() {
	if !t.aimed {
		t.MoveTo(t.Index)
	}
}

// Rest releases the items. The next Set restores cursor, selection and the cursor's line.
func (t *Table[K, T]) Rest() { t.All, t.Shown = nil, nil }

// Narrow shows only what matches; nil shows all. As the user does this, a cursor whose item is hidden goes to the
// nearest one.
func (t *Table[K, T]) Narrow(match func(T) bool) {
	between := t.between()
	t.Match = match
	t.filter()
	followed := t.follow()
	t.endRange(between)
	if !followed {
		t.Regain()
	}
}

// SortBy sorts by the column with this title, before there are items.
func (t *Table[K, T]) SortBy(title string) {
	t.Sorted = t.column(title)
	t.reverse = t.Sorted >= 0 && t.Columns[t.Sorted].Most
}

// sortNext sorts by the next sortable column, and after the last one in the default order again.
func (t *Table[K, T]) sortNext() {
	for {
		t.Sorted++
		if t.Sorted >= len(t.Columns) {
			t.Sorted = -1
		}
		if t.Sorted < 0 || (t.Columns[t.Sorted].Sorts || t.Columns[t.Sorted].Most) && !t.isHidden(t.Sorted) {
			break
		}
	}

	t.reverse = t.Sorted >= 0 && t.Columns[t.Sorted].Most
	t.resort()
}

// resort shows the new order from its top: a user who sorts wants to see what is first now. A range ends: other rows
// are in between now.
func (t *Table[K, T]) resort() {
	t.anchor = nil
	t.order()
	t.filter()
	t.MoveTo(0)
}

// order sorts all items by the selected column, equals in the default order.
func (t *Table[K, T]) order() {
	turn := 1
	if t.reverse {
		turn = -1
	}
	if t.Sorted < 0 {
		slices.SortStableFunc(t.All, func(a, b T) int { return turn * t.natural(a, b) })
		return
	}

	type row struct {
		item T
		by   Span
	}
	rows := make([]row, len(t.All))
	for i, item := range t.All {
		rows[i] = row{item, t.field(t.Sorted, t.Cells(item)[t.Sorted])}
	}

	slices.SortStableFunc(rows, func(a, b row) int {
		return cmp.Or(turn*a.by.compare(b.by), t.natural(a.item, b.item))
	})
	for i, r := range rows {
		t.All[i] = r.item
	}
}

func (t *Table[K, T]) filter() {
	if t.Shown = t.All; t.Match != nil {
		t.Shown = model.Without(t.All, func(item T) bool { return !t.Match(item) })
	}
}

// follow finds the cursor's item again, even one that had vanished, and keeps it on its line of the screen. It reports
// whether the item is there.
func (t *Table[K, T]) follow() bool {
	if !t.moved {
		return false
	}
	i := t.find(t.at)
	if t.aimed = i >= 0; t.aimed {
		t.top += i - t.Index
		t.Index = i
	}

	return t.aimed
}

// find returns the row of an item; negative: it is not shown.
func (t *Table[K, T]) find(k K) int {
	return slices.IndexFunc(t.Shown, func(item T) bool { return t.key(item) == k })
}

func (t *Table[K, T]) MoveTo(i int) {
	if len(t.Shown) == 0 {
		return
	}
	t.Index = max(0, min(i, len(t.Shown)-1))
	t.at = t.key(t.Shown[t.Index])
	t.aimed = true
	t.moved = true
	t.clicked = nil
	if t.anchor != nil {
		t.chooseRange()
	}
}

// Step moves the cursor to the next or the previous row, and from the last one to the first.
func (t *Table[K, T]) Step(by int) {
	if n := len(t.Shown); n > 0 && t.aimed {
		t.MoveTo((t.Index + by + n) % n)
	} else {
		t.MoveTo(t.Index)
	}
}

func (t *Table[K, T]) Current() (item T, ok bool) {
	if !t.aimed || t.Index >= len(t.Shown) {
		return item, false
	}
	return t.Shown[t.Index], true
}

// Motion handles the keys that move the cursor and those that sort. It reports whether the key was one of them.
func (t *Table[K, T]) Motion(msg tea.KeyMsg) bool {
	step, moves := press.Step(msg, t.height)
	switch {
	case !t.aimed && press.Is(msg, press.Down):
		t.Regain()
	case moves:
		t.MoveTo(t.Index + step)
	default:
		_, pressed := Press(t.Sorting(), msg)
		return pressed
	}

	return true
}

// Sorting returns the keys that change the order.
func (t *Table[K, T]) Sorting() []Key {
	return []Key{
		On(press.Sort, "sort by the next column", t.sortNext),
		On(press.Reverse, "reverse the order", func() {
			t.reverse = !t.reverse
			t.resort()
		}),
	}
}

// View draws the head and as many rows as fit into width x height, every line filled to width, with a blank last cell.
func (t *Table[K, T]) View(width, height int) string {
	if height < 1 {
		return ""
	}
	rows := height - 1
	t.scroll(rows)
	fields := t.fields(min(t.top+rows, len(t.Shown)))
	widths := make([]int, len(t.Columns)) // 0: it is hidden, or has no room

	columns, at, needs := t.columns()
	for i, w := range columnWidths(columns, needs, width-gutter-1) {
		widths[at[i]] = w
	}

	lines := make([]string, 0, height)
	lines = append(lines, t.head(widths, width))
	t.width = width
	t.keys = t.keys[:0]
	for i := t.top; i < len(t.Shown) && len(lines) < height; i++ {
		t.keys = append(t.keys, t.key(t.Shown[i]))
		lines = append(lines, t.row(i, fields[i-t.top], widths, width))
	}

	for len(lines) < height {
		lines = append(lines, strings.Repeat(" ", max(0, width)))
	}

	return strings.Join(lines, "\n")
}

// fields returns the cells of the rows from the first visible one up to end.
func (t *Table[K, T]) fields(end int) [][]Span {
	if len(t.widest) != len(t.Columns) {
		t.widest = make([]int, len(t.Columns))
	}

	var all [][]Span
	for _, item := range t.Shown[t.top:end] {
		fields, cells := make([]Span, len(t.Columns)), t.Cells(item)
		for i := range fields {
			fields[i] = t.field(i, cells[i])
			t.widest[i] = max(t.widest[i], ansi.StringWidthWc(fields[i].Text))
		}
		all = append(all, fields)
	}

	return all
}

// field returns a cell as it is drawn: a text or a count in the style of its column.
func (t *Table[K, T]) field(column int, cell any) Span {
	look := t.Columns[column].Style
	switch cell := cell.(type) {
	case Span:
		return cell
	case int:
		return look.Span(model.Count(cell)).By(float64(cell))
	case model.Opt[int64]:
		return Number(cell, look)
	case model.Opt[float64]:
		return rate(cell)
	default:
		return look.Span(cell.(string))
	}
}

func (t *Table[K, T]) Seen(height int) []T {
	if height < 1 {
		return nil
	}
	t.scroll(height - 1)
	return t.Shown[t.top:min(t.top+height-1, len(t.Shown))]
}

// Around returns the rows visible last, and this many rows before and after them.
func (t *Table[K, T]) Around(rows int) []T {
	from := max(t.top-rows, 0)
	to := min(t.top+t.height+rows, len(t.Shown))
	return t.Shown[min(from, to):to]
}

// scroll moves the window so that the cursor is in it and no room is wasted.
func (t *Table[K, T]) scroll(rows int) {
	t.height = rows
	if t.Index >= t.top+rows {
		t.top = t.Index - rows + 1
	}
	if t.Index < t.top {
		t.top = t.Index
	}

	t.top = max(0, min(t.top, len(t.Shown)-rows))
}

// Click puts the cursor on the row that the last View drew in a line, counted from its first one, which is the head. It
// reports a second click on the same row. If there was no row, or its item is gone, nothing happens.
func (t *Table[K, T]) Click(x, line int) (again bool) {
	row := line - 1
	if x < 0 || x >= t.width || row < 0 || row >= len(t.keys) {
		return false
	}
	k := t.keys[row]
	at := t.find(k)
	if at < 0 {
		return false
	}
	again = t.clicked != nil && *t.clicked == k && t.aimed && t.at == k
	t.MoveTo(at)
	t.clicked = &k
	return again
}

func (t *Table[K, T]) IsChosen(k K) bool {
	_, ok := t.Chosen[k]
	return ok
}

// Selection returns the selected items in the order of the table, hidden ones included.
func (t *Table[K, T]) Selection() []T {
	return model.Without(t.All, func(item T) bool { return !t.IsChosen(t.key(item)) })
}

func (t *Table[K, T]) Unchoose() { t.Chosen, t.anchor = map[K]struct{}{}, nil }

func (t *Table[K, T]) toggle() {
	item, ok := t.Current()
	if !ok {
		return
	}
	if k := t.key(item); t.IsChosen(k) {
		delete(t.Chosen, k)
	} else {
		t.Chosen[k] = struct{}{}
	}

	t.anchor = nil
}

// chooseRange selects everything between the anchor and the cursor.
func (t *Table[K, T]) chooseRange() {
	between := t.between()
	if between == nil {
		t.anchor = nil
	}
	for _, k := range between {
		t.Chosen[k] = struct{}{}
	}
}

// between returns the items from the anchor to the cursor; none without a range.
func (t *Table[K, T]) between() (keys []K) {
	if t.anchor == nil || t.Index >= len(t.Shown) {
		return nil
	}
	from := t.find(*t.anchor)
	if from < 0 {
		return nil
	}
	for i := min(from, t.Index); i <= max(from, t.Index); i++ {
		keys = append(keys, t.key(t.Shown[i]))
	}

	return keys
}

// endRange ends the range when the items between its ends have changed: the user has not seen them there.
func (t *Table[K, T]) endRange(was []K) {
	if t.anchor != nil && !slices.Equal(was, t.between()) {
		t.anchor = nil
	}
}

// chooseAll selects everything shown, or nothing when all of it is selected already.
func (t *Table[K, T]) chooseAll() {
	t.anchor = nil
	all := !slices.ContainsFunc(t.Shown, func(item T) bool { return !t.IsChosen(t.key(item)) })
	for _, item := range t.Shown {
		if all {
			delete(t.Chosen, t.key(item))
		} else {
			t.Chosen[t.key(item)] = struct{}{}
		}
	}
}

// Choosing returns the keys that select: one row, a range, all.
func (t *Table[K, T]) Choosing() []Key {
	return []Key{
		On(press.Choose, "select this message, or not", func() {
			t.toggle()
			t.MoveTo(t.Index + 1)
		}),
		On(press.Range, "select a range: from here to where the cursor goes", t.turnRange),
		On(press.ChooseAll, "select all that the filter shows", t.chooseAll),
	}
}

func (t *Table[K, T]) turnRange() {
	if t.anchor != nil {
		t.anchor = nil
		return
	}

	if item, ok := t.Current(); ok {
		at := t.key(item)
		t.anchor = &at
		t.chooseRange()
	}
}

func (t *Table[K, T]) prune() {
	was := t.Chosen
	if len(was) == 0 {
		return
	}
	t.Chosen = make(map[K]struct{}, len(was))
	for _, item := range t.All {
		if _, ok := was[t.key(item)]; ok {
			t.Chosen[t.key(item)] = struct{}{}
		}
	}
}
