package picture

import (
	"slices"

	"github.com/charmbracelet/x/ansi"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/ui/term"
)

// Scene is a drawn picture: the cells, where each queue is, and the paths along which dots move.
type Scene struct {
	Canvas *term.Canvas
	Paths  []path
	Rows   map[model.QueueRef]int // the row of each queue's name
}

// path is the cells of one arrow's line in the direction in which messages move.
type path struct {
	arrow Arrow
	cells []term.Point
}

// The measures of the wide layout, in columns and rows.
const (
	diagramMargin  = 2
	leastGap       = 6  // between two columns
	longestGap     = 14 // spare room makes gaps longer, up to this
	leastBox       = 24 // of a queue
	listColumns    = 3  // of the short facts in a list of queues
	ListRows       = 5  // queues of a list shown at once
	backWidth      = 3  // of the arrow from the worker back to itself, beside its box
	publishersWord = "publishers"
)

// boxed is a box before it is placed.
type boxed struct {
	title  term.Spans
	lines  []term.Spans
	width  int // outer
	least  int // the width below which names would be cut
	border term.Style
	queues []model.QueueRef // for a list: the queue of each line; for a box: one
	list   bool
	marked bool // the cursor's mark is in the title
}

func (b boxed) height() int { return len(b.lines) + 2 }
func (b boxed) empty() bool { return b.title == nil }

// measured sets a box's width. Boxes of queues grow in steps, so that they do not change with every digit, and have
// room for the cursor's mark, so that they do not change with the cursor.
func (b boxed) measured() boxed {
	const step = 6
	b.least = b.title.Width() + 4
	if len(b.queues) > 0 && !b.marked && !b.list {
		b.least += ansi.StringWidthWc(term.MarkCursor) + 1
	}

	b.width = b.least
	for _, l := range b.lines {
		b.width = max(b.width, l.Width()+4)
	}
	if len(b.queues) > 0 {
		b.width = max((b.width+step-1)/step*step, leastBox)
	}

	return b
}

func stationBlock(s Station, cursor model.QueueRef) boxed {
	if s.name == "" {
		return boxed{}
	}
	b := boxed{title: term.Spans{s.tone.Span(s.name)}, lines: s.facts, border: term.Border}
	if s.isQueue() {
		b.queues = []model.QueueRef{s.Queue}
		if s.Queue == cursor {
			b.title = append(term.Spans{term.Accent.Span(term.MarkCursor + " ")}, b.title...)
			b.border, b.marked = term.Accent, true
		}
	}

	return b.measured()
}

// groupBlock returns a box for one queue and a list for several: at most ListRows of them, around the cursor.
func groupBlock(g group, cursor model.QueueRef) boxed {
	switch len(g.stations) {
	case 0:
		return boxed{}
	case 1:
		return stationBlock(g.stations[0], cursor)
	}

	b := boxed{title: term.Spans{term.Strong.Span(g.heading)}, border: term.Border, list: true}
	at := max(slices.IndexFunc(g.stations, func(s Station) bool { return s.Queue == cursor }), 0)
	names := 0
	for _, s := range g.stations {
		names = max(names, ansi.StringWidthWc(s.name))
		if s.Queue == cursor {
			b.border = term.Accent
		}
	}

	facts := aligned(g.stations, listColumns)
	from := min(max(at-ListRows/2, 0), max(len(g.stations)-ListRows, 0))
	to := min(from+ListRows, len(g.stations))
	for i := from; i < to; i++ {
		s := g.stations[i]
		mark := term.Text.Span("  ")
		if s.Queue == cursor {
			mark = term.Accent.Span(term.MarkCursor + " ")
		}
		b.lines = append(b.lines, append(term.Spans{mark, s.tone.Span(term.Pad(s.name, names+2))}, facts[i]...))
		b.queues = append(b.queues, s.Queue)
	}

	if hidden := len(g.stations) - (to - from); hidden > 0 {
		b.lines = append(b.lines, term.Spans{term.Muted.Span(model.Sayf("  +%v more", hidden))})
	}

	b = b.measured()
	b.least = min(b.width, names+18)
	return b
}

