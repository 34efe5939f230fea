package action

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/model/plan"
)

// Messages replays, moves or drops messages of a queue.
type Messages struct {
	plan.Run
	Target    string // which of several targets was chosen
	Undo      string // how a user undoes it, by a key or a command; "" leaves that out
	NoJournal bool   // nothing is recorded
	Sample    Sample // what was looked at to plan it
}

func (m *Messages) Outline() plan.Plan { return m.Plan }

func (m *Messages) Do(ctx context.Context, by Broker, progress plan.Progress) (plan.Account, error) {
	return by.Execute(ctx, m.Run, progress)
}

func (m *Messages) Words() Words { return m.together(Several{m}) }

func (m *Messages) together(all Several) Words {
	p := &m.Plan
	ready, messages := all.ready()
	does, asks := Together(model.Mapped(ready, func(a *Action) *Messages { return (*a).(*Messages) })...)
	n := model.Plural(messages, "message")
	w := Words{
		Title:   "Replay " + n,
		Running: "Replaying " + n,
		Does:    string(p.Operation),
		Asks:    asks,
		Done:    p.Operation.Done(),
	}

	if p.Operation.Publishes() && len(p.Recipients) == 1 {
		w.Done += " to " + p.Recipients[0].Queue.Printable()
	}

	switch p.Operation {
	case plan.Move:
		w.Title, w.Running = "Move "+n, "Moving "+n
	case plan.Drop:
		w.Title, w.Running, w.Does = "Drop "+n, "Dropping "+n, does
	}

	return w
}

func (m *Messages) brief(most Most) []Fact {
	var f facts
	f.say("queue", model.Sayf("%s: %v message(s)", m.From, m.Planned), Strong)
	return append(f, Announced(m, most)...)
}

// Announced are the facts of an action, with what was read to plan it.
func Announced(a Action, most Most) []Fact {
	facts := a.Facts(most)
	if m, looked := a.(*Messages); looked {
		return slices.Concat(m.Sample.before(&m.Plan), facts, m.Sample.after(&m.Plan))
	}
	return facts
}

// Together returns what actions of one operation do: "replay 64 messages", and "replay 64 messages of 2 queues to
// orders".
func Together(all ...*Messages) (does, asks string) {
	n := 0
	for _, m := range all {
		n += m.Planned
	}
	if len(all) == 0 {
		return "", ""
	}

	first := all[0]
	does = model.Sayf("%s %v message(s)", first.Operation, n)
	if first.Operation == plan.Drop && first.NoJournal {
		does += " for good"
	}

	asks = does + " of " + first.From.Printable()
	if len(all) > 1 {
		asks = model.Sayf("%s of %v queue(s)", does, len(all))
	}
	if to := Reached(all...); to != "" {
		asks += " to " + to
	}

	return does, asks
}

// Reached returns the queues that messages of the actions reach: the name of the only one, or their number.
func Reached(all ...*Messages) string {
	reached, name := model.QueueSet{}, ""
	for _, m := range all {
		for _, r := range m.Recipients {
			reached[r.Queue], name = true, model.Printable(r.Queue.Name)
		}
	}

	if len(reached) > 1 {
		return model.Plural(len(reached), "queue")
	}

	return name
}

func (m *Messages) Facts(most Most) []Fact {
	var f facts
	p := &m.Plan
	if p.Mended != nil {
		f.say("edited", p.Mended.Words(), Strong)
	}
	if p.Mend != nil {
		f.say("by", p.Mend.Text, Minor)
	}

	if p.Operation.Publishes() {
		f.address(p, most.Addresses)
		f.say("target", m.Target, Minor)
		f.recipients(p, most.Names)
		f.changes(p, most.Names)
	}

	f.say("pace", p.PaceWords(), Setting)
	f.say("stops at", p.StopWords(), Setting)
	if p.Canary != nil {
		f.say("canary", p.Canary.Words(), Setting)
	}

	m.undoing(&f)
	f.warn(p.Warnings)
	if !p.Refusal.Refused() {
		f.say("costs", p.Acquire.Cost, Minor)
	}

	return f
}

// address says where messages are published, and why there.
func (f *facts) address(p *plan.Plan, most int) {
	if most == 0 {
		f.say("to", p.To(), Plain)
		for _, line := range p.Evidence() {
			f.say("worker", line, Plain)
		}
		return
	}

	label := "to"
	for i, w := range p.Ways {
		if i == most {
			f.say(label, model.Sayf("and %v more addresses", len(p.Ways)-i), Plain)
			break
		}

		words := "through " + model.ExchangeName(w.Exchange) + ", key " +
			model.PrintableKey(w.RoutingKey)
		if w.Why != "" {
			words += "  (" + w.Why + ")"
		}
		if len(p.Ways) > 1 {
			words += model.Sayf("  %v message(s)", w.Messages)
		}

		f.say(label, words, Plain)
		label = ""

		// If it is the only worker of the flows that the messages' queue belongs to, the flow already shows it.
		if c := w.Clue; c != nil && !slices.Equal(p.Target.Workers, []model.QueueRef{c.Queue}) {
			f.say("", "worker: "+c.Words(), Plain)
		}
	}
}

