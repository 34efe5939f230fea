package term

import (
	"cmp"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"github.com/dlxtop/dlxtop/model"
)

const (
	gutter = 3 // the marks before a row: chosen, cursor, a space
	gap    = 2 // between columns
)

// columnWidths shares a width among columns: 0 is a column that has no room. Fixed columns have their width, flexible
// ones a share of what is left, up to what their cells need. When that is not enough, the fixed ones give what they do
// not need.
func columnWidths[T any](columns []Column[T], needs []int, width int) []int {
	widths := make([]int, len(columns))
	for i, c := range columns {
		if widths[i] = c.Width; c.Flex > 0 {
			widths[i] = min(c.Width, needs[i])
		}
	}
	for taken(widths) > width {
		last := -1
		for i, c := range columns {
			if c.Drop > 0 && widths[i] > 0 && (last < 0 || c.Drop >= columns[last].Drop) {
				last = i
			}
		}
		if last < 0 {
			break
		}
		widths[last] = 0
	}
	shrink(columns, widths, width)
	grow(columns, widths, width, func(i int) int { // first what is usual, so that none takes all
		return min(needs[i], cmp.Or(columns[i].Max, needs[i]))
	})
	grow(columns, widths, width, func(i int) int { return needs[i] })
	give(columns, widths, needs)
	return widths
}

// give has flexible columns, names first, take what fixed ones do not need.
func give[T any](columns []Column[T], widths, needs []int) {
	for _, names := range []bool{true, false} {
		for i, c := range columns {
			for j, fixed := range columns {
				if n := min(needs[i]-widths[i], widths[j]-needs[j]); n > 0 && c.Flex > 0 && c.Middle == names &&
					widths[i] > 0 && fixed.Flex == 0 {
					widths[i], widths[j] = widths[i]+n, widths[j]-n
				}
			}
		}
	}
}

// taken is the width that columns and the gaps between them need.
func taken(widths []int) int {
	sum, n := 0, 0
	for _, w := range widths {
		if w > 0 {
			sum += w
			n++
		}
	}
	return sum + gap*max(0, n-1)
}

// shrink takes what is still too much from the columns that never go, the flexible ones first.
func shrink[T any](columns []Column[T], widths []int, width int) {
	for _, flexible := range []bool{true, false} {
		for i := range columns {
			if over := taken(widths) - width; over > 0 && widths[i] > 1 && (columns[i].Flex > 0) == flexible {
				widths[i] = max(1, widths[i]-over)
			}
		}
	}
}

// grow gives what is left over to the flexible columns, by their shares, up to their limits.
func grow[T any](columns []Column[T], widths []int, width int, limit func(int) int) {
	for left := width - taken(widths); left > 0; {
		shares, given := 0, 0
		for i, c := range columns {
			if widths[i] > 0 && c.Flex > 0 && widths[i] < limit(i) {
				shares += c.Flex
			}
		}
		for i, c := range columns {
			if widths[i] == 0 || c.Flex == 0 || widths[i] >= limit(i) {
				continue
			}
			more := min(max(1, left*c.Flex/shares), limit(i)-widths[i], left-given)
			widths[i] += more
			given += more
		}
		if given == 0 {
			return
		}
		left -= given
	}
}

func (t *Table[K, T]) head(widths []int, width int) string {
	var b strings.Builder
	b.WriteString(strings.Repeat(" ", gutter))
	first := true
	for i, c := range t.Columns {
		if widths[i] == 0 {
			continue
		}
		wide := widths[i]
		if !first {
			space := gap
			if i == t.Sorted && c.Right && ansi.StringWidthWc(c.Title) == wide {
				space, wide = space-1, wide+1 // the mark stands in the gap
			}
			b.WriteString(strings.Repeat(" ", space))
		}
		first = false
		title, style := c.Title, t.Styles.Heading
		if i == t.Sorted {
			style = t.Styles.Accent
			title = sortMark(t.reverse) + title
			if !c.Right {
				title = c.Title + sortMark(t.reverse)
			}
		}
		b.WriteString(style.Render(Fit(title, wide, c.Right, false)))
	}
	return Pad(b.String(), width)
}