type placed struct {
	boxed
	x, y int
}

func (p placed) right() int  { return p.x + p.width - 1 }
func (p placed) bottom() int { return p.y + p.height() - 1 }
func (p placed) middle() int { return p.x + p.width/2 }

type wideLane struct {
	lane
	entrance, buffers, exchange placed
	row                         int // of its arrows
}

// WideLayout draws boxes: entrances, buffers, exchanges and the worker from left to right, retry buffers and failed
// queues below. It reports false when they do not fit into the width.
func WideLayout(p *Picture, width int, cursor model.QueueRef) (*Scene, bool) {
	if len(p.retries) > 1 {
		return nil, false
	}
	w := wide{Picture: p, width: width}
	for _, l := range p.lanes {
		w.lanes = append(w.lanes, wideLane{
			lane:     l,
			entrance: placed{boxed: stationBlock(l.entrance, cursor)},
			buffers:  placed{boxed: groupBlock(l.buffers, cursor)},
			exchange: placed{boxed: stationBlock(l.exchange, cursor)},
		})
	}

	w.worker.boxed = stationBlock(p.worker, cursor)
	if len(p.retries) == 1 {
		w.retry.boxed = groupBlock(p.retries[0], cursor)
	}

	w.failed.boxed = groupBlock(p.failed, cursor)
	if !w.place() {
		return nil, false
	}

	return w.draw(), true
}

type wide struct {
	*Picture
	width  int
	lanes  []wideLane
	worker placed
	retry  placed
	failed placed

	loopRow int
	height  int
}

// column is as wide as its widest box, and at least so wide that no name is cut.
type column struct{ width, least int }

func (c *column) hold(b placed) {
	c.width = max(c.width, b.width)
	c.least = max(c.least, b.least)
}

// columns are the widths of a wide layout's columns and of the gaps between them.
type columns struct {
	entrances, buffers, exchanges, worker, retry column
	inGap, outGap, toWorker, back                int
}

func (c columns) left() int {
	left := c.entrances.width + c.inGap + c.buffers.width
	if c.buffers.width > 0 {
		left += c.outGap
	}
	if c.retry.width > 0 {
		left = max(left, c.retry.width+2-c.exchanges.width/2)
	}

	return left
}

func (c columns) total() int {
	return diagramMargin + c.left() + c.exchanges.width + c.toWorker + c.worker.width + c.back
}

// measure finds widths that fit. It reports false when names would be cut.
func (w *wide) measure() (columns, bool) {
	c := columns{toWorker: leastGap, outGap: leastGap}
	c.retry.hold(w.retry)
	c.worker.hold(w.worker)
	c.worker.hold(w.failed)
	if w.back {
		c.back = backWidth
	}

	widen := func(gap *int, a Arrow) {
		stacked, _ := a.room()
		*gap = max(*gap, stacked+2)
	}

	for _, l := range w.lanes {
		c.entrances.hold(l.entrance)
		c.buffers.hold(l.buffers)
		if !l.deadAt {
			c.exchanges.hold(l.exchange)
		}
		if !l.buffers.empty() && !l.deadAt {
			widen(&c.outGap, l.lane.buffers.out)
		}
		if l.dead == "" {
			widen(&c.toWorker, l.out)
		}
		if !l.entrance.empty() {
			widen(&c.inGap, l.lane.buffers.in)
		}
	}

	if !w.retry.empty() {
		// The words of the loop are between the retry buffer and the worker.
		_, in := w.retries[0].in.room()
		_, out := w.retries[0].out.room()
		c.toWorker = max(c.toWorker, in+6-c.exchanges.width-(c.left()-c.retry.width), out+4-c.exchanges.width/2)
	}

	for c.total() > w.width {
		var widest *column
		for _, one := range []*column{&c.worker, &c.buffers, &c.retry, &c.exchanges, &c.entrances} {
			if one.width > one.least && (widest == nil || one.width > widest.width) {
				widest = one
			}
		}

		if widest == nil {
			return c, false
		}
		widest.width--
	}

	gaps := []*int{&c.toWorker} // spare room makes the arrows longer
	if c.inGap > 0 {
		gaps = append(gaps, &c.inGap)
	}
	if c.buffers.width > 0 {
		gaps = append(gaps, &c.outGap)
	}

	spare := min((w.width-c.total())/len(gaps), longestGap)
	for _, gap := range gaps {
		*gap += spare
	}

	return c, true
}

