package ui

import (
	"fmt"
	"slices"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"dlxtop/model"
)

const (
	dialogWidth   = 88
	labelWidth    = 10
	shownProblems = 6
	shownNames    = 8
)

// dialogLines collects the lines of a dialog: a label and wrapped text each.
type dialogLines struct {
	styles *Styles
	width  int
	lines  []string
}

func (l *dialogLines) blank() { l.lines = append(l.lines, "") }

// say adds text under a label.
func (l *dialogLines) say(label, text string, look Style) {
	for i, part := range wrap(text, l.width-labelWidth) {
		if i > 0 {
			label = ""
		}
		l.lines = append(l.lines, l.styles.Muted.Render(fit(label, labelWidth, false, false))+look.Render(part))
	}
}

// view draws the dialog as a box within width x height.
func (d *planDialog) view(width, height int) string {
	outer := min(dialogWidth, width-4)
	l := &dialogLines{styles: d.env.styles, width: outer - 4}
	switch d.state {
	case dialogChoosing:
		d.chooser.view(l, height-2)
	case dialogPlanning:
		l.say("", "working out whom this would reach …", l.styles.Muted)
	case dialogAsking:
		d.ask(l)
	case dialogRunning, dialogStopping:
		d.progress(l)
	case dialogEnded:
		d.tell(l)
	}
	if most := height - 2; len(l.lines) > most && most > 2 {
		// What is asked stands at the end, and is never cut off.
		tail := l.lines[len(l.lines)-3:]
		l.lines = append(l.lines[:most-4:most-4], l.styles.Muted.Render("…"))
		l.lines = append(l.lines, tail...)
	}
	return framed(d.env.styles, d.title(), l.lines, outer)
}

func (d *planDialog) title() string {
	n := model.Plural(len(d.rows), "message")
	switch {
	case d.state == dialogRunning:
		return map[model.Operation]string{model.Replay: "Replaying ", model.Move: "Moving ", model.Drop: "Dropping "}[d.operation] + n
	case d.state == dialogStopping:
		return "Stopping"
	case d.state == dialogEnded:
		return "What happened"
	}
	return map[model.Operation]string{model.Replay: "Replay ", model.Move: "Move ", model.Drop: "Drop "}[d.operation] + n
}

// ask shows the plan and what the keys would do.
func (d *planDialog) ask(l *dialogLines) {
	s := l.styles
	p := &d.plan
	l.say("from", model.Printable(p.From.String()), s.Strong)
	l.say("chosen", d.chosen(), s.Text)
	d.askEdit(l)
	if d.operation.Publishes() {
		d.askWhere(l)
	}
	if p.Canary != nil {
		l.say("canary", p.Canary.Words(), s.Accent)
	}
	if d.env.journal != nil {
		l.say("journal", "yes, "+d.env.keys.Undo.Help().Key+" undoes it", s.Text)
	} else {
		l.say("journal", "no: it was switched off, and there is no undo", s.Warning)
	}
	for _, w := range p.Warnings {
		l.say("", markWarning+" "+model.Printable(w), s.Warning)
	}
	if !d.changedAt.IsZero() {
		l.say("", markWarning+" this has changed while you looked at it: read it again", s.Danger)
	}
	if p.Acquire.Cost != "" && p.Refusal == "" {
		l.say("costs", model.Printable(p.Acquire.Cost), s.Muted)
	}
	k := d.env.keys
	if refusal := d.forbidden(); refusal != "" {
		l.blank()
		l.say("", markError+" not possible: "+model.Printable(refusal), s.Danger)
		if d.canInsist() {
			l.say("", k.Insist.Help().Key+" insists: "+model.Printable(p.Acquire.Override), s.Text)
		}
		l.blank()
		l.hints(d.otherHint() + d.canaryHint() + hint(s, "esc", "back"))
		return
	}
	l.blank()
	if d.typed() {
		why := "that many messages"
		if d.env.production {
			why = "production"
		}
		l.say("", fmt.Sprintf("To %s %s (%s), type the queue's name:", d.operation, model.Plural(len(d.rows), "message"), why), s.Text)
		l.lines = append(l.lines, strings.Repeat(" ", labelWidth)+s.Accent.Render("> ")+d.name.view(s, l.width-labelWidth-2))
		l.blank()
		if d.ready() {
			l.hints(hint(s, "enter", string(d.operation)) + d.otherHint() + d.canaryHint() + hint(s, "esc", "back"))
		} else {
			l.hints(d.otherHint() + d.canaryHint() + hint(s, "esc", "back"))
		}
		return
	}
	what := string(d.operation)
	if d.operation == model.Drop {
		what = "drop " + model.Plural(len(d.rows), "message")
		if d.env.journal == nil {
			what += " for good"
		}
	}
	l.hints(hint(s, "enter", what) + d.otherHint() + d.canaryHint() + hint(s, "esc", "back"))
}

