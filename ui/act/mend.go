package act

import (
	"fmt"
	"slices"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/body"
	"github.com/dlxtop/dlxtop/model/draft"
	"github.com/dlxtop/dlxtop/model/mend"
	"github.com/dlxtop/dlxtop/model/plan"
	"github.com/dlxtop/dlxtop/ui/press"
	"github.com/dlxtop/dlxtop/ui/shell"
	"github.com/dlxtop/dlxtop/ui/term"
)

type mendState int

const (
	mendIdle   mendState = iota
	MendTyping           // the program is being typed
	MendTrying           // it is being tried on the messages
	mendShown            // the result is shown
)

// MendPrompt asks for a jq program that changes messages, and shows its results. The embedding screen tries the
// program, and opens the dialog of the replay afterwards.
type MendPrompt struct {
	env      *shell.Env
	State    mendState
	field    term.TextField
	recall   shell.Recall // of earlier programs
	wrong    string       // why it cannot be parsed; "" when it can
	Messages int          // how many it is tried on
	Words    string       // how they were selected
	mended   *plan.Mended
	refusal  string // why none of them can be replayed; "" when some can
	shown    shell.Scroll
	on       MendAnswers
}

// MendAnswers are what keys of a prompt do in the screen that embeds it.
type MendAnswers struct {
	Back, Agree func() tea.Cmd              // it was left; the results are agreed to
	Try         func(*mend.Program) tea.Cmd // on the messages
}

func NewMendPrompt(e *shell.Env, messages int, words string, on MendAnswers) MendPrompt {
	return MendPrompt{
		env:      e,
		State:    MendTyping,
		field:    term.NewTextField(""),
		Messages: messages,
		Words:    words,
		recall:   e.Programs.Recall(),
		on:       on,
	}
}

func (p *MendPrompt) Open() bool { return p.State != mendIdle }

func (p *MendPrompt) Keys() []term.Key {
	typing, shown := p.State == MendTyping, p.State == mendShown
	recall := func(by int) func() {
		return func() {
			p.recall.Step(&p.field, by)
			p.parse()
		}
	}

	closing := func(then func() tea.Cmd) func() tea.Cmd {
		return func() tea.Cmd {
			p.State = mendIdle
			return then()
		}
	}

	return []term.Key{
		term.On(press.Confirm, "", p.try).As("try it").When(typing),
		term.On(press.ChooseUp, "", recall(-1)).As("earlier programs").When(typing),
		term.On(press.ChooseDown, "", recall(1)).When(typing).Shown(false),
		term.On(press.Confirm, "", closing(p.on.Agree)).As("to the replay").When(shown && p.refusal == ""),
		term.On(press.Mend, "", func() { p.State = MendTyping }).As("edit the program").When(shown),
		term.Key{Binding: press.Down}.As("more").When(shown),
		term.On(press.Cancel, "", closing(p.on.Back)).As("back").AsIf(p.State == MendTrying, "stop"),
	}
}

// Press handles a key: one of these, or of the program, or one that scrolls.
func (p *MendPrompt) Press(msg tea.KeyMsg) tea.Cmd {
	if p.State == mendShown {
		p.shown.Key(msg)
	}
	cmd, pressed := term.Press(p.Keys(), msg)
	if !pressed && p.State == MendTyping {
		if p.field.Update(msg) {
			p.recall.Restart()
		}
		p.parse()
	}

	return cmd
}

// parse parses the program while it is typed, so that errors are visible.
func (p *MendPrompt) parse() {
	p.wrong = ""
	if p.field.Text() != "" {
		if _, err := mend.Parse(p.field.Text()); err != nil {
			p.wrong = err.Error()
		}
	}
}

// try tries the typed program, if it can be parsed.
func (p *MendPrompt) try() tea.Cmd {
	text := p.field.Text()
	program, err := mend.Parse(text)
	if err != nil {
		p.wrong = err.Error()
		return nil
	}

	p.env.Programs.Add(text)
	p.recall.Restart()
	p.State = MendTrying
	keep := p.env.Keep(func(c *shell.KeptChoices) { c.Programs = shell.Remembered(c.Programs, text) })
	return tea.Batch(keep, p.on.Try(program))
}

func (p *MendPrompt) Show(mended *plan.Mended, refusal string) {
	p.State = mendShown
	p.mended = mended
	p.refusal = refusal
	p.shown = shell.Scroll{}
}

const leastDifferences = 3

// Prepare lays out the differences for a box within width x height.
func (p *MendPrompt) Prepare(width, height int) {
	if p.State != mendShown {
		return
	}
	l := p.box(width)
	p.above(l)
	p.below(l)
	p.shown.Prepare(l.Width, max(height-2-len(l.Lines), leastDifferences), p.differences)
}

