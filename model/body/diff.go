package body

import (
	"strings"

	"github.com/aymanbagabas/go-udiff/lcs"
)

// Row is a line of one text beside the corresponding line of another.
type Row struct {
	Left, Right       Line
	HasLeft, HasRight bool // one is false: only the other text has this line
	Same              bool
}

// Compare puts two texts side by side with few differing lines: as few as possible up to about a hundred. A comma at
// the end of a line makes no difference: it only says that another member follows.
func Compare(left, right []Line) (rows []Row) {
	x, y := 0, 0 // the next lines that are not in rows yet
	upTo := func(toX, toY int, same bool) {
		for x < toX || y < toY {
			r := Row{HasLeft: x < toX, HasRight: y < toY, Same: same}
			if r.HasLeft {
				r.Left = left[x]
				x++
			}

			if r.HasRight {
				r.Right = right[y]
				y++
			}

			rows = append(rows, r)
		}
	}

	for _, d := range lcs.DiffLines(compared(left), compared(right)) {
		upTo(d.Start, d.ReplStart, true)
		upTo(d.End, d.ReplEnd, false)
	}

	upTo(len(left), len(right), true)
	return rows
}

func compared(lines []Line) []string {
	all := make([]string, len(lines))
	for i, l := range lines {
		all[i] = strings.TrimSuffix(l.String(), ",")
	}
	return all
}
