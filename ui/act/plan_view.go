package act

import (
	"cmp"
	"fmt"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/action"
	"github.com/dlxtop/dlxtop/model/plan"
	"github.com/dlxtop/dlxtop/ui/press"
	"github.com/dlxtop/dlxtop/ui/shell"
	"github.com/dlxtop/dlxtop/ui/term"
)

const shownProblems = 6

func (d *PlanDialog) View(width, height int) string {
	if asks := d.asking(); asks != nil {
		return asks.View(width, height)
	}
	l := shell.NewDialogLines(width)
	if d.edit.state == editDone { // it has two sides
		l.Outer, l.Width = width, width-4
	}

	shown := d.shown()
	if d.CanUndo() {
		shown.next += "  " + press.Undo.Help().Key + " undoes it"
	}
	if d.canResume() {
		shown.next += ", " + press.Resume.Help().Key + " resumes it: looks for what is unknown, and goes on"
	}

	title := shown.draw(l, &d.Dialog, d.Offer(), d.Keys())
	d.Fit(l, height-2)
	return l.Box(title)
}

// shownAction is an action with what a dialog shows besides.
type shownAction struct {
	action.Action
	title    string                   // before it runs
	planning string                   // while the plan is made
	above    func(*shell.DialogLines) // says what stands above the facts
	summary  string                   // of the account
	ended    action.Ended
	next     string // what keys do about the record
	hint     string // what keys do while it runs
}

// draw draws the dialog of an action, and returns its title.
func (a *shownAction) draw(l *shell.DialogLines, d *shell.Dialog, o *shell.Offer, keys []term.Key) (title string) {
	switch d.State {
	case shell.DialogPlanning:
		l.Say("", a.planning, term.Muted)
	case shell.DialogChecking:
		l.Say("", "reading the topology again …", term.Muted)
	case shell.DialogAsking:
		a.say(l, d)
		d.SayAsked(l, o, keys)
	case shell.DialogRunning, shell.DialogStopping:
		a.say(l, d)
		l.Blank()
		if d.SayStop(l, a.hint); d.State == shell.DialogStopping {
			return "Stopping"
		}
		return a.Words().Running
	case shell.DialogEnded:
		a.say(l, d)
		d.SayClose(l)
		return "What happened"
	}

	return a.title
}

// say shows an action as far as it came: what it would do, what it does, or what became of it.
func (a *shownAction) say(l *shell.DialogLines, d *shell.Dialog) {
	switch d.State {
	case shell.DialogRunning, shell.DialogStopping:
		d.SayProgress(l, a.Outcomes(&d.Account))
	case shell.DialogEnded:
		a.sayAccount(l, d)
	default:
		d.SayChanges(l)
		if a.above != nil {
			a.above(l)
		}
		l.Tell(a.Facts(shell.MostNamed))
	}
}

// Action returns the plan as an action. Without a plan yet it has only what is known of it.
func (d *QueueAction) Action() *action.Messages {
	m := &action.Messages{Run: d.Plan.On(d.Topology)}
	m.Operation, m.From, m.Planned = d.Operation, d.Queue, len(d.Rows)
	m.GoOn = d.goOn
	m.NoJournal = d.Env.Journal == nil && !d.Env.ReadOnly
	if len(d.Modes) > 0 {
		m.Target = d.Modes[d.Mode].name
	}
	if !d.Env.ReadOnly {
		m.Undo = press.Undo.Help().Key + " undoes it"
	}

	return m
}

func (d *QueueAction) shown() *shownAction {
	planned := d.Action()
	shown := shownAction{
		Action:   planned,
		title:    planned.Words().Title,
		planning: "working out which queues this would reach …",
		summary:  d.Summary(),
		ended:    action.Ended{Since: d.Others.Frozen.At, Arrived: d.Others.Arrived},
	}

	shown.above = func(l *shell.DialogLines) {
		l.Say("from", d.Plan.From.Printable(), term.Strong)
		l.Say("chosen", d.chosen())
		d.askEdit(l)
	}

	if d.waits() {
		shown.hint = shell.Hint("enter", "do not wait longer")
	}

	return &shown
}

// Say shows it as far as it came.
func (d *QueueAction) Say(l *shell.DialogLines) { d.shown().say(l, &d.Dialog) }

// SayStop shows how to stop the run, and how to end the wait of a canary.
func (d *QueueAction) SayStop(l *shell.DialogLines) { d.Dialog.SayStop(l, d.shown().hint) }

// chosen says which messages it is about, and which stay.
func (d *QueueAction) chosen() string {
	words := d.Words + ": "
	n := len(d.Rows)
	switch {
	case n != 1:
		words += model.Plural(n, "message")
	case d.one != "":
		words += model.Sayf("#%v, id %v", d.Rows[0].Position, d.one)
	default:
		words += "#" + model.Count(d.Rows[0].Position)
	}

	if d.Others.Unread > 0 {
		words += model.Sayf("; the other %v in the queue were not read, and stay", d.Others.Unread)
	}
	if arrived := plan.ArrivedWords(d.Others.Arrived); arrived != "" {
		words += "; " + arrived
	}

	return words
}

// sayAccount shows the account, with a summary.
func (shown *shownAction) sayAccount(l *shell.DialogLines, d *shell.Dialog) {
	a := &d.Account
	look := term.Strong
	if !a.Complete() || d.Err != nil {
		look = term.Warning
	}

	l.Say("", shown.summary, look)
	l.Blank()
	l.Tell(shown.Outcomes(a))
	ended := shown.ended
	ended.Account, ended.Sequel = *a, d.Env.Sequel(a.Mark)
	l.Tell(ended.Facts(d.Env.Shown))
	if d.Err != nil {
		l.Stress("error", shell.ReadableError(d.Err), term.Danger)
	}

	if a.JournalID > 0 {
		l.Say("journal", fmt.Sprint(a.JournalID)+shown.next, term.Muted)
	}
	if a.Elapsed > 0 {
		l.Say("took", model.ShortDuration(a.Elapsed.Round(1e6)), term.Muted)
	}
	if len(a.Problems) > 0 {
		l.Blank()
	}

	for i, p := range a.Problems {
		if i == shownProblems {
			l.Say("", model.Sayf("and %v more", len(a.Problems)-i), term.Muted)
			break
		}
		id := cmp.Or(p.MessageID, p.Fingerprint.String()[:8])
		l.Say(string(p.Outcome), term.Cut(model.Printable(id), 24)+"  "+p.Reason)
	}
}

// DoneWords say how many messages were done, and of how many if not all were. done is what was done with each.
func DoneWords(done string, a *plan.Account) string {
	n := a.Moved + a.Dropped
	if n < a.Planned {
		return model.Sayf("%v of %v message(s) %s", n, a.Planned, done)
	}
	return model.Sayf("%v message(s) %s", n, done)
}

func (d *QueueAction) Summary() string {
	a := &d.Account
	if a.Unknown > 0 {
		return a.Words()
	}
	return DoneWords(d.Action().Words().Done, a)
}