// recipients says which queues messages reach.
func (f *facts) recipients(p *plan.Plan, most int) {
	f.say("that is", p.GroupWords(), Plain)
	label := "reaches"
	if len(p.Recipients) > 1 {
		f.say(label, model.Sayf("%v queue(s):", len(p.Recipients)), Stressed)
		label = ""
	}

	for i, r := range p.Recipients {
		if i == most {
			f.say(label, model.Sayf("and %v more", len(p.Recipients)-i), Stressed)
			break
		}

		words := r.Queue.Printable() + ", " + model.ConsumerWords(r.Consumers)
		if len(p.Recipients) > 1 {
			words += model.Sayf(", %v message(s)", r.Messages)
		}

		level := Strong
		if r.Consumers.Or(1) == 0 {
			level = Stressed
		}
		f.say(label, words, level)
		label = ""
	}
}

// changes says what is changed in messages.
func (f *facts) changes(p *plan.Plan, most int) {
	f.say("strips", strings.Join(shortened(p.Strips), ", "), Plain)
	if len(p.Keeps) > 0 {
		f.say("keeps", strings.Join(shortened(p.Keeps), ", ")+
			": no queue there counts the deaths, and the story stays readable", Plain)
	}

	var kinds []string
	what := map[string][]string{}
	for _, r := range p.Resets {
		does := r.Does()
		if what[does] == nil {
			kinds = append(kinds, does)
		}
		what[does] = append(what[does], r.What())
	}

	for _, does := range kinds {
		all := what[does]
		if more := len(all) - most; more > 0 {
			all = append(all[:most:most], fmt.Sprintf("and %d more", more))
		}
		f.say(does, strings.Join(all, ", "), Plain)
	}

	if p.Mark {
		f.say("adds", message.ReplayHeader+": how often it was replayed, and when", Minor)
	}
}

// shortened are names: x-first-death-exchange, -queue and -reason together are x-first-death-*, and so are those of the
// last.
func shortened(names []string) []string {
	for _, common := range []string{"x-first-death-", "x-last-death-"} {
		three := []string{common + "exchange", common + "queue", common + "reason"}
		at := slices.Index(names, three[0])
		if at >= 0 && at+len(three) <= len(names) && slices.Equal(names[at:at+len(three)], three) {
			names = slices.Concat(names[:at], []string{common + "*"}, names[at+len(three):])
		}
	}

	return names
}

// undoing says whether it can be undone. A drop needs fewer rights than its undo, which publishes; RabbitMQ shows
// rights only to administrators.
func (m *Messages) undoing(f *facts) {
	some, all := m.Irrevocable()
	switch {
	case m.NoJournal:
		f.say("journal", "no: it was switched off, and there is no undo", Stressed)
	case m.Undo == "":
	case m.Operation == plan.Drop:
		f.say("journal", "yes, "+m.Undo+" (needs write permission on amq.default)", Plain)
	case all:
		f.say("journal", "yes, but messages that reach several queues cannot be undone", Stressed)
	case some:
		f.say("journal", "yes, "+m.Undo+", except messages that reach several queues", Stressed)
	default:
		f.say("journal", "yes, "+m.Undo, Plain)
	}
}

func (m *Messages) Outcomes(a *plan.Account) []Fact {
	var f facts
	unknown := "the connection or a queue's node was lost while they were in flight: they may be in both queues, never " +
		"in none"

	if a.Operation == plan.Drop {
		unknown = "the connection or the queue's node was lost: they may still be there; the journal has them"
	}

	moved := "moved"
	if a.Operation == plan.Undo { // on the list of jobs
		moved = "undone"
	}

	f.outcome(moved, a.Moved, "", Good)
	f.outcome("dropped", a.Dropped, "", Good)
	f.outcome("returned", a.Returned, "no queue took them: they stay where they were", Stressed)
	f.outcome("refused", a.Refused, "they are where they were", Stressed)
	f.outcome("arrived", a.Arrived, "where they were sent, and may still be here, too: a node or the connection was lost",
		Stressed)
	f.outcome("unknown", a.Unknown-a.Arrived, unknown, Bad)
	f.outcome("gone", a.Gone, "no longer in the queue when it ran", Plain)
	f.outcome("held", a.Held, heldWords, Stressed)
	return f
}
