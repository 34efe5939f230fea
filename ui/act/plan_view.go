package act

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/model/plan"
	"github.com/dlxtop/dlxtop/ui/picture"
	"github.com/dlxtop/dlxtop/ui/shell"
	"github.com/dlxtop/dlxtop/ui/term"
)

const (
	shownProblems = 6
	shownNames    = 8
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
	l.Fit(height - 2)
	return l.Box(d.title())
}

func (d *PlanDialog) title() string {
	verbs := map[plan.Operation][2]string{
		plan.Replay: {"Replay ", "Replaying "}, plan.Move: {"Move ", "Moving "}, plan.Drop: {"Drop ", "Dropping "},
	}[d.Operation]
	n := model.Plural(len(d.Rows), "message")
	switch d.State {
	case shell.DialogRunning:
		return verbs[1] + n
	case shell.DialogStopping:
		return "Stopping"
	case shell.DialogEnded:
		return "What happened"
	}
	return verbs[0] + n
}

// askJournal says whether the action can be undone. On a read-only connection it promises nothing. A drop needs fewer
// rights than its undo, which publishes; RabbitMQ shows rights only to administrators.
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
	l.Say("pace", p.PaceWords(), s.Accent)
	if p.Canary != nil {
		l.Say("canary", p.Canary.Words(), s.Accent)
	}
	d.askJournal(l)
	l.Warn(p.Warnings)
	if p.Acquire.Cost != "" && !p.Refusal.Refused() {
		l.Aside("costs", model.Printable(p.Acquire.Cost), s.Muted)
	}
}

// chosen says which messages it is about, and which stay.
func (d *PlanDialog) chosen() string {
	words := d.Words + ": "
	switch n := len(d.Rows); {
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

// askWhere shows where a replay goes, why, which queues it reaches and what it strips.
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
		// If it is the only worker of the flows that the messages' queue belongs to, the flow already shows it.
		if c := w.Clue; c != nil && !slices.Equal(p.Target.Workers, []model.QueueRef{c.Queue}) {
			l.Say("", "worker: "+c.Words(), s.Text)
		}
	}
	if len(d.Modes) > 0 {
		l.Aside("target", d.Modes[d.Mode].name, s.Muted)
	}
	l.Say("that is", p.GroupWords(), s.Text)
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
	l.Say("strips", model.Printable(strings.Join(StripWords(p.Strips), ", ")), s.Text)
	if len(p.Keeps) > 0 {
		l.Say("keeps", model.Printable(strings.Join(StripWords(p.Keeps), ", "))+
			": no queue there counts the deaths, and the story stays readable", s.Text)
	}
	sayResets(l, p)
	if p.Mark {
		l.Aside("adds", message.ReplayHeader+": how often it was replayed, and when", s.Text)
	}
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

func PrintableKey(routingKey string) string { return cmp.Or(model.Printable(routingKey), `""`) }

// SayStop shows how to stop the run, and how to end the wait of a canary.
func (d *PlanDialog) SayStop(l *shell.DialogLines) {
	hints := ""
	if d.waits() {
		hints = shell.Hint(l.Styles, "enter", "do not wait longer")
	}
	d.Dialog.SayStop(l, hints)
}

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

func (d *PlanDialog) counts(l *shell.DialogLines) {
	s, a := l.Styles, &d.Account
	say := func(label string, n int, words string, look term.Style) {
		if n > 0 {
			l.Say(label, strings.TrimRight(model.Count(n)+"  "+words, " "), look)
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

// SayAccount shows the account and, if that is all that was done, how to undo it.
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
	l.Stress("stopped", model.Printable(a.Stopped), s.Warning)
	l.Stress("rescued", model.Printable(a.Rescued.Words()), s.Warning)
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
		id := cmp.Or(p.MessageID, p.Fingerprint.String()[:8])
		l.Say(string(p.Outcome), term.Cut(model.Printable(id), 24, "…")+"  "+model.Printable(p.Reason), s.Text)
	}
}

// DoneWords say how many messages were moved or dropped, and of how many if not all were.
func DoneWords(operation plan.Operation, done, planned int) string {
	what := "moved"
	if operation == plan.Drop {
		what = "dropped"
	}
	if done < planned {
		return fmt.Sprintf("%s of %s %s", model.Count(int64(done)), model.Plural(planned, "message"), what)
	}
	return model.Plural(done, "message") + " " + what
}

func (d *PlanDialog) Summary() string {
	done := d.Account.Moved + d.Account.Dropped
	words := DoneWords(d.Operation, done, d.Account.Planned)
	if d.Operation.Publishes() && done > 0 && len(d.Plan.Recipients) == 1 {
		words += " to " + model.Printable(d.Plan.Recipients[0].Queue.String())
	}
	return words
}

// sayResets shows what a replay changes in what frameworks wrote into the messages, a line for each kind of change.
func sayResets(l *shell.DialogLines, p *plan.Plan) {
	for _, same := range picture.Grouped(p.Resets, plan.PlannedReset.Does) {
		var what []string
		for _, r := range same[:min(len(same), shownNames)] {
			what = append(what, r.What())
		}
		if more := len(same) - shownNames; more > 0 {
			what = append(what, fmt.Sprintf("and %d more", more))
		}
		l.Say(same[0].Does(), strings.Join(what, ", "), l.Styles.Text)
	}
}
