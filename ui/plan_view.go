package ui

import (
	"fmt"
	"slices"
	"strings"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/model/plan"
	"github.com/dlxtop/dlxtop/ui/picture"
)

const (
	shownProblems = 6
	shownNames    = 8
)

// view draws the dialog as a box within width x height.
func (d *planDialog) view(width, height int) string {
	l := newDialogLines(d.env.styles, width)
	if d.edit != nil { // two sides stand in it
		l.outer, l.width = width, width-4
	}
	switch d.state {
	case dialogChoosing:
		d.chooser.view(l, height-2)
	case dialogPlanning:
		l.say("", "working out which queues this would reach …", l.styles.Muted)
	case dialogChecking:
		l.say("", "reading the topology again …", l.styles.Muted)
	case dialogAsking:
		d.ask(l)
	case dialogRunning, dialogStopping:
		d.progress(l)
	case dialogEnded:
		d.tell(l)
	}
	l.fit(height - 2)
	return l.box(d.title())
}

func (d *planDialog) title() string {
	n := model.Plural(len(d.rows), "message")
	switch {
	case d.state == dialogRunning:
		return map[plan.Operation]string{
			plan.Replay: "Replaying ", plan.Move: "Moving ",
			plan.Drop: "Dropping ",
		}[d.operation] + n
	case d.state == dialogStopping:
		return "Stopping"
	case d.state == dialogEnded:
		return "What happened"
	}
	return map[plan.Operation]string{plan.Replay: "Replay ", plan.Move: "Move ", plan.Drop: "Drop "}[d.operation] + n
}

// askJournal says whether the action can be taken back. Where nothing may be changed nothing is promised. A drop takes
// less rights than its undo, which publishes; RabbitMQ tells rights to administrators only.
func (d *planDialog) askJournal(l *dialogLines) {
	s := l.styles
	undoes := "yes, " + d.env.keys.Undo.Help().Key + " undoes it"
	some, all := d.plan.Irrevocable()
	switch {
	case d.env.readOnly:
	case d.env.journal == nil:
		l.stress("journal", "no: it was switched off, and there is no undo", s.Warning)
	case d.operation == plan.Drop:
		l.say("journal", undoes+" (needs write permission on amq.default)", s.Text)
	case all:
		l.stress("journal", "yes, but messages that reach several queues cannot be undone", s.Warning)
	case some:
		l.stress("journal", undoes+", except messages that reach several queues", s.Warning)
	default:
		l.say("journal", undoes, s.Text)
	}
}

// ask shows the plan and what the keys would do.
func (d *planDialog) ask(l *dialogLines) {
	d.sayChanges(l)
	d.sayPlan(l)
	d.sayAsked(l, d.offer(), d.keys())
}

// sayPlan shows the plan.
func (d *planDialog) sayPlan(l *dialogLines) {
	s := l.styles
	p := &d.plan
	l.say("from", model.Printable(p.From.String()), s.Strong)
	l.say("chosen", d.chosen(), s.Text)
	d.askEdit(l)
	d.askMend(l)
	if d.operation.Publishes() {
		d.askWhere(l)
	}
	if words := p.PaceWords(); words != "" {
		l.say("pace", words, s.Accent)
	}
	if p.Canary != nil {
		l.say("canary", p.Canary.Words(), s.Accent)
	}
	d.askJournal(l)
	l.warn(p.Warnings)
	if p.Acquire.Cost != "" && !p.Refusal.Refused() {
		l.aside("costs", model.Printable(p.Acquire.Cost), s.Muted)
	}
}

// other is what tab does, "" when it does nothing.
func (d *planDialog) other() string {
	switch {
	case d.operation == plan.Move:
		return "other queue"
	case len(d.modes) > 1:
		return "other target"
	}
	return ""
}

// chosen says which messages it is about, and which stay.
func (d *planDialog) chosen() string {
	words := d.words
	if len(d.rows) == 1 {
		words += fmt.Sprintf(": #%s", model.Count(int64(d.rows[0].position)))
		if d.one != "" {
			words += ", id " + model.Printable(d.one)
		}
	} else {
		words += ": " + model.Plural(len(d.rows), "message")
	}
	if d.others.unread > 0 {
		words += fmt.Sprintf("; the other %s in the queue were not read, and stay", model.Count(d.others.unread))
	}
	if arrived := plan.ArrivedWords(d.others.arrived); arrived != "" {
		words += "; " + arrived
	}
	return words
}

// askWhere shows where a replay goes, why, whom it reaches and what it takes off.
func (d *planDialog) askWhere(l *dialogLines) {
	s, p := l.styles, &d.plan
	label := "to"
	for i, w := range p.Ways {
		if i == 3 {
			l.say(label, "and "+model.Count(len(p.Ways)-i)+" more addresses", s.Text)
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
		if c := w.Clue; c != nil && !d.ofFlow(c.Queue) {
			l.say("", "worker: "+c.Words(), s.Text)
		}
	}
	if len(d.modes) > 0 {
		l.aside("target", d.modes[d.mode].name, s.Muted)
	}
	if words := p.GroupWords(); words != "" {
		l.say("that is", words, s.Text)
	}
	label = "reaches"
	if len(p.Recipients) > 1 {
		l.stress(label, model.Plural(len(p.Recipients), "queue")+":", s.Warning)
		label = ""
	}
	for i, r := range p.Recipients {
		if i == shownNames {
			l.stress(label, "and "+model.Count(len(p.Recipients)-i)+" more", s.Warning)
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
		l.stress(label, words, look)
		label = ""
	}
	if len(p.Strips) > 0 {
		l.say("strips", model.Printable(strings.Join(stripWords(p.Strips), ", ")), s.Text)
	}
	if len(p.Keeps) > 0 {
		l.say("keeps", model.Printable(strings.Join(stripWords(p.Keeps), ", "))+
			": no queue there counts the deaths, and the story stays readable", s.Text)
	}
	sayResets(l, p)
	if p.Mark {
		l.aside("adds", message.ReplayHeader+": how often it was replayed, and when", s.Text)
	}
}

// ofFlow reports whether a queue is the only worker of the flows that the messages' queue belongs to: then the flow
// shows whose they are.
func (d *planDialog) ofFlow(worker model.QueueRef) bool {
	workers := d.plan.Target.Workers
	return len(workers) == 1 && workers[0] == worker
}

// stripWords shortens names: x-first-death-exchange, -queue and -reason together are x-first-death-*, and so are those
// of the last.
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
