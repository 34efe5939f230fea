package act

import (
	"fmt"
	"slices"
	"strings"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/model/plan"
	"github.com/dlxtop/dlxtop/ui/picture"
	"github.com/dlxtop/dlxtop/ui/shell"
)

const (
	shownProblems = 6
	shownNames    = 8
)

// View draws the dialog as a box within width x height.
func (d *PlanDialog) View(width, height int) string {
	l := shell.NewDialogLines(d.Env.Styles, width)
	if d.edit != nil { // two sides stand in it
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
		d.ask(l)
	case shell.DialogRunning, shell.DialogStopping:
		d.progress(l)
	case shell.DialogEnded:
		d.tell(l)
	}
	l.Fit(height - 2)
	return l.Box(d.title())
}

func (d *PlanDialog) title() string {
	n := model.Plural(len(d.Rows), "message")
	switch {
	case d.State == shell.DialogRunning:
		return map[plan.Operation]string{
			plan.Replay: "Replaying ", plan.Move: "Moving ",
			plan.Drop: "Dropping ",
		}[d.Operation] + n
	case d.State == shell.DialogStopping:
		return "Stopping"
	case d.State == shell.DialogEnded:
		return "What happened"
	}
	return map[plan.Operation]string{plan.Replay: "Replay ", plan.Move: "Move ", plan.Drop: "Drop "}[d.Operation] + n
}

// askJournal says whether the action can be taken back. Where nothing may be changed nothing is promised. A drop takes
// less rights than its undo, which publishes; RabbitMQ tells rights to administrators only.
func (d *PlanDialog) askJournal(l *shell.DialogLines) {
	s := l.Styles
	undoes := "yes, " + d.Env.Keys.Undo.Help().Key + " undoes it"
	some, all := d.Plan.Irrevocable()
	switch {
	case d.Env.ReadOnly:
	case d.Env.Journal == nil:
		l.Stress("journal", "no: it was switched off, and there is no undo", s.Warning)
	case d.Operation == plan.Drop:
		l.Say("journal", undoes+" (needs write permission on amq.default)", s.Text)
	case all:
		l.Stress("journal", "yes, but messages that reach several queues cannot be undone", s.Warning)
	case some:
		l.Stress("journal", undoes+", except messages that reach several queues", s.Warning)
	default:
		l.Say("journal", undoes, s.Text)
	}
}

// ask shows the plan and what the keys would do.
func (d *PlanDialog) ask(l *shell.DialogLines) {
	d.SayChanges(l)
	d.SayPlan(l)
	d.SayAsked(l, d.Offer(), d.Keys())
}

// SayPlan shows the plan.
func (d *PlanDialog) SayPlan(l *shell.DialogLines) {
	s := l.Styles
	p := &d.Plan
	l.Say("from", model.Printable(p.From.String()), s.Strong)
	l.Say("chosen", d.chosen(), s.Text)
	d.askEdit(l)
	d.askMend(l)
	if d.Operation.Publishes() {
		d.askWhere(l)
	}
	if words := p.PaceWords(); words != "" {
		l.Say("pace", words, s.Accent)
	}
	if p.Canary != nil {
		l.Say("canary", p.Canary.Words(), s.Accent)
	}
	d.askJournal(l)
	l.Warn(p.Warnings)
	if p.Acquire.Cost != "" && !p.Refusal.Refused() {
		l.Aside("costs", model.Printable(p.Acquire.Cost), s.Muted)
	}
}

// other is what tab does, "" when it does nothing.
func (d *PlanDialog) other() string {
	switch {
	case d.Operation == plan.Move:
		return "other queue"
	case len(d.Modes) > 1:
		return "other target"
	}
	return ""
}

