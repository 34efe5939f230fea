package cli

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/dlxtop/dlxtop/model"
)

// findQueue finds the queue that a person named, for something that is done over AMQP.
func (s *session) findQueue(ctx context.Context, t *model.Topology, named string) (model.QueueRef, error) {
	ref, err := findQueue(t, named)
	if err == nil {
		err = s.checkCluster(ctx, ref.VHost, t.Snapshot.Overview)
	}
	return ref, err
}

// findQueue finds the queue that a person named, by its name or as VHOST/NAME, in the vhosts that the snapshot covers.
func findQueue(t *model.Topology, named string) (model.QueueRef, error) {
	var found []model.QueueRef
	for _, matches := range []func(model.QueueRef) bool{
		func(q model.QueueRef) bool { return q.Name == named },
		func(q model.QueueRef) bool { return q.String() == named },
	} {
		for i := range t.Snapshot.Queues {
			if ref := t.Snapshot.Queues[i].QueueRef; matches(ref) {
				found = append(found, ref)
			}
		}
		if len(found) > 0 {
			break
		}
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return model.QueueRef{}, usage("there is no queue %s%s", model.Printable(named), suggestion(t, named))
	}
	vhosts := make([]string, len(found))
	for i := range found {
		vhosts[i] = model.Printable(found[i].VHost)
	}
	slices.Sort(vhosts)
	return model.QueueRef{}, usage("there is a queue %s in each of the vhosts %s: name one with --vhost",
		model.Printable(named), strings.Join(vhosts, ", "))
}

// suggestion names the queues whose names are nearest to one that does not exist.
func suggestion(t *model.Topology, named string) string {
	type candidate struct {
		name     string
		distance int
	}
	var near []candidate
	for i := range t.Snapshot.Queues {
		name := t.Snapshot.Queues[i].Name
		d := distance(strings.ToLower(named), strings.ToLower(name))
		if d <= 2+len(named)/4 || named != "" && strings.Contains(strings.ToLower(name), strings.ToLower(named)) {
			near = append(near, candidate{name, d})
		}
	}
	slices.SortFunc(near, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(a.distance, b.distance), cmp.Compare(a.name, b.name))
	})
	var names []string
	for _, c := range near {
		if name := model.Printable(c.name); len(names) < 3 && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	switch {
	case len(names) > 0:
		return ": did you mean " + strings.Join(names, " or ") + "?"
	case len(t.Snapshot.Queues) == 0:
		return ": this user sees no queue at all"
	}
	return ": `dlxtop flows` lists what there is"
}

// distance is how many characters must be added, removed or changed to make one text of the other.
func distance(a, b string) int {
	s, t := []rune(a), []rune(b)
	row := make([]int, len(t)+1)
	for j := range row {
		row[j] = j
	}
	for i := range s {
		diagonal := row[0]
		row[0] = i + 1
		for j := range t {
			change := diagonal
			if s[i] != t[j] {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = min(change, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(t)]
}
