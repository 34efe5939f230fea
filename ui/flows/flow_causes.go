package flows

import (
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/cause"
	"github.com/dlxtop/dlxtop/ui/causes"
	"github.com/dlxtop/dlxtop/ui/picture"
	"github.com/dlxtop/dlxtop/ui/shell"
	"github.com/dlxtop/dlxtop/ui/term"
)

const (
	leastCauses = 54 // columns of the causes beside the picture of a flow
	mostCauses  = 80
)

// flowCauses are the causes of a flow's failed messages, beside its picture where the terminal is wide. They are read
// while they are seen, where a look is free.
type flowCauses struct {
	reading *causes.Reading
	columns int      // that they have; 0: they are not seen
	lines   []string // as prepared

	beside *picture.Picture // of which columns is known,
	width  int              // at this width of the screen
}

func newFlowCauses(e *shell.Env) flowCauses { return flowCauses{reading: causes.NewReading(e)} }

// update takes in a poll, and what was read.
func (c *flowCauses) update(msg tea.Msg, worker model.QueueRef) tea.Cmd {
	switch msg := msg.(type) {
	case shell.TopologyMsg:
		c.reading.Polled(msg.Topology, causes.FailedRows(msg, worker))
	case shell.CountedMsg:
		if msg.Changed {
			c.reading.Polled(msg.Topology, causes.FailedRows(shell.TopologyMsg{Topology: msg.Topology}, worker))
		}
	case causes.ReadMsg:
		if c.reading.Answered(msg) {
			return c.reading.Env.Marks.Take(msg.Marks)
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
	if width < sideBySide || len(c.reading.Order) == 0 {
		return
	}
	columns := min(max(width-1-mostPicture, leastCauses), mostCauses)
	_, alone := picture.WideLayout(m.picture, width, m.Cursor)
	_, beside := picture.WideLayout(m.picture, width-1-columns, m.Cursor)
	if beside || !alone {
		c.columns = columns
	}
}

// prepare reads on, and works out the lines.
func (c *flowCauses) prepare(height int) tea.Cmd {
	if c.columns == 0 {
		return nil
	}
	e := c.reading.Env
	cmd := c.reading.Next(e.Shown)
	s, width := e.Styles, c.columns
	c.lines = []string{"", " " + s.Strong.Render(term.Cut(c.reading.Words(), width-2, "…")), ""}
	list := append([]cause.Group(nil), c.reading.List...)
	cause.MostFirst(list)
	for i := range list {
		if len(c.lines)+2 > height-4 {
			more := model.Plural(len(list)-i, "more cause") + ": " + e.Keys.Causes.Help().Key + " shows all"
			c.lines = append(c.lines, "   "+s.Muted.Render(more))
			break
		}
		c.lines = append(c.lines, c.about(&list[i])...)
	}
	if len(list) == 0 {
		c.lines = append(c.lines, "   "+s.Muted.Render(c.nothing()))
	}
	c.lines = append(c.lines, "")
	c.lines = append(c.lines, c.reading.Unread(s, width, max(height-len(c.lines), 2))...)
	return cmd
}

// nothing is why there are no causes.
func (c *flowCauses) nothing() string {
	switch {
	case c.reading.Request != 0:
		return "reading the failed queues …"
	case c.reading.Empty():
		return "nothing has failed"
	}
	return "no messages were read"
}

// about are the lines of one cause: how many messages, what failed, when last, and its state.
func (c *flowCauses) about(g *cause.Group) []string {
	e := c.reading.Env
	s, marks := e.Styles, e.Marks
	const indent = 10
	count := term.Fit(c.reading.AtLeast()+model.Count(g.Messages), indent-2, true, false)
	words := term.Wrap(model.Printable(g.Cause.String()), c.columns-indent-2)
	if len(words) > 2 {
		words = append(words[:1:1], term.Cut(strings.Join(words[1:], " "), c.columns-indent-2, "…"))
	}
	lines := []string{s.Danger.Render(count) + "  " + marks.Look(g.ID).Render(words[0])}
	for _, line := range words[1:] {
		lines = append(lines, strings.Repeat(" ", indent)+marks.Look(g.ID).Render(line))
	}
	when := "last " + shell.AgoOf(g.Last, e.Shown) + "   " + marks.Words(g.ID)
	return append(lines, strings.Repeat(" ", indent)+s.Muted.Render(when))
}
