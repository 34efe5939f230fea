package plan

import (
	"fmt"
	"strings"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/target"
)

// To returns where a replay or a move goes, as --to (and --key) would name it; "auto" when that differs between
// messages, "" for other operations.
func (p *Plan) To() string {
	if p.Operation != Replay && p.Operation != Move {
		return ""
	}
	a, mode := p.address()
	switch {
	case mode == target.ToQueue:
		return fmt.Sprintf("%s:%s", mode, a.RoutingKey)
	case mode == target.ToExchange && p.KeyApart:
		return fmt.Sprintf("%s:%s --key %s", mode, a.Exchange, model.Quoted(a.RoutingKey))
	case mode == target.ToExchange:
		return fmt.Sprintf("%s:%s/%s", mode, a.Exchange, a.RoutingKey)
	}

	return string(mode)
}

// address returns where all messages of the plan go, and the mode that names it; target.ToAuto when they differ.
func (p *Plan) address() (model.Address, target.Mode) {
	switch {
	case p.Target.Mode != target.ToAuto || len(p.Ways) != 1:
		return p.Target.Fixed, p.Target.Mode
	case p.Ways[0].Exchange == "":
		return p.Ways[0].Address, target.ToQueue
	}

	return p.Ways[0].Address, target.ToExchange
}

// nameApart records whether exchange:NAME/KEY would parse as another address.
func (p *Plan) nameApart(t *model.Topology) {
	if a, mode := p.address(); mode == target.ToExchange {
		read, err := target.Split(t, p.From, a.Exchange+"/"+a.RoutingKey)
		p.KeyApart = err != nil || read != a
	}
}

// Went is To for the journal: where To does not name a place, it lists the queues by name.
func (p *Plan) Went() string {
	to := p.To()
	named := to != string(target.ToAuto) && to != string(target.ToOrigin)
	if named || len(p.Recipients) == 0 {
		return to
	}
	var names []string
	for i, r := range p.Recipients {
		if i == target.MostOffered {
			names = append(names, model.Count(len(p.Recipients)-i)+" more")
			break
		}
		names = append(names, r.Queue.Name)
	}

	return string(target.ToQueue) + ":" + strings.Join(names, ", ")
}

// Evidence returns one line for each way in which the workers were found, with its number of messages. Ways that differ
// only in the routing key share a line; a worker known from its flow alone has none.
func (p *Plan) Evidence() []string {
	type told struct {
		clue                *target.Clue
		addresses, messages int
	}

	var all []*told

	known := map[target.Clue]*told{}
	for w := range model.Each(p.Ways) {
		if w.Clue == nil {
			continue
		}
		same := *w.Clue
		same.Address.RoutingKey = ""
		one := known[same]
		if one == nil {
			one = &told{clue: w.Clue}
			known[same], all = one, append(all, one)
		}

		one.addresses++
		one.messages += w.Messages
	}

	lines := make([]string, len(all))
	for i, one := range all {
		words := model.Plural(one.messages, "message")
		if one.addresses > 1 {
			words += model.Sayf(", by %v routing key(s)", one.addresses)
		}
		lines[i] = fmt.Sprintf("%s (%s)", one.clue.Words(), words)
	}

	return lines
}
