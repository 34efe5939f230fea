package ui

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/x/ansi"
)

type fruit struct {
	name string
	n    int
}

func fruitTable() table[string, fruit] {
	e := newApp(context.Background(), Options{}).env
	return newTable(e, func(f fruit) string { return f.name }, func(a, b fruit) int { return cmp.Compare(a.name, b.name) },
		column[fruit]{
			title: "NAME", width: 8, flex: 1, max: 30, middle: true,
			cell:    func(f fruit) field { return field{f.name, e.styles.Strong} },
			compare: func(a, b fruit) int { return cmp.Compare(a.name, b.name) },
		},
		column[fruit]{title: "NOTE", width: 10, drop: 2, cell: func(f fruit) field { return field{"same", e.styles.Muted} }},
		column[fruit]{
			title: "COUNT", width: 6, right: true, drop: 1, most: true,
			cell:    func(f fruit) field { return field{fmt.Sprint(f.n), e.styles.Danger} },
			compare: func(a, b fruit) int { return cmp.Compare(a.n, b.n) },
		})
}

// Every line is as wide as it should be, whatever is written in the cells.
func TestTableIsExactlyAsLargeAsAsked(t *testing.T) {
	table := fruitTable()
	table.set([]fruit{{"apple", 1}, {"日本語日本語日本語日本語", 2}, {"👩‍👩‍👧‍👦 family 👩‍👩‍👧‍👦", 3}, {"é́́ combining", 4}, {strings.Repeat("long.", 20), 5}, {"", 6}})
	table.toggle()
	for width := 1; width < 70; width++ {
		for _, height := range []int{1, 2, 4, 12} {
			lines := strings.Split(table.view(width, height), "\n")
			if len(lines) != height {
				t.Fatalf("%d x %d: %d lines", width, height, len(lines))
			}
			for _, line := range lines {
				if n := ansi.StringWidth(line); n != width {
					t.Errorf("%d x %d: a line is %d wide: %q", width, height, n, line)
				}
			}
		}
	}
}

func TestColumnsGiveWay(t *testing.T) {
	columns := fruitTable().columns
	for _, tc := range []struct {
		width int
		want  []int
	}{
		{80, []int{30, 10, 6}}, // the flexible column has a limit
		{28, []int{8, 10, 6}},
		{30, []int{10, 10, 6}},
		{27, []int{19, 0, 6}}, // the highest drop goes first
		{15, []int{15, 0, 0}},
		{5, []int{5, 0, 0}},
	} {
		if got := columnWidths(columns, tc.width); !slices.Equal(got, tc.want) {
			t.Errorf("width %d: %v, want %v", tc.width, got, tc.want)
		}
	}
}

// TestSortMarkCutsNoTitle: the mark of a title that fills its column stands in the gap before it, and nothing is moved.
func TestSortMarkCutsNoTitle(t *testing.T) {
	source := &recorded{snapshot: busyBroker()}
	term := newTerminal(t, frozen(source), 120, 36)
	term.await("  WAITING  ")
	term.press("ss")
	term.awaitThat("the mark is there", func(screen string) bool {
		return strings.Contains(screen, " ▼WAITING  ") || strings.Contains(screen, " ▲WAITING  ")
	})
}

func TestCutMiddleKeepsBothEnds(t *testing.T) {
	for _, tc := range []struct {
		text  string
		width int
		want  string
	}{
		{"ucenter@enterprise@failed", 15, "ucenter…@failed"}, {"short", 15, "short"}, {"日本語日本語", 7, "日…本語"}, {"abcdef", 3, "ab…"},
	} {
		if got := cutMiddle(tc.text, tc.width); got != tc.want || ansi.StringWidth(got) > tc.width {
			t.Errorf("cutMiddle(%q, %d) = %q, want %q", tc.text, tc.width, got, tc.want)
		}
	}
}

func TestCursorFollowsItsItem(t *testing.T) {
	table := fruitTable()
	table.set(nil) // nothing yet: the first that comes gets the cursor
	var fruits []fruit
	for i := range 50 {
		fruits = append(fruits, fruit{fmt.Sprintf("f%02d", i), i})
	}
	table.set(fruits)
	table.view(60, 11)
	for range 20 {
		table.motion(tea.KeyMsg{Type: tea.KeyDown})
		table.view(60, 11)
	}
	line := table.index - table.drawn.top
	table.set(append([]fruit{{"a", 0}, {"b", 0}, {"c", 0}}, fruits...))
	table.view(60, 11)
	if at, ok := table.current(); !ok || at.name != "f20" {
		t.Errorf("the cursor is on %v", at)
	}
	if got := table.index - table.drawn.top; got != line {
		t.Errorf("the cursor was on line %d of the screen and is on %d", line, got)
	}
	table.set(slices.DeleteFunc(slices.Clone(fruits), func(f fruit) bool { return f.name == "f20" }))
	if at, ok := table.current(); ok {
		t.Errorf("the cursor's item is gone, and the cursor is on %v", at)
	}
	table.set(fruits)
	if at, ok := table.current(); !ok || at.name != "f20" {
		t.Errorf("the cursor's item is back, and the cursor is on %v, %v", at, ok)
	}
	table.set(append([]fruit{{"a", 0}, {"b", 0}, {"c", 0}}, fruits...))
	table.set(slices.DeleteFunc(slices.Clone(fruits), func(f fruit) bool { return f.name == "f20" }))
	table.motion(tea.KeyMsg{Type: tea.KeyDown})
	if at, _ := table.current(); at.name != "f24" { // the row where the cursor was: three rows further down than f20 then
		t.Errorf("after a key the cursor is on %v", at)
	}
	table.set(fruits)
	table.narrow(func(f fruit) bool { return f.n > 40 })
	if at, ok := table.current(); !ok || at.n <= 40 {
		t.Errorf("after a filter the cursor is on %v, %v", at, ok)
	}
}

func TestSelection(t *testing.T) {
	table := fruitTable()
	table.set([]fruit{{"a", 1}, {"b", 2}, {"c", 3}, {"d", 4}, {"e", 5}})
	press := func(keys string) {
		for _, r := range keys {
			msg := tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune{r}}
			if r == ' ' {
				msg.Type = tea.KeySpace
			}
			if !table.choosing(msg) {
				table.motion(msg)
			}
		}
	}
	chosen := func() string {
		var names string
		for _, f := range table.selection() {
			names += f.name
		}
		return names
	}
	for _, tc := range []struct{ keys, want string }{
		{" ", "a"}, {" ", "ab"}, {"gv", "ab"}, {"jjj", "abcd"}, {"vj", "abcd"}, {"*", "abcde"}, {"*", ""}, {"g ", "a"},
	} {
		press(tc.keys)
		if got := chosen(); got != tc.want {
			t.Errorf("after %q: %q, want %q", tc.keys, got, tc.want)
		}
	}
	press("*")
	table.narrow(func(f fruit) bool { return f.n < 3 })
	press("*")
	if got := chosen(); got != "cde" {
		t.Errorf("unchoosing what is shown left %q, want cde", got)
	}
	table.set([]fruit{{"a", 1}, {"d", 4}})
	if got := chosen(); got != "d" {
		t.Errorf("after the others vanished: %q, want d", got)
	}
}
