package plan

import (
	"fmt"
	"slices"
	"strings"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/message"
)

// ParseTarget reads --to: auto, origin, queue:NAME or exchange:NAME/KEY, and --key, which is the key of exchange:NAME.
// Without it names and keys may both hold slashes: all of it is then the exchange, and SplitTarget knows better.
func ParseTarget(to string, key model.Opt[string]) (TargetMode, model.Address, error) {
	kind, rest, _ := strings.Cut(to, ":")
	switch {
	case kind == string(ToExchange) && rest != "":
		return ToExchange, model.Address{Exchange: rest, RoutingKey: key.Or("")}, nil
	case key.Known():
		return "", model.Address{}, fmt.Errorf("a key goes with an exchange: --to exchange:NAME --key KEY")
	case to == "" || to == string(ToAuto):
		return ToAuto, model.Address{}, nil
	case to == string(ToOrigin):
		return ToOrigin, model.Address{}, nil
	case kind == string(ToQueue) && rest != "":
		return ToQueue, model.Address{RoutingKey: rest}, nil
	}
	return "", model.Address{}, fmt.Errorf("%s is not a target: use auto, origin, queue:NAME or exchange:NAME/KEY",
		message.Excerpt(to))
}

// SplitTarget reads NAME/KEY, in which both may hold slashes: the longest exchange that there is. Where messages could
// go by several readings, it is the only one that leads to a worker of the queue's flows, or an error names them all.
func SplitTarget(t *model.Topology, from model.QueueRef, text string) (model.Address, error) {
	var there, lead, meant []model.Address
	for i := len(text); i >= 0; i-- {
		a := model.Address{Exchange: text[:i], RoutingKey: text[min(i+1, len(text)):]}
		_, exists := t.Exchange(model.ExchangeRef{VHost: from.VHost, Name: a.Exchange})
		if i < len(text) && text[i] != '/' || !exists && a.Exchange != "" {
			continue
		}
		there = append(there, a)
		route := t.Possible(from.VHost, a)
		if len(route) > 0 {
			lead = append(lead, a)
		}
		if slices.ContainsFunc(t.FlowsOf(from), func(f *model.Flow) bool { return slices.Contains(route, f.Worker.Queue) }) {
			meant = append(meant, a)
		}
	}
	switch {
	case len(lead) == 1:
		return lead[0], nil
	case len(meant) == 1:
		return meant[0], nil
	case len(lead) > 1:
		var readings []string
		for _, a := range lead {
			readings = append(readings, fmt.Sprintf("--to exchange:%s --key %s", a.Exchange, model.Quoted(a.RoutingKey)))
		}
		return model.Address{}, fmt.Errorf("exchange:%s can be read in %d ways: type %s", model.Printable(text), len(lead),
			model.Printable(strings.Join(readings, ", or ")))
	case len(there) > 0:
		return there[0], nil
	}
	name, key, _ := strings.Cut(text, "/")
	return model.Address{Exchange: name, RoutingKey: key}, nil
}

// To is where a replay or a move goes, as --to (and --key) would name it; "auto" when that differs from message to
// message, "" when it is neither.
func (p *Plan) To() string {
	if p.Operation != Replay && p.Operation != Move {
		return ""
	}
	a, mode := p.address()
	switch {
	case mode == ToQueue:
		return fmt.Sprintf("%s:%s", mode, a.RoutingKey)
	case mode == ToExchange && p.KeyApart:
		return fmt.Sprintf("%s:%s --key %s", mode, a.Exchange, model.Quoted(a.RoutingKey))
	case mode == ToExchange:
		return fmt.Sprintf("%s:%s/%s", mode, a.Exchange, a.RoutingKey)
	}
	return string(mode)
}

// address is where all messages of the plan go, and the mode that names it; ToAuto when that differs.
func (p *Plan) address() (model.Address, TargetMode) {
	switch {
	case p.Target.Mode != ToAuto || len(p.Ways) != 1:
		return p.Target.Fixed, p.Target.Mode
	case p.Ways[0].Exchange == "":
		return p.Ways[0].Address, ToQueue
	}
	return p.Ways[0].Address, ToExchange
}

// nameApart notes whether exchange:NAME/KEY would be read as another address.
func (p *Plan) nameApart(t *model.Topology) {
	if a, mode := p.address(); mode == ToExchange {
		read, err := SplitTarget(t, p.From, a.Exchange+"/"+a.RoutingKey)
		p.KeyApart = err != nil || read != a
	}
}

// Went is To for the journal: what went to queues that differ from message to message has these by name.
func (p *Plan) Went() string {
	to := p.To()
	if to != string(ToAuto) || len(p.Recipients) == 0 {
		return to
	}
	var names []string
	for i, r := range p.Recipients {
		if i == mostOffered {
			names = append(names, model.Count(len(p.Recipients)-i)+" more")
			break
		}
		names = append(names, r.Queue.Name)
	}
	return string(ToQueue) + ":" + strings.Join(names, ", ")
}
