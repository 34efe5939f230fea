package messages

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/charmbracelet/bubbles/key"
	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/x/ansi"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/model/story"
	"github.com/dlxtop/dlxtop/ui/press"
	"github.com/dlxtop/dlxtop/ui/shell"
	"github.com/dlxtop/dlxtop/ui/term"
)

type pane int

// The panes. paneNone is the table beside them.
const (
	paneNone pane = iota
	paneStory
	paneHeaders
	paneBody
	paneCount
)

var paneNames = [paneCount]string{"", "Story", "Headers", "Body"}

const paneSeparator = " │ "

// messageDetail shows one message in three panes: side by side if there is room, otherwise one at a time. Each scrolls
// on its own.
type messageDetail struct {
	focus  pane
	zoomed bool // it has the whole screen
	split  bool // it is below the table
	alone  bool // the pane in focus has the whole screen
	scroll [paneCount]int
	hit    [paneCount]int  // index among the lines with a match, of the one that a step went to
	of     shell.MessageID // the message that was scrolled
	find   term.FilterField
	sought string // the text that it, or the filter of the list, looks for; "" for none

	entering int  // a step goes into the next message that is laid out, from its end if negative; 0: none does
	raw      bool // the body as it is in the queue
	folded   bool // only the outermost level of the body
	detailLines
}

// detailLines is the last laid-out message: only a new message, another width or another second lays it out again.
type detailLines struct {
	message *message.Message
	bodies  shell.Bodies
	needs   [paneCount]int // widths, unwrapped
	widths  [paneCount]int
	lines   [paneCount][]string
	matches [paneCount][]int // the lines with a match
	with    string           // the text that they match
	narrow  bool             // only the pane in focus is visible
	brief   bool
	height  int
	second  time.Time
}

// top returns the first visible line of a pane: a message other than the scrolled one starts at its first match, or at
// its top.
func (d *messageDetail) top(id shell.MessageID, p pane) int {
	if d.of != id {
		return d.topOf(p, 0)
	}
	return min(d.scroll[p], max(len(d.lines[p])-d.height, 0))
}

// inFocus reports whether one of the panes has the keys.
func (d *messageDetail) inFocus() bool { return d.zoomed || d.focus != paneNone }

// panes returns the keys that go to another pane, or into the detail.
func (d *messageDetail) panes() []term.Key {
	next, before := "into the detail beside the list, where there is room for it", "the same, from its end"
	if d.inFocus() {
		next, before = "next pane: story, headers, body", "previous pane"
	}

	return []term.Key{
		term.On(press.NextPane, next, d.turns(1)).When(d.inFocus() || d.split),
		term.On(press.PrevPane, before, d.turns(-1)).When(d.inFocus() || d.split),
	}
}

// keys returns those for the body, and those that end the detail or show less of it.
func (d *messageDetail) keys() (shows, ends []term.Key) {
	shows = shell.BodyKeys(&d.raw, &d.folded, func() { d.widths[paneBody] = 0 })
	return shows, []term.Key{
		term.On(press.Back, "end the search, then back to the messages", d.leave).As("messages"),
		term.On(press.Quit, "back to the messages", func() {
			d.find.Clear()
			d.leave()
		}).As("messages"),
		term.On(press.Open, "this pane on the whole screen; again: all panes", func() {
			d.zoomed, d.alone = true, !d.alone
		}).As("this pane alone").AsIf(d.alone, "all panes").Shown(d.alone || !d.narrow || !d.zoomed),
	}
}

// turns goes to the next pane, or the one before; from the last one to the table if there is one beside it.
func (d *messageDetail) turns(by int) func() {
	return func() {
		first := paneNone
		if d.zoomed {
			first = paneStory
		}
		n := int(paneCount - first)
		d.focus = first + pane(((int(d.focus-first)+by)%n+n)%n)
	}
}

