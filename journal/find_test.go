package journal_test

import (
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/journal"
	"github.com/dlxtop/dlxtop/model/plan"
)

// TestFindTellsWhatEntriesTell: each entry is found by its position, in any order, and of a damaged one and of one that
// is not there the error names the record.
func TestFindTellsWhatEntriesTell(t *testing.T) {
	j := open(t, journal.Options{Path: at(t)})
	id := begin(t, j, record(plan.Drop))
	for first := 1; first < 1000; first += 10 {
		check(t, j.Write(id, dropped(first, first+1, first+7), nil))
	}
	check(t, j.Damage(t.Context(), 511))
	find, err := j.Find(t.Context(), id)
	check(t, err)
	var all []plan.Entry
	check(t, j.Entries(t.Context(), id, func(e *plan.Entry) error {
		all = append(all, *e)
		return nil
	}))
	rand.Shuffle(len(all), func(i, k int) { all[i], all[k] = all[k], all[i] })
	damaged := 0
	for _, want := range all {
		got, err := find(want.Position)
		switch {
		case want.Damaged != "":
			damaged++
			assert.That(t, err != nil, "a damaged entry is found: %+v", got)
		case err != nil || !reflect.DeepEqual(got, want):
			t.Fatalf("%+v %v, and Entries has %+v", got, err, want)
		}
	}
	if _, err := find(5); err == nil || !strings.Contains(err.Error(), "journal show 1") {
		t.Errorf("of none: %v", err)
	}
	assert.That(t, len(all) == 300 && damaged == 1, "%d entries, %d damaged", len(all), damaged)
}
