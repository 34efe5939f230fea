package term

import "slices"

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
	var seen []Column[T]
	var at []int
	for i, c := range t.Columns {
		if !t.isHidden(i) {
			seen, at = append(seen, c), append(at, i)
		}
	}
	for i, w := range columnWidths(seen, width) {
		widths[at[i]] = w
	}
	return widths
}