// sortMark points the way the values go, downwards the screen.
func sortMark(reverse bool) string {
	if reverse {
		return "▼"
	}
	return "▲"
}

func (t *Table[K, T]) row(i int, fields []Field, widths []int, width int) string {
	item := t.Shown[i]
	under := t.aimed && i == t.Index
	var b strings.Builder
	if t.IsChosen(t.key(item)) {
		b.WriteString(t.Styles.Chosen.Render(MarkChosen))
	} else {
		b.WriteByte(' ')
	}
	if under {
		b.WriteString(t.Styles.Accent.Render(MarkCursor) + " ")
	} else {
		b.WriteString("  ")
	}
	if under {
		// One look for the whole row: the cells' own colours on top of it would be hard to read on some themes.
		var row strings.Builder
		t.cells(&row, fields, widths, func(text string, _ Style) string { return text })
		b.WriteString(t.Styles.Selected.Render(Pad(row.String(), max(0, width-gutter))))
		return Pad(b.String(), width)
	}
	t.cells(&b, fields, widths, func(text string, style Style) string { return style.Render(text) })
	return Pad(b.String(), width)
}

func (t *Table[K, T]) cells(b *strings.Builder, fields []Field, widths []int, render func(string, Style) string) {
	first := true
	for i, c := range t.Columns {
		if widths[i] == 0 {
			continue
		}
		if !first {
			b.WriteString("  ")
		}
		first = false
		f := fields[i]
		b.WriteString(render(Fit(f.Text, widths[i], c.Right, c.Middle), f.Style))
	}
}

// Position says which rows are seen: "1–18 of 47", "all 8". It is of the last view.
func (t *Table[K, T]) Position() string {
	if len(t.Shown) == 0 {
		return "none"
	}
	if t.drawn.height < 1 { // on a plain screen, in turn with its pane
		return model.Count(int64(t.Index+1)) + " of " + model.Count(int64(len(t.Shown)))
	}
	first, last := t.drawn.top+1, min(t.drawn.top+t.drawn.height, len(t.Shown))
	if first == 1 && last == len(t.Shown) {
		return "all " + model.Count(int64(len(t.Shown)))
	}
	return model.Count(int64(first)) + "–" + model.Count(int64(last)) + " of " + model.Count(int64(len(t.Shown)))
}

// Fit makes text exactly width cells wide: cut with "…" or filled with spaces.
func Fit(text string, width int, right, middle bool) string {
	n := ansi.StringWidthWc(text)
	if n > width {
		if middle {
			text = CutMiddle(text, width)
		} else {
			text = Cut(text, width, "…")
		}
		n = ansi.StringWidthWc(text)
	}
	blank := strings.Repeat(" ", max(0, width-n))
	if right {
		return blank + text
	}
	return text + blank
}

// CutMiddle shortens text to width cells and keeps both ends.
func CutMiddle(text string, width int) string {
	n := ansi.StringWidthWc(text)
	if n <= width {
		return text
	}
	if width < 5 {
		return Cut(text, width, "…")
	}
	front := Cut(text, width/2, "")
	return front + "…" + Behind(text, n-(width-1-ansi.StringWidthWc(front)))
}

// Pad fills a line, which may be dressed, to width cells, and cuts what is more.
func Pad(line string, width int) string {
	n := ansi.StringWidthWc(line)
	if n > width {
		return Cut(line, max(0, width), "…")
	}
	return line + strings.Repeat(" ", width-n)
}

// heading is the width of a title, with the mark of an order where that does not stand in the gap before it.
func (c *Column[T]) heading() int {
	width := ansi.StringWidthWc(c.Title)
	if c.Right {
		return width
	}
	return width + 1
}