// chosen says which messages it is about, and which stay.
func (d *PlanDialog) chosen() string {
	words := d.words
	if len(d.Rows) == 1 {
		words += fmt.Sprintf(": #%s", model.Count(int64(d.Rows[0].Position)))
		if d.one != "" {
			words += ", id " + model.Printable(d.one)
		}
	} else {
		words += ": " + model.Plural(len(d.Rows), "message")
	}
	if d.Others.Unread > 0 {
		words += fmt.Sprintf("; the other %s in the queue were not read, and stay", model.Count(d.Others.Unread))
	}
	if arrived := plan.ArrivedWords(d.Others.Arrived); arrived != "" {
		words += "; " + arrived
	}
	return words
}

// askWhere shows where a replay goes, why, whom it reaches and what it takes off.
func (d *PlanDialog) askWhere(l *shell.DialogLines) {
	s, p := l.Styles, &d.Plan
	label := "to"
	for i, w := range p.Ways {
		if i == 3 {
			l.Say(label, "and "+model.Count(len(p.Ways)-i)+" more addresses", s.Text)
			break
		}
		words := "through " + model.Printable(model.ExchangeName(w.Exchange)) + ", key " + PrintableKey(w.RoutingKey)
		if w.Why != "" {
			words += "  (" + model.Printable(w.Why) + ")"
		}
		if len(p.Ways) > 1 {
			words += "  " + model.Plural(w.Messages, "message")
		}
		l.Say(label, words, s.Text)
		label = ""
		if c := w.Clue; c != nil && !d.ofFlow(c.Queue) {
			l.Say("", "worker: "+c.Words(), s.Text)
		}
	}
	if len(d.Modes) > 0 {
		l.Aside("target", d.Modes[d.Mode].name, s.Muted)
	}
	if words := p.GroupWords(); words != "" {
		l.Say("that is", words, s.Text)
	}
	label = "reaches"
	if len(p.Recipients) > 1 {
		l.Stress(label, model.Plural(len(p.Recipients), "queue")+":", s.Warning)
		label = ""
	}
	for i, r := range p.Recipients {
		if i == shownNames {
			l.Stress(label, "and "+model.Count(len(p.Recipients)-i)+" more", s.Warning)
			break
		}
		words := model.Printable(r.Queue.String()) + ", " + picture.ConsumerCount(r.Consumers)
		if len(p.Recipients) > 1 {
			words += ", " + model.Plural(r.Messages, "message")
		}
		look := s.Strong
		if c, known := r.Consumers.Get(); known && c == 0 {
			look = s.Warning
		}
		l.Stress(label, words, look)
		label = ""
	}
	if len(p.Strips) > 0 {
		l.Say("strips", model.Printable(strings.Join(StripWords(p.Strips), ", ")), s.Text)
	}
	if len(p.Keeps) > 0 {
		l.Say("keeps", model.Printable(strings.Join(StripWords(p.Keeps), ", "))+
			": no queue there counts the deaths, and the story stays readable", s.Text)
	}
	sayResets(l, p)
	if p.Mark {
		l.Aside("adds", message.ReplayHeader+": how often it was replayed, and when", s.Text)
	}
}

// ofFlow reports whether a queue is the only worker of the flows that the messages' queue belongs to: then the flow
// shows whose they are.
func (d *PlanDialog) ofFlow(worker model.QueueRef) bool {
	workers := d.Plan.Target.Workers
	return len(workers) == 1 && workers[0] == worker
}

// StripWords shortens names: x-first-death-exchange, -queue and -reason together are x-first-death-*, and so are those
// of the last.
func StripWords(names []string) []string {
	for _, common := range []string{"x-first-death-", "x-last-death-"} {
		three := []string{common + "exchange", common + "queue", common + "reason"}
		at := slices.Index(names, three[0])
		if at >= 0 && at+len(three) <= len(names) && slices.Equal(names[at:at+len(three)], three) {
			names = slices.Concat(names[:at], []string{common + "*"}, names[at+len(three):])
		}
	}
	return names
}

func PrintableKey(routingKey string) string {
	if routingKey == "" {
		return `""`
	}
	return model.Printable(routingKey)
}
