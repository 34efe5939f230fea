package term

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/x/ansi"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
)

type fruit struct {
	name string
	n    int
}

func fruitTable() Table[string, fruit] {
	name := func(f fruit) string { return f.name }
	return NewTable(false, name, By(name),
		func(f fruit) []any {
			count := Danger.Span(fmt.Sprint(f.n)).By(float64(f.n))
			return []any{Strong.Span(f.name), Muted.Span("same"), count}
		},
		[]Column{
			{Title: "NAME", Width: 8, Flex: 1, Max: 30, Middle: true, Sorts: true},
			{Title: "NOTE", Width: 10, Drop: 2},
			{Title: "COUNT", Width: 6, Right: true, Drop: 1, Most: true},
		})
}

// Every line has the right width, whatever is in the cells.
func TestTableIsExactlyAsLargeAsAsked(t *testing.T) {
	table := fruitTable()
	table.Set([]fruit{
		{"apple", 1},
		{"日本語日本語日本語日本語", 2},
		{"👩‍👩‍👧‍👦 family 👩‍👩‍👧‍👦", 3},
		{"é́́ combining", 4},
		{strings.Repeat("long.", 20), 5},
		{"", 6},
	})

	table.toggle()

	for width := 1; width < 70; width++ {
		for _, height := range []int{1, 2, 4, 12} {
			lines := strings.Split(table.View(width, height), "\n")
			must.Equal(t, len(lines), height, "%d x", width)
			for _, line := range lines {
				n := ansi.StringWidthWc(line)
				assert.That(t, n == width, "%d x %d: a line is %d wide: %q", width, height, n, line)
			}
		}
	}
}

func TestColumnsGiveWay(t *testing.T) {
	columns := fruitTable().Columns
	for _, tc := range []struct {
		width int
		want  []int
	}{
		{80, []int{60, 10, 6}}, // the flexible column has a limit
		{28, []int{8, 10, 6}},
		{30, []int{10, 10, 6}},
		{27, []int{19, 0, 6}}, // the highest drop is hidden first
		{15, []int{15, 0, 0}},
		{5, []int{5, 0, 0}},
	} {
		assert.List(t, columnWidths(columns, []int{99, 99, 99}, tc.width), tc.want, "width %d", tc.width)
	}
}

func TestCutMiddleKeepsBothEnds(t *testing.T) {
	for _, tc := range []struct {
		text  string
		width int
		want  string
	}{
		{"ucenter@enterprise@failed", 15, "ucenter…@failed"},
		{"short", 15, "short"},
		{"日本語日本語", 7, "日…本語"},
		{"abcdef", 3, "ab…"},
	} {
		got := CutMiddle(tc.text, tc.width)
		assert.Equal(t, got, tc.want, "cutMiddle(%q, %d) = %q, want %q", tc.text, tc.width, got, tc.want)
		assert.That(t, ansi.StringWidthWc(got) <= tc.width, "cutMiddle(%q, %d) = %q, want %q", tc.text, tc.width, got,
			tc.want)
	}
}

func TestCursorFollowsItsItem(t *testing.T) {
	table := fruitTable()
	on := func(name, why string) {
		t.Helper()
		at, ok := table.Current()
		assert.That(t, ok, "%s, and the cursor is on %v, %v", why, at, ok)
		assert.Equal(t, at.name, name)
	}

	table.Set(nil) // nothing yet: the first item gets the cursor

	var fruits []fruit
	for i := range 50 {
		fruits = append(fruits, fruit{fmt.Sprintf("f%02d", i), i})
	}

	table.Set(fruits)
	table.View(60, 11)
	for range 20 {
		table.Motion(tea.KeyMsg{Type: tea.KeyDown})
		table.View(60, 11)
	}

	line := table.Index - table.top
	table.Set(append([]fruit{{"a", 0}, {"b", 0}, {"c", 0}}, fruits...))
	table.View(60, 11)
	on("f20", "others came before it")
	assert.Equal(t, table.Index-table.top, line, "the cursor was on line")
	table.Set(slices.DeleteFunc(slices.Clone(fruits), func(f fruit) bool { return f.name == "f20" }))
	at, ok := table.Current()
	assert.That(t, !ok, "the cursor's item is gone, and the cursor is on %v", at)
	table.Set(fruits)
	on("f20", "the cursor's item is back")
	table.Set(append([]fruit{{"a", 0}, {"b", 0}, {"c", 0}}, fruits...))
	table.Set(slices.DeleteFunc(slices.Clone(fruits), func(f fruit) bool { return f.name == "f20" }))
	table.Motion(tea.KeyMsg{Type: tea.KeyDown})
	on("f24", "a key was pressed") // the row where the cursor was: three rows further down than f20 then
	table.Set(fruits)
	table.Narrow(func(f fruit) bool { return f.n > 40 })
	at, ok = table.Current()
	assert.That(t, ok, "after a filter the cursor is on %v, %v", at, ok)
	assert.That(t, at.n > 40, "after a filter the cursor is on %v, %v", at, ok)
	table.Narrow(nil)
	table.Set(nil)
	table.Set(fruits[:3])
	on("f00", "the list was empty")
	table.Set(fruits[1:3])
	table.Regain()

	on("f01", "the cursor's item is gone by the operator's doing")
}

