package findings

import (
	"slices"
	"strings"

	"github.com/dlxtop/dlxtop/model"
)

// Together makes one finding of those that are the same for several buffers of a flow, like the levels of a ladder of
// retries: of one code, level and exchange. Their evidence and remedies stay, each once. What happens right now stays
// apart, with its own time.
func Together(t *model.Topology, found []Finding) (together []Finding) {
	type kind struct {
		code            string
		level           Level
		worker          model.QueueRef
		exchange, vhost string
	}

	var groups [][]Finding

	places := map[kind]int{}
	for _, f := range found {
		worker, feeds := feeding(t, f.At())
		k := kind{f.Code, f.Level, worker, f.Exchange, f.VHost}
		at, known := places[k]
		switch {
		case !feeds || f.Happening:
			groups = append(groups, []Finding{f})
		case known:
			groups[at] = append(groups[at], f)
		default:
			places[k] = len(groups)
			groups = append(groups, []Finding{f})
		}
	}

	for _, group := range groups {
		together = append(together, merged(group))
	}

	return crowds(together)
}

// crowd is how many findings that say the same, each of its own queue, become one: a broker with a queue for each
// tenant or caller has hundreds, among which the one that differs would not be seen.
const crowd = 5

// crowds makes one finding of each crowd: of one code and level, with sentences that differ only in the queue's name.
func crowds(found []Finding) (together []Finding) {
	type said struct {
		code, vhost, exchange string
		level                 Level
		message, remedy       string
	}

	of := func(f *Finding) said {
		without := func(text string) string { return strings.ReplaceAll(text, model.Printable(f.Queue), "\x00") }
		return said{f.Code, f.VHost, f.Exchange, f.Level, without(f.Message), without(f.Remedy)}
	}

	groups := map[said][]Finding{}
	for _, f := range found {
		if f.Queue != "" && !f.Happening {
			groups[of(&f)] = append(groups[of(&f)], f)
		}
	}

	for _, f := range found {
		group := groups[of(&f)]
		switch {
		case f.Happening || len(group) <= crowd:
			together = append(together, f)
		case group[0].Queue == f.Queue:
			together = append(together, merged(group))
		}
	}

	return together
}

// feeding returns the worker of the first flow that has a queue as its buffer.
func feeding(t *model.Topology, ref model.QueueRef) (worker model.QueueRef, ok bool) {
	for _, flow := range t.FlowsOf(ref) {
		isBuffer := func(b *model.Buffer) bool { return b.Queue == ref }
		if slices.ContainsFunc(flow.Buffers, isBuffer) {
			return flow.Worker.Queue, true
		}
	}

	return worker, false
}

func merged(group []Finding) Finding {
	f := group[0]
	if len(group) == 1 {
		return f
	}
	var others []model.QueueRef
	for _, other := range group[1:] {
		f.Also = append(append(f.Also, other.Queue), other.Also...)
		others = append(others, model.QueueRef{Name: other.Queue})
	}

	f.Message += "; the same is true of " + model.Names(others)
	f.Evidence = each(group, func(f *Finding) string { return f.Evidence })
	f.Remedy = each(group, func(f *Finding) string { return f.Remedy })
	return f
}

// each returns the text of all findings of a group: once where it is the same, else behind the name of its queue, at
// most three of them.
func each(group []Finding, text func(*Finding) string) string {
	const most = 3
	first, differs := text(&group[0]), false
	var all []string
	for i := range group {
		differs = differs || text(&group[i]) != first
		if i < most {
			all = append(all, model.Printable(group[i].Queue)+": "+text(&group[i]))
		}
	}

	if rest := len(group) - most; rest > 0 {
		all = append(all, model.Count(rest)+" more like them")
	}

	if !differs {
		return first
	}

	return strings.Join(all, "; ")
}

// Concerns reports whether a finding is about a queue.
func (f *Finding) Concerns(ref model.QueueRef) bool {
	return f.VHost == ref.VHost && f.Queue != "" && (f.Queue == ref.Name || slices.Contains(f.Also, ref.Name))
}

// Commands show on the broker what a finding is about, and are made for a shell.
func (f *Finding) Commands() []string {
	vhost := quoted(f.VHost)
	var all []string
	switch f.Code {
	case "policy-hidden", "policy-skipped", "argument-shadows-policy":
		all = append(all, "rabbitmqctl list_policies --vhost "+vhost)
	case "worker-without-consumers", "poller", "buffer-with-consumers", "requeue-loop", "no-acknowledgements":
		all = append(all, "rabbitmqctl list_consumers --vhost "+vhost)
	case "memory-alarm", "disk-alarm":
		all = append(all, "rabbitmq-diagnostics alarms")
	case "node-down", "partition", "queue-down", "quorum-at-risk":
		all = append(all, "rabbitmqctl cluster_status")
	default:
		if f.Queue != "" || f.Exchange != "" {
			all = append(all, "rabbitmqctl list_bindings --vhost "+vhost+" source_name routing_key destination_name")
		}
	}

	if f.Queue != "" {
		ref := f.At()
		all = append(all, "rabbitmqctl list_queues --vhost "+vhost+" name type arguments policy messages consumers",
			"dlxtop peek "+quoted(ref.String()))
	}

	return append(all, "dlxtop explain "+f.Code)
}

// quoted returns a name as one word of a shell.
func quoted(name string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("_./:@-", r)
	}
	if name != "" && name[0] != '-' && !strings.ContainsFunc(name, func(r rune) bool { return !plain(r) }) {
		return name
	}
	return "'" + strings.ReplaceAll(name, "'", `'\''`) + "'"
}