// zoom gives it the whole screen.
func (d *messageDetail) zoom() {
	d.zoomed, d.focus = true, paneStory
	if d.split {
		d.focus = paneBody
	}
}

// leave ends the search, then goes back to the table.
func (d *messageDetail) leave() {
	visible := d.find.Visible()
	d.find.Clear()
	if !visible {
		d.zoomed = false
		d.alone = false
		d.focus = paneNone
	}
}

// scrolled scrolls the pane in focus by a key.
func (d *messageDetail) scrolled(id shell.MessageID, msg tea.KeyMsg) {
	if key.Matches(msg, press.Motions()...) {
		d.begin(id)
		d.scroll[d.focus] = shell.Scrolled(msg, d.top(id, d.focus), len(d.lines[d.focus]), d.height)
	}
}

// lay lays out the panes of a message (nil: empty ones) for width x height. The story is without unknown
// parts, unless it is in focus or the detail has the whole screen.
func (d *messageDetail) lay(
	m *message.Message, past func() []story.Event, now time.Time, width, height int,
) {
	if d.message != m {
		d.detailLines = detailLines{message: m, with: d.sought}
	}

	inner := width - 2
	widths := [paneCount]int{0, inner, inner, inner}
	wide := width >= 100 && !d.alone
	if wide {
		widths = d.shares(past, inner-2*ansi.StringWidthWc(paneSeparator))
	}

	d.prepare(past, now.Truncate(time.Second), widths, !d.zoomed && d.focus != paneStory)
	if d.narrow, d.height = !wide, height-1; d.find.Visible() {
		d.height--
	}

	if d.with != d.sought {
		d.with = d.sought
		for p := range paneCount {
			d.seek(p)
		}
	}
}

const leastPane = 28 // columns of a pane whose neighbours could use them

// shares returns the widths of the panes: what one does not need goes to those that need more, and otherwise to the
// body.
func (d *messageDetail) shares(past func() []story.Event, width int) (widths [paneCount]int) {
	if m := d.message; m != nil && d.needs[paneHeaders] == 0 {
		d.needs = [paneCount]int{
			paneStory:   widest(shell.StoryLines(m, past(), unwrapped, true)),
			paneHeaders: widest(headerLines(m, unwrapped)),
			paneBody:    d.bodies.Width(m, d.raw),
		}
	}

	parts := [paneCount]int{paneStory: 36, paneHeaders: 30, paneBody: 34}
	spare := width
	for p, part := range parts {
		if p > 0 {
			widths[p] = min(width*part/100, max(d.needs[p], leastPane))
			spare -= widths[p]
		}
	}

	for p := paneStory; p < paneCount; p++ {
		more := min(spare, max(d.needs[p]-widths[p], 0))
		widths[p], spare = widths[p]+more, spare-more
	}

	widths[paneBody] += spare // a hex dump is laid out for it
	return widths
}

const unwrapped = 400 // a width at which no line that fits on a screen is broken

func widest(lines []string) (width int) {
	for _, l := range lines {
		width = max(width, ansi.StringWidthWc(l))
	}
	return width
}

// view draws the laid-out panes of a message: a head with their names, and their lines.
func (d *messageDetail) view(r *shell.MessageRow, width int) []string {
	panes := []pane{paneStory, paneHeaders, paneBody}
	widths := d.widths
	if d.narrow {
		panes = []pane{max(d.focus, paneStory)}
	}

	lines := []string{" " + d.heads(r, panes, widths)}
	for y := range d.height {
		parts := make([]string, len(panes))
		for i, p := range panes {
			text := ""
			if at := d.top(r.Id, p) + y; at < len(d.lines[p]) {
				text = term.Highlight(d.lines[p][at], d.sought, term.Chosen)
			}
			parts[i] = term.Pad(text, widths[p])
		}

		lines = append(lines, " "+strings.Join(parts, term.Border.Render(paneSeparator)))
	}

	if d.find.Visible() {
		lines = append(lines, d.find.View(width, d.foundWords(r.Id)))
	}

	return lines
}

