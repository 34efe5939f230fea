package picture

import (
	"cmp"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/ui/term"
)

// draw draws a placed picture: boxes first, then the arrows between them.
func (w *wide) draw() *Scene {
	s := &Scene{Canvas: term.NewCanvas(w.width, w.height), Rows: map[model.QueueRef]int{}}
	for i := range w.lanes {
		for _, b := range w.lanes[i].boxes() {
			s.draw(b)
		}
	}

	s.draw(w.worker)
	s.draw(w.retry)
	s.draw(w.failed)
	for i := range w.lanes {
		w.drawLane(s, &w.lanes[i])
	}

	w.drawBack(s)
	w.drawRetry(s)
	w.drawLoop(s)
	w.drawFailed(s)
	return s
}

func (s *Scene) draw(b placed) {
	if b.empty() {
		return
	}
	s.Canvas.Box(b.x, b.y, b.width, b.height(), b.title, b.border)
	for i, l := range b.lines {
		first := 1 // pieces that are cut rather than dropped
		if b.list {
			first = 3
		}
		s.Canvas.Line(b.x+2, b.y+1+i, l.Whole(b.width-4, first))
	}

	for i, q := range b.queues {
		row := b.y
		if b.list {
			row += 1 + i
		}
		s.Rows[q] = row
	}
}

// arrow draws a line through corner points, with a head at its end, and records its cells for the dots.
func (s *Scene) arrow(a Arrow, head string, corners ...term.Point) {
	c := s.Canvas
	way := path{arrow: a}
	for i := 1; i < len(corners); i++ {
		from, to := corners[i-1], corners[i]
		dx, dy := sign(to.X-from.X), sign(to.Y-from.Y)
		line := "─"
		if dx == 0 {
			line = "│"
		}

		for at := from; ; at = xy(at.X+dx, at.Y+dy) {
			if at == from && i > 1 {
				before := corners[i-2]
				c.Put(at.X, at.Y, corner(sign(from.X-before.X), sign(from.Y-before.Y), dx, dy), term.Border)
			} else {
				c.Put(at.X, at.Y, line, term.Border)
			}

			if at != from || i == 1 {
				way.cells = append(way.cells, at)
			}
			if at == to {
				break
			}
		}
	}

	if head != "" && len(way.cells) > 0 {
		end := way.cells[len(way.cells)-1]
		t := term.Border
		if head == term.MarkError {
			t = term.Danger
		}
		c.Put(end.X, end.Y, head, t)
		way.cells = way.cells[:len(way.cells)-1]
	}

	s.Paths = append(s.Paths, way)
}

func xy(x, y int) term.Point { return term.Point{X: x, Y: y} }

// corner returns the character in which a line turns from one direction to another.
func corner(inX, inY, outX, outY int) string {
	switch {
	case inX > 0 && outY > 0, inY < 0 && outX < 0:
		return "╮"
	case inX > 0 && outY < 0, inY > 0 && outX < 0:
		return "╯"
	case inX < 0 && outY > 0, inY < 0 && outX > 0:
		return "╭"
	case inX < 0 && outY < 0, inY > 0 && outX > 0:
		return "╰"
	case inX != 0:
		return "─"
	}

	return "│"
}

func sign(n int) int { return cmp.Compare(n, 0) }

// leave marks where an arrow leaves a box.
func (s *Scene) leave(x, y int, mark string) { s.Canvas.Put(x, y, mark, s.Canvas.At(x, y).Style) }

func (s *Scene) label(x, y int, a Arrow) {
	for i, word := range a.describe() {
		s.Canvas.Text(x, y+i, word.Text, word.Style)
	}
}

func (s *Scene) caption(x, y int, a Arrow) {
	for _, word := range a.describe() {
		x = s.Canvas.Text(x, y, word.Text, word.Style) + 1
	}
}

// sentence writes wrapped words into a column, marked as bad.
func (s *Scene) sentence(x, y int, words string) {
	for i, l := range term.Wrap(words, s.Canvas.Width-x) {
		s.Canvas.Text(x, y+i, l, term.Danger)
	}
}

// across draws a horizontal arrow between two columns (excluding the boxes).
func (s *Scene) across(a Arrow, fromBox, toBox, row int) {
	s.leave(fromBox, row, "├")
	s.arrow(a, "▶", xy(fromBox+1, row), xy(toBox-1, row))
	at := fromBox + 1
	if stacked, _ := a.room(); toBox-at > stacked+1 {
		at++ // not so close to the box
	}
	s.label(at, row+1, a)
}

