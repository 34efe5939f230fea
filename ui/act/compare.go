package act

import (
	"context"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/charmbracelet/bubbles/key"
	tea "github.com/charmbracelet/bubbletea"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/body"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/ui/shell"
	"github.com/dlxtop/dlxtop/ui/term"
)

// CompareScreen shows two messages side by side, with their differences.
type CompareScreen struct {
	Env     *shell.Env
	title   string
	request shell.Request
	reads   tea.Cmd        // begins to read both messages
	names   [2]string      // of the messages
	Parts   []comparedPart // nil: not read yet
	Whole   bool           // show what is equal, too
	text    shell.Scroll
}

type comparedPart struct {
	name   string
	rows   []body.Row
	near   bool      // false: too much differs to find equal lines
	titles [2]string // how it was decoded
}

type compared struct {
	names [2]string
	parts []comparedPart
}

func NewCompareScreen(e *shell.Env, queue model.QueueRef, left, right *shell.MessageRow) shell.Screen {
	c := CompareScreen{Env: e, title: "#" + model.Count(left.Position) + " and #" + model.Count(right.Position)}
	c.request, c.reads = shell.Ask(e, 0, func(context.Context) (compared, error) { // they can be on disk
		left, right := shell.Parts(nil, left).Whole, shell.Parts(nil, right).Whole
		names := [2]string{comparedName(left), comparedName(right)}
		return compared{names, ComparedParts(left, right, e.Reads(queue))}, nil
	})
	return c
}

func (c CompareScreen) Init() tea.Cmd { return c.reads }

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

// viewTitle says how a body was decoded, and what is missing.
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

func (c CompareScreen) Title() string { return c.title }
func (c CompareScreen) Typing() bool  { return false }

func (c CompareScreen) Keys() []key.Binding {
	if c.Whole {
		return []key.Binding{term.Describe(c.Env.Keys.Fold, "only what differs")}
	}
	return []key.Binding{term.Describe(c.Env.Keys.Fold, "show what is equal")}
}

func (c CompareScreen) Update(msg tea.Msg) (shell.Screen, tea.Cmd) {
	switch msg := msg.(type) {
	case shell.EndedMsg[compared]:
		if msg.Request == c.request {
			c.names, c.Parts, c.text = msg.Result.names, msg.Result.parts, shell.Scroll{}
		}
	case tea.KeyMsg:
		if term.Is(msg, c.Env.Keys.Fold) {
			c.Whole, c.text = !c.Whole, shell.Scroll{}
		}
		c.text.Key(c.Env.Keys, msg)
	}
	return c, nil
}

// comparedHead is how many lines above do not scroll.
const comparedHead = 2

func (c CompareScreen) Prepare(width, height int) (shell.Screen, tea.Cmd) {
	c.text.Prepare(width, max(height-comparedHead, 1), c.Lay)
	return c, nil
}

func (c CompareScreen) View(width, height int) string {
	s := c.Env.Styles
	each := comparedWidth(width)
	left, right := s.Title.Render(term.Cut(c.names[0], each, "…")), s.Title.Render(term.Cut(c.names[1], each, "…"))
	lines := []string{beside([]string{left}, []string{right}, "   ", each)[0], s.Border.Render(strings.Repeat("─", width))}
	if c.Parts == nil {
		lines = append(lines, "", "   "+s.Muted.Render("reading …"))
	}
	return term.Block(append(lines, c.text.Seen()...), width, height)
}

// around is how many equal lines are shown around a differing one.
const around = 2

// comparedWidth is the width of one side: between them are a mark and its blanks.
func comparedWidth(width int) int { return max((width-5)/2, 1) }

func (c CompareScreen) Lay(width int) []string {
	s, each := c.Env.Styles, comparedWidth(width)
	lines := []string{}
	for i := range c.Parts {
		p := &c.Parts[i]
		if i > 0 {
			lines = append(lines, "")
		}
		lines = append(lines, term.Cut(" "+s.Strong.Render(p.name)+"  "+p.summary(s), width, "…"))
		if p.titles != [2]string{} {
			left, right := s.Muted.Wrap("", p.titles[0], each), s.Muted.Wrap("", p.titles[1], each)
			lines = append(lines, beside(left, right, "   ", each)...)
		}
		lines = append(lines, p.lay(s, each, c.Whole)...)
	}
	return lines
}

