package term

import (
	"cmp"
	"testing"

	"github.com/dlxtop/dlxtop/internal/assert"
)

// A click means the row that was drawn: rows that have changed places or are gone since are not hit.
func TestClickMeansWhatWasDrawn(t *testing.T) {
	type item struct {
		name string
		rank int
	}
	table := NewTable(Kit{Styles: &Styles{}, Keys: NewListKeys()}, func(i item) string { return i.name },
		func(a, b item) int { return cmp.Compare(a.rank, b.rank) },
		Column[item]{Title: "NAME", Width: 10, Cell: func(i item) Field { return Field{Text: i.name} }})
	table.Set([]item{{"a", 1}, {"b", 2}, {"c", 3}})
	table.View(20, 10)
	at := func() string {
		i, _ := table.Current()
		return i.name
	}
	for _, outside := range [][2]int{{5, 0}, {5, 4}, {20, 2}, {-1, 2}, {5, -3}} {
		assert.That(t, !table.Click(outside[0], outside[1]) && at() == "a", "a click at %v has hit %s", outside, at())
	}
	table.Set([]item{{"b", 9}, {"c", 3}, {"d", 2}}) // a poll, and nothing was drawn since
	assert.That(t, !table.Click(5, 2) && at() == "b", "a click on b has hit %s", at())
	assert.That(t, table.Click(5, 2), "the second click on a row is not known as such")
	assert.That(t, !table.Click(5, 1) && at() == "b", "a click on a, which is gone, has hit %s", at())
	table.MoveTo(0)
	table.MoveTo(2)
	assert.That(t, !table.Click(5, 2), "a click after the cursor was moved by keys counts as a second one")
}