func (l *dialogLines) hints(text string) {
	if text = strings.TrimRight(text, " "); ansi.StringWidth(text) > l.width-labelWidth {
		text = strings.ReplaceAll(text, "     ", "   ")
	}
	l.lines = append(l.lines, strings.Repeat(" ", labelWidth)+text)
}

func hint(s *Styles, key, does string) string { return s.Accent.Render(key) + " " + does + "     " }

// other is what tab does, "" when it does nothing.
func (d *planDialog) other() string {
	switch {
	case d.operation == model.Move:
		return "other queue"
	case len(d.modes) > 1:
		return "other target"
	}
	return ""
}

func (d *planDialog) otherHint() string {
	hints := ""
	if d.other() != "" {
		hints = hint(d.env.styles, "tab", d.other())
	}
	if d.edit != nil {
		hints += hint(d.env.styles, d.env.keys.Edit.Help().Key, "edit")
	}
	return hints
}

// chosen says which messages it is about, and which stay.
func (d *planDialog) chosen() string {
	words := d.words
	if len(d.rows) == 1 {
		m := d.rows[0].message()
		words += fmt.Sprintf(": #%s", model.Count(int64(m.Position)))
		if m.Properties.MessageID != "" {
			words += ", id " + model.Printable(m.Properties.MessageID)
		}
	} else {
		words += ": " + model.Plural(len(d.rows), "message")
	}
	if d.left > 0 {
		words += fmt.Sprintf("; the other %s that the queue holds were not read, and stay", model.Count(d.left))
	}
	return words
}

// askWhere shows where a replay goes, why, whom it reaches and what it takes off.
func (d *planDialog) askWhere(l *dialogLines) {
	s, p := l.styles, &d.plan
	label := "to"
	for i, w := range p.Ways {
		if i == 3 {
			l.say(label, fmt.Sprintf("and %d more addresses", len(p.Ways)-i), s.Text)
			break
		}
		words := "through " + model.Printable(model.ExchangeName(w.Exchange)) + ", key " + printableKey(w.RoutingKey)
		if w.Why != "" {
			words += "  (" + model.Printable(w.Why) + ")"
		}
		if len(p.Ways) > 1 {
			words += "  " + model.Plural(w.Messages, "message")
		}
		l.say(label, words, s.Text)
		label = ""
	}
	if len(d.modes) > 0 {
		l.say("target", d.modes[d.mode].name, s.Muted)
	}
	label = "reaches"
	if len(p.Recipients) > 1 {
		l.say(label, model.Plural(len(p.Recipients), "queue")+":", s.Warning)
		label = ""
	}
	for i, r := range p.Recipients {
		if i == shownNames {
			l.say(label, fmt.Sprintf("and %d more", len(p.Recipients)-i), s.Warning)
			break
		}
		words := model.Printable(r.Queue.String()) + ", " + consumerWords(r.Consumers)
		if len(p.Recipients) > 1 {
			words += ", " + model.Plural(r.Messages, "message")
		}
		look := s.Strong
		if c, known := r.Consumers.Get(); known && c == 0 {
			look = s.Warning
		}
		l.say(label, words, look)
		label = ""
	}
	if len(p.Strips) > 0 {
		l.say("strips", model.Printable(strings.Join(stripWords(p.Strips), ", ")), s.Text)
	}
	if len(p.Keeps) > 0 {
		l.say("keeps", model.Printable(strings.Join(stripWords(p.Keeps), ", "))+": nothing there counts the deaths, and the story stays readable", s.Text)
	}
	if p.Mark {
		l.say("adds", model.ReplayHeader+": how often it was replayed, and when", s.Text)
	}
}

// stripWords shortens names: x-first-death-exchange, -queue and -reason together are x-first-death-*, and so are those of the last.
func stripWords(names []string) []string {
	for _, common := range []string{"x-first-death-", "x-last-death-"} {
		three := []string{common + "exchange", common + "queue", common + "reason"}
		at := slices.Index(names, three[0])
		if at >= 0 && at+len(three) <= len(names) && slices.Equal(names[at:at+len(three)], three) {
			names = slices.Concat(names[:at], []string{common + "*"}, names[at+len(three):])
		}
	}
	return names
}

func printableKey(routingKey string) string {
	if routingKey == "" {
		return `""`
	}
	return model.Printable(routingKey)
}

