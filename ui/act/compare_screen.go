package act

import (
	"context"
	"slices"
	"strings"

	"github.com/charmbracelet/bubbles/key"
	tea "github.com/charmbracelet/bubbletea"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/body"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/ui/shell"
	"github.com/dlxtop/dlxtop/ui/term"
)

// CompareScreen shows two messages side by side, with what differs.
type CompareScreen struct {
	Env     *shell.Env
	of      [2]*shell.MessageRow
	read    func(*message.Message) body.View
	request shell.Request
	names   [2]string      // of the messages
	Parts   []comparedPart // nil: not read yet
	Whole   bool           // what is equal, too
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
	request shell.Request
	names   [2]string
	parts   []comparedPart
}

func NewCompareScreen(e *shell.Env, queue model.QueueRef, left, right *shell.MessageRow) shell.Screen {
	return CompareScreen{
		Env: e, of: [2]*shell.MessageRow{left, right}, read: e.Reads(queue), request: e.NewRequest(), drawn: &comparedLines{},
	}
}

// Init reads both messages, which can be on disk.
func (c CompareScreen) Init() tea.Cmd {
	id, of, read := c.request, c.of, c.read
	return c.Env.Command(0, func(context.Context) tea.Msg {
		left, right := shell.Parts(nil, of[0]).Whole, shell.Parts(nil, of[1]).Whole
		return comparedMsg{id, [2]string{comparedName(left), comparedName(right)}, ComparedParts(left, right, read)}
	})
}

// ComparedParts compares the bodies as they are read, headers and properties.
func ComparedParts(left, right *message.Message, read func(*message.Message) body.View) []comparedPart {
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
		part("Headers", namedLines(shell.TreeLines(left.Headers)), namedLines(shell.TreeLines(right.Headers))),
		part("Properties", namedLines(shell.PropertyLines(left)), namedLines(shell.PropertyLines(right))),
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

func namedLines(all []shell.Named) []body.Line {
	lines := make([]body.Line, len(all))
	for i, n := range all {
		lines[i].Spans = []body.Span{{Kind: body.Key, Text: n.Name}, {Text: "  " + n.Value}}
	}
	return lines
}

func (c CompareScreen) Title() string {
	return "#" + model.Count(c.of[0].Position) + " and #" + model.Count(c.of[1].Position)
}

func (c CompareScreen) Typing() bool { return false }

func (c CompareScreen) Keys() []key.Binding {
	k := c.Env.Keys
	fold := term.Describe(k.Fold, "show what is equal")
	if c.Whole {
		fold = term.Describe(k.Fold, "only what differs")
	}
	return []key.Binding{fold}
}

func (c CompareScreen) Update(msg tea.Msg) (shell.Screen, tea.Cmd) {
	switch msg := msg.(type) {
	case comparedMsg:
		if msg.request == c.request {
			c.names, c.Parts, c.drawn = msg.names, msg.parts, &comparedLines{}
		}
	case tea.KeyMsg:
		return c.handleKey(msg), nil
	}
	return c, nil
}

func (c CompareScreen) handleKey(msg tea.KeyMsg) shell.Screen {
	k := c.Env.Keys
	if term.Is(msg, k.Fold) {
		c.Whole, c.top = !c.Whole, 0
	}
	c.top = shell.Scrolled(k, msg, c.top, len(c.drawn.lines), c.drawn.height)
	return c
}

// comparedHead is how many lines stand above those that scroll.
const comparedHead = 2

// Prepare lays the lines, when they or the width are new.
func (c CompareScreen) Prepare(width, height int) (shell.Screen, tea.Cmd) {
	d := *c.drawn
	if d.lines == nil || d.width != width || d.whole != c.Whole {
		d = comparedLines{width: width, whole: c.Whole, lines: c.Lay(width)}
	}
	d.height = max(height-comparedHead, 1)
	c.drawn = &d
	c.top = min(c.top, max(len(d.lines)-d.height, 0))
	return c, nil
}

func (c CompareScreen) View(width, height int) string {
	s := c.Env.Styles
	each := comparedWidth(width)
	heads := [2]string{}
	for i, name := range c.names {
		heads[i] = term.Pad(s.Title.Render(term.Cut(name, each, "…")), each)
	}
	lines := []string{" " + heads[0] + "   " + heads[1], s.Border.Render(repeated("─", width))}
	if c.Parts == nil {
		lines = append(lines, "", "   "+s.Muted.Render("reading …"))
	}
	end := min(c.top+c.drawn.height, len(c.drawn.lines))
	return term.Block(append(lines, c.drawn.lines[min(c.top, end):end]...), width, height)
}
