package ui

import (
	"fmt"
	"strings"

	"dlxtop/model"
)

// View draws the undo as a box on a screen of its own.
func (u undoScreen) View(width, height int) string {
	outer := min(dialogWidth, width-4)
	l := &dialogLines{styles: u.env.styles, width: outer - 4}
	title := "Undo"
	switch u.state {
	case dialogPlanning:
		l.say("", "reading the journal …", l.styles.Muted)
	case dialogAsking:
		title = u.ask(l)
	case dialogRunning, dialogStopping:
		title = "Bringing back " + model.Plural(u.account.Planned, "message")
		u.progress(l)
	case dialogEnded:
		title = "What happened"
		u.tell(l)
	}
	box := framed(u.env.styles, title, l.lines, outer)
	lines := []string{""}
	for line := range strings.SplitSeq(box, "\n") {
		lines = append(lines, "  "+line)
	}
	return block(lines, width, height)
}

// ask shows the plan and what the keys would do. It returns the title.
func (u *undoScreen) ask(l *dialogLines) string {
	s, p, k := l.styles, &u.plan, u.env.keys
	title := "Undo"
	if r := &p.Record; r.ID > 0 {
		title = fmt.Sprintf("Undo %d: bring back %s", r.ID, model.Plural(p.Planned(), "message"))
		l.say("of", fmt.Sprintf("the %s of %s, %s, by %s", r.Operation, model.Printable(r.From.String()), r.Began.Format("2006-01-02 15:04:05"), model.Printable(r.Who())), s.Text)
		l.say("outcome", model.Printable(recordOutcome(r)), s.Text)
		l.say("back to", model.Printable(p.Back.String())+", to its end", s.Strong)
	}
	if p.Restores > 0 {
		l.say("from", "the journal: "+model.Plural(p.Restores, "message")+", byte for byte", s.Text)
	}
	for i := range p.Takes {
		take := &p.Takes[i]
		l.say("from", fmt.Sprintf("%s: %s, if no consumer has taken them", model.Printable(take.From.String()), model.Plural(take.Planned, "message")), s.Text)
	}
	for _, skip := range p.Skips {
		l.say("not", fmt.Sprintf("%s %s", model.Plural(skip.Messages, "message"), model.Printable(skip.Why)), s.Muted)
	}
	for _, w := range p.Warnings {
		l.say("", markWarning+" "+model.Printable(w), s.Warning)
	}
	l.blank()
	switch refusal := u.forbidden(); {
	case refusal != "":
		l.say("", markError+" not possible: "+model.Printable(refusal), s.Danger)
		l.blank()
		if u.canInsist() {
			l.hints(hint(s, k.Insist.Help().Key, "insist") + hint(s, "esc", "back"))
			return title
		}
		l.hints(hint(s, "esc", "back"))
	case u.typed():
		l.say("", "To bring them back, type the queue's name:", s.Text)
		l.lines = append(l.lines, strings.Repeat(" ", labelWidth)+s.Accent.Render("> ")+u.name.view(s, l.width-labelWidth-2))
		l.blank()
		if u.ready() {
			l.hints(hint(s, "enter", "bring back") + hint(s, "esc", "back"))
			return title
		}
		l.hints(hint(s, "esc", "back"))
	default:
		l.hints(hint(s, "enter", "bring back") + hint(s, "esc", "back"))
	}
	return title
}

func (u *undoScreen) progress(l *dialogLines) {
	l.say("done", fmt.Sprintf("%s of %s", model.Count(int64(u.account.Done())), model.Count(int64(u.account.Planned))), l.styles.Strong)
	l.blank()
	if u.state == dialogStopping {
		l.say("", "stopping: what is in flight is waited for …", l.styles.Warning)
		return
	}
	l.hints(hint(l.styles, "esc", "stop: what is done stays done"))
}

func (u *undoScreen) tell(l *dialogLines) {
	s, a := l.styles, &u.account
	look := s.Strong
	if !a.Complete() {
		look = s.Warning
	}
	l.say("", fmt.Sprintf("%s of %s brought back to %s", model.Count(int64(a.Moved)), model.Plural(a.Planned, "message"), model.Printable(u.plan.Back.String())), look)
	if !a.Complete() || u.err != nil {
		l.blank()
	}
	for _, c := range []struct {
		n     int
		label string
		words string
	}{
		{a.Gone, "gone", "not where they were sent to any more: a consumer has taken them, and that cannot be undone"},
		{a.Refused, "refused", "by the broker: the journal still has them"},
		{a.Returned, "returned", "no queue took them: the journal still has them"},
		{a.Unknown, "unknown", "the connection went while they were in flight: undo again, and they are looked for"},
	} {
		if c.n > 0 {
			l.say(c.label, model.Count(int64(c.n))+"  "+c.words, s.Warning)
		}
	}
	if a.Stopped != "" {
		l.say("stopped", model.Printable(a.Stopped), s.Warning)
	}
	if u.err != nil {
		l.say("error", readableError(u.err), s.Danger)
	}
	l.blank()
	l.hints(hint(s, "enter", "close"))
}
