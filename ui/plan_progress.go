package ui

import (
	"fmt"
	"strings"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/plan"
	"github.com/dlxtop/dlxtop/ui/term"
)

// progress shows how far a run is, and how it is stopped.
func (d *planDialog) progress(l *dialogLines) {
	d.sayRun(l)
	l.blank()
	hints := ""
	if d.waits() {
		hints = hint(l.styles, "enter", "do not wait longer")
	}
	d.sayStop(l, hints)
}

// sayRun shows how far a run is.
func (d *planDialog) sayRun(l *dialogLines) {
	s, a := l.styles, &d.account
	width := l.width - labelWidth
	share := 0
	if a.Planned > 0 {
		share = min(a.Done()*width/a.Planned, width)
	}
	l.lines = append(l.lines, strings.Repeat(" ", labelWidth)+s.Good.Render(strings.Repeat("█", share))+
		s.Muted.Render(strings.Repeat("░", width-share)))
	l.say("done", fmt.Sprintf("%s of %s", model.Count(int64(a.Done())), model.Count(int64(a.Planned))), s.Strong)
	d.counts(l)
	if a.Canary.Phase != "" {
		l.say("canary", model.Printable(a.Canary.Words()), s.Accent)
	}
	sayWaiting(l, a)
}

// counts are the outcomes that happened, each with what it means.
func (d *planDialog) counts(l *dialogLines) {
	s, a := l.styles, &d.account
	say := func(label string, n int, words string, look term.Style) {
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
	say("returned", a.Returned, "no queue took them: they stay where they were", s.Warning)
	say("refused", a.Refused, "they are where they were", s.Warning)
	unknown := "the connection or a queue's node was lost while they were in flight: they may be in both queues, never " +
		"in none"
	if a.Operation == plan.Drop {
		unknown = "the connection or the queue's node was lost: they may still be there; the journal has them"
	}
	say("unknown", a.Unknown, unknown, s.Danger)
	say("gone", a.Gone, "no longer in the queue when it ran", s.Text)
}

// tell shows the account, and what the keys do then.
func (d *planDialog) tell(l *dialogLines) {
	d.sayAccount(l, true)
	d.sayClose(l)
}

// sayAccount shows the account, and where it is all that was done, how it is undone.
func (d *planDialog) sayAccount(l *dialogLines, all bool) {
	s, a := l.styles, &d.account
	look := s.Strong
	if !a.Complete() {
		look = s.Warning
	}
	l.say("", d.summary(), look)
	l.blank()
	d.counts(l)
	if a.Canary.Phase != "" && a.Canary.Phase != plan.CanaryFailed {
		l.say("canary", model.Printable(a.Canary.Words()), s.Text)
	}
	if arrived := plan.ArrivedWords(d.others.arrived); arrived != "" {
		l.stress("later", arrived+" (after "+d.others.frozen.At.Local().Format("15:04:05")+")", s.Warning)
	}
	if rest := a.Planned - a.Done(); rest > 0 {
		l.say("untouched", model.Count(int64(rest))+"  still in the queue", s.Text)
	}
	if a.Stopped != "" {
		l.stress("stopped", model.Printable(a.Stopped), s.Warning)
	}
	if a.Rescued.Any() {
		l.stress("rescued", model.Printable(a.Rescued.Words()), s.Warning)
	}
	sayStrays(l, a)
	if d.err != nil {
		l.stress("error", readableError(d.err), s.Danger)
	}
	if a.JournalID > 0 {
		words := fmt.Sprint(a.JournalID)
		if all && d.canUndo() {
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
			l.say("", "and "+model.Count(len(a.Problems)-i)+" more", s.Muted)
			break
		}
		id := p.MessageID
		if id == "" {
			id = p.Fingerprint.String()[:8]
		}
		l.say(string(p.Outcome), term.Cut(model.Printable(id), 24, "…")+"  "+model.Printable(p.Reason), s.Text)
	}
}

// summary is the account in one sentence.
func (d *planDialog) summary() string {
	a := &d.account
	done, what := a.Moved, "moved"
	if d.operation == plan.Drop {
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
