package act

import (
	"cmp"
	"fmt"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/action"
	"github.com/dlxtop/dlxtop/model/plan"
	"github.com/dlxtop/dlxtop/ui/shell"
	"github.com/dlxtop/dlxtop/ui/term"
)

const (
	shownProblems = 6
)

func (d *PlanDialog) View(width, height int) string {
	l := shell.NewDialogLines(d.Env.Styles, width)
	switch {
	case d.prompt.Open():
		return d.prompt.View(width)
	case d.edit.open():
		return d.editView(l)
	case d.edit.state == editDone: // it has two sides
		l.Outer, l.Width = width, width-4
	}

	switch d.State {
	case shell.DialogChoosing:
		d.chooser.View(l, height-2)
	case shell.DialogPlanning:
		l.Say("", "working out which queues this would reach …", l.Styles.Muted)
	case shell.DialogChecking:
		l.Say("", "reading the topology again …", l.Styles.Muted)
	case shell.DialogAsking:
		d.SayChanges(l)
		d.SayPlan(l)
		d.SayAsked(l, d.Offer(), d.Keys())
	case shell.DialogRunning, shell.DialogStopping:
		d.SayRun(l)
		l.Blank()
		d.SayStop(l)
	case shell.DialogEnded:
		d.SayAccount(l, true)
		d.SayClose(l)
	}

	d.Fit(l, height-2)
	return l.Box(d.title())
}

func (d *PlanDialog) title() string {
	words := d.Action().Words()
	switch d.State {
	case shell.DialogRunning:
		return words.Running
	case shell.DialogStopping:
		return "Stopping"
	case shell.DialogEnded:
		return "What happened"
	}

	return words.Title
}

// Action is the plan as an action. Without a plan yet it has only what is known of it.
func (d *PlanDialog) Action() *action.Messages {
	m := &action.Messages{Run: d.Plan.On(d.Topology)}
	m.Operation, m.From, m.Planned = d.Operation, d.Queue, len(d.Rows)
	m.GoOn = d.goOn
	m.NoJournal = d.Env.Journal == nil && !d.Env.ReadOnly
	if len(d.Modes) > 0 {
		m.Target = d.Modes[d.Mode].name
	}
	if !d.Env.ReadOnly {
		m.Undo = d.Env.Keys.Undo.Help().Key + " undoes it"
	}

	return m
}

func (d *PlanDialog) SayPlan(l *shell.DialogLines) {
	l.Say("from", model.Printable(d.Plan.From.String()), l.Styles.Strong)
	l.Say("chosen", d.chosen(), l.Styles.Text)
	d.askEdit(l)
	l.Tell(d.Action().Facts(shell.MostNamed))
}

// chosen says which messages it is about, and which stay.
func (d *PlanDialog) chosen() string {
	words := d.Words + ": "
	n := len(d.Rows)
	switch {
	case n != 1:
		words += model.Plural(n, "message")
	case d.one != "":
		words += "#" + model.Count(d.Rows[0].Position) + ", id " + model.Printable(d.one)
	default:
		words += "#" + model.Count(d.Rows[0].Position)
	}

	if d.Others.Unread > 0 {
		words += fmt.Sprintf("; the other %s in the queue were not read, and stay", model.Count(d.Others.Unread))
	}
	if arrived := plan.ArrivedWords(d.Others.Arrived); arrived != "" {
		words += "; " + arrived
	}

	return words
}

// SayStop shows how to stop the run, and how to end the wait of a canary.
func (d *PlanDialog) SayStop(l *shell.DialogLines) {
	hints := ""
	if d.waits() {
		hints = shell.Hint(l.Styles, "enter", "do not wait longer")
	}
	d.Dialog.SayStop(l, hints)
}

func (d *PlanDialog) SayRun(l *shell.DialogLines) { d.SayProgress(l, d.Action().Outcomes(&d.Account)) }

// SayAccount shows the account and, if that is all that was done, how to undo it.
func (d *PlanDialog) SayAccount(l *shell.DialogLines, all bool) {
	next := ""
	if all && d.CanUndo() {
		next += "  " + d.Env.Keys.Undo.Help().Key + " undoes it"
	}
	if all && d.canResume() {
		next += ", " + d.Env.Keys.Resume.Help().Key + " resumes it: looks for what is unknown, and goes on"
	}

	ended := action.Ended{Since: d.Others.Frozen.At, Arrived: d.Others.Arrived}
	sayAccount(l, &d.Dialog, d.Summary(), next, d.Action().Outcomes(&d.Account), ended)
}

// sayAccount shows the account of an action, with a summary. next is what keys do about it.
func sayAccount(
	l *shell.DialogLines, d *shell.Dialog, summary, next string, outcomes []action.Fact, ended action.Ended,
) {
	s, a := l.Styles, &d.Account
	look := s.Strong
	if !a.Complete() || d.Err != nil {
		look = s.Warning
	}

	l.Say("", summary, look)
	l.Blank()
	l.Tell(outcomes)
	ended.Account, ended.Sequel = *a, d.Env.Sequel(a.Mark)
	l.Tell(ended.Facts(d.Env.Shown))
	if d.Err != nil {
		l.Stress("error", shell.ReadableError(d.Err), s.Danger)
	}

	if a.JournalID > 0 {
		l.Say("journal", fmt.Sprint(a.JournalID)+next, s.Muted)
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
		id := cmp.Or(p.MessageID, p.Fingerprint.String()[:8])
		l.Say(string(p.Outcome), term.Cut(model.Printable(id), 24, "…")+"  "+model.Printable(p.Reason), s.Text)
	}
}

// DoneWords say how many messages were done, and of how many if not all were. done is what was done with each.
func DoneWords(done string, n, planned int) string {
	if n < planned {
		return fmt.Sprintf("%s of %s %s", model.Count(n), model.Plural(planned, "message"), done)
	}
	return model.Plural(n, "message") + " " + done
}

func (d *PlanDialog) Summary() string {
	a := &d.Account
	if a.Unknown > 0 {
		return a.Words()
	}
	return DoneWords(d.Action().Words().Done, a.Moved+a.Dropped, a.Planned)
}