// pressKeys types keys that choose or move.
func pressKeys(table *Table[string, fruit], keys string) {
	for _, r := range keys {
		msg := tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune{r}}
		if r == ' ' {
			msg.Type = tea.KeySpace
		}
		Press(table.Choosing(), msg)
		table.Motion(msg)
	}
}

func chosen(table *Table[string, fruit]) (names string) {
	for _, f := range table.Selection() {
		names += f.name
	}
	return names
}

func TestSelection(t *testing.T) {
	table := fruitTable()
	table.Set([]fruit{{"a", 1}, {"b", 2}, {"c", 3}, {"d", 4}, {"e", 5}})
	for _, tc := range []struct{ keys, want string }{
		{" ", "a"}, {" ", "ab"}, {"gv", "ab"}, {"jjj", "abcd"}, {"vj", "abcd"}, {"*", "abcde"}, {"*", ""}, {"g ", "a"},
	} {
		pressKeys(&table, tc.keys)
		assert.Equal(t, chosen(&table), tc.want, "after %q", tc.keys)
	}

	pressKeys(&table, "*")
	table.Narrow(func(f fruit) bool { return f.n < 3 })
	pressKeys(&table, "*")
	assert.Equal(t, chosen(&table), "cde", "unchoosing what is shown left")
	table.Set([]fruit{{"a", 1}, {"d", 4}})
	assert.Equal(t, chosen(&table), "d", "after the others vanished")
}

// v selects the rows that were seen between two: if other rows get in between, the range ends.
func TestRangeEndsWithItsOrder(t *testing.T) {
	fruits := []fruit{{"a", 1}, {"b", 2}, {"c", 3}, {"d", 4}, {"e", 5}}
	for name, test := range map[string]struct {
		change func(*Table[string, fruit])
		want   string
	}{
		"nothing": {func(t *Table[string, fruit]) { t.Set(fruits) }, "bcd"},
		"another order": {func(t *Table[string, fruit]) {
			t.Motion(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune("S")})
		}, "bc"},
		"other items": {func(t *Table[string, fruit]) { t.Set(slices.Concat(fruits, []fruit{{"bb", 1}})) }, "bc"},
		"items gone":  {func(t *Table[string, fruit]) { t.Set(slices.Concat(fruits[:1], fruits[2:])) }, "c"},
		"items after": {func(t *Table[string, fruit]) { t.Set(slices.Concat(fruits, []fruit{{"f", 1}})) }, "bcd"},
		"a filter": {func(t *Table[string, fruit]) {
			t.Narrow(func(f fruit) bool { return f.name != "c" })
		}, "bc"},
	} {
		t.Run(name, func(t *testing.T) {
			table := fruitTable()
			table.Set(fruits)
			pressKeys(&table, "jvj")
			test.change(&table)
			table.Motion(tea.KeyMsg{Type: tea.KeyDown})
			table.Sorted, table.reverse = -1, false
			table.Set(table.All)

			assert.Equal(t, chosen(&table), test.want, "is chosen")
		})
	}
}

// A click refers to the row that was drawn: rows that have moved or disappeared since are not hit.
func TestClickMeansWhatWasDrawn(t *testing.T) {
	type item struct {
		name string
		rank int
	}

	table := NewTable(false, func(i item) string { return i.name },
		func(a, b item) int { return cmp.Compare(a.rank, b.rank) },
		func(i item) []any { return []any{i.name} }, []Column{{Title: "NAME", Width: 10}})
	table.Set([]item{{"a", 1}, {"b", 2}, {"c", 3}})
	table.View(20, 10)

	at := func() string {
		i, _ := table.Current()
		return i.name
	}

	for _, outside := range [][2]int{{5, 0}, {5, 4}, {20, 2}, {-1, 2}, {5, -3}} {
		assert.That(t, !table.Click(outside[0], outside[1]), "a click at %v has hit %s", outside, at())
		assert.Equal(t, at(), "a", "%v", outside)
	}

	table.Set([]item{{"b", 9}, {"c", 3}, {"d", 2}}) // a poll, and nothing was drawn since
	assert.That(t, !table.Click(5, 2), "a click on b has hit %s", at())
	assert.Equal(t, at(), "b")
	assert.That(t, table.Click(5, 2), "the second click on a row is not known as such")
	assert.That(t, !table.Click(5, 1), "a click on a, which is gone, has hit %s", at())
	assert.Equal(t, at(), "b")
	table.MoveTo(0)
	table.MoveTo(2)
	assert.That(t, !table.Click(5, 2), "a click after the cursor was moved by keys counts as a second one")
}