func consumerWords(consumers model.Opt[int64]) string {
	switch n, known := consumers.Get(); {
	case !known:
		return "consumers unknown"
	case n == 0:
		return "no consumers"
	default:
		return model.Plural(int(n), "consumer")
	}
}

// progress shows how far a run is.
func (d *planDialog) progress(l *dialogLines) {
	s, a := l.styles, &d.account
	width := l.width - labelWidth
	share := 0
	if a.Planned > 0 {
		share = min(a.Done()*width/a.Planned, width)
	}
	l.lines = append(l.lines, strings.Repeat(" ", labelWidth)+s.Good.Render(strings.Repeat("█", share))+s.Muted.Render(strings.Repeat("░", width-share)))
	l.say("done", fmt.Sprintf("%s of %s", model.Count(int64(a.Done())), model.Count(int64(a.Planned))), s.Strong)
	d.counts(l)
	if words, canary := strings.CutPrefix(a.Canary, "canary: "); canary {
		l.say("canary", model.Printable(words), s.Accent)
	}
	l.blank()
	if d.state == dialogStopping {
		l.say("", "stopping: what is in flight is waited for …", s.Warning)
		return
	}
	hints := hint(s, "esc", "stop: what is done stays done")
	if d.waits() {
		hints = hint(s, "enter", "do not wait longer") + hints
	}
	l.hints(hints)
}

// counts are the outcomes that happened, each with what it means.
func (d *planDialog) counts(l *dialogLines) {
	s, a := l.styles, &d.account
	say := func(label string, n int, words string, look Style) {
		if n > 0 {
			text := model.Count(int64(n))
			if words != "" {
				text += "  " + words
			}
			l.say(label, text, look)
		}
	}
	say("moved", a.Moved, "", s.Good)
	say("dropped", a.Dropped, "", s.Good)
	say("returned", a.Returned, "no queue took them: they are where they were", s.Warning)
	say("refused", a.Refused, "they are where they were", s.Warning)
	say("unknown", a.Unknown, "the connection went while they were in flight: they may be in both queues, never in none", s.Danger)
	say("gone", a.Gone, "no longer in the queue when it ran", s.Text)
}

// tell shows the account.
func (d *planDialog) tell(l *dialogLines) {
	s, a := l.styles, &d.account
	look := s.Strong
	if !a.Complete() {
		look = s.Warning
	}
	l.say("", d.summary(), look)
	l.blank()
	d.counts(l)
	if words, canary := strings.CutPrefix(a.Canary, "canary: "); canary && a.CameBack == 0 {
		l.say("canary", model.Printable(words), s.Text)
	}
	if rest := a.Planned - a.Done(); rest > 0 {
		l.say("untouched", model.Count(int64(rest))+"  still in the queue", s.Text)
	}
	if a.Stopped != "" {
		l.say("stopped", model.Printable(a.Stopped), s.Warning)
	}
	if d.err != nil && d.err.Error() != a.Stopped {
		l.say("error", readableError(d.err), s.Danger)
	}
	if a.JournalID > 0 {
		words := fmt.Sprint(a.JournalID)
		if d.canUndo() {
			words += "  " + d.env.keys.Undo.Help().Key + " undoes it"
		}
		l.say("journal", words, s.Muted)
	}
	if a.Elapsed > 0 {
		l.say("took", model.ShortDuration(a.Elapsed.Round(1e6)), s.Muted)
	}
	if len(a.Problems) > 0 {
		l.blank()
	}
	for i, p := range a.Problems {
		if i == shownProblems {
			l.say("", fmt.Sprintf("and %d more", len(a.Problems)-i), s.Muted)
			break
		}
		id := p.MessageID
		if id == "" {
			id = p.Fingerprint.String()[:8]
		}
		l.say(string(p.Outcome), ansi.Truncate(model.Printable(id), 24, "…")+"  "+model.Printable(p.Reason), s.Text)
	}
	l.blank()
	l.hints(hint(s, "enter", "close"))
}

func readableError(err error) string {
	words := readTrouble(err)
	return strings.TrimPrefix(words, "not read: ")
}

// summary is the account in one sentence.
func (d *planDialog) summary() string {
	a := &d.account
	done, what := a.Moved, "moved"
	if d.operation == model.Drop {
		done, what = a.Dropped, "dropped"
	}
	words := fmt.Sprintf("%s %s", model.Plural(done, "message"), what)
	if done < a.Planned {
		words = fmt.Sprintf("%s of %s %s", model.Count(int64(done)), model.Plural(a.Planned, "message"), what)
	}
	if d.operation.Publishes() && done > 0 && len(d.plan.Recipients) == 1 {
		words += " to " + model.Printable(d.plan.Recipients[0].Queue.String())
	}
	return words
}