func (w *wide) place() bool {
	c, ok := w.measure()
	if !ok {
		return false
	}
	exchangeAt := diagramMargin + c.left()
	if c.buffers.width == 0 {
		exchangeAt = max(exchangeAt, min(diagramMargin+len(publishersWord)+2+leastGap, exchangeAt+w.width-c.total()))
	}

	w.worker.x = exchangeAt + c.exchanges.width + c.toWorker
	w.worker.width = min(w.worker.width, c.worker.width)
	y, first, last := 0, -1, 0
	for l := range model.Each(w.lanes) {
		l.row = y + 1
		l.entrance.x = diagramMargin
		l.entrance.y = y
		l.entrance.width = min(l.entrance.width, c.entrances.width)
		l.buffers.x = diagramMargin + c.entrances.width + c.inGap
		l.buffers.y = y
		l.buffers.width = c.buffers.width
		l.exchange.x = exchangeAt
		l.exchange.y = y
		l.exchange.width = c.exchanges.width

		tallest := 0
		for _, b := range l.boxes() {
			tallest = max(tallest, b.height())
		}

		if l.dead == "" {
			if first < 0 {
				first = y
			}
			last = l.row
		} else {
			tallest = max(tallest, l.deadHeight(w.width))
		}

		y += tallest + 1
	}

	lanesBottom := y - 1
	w.worker.y = max(first, 0)
	for last > w.worker.bottom()-1 {
		w.worker.lines = append(w.worker.lines, term.Spans{})
	}

	w.height = max(lanesBottom, w.worker.bottom()+1)
	below := w.worker.bottom() + 2
	if !w.retry.empty() {
		w.retry.x = diagramMargin
		w.retry.y = max(below, lanesBottom)
		w.retry.width = c.retry.width
		w.height = max(w.height, w.retry.bottom()+1)
	}

	if loop := w.loopLane(); loop >= 0 {
		w.loopRow = max(below, lanesBottom+1)
		w.height = max(w.height, w.loopRow+2)
	}

	switch {
	case !w.failed.empty():
		w.failed.x, w.failed.y = w.worker.x, below+2
		w.failed.width = min(max(w.failed.width, w.worker.width), c.worker.width)
		if !w.retry.empty() {
			w.failed.y = max(w.failed.y, w.retry.y+3)
		}
		if w.loopRow > 0 {
			w.failed.y = max(w.failed.y, w.loopRow+1)
		}
		w.height = max(w.height, w.failed.bottom()+1)
	case w.dead != "":
		w.height = max(w.height, below+3)
	}

	return true
}

func (l *wideLane) boxes() []placed {
	boxes := []placed{l.entrance, l.buffers}
	if !l.deadAt {
		boxes = append(boxes, l.exchange)
	}
	return slices.DeleteFunc(boxes, func(b placed) bool { return b.empty() })
}

// deadFrom returns where the words of a lane that leads nowhere begin.
func (l *wideLane) deadFrom() int {
	if l.deadAt {
		return l.buffers.right() + 13
	}
	return l.exchange.right() + 6
}

func (l *wideLane) deadHeight(width int) int { return len(term.Wrap(l.dead, width-l.deadFrom())) + 1 }

// loopLane returns the lane whose entrance the worker sends its failures back to, -1 without one.
func (w *wide) loopLane() int {
	return slices.IndexFunc(w.lanes, func(l wideLane) bool { return l.loop })
}
