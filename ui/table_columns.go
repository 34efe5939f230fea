package ui

import (
	"strings"

	"github.com/charmbracelet/x/ansi"

	"dlxtop/model"
)

const (
	gutter = 3 // the marks before a row: chosen, cursor, a space
	gap    = 2 // between columns
)

// columnWidths shares a width among columns: 0 is a column that has no room. Fixed columns have their width, flexible ones at
// least theirs and a share of what is left.
func columnWidths[T any](columns []column[T], width int) []int {
	widths := make([]int, len(columns))
	for i, c := range columns {
		widths[i] = c.width
	}
	for taken(widths) > width {
		last := -1
		for i, c := range columns {
			if c.drop > 0 && widths[i] > 0 && (last < 0 || c.drop >= columns[last].drop) {
				last = i
			}
		}
		if last < 0 {
			break
		}
		widths[last] = 0
	}
	shrink(columns, widths, width)
	grow(columns, widths, width)
	return widths
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
func shrink[T any](columns []column[T], widths []int, width int) {
	for _, flexible := range []bool{true, false} {
		for i := range columns {
			if over := taken(widths) - width; over > 0 && widths[i] > 1 && (columns[i].flex > 0) == flexible {
				widths[i] = max(1, widths[i]-over)
			}
		}
	}
}

// grow gives what is left over to the flexible columns, by their shares, up to their limits.
func grow[T any](columns []column[T], widths []int, width int) {
	for left := width - taken(widths); left > 0; {
		shares, given := 0, 0
		for i, c := range columns {
			if widths[i] > 0 && c.flex > 0 && (c.max == 0 || widths[i] < c.max) {
				shares += c.flex
			}
		}
		for i, c := range columns {
			if widths[i] == 0 || c.flex == 0 || c.max > 0 && widths[i] >= c.max {
				continue
			}
			more := max(1, left*c.flex/shares)
			if c.max > 0 {
				more = min(more, c.max-widths[i])
			}
			more = min(more, left-given)
			widths[i] += more
			given += more
		}
		if given == 0 {
			return
		}
		left -= given
	}
}

func (t *table[K, T]) head(widths []int, width int) string {
	var b strings.Builder
	b.WriteString(strings.Repeat(" ", gutter))
	first := true
	for i, c := range t.columns {
		if widths[i] == 0 {
			continue
		}
		wide := widths[i]
		if !first {
			space := gap
			if i == t.sorted && c.right && ansi.StringWidth(c.title) == wide {
				space, wide = space-1, wide+1 // the mark stands in the gap
			}
			b.WriteString(strings.Repeat(" ", space))
		}
		first = false
		title, style := c.title, t.styles.Heading
		if i == t.sorted {
			style = t.styles.Accent
			title = sortMark(t.reverse) + title
			if !c.right {
				title = c.title + sortMark(t.reverse)
			}
		}
		b.WriteString(style.Render(fit(title, wide, c.right, false)))
	}
	return pad(b.String(), width)
}

// sortMark points the way the values go, downwards the screen.
func sortMark(reverse bool) string {
	if reverse {
		return "▼"
	}
	return "▲"
}

func (t *table[K, T]) row(i int, widths []int, width int) string {
	item := t.shown[i]
	under := t.aimed && i == t.index
	var b strings.Builder
	if t.isChosen(t.key(item)) {
		b.WriteString(t.styles.Chosen.Render(markChosen))
	} else {
		b.WriteByte(' ')
	}
	if under {
		b.WriteString(t.styles.Accent.Render(markCursor) + " ")
	} else {
		b.WriteString("  ")
	}
	if under {
		// One look for the whole row: the cells' own colours on top of it would be hard to read on some themes.
		var row strings.Builder
		t.cells(&row, item, widths, func(text string, _ Style) string { return text })
		b.WriteString(t.styles.Selected.Render(pad(row.String(), max(0, width-gutter))))
		return pad(b.String(), width)
	}
	t.cells(&b, item, widths, func(text string, style Style) string { return style.Render(text) })
	return pad(b.String(), width)
}

func (t *table[K, T]) cells(b *strings.Builder, item T, widths []int, render func(string, Style) string) {
	first := true
	for i, c := range t.columns {
		if widths[i] == 0 {
			continue
		}
		if !first {
			b.WriteString("  ")
		}
		first = false
		f := c.cell(item)
		b.WriteString(render(fit(f.text, widths[i], c.right, c.middle), f.style))
	}
}

// position says which rows are seen: "1–18 of 47", "all 8". It is of the last view.
func (t *table[K, T]) position() string {
	if len(t.shown) == 0 {
		return "none"
	}
	first, last := t.drawn.top+1, min(t.drawn.top+t.drawn.height, len(t.shown))
	if first == 1 && last == len(t.shown) {
		return "all " + model.Count(int64(len(t.shown)))
	}
	return model.Count(int64(first)) + "–" + model.Count(int64(last)) + " of " + model.Count(int64(len(t.shown)))
}

// fit makes text exactly width cells wide: cut with "…" or filled with spaces.
func fit(text string, width int, right, middle bool) string {
	n := ansi.StringWidth(text)
	if n > width {
		if middle {
			text = cutMiddle(text, width)
		} else {
			text = ansi.Truncate(text, width, "…")
		}
		n = ansi.StringWidth(text)
	}
	blank := strings.Repeat(" ", max(0, width-n))
	if right {
		return blank + text
	}
	return text + blank
}

// cutMiddle shortens text to width cells and keeps both ends.
func cutMiddle(text string, width int) string {
	n := ansi.StringWidth(text)
	if n <= width {
		return text
	}
	if width < 5 {
		return ansi.Truncate(text, width, "…")
	}
	front := width / 2
	return ansi.Truncate(text, front, "") + "…" + ansi.TruncateLeft(text, n-(width-front-1), "")
}

// pad fills a line, which may be dressed, to width cells, and cuts what is more.
func pad(line string, width int) string {
	n := ansi.StringWidth(line)
	if n > width {
		return ansi.Truncate(line, max(0, width), "…")
	}
	return line + strings.Repeat(" ", width-n)
}