func (p *comparedPart) summary(s *term.Styles) string {
	differ := 0
	for i := range p.rows {
		if !p.rows[i].Same {
			differ++
		}
	}
	switch {
	case len(p.rows) == 0:
		return s.Muted.Render("none")
	case differ == 0:
		return s.Good.Render("equal")
	case !p.near:
		return s.Warning.Render("too different: line by line, as they come")
	case differ == 1:
		return s.Warning.Render("1 line differs")
	}
	return s.Warning.Render(model.Plural(differ, "line") + " differ")
}

// lay lays out the lines of a part: without the equal stretches, also within lines, unless whole.
func (p *comparedPart) lay(s *term.Styles, each int, whole bool) []string {
	var lines []string
	for i := 0; i < len(p.rows); {
		end := i
		for !whole && end < len(p.rows) && p.isFar(end) {
			end++
		}
		if end-i > 1 {
			lines = append(lines, s.Muted.Render("  … "+model.Plural(end-i, "equal line")))
			i = end
			continue
		}
		lines = append(lines, p.rowLines(s, each, &p.rows[i], whole)...)
		i++
	}
	return lines
}

func (p *comparedPart) isFar(at int) bool {
	near := p.rows[max(at-around, 0):min(at+around+1, len(p.rows))]
	return !slices.ContainsFunc(near, func(r body.Row) bool { return !r.Same })
}

func (p *comparedPart) rowLines(s *term.Styles, each int, r *body.Row, whole bool) []string {
	left, right := r.Left.String(), r.Right.String()
	switch {
	case r.Same && !whole && len(left) > each:
		left = term.Cut(left, each, "…")
		return beside([]string{s.Text.Render(left)}, []string{s.Text.Render(left)}, "   ", each)
	case r.Same:
		return beside(shell.Dressed(s, r.Left, each), shell.Dressed(s, r.Right, each), "   ", each)
	case !r.HasRight:
		only := shell.InkedLines([]term.Field{{Text: left, Style: s.Danger}}, each)
		return beside(only, nil, s.Warning.Render(" < "), each)
	case !r.HasLeft:
		return beside(nil, shell.InkedLines([]term.Field{{Text: right, Style: s.Good}}, each), s.Warning.Render(" > "), each)
	}
	before, after := CommonEnds(left, right)
	if !whole {
		left, right, before, after = nearDifference(left, right, before, after, each/2)
	}
	return beside(
		shell.InkedLines(changed(s, left, before, after, s.Danger), each),
		shell.InkedLines(changed(s, right, before, after, s.Good), each), s.Warning.Render(" | "), each)
}

func changed(s *term.Styles, line string, before, after int, style term.Style) []term.Field {
	return []term.Field{
		{Text: line[:before], Style: s.Text},
		{Text: line[before : len(line)-after], Style: style},
		{Text: line[len(line)-after:], Style: s.Text},
	}
}

// CommonEnds are the bytes that two lines share at their beginning and at their end, in whole characters.
func CommonEnds(a, b string) (before, after int) {
	for before < len(a) && before < len(b) {
		r, size := utf8.DecodeRuneInString(a[before:])
		if other, _ := utf8.DecodeRuneInString(b[before:]); r != other {
			break
		}
		before += size
	}
	for after < len(a)-before && after < len(b)-before {
		r, size := utf8.DecodeLastRuneInString(a[before : len(a)-after])
		if other, _ := utf8.DecodeLastRuneInString(b[before : len(b)-after]); r != other {
			break
		}
		after += size
	}
	return before, after
}

// nearDifference shortens what two lines share at their beginning and at their end to fit into room bytes.
func nearDifference(left, right string, before, after, room int) (l, r string, b, a int) {
	if cut := before - room; cut > len("…") {
		for !utf8.RuneStart(left[cut]) {
			cut++
		}
		left, right, before = "…"+left[cut:], "…"+right[cut:], before-cut+len("…")
	}
	if cut := after - room; cut > len("…") {
		for !utf8.RuneStart(left[len(left)-cut]) {
			cut++
		}
		left, right, after = left[:len(left)-cut]+"…", right[:len(right)-cut]+"…", after-cut+len("…")
	}
	return left, right, before, after
}

// beside puts lines next to lines, with a mark between the first of them.
func beside(left, right []string, mark string, each int) []string {
	lines := make([]string, max(len(left), len(right)))
	at := func(side []string, i int) string {
		if i < len(side) {
			return term.Pad(side[i], each)
		}
		return strings.Repeat(" ", each)
	}
	for i := range lines {
		lines[i] = " " + at(left, i) + mark + at(right, i)
		mark = "   "
	}
	return lines
}

func comparedName(m *message.Message) string {
	name := "#" + model.Count(m.Position)
	if m.Properties.MessageID != "" {
		name += "  " + model.Printable(m.Properties.MessageID)
	}
	return name
}
