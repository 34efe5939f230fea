package act

import (
	"fmt"
	"strings"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/plan"
	"github.com/dlxtop/dlxtop/ui/shell"
	"github.com/dlxtop/dlxtop/ui/term"
)

// progress shows how far a run is, and how it is stopped.
func (d *PlanDialog) progress(l *shell.DialogLines) {
	d.SayRun(l)
	l.Blank()
	hints := ""
	if d.Waits() {
		hints = shell.Hint(l.Styles, "enter", "do not wait longer")
	}
	d.SayStop(l, hints)
}

// SayRun shows how far a run is.
func (d *PlanDialog) SayRun(l *shell.DialogLines) {
	s, a := l.Styles, &d.Account
	width := l.Width - shell.LabelWidth
	share := 0
	if a.Planned > 0 {
		share = min(a.Done()*width/a.Planned, width)
	}
	l.Lines = append(l.Lines, strings.Repeat(" ", shell.LabelWidth)+s.Good.Render(strings.Repeat("█", share))+
		s.Muted.Render(strings.Repeat("░", width-share)))
	l.Say("done", fmt.Sprintf("%s of %s", model.Count(int64(a.Done())), model.Count(int64(a.Planned))), s.Strong)
	d.counts(l)
	if a.Canary.Phase != "" {
		l.Say("canary", model.Printable(a.Canary.Words()+a.Canary.Left(d.Env.Shown)), s.Accent)
	}
	shell.SayWaiting(l, a)
}

// counts are the outcomes that happened, each with what it means.
func (d *PlanDialog) counts(l *shell.DialogLines) {
	s, a := l.Styles, &d.Account
	say := func(label string, n int, words string, look term.Style) {
		if n > 0 {
			text := model.Count(int64(n))
			if words != "" {
				text += "  " + words
			}
			l.Say(label, text, look)
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
func (d *PlanDialog) tell(l *shell.DialogLines) {
	d.SayAccount(l, true)
	d.SayClose(l)
}

// SayAccount shows the account, and where it is all that was done, how it is undone.
func (d *PlanDialog) SayAccount(l *shell.DialogLines, all bool) {
	s, a := l.Styles, &d.Account
	look := s.Strong
	if !a.Complete() {
		look = s.Warning
	}
	l.Say("", d.Summary(), look)
	l.Blank()
	d.counts(l)
	if a.Canary.Phase != "" && a.Canary.Phase != plan.CanaryFailed {
		l.Say("canary", model.Printable(a.Canary.Words()), s.Text)
	}
	if s := d.Env.Sequel(a.Mark); s != nil {
		l.Stress("after", model.Printable(s.Words(d.Env.Shown)), l.SequelStyle(s))
	}
	if arrived := plan.ArrivedWords(d.Others.Arrived); arrived != "" {
		l.Stress("later", arrived+" (after "+d.Others.Frozen.At.Local().Format("15:04:05")+")", s.Warning)
	}
	if rest := a.Planned - a.Done(); rest > 0 {
		l.Say("untouched", model.Count(int64(rest))+"  still in the queue", s.Text)
	}
	if a.Stopped != "" {
		l.Stress("stopped", model.Printable(a.Stopped), s.Warning)
	}
	if a.Rescued.Any() {
		l.Stress("rescued", model.Printable(a.Rescued.Words()), s.Warning)
	}
	SayStrays(l, a)
	if d.Err != nil {
		l.Stress("error", shell.ReadableError(d.Err), s.Danger)
	}
	if a.JournalID > 0 {
		words := fmt.Sprint(a.JournalID)
		if all && d.CanUndo() {
			words += "  " + d.Env.Keys.Undo.Help().Key + " undoes it"
		}
		l.Say("journal", words, s.Muted)
	}
	if a.Elapsed > 0 {
		l.Say("took", model.ShortDuration(a.Elapsed.Round(1e6)), s.Muted)
	}
	if len(a.Problems) > 0 {
		l.Blank()
	}
	for i, p := range a.Problems {
		if i == shownProblems {
			l.Say("", "and "+model.Count(len(a.Problems)-i)+" more", s.Muted)
			break
		}
		id := p.MessageID
		if id == "" {
			id = p.Fingerprint.String()[:8]
		}
		l.Say(string(p.Outcome), term.Cut(model.Printable(id), 24, "…")+"  "+model.Printable(p.Reason), s.Text)
	}
}

// Summary is the account in one sentence.
func (d *PlanDialog) Summary() string {
	a := &d.Account
	done, what := a.Moved, "moved"
	if d.Operation == plan.Drop {
		done, what = a.Dropped, "dropped"
	}
	words := fmt.Sprintf("%s %s", model.Plural(done, "message"), what)
	if done < a.Planned {
		words = fmt.Sprintf("%s of %s %s", model.Count(int64(done)), model.Plural(a.Planned, "message"), what)
	}
	if d.Operation.Publishes() && done > 0 && len(d.Plan.Recipients) == 1 {
		words += " to " + model.Printable(d.Plan.Recipients[0].Queue.String())
	}
	return words
}
