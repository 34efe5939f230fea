package action

import (
	"context"
	"slices"
	"strings"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/plan"
)

// Several are actions of one kind, done one after the other: one plan, one agreement, one account. Those that are
// refused, or have no messages, are shown, and left out. One that ends early ends all.
type Several []Action

// Of returns actions of one kind as one.
func Of[A Action](all ...A) Action {
	if len(all) == 1 {
		return all[0]
	}
	return Several(model.Mapped(all, func(a *A) Action { return *a }))
}

// Parts are the actions that an action has.
func Parts(a Action) []Action {
	if all, several := a.(Several); several {
		return all
	}
	return []Action{a}
}

// Idle reports whether an action has no messages: nothing was found that it selects.
func Idle(a Action) bool {
	m, selects := a.(*Messages)
	return selects && m.Planned == 0 && m.Sample.Complete
}

// Refusal returns why one of several is left out although it has messages.
func Refusal(a Action) plan.Refusal {
	if Idle(a) {
		return nil
	}
	return a.Outline().Refusal
}

// Left reports whether one of several is left out.
func Left(a Action) bool { return Idle(a) || Refusal(a).Refused() }

// ready returns those that are done, and how many messages they have.
func (s Several) ready() (ready Several, messages int) {
	for _, a := range s {
		if len(s) == 1 || !Left(a) {
			ready, messages = append(ready, a), messages+a.Outline().Planned
		}
	}
	return ready, messages
}

// Sources are the queue of all that are not left out, or how many there are.
func (s Several) Sources() string {
	s, _ = s.ready()
	queues := model.QueueSet{}
	for _, a := range s {
		queues[a.Outline().From] = true
	}
	if len(queues) == 1 {
		return s[0].Outline().From.Printable()
	}
	return model.Plural(len(queues), "queue")
}

// Outline is that of the first, with what all have together. Several queues have no name.
func (s Several) Outline() plan.Plan {
	ready, n := s.ready()
	all := s[0].Outline()
	if len(ready) > 0 {
		all = ready[0].Outline()
	}

	all.Planned, all.Ways, all.Recipients, all.Warnings, all.Strips = n, nil, nil, nil, nil
	for _, a := range s {
		p := a.Outline()
		if p.From != all.From {
			all.From = model.QueueRef{}
		}
		if Left(a) {
			continue
		}

		all.Ways = append(all.Ways, p.Ways...)
		all.Warnings = append(all.Warnings, p.Warnings...)
		all.Strips = append(all.Strips, p.Strips...)
		for _, r := range p.Recipients {
			same := func(known plan.Recipient) bool { return known.Queue == r.Queue }
			if at := slices.IndexFunc(all.Recipients, same); at >= 0 {
				all.Recipients[at].Messages += r.Messages
			} else {
				all.Recipients = append(all.Recipients, r)
			}
		}
	}

	slices.Sort(all.Strips)
	all.Strips = slices.Compact(all.Strips)
	return all
}

func (s Several) Promise() (all plan.Promise) {
	ready, n := s.ready()
	if len(ready) == 0 {
		return s[0].Promise()
	}

	all.Messages = n
	for _, a := range s {
		all.Parts = append(all.Parts, a.Promise())
	}

	return all
}

func (s Several) Words() Words {
	ready, _ := s.ready()
	if len(ready) == 0 {
		ready = s
	}
	return ready[0].together(s)
}

func (s Several) together(Several) Words { return s.Words() }

func (s Several) brief(most Most) []Fact { return s.Facts(most) }

// Facts has those of each, and once, at the end, those that all have.
func (s Several) Facts(most Most) []Fact {
	var f facts
	var idle []string
	var told [][][]Fact
	for _, a := range s {
		why := Refusal(a)
		from := a.Outline().From.Printable()

		switch {
		case why.Refused():
			f.say("not", from+": "+why.Words(), Stressed)
		case Idle(a):
			idle = append(idle, from)
		default:
			told = append(told, split(a.brief(most)))
		}
	}

	common := func(block []Fact) bool {
		return len(told) > 1 && !slices.ContainsFunc(told, func(of [][]Fact) bool { return !has(of, block) })
	}
	for i := range told {
		f = append(f, slices.Concat(model.Without(told[i], common)...)...)
	}
	if len(told) > 0 {
		own := func(block []Fact) bool { return !common(block) }
		f = append(f, slices.Concat(slices.DeleteFunc(told[0], own)...)...)
	}
	if n := len(idle); n > most.Names {
		idle = append(idle[:most.Names], model.Count(n-most.Names)+" more")
	}

	f.say("nothing in", strings.Join(idle, ", "), Minor)
	return f
}

// split makes a block of each fact and of those that go on with it.
func split(all []Fact) (blocks [][]Fact) {
	for _, f := range all {
		if f.Label == "" && f.Level < Warned && len(blocks) > 0 {
			blocks[len(blocks)-1] = append(blocks[len(blocks)-1], f)
		} else {
			blocks = append(blocks, []Fact{f})
		}
	}

	return blocks
}

func has(blocks [][]Fact, block []Fact) bool {
	return slices.ContainsFunc(blocks, func(b []Fact) bool { return slices.Equal(b, block) })
}

func (s Several) Outcomes(a *plan.Account) []Fact { return s[0].Outcomes(a) }

func (s Several) Follow(*model.Topology, *plan.Account) (f plan.Following, ok bool) { return f, false }

// Do has the account of each in Parts, as far as it came: in the order of those that are not left out.
func (s Several) Do(ctx context.Context, by Broker, progress plan.Progress) (plan.Account, error) {
	ready, planned := s.ready()
	outline := s.Outline()
	all := plan.Account{Operation: outline.Operation, From: outline.From, Planned: planned}
	ctx = model.Together(ctx)
	var runs []*plan.Run
	end := func(from int, why string) {
		for _, run := range runs[min(from, len(runs)):] {
			by.End(run, why)
		}
	}

	for _, a := range ready {
		m, is := a.(*Messages)
		if !is {
			break
		}
		runs = append(runs, &m.Run)
		if err := by.Begin(ctx, &m.Run, m.Sample.Depth.Or(int64(m.Planned))); err != nil {
			end(0, err.Error())
			return all, err
		}
	}

	for i, a := range ready {
		part, err := a.Do(ctx, by, func(now plan.Account) { progress(all.With(now)) })
		switch {
		case err != nil && i == 0:
			end(0, err.Error())
			return all, err
		case err != nil:
			part.Stopped = err.Error()
			end(i, part.Stopped)
		case part.Stopped != "":
			end(i+1, "the action ended before it came to this queue")
		}

		all = all.With(part)
		all.Parts = append(all.Parts, part)
		if all.Stopped != "" {
			break
		}
	}

	all.JournalID = all.Parts[0].JournalID
	return all, nil
}