// box is as wide as the screen, for two sides.
func (p *MendPrompt) box(width int) *shell.DialogLines {
	l := shell.NewDialogLines(width)
	l.Outer, l.Width = width, width-4
	return l
}

func (p *MendPrompt) View(width, _ int) string {
	l := p.box(width)
	p.above(l)
	if p.State == mendShown {
		l.Lines = append(l.Lines, p.shown.Seen()...)
	}
	p.below(l)
	return l.Box(model.Sayf("Edit %v message(s) with jq", p.Messages))
}

// above is what stands above the differences: the program, and its results.
func (p *MendPrompt) above(l *shell.DialogLines) {
	if p.State != MendTyping {
		l.Say("program", p.field.Text(), term.Strong)
	} else {
		l.Say("messages", model.Sayf("%s: %v message(s)", p.Words, p.Messages))
		l.Named("program", &p.field)
		l.Say("", "each message is {body, headers, properties, exchange, routing_key}: change it in place, as in "+
			".body.quantity |= tonumber", term.Muted)
		if p.wrong != "" {
			l.Fail(p.wrong)
		}
	}

	switch p.State {
	case MendTrying:
		l.Say("", model.Sayf("trying it on %v message(s) …", p.Messages), term.Muted)
	case mendShown:
		p.sayMended(l)
	}
}

// sayMended says how many messages the program changes, and why others stay.
func (p *MendPrompt) sayMended(l *shell.DialogLines) {
	m := p.mended
	if p.refusal != "" {
		l.Fail("not possible: " + p.refusal)
	}
	if m == nil {
		return
	}
	l.Say("result", m.Words(), term.Strong)
	for _, f := range m.Failures {
		l.Say("stays", model.Sayf("%v message(s): %s", f.Messages, f.Why.Words()), term.Warning)
	}

	if more := m.Changed - len(m.Shown); more > 0 && len(m.Shown) > 0 {
		which := fmt.Sprintf("the first %d that change", len(m.Shown))
		if ofSeveralQueues(m) {
			which = model.Count(len(m.Shown)) + " of those that change"
		}
		l.Say("examples", which+", before and after", term.Muted)
	}
}

func (p *MendPrompt) below(l *shell.DialogLines) {
	l.Blank()
	l.Keys(p.Keys()...)
}

func (p *MendPrompt) differences(width int) []string {
	var lines []string
	if m := p.mended; m != nil {
		several := ofSeveralQueues(m)
		for i := range m.Shown {
			lines = append(append(lines, ""), mendedMessage(&m.Shown[i], several, width)...)
		}
	}

	return lines
}

func ofSeveralQueues(m *plan.Mended) bool {
	return slices.ContainsFunc(m.Shown, func(o plan.MendedMessage) bool { return o.Queue != m.Shown[0].Queue })
}

// mendedMessage returns one example, named with its queue if others are from another one.
func mendedMessage(m *plan.MendedMessage, several bool, width int) []string {
	was := m.Was.Message()
	was.Position = m.Position
	name := "#" + model.Count(was.Position)
	if was.Properties.MessageID != "" {
		name += "  " + model.Printable(was.Properties.MessageID)
	}
	if several {
		name = m.Queue.Printable() + "  " + name
	}

	lines := []string{term.Cut(term.Strong.Render(name), width)}
	d := draftDifferencesOf(&m.Was, &m.Is)
	return append(lines, d.lay(width)...)
}

// draftDifferences are what an edit changes.
type draftDifferences struct {
	above []string
	body  []body.Row
}

func draftDifferencesOf(was, is *draft.Draft) (d draftDifferences) {
	d.above, d.body = was.Compare(is)
	return d
}

// lay lays out the lines: what differs above the body, and the bodies side by side.
func (d *draftDifferences) lay(width int) (lines []string) {
	for _, change := range d.above {
		lines = append(lines, term.Text.Wrap(" ", change, width-1)...)
	}
	return append(lines, layRows(d.body, max((width-5)/2, 1))...) // between the sides are a mark and its blanks
}

// BeginMend asks for a program, and then about the replay of what it makes of the messages.
func (d *PlanDialog) BeginMend(e *shell.Env, about Subject) {
	d.reset(e, plan.Replay, about)
	d.State = shell.DialogChoosing
	d.prompt = NewMendPrompt(e, len(about.Rows), about.Words, MendAnswers{
		Back: d.leave,
		Try: func(program *mend.Program) tea.Cmd {
			prompt := d.prompt
			d.reset(d.Env, d.Operation, d.Subject)
			d.prompt, d.Mend = prompt, program
			return d.Work()
		},
		Agree: func() tea.Cmd {
			d.State = shell.DialogAsking
			return nil
		},
	})
}

// Prepare lays out what a program makes of the messages.
func (d *PlanDialog) Prepare(width, height int) { d.prompt.Prepare(width, height) }
