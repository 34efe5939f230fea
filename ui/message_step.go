package ui

import (
	tea "github.com/charmbracelet/bubbletea"

	"github.com/dlxtop/dlxtop/model"
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
func (d *messageDetail) begin(id messageID) {
	if d.of == id {
		return
	}
	for p := range paneCount {
		d.scroll[p], d.hit[p] = d.topOf(p, 0), 0
	}
	d.of = id
}

// step goes to the next line, or the one before, with what is looked for in the pane in focus. It reports whether there
// is one.
func (d *messageDetail) step(id messageID, by int) bool {
	d.begin(id)
	next := d.hit[d.focus] + by
	if next < 0 || next >= len(d.drawn.hits[d.focus]) {
		return false
	}
	d.hit[d.focus], d.scroll[d.focus] = next, d.topOf(d.focus, next)
	return true
}

// atEnd goes to the last line with what is looked for in the pane in focus: who steps back enters a message there.
func (d *messageDetail) atEnd(id messageID) {
	d.begin(id)
	d.hit[d.focus] = max(len(d.drawn.hits[d.focus])-1, 0)
	d.scroll[d.focus] = d.topOf(d.focus, d.hit[d.focus])
}

// step goes to the next match of the filter, or the one before: within the pane in focus, then to another message, and
// from the last one to the first.
func (s messagesScreen) step(by int) (screen, tea.Cmd) {
	n := len(s.table.Shown)
	if n == 0 {
		return s, nil
	}
	row, ok := s.table.Current()
	inPane := s.detail.focus != paneNone
	if ok && inPane && row.whole() != nil && row.whole() == s.detail.drawn.message && s.detail.step(row.id, by) {
		return s, nil
	}
	at := (s.table.Index + by + n) % n
	if !ok {
		at = min(s.table.Index, n-1)
	}
	s.table.MoveTo(at)
	s.detail.fromEnd = by < 0 && inPane
	return s, nil
}

// foundWords say how many messages the filter lets through, and which of them is under the cursor.
func (s messagesScreen) foundWords() string {
	shown := len(s.table.Shown)
	words := model.Count(int64(shown)) + " of " + model.Count(int64(len(s.rows)))
	if _, ok := s.table.Current(); !ok || s.filter.parsed == nil {
		return words
	}
	return "match " + model.Count(int64(s.table.Index+1)) + " of " + model.Count(int64(shown)) + " in " +
		model.Count(int64(len(s.rows)))
}
