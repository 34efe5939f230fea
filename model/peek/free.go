package peek

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/dlxtop/dlxtop/model"
)

// Freed is how looks at some queues become free, where each uses up a delivery limit, or may pass it.
type Freed struct {
	Queues  []model.QueueRef
	Command string // for a shell on a node of the broker; "" when no policy helps
	Why     string // why none does
}

// Freeing says how looks at these queues become free: by a policy that lifts the delivery limit, at once and for
// messages that were returned before, too (4.0.5, 4.3.6). A queue has one policy, so the new one repeats what the
// queue's present policy says. No policy, not even an operator policy, lifts a limit that is an argument of the queue
// or that an operator policy sets: from 4.0 the higher one counts where one is negative (4.0.5). On 3.x a negative
// limit drops messages.
func Freeing(t *model.Topology, queues []model.QueueRef) []Freed {
	if t.Behaviour.NegativeDeliveryLimitDrops {
		return nil
	}

	var all []Freed
	at := map[string]int{}
	for _, ref := range queues {
		q, ok := t.Queue(ref)
		if !ok || !For(t, ref, Want{}).Endangers() {
			continue
		}

		policy, why := limitPolicy(t.Snapshot, q)
		alike := ref.VHost + "\x00" + why
		if policy != nil {
			alike += "\x00" + policy.Name
		}

		i, known := at[alike]
		if !known {
			i = len(all)
			at[alike] = i
			all = append(all, Freed{Why: why})
		}

		all[i].Queues = append(all[i].Queues, ref)
	}

	taken := map[string]bool{}
	for f := range model.Each(all) {
		if f.Why == "" {
			first, _ := t.Queue(f.Queues[0])
			policy, _ := limitPolicy(t.Snapshot, first)
			f.Command = f.command(t.Snapshot, policy, taken)
		}
	}

	return all
}

// limitPolicy returns the user's policy of a queue, nil without one, or why no policy can lift its delivery limit.
func limitPolicy(s *model.Snapshot, q *model.Queue) (policy *model.Policy, why string) {
	if n, set := q.Arguments.Integer("x-delivery-limit"); set && n >= 0 {
		return nil, fmt.Sprintf("its delivery limit %d is an argument, which no policy lifts", n)
	}
	if model.Printable(q.String()) != q.String() {
		return nil, "its name cannot be typed"
	}

	for p := range model.Each(s.Policies) {
		if p.VHost != q.VHost {
			continue
		}
		if _, limits := p.Definition.Integer("delivery-limit"); p.Operator && p.Name == q.OperatorPolicy && limits {
			return nil, fmt.Sprintf("operator policy %s sets its delivery limit, and no other policy lifts that", p.Name)
		}
		if !p.Operator && p.Name == q.Policy {
			policy = p
		}
	}

	if q.Policy != "" && policy == nil {
		return nil, fmt.Sprintf("what its policy %s says is unknown here, and a second one would replace it", q.Policy)
	}

	return policy, ""
}

// command sets a policy under a name that is not in use. taken are the names of further commands.
func (f *Freed) command(s *model.Snapshot, policy *model.Policy, taken map[string]bool) string {
	definition, priority := model.Table{}, int64(0)
	if policy != nil {
		maps.Copy(definition, policy.Definition)
		priority = policy.Priority + 1
	}

	definition["delivery-limit"] = -1

	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if encoder.Encode(definition) != nil {
		return ""
	}

	vhost := f.Queues[0].VHost
	used := func(name string) bool {
		return taken[vhost+"\x00"+name] || slices.ContainsFunc(s.Policies, func(p model.Policy) bool {
			return p.VHost == vhost && p.Name == name
		})
	}

	name := "free-looks"
	for n := 2; used(name); n++ {
		name = fmt.Sprintf("free-looks-%d", n)
	}

	taken[vhost+"\x00"+name] = true

	pattern := model.Mapped(f.Queues, func(q *model.QueueRef) string { return regexp.QuoteMeta(q.Name) })

	return fmt.Sprintf("rabbitmqctl set_policy -p %s --apply-to quorum_queues --priority %d %s %s %s", quoted(vhost),
		priority, name, quoted("^("+strings.Join(pattern, "|")+")$"), quoted(strings.TrimSpace(text.String())))
}

// quoted returns a text as one word of a shell.
func quoted(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }
