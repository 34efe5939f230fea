package plan

import (
	"cmp"
	"context"
	"reflect"
	"slices"
	"strings"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/target"
)

type Reread func(ctx context.Context) (*model.Topology, error)

// Promise is what a user agrees to with a plan: where messages go and which queues they reach, what is stripped from
// them, how many limits drop or refuse, and that it may run. The number of consumers is not part of it.
type Promise struct {
	Ways   []target.Way // by address
	Strips []string
	Harm
	Takes    []PromisedTake // for an undo
	Messages int            // the number planned
	Refusal  Refusal
	Parts    []Promise // of an action on several queues
}

// PromisedTake is a queue that an undo takes messages back from.
type PromisedTake struct {
	Queue    model.QueueRef
	Messages int
}

func (p *Plan) Promise() Promise {
	out := Promise{
		Strips:   p.Strips,
		Harm:     p.Harm,
		Messages: p.Planned,
		Refusal:  p.Refusal,
	}

	for _, w := range p.Ways {
		out.Ways = append(out.Ways, w.Way)
	}

	slices.SortFunc(out.Ways, func(a, b target.Way) int { return compareAddresses(a.Address, b.Address) })
	return out
}

func (p *UndoPlan) Promise() Promise {
	out := Promise{
		Harm:     p.Harm,
		Messages: p.Planned(),
		Refusal:  p.Refusal,
	}

	for i := range p.Takes {
		out.Takes = append(out.Takes, PromisedTake{p.Takes[i].From, p.Takes[i].Planned})
	}

	return out
}

func compareAddresses(a, b model.Address) int {
	return cmp.Or(cmp.Compare(a.Exchange, b.Exchange), cmp.Compare(a.RoutingKey, b.RoutingKey))
}

// Change is one difference between what was agreed to and what would happen now.
type Change struct {
	Says    string // in one sentence
	Refused bool   // it must not run any more
	Way     model.Address
	Queue   model.QueueRef // the queue that the way newly reaches, or no longer does
}

func (c *Change) Words() string { return c.Says }

func change(format string, values ...any) Change { return Change{Says: model.Sayf(format, values...)} }

func ChangesWords(changes []Change) string {
	return strings.Join(model.Mapped(changes, (*Change).Words), "; ")
}

// Changes returns the differences between what was agreed to and a newer promise, the most important first; none when
// nothing differs.
func (p *Promise) Changes(now *Promise) (changes []Change) {
	if now.Refusal.Refused() { // a plan that must not run promises nothing else
		if reflect.DeepEqual(now.Refusal, p.Refusal) {
			return nil
		}
		return []Change{{Says: now.Refusal.Words(), Refused: true}}
	}

	for i := range min(len(p.Parts), len(now.Parts)) {
		was, is := &p.Parts[i], &now.Parts[i]
		if was.Refusal.Refused() && !is.Refusal.Refused() {
			changes = append(changes, change("no longer refused: %s", was.Refusal.Words()))
			continue
		}
		changes = append(changes, was.Changes(is)...)
	}

	changes = append(changes, wayChanges(p.Ways, now.Ways)...)
	for l := range model.Each(now.Losses) {
		if !slices.ContainsFunc(p.Losses, l.Within) {
			changes = append(changes, Change{Says: l.Words()})
		}
	}

	for r := range model.Each(now.Full) {
		if !slices.ContainsFunc(p.Full, r.Within) {
			changes = append(changes, Change{Says: r.Words()})
		}
	}

	for _, f := range now.Again {
		if !slices.Contains(p.Again, f) {
			changes = append(changes, Change{Says: f.Words()})
		}
	}

	for _, strips := range []struct {
		was, is []string
		words   string
	}{{p.Strips, now.Strips, " is now removed"}, {now.Strips, p.Strips, " now stays"}} {
		for _, header := range strips.is {
			if !slices.Contains(strips.was, header) {
				changes = append(changes, Change{Says: model.Printable(header) + strips.words})
			}
		}
	}

	changes = append(changes, takeChanges(p.Takes, now.Takes)...)
	if len(changes) == 0 && p.Messages != now.Messages {
		changes = append(changes, change("it would act on %v message(s) instead of %v", now.Messages, p.Messages))
	}

	return changes
}

// wayChanges compares ways. There can be as many as messages.
func wayChanges(was, is []target.Way) []Change {
	var changes []Change
	before := waysByAddress(was)
	after := waysByAddress(is)
	for i := range is {
		now := &is[i]
		through := addressWords(is[i].Address)
		if before := before[now.Address]; before == nil {
			changes = append(changes, change("messages now go through %s, which reaches %s", through, now.Reaches))
		} else {
			changes = append(changes, reachChanges(now.Address, before.Reaches, now.Reaches)...)
			if before.Exact && !now.Exact {
				changes = append(changes, change("an exchange behind %s now chooses by a rule of its own: which queues it reaches "+
					"is unknown", through))
			}
		}
	}

	for i := range was {
		if after[was[i].Address] == nil {
			changes = append(changes, change("no message goes through %s any more", addressWords(was[i].Address)))
		}
	}

	return changes
}

func waysByAddress(ways []target.Way) map[model.Address]*target.Way {
	at := make(map[model.Address]*target.Way, len(ways))
	for i := range ways {
		at[ways[i].Address] = &ways[i]
	}
	return at
}

// reachChanges compares the queues that a way reached with those it reaches now.
func reachChanges(way model.Address, was, is []model.QueueRef) (changes []Change) {
	for _, part := range []struct {
		in, notIn []model.QueueRef
		format    string
	}{{is, was, "%s now also reaches %s"}, {was, is, "%s does not reach %s any more"}} {
		for _, q := range part.in {
			if !slices.Contains(part.notIn, q) {
				c := change(part.format, addressWords(way), q)
				c.Way, c.Queue = way, q
				changes = append(changes, c)
			}
		}
	}

	return changes
}

func takeChanges(was, is []PromisedTake) (changes []Change) {
	counts := map[model.QueueRef][2]int{}
	for _, t := range was {
		counts[t.Queue] = [2]int{t.Messages, 0}
	}
	for _, t := range is {
		counts[t.Queue] = [2]int{counts[t.Queue][0], t.Messages}
	}

	for _, t := range slices.Concat(was, is) {
		if n := counts[t.Queue]; n[0] != n[1] {
			changes = append(changes, change("%v message(s) come back from %s instead of %v", n[1], t.Queue, n[0]))
			delete(counts, t.Queue)
		}
	}

	return changes
}

// addressWords name an address: "exchange master, key user.created".
func addressWords(a model.Address) string {
	return model.Sayf("exchange %s, key %v", model.ExchangeName(a.Exchange),
		model.Quoted(a.RoutingKey))
}
