package ui

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
	labelWidth  = 10
)

// dialogLines collects the lines of a dialog: a label and wrapped text each.
type dialogLines struct {
	styles *term.Styles
	width  int
	outer  int
	lines  []string
	minor  []int // which of these go first where there is no room
	major  []int // which of them go last
	asked  int   // how many of them, at the end, are what is asked
}

// newDialogLines are the lines of a box that stands in this number of columns.
func newDialogLines(s *term.Styles, width int) *dialogLines {
	outer := min(dialogWidth, width-4)
	return &dialogLines{styles: s, width: outer - 4, outer: outer}
}

func (l *dialogLines) blank() { l.lines = append(l.lines, "") }

// say adds text under a label.
func (l *dialogLines) say(label, text string, look term.Style) {
	for i, part := range term.Wrap(text, l.width-labelWidth) {
		if i > 0 {
			label = ""
		}
		l.lines = append(l.lines, l.styles.Muted.Render(term.Fit(label, labelWidth, false, false))+look.Render(part))
	}
}

// aside is say for what need not be read before a key is pressed.
func (l *dialogLines) aside(label, text string, look term.Style) {
	from := len(l.lines)
	l.say(label, text, look)
	for i := from; i < len(l.lines); i++ {
		l.minor = append(l.minor, i)
	}
}

// stress is say for what must be read before a key is pressed.
func (l *dialogLines) stress(label, text string, look term.Style) {
	from := len(l.lines)
	l.say(label, text, look)
	for i := from; i < len(l.lines); i++ {
		l.major = append(l.major, i)
	}
}

// warn shows what a person might not expect, and in red what is lost.
func (l *dialogLines) warn(warnings []plan.Warning) {
	for _, w := range warnings {
		mark, look := term.MarkWarning, l.styles.Warning
		if w.Grave() {
			mark, look = term.MarkError, l.styles.Danger
		}
		l.stress("", mark+" "+model.Printable(w.Words()), look)
	}
}

// question makes the lines from this one on what is asked.
func (l *dialogLines) question(from int) { l.asked = len(l.lines) - from }

// fit leaves out what has no room, and marks where: first what is said aside, then what is said, and then what is
// stressed, each from its end. The question stays, and with it the keys.
func (l *dialogLines) fit(most int) {
	over := len(l.lines) - most
	if over <= 0 || most < 2 {
		return
	}
	over++ // for the mark
	end := len(l.lines) - min(l.asked, most-1)
	mark, gone := end, map[int]bool{}
	leave := func(which func(i int) bool) {
		for i := end - 1; i >= 0 && over > 0; i-- {
			if which(i) {
				mark, gone[i] = i, true
				over--
			}
		}
	}
	minor := func(i int) bool { return slices.Contains(l.minor, i) }
	major := func(i int) bool { return slices.Contains(l.major, i) }
	leave(minor)
	mark = end
	leave(func(i int) bool { return !minor(i) && !major(i) })
	leave(major)
	var lines []string
	for i := range len(l.lines) + 1 {
		if i == mark {
			lines = append(lines, l.styles.Muted.Render("…"))
		}
		if i < len(l.lines) && !gone[i] {
			lines = append(lines, l.lines[i])
		}
	}
	l.lines = lines
}

// field adds a text field.
func (l *dialogLines) field(f *term.TextField) {
	l.lines = append(l.lines, strings.Repeat(" ", labelWidth)+l.styles.Accent.Render("> ")+
		f.View(l.styles, l.width-labelWidth-2))
}

// keys adds keys with what they do.
func (l *dialogLines) keys(keys ...key.Binding) {
	text := ""
	for _, b := range keys {
		text += hint(l.styles, b.Help().Key, b.Help().Desc)
	}
	l.hints(text)
}

// hints adds keys with what they do, on as many lines as they need.
func (l *dialogLines) hints(text string) {
	const wide, narrow = "     ", "   "
	room, indent := l.width-labelWidth, strings.Repeat(" ", labelWidth)
	text = strings.TrimRight(text, " ")
	if ansi.StringWidthWc(text) <= room {
		l.lines = append(l.lines, indent+text)
		return
	}
	line := ""
	for _, part := range strings.Split(text, wide) {
		if line != "" && ansi.StringWidthWc(line+narrow+part) > room {
			l.lines, line = append(l.lines, indent+line), ""
		}
		if line != "" {
			line += narrow
		}
		line += part
	}
	l.lines = append(l.lines, indent+line)
}

