package ui

import (
	"context"
	"slices"
	"strings"

	"github.com/charmbracelet/bubbles/key"
	tea "github.com/charmbracelet/bubbletea"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/body"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/ui/term"
)

// compareScreen shows two messages side by side, with what differs.
type compareScreen struct {
	env     *env
	of      [2]*messageRow
	read    func(*message.Message) body.View
	request request
	names   [2]string      // of the messages
	parts   []comparedPart // nil: not read yet
	whole   bool           // what is equal, too
	top     int
	drawn   *comparedLines
}

// comparedLines is what was laid last.
type comparedLines struct {
	width, height int
	whole         bool
	lines         []string // nil: to be laid
}

// comparedPart is one part of both messages.
type comparedPart struct {
	name   string
	rows   []body.Row
	near   bool      // false: too much differs to find what is equal
	titles [2]string // what was done to read it
}

// comparedMsg brings both messages, compared.
type comparedMsg struct {
	request request
	names   [2]string
	parts   []comparedPart
}

func newCompareScreen(e *env, queue model.QueueRef, left, right *messageRow) screen {
	return compareScreen{
		env: e, of: [2]*messageRow{left, right}, read: e.reads(queue), request: e.newRequest(), drawn: &comparedLines{},
	}
}

// Init reads both messages, which can be on disk.
func (c compareScreen) Init() tea.Cmd {
	id, of, read := c.request, c.of, c.read
	return c.env.command(0, func(context.Context) tea.Msg {
		left, right := parts(nil, of[0]).whole, parts(nil, of[1]).whole
		return comparedMsg{id, [2]string{comparedName(left), comparedName(right)}, comparedParts(left, right, read)}
	})
}

// comparedParts compares the bodies as they are read, headers and properties.
func comparedParts(left, right *message.Message, read func(*message.Message) body.View) []comparedPart {
	l, r := read(left), read(right)
	part := func(name string, left, right []body.Line) comparedPart {
		p := comparedPart{name: name}
		p.rows, p.near = body.Compare(left, right)
		return p
	}
	bodies := part("Body", l.Lines, r.Lines)
	bodies.titles = [2]string{viewTitle(&l), viewTitle(&r)}
	return []comparedPart{
		bodies,
		part("Headers", namedLines(treeLines(left.Headers)), namedLines(treeLines(right.Headers))),
		part("Properties", namedLines(propertyLines(left)), namedLines(propertyLines(right))),
	}
}

// viewTitle is what was done to read a body, and what is missing of it.
func viewTitle(v *body.View) string {
	if v.Format == body.Empty {
		return "the body is empty"
	}
	words := []string{v.Title, v.Problem, v.Note}
	return strings.Join(slices.DeleteFunc(words, func(s string) bool { return s == "" }), "; ")
}

func namedLines(all []named) []body.Line {
	lines := make([]body.Line, len(all))
	for i, n := range all {
		lines[i].Spans = []body.Span{{Kind: body.Key, Text: n.name}, {Text: "  " + n.value}}
	}
	return lines
}

func (c compareScreen) Title() string {
	return "#" + model.Count(c.of[0].position) + " and #" + model.Count(c.of[1].position)
}

func (c compareScreen) Typing() bool { return false }

func (c compareScreen) Keys() []key.Binding {
	k := c.env.keys
	fold := term.Describe(k.Fold, "show what is equal")
	if c.whole {
		fold = term.Describe(k.Fold, "only what differs")
	}
	return []key.Binding{fold}
}

func (c compareScreen) Update(msg tea.Msg) (screen, tea.Cmd) {
	switch msg := msg.(type) {
	case comparedMsg:
		if msg.request == c.request {
			c.names, c.parts, c.drawn = msg.names, msg.parts, &comparedLines{}
		}
	case tea.KeyMsg:
		return c.handleKey(msg), nil
	}
	return c, nil
}

func (c compareScreen) handleKey(msg tea.KeyMsg) screen {
	k := c.env.keys
	if term.Is(msg, k.Fold) {
		c.whole, c.top = !c.whole, 0
	}
	c.top = scrolled(k, msg, c.top, len(c.drawn.lines), c.drawn.height)
	return c
}

// comparedHead is how many lines stand above those that scroll.
const comparedHead = 2

// Prepare lays the lines, when they or the width are new.
func (c compareScreen) Prepare(width, height int) (screen, tea.Cmd) {
	d := *c.drawn
	if d.lines == nil || d.width != width || d.whole != c.whole {
		d = comparedLines{width: width, whole: c.whole, lines: c.lay(width)}
	}
	d.height = max(height-comparedHead, 1)
	c.drawn = &d
	c.top = min(c.top, max(len(d.lines)-d.height, 0))
	return c, nil
}

func (c compareScreen) View(width, height int) string {
	s := c.env.styles
	each := comparedWidth(width)
	heads := [2]string{}
	for i, name := range c.names {
		heads[i] = term.Pad(s.Title.Render(term.Cut(name, each, "…")), each)
	}
	lines := []string{" " + heads[0] + "   " + heads[1], s.Border.Render(repeated("─", width))}
	if c.parts == nil {
		lines = append(lines, "", "   "+s.Muted.Render("reading …"))
	}
	end := min(c.top+c.drawn.height, len(c.drawn.lines))
	return term.Block(append(lines, c.drawn.lines[min(c.top, end):end]...), width, height)
}
