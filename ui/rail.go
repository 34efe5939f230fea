package ui

import (
	"github.com/charmbracelet/x/ansi"

	"dlxtop/model"
)

// The marks of the narrow layout.
const (
	markQueue    = "▣"
	markExchange = "○"
)

// railRow is one row of the narrow layout: a station, or what is between two of them.
type railRow struct {
	mark  string // of a station
	name  span
	facts spans
	queue model.QueueRef
	down  []arrow   // the arrow that runs down through this row
	side  *arrow    // the arrow that leads to a station beside the rail
	last  bool      // of stations beside the rail: the rail ends here
	loop  *railLoop // a way back up along the left edge
}

type railLoop struct {
	arrow arrow
	to    int // row
	depth int // 0 is nearest to the rail
}

// railColumns are the columns of the short facts that a rail shows, where they fit.
const railColumns = 5

// sideStep is how far a station beside the rail is from it.
const sideStep = 3

// railLayout draws a picture as one rail from top to bottom, a station a row: for narrow terminals and for many stations. It fits
// any width, and its height is what it needs.
func railLayout(p *picture, width int, cursor model.QueueRef) *scene {
	rows := railRows(p)
	loops, names := 0, 0
	for i, r := range rows {
		if r.loop != nil {
			rows[i].loop.depth = loops
			loops++
		}
		if r.queue.Name != "" || r.mark == markExchange {
			names = max(names, ansi.StringWidth(r.name.text)+r.indent())
		}
	}
	s := &scene{canvas: newCanvas(width, len(rows)), rows: map[model.QueueRef]int{}}
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
			s.arrow(r.loop.arrow, "▶", point{rail - 1, y}, point{x, y}, point{x, r.loop.to}, point{rail - 1, r.loop.to})
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

func (s *scene) railRow(r railRow, y, rail, facts int, cursor model.QueueRef) {
	c := s.canvas
	for _, a := range r.down {
		c.put(rail, y, "│", toneBorder)
		s.paths = append(s.paths, path{arrow: a, cells: []point{{rail, y}}})
		s.caption(rail+2, y, a)
	}
	if r.side != nil {
		mark := "├"
		if r.last {
			mark = "╰"
		}
		c.put(rail, y, mark, toneBorder)
		s.arrow(*r.side, "▶", point{rail + 1, y}, point{rail + 2, y})
	}
	if r.mark == "" {
		return
	}
	x := rail + r.indent()
	markTone := toneBorder
	switch {
	case r.mark == markError:
		markTone = toneDanger
		c.text(x+2, y, r.name.text, toneDanger)
	case r.mark == markQueue || r.mark == markExchange:
		c.text(x+2, y, cutMiddle(r.name.text, max(facts-x-4, 1)), r.name.tone)
	}
	if r.queue.Name != "" {
		markTone = r.name.tone
		s.rows[r.queue] = y
	}
	c.put(x, y, r.mark, markTone)
	if r.queue.Name != "" && r.queue == cursor {
		c.put(x, y, markCursor, toneAccent)
	}
	c.line(facts, y, r.facts.whole(max(c.width-facts, 1), 1))
}

// railRows puts the stations of a picture in order.
func railRows(p *picture) []railRow {
	b := railBuilder{facts: map[model.QueueRef]spans{}}
	stations := p.stations()
	for i, facts := range aligned(stations, railColumns) {
		b.facts[stations[i].queue] = facts
	}
	loopTo := -1
	exchangeRow := make([]int, len(p.lanes))
	for i, l := range p.lanes {
		if i > 0 {
			between := railRow{}
			if p.lanes[i-1].dead == "" {
				between.down = []arrow{{}} // both lanes lead on to the worker
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
			b.rows = append(b.rows, railRow{mark: markError, name: span{l.dead, toneDanger}})
			continue
		}
		b.down(l.out)
	}
	b.station(p.worker)
	if p.dead != "" && p.failed.empty() {
		b.rows = append(b.rows, railRow{mark: markError, name: span{"rejected: " + p.dead, toneDanger}})
	}
	below := len(p.retries) > 0 || loopTo >= 0
	for i, s := range p.failed.stations {
		b.station(s)
		r := &b.rows[len(b.rows)-1]
		r.side = &p.failed.in
		r.last = !below && i == len(p.failed.stations)-1
		for _, word := range p.failed.in.words() {
			r.facts = append(r.facts, span{"  " + word.text, word.tone})
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
			mark: "╯", facts: spans{{loopWords, toneMuted}}, loop: &railLoop{arrow: arrow{id: "loop"}, to: loopTo},
		})
	}
	return b.rows
}

// railBuilder puts rows below each other.
type railBuilder struct {
	rows  []railRow
	facts map[model.QueueRef]spans
}

func (b *railBuilder) station(s station) {
	r := railRow{mark: markExchange, name: span{s.name, s.tone}, facts: s.short}
	if s.isQueue() {
		r.mark, r.queue, r.facts = markQueue, s.queue, b.facts[s.queue]
	}
	b.rows = append(b.rows, r)
}

func (b *railBuilder) down(a arrow) { b.rows = append(b.rows, railRow{down: []arrow{a}}) }
