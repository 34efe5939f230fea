package shell

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/x/ansi"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/action"
	"github.com/dlxtop/dlxtop/ui/press"
	"github.com/dlxtop/dlxtop/ui/term"
)

const (
	dialogWidth = 88
	LabelWidth  = 10
)

// DialogLines collects the lines of a dialog, each with a label and wrapped text.
type DialogLines struct {
	Width int
	Outer int
	Lines []string
	Minor []int  // which of these are dropped first if there is no room
	major []int  // which of them are dropped last
	asked int    // how many of them, at the end, are the question
	more  string // how the lines are reached for which there is no room
}

// NewDialogLines returns the lines of a box within this number of columns.
func NewDialogLines(width int) *DialogLines {
	outer := min(dialogWidth, width-4)
	return &DialogLines{Width: outer - 4, Outer: outer}
}

// NewPaneLines returns the lines of a pane of this number of columns.
func NewPaneLines(width int) *DialogLines {
	return &DialogLines{Width: width - 6}
}

// Indented returns the lines as on a page, indented like the rows of a table.
func (l *DialogLines) Indented() (lines []string) {
	for _, line := range l.Lines {
		lines = append(lines, "   "+line)
	}
	return lines
}

// Indented returns a text on a page of this number of columns.
func Indented(look term.Style, text string, width int) []string {
	return look.Wrap("   ", text, width-6)
}

// EmptyPage says briefly that there is nothing, and why.
func EmptyPage(head, why string, width int) []string {
	return append([]string{"", "   " + term.Strong.Render(head), ""}, Indented(term.Text, why, width)...)
}

func (l *DialogLines) Blank() { l.Lines = append(l.Lines, "") }

// Say adds text beside a label, as ordinary text or in a style, and returns the index of its first line. An empty text
// adds none.
func (l *DialogLines) Say(label, text string, look ...term.Style) (from int) {
	from = len(l.Lines)
	l.Lines = append(l.Lines, cmp.Or(look...).Wrap(l.label(label), text, l.Width-LabelWidth)...)
	return from
}

func (l *DialogLines) label(text string) string {
	return term.Muted.Render(term.Pad(text, LabelWidth))
}

// Line adds a line as it is, beside a label.
func (l *DialogLines) Line(label, line string) { l.Lines = append(l.Lines, l.label(label)+line) }

// Fail says in one sentence what is wrong, or not possible.
func (l *DialogLines) Fail(words string) {
	l.Say("", term.MarkError+" "+words, term.Danger)
}

// SayFirst says at most some lines of a text, with … where it goes on.
func (l *DialogLines) SayFirst(most int, label, text string, look ...term.Style) {
	if end := l.Say(label, text, look...) + most; end < len(l.Lines) {
		l.Lines = l.Lines[:end]
		l.Lines[end-1] = term.Cut(l.Lines[end-1]+" …", l.Width)
	}
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

// MostNamed bounds what the facts of a dialog name.
var MostNamed = action.Most{Addresses: 3, Names: 8}

// Tell draws facts, each as its level says.
func (l *DialogLines) Tell(facts []action.Fact) {
	looks := map[action.Level]term.Style{
		action.Minor: term.Muted, action.Strong: term.Strong, action.Setting: term.Accent, action.Good: term.Good,
		action.Stressed: term.Warning, action.Bad: term.Danger, action.Warned: term.Warning, action.Grave: term.Danger,
	}

	for _, f := range facts {
		say, look, words := l.Stress, looks[f.Level], f.Words
		switch f.Level {
		case action.Minor:
			say = l.Aside
		case action.Plain, action.Setting, action.Good:
			l.Say(f.Label, words, look)
			continue
		case action.Warned:
			words = term.MarkWarning + " " + words
		case action.Grave:
			words = term.MarkError + " " + words
		}
		say(f.Label, words, look)
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
			lines = append(lines, term.Muted.Render(strings.TrimSpace("… "+l.more)))
		}
		if i < len(l.Lines) && !gone[i] {
			lines = append(lines, l.Lines[i])
		}
	}

	l.Lines = lines
}

// Window is the part of a text that is seen when there is no room for all: at first what matters most, and the lines as
// they are, from the first on, after a key that moves down.
type Window struct {
	top  int // 0: what matters most; else the first line, counted from 1
	last int // the highest top; 0: there is room for all
	room int
}

// Scroll handles a key that moves, and reports whether it does.
func (w *Window) Scroll(msg tea.KeyMsg) bool {
	step, moves := press.Step(msg, w.room)
	if !moves || w.last == 0 {
		return false
	}
	if w.top == 0 && step > 0 {
		step = 1
	}
	w.top = min(max(w.top+step, 0), w.last)
	return true
}

// seen returns the lines that were scrolled to, and which these are: "3–8 of 27"; "" while what matters most is seen.
func (w *Window) seen(lines []string, room int) (seen []string, where string) {
	n := len(lines)
	if n <= room || room < 1 {
		*w = Window{}
		return nil, ""
	}

	w.room, w.last = room, n-room+1
	if w.top = min(w.top, w.last); w.top == 0 {
		return nil, ""
	}
	from, to := w.top-1, w.top-1+room
	return lines[from:to], fmt.Sprintf("%d–%d of %d", w.top, to, n)
}

