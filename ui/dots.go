package ui

import "time"

// The dots' clock. A dot runs one cell a step, so an arrow shows at most one dot a cell: beyond dotsPerSecond messages per second
// it is full, and its label tells the rate.
const (
	dotStep       = 125 * time.Millisecond
	dotsPerSecond = float64(time.Second / dotStep)
	markDot       = "•"
)

// dots are the messages on the arrows of a picture: one dot for one measured message.
type dots map[string]train

// train is what runs along one arrow.
type train struct {
	at   []int   // the cells where dots are, counted from the arrow's start
	owed float64 // of the next dot, the part that has come due
}

// step moves every dot one cell on and lets new ones start, as many as the measured rates say.
func (d dots) step(paths []path) dots {
	next := make(dots, len(paths))
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
		if rate := p.arrow.now(); rate > 0 {
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

// moving reports whether another step would change anything.
func (d dots) moving(paths []path) bool {
	if len(d) > 0 {
		return true
	}
	for _, p := range paths {
		if p.arrow.now() > 0 {
			return true
		}
	}
	return false
}

// draw puts the dots onto a copy of a scene's canvas.
func (d dots) draw(s *scene) *canvas {
	if len(d) == 0 {
		return s.canvas
	}
	c := s.canvas.clone()
	for _, p := range s.paths {
		for _, at := range d[p.arrow.id].at {
			if at < len(p.cells) {
				c.put(p.cells[at].x, p.cells[at].y, markDot, toneGood)
			}
		}
	}
	return c
}
