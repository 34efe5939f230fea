package ui

import (
	"fmt"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/resume"
)

// shownUndecided is how many messages that nobody can decide are listed.
const shownUndecided = 5

// View draws the resume as a box on a screen of its own.
func (r resumeScreen) View(width, height int) string {
	l := newDialogLines(r.env.styles, width)
	title := fmt.Sprintf("Resume %d", r.id)
	switch r.state {
	case dialogPlanning:
		l.say("", "looking for the messages whose outcome is unknown …", l.styles.Muted)
	case dialogChecking:
		l.say("", "reading the topology again …", l.styles.Muted)
	case dialogAsking:
		title = r.ask(l)
	case dialogRunning, dialogStopping:
		title = fmt.Sprintf("Resuming %s %d", r.plan.Record.Operation, r.plan.Record.ID)
		r.sayProgress(l)
	case dialogEnded:
		title = "What happened"
		r.tell(l)
	}
	return l.page(title, width, height)
}

// ask shows the plan and what the keys would do. It returns the title.
func (r *resumeScreen) ask(l *dialogLines) string {
	s, p, o := l.styles, &r.plan, r.offer()
	title := fmt.Sprintf("Resume %d", r.id)
	r.sayChanges(l)
	if record := &p.Record; record.ID > 0 {
		title = fmt.Sprintf("Resume %d: continue the %s", record.ID, record.Operation)
		l.say(
			"of",
			fmt.Sprintf(
				"%s, %s, by %s",
				model.Printable(record.From.String()),
				record.Began.Format("2006-01-02 15:04:05"),
				model.Printable(record.Who()),
			),
			s.Text,
		)
		l.say("outcome", model.Printable(recordOutcome(record)), s.Text)
		if record.To != "" {
			l.say("to", model.Printable(record.To), s.Text)
		}
		l.say("the rest", model.Plural(p.Planned(), "message")+" at most", s.Strong)
	}
	for i, words := range p.Found() {
		label := ""
		if i == 0 {
			label = "found"
		}
		l.say(label, model.Printable(words), s.Text)
	}
	r.sayUndecided(l)
	l.warn(p.Rest.Warnings)
	hints, question := "", len(l.lines)
	if o.turns != "" {
		hints = hint(s, r.env.keys.Target.Help().Key, o.turns)
		r.sayChoice(l)
	}
	r.sayAsked(l, o, o.does, hints+r.insistHint(o))
	l.question(question)
	return title
}

// sayUndecided lists what nobody can decide.
func (r *resumeScreen) sayUndecided(l *dialogLines) {
	s := l.styles
	for i, u := range r.plan.Undecided {
		if i == shownUndecided {
			l.stress("", fmt.Sprintf("and %d more", len(r.plan.Undecided)-i), s.Warning)
			break
		}
		id := ""
		if u.MessageID != "" {
			id = " (" + model.Printable(u.MessageID) + ")"
		}
		l.stress("undecided", fmt.Sprintf("%d%s: %s", u.Position, id, model.Printable(u.Why)), s.Warning)
	}
}

// sayChoice is what is done with what nobody can decide.
func (r *resumeScreen) sayChoice(l *dialogLines) {
	l.say("these", map[resume.Choice]string{
		"":                  "stay as they are, and unknown",
		resume.PublishAgain: "are published again: they may be there twice",
		resume.LeaveThem:    "stay in their queue, and count as done",
	}[choices[r.choice]], l.styles.Strong)
}

func (r *resumeScreen) tell(l *dialogLines) {
	s, a := l.styles, &r.account
	look := s.Strong
	if !a.Complete() || r.err != nil || len(r.plan.Undecided) > 0 {
		look = s.Warning
	}
	if r.err == nil {
		l.say(
			"",
			fmt.Sprintf(
				"%s of %s %s",
				model.Count(int64(a.Moved+a.Dropped)),
				model.Plural(a.Planned, "message"),
				r.plan.Record.Done(),
			),
			look,
		)
	}
	if n := r.plan.Done + r.plan.Acks(); n > 0 {
		l.say("before", fmt.Sprintf("%s were done, or had arrived", model.Plural(n, "message")), s.Text)
	}
	r.sayOutcomes(l,
		outcome{len(r.plan.Undecided), "undecided", "they stay in their queue"},
		outcome{a.Gone, "gone", "someone else took them out, or they expired"},
		outcome{a.Refused, "refused", "they stay where they are"},
		outcome{a.Returned, "returned", "no queue took them"},
		outcome{
			a.Unknown, "unknown", "the connection or a queue's node was lost meanwhile: resume again to look for them",
		})
}
