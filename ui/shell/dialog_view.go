package shell

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/charmbracelet/bubbles/key"
	"github.com/charmbracelet/x/ansi"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/plan"
	"github.com/dlxtop/dlxtop/ui/term"
)

const (
	dialogWidth = 88
	LabelWidth  = 10
)

// DialogLines collects the lines of a dialog, each with a label and wrapped text.
type DialogLines struct {
	Styles *term.Styles
	Width  int
	Outer  int
	Lines  []string
	Minor  []int // which of these are dropped first if there is no room
	major  []int // which of them are dropped last
	asked  int   // how many of them, at the end, are the question
}

// NewDialogLines are the lines of a box within this number of columns.
func NewDialogLines(s *term.Styles, width int) *DialogLines {
	outer := min(dialogWidth, width-4)
	return &DialogLines{Styles: s, Width: outer - 4, Outer: outer}
}

// NewPaneLines are the lines of a pane of this number of columns.
func NewPaneLines(s *term.Styles, width int) *DialogLines {
	return &DialogLines{Styles: s, Width: width - 6}
}

// Indented are the lines as on a page, indented like the rows of a table.
func (l *DialogLines) Indented() (lines []string) {
	for _, line := range l.Lines {
		lines = append(lines, "   "+line)
	}
	return lines
}

// Indented is a text on a page of this number of columns.
func Indented(look term.Style, text string, width int) []string {
	return look.Wrap("   ", text, width-6)
}

// EmptyPage says briefly that there is nothing, and why.
func EmptyPage(s *term.Styles, head, why string, width int) []string {
	return append([]string{"", "   " + s.Strong.Render(head), ""}, Indented(term.Style{}, model.Printable(why), width)...)
}

func (l *DialogLines) Blank() { l.Lines = append(l.Lines, "") }

// Say adds text beside a label, and returns the index of its first line. An empty text adds none.
func (l *DialogLines) Say(label, text string, look term.Style) (from int) {
	from = len(l.Lines)
	l.Lines = append(l.Lines, look.Wrap(l.label(label), text, l.Width-LabelWidth)...)
	return from
}

func (l *DialogLines) label(text string) string {
	return l.Styles.Muted.Render(term.Fit(text, LabelWidth, false, false))
}

func (l *DialogLines) SayFirst(most int, label, text string, look term.Style) {
	from := l.Say(label, text, look)
	l.Lines = l.Lines[:min(len(l.Lines), from+most)]
}

// Aside is Say for what need not be read before pressing a key.
func (l *DialogLines) Aside(label, text string, look term.Style) {
	for i := l.Say(label, text, look); i < len(l.Lines); i++ {
		l.Minor = append(l.Minor, i)
	}
}

// Stress is Say for what must be read before pressing a key.
func (l *DialogLines) Stress(label, text string, look term.Style) {
	for i := l.Say(label, text, look); i < len(l.Lines); i++ {
		l.major = append(l.major, i)
	}
}

func (l *DialogLines) Warn(warnings []plan.Warning) {
	for _, w := range warnings {
		mark, look := term.MarkWarning, l.Styles.Warning
		if w.Grave {
			mark, look = term.MarkError, l.Styles.Danger
		}
		l.Stress("", mark+" "+model.Printable(w.Words()), look)
	}
}

// Question makes the lines from this one on the question.
func (l *DialogLines) Question(from int) { l.asked = len(l.Lines) - from }

// Fit drops lines for which there is no room, and marks where: first asides, then ordinary lines, then stressed ones,
// each from the end. The question, including the keys, stays.
func (l *DialogLines) Fit(most int) {
	over := len(l.Lines) - most
	if over <= 0 || most < 2 {
		return
	}
	over++ // for the mark
	end := len(l.Lines) - min(l.asked, most-1)
	mark, gone := end, map[int]bool{}
	leave := func(which func(i int) bool) {
		for i := end - 1; i >= 0 && over > 0; i-- {
			if which(i) {
				mark, gone[i] = i, true
				over--
			}
		}
	}
	minor := func(i int) bool { return slices.Contains(l.Minor, i) }
	major := func(i int) bool { return slices.Contains(l.major, i) }
	leave(minor)
	mark = end
	leave(func(i int) bool { return !minor(i) && !major(i) })
	leave(major)
	var lines []string
	for i := range len(l.Lines) + 1 {
		if i == mark {
			lines = append(lines, l.Styles.Muted.Render("…"))
		}
		if i < len(l.Lines) && !gone[i] {
			lines = append(lines, l.Lines[i])
		}
	}
	l.Lines = lines
}

func (l *DialogLines) Field(f *term.TextField) {
	l.Lines = append(l.Lines, l.label("")+l.Styles.Accent.Render("> ")+f.View(l.Styles, l.Width-LabelWidth-2))
}

