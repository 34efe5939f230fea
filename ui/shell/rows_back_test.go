package shell

import (
	"testing"

	"github.com/dlxtop/dlxtop/internal/assert"
)

func TestRowsThatCameBackStandBehindTheOthers(t *testing.T) {
	rows := []*MessageRow{{Position: 4}, {Position: 5}, {Position: 9}, {Position: 1}, {Position: 2}}
	Renumber(rows)
	for i, want := range []int32{4, 5, 9, 10, 11} {
		assert.Equal(t, rows[i].Position, want, "row %d", i)
	}
}
