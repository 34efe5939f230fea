package findings

import (
	"strings"

	"github.com/dlxtop/dlxtop/model"
)

// findMisfitRoles finds roles that a user states in the configuration, and that have no effect or not a clear one.
func (t *checking) findMisfitRoles() {
	for s := range model.Each(t.Snapshot.Stated) {
		if s.IsName() && !t.hasQueue(s) {
			t.found(Finding{
				Code:  "stated-role",
				VHost: t.vhostOf(s),
				Message: spell("the configuration states the role %s of %s, and there is no such queue", s.Role,
					s.Pattern),
				Evidence: placeOf(s),
				Remedy: "correct the name, or move the line to the contexts of brokers that have the queue: " +
					"[contexts.NAME.roles]",
			})
		}
	}

	for q := range t.EachQueue() {
		all := t.Snapshot.Stated.Of(q.QueueRef)
		if len(all) == 0 {
			continue
		}
		first := all[0]
		for _, other := range all[1:] {
			alike := other.Context == first.Context && other.IsName() == first.IsName()
			if alike && other.Role != first.Role {
				t.foundAt(q.QueueRef, Finding{
					Code: "stated-role",
					Message: spell("the configuration states two roles of %s: %s counts (%s), not %s (%s)", q, first.Role,
						first.Pattern, other.Role, other.Pattern),
					Evidence: placeOf(&first) + "; of two patterns the longer one counts",
					Remedy:   "state the role of the queue by its name: a name beats patterns",
				})

				break
			}
		}

		waits := first.Role == model.DelayedBuffer || first.Role == model.RetryBuffer
		if waits && len(t.FlowsOf(q.QueueRef)) == 0 {
			t.foundAt(q.QueueRef, Finding{
				Code: "stated-role",
				Message: spell("the configuration states that %s is %s, and no worker is known: it belongs to no flow", q,
					first.Role),
				Evidence: placeOf(&first) + "; its dead letters reach no worker, and no worker has its name",
				Remedy:   "lead its dead letters to the worker, or state the role worker of the queue that gets its messages",
			})
		}
	}
}

// hasQueue reports whether a queue has a name for which a role is stated, or may have it: in a vhost that is not shown.
func (t *checking) hasQueue(s *model.StatedRole) bool {
	for q := range t.EachQueue() {
		if s.Matches(q.QueueRef) {
			return true
		}
	}
	vhost, _, named := strings.Cut(strings.TrimPrefix(s.Pattern, "/"), "/")
	return named && t.vhostOf(s) == "" && vhost != ""
}

// vhostOf returns the vhost with which a name begins, "" when it has none of those that are shown.
func (t *checking) vhostOf(s *model.StatedRole) string {
	for _, vhost := range t.Snapshot.VHosts {
		if strings.HasPrefix(s.Pattern, vhost+"/") {
			return vhost
		}
	}

	return ""
}

func placeOf(s *model.StatedRole) string {
	if s.Context {
		return spell("[contexts.NAME.roles] %s = %s", model.Quoted(s.Pattern), model.Quoted(string(s.Role)))
	}
	return spell("[roles] %s = %s", model.Quoted(s.Pattern), model.Quoted(string(s.Role)))
}