func (l *DialogLines) Named(label string, f *term.TextField) {
	l.Lines = append(l.Lines, l.label(label)+f.View(l.Styles, l.Width-LabelWidth))
}

func (l *DialogLines) Keys(keys ...key.Binding) {
	text := ""
	for _, b := range keys {
		text += Hint(l.Styles, b.Help().Key, b.Help().Desc)
	}
	l.Hints(text)
}

// Hints adds keys and what they do, on as many lines as needed.
func (l *DialogLines) Hints(text string) {
	const wide, narrow = "     ", "   "
	room, line := l.Width-LabelWidth, strings.TrimRight(text, " ")
	if ansi.StringWidthWc(line) > room {
		parts := strings.Split(line, wide)
		line = parts[0]
		for _, part := range parts[1:] {
			if ansi.StringWidthWc(line+narrow+part) > room {
				l.Lines, line = append(l.Lines, l.label("")+line), part
			} else {
				line += narrow + part
			}
		}
	}
	l.Lines = append(l.Lines, l.label("")+line)
}

func (l *DialogLines) Box(title string) string { return term.Framed(l.Styles, title, l.Lines, l.Outer) }

// Page draws the lines in a frame on a separate screen, as many as fit.
func (l *DialogLines) Page(title string, width, height int) string {
	l.Fit(height - 3)
	lines, left := []string{""}, strings.Repeat(" ", max((width-l.Outer)/2, 0))
	for line := range strings.SplitSeq(l.Box(title), "\n") {
		lines = append(lines, left+line)
	}
	return term.Block(lines, width, height)
}

// SayChanges shows what has changed since the plan was first read, or why that is unknown.
func (d *Dialog) SayChanges(l *DialogLines) {
	if d.Unchecked != nil {
		words := " the topology could not be read again, and nothing was changed: " + ReadableError(d.Unchecked)
		l.Stress("", term.MarkError+words, l.Styles.Danger)
	}
	if d.ChangedAt.IsZero() {
		return
	}
	l.Stress("", term.MarkWarning+" this has changed while you looked at it: read it again", l.Styles.Danger)
	for i := range d.Changes {
		if !d.Changes[i].Refused { // it is shown as the refusal
			l.Stress("changed", model.Printable(d.Changes[i].Words()), l.Styles.Danger)
		}
	}
}

// SayAsked ends a question: with the refusal, or else the number to type, and the keys.
func (d *Dialog) SayAsked(l *DialogLines, o *Offer, keys []key.Binding) {
	s, before := l.Styles, len(l.Lines)
	l.Blank()
	if o.Refusal == "" {
		d.Consent.Say(l, o)
	} else {
		l.Say("", term.MarkError+" "+cmp.Or(o.Not, "not possible")+": "+model.Printable(o.Refusal), s.Danger)
		if o.Insists != "" {
			l.Say("", d.Env.Keys.Insist.Help().Key+" "+o.Override, s.Text)
		}
		l.Blank()
	}
	l.Keys(keys...)
	l.Question(before)
}

func (d *Dialog) SayProgress(l *DialogLines) {
	a := &d.Account
	l.Say("done", fmt.Sprintf("%s of %s", model.Count(int64(a.Done())), model.Count(int64(a.Planned))), l.Styles.Strong)
	SayWaiting(l, a)
	l.Blank()
	d.SayStop(l, "")
}

func SayWaiting(l *DialogLines, a *plan.Account) {
	if a.Waiting != "" {
		l.Stress("waits", model.Printable(a.Waiting), l.Styles.Danger)
	}
}

// SayStop shows how to stop the run, after the hints for further keys.
func (d *Dialog) SayStop(l *DialogLines, hints string) {
	if d.State == DialogStopping {
		l.Say("", "stopping: waiting for messages in flight …", l.Styles.Warning)
		return
	}
	l.Hints(hints + Hint(l.Styles, "esc", "stop: what is done stays done"))
}

// Outcome says how many messages had an outcome, if any, and what that means.
func (l *DialogLines) Outcome(n int, label, words string) {
	if n > 0 {
		l.Stress(label, model.Count(n)+"  "+words, l.Styles.Warning)
	}
}

// SayEnd says why a run did not do everything.
func (d *Dialog) SayEnd(l *DialogLines) {
	if d.Account.Stopped != "" {
		l.Stress("stopped", model.Printable(d.Account.Stopped), l.Styles.Warning)
	}
	if d.Err != nil {
		l.Stress("error", ReadableError(d.Err), l.Styles.Danger)
	}
	d.SayClose(l)
}

func (d *Dialog) SayClose(l *DialogLines) {
	before := len(l.Lines)
	l.Blank()
	l.Hints(Hint(l.Styles, "enter", "close"))
	l.Question(before)
}

func Hint(s *term.Styles, name, does string) string {
	return s.Accent.Render(name) + " " + does + "     "
}