// Fit shows as many lines as fit, and returns which if they were scrolled to.
func (w *Window) Fit(l *DialogLines, room int) string {
	seen, where := w.seen(l.Lines, room)
	if where == "" {
		l.Fit(room)
	} else {
		l.Lines = seen
	}

	return where
}

// Fit shows as many lines as fit, and says how the others are reached. The question stays.
func (d *Dialog) Fit(l *DialogLines, most int) {
	asked := max(min(l.asked, most-2), 0)
	text := l.Lines[:len(l.Lines)-asked]
	if len(l.Lines) <= most {
		d.window = Window{}
		l.Fit(most)
		return
	}
	seen, where := d.window.seen(text, most-asked-1) // one line says where this is
	if where == "" {
		l.more = press.Down.Help().Key + " shows every line"
		l.Fit(most)
		return
	}

	where = fmt.Sprintf("lines %s, %s and %s move", where, press.Up.Help().Key, press.Down.Help().Key)
	l.Lines = slices.Concat(seen, []string{term.Muted.Render(where)}, l.Lines[len(text):])
}

func (l *DialogLines) Field(f *term.TextField) {
	l.Line("", term.Accent.Render("> ")+f.View(l.Width-LabelWidth-2))
}

func (l *DialogLines) Named(label string, f *term.TextField) {
	l.Line(label, f.View(l.Width-LabelWidth))
}

// Keys names keys.
func (l *DialogLines) Keys(keys ...term.Key) {
	text := ""
	for _, b := range keys {
		if b.Named() {
			text += Hint(b.Help().Key, b.Help().Desc)
		}
	}
	l.Hints(text)
}

// Hints adds keys and what they do, on as many lines as needed.
func (l *DialogLines) Hints(text string) {
	const wide, narrow = "     ", "   "
	room := l.Width - LabelWidth
	line := strings.TrimRight(text, " ")
	if ansi.StringWidthWc(line) > room {
		parts := strings.Split(line, wide)
		line = parts[0]
		for _, part := range parts[1:] {
			if ansi.StringWidthWc(line+narrow+part) > room {
				l.Line("", line)
				line = part
			} else {
				line += narrow + part
			}
		}
	}

	l.Line("", line)
}

func (l *DialogLines) Box(title string) string { return term.Framed(title, l.Lines, l.Outer) }

// Page draws the lines in a frame on a separate screen, as many as fit.
func (l *DialogLines) Page(title string, width, height int) string {
	l.Fit(height - 3)
	lines := []string{""}
	left := strings.Repeat(" ", max((width-l.Outer)/2, 0))
	for line := range strings.SplitSeq(l.Box(title), "\n") {
		lines = append(lines, left+line)
	}
	return term.Block(lines, width, height)
}

// SayChanges shows what has changed since the plan was first read, or why that is unknown.
func (d *Dialog) SayChanges(l *DialogLines) {
	if d.Unchecked != nil {
		words := " the topology could not be read again, and nothing was changed: " + ReadableError(d.Unchecked)
		l.Stress("", term.MarkError+words, term.Danger)
	}

	if d.ChangedAt.IsZero() {
		return
	}
	l.Stress("", term.MarkWarning+" this has changed while you looked at it: read it again", term.Danger)
	for i := range d.Changes {
		if !d.Changes[i].Refused { // it is shown as the refusal
			l.Stress("changed", d.Changes[i].Words(), term.Danger)
		}
	}
}

// SayAsked ends a question: with the refusal, or else the number to type, and the keys.
func (d *Dialog) SayAsked(l *DialogLines, o *Offer, keys []term.Key) {
	before := len(l.Lines)
	l.Say("these", o.Choice, term.Strong)
	l.Blank()
	if o.Refusal == "" {
		d.Consent.Say(l, o)
	} else {
		l.Fail("not possible: " + o.Refusal)
		if o.Insists != "" {
			l.Say("", press.Insist.Help().Key+" "+o.Override)
		}
		l.Blank()
	}

	l.Keys(keys...)
	l.Question(before)
}

// SayProgress shows how far a run has come.
func (d *Dialog) SayProgress(l *DialogLines, outcomes []action.Fact) {
	a := &d.Account
	width, share := l.Width-LabelWidth, 0
	if a.Planned > 0 {
		share = min(a.Done()*width/a.Planned, width)
	}

	l.Line("", term.Good.Render(strings.Repeat("█", share))+term.Muted.Render(strings.Repeat("░", width-share)))
	l.Say("done", model.Sayf("%v of %v", a.Done(), a.Planned), term.Strong)
	l.Tell(outcomes)
	if a.Canary.Phase != "" {
		l.Say("canary", a.Canary.Words()+a.Canary.Left(d.Env.Shown), term.Accent)
	}
	if a.Waiting != "" {
		l.Stress("waits", a.Waiting, term.Danger)
	}
}

// SayStop shows how to stop the run, after the hints for further keys.
func (d *Dialog) SayStop(l *DialogLines, hints string) {
	if d.State == DialogStopping {
		l.Say("", "stopping: waiting for messages in flight …", term.Warning)
		return
	}
	if d.feed != nil {
		hints += Hint(press.Background.Help().Key, "background")
	}
	l.Hints(hints + Hint("esc", "stop: what is done stays done"))
}

func (d *Dialog) SayClose(l *DialogLines) {
	before := len(l.Lines)
	l.Blank()
	l.Hints(Hint("enter", "close"))
	l.Question(before)
}

func Hint(name, does string) string {
	return term.Accent.Render(name) + " " + does + "     "
}
