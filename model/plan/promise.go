package plan

import (
	"cmp"
	"context"
	"reflect"
	"slices"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/loss"
	"github.com/dlxtop/dlxtop/model/target"
)

// Reread reads the topology again.
type Reread func(ctx context.Context) (*model.Topology, error)

// Promise is what a person agrees to with a plan: where messages go and whom they reach, what is taken off them, what
// limits drop of them, and that it may run. How many consumers there are is no part of it.
type Promise struct {
	Ways     []target.Way // by address
	Strips   []string
	Keeps    []string
	Losses   []loss.ByLimit
	Again    []loss.SecondFailure
	Takes    []PromisedTake // of an undo
	Messages int            // that are planned
	Refusal  Refusal
}

// PromisedTake is a queue that an undo takes messages back from.
type PromisedTake struct {
	Queue    model.QueueRef
	Messages int
}

// Promise is what the plan promises.
func (p *Plan) Promise() Promise {
	out := Promise{
		Strips: p.Strips, Keeps: p.Keeps, Losses: p.Losses, Again: p.Again, Messages: p.Planned, Refusal: p.Refusal,
	}
	for _, w := range p.Ways {
		out.Ways = append(out.Ways, w.Way)
	}
	slices.SortFunc(out.Ways, func(a, b target.Way) int { return compareAddresses(a.Address, b.Address) })
	return out
}

// Promise is what the plan promises.
func (p *UndoPlan) Promise() Promise {
	out := Promise{Losses: p.Losses, Again: p.Again, Messages: p.Planned(), Refusal: p.Refusal}
	for i := range p.Takes {
		out.Takes = append(out.Takes, PromisedTake{p.Takes[i].From, p.Takes[i].Planned})
	}
	return out
}

func compareAddresses(a, b model.Address) int {
	return cmp.Or(cmp.Compare(a.Exchange, b.Exchange), cmp.Compare(a.RoutingKey, b.RoutingKey))
}

// ChangeKind is a way in which a plan differs from what was agreed to.
type ChangeKind string

// The kinds.
const (
	QueueAdded   ChangeKind = "queue added"   // a way reaches a queue that it did not reach
	QueueGone    ChangeKind = "queue gone"    // a way does not reach a queue any more
	WayAdded     ChangeKind = "way added"     // messages take a way that none took
	WayGone      ChangeKind = "way gone"      // no message takes a way any more
	WayUncertain ChangeKind = "way uncertain" // an exchange on the way chooses by a rule of its own
	HeaderAdded  ChangeKind = "header stays"  // a header or property stays that was removed
	HeaderGone   ChangeKind = "header goes"   // a header or property is removed that stayed
	LimitDrops   ChangeKind = "limit reached" // a limit drops messages that it did not drop
	AgainLost    ChangeKind = "again lost"    // copies that fail again are lost, and were not
	TakeChanged  ChangeKind = "take changed"  // an undo takes more or fewer messages back from a queue
	CountChanged ChangeKind = "count changed" // more or fewer messages are planned
	NowRefused   ChangeKind = "now refused"   // it must not run any more
)

// Change is one difference between what was agreed to and what would be done now.
type Change struct {
	Kind   ChangeKind
	Way    model.Address    // of a way
	Queue  model.QueueRef   // that is reached or not, or taken back from
	Queues []model.QueueRef // that a way that was added reaches
	Header string
	Loss   *loss.ByLimit
	Was    int // messages
	Is     int
	Why    Refusal
}

// Changes are the differences between what was agreed to and a newer promise, in the order in which a person wants to
// know them; none when nothing is different.
func (p *Promise) Changes(now *Promise) []Change {
	var changes []Change
	if now.Refusal.Refused() && !reflect.DeepEqual(now.Refusal, p.Refusal) {
		changes = append(changes, Change{Kind: NowRefused, Why: now.Refusal})
	}
	if now.Refusal.Refused() { // a plan that must not run promises nothing else
		return changes
	}
	changes = append(changes, wayChanges(p.Ways, now.Ways)...)
	for i := range now.Losses {
		if l := &now.Losses[i]; !slices.ContainsFunc(p.Losses, l.Within) {
			changes = append(changes, Change{Kind: LimitDrops, Queue: l.Queue, Loss: l})
		}
	}
	for _, f := range now.Again {
		if !slices.Contains(p.Again, f) {
			why := refuse(lost{Again: []loss.SecondFailure{f}})
			changes = append(changes, Change{Kind: AgainLost, Queue: f.Queue, Why: why})
		}
	}
	for _, header := range now.Strips {
		if !slices.Contains(p.Strips, header) {
			changes = append(changes, Change{Kind: HeaderGone, Header: header})
		}
	}
	for _, header := range p.Strips {
		if !slices.Contains(now.Strips, header) {
			changes = append(changes, Change{Kind: HeaderAdded, Header: header})
		}
	}
	changes = append(changes, takeChanges(p.Takes, now.Takes)...)
	if len(changes) == 0 && p.Messages != now.Messages {
		changes = append(changes, Change{Kind: CountChanged, Was: p.Messages, Is: now.Messages})
	}
	return changes
}

// wayChanges compares ways. There can be as many as there are messages.
func wayChanges(was, is []target.Way) []Change {
	var changes []Change
	before, after := waysByAddress(was), waysByAddress(is)
	for i := range is {
		now := &is[i]
		if before := before[now.Address]; before == nil {
			changes = append(changes, Change{Kind: WayAdded, Way: now.Address, Queues: now.Reaches})
		} else {
			changes = append(changes, reachChanges(now.Address, before.Reaches, now.Reaches)...)
			if before.Exact && !now.Exact {
				changes = append(changes, Change{Kind: WayUncertain, Way: now.Address})
			}
		}
	}
	for i := range was {
		if after[was[i].Address] == nil {
			changes = append(changes, Change{Kind: WayGone, Way: was[i].Address, Queues: was[i].Reaches})
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

// reachChanges compares the queues that a way reached and reaches.
func reachChanges(way model.Address, was, is []model.QueueRef) []Change {
	var changes []Change
	for _, q := range is {
		if !slices.Contains(was, q) {
			changes = append(changes, Change{Kind: QueueAdded, Way: way, Queue: q})
		}
	}
	for _, q := range was {
		if !slices.Contains(is, q) {
			changes = append(changes, Change{Kind: QueueGone, Way: way, Queue: q})
		}
	}
	return changes
}

func takeChanges(was, is []PromisedTake) []Change {
	var changes []Change
	find := func(takes []PromisedTake, q model.QueueRef) int {
		for _, t := range takes {
			if t.Queue == q {
				return t.Messages
			}
		}
		return 0
	}
	for _, t := range slices.Concat(was, is) {
		before, now := find(was, t.Queue), find(is, t.Queue)
		change := Change{Kind: TakeChanged, Queue: t.Queue, Was: before, Is: now}
		if before != now && !slices.ContainsFunc(changes, func(c Change) bool { return c.Queue == t.Queue }) {
			changes = append(changes, change)
		}
	}
	return changes
}
