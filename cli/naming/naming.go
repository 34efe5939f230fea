// Package naming finds the queues and exchanges that a user names on the command line.
package naming

import (
	"cmp"
	"slices"
	"strings"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/wildcard"
)

// Queue finds the queue that a user named, by its name or as VHOST/NAME, in the vhosts of the snapshot.
func Queue(t *model.Topology, named string) (model.QueueRef, error) {
	all := All(t)
	found, near := findNamed(all, named)
	switch {
	case len(found) == 1:
		return found[0], nil
	case len(found) > 1:
		return model.QueueRef{}, inVHosts("a queue", found)
	case near == "" && len(all) == 0:
		near = ": this user sees no queue at all"
	case near == "":
		near = ": `dlxtop flows` lists what there is"
	}

	return model.QueueRef{}, model.Errorf("there is no queue %v%s", named, near)
}

// All are the queues of the snapshot.
func All(t *model.Topology) []model.QueueRef {
	return model.Mapped(t.Snapshot.Queues, func(q *model.Queue) model.QueueRef { return q.QueueRef })
}

// Exchange does the same for an exchange.
func Exchange(t *model.Topology, named string) (model.ExchangeRef, error) {
	all := model.Mapped(t.Snapshot.Exchanges, func(x *model.Exchange) model.QueueRef {
		return model.QueueRef(x.ExchangeRef)
	})

	found, near := findNamed(all, named)
	switch {
	case len(found) == 1, len(found) > 1 && named == "": // each vhost has a default exchange, which cannot be tapped
		return model.ExchangeRef(found[0]), nil
	case len(found) > 1:
		return model.ExchangeRef{}, inVHosts("an exchange", found)
	}

	if near == "" {
		near = ": `dlxtop flows` names those of each flow"
	}
	if queues, _ := findNamed(All(t), named); len(queues) > 0 {
		near = ": that is a queue; tap its dead-letter exchange instead (`dlxtop flows` names it)"
	}

	return model.ExchangeRef{}, model.Errorf("there is no exchange %v%s", named, near)
}

// findNamed returns those with a name, or otherwise with that VHOST/NAME, and, if there are none, the most similar
// names.
func findNamed(all []model.QueueRef, named string) (found []model.QueueRef, near string) {
	for _, nameOf := range []func(model.QueueRef) string{
		func(ref model.QueueRef) string { return ref.Name }, model.QueueRef.String,
	} {
		found = model.Without(all, func(ref model.QueueRef) bool { return nameOf(ref) != named })
		if len(found) > 0 {
			return found, ""
		}
	}

	var names []string
	lower := strings.ToLower(named)
	for _, ref := range all {
		inside := named != "" && strings.Contains(strings.ToLower(ref.Name), lower)
		if ref.Name != "" && (inside || model.Distance(named, ref.Name) <= 2+len(named)/4) {
			names = append(names, model.Printable(ref.Name))
		}
	}

	slices.SortFunc(names, func(a, b string) int {
		return cmp.Or(cmp.Compare(model.Distance(named, a), model.Distance(named, b)), cmp.Compare(a, b))
	})
	names = slices.Compact(names)
	if len(names) > 0 {
		near = ": did you mean " + strings.Join(names[:min(len(names), 3)], " or ") + "?"
	}

	return nil, near
}

// inVHosts returns the error when a name exists in several vhosts.
func inVHosts(what string, found []model.QueueRef) error {
	vhosts := model.Mapped(found, func(ref *model.QueueRef) string { return model.Printable(ref.VHost) })
	slices.Sort(vhosts)
	return model.Errorf("there is %s %v in each of the vhosts %s: name one with --vhost", what,
		found[0].Name, strings.Join(vhosts, ", "))
}

// Matches reports whether the name of a queue, or VHOST/NAME, matches a pattern.
func Matches(pattern string, ref model.QueueRef) bool {
	return wildcard.Glob(pattern, ref.Name) || wildcard.Glob(pattern, ref.String())
}

// Matching returns the queues that match a pattern ("": all). what they are is for the error when there are none.
func Matching(pattern string, all []model.QueueRef, what string) ([]model.QueueRef, error) {
	found := model.Without(all, func(ref model.QueueRef) bool {
		return pattern != "" && !Matches(pattern, ref)
	})
	if len(found) == 0 && pattern != "" {
		return nil, model.Errorf("--queues %v: none of the %s has such a name", pattern,
			model.Plural(len(all), what))
	}

	return found, nil
}
