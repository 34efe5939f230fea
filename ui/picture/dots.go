package picture

import (
	"slices"
	"time"

	"github.com/dlxtop/dlxtop/ui/term"
)

// The dots' clock. A dot moves one cell a step, so an arrow shows at most one dot a cell: beyond dotsPerSecond messages
// per second it is full, and its label shows the rate.
const (
	DotStep       = 125 * time.Millisecond
	dotsPerSecond = float64(time.Second / DotStep)
	MarkDot       = "•"
)

// Dots are the messages on the arrows of a picture: one dot for one measured message.
type Dots map[string]train

type train struct {
	at   []int   // the cells with dots, counted from the arrow's start
	owed float64 // the fraction of the next dot that has come due
}

// Step moves every dot by one cell and starts new ones at the measured rates.
func (d Dots) Step(paths []path) Dots {
	next := make(Dots, len(paths))
	for _, p := range paths {
		if p.arrow.id == "" || len(p.cells) == 0 {
			continue
		}
		old, running := d[p.arrow.id]
		t := train{owed: old.owed}
		for _, at := range old.at {
			if at+1 < len(p.cells) {
				t.at = append(t.at, at+1)
			}
		}

		if rate := p.arrow.Now(); rate > 0 {
			step := min(rate/dotsPerSecond, 1)
			if !running {
				t.owed = 1 - step // the first one starts at once
			}
			t.owed += step
			if t.owed >= 1 {
				t.at = append(t.at, 0)
				t.owed--
			}
		} else {
			t.owed = 0
		}

		if len(t.at) > 0 || t.owed > 0 {
			next[p.arrow.id] = t
		}
	}

	return next
}

func (d Dots) Moving(paths []path) bool {
	return len(d) > 0 || slices.ContainsFunc(paths, func(p path) bool { return p.arrow.Now() > 0 })
}

func (d Dots) Draw(s *Scene) *term.Canvas {
	if len(d) == 0 {
		return s.Canvas
	}
	c := s.Canvas.Clone()
	for _, p := range s.Paths {
		for _, at := range d[p.arrow.id].at {
			if at < len(p.cells) {
				c.Put(p.cells[at].X, p.cells[at].Y, MarkDot, term.Good)
			}
		}
	}

	return c
}