func (w *wide) drawLane(s *Scene, l *wideLane) {
	if !l.buffers.empty() && !l.entrance.empty() {
		s.across(l.lane.buffers.in, l.entrance.right(), l.buffers.x, l.row)
	}

	if l.enters.id != "" && !l.exchange.empty() {
		start := diagramMargin + len(publishersWord) + 1
		if l.exchange.x-start >= 4 {
			s.Canvas.Text(diagramMargin, l.row, publishersWord, term.Muted)
			s.arrow(l.enters, "▶", xy(start, l.row), xy(l.exchange.x-1, l.row))
			s.label(start+1, l.row+1, l.enters)
		}
	}

	from, out := l.exchange.right(), l.out
	switch {
	case l.deadAt:
		from, out = l.buffers.right(), l.lane.buffers.out
		s.label(from+1, l.row+1, Arrow{label: out.label})
	case !l.buffers.empty():
		s.across(l.lane.buffers.out, l.buffers.right(), l.exchange.x, l.row)
	}

	if l.dead == "" {
		s.across(out, from, w.worker.x, l.row)
		return
	}

	s.leave(from, l.row, "├")
	s.arrow(out, term.MarkError, xy(from+1, l.row), xy(l.deadFrom()-2, l.row))
	s.sentence(l.deadFrom(), l.row, l.dead)
}

// drawBack draws that messages return to the worker at once: they are redelivered. It is too short for dots.
func (w *wide) drawBack(s *Scene) {
	if !w.back {
		return
	}
	from, row := w.worker.right(), w.worker.y+1
	s.leave(from, row, "├")
	s.arrow(Arrow{}, "◀", xy(from+1, row), xy(from+2, row),
		xy(from+2, row+1), xy(from+1, row+1))
}

// drawRetry draws the loop below: from the worker into the retry buffer, and from there up into the exchange before the
// worker.
func (w *wide) drawRetry(s *Scene) {
	if w.retry.empty() {
		return
	}
	g := w.retries[0]
	outRow := w.retry.y + 1
	inRow := min(w.retry.y+2, w.retry.bottom()-1)
	if inRow == outRow {
		inRow = w.retry.bottom()
	}

	if g.lane < len(w.lanes) {
		x := w.lanes[g.lane].exchange
		up := max(x.middle(), w.retry.right()+1)
		s.leave(w.retry.right(), outRow, "├")
		s.arrow(g.out, "▲", xy(w.retry.right()+1, outRow), xy(up, outRow),
			xy(up, x.bottom()+1))
		s.caption(up+2, outRow, g.out)
	}

	trunk := w.worker.x + 2
	s.leave(trunk, w.worker.bottom(), "┬")
	s.arrow(g.in, "◀", xy(trunk, w.worker.bottom()+1), xy(trunk, inRow),
		xy(w.retry.right()+1, inRow))
	s.caption(w.retry.right()+4, inRow+1, g.in)
}

func (w *wide) drawLoop(s *Scene) {
	i := w.loopLane()
	if i < 0 {
		return
	}
	l := w.lanes[i]
	to := l.entrance
	if to.empty() {
		to = l.buffers
	}

	trunk, row := w.worker.x+2, w.loopRow
	s.leave(trunk, w.worker.bottom(), "┬")
	s.arrow(Arrow{id: "loop"}, "▲", xy(trunk, w.worker.bottom()+1), xy(trunk, row),
		xy(to.middle(), row), xy(to.middle(), to.bottom()+1))
	s.Canvas.Text(to.middle()+4, row+1, loopWords, term.Muted)
}

func (w *wide) drawFailed(s *Scene) {
	if w.failed.empty() && w.dead == "" {
		return
	}
	x, top := w.worker.x+6, w.worker.bottom()
	s.leave(x, top, "┬")
	if w.failed.empty() {
		s.arrow(Arrow{id: "lost", label: "rejected"}, term.MarkError, xy(x, top+1),
			xy(x, top+2))
		s.Canvas.Text(x+2, top+1, "rejected", term.Muted)
		s.sentence(x+2, top+2, w.dead)
		return
	}

	s.arrow(w.Picture.failed.in, "▼", xy(x, top+1), xy(x, w.failed.y-1))
	s.label(x+2, top+1, w.Picture.failed.in)
}
