package body

import (
	"slices"
	"strings"
)

// Row is a line of one text beside the corresponding line of another.
type Row struct {
	Left, Right       Line
	HasLeft, HasRight bool // one is false: only the other text has this line
	Same              bool
}

// mostEdits bounds the work of a comparison, in lines removed or added.
const mostEdits = 1000

// Compare puts two texts side by side with as few differing lines as possible (Myers, An O(ND) Difference Algorithm and
// Its Variations, 1986). A comma at the end of a line makes no difference: it only says that another member follows.
// near is false when too much differs: then the lines between the equal beginning and the equal end are paired in
// order.
func Compare(left, right []Line) (rows []Row, near bool) {
	a, b := compared(left), compared(right)
	start := 0
	for start < len(a) && start < len(b) && a[start] == b[start] {
		start++
	}
	endA, endB := len(a), len(b)
	for endA > start && endB > start && a[endA-1] == b[endB-1] {
		endA--
		endB--
	}
	same, near := common(a[start:endA], b[start:endB])
	x, y := 0, 0 // the next lines that are not in rows yet
	upTo := func(toX, toY int) {
		for x < toX || y < toY {
			r := Row{HasLeft: x < toX, HasRight: y < toY}
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
	equal := func(n int) {
		for range n {
			rows = append(rows, Row{left[x], right[y], true, true, true})
			x++
			y++
		}
	}
	equal(start)
	for _, at := range same {
		upTo(start+at[0], start+at[1])
		equal(1)
	}
	upTo(endA, endB)
	equal(len(a) - endA)
	return rows, near
}

func compared(lines []Line) []string {
	all := make([]string, len(lines))
	for i, l := range lines {
		all[i] = strings.TrimSuffix(l.String(), ",")
	}
	return all
}

// common are the positions of equal lines, as many as possible in the same order.
func common(a, b []string) (places [][2]int, found bool) {
	most := min(len(a)+len(b), mostEdits)
	reached := make([]int, 2*most+3) // by diagonal: the position reached in a
	middle := most + 1
	var steps [][]int // reached before each number of edits, around the middle
	for edits := 0; edits <= most; edits++ {
		steps = append(steps, append([]int(nil), reached[middle-edits:middle+edits+1]...))
		for k := -edits; k <= edits; k += 2 {
			x := reached[middle+k-1] + 1 // remove a line of a
			if k == -edits || k != edits && reached[middle+k-1] < reached[middle+k+1] {
				x = reached[middle+k+1] // add a line of b
			}
			y := x - k
			for x < len(a) && y < len(b) && a[x] == b[y] {
				x, y = x+1, y+1
			}
			reached[middle+k] = x
			if x >= len(a) && y >= len(b) {
				return walkedBack(steps, edits, len(a), len(b)), true
			}
		}
	}
	return nil, false
}

func walkedBack(steps [][]int, edits, x, y int) [][2]int {
	var places [][2]int
	for ; edits > 0; edits-- {
		before := steps[edits]
		k := x - y
		at := func(diagonal int) int { return before[diagonal+edits] }
		from := k - 1
		if k == -edits || k != edits && at(k-1) < at(k+1) {
			from = k + 1
		}
		fromX := at(from)
		fromY := fromX - from
		for x > fromX && y > fromY {
			x, y = x-1, y-1
			places = append(places, [2]int{x, y})
		}
		x, y = fromX, fromY
	}
	for x > 0 && y > 0 {
		x, y = x-1, y-1
		places = append(places, [2]int{x, y})
	}
	slices.Reverse(places)
	return places
}
