package ui

import "dlxtop/model"

// draw draws a placed picture: boxes first, then the arrows between them.
func (w *wide) draw() *scene {
	s := &scene{canvas: newCanvas(w.width, w.height), rows: map[model.QueueRef]int{}}
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
	w.drawRetry(s)
	w.drawLoop(s)
	w.drawFailed(s)
	return s
}

func (s *scene) draw(b placed) {
	if b.empty() {
		return
	}
	s.canvas.box(b.x, b.y, b.width, b.height(), b.title, b.border)
	for i, l := range b.lines {
		first := 1 // pieces that are cut rather than left out
		if b.list {
			first = 3
		}
		s.canvas.line(b.x+2, b.y+1+i, l.whole(b.width-4, first))
	}
	for i, q := range b.queues {
		row := b.y
		if b.list {
			row += 1 + i
		}
		s.rows[q] = row
	}
}

// arrow draws a line through corner points, with a head at its end, and remembers its cells for the dots.
func (s *scene) arrow(a arrow, head string, corners ...point) {
	c := s.canvas
	way := path{arrow: a}
	for i := 1; i < len(corners); i++ {
		from, to := corners[i-1], corners[i]
		dx, dy := sign(to.x-from.x), sign(to.y-from.y)
		line := "─"
		if dx == 0 {
			line = "│"
		}
		for at := from; ; at = (point{at.x + dx, at.y + dy}) {
			if at == from && i > 1 {
				before := corners[i-2]
				c.put(at.x, at.y, corner(sign(from.x-before.x), sign(from.y-before.y), dx, dy), toneBorder)
			} else {
				c.put(at.x, at.y, line, toneBorder)
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
		t := toneBorder
		if head == markError {
			t = toneDanger
		}
		c.put(end.x, end.y, head, t)
		way.cells = way.cells[:len(way.cells)-1]
	}
	s.paths = append(s.paths, way)
}

// corner is the character in which a line turns from one direction to another.
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

func sign(n int) int {
	switch {
	case n > 0:
		return 1
	case n < 0:
		return -1
	}
	return 0
}

// leave marks where an arrow leaves a box.
func (s *scene) leave(x, y int, mark string) {
	s.canvas.put(x, y, mark, s.canvas.at(x, y).tone)
}

// label writes an arrow's words below its line, one a row.
func (s *scene) label(x, y int, a arrow) {
	for i, word := range a.words() {
		s.canvas.text(x, y+i, word.text, word.tone)
	}
}

// caption writes an arrow's words side by side.
func (s *scene) caption(x, y int, a arrow) {
	for _, word := range a.words() {
		x = s.canvas.text(x, y, word.text, word.tone) + 1
	}
}

// sentence writes words into a column, wrapped, and marks them as bad.
func (s *scene) sentence(x, y int, words string) {
	for i, l := range wrap(words, s.canvas.width-x) {
		s.canvas.text(x, y+i, l, toneDanger)
	}
}

// across draws a horizontal arrow between two columns (both excluded from the boxes).
func (s *scene) across(a arrow, fromBox, toBox, row int) {
	s.leave(fromBox, row, "├")
	s.arrow(a, "▶", point{fromBox + 1, row}, point{toBox - 1, row})
	at := fromBox + 1
	if stacked, _ := a.room(); toBox-at > stacked+1 {
		at++ // not so close to the box
	}
	s.label(at, row+1, a)
}

func (w *wide) drawLane(s *scene, l *wideLane) {
	if !l.buffers.empty() && !l.entrance.empty() {
		s.across(l.lane.buffers.in, l.entrance.right(), l.buffers.x, l.row)
	}
	if l.buffers.empty() && !l.exchange.empty() {
		start := diagramMargin + len(publishersWord) + 1
		if l.exchange.x-start >= 4 {
			s.canvas.text(diagramMargin, l.row, publishersWord, toneMuted)
			s.arrow(l.enters, "▶", point{start, l.row}, point{l.exchange.x - 1, l.row})
			s.label(start+1, l.row+1, l.enters)
		}
	}
	switch {
	case l.deadAt:
		from := l.buffers.right()
		s.leave(from, l.row, "├")
		s.arrow(l.lane.buffers.out, markError, point{from + 1, l.row}, point{l.deadFrom() - 2, l.row})
		s.label(from+1, l.row+1, arrow{label: l.lane.buffers.out.label})
		s.sentence(l.deadFrom(), l.row, l.dead)
		return
	case !l.buffers.empty():
		s.across(l.lane.buffers.out, l.buffers.right(), l.exchange.x, l.row)
	}
	from := l.exchange.right()
	if l.dead == "" {
		s.across(l.out, from, w.worker.x, l.row)
		return
	}
	s.leave(from, l.row, "├")
	s.arrow(l.out, markError, point{from + 1, l.row}, point{l.deadFrom() - 2, l.row})
	s.sentence(l.deadFrom(), l.row, l.dead)
}

// drawRetry draws the loop below: from the worker into the retry buffer, and from there up into the exchange before the worker.
func (w *wide) drawRetry(s *scene) {
	if w.retry.empty() {
		return
	}
	g := w.retries[0]
	outRow, inRow := w.retry.y+1, min(w.retry.y+2, w.retry.bottom()-1)
	if inRow == outRow {
		inRow = w.retry.bottom()
	}
	if g.lane < len(w.lanes) {
		x := w.lanes[g.lane].exchange
		up := max(x.middle(), w.retry.right()+1)
		s.leave(w.retry.right(), outRow, "├")
		s.arrow(g.out, "▲", point{w.retry.right() + 1, outRow}, point{up, outRow}, point{up, x.bottom() + 1})
		s.caption(up+2, outRow, g.out)
	}
	trunk := w.worker.x + 2
	s.leave(trunk, w.worker.bottom(), "┬")
	s.arrow(g.in, "◀", point{trunk, w.worker.bottom() + 1}, point{trunk, inRow}, point{w.retry.right() + 1, inRow})
	s.caption(w.retry.right()+4, inRow+1, g.in)
}

// drawLoop draws the loop of a buffer that publishers and the worker's failures both enter.
func (w *wide) drawLoop(s *scene) {
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
	s.arrow(arrow{id: "loop"}, "▲", point{trunk, w.worker.bottom() + 1}, point{trunk, row}, point{to.middle(), row}, point{to.middle(), to.bottom() + 1})
	s.canvas.text(to.middle()+4, row+1, loopWords, toneMuted)
}

// drawFailed draws what happens to what the worker gives up.
func (w *wide) drawFailed(s *scene) {
	if w.failed.empty() && w.dead == "" {
		return
	}
	x, top := w.worker.x+6, w.worker.bottom()
	s.leave(x, top, "┬")
	if w.failed.empty() {
		s.arrow(arrow{id: "lost", label: "rejected"}, markError, point{x, top + 1}, point{x, top + 2})
		s.canvas.text(x+2, top+1, "rejected", toneMuted)
		s.sentence(x+2, top+2, w.dead)
		return
	}
	s.arrow(w.picture.failed.in, "▼", point{x, top + 1}, point{x, w.failed.y - 1})
	s.label(x+2, top+1, w.picture.failed.in)
}
