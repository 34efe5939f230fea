package messages

import (
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/ui/shell"
	"github.com/dlxtop/dlxtop/ui/term"
)

const (
	aboveHit = 2       // lines that are seen above the one with what is looked for
	soughtIn = 1 << 20 // bytes of a pane that are searched for it: a keystroke shows its effect at once
)

// seek finds the lines of a pane with what is looked for.
func (d *messageDetail) seek(p pane) {
	d.drawn.hits[p] = nil
	if d.sought == "" {
		return
	}
	size := 0
	for i, line := range d.drawn.lines[p] {
		if size += len(line); size > soughtIn {
			return
		}
		if term.Holds(line, d.sought) {
			d.drawn.hits[p] = append(d.drawn.hits[p], i)
		}
	}
}

// topOf is the first line that is seen of a pane to show one of its hits: as little below the top as possible.
func (d *messageDetail) topOf(p pane, hit int) int {
	if hit >= len(d.drawn.hits[p]) || d.drawn.hits[p][hit] < d.drawn.height {
		return 0
	}
	return min(max(d.drawn.hits[p][hit]-aboveHit, 0), max(len(d.drawn.lines[p])-d.drawn.height, 0))
}

// begin takes over how the panes of a message are seen before any of them was scrolled.
func (d *messageDetail) begin(id shell.MessageID) {
	if d.of == id {
		return
	}
	for p := range paneCount {
		d.scroll[p], d.hit[p] = d.topOf(p, 0), 0
	}
	d.of = id
}

// hits are all lines with what is looked for, in the order of the panes, and which of them is the one at hand: before
// is true where the pane in focus has none, and that line is the first one behind it.
func (d *messageDetail) hits(id shell.MessageID) (all []hit, at int, before bool) {
	before = true
	stepped := d.of == id
	for p := paneStory; p < paneCount; p++ {
		for i := range d.drawn.hits[p] {
			if p < d.focus || p == d.focus && stepped && i < d.hit[p] {
				at++
			}
			before = before && p != d.focus
			all = append(all, hit{p, i})
		}
	}
	return all, at, before
}

// hit is a line with what is looked for, of those of its pane.
type hit struct {
	pane pane
	line int
}

// step goes to the next line with what is looked for, or the one before, in whichever pane it is; round: from the last
// one to the first. It reports whether there is one.
func (d *messageDetail) step(id shell.MessageID, by int, round bool) bool {
	d.begin(id)
	all, next, before := d.hits(id)
	if !before || by < 0 {
		next += by
	}
	if round && len(all) > 0 {
		next = (next + len(all)) % len(all)
	}
	if next < 0 || next >= len(all) {
		return false
	}
	d.goTo(all[next])
	return true
}

func (d *messageDetail) goTo(h hit) {
	d.focus, d.hit[h.pane], d.scroll[h.pane] = h.pane, h.line, d.topOf(h.pane, h.line)
}

// enter goes to the first line with what is looked for, or to the last one when the step that led here went back.
func (d *messageDetail) enter(id shell.MessageID) {
	if all, _, _ := d.hits(id); d.entering != 0 && len(all) > 0 {
		d.begin(id)
		if d.entering < 0 {
			all = all[len(all)-1:]
		}
		d.goTo(all[0])
	}
	d.entering = 0
}

// foundWords say how many lines of the message have what is looked for, and which of them was gone to.
func (d *messageDetail) foundWords(id shell.MessageID) string {
	all, at, before := d.hits(id)
	if words := model.Plural(len(all), "line"); before || d.sought == "" {
		return words
	}
	return "line " + model.Count(int64(at+1)) + " of " + model.Count(int64(len(all)))
}

// stepping reports whether there is something to step through.
func (s Screen) stepping() bool { return s.filter.field.Visible() || s.detail.find.Visible() }

// step goes to the next match, or the one before: of a text that is looked for in one message within that; of the
// filter within the panes, then to another message, and from the last one to the first.
func (s *Screen) step(by int) {
	row, ok := s.Table.Current()
	within, inPane := s.detail.find.Visible(), s.detail.focus != paneNone
	if ok && (within || inPane) && row.Whole() != nil && row.Whole() == s.detail.drawn.message &&
		s.detail.step(row.Id, by, within) || within {
		return
	}
	s.Table.Step(by)
	if inPane {
		s.detail.entering = by
	}
}

// foundWords say how many messages the filter lets through, and which of them is under the cursor.
func (s Screen) foundWords() string {
	shown := len(s.Table.Shown)
	words := model.Count(shown) + " of " + s.readCount(len(s.Rows))
	if _, ok := s.Table.Current(); !ok || s.filter.parsed == nil {
		return words
	}
	return "match " + model.Count(s.Table.Index+1) + " of " + model.Count(shown) + " in " + s.readCount(len(s.Rows))
}
