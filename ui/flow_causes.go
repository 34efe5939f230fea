package ui

import (
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/cause"
	"github.com/dlxtop/dlxtop/ui/picture"
	"github.com/dlxtop/dlxtop/ui/term"
)

const (
	leastCauses = 54 // columns of the causes beside the picture of a flow
	mostCauses  = 80
)

// flowCauses are the causes of a flow's failed messages, beside its picture where the terminal is wide. They are read
// while they are seen, where a look is free.
type flowCauses struct {
	reading *causesReading
	columns int      // that they have; 0: they are not seen
	lines   []string // as prepared

	beside *picture.Picture // of which columns is known,
	width  int              // at this width of the screen
}

func newFlowCauses(e *env) flowCauses { return flowCauses{reading: newCausesReading(e)} }

// update takes in a poll, and what was read.
func (c *flowCauses) update(msg tea.Msg, worker model.QueueRef) tea.Cmd {
	switch msg := msg.(type) {
	case topologyMsg:
		c.reading.polled(msg.topology, failedRows(msg, worker))
	case countedMsg:
		if msg.changed {
			c.reading.polled(msg.topology, failedRows(topologyMsg{topology: msg.topology}, worker))
		}
	case causesReadMsg:
		if c.reading.answered(msg) {
			return c.reading.env.marks.take(msg.marks)
		}
	}
	return nil
}

// place finds the columns of the causes: those that the picture leaves, and none when it needs them for its boxes.
func (c *flowCauses) place(m *movingFlow, width int) {
	if c.beside == m.picture && c.width == width {
		return
	}
	c.beside, c.width, c.columns = m.picture, width, 0
	if width < sideBySide || len(c.reading.order) == 0 {
		return
	}
	columns := min(max(width-1-mostPicture, leastCauses), mostCauses)
	_, alone := picture.WideLayout(m.picture, width, m.cursor)
	_, beside := picture.WideLayout(m.picture, width-1-columns, m.cursor)
	if beside || !alone {
		c.columns = columns
	}
}

// prepare reads on, and works out the lines.
func (c *flowCauses) prepare(height int) tea.Cmd {
	if c.columns == 0 {
		return nil
	}
	e := c.reading.env
	cmd := c.reading.next(e.shown)
	s, width := e.styles, c.columns
	c.lines = []string{"", " " + s.Strong.Render(term.Cut(c.reading.words(), width-2, "…")), ""}
	list := append([]cause.Group(nil), c.reading.list...)
	cause.MostFirst(list)
	for i := range list {
		if len(c.lines)+2 > height-4 {
			more := model.Plural(len(list)-i, "more cause") + ": " + e.keys.Causes.Help().Key + " shows all"
			c.lines = append(c.lines, "   "+s.Muted.Render(more))
			break
		}
		c.lines = append(c.lines, c.about(&list[i])...)
	}
	if len(list) == 0 {
		c.lines = append(c.lines, "   "+s.Muted.Render(c.nothing()))
	}
	c.lines = append(c.lines, "")
	c.lines = append(c.lines, c.reading.unread(s, width, max(height-len(c.lines), 2))...)
	return cmd
}

// nothing is why there are no causes.
func (c *flowCauses) nothing() string {
	switch {
	case c.reading.request != 0:
		return "reading the failed queues …"
	case c.reading.empty():
		return "nothing has failed"
	}
	return "no messages were read"
}

// about are the lines of one cause: how many messages, what failed, when last, and its state.
func (c *flowCauses) about(g *cause.Group) []string {
	e := c.reading.env
	s, marks := e.styles, e.marks
	const indent = 10
	count := term.Fit(c.reading.atLeast()+model.Count(g.Messages), indent-2, true, false)
	words := term.Wrap(model.Printable(g.Cause.String()), c.columns-indent-2)
	if len(words) > 2 {
		words = append(words[:1:1], term.Cut(strings.Join(words[1:], " "), c.columns-indent-2, "…"))
	}
	lines := []string{s.Danger.Render(count) + "  " + marks.look(g.ID).Render(words[0])}
	for _, line := range words[1:] {
		lines = append(lines, strings.Repeat(" ", indent)+marks.look(g.ID).Render(line))
	}
	when := "last " + agoOf(g.Last, e.shown) + "   " + marks.words(g.ID)
	return append(lines, strings.Repeat(" ", indent)+s.Muted.Render(when))
}
