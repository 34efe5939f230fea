package picture

import (
	"github.com/charmbracelet/x/ansi"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/ui/term"
)

const (
	markQueue    = "■"
	markExchange = "◇"
)

// railRow is one row of the narrow layout: a station, or the space between two of them.
type railRow struct {
	mark  string // of a station
	name  term.Span
	facts term.Spans
	queue model.QueueRef
	down  []Arrow   // the arrow that runs down through this row
	side  *Arrow    // the arrow that leads to a station beside the rail
	last  bool      // for stations beside the rail: the rail ends here
	loop  *railLoop // a way back up along the left edge
}

type railLoop struct {
	arrow Arrow
	to    int // row
	depth int // 0 is nearest to the rail
}

// railColumns are the columns of short facts that a rail shows, if they fit.
const railColumns = 5

const sideStep = 3

// RailLayout draws a picture as one rail from top to bottom, with one station a row: for narrow terminals and for many
// stations. It fits any width, and is as high as needed.
func RailLayout(p *Picture, width int, cursor model.QueueRef) *Scene {
	rows := railRows(p)
	loops, names := 0, 0
	for i, r := range rows {
		if r.loop != nil {
			rows[i].loop.depth = loops
			loops++
		}
		if r.queue.Name != "" || r.mark == markExchange {
			names = max(names, ansi.StringWidthWc(r.name.Text)+r.indent())
		}
	}

	s := &Scene{Canvas: term.NewCanvas(width, len(rows)), Rows: map[model.QueueRef]int{}}
	rail := diagramMargin
	if loops > 0 {
		rail += 1 + 2*loops
	}

	facts := rail + 2 + min(names, width/2) + 2
	for y, r := range rows {
		s.railRow(r, y, rail, facts, cursor)
	}

	for y, r := range rows {
		if r.loop != nil {
			x := rail - 3 - 2*r.loop.depth
			s.arrow(r.loop.arrow, "▶", xy(rail-1, y), xy(x, y),
				xy(x, r.loop.to), xy(rail-1, r.loop.to))
		}
	}

	return s
}

func (r railRow) indent() int {
	if r.side != nil {
		return sideStep
	}
	return 0
}

func (s *Scene) railRow(r railRow, y, rail, facts int, cursor model.QueueRef) {
	c := s.Canvas
	for _, a := range r.down {
		c.Put(rail, y, "│", term.Border)
		s.Paths = append(s.Paths, path{arrow: a, cells: []term.Point{xy(rail, y)}})
		s.caption(rail+2, y, a)
	}

	if r.side != nil {
		mark := "├"
		if r.last {
			mark = "╰"
		}
		c.Put(rail, y, mark, term.Border)
		s.arrow(*r.side, "▶", xy(rail+1, y), xy(rail+2, y))
	}

	if r.mark == "" {
		return
	}
	x := rail + r.indent()
	markTone := term.Border
	switch {
	case r.mark == term.MarkError:
		markTone = term.Danger
		c.Text(x+2, y, r.name.Text, term.Danger)
	case r.mark == markQueue || r.mark == markExchange:
		c.Text(x+2, y, term.CutMiddle(r.name.Text, max(facts-x-4, 1)), r.name.Style)
	}

	if r.queue.Name != "" {
		markTone = r.name.Style
		s.Rows[r.queue] = y
	}

	c.Put(x, y, r.mark, markTone)
	if r.queue.Name != "" && r.queue == cursor {
		c.Put(x, y, term.MarkCursor, term.Accent)
	}

	c.Line(facts, y, r.facts.Whole(max(c.Width-facts, 1), 1))
}

func railRows(p *Picture) []railRow {
	b := railBuilder{facts: map[model.QueueRef]term.Spans{}}
	stations := p.Stations()
	for i, facts := range aligned(stations, railColumns) {
		b.facts[stations[i].Queue] = facts
	}

	loopTo := -1
	exchangeRow := make([]int, len(p.lanes))
	for i, l := range p.lanes {
		if i > 0 {
			between := railRow{}
			if p.lanes[i-1].dead == "" {
				between.down = []Arrow{{}} // both lanes lead on to the worker
			}
			b.rows = append(b.rows, between)
		}

		if l.loop {
			loopTo = len(b.rows)
		}

		if l.entrance.name != "" {
			b.station(l.entrance)
			b.down(l.buffers.in)
		}

		for _, s := range l.buffers.stations {
			b.station(s)
		}
		if !l.buffers.empty() {
			b.down(l.buffers.out)
		}

		exchangeRow[i] = len(b.rows)
		if !l.deadAt {
			b.station(l.exchange)
		}

		if l.dead != "" {
			b.rows = append(b.rows, railRow{mark: term.MarkError, name: term.Danger.Span(l.dead)})
			continue
		}

		b.down(l.out)
	}

	b.station(p.worker)
	if p.dead != "" && p.failed.empty() {
		b.rows = append(b.rows, railRow{mark: term.MarkError, name: term.Danger.Span("rejected: " + p.dead)})
	}

	below := len(p.retries) > 0 || loopTo >= 0
	for i, s := range p.failed.stations {
		b.station(s)
		r := &b.rows[len(b.rows)-1]
		r.side = &p.failed.in
		r.last = !below && i == len(p.failed.stations)-1
		for _, word := range p.failed.in.describe() {
			r.facts = append(r.facts, word.Style.Span("  "+word.Text))
		}
	}

	for _, g := range p.retries {
		b.down(g.in)
		for _, s := range g.stations {
			b.station(s)
		}
		b.rows[len(b.rows)-1].loop = &railLoop{arrow: g.out, to: exchangeRow[min(g.lane, len(exchangeRow)-1)]}
	}

	if loopTo >= 0 {
		b.rows = append(b.rows, railRow{
			mark: "╯", facts: term.Spans{term.Muted.Span(loopWords)},
			loop: &railLoop{arrow: Arrow{id: "loop"}, to: loopTo},
		})
	}

	return b.rows
}

type railBuilder struct {
	rows  []railRow
	facts map[model.QueueRef]term.Spans
}

func (b *railBuilder) station(s Station) {
	r := railRow{mark: markExchange, name: s.tone.Span(s.name), facts: s.short}
	if s.isQueue() {
		r.mark = markQueue
		r.queue = s.Queue
		r.facts = b.facts[s.Queue]
	}
	b.rows = append(b.rows, r)
}

func (b *railBuilder) down(a Arrow) { b.rows = append(b.rows, railRow{down: []Arrow{a}}) }
