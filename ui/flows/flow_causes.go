package flows

import (
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/cause"
	"github.com/dlxtop/dlxtop/ui/causes"
	"github.com/dlxtop/dlxtop/ui/picture"
	"github.com/dlxtop/dlxtop/ui/press"
	"github.com/dlxtop/dlxtop/ui/shell"
	"github.com/dlxtop/dlxtop/ui/term"
)

const (
	leastCauses = 54 // columns of the causes beside the picture of a flow
	mostCauses  = 80
	causesBelow = 5 // minimum lines of the causes below it
)

// flowCauses are the causes of a flow's failed messages, beside its picture on a wide terminal, otherwise below it.
// They are read while they are visible, if a look is free; otherwise they show what it costs.
type flowCauses struct {
	*causes.Reading
	columns int      // their columns beside the picture; 0: they are below it
	lines   []string // as prepared; none: they are not visible

	beside *picture.Picture // the picture for which columns is known,
	width  int              // at this width of the screen
}

func (c *flowCauses) update(msg tea.Msg, worker model.QueueRef) tea.Cmd {
	switch msg := msg.(type) {
	case shell.TopologyMsg:
		c.Polled(msg.Topology, causes.FailedRefs(msg, worker))
	case shell.CountedMsg:
		if msg.Changed {
			c.Polled(msg.Topology, causes.FailedRefs(shell.TopologyMsg{Topology: msg.Topology}, worker))
		}
	case causes.ReadMsg:
		if c.Answered(msg) {
			return c.Env.Marks.Take(msg.Marks)
		}
	}

	return nil
}

// place finds the columns of the causes: those that the picture leaves, and none when it needs them for its boxes.
func (c *flowCauses) place(m *movingFlow, width int) {
	if c.beside == m.picture && c.width == width {
		return
	}
	c.beside = m.picture
	c.width = width
	c.columns = 0
	if width < sideBySide || len(c.Order) == 0 {
		return
	}
	columns := min(max(width-1-mostPicture, leastCauses), mostCauses)
	_, alone := picture.WideLayout(m.picture, width, m.Cursor)
	_, beside := picture.WideLayout(m.picture, width-1-columns, m.Cursor)
	if beside || !alone {
		c.columns = columns
	}
}

// prepare reads on, and works out the lines. With the cursor on one of several failed queues they are about that one.
func (c *flowCauses) prepare(cursor model.QueueRef, width, height int) tea.Cmd {
	c.lines = nil
	if height < causesBelow || len(c.Order) == 0 {
		return nil
	}
	e := c.Env
	cmd := c.Next(e.Shown)
	words := c.Words()
	list := append([]cause.Group(nil), c.List...)
	if len(c.Order) > 1 && c.Queues[cursor] != nil {
		words, list = model.Printable(cursor.Name)+" of "+words, groupsIn(list, cursor)
	}

	c.lines = []string{"", " " + term.Strong.Render(term.Cut(words, width-2))}
	unread := c.Unread(width, min(max(height/4, 2), height-len(c.lines)-1))
	if len(list) == 0 {
		c.lines = append(c.lines, "   "+term.Muted.Render(c.nothing()))
	}

	cause.MostFirst(list)
	for i := range list {
		about := c.about(&list[i], width)
		if room := height - len(c.lines) - len(unread); len(about) > room || len(about) == room && i < len(list)-1 {
			more := model.Sayf("%v cause(s) more: %s shows all", len(list)-i, press.Causes.Help().Key)
			c.lines = append(c.lines, "   "+term.Muted.Render(more))
			break
		}
		c.lines = append(c.lines, about...)
	}

	c.lines = append(c.lines, unread...)
	return cmd
}

func groupsIn(groups []cause.Group, queue model.QueueRef) (list []cause.Group) {
	for _, g := range groups {
		for _, in := range g.Queues {
			if in.Of == queue {
				g.Messages = in.Messages
				list = append(list, g)
			}
		}
	}

	return list
}

func (c *flowCauses) nothing() string {
	switch {
	case c.Request != 0:
		return "reading the failed queues …"
	case c.Empty():
		return "nothing has failed"
	}

	return "no messages were read"
}

// keys returns the keys that read more, if there is more.
func (c *flowCauses) keys() []term.Key {
	if len(c.lines) == 0 && !c.Asking() {
		return nil
	}
	return c.Keys()
}

// about returns the lines of one cause: how many messages, what failed, when last, and its state.
func (c *flowCauses) about(g *cause.Group, width int) []string {
	e := c.Env
	marks := e.Marks
	const indent = 10
	count := term.PadLeft(c.AtLeast()+model.Count(g.Messages), indent-2)

	words := term.Wrap(g.Cause.String(), width-indent-2)
	if len(words) > 2 {
		words = append(words[:1:1], term.Cut(strings.Join(words[1:], " "), width-indent-2))
	}

	lines := []string{term.Danger.Render(count) + "  " + marks.Look(g.ID).Render(words[0])}
	for _, line := range words[1:] {
		lines = append(lines, strings.Repeat(" ", indent)+marks.Look(g.ID).Render(line))
	}

	when := "last " + shell.AgoOf(g.Last, e.Shown) + "   " + marks.Words(g.ID)
	return append(lines, strings.Repeat(" ", indent)+term.Muted.Render(when))
}
