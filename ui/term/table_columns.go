package term

import (
	"cmp"
	"slices"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"github.com/dlxtop/dlxtop/model"
)

const (
	gutter = 3 // the marks before a row: selected, cursor, a space
	gap    = 2 // between columns
)

// columnWidths distributes a width among columns: 0 is a column without room. Fixed columns have their width, flexible
// ones a share of the rest, up to what their cells need. If that is not enough, the fixed ones give up what they do not
// need.
func columnWidths(columns []Column, needs []int, width int) []int {
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
	grow(columns, widths, width, func(i int) int { // first the usual widths, so that none takes all
		return min(needs[i], cmp.Or(columns[i].Max, needs[i]))
	})
	grow(columns, widths, width, func(i int) int { return needs[i] })
	give(columns, widths, needs)
	return widths
}

// give lets flexible columns, names first, take what fixed ones do not need.
func give(columns []Column, widths, needs []int) {
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

// taken adds up the widths of columns and the gaps between them.
func taken(widths []int) int {
	sum := -gap
	for _, w := range widths {
		if w > 0 {
			sum += gap + w
		}
	}

	return max(sum, 0)
}

// shrink removes any remaining excess from the columns that are never hidden, the flexible ones first.
func shrink(columns []Column, widths []int, width int) {
	for _, flexible := range []bool{true, false} {
		for i := range columns {
			if over := taken(widths) - width; over > 0 && widths[i] > 1 && (columns[i].Flex > 0) == flexible {
				widths[i] = max(1, widths[i]-over)
			}
		}
	}
}

// grow distributes the rest among the flexible columns, by their shares, up to their limits.
func grow(columns []Column, widths []int, width int, limit func(int) int) {
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
	for i, c := range t.Columns {
		wide := widths[i]
		space := gap
		title := c.Title
		style := Heading

		switch {
		case wide == 0:
			continue
		case b.Len() == 0:
			space = gutter
		case i == t.Sorted && c.Right && ansi.StringWidthWc(c.Title) == wide:
			space, wide = space-1, wide+1 // the mark is in the gap
		}

		if i == t.Sorted {
			mark := "▲" // it points the way the values go, down the screen
			if t.reverse {
				mark = "▼"
			}
			style, title = Accent, mark+title
			if !c.Right {
				title = c.Title + mark
			}
		}

		c.Middle = false // unlike the names below it, a title differs at its beginning
		b.WriteString(strings.Repeat(" ", space) + style.Render(c.pad(title, wide)))
	}

	return Pad(b.String(), width)
}

func (t *Table[K, T]) row(i int, fields []Span, widths []int, width int) string {
	mark := " "
	if t.IsChosen(t.key(t.Shown[i])) {
		mark = Chosen.Render(MarkChosen)
	}

	under := t.aimed && i == t.Index
	var cells []string
	for i, c := range t.Columns {
		if widths[i] == 0 {
			continue
		}
		cell := c.pad(fields[i].Text, widths[i])
		if !under { // one style for the whole row: colours on top of it would be hard to read in some themes
			cell = fields[i].Style.Render(cell)
		}
		cells = append(cells, cell)
	}

	line := strings.Join(cells, strings.Repeat(" ", gap))
	if !under {
		return Pad(mark+"  "+line, width)
	}
	line = Selected.Render(Pad(line, max(0, width-gutter)))
	return Pad(mark+Accent.Render(MarkCursor)+" "+line, width)
}

// Position says which rows are visible: "1–18 of 47", "all 8", by the last View.
func (t *Table[K, T]) Position() string {
	if len(t.Shown) == 0 {
		return "none"
	}
	if t.height < 1 { // on a plain screen, in turn with its pane
		return model.Sayf("%v of %v", t.Index+1, len(t.Shown))
	}
	first := t.top + 1
	last := min(t.top+t.height, len(t.Shown))
	if first == 1 && last == len(t.Shown) {
		return "all " + model.Count(len(t.Shown))
	}

	return model.Sayf("%v–%v of %v", first, last, len(t.Shown))
}

// Hide hides the columns with these titles, and shows the others. The first one stays: it identifies the row.
func (t *Table[K, T]) Hide(titles []string) {
	t.hidden = slices.Clone(titles)
	if t.Sorted >= 0 && t.isHidden(t.Sorted) {
		t.Sorted, t.reverse = -1, false // an order that cannot be seen would be confusing
		t.order()
		t.filter()
		t.follow()
	}
}

// Hideable returns the titles of the columns that can be hidden, and of those that are.
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

// first returns the column that identifies the row.
func (t *Table[K, T]) first() int {
	return slices.IndexFunc(t.Columns, func(c Column) bool { return c.Title != "" })
}

func (t *Table[K, T]) isHidden(column int) bool {
	return column > t.first() && slices.Contains(t.hidden, t.Columns[column].Title)
}

// Need returns the width that shows all columns of the rows visible in a height, names whole up to the usual length.
func (t *Table[K, T]) Need(height int) int {
	rows := len(t.Seen(height))
	t.fields(t.top + rows)
	columns, _, needs := t.columns()
	for i, c := range columns {
		if needs[i] = min(needs[i], cmp.Or(c.Max, needs[i])); c.Flex == 0 {
			needs[i] = c.Width
		}
	}

	return taken(needs) + gutter + 1
}

// columns returns those shown if there is room, their indexes among all, and what their cells need.
func (t *Table[K, T]) columns() (seen []Column, at, needs []int) {
	for i, c := range t.Columns {
		widest, heading := 0, ansi.StringWidthWc(c.Title)
		if i < len(t.widest) {
			widest = t.widest[i]
		}
		if !c.Right {
			heading++ // the mark of the order, unless it is in the gap before it
		}

		if !t.isHidden(i) && (widest > 0 || !c.Blank || len(t.Shown) == 0 || i == t.Sorted) {
			seen = append(seen, c)
			at = append(at, i)
			needs = append(needs, max(widest, heading))
		}
	}

	return seen, at, needs
}