// heads returns the panes' names: the one in focus is marked, with how much of it is below.
func (d *messageDetail) heads(r *shell.MessageRow, panes []pane, widths [paneCount]int) string {
	if len(panes) == 1 {
		var names []string
		for p := paneStory; p < paneCount; p++ {
			names = append(names, d.head(r, p, p == panes[0], widths[panes[0]]/3-2))
		}
		return strings.Join(names, "  ")
	}

	heads := make([]string, len(panes))
	for i, p := range panes {
		heads[i] = term.Pad(d.head(r, p, p == d.focus, widths[p]), widths[p])
	}

	return strings.Join(heads, term.Border.Render(paneSeparator))
}

func (d *messageDetail) head(r *shell.MessageRow, p pane, focus bool, width int) string {
	name := paneNames[p]
	if p == paneBody {
		switch { // how it is shown, if not as usual
		case d.raw:
			name += " (raw)"
		case d.folded:
			name += " (folded)"
		}
	}

	if focus {
		name = term.Accent.Render(term.MarkCursor + " " + name)
	} else {
		name = term.Strong.Render(name)
	}

	about := ""
	if m := d.message; p == paneBody && m != nil {
		about = strings.TrimSpace(model.Printable(m.Properties.ContentType) + "  " + message.Size(int64(m.BodyBytes)) + "B")
	}

	if lines := d.lines[p]; focus && len(lines) > d.height && d.height > 0 {
		about = strings.TrimSpace(model.Sayf("%s  %v/%v", about, min(d.top(r.Id, p)+d.height, len(lines)), len(lines)))
	}

	if about == "" {
		return name
	}

	return term.Cut(name+"  "+term.Muted.Render(about), max(width, 1))
}

// typed handles a key while a text is looked for: its first line becomes visible.
func (d *messageDetail) typed(msg tea.KeyMsg) {
	d.find.Handle(msg)
	d.of = shell.MessageID{}
	if len(d.matches[d.focus]) == 0 && !d.find.Typing {
		d.entering = 1
	}
}

func (d *messageDetail) prepare(
	past func() []story.Event, second time.Time, widths [paneCount]int, brief bool,
) {
	m := d.message
	if !d.second.Equal(second) || d.brief != brief { // due times count down
		d.second = second
		d.brief = brief
		d.widths[paneStory] = 0
	}

	for p := paneStory; p < paneCount; p++ {
		if d.widths[p] == widths[p] {
			continue
		}
		d.widths[p] = widths[p]
		switch {
		case m == nil: // none was read yet
		case p == paneStory:
			d.lines[p] = shell.StoryLines(m, past(), widths[p], brief)
		case p == paneHeaders:
			d.lines[p] = headerLines(m, widths[p])
		case p == paneBody:
			d.lines[p] = d.bodies.Lines(m, widths[p], d.raw, d.folded)
		}

		d.seek(p)
	}
}

// headerLines returns a message's properties and headers. If it is in an envelope with others, these come first.
func headerLines(m *message.Message, width int) []string {
	e, ok := m.Envelope()
	if !ok || e.Problem != "" || e.Original.Properties == m.Properties && len(e.Original.Headers) == len(m.Headers) {
		return ownHeaderLines(m, width)
	}
	lines := shell.EnvelopeHead(&e, width)
	where := fmt.Sprintf("exchange %s, key %s, failed in %s", model.ExchangeName(e.Original.Exchange),
		strconv.Quote(e.Original.RoutingKey), cmp.Or(e.Worker, "?"))
	lines = append(lines, term.Wrap(where, width)...)
	lines = append(lines, ownHeaderLines(&e.Original, width)...)
	return append(append(lines, shell.RawHead()...), ownHeaderLines(m, width)...)
}