// box draws the lines in a frame.
func (l *dialogLines) box(title string) string { return term.Framed(l.styles, title, l.lines, l.outer) }

// page draws the lines in a frame on a screen of their own, as many as it has room for.
func (l *dialogLines) page(title string, width, height int) string {
	l.fit(height - 3)
	lines, left := []string{""}, strings.Repeat(" ", max((width-l.outer)/2, 0))
	for line := range strings.SplitSeq(l.box(title), "\n") {
		lines = append(lines, left+line)
	}
	return term.Block(lines, width, height)
}

// sayChanges shows what has changed since the plan was first read, or why nobody can tell.
func (d *dialog) sayChanges(l *dialogLines) {
	if d.unchecked != nil {
		words := " the topology could not be read again, and nothing was changed: " + readableError(d.unchecked)
		l.stress("", term.MarkError+words, l.styles.Danger)
	}
	if d.changedAt.IsZero() {
		return
	}
	l.stress("", term.MarkWarning+" this has changed while you looked at it: read it again", l.styles.Danger)
	for i := range d.changes {
		if d.changes[i].Kind != plan.NowRefused { // it is shown as what is not possible
			l.stress("changed", model.Printable(d.changes[i].Words()), l.styles.Danger)
		}
	}
}

// sayAsked ends a question: why it cannot be agreed to, else the number that is asked for, and the keys.
func (d *dialog) sayAsked(l *dialogLines, o *offer, keys []key.Binding) {
	s, before := l.styles, len(l.lines)
	l.blank()
	switch {
	case o.refusal != "":
		l.say("", term.MarkError+" "+cmp.Or(o.not, "not possible")+": "+model.Printable(o.refusal), s.Danger)
		if o.insists != "" {
			l.say("", d.env.keys.Insist.Help().Key+" "+o.override, s.Text)
		}
		l.blank()
	default:
		d.consent.say(l, o)
	}
	l.keys(keys...)
	l.question(before)
}

// sayProgress tells how far a run is.
func (d *dialog) sayProgress(l *dialogLines) {
	a := &d.account
	l.say("done", fmt.Sprintf("%s of %s", model.Count(int64(a.Done())), model.Count(int64(a.Planned))), l.styles.Strong)
	sayWaiting(l, a)
	l.blank()
	d.sayStop(l, "")
}

// sayWaiting tells why nothing moves at the moment.
func sayWaiting(l *dialogLines, a *plan.Account) {
	if a.Waiting != "" {
		l.stress("waits", model.Printable(a.Waiting), l.styles.Danger)
	}
}

// sayStop tells how what runs is stopped, behind the hints of further keys.
func (d *dialog) sayStop(l *dialogLines, hints string) {
	if d.state == dialogStopping {
		l.say("", "stopping: waiting for messages in flight …", l.styles.Warning)
		return
	}
	l.hints(hints + hint(l.styles, "esc", "stop: what is done stays done"))
}

// outcome is how many messages had it, and what that means.
type outcome struct {
	n            int
	label, words string
}

// sayOutcomes tells how a run ended that did not do all of it. What went well is said before.
func (d *dialog) sayOutcomes(l *dialogLines, outcomes ...outcome) {
	for _, c := range outcomes {
		if c.n > 0 {
			l.stress(c.label, model.Count(int64(c.n))+"  "+c.words, l.styles.Warning)
		}
	}
	if d.account.Stopped != "" {
		l.stress("stopped", model.Printable(d.account.Stopped), l.styles.Warning)
	}
	if d.err != nil {
		l.stress("error", readableError(d.err), l.styles.Danger)
	}
	d.sayClose(l)
}

// sayClose ends what happened.
func (d *dialog) sayClose(l *dialogLines) {
	before := len(l.lines)
	l.blank()
	l.hints(hint(l.styles, "enter", "close"))
	l.question(before)
}

func hint(s *term.Styles, name, does string) string {
	return s.Accent.Render(name) + " " + does + "     "
}
