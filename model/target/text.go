package target

import (
	"fmt"
	"slices"
	"strings"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/message"
)

// Parse parses --to: auto, origin, queue:NAME or exchange:NAME/KEY, and --key, which is the key of exchange:NAME.
// Without it names and keys may both contain slashes: then all of it is the exchange, which Split resolves.
func Parse(to string, key model.Opt[string]) (Mode, model.Address, error) {
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

// Split parses NAME/KEY, in which both may contain slashes: it takes the longest existing exchange. If several readings
// can route messages, it takes the only one that leads to a worker of the queue's flows; otherwise the error lists them
// all.
func Split(t *model.Topology, from model.QueueRef, text string) (model.Address, error) {
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
		return model.Address{}, model.Errorf("exchange:%v can be read in %d ways: type %v", text, len(lead),
			strings.Join(readings, ", or "))
	case len(there) > 0:
		return there[0], nil
	}

	name, key, _ := strings.Cut(text, "/")
	return model.Address{Exchange: name, RoutingKey: key}, nil
}