func ownHeaderLines(m *message.Message, width int) []string {
	named := shell.PropertyLines(m)
	if words := m.FrameworkWords(); words != "" {
		named = append([]shell.Named{{Name: "framework", Value: words}}, named...)
	}

	lines := append(shell.NamedLines(named, width), "")
	if len(m.Headers) == 0 {
		return append(lines, term.Muted.Render("no headers"))
	}
	return append(lines, shell.NamedLines(shell.TreeLines(m.Headers), width)...)
}

const (
	aboveHit = 2       // visible lines above the one with the match
	soughtIn = 1 << 20 // bytes of a pane that are searched: a keystroke shows its effect at once
)

func (d *messageDetail) seek(p pane) {
	d.matches[p] = nil
	if d.sought == "" {
		return
	}
	size := 0
	for i, line := range d.lines[p] {
		if size += len(line); size > soughtIn {
			return
		}
		if term.Holds(line, d.sought) {
			d.matches[p] = append(d.matches[p], i)
		}
	}
}

// topOf returns the first visible line of a pane that shows one of its matches: scrolled as little as possible.
func (d *messageDetail) topOf(p pane, hit int) int {
	if hit >= len(d.matches[p]) || d.matches[p][hit] < d.height {
		return 0
	}
	return min(max(d.matches[p][hit]-aboveHit, 0), max(len(d.lines[p])-d.height, 0))
}

// begin takes over the panes' positions before any of them was scrolled.
func (d *messageDetail) begin(id shell.MessageID) {
	if d.of == id {
		return
	}
	for p := range paneCount {
		d.scroll[p], d.hit[p] = d.topOf(p, 0), 0
	}
	d.of = id
}

// hits returns all lines with a match, in the order of the panes, and the index of the current one: before is true if
// the pane in focus has none, and the index is that of the first one behind it.
func (d *messageDetail) hits(id shell.MessageID) (all []hit, at int, before bool) {
	before = true
	stepped := d.of == id
	for p := paneStory; p < paneCount; p++ {
		for i := range d.matches[p] {
			if p < d.focus || p == d.focus && stepped && i < d.hit[p] {
				at++
			}
			before = before && p != d.focus
			all = append(all, hit{p, i})
		}
	}

	return all, at, before
}

type hit struct {
	pane pane
	line int
}

// step goes to the next or the previous line with a match, in any pane; with round from the last one to the first. It
// reports whether there is one.
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

// enter goes to the first line with a match, or to the last one when the step that led here went back.
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

// foundWords say how many lines of the message have a match, and which of them is the current one.
func (d *messageDetail) foundWords(id shell.MessageID) string {
	all, at, before := d.hits(id)
	if words := model.Plural(len(all), "line"); before || d.sought == "" {
		return words
	}
	return model.Sayf("line %v of %v", at+1, len(all))
}

func (s *Screen) stepping() bool { return s.filter.Visible() || s.detail.find.Visible() }

// step goes to the next or the previous match: for a text that is looked for in one message within that; for the filter
// within the panes, then to another message, and from the last one to the first.
func (s *Screen) step(by int) {
	d := &s.detail
	row, ok := s.Table.Current()
	within := d.find.Visible()
	inPane := d.focus != paneNone

	drawn := ok && row.Whole() != nil && row.Whole() == d.message
	if drawn && (within || inPane) && d.step(row.Id, by, within) || within {
		return
	}

	s.Table.Step(by)
	if inPane {
		d.entering = by
	}
}

// foundWords say how many messages the filter matches, and which of them is under the cursor.
func (s *Screen) foundWords() string {
	shown := len(s.Table.Shown)
	words := model.Count(shown) + " of " + s.readCount(len(s.Rows))
	if _, ok := s.Table.Current(); !ok || s.filter.parsed == nil {
		return words
	}
	return model.Sayf("match %v of %v in %s", s.Table.Index+1, shown, s.readCount(len(s.Rows)))
}
