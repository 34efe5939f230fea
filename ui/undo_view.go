package ui

import (
	"fmt"

	"github.com/dlxtop/dlxtop/model"
)

// View draws the undo as a box on a screen of its own.
func (u undoScreen) View(width, height int) string {
	l := newDialogLines(u.env.styles, width)
	title := "Undo"
	switch u.state {
	case dialogPlanning:
		l.say("", "reading the journal …", l.styles.Muted)
	case dialogChecking:
		l.say("", "reading the topology again …", l.styles.Muted)
	case dialogAsking:
		title = u.ask(l)
	case dialogRunning, dialogStopping:
		title = "Bringing back " + model.Plural(u.account.Planned, "message")
		u.sayProgress(l)
	case dialogEnded:
		title = "What happened"
		u.tell(l)
	}
	return l.page(title, width, height)
}

// ask shows the plan and what the keys would do. It returns the title.
func (u *undoScreen) ask(l *dialogLines) string {
	s, p := l.styles, &u.plan
	title := "Undo"
	u.sayChanges(l)
	if r := &p.Record; r.ID > 0 {
		title = fmt.Sprintf("Undo %d: bring back %s", r.ID, model.Plural(p.Planned(), "message"))
		l.say("of", fmt.Sprintf("the %s of %s, %s, by %s", r.Operation, model.Printable(r.From.String()),
			r.Began.Format("2006-01-02 15:04:05"), model.Printable(r.Who())), s.Text)
		l.say("outcome", model.Printable(recordOutcome(r)), s.Text)
		l.say("back to", model.Printable(p.Back.String())+", to its end", s.Strong)
	}
	if p.Restores > 0 {
		l.say("from", "the journal: "+model.Plural(p.Restores, "message")+", byte for byte", s.Text)
	}
	for i := range p.Takes {
		take := &p.Takes[i]
		words := "if no consumer has taken them"
		if take.Undoing.Gone.Restores() {
			words = "and from the journal those that its limit dropped"
		}
		from, n := model.Printable(take.From.String()), model.Plural(take.Planned, "message")
		l.say("from", fmt.Sprintf("%s: %s, %s", from, n, words), s.Text)
	}
	for _, skip := range p.Skips {
		l.say("not", fmt.Sprintf("%s %s", model.Plural(skip.Messages, "message"), model.Printable(skip.Words())), s.Muted)
	}
	l.warn(p.Warnings)
	o := u.offer()
	u.sayAsked(l, o, o.does, u.insistHint(o))
	return title
}

func (u *undoScreen) tell(l *dialogLines) {
	s, a := l.styles, &u.account
	look := s.Strong
	if !a.Complete() {
		look = s.Warning
	}
	l.say("", fmt.Sprintf("%s of %s brought back to %s", model.Count(int64(a.Moved)),
		model.Plural(a.Planned, "message"), model.Printable(u.plan.Back.String())), look)
	if !a.Complete() || u.err != nil {
		l.blank()
	}
	u.sayOutcomes(l,
		outcome{a.Gone, "gone", "not where they were sent to any more: " + u.plan.Gone().Words() +
			"; " + u.plan.Gone().Next()},
		outcome{a.Refused, "refused", "by the broker: the journal still has them"},
		outcome{a.Returned, "returned", "no queue took them: the journal still has them"},
		outcome{a.Unknown, "unknown", "the connection or a queue's node was lost meanwhile: undo again to look " +
			"for them"})
}
