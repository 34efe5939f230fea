package term

import (
	"cmp"
	"slices"
)

// Hide leaves out the columns with these titles, and shows the others. The first one stays: it says whose row it is.
func (t *Table[K, T]) Hide(titles []string) {
	t.hidden = slices.Clone(titles)
	if t.Sorted >= 0 && t.isHidden(t.Sorted) {
		t.Sorted, t.reverse = -1, false // who cannot see an order would not understand it
		t.order()
		t.filter()
		t.follow()
	}
}

// Hideable are the titles of the columns that can be left out, and of those that are.
func (t *Table[K, T]) Hideable() (titles, hidden []string) {
	for i, c := range t.Columns {
		if i > t.first() {
			titles = append(titles, c.Title)
			if t.isHidden(i) {
				hidden = append(hidden, c.Title)
			}
		}
	}
	return titles, hidden
}

// first is the column that says whose row it is.
func (t *Table[K, T]) first() int {
	return slices.IndexFunc(t.Columns, func(c Column[T]) bool { return c.Title != "" })
}

func (t *Table[K, T]) isHidden(column int) bool {
	return column > t.first() && slices.Contains(t.hidden, t.Columns[column].Title)
}

// widths are those of all columns: 0 for one that is hidden, or has no room.
func (t *Table[K, T]) widths(width int) []int {
	widths := make([]int, len(t.Columns))
	seen, at, needs := t.columns()
	for i, w := range columnWidths(seen, needs, width) {
		widths[at[i]] = w
	}
	return widths
}

// Need is the width that shows all columns of the rows that are seen in a height, names whole up to what is usual.
func (t *Table[K, T]) Need(height int) int {
	rows := len(t.Seen(height))
	t.fields(t.drawn.top + rows)
	columns, _, needs := t.columns()
	for i, c := range columns {
		if needs[i] = min(needs[i], cmp.Or(c.Max, needs[i])); c.Flex == 0 {
			needs[i] = c.Width
		}
	}
	return taken(needs) + gutter + 1
}

// columns are those that are shown where there is room, which they are of all, and what their cells need.
func (t *Table[K, T]) columns() (seen []Column[T], at, needs []int) {
	for i, c := range t.Columns {
		widest := 0
		if i < len(t.drawn.widest) {
			widest = t.drawn.widest[i]
		}
		if !t.isHidden(i) && (widest > 0 || !c.Blank || len(t.Shown) == 0 || i == t.Sorted) {
			seen, at, needs = append(seen, c), append(at, i), append(needs, max(widest, c.heading()))
		}
	}
	return seen, at, needs
}
