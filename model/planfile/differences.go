package planfile

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/plan"
	"github.com/dlxtop/dlxtop/model/target"
)

// consumers is the name of a setting which says that a queue had consumers.
const consumers = "consumers"

// settingsOf returns what decides what happens to messages in a queue, and where each comes from.
func settingsOf(t *model.Topology, ref model.QueueRef) map[string]text {
	q, there := t.Queue(ref)
	if !there {
		return nil
	}

	s := t.Settings(ref)
	all := map[string]string{
		"type":                    string(q.Type),
		"message-ttl":             s.TTL.String(),
		"dead-letter-exchange":    s.DLX.String(),
		"dead-letter-routing-key": s.Key.String(),
		"max-length":              s.MaxLength.String(),
		"max-length-bytes":        s.MaxBytes.String(),
		"overflow":                s.Overflow.String(),
		"delivery-limit":          s.DeliveryLimit.String(),
	}

	if q.Consumers.Or(0) > 0 {
		all[consumers] = "some"
	}

	unset := model.Setting[int64]{}.String()
	found := map[string]text{}
	for name, value := range all {
		if value != unset {
			found[name] = text(value)
		}
	}

	return found
}

// otherBroker returns why a broker is not the one of the plan, "" when it is: a cluster may be reached by several
// addresses, and one address may lead to several clusters.
func (f *File) otherBroker(broker, cluster string) string {
	same := f.Broker == broker
	if f.Cluster != "" && cluster != "" {
		same = f.Cluster == cluster
	}
	if same {
		return ""
	}
	return fmt.Sprintf("the plan is for %s (cluster %s), and this is %s (cluster %s)", f.Broker, f.Cluster, broker,
		cluster)
}

// Found is what of a plan's messages is in their queue.
type Found struct {
	Messages int
	Complete bool // all of the queue was read
	Later    int  // further messages that match the plan's selection
}

// Later selects the messages that a plan would have today, and does not have.
func (f *File) Later() plan.Selection {
	s := f.Intent.Selection
	if s.Limit > 0 {
		return plan.Nobody() // it would always have others
	}
	s.Except, s.Fingerprints = s.Fingerprints, nil
	return s
}

// Judge refuses a plan that was made now from the file, if it differs from that, and warns of what is gone or new.
func (f *File) Judge(p *plan.Plan, t *model.Topology, broker string, found Found) {
	gone := f.Messages - found.Messages
	other := f.otherBroker(broker, t.Snapshot.Overview.ClusterName)
	switch {
	case other != "":
		p.Refusal = plan.Against("%s: connect to that broker", other)
		return
	case found.Messages == 0 && found.Complete:
		p.Refusal = plan.Against("none of its %v message(s) is in %s any more: the plan was applied already, or others took "+
			"them; `dlxtop journal` lists what was done here", f.Messages, p.From)
		return
	}

	if changes := f.differences(p, t, gone); len(changes) > 0 {
		p.Refusal = plan.Against("the broker is not as the plan says: %s; look at it, and make the plan again",
			strings.Join(changes, "; "))
	}

	warn := func(n int, format string) {
		if n > 0 {
			p.Warnings = append(p.Warnings, plan.Warning{Says: model.Sayf(format, model.Count(n), p.From)})
		}
	}
	if found.Complete {
		warn(gone, "%s of the plan's messages are no longer in %s")
	}
	warn(found.Later, "%s further messages match the plan's selection in %s now: they stay")
}

// differences returns how a plan that was made now differs from the one in the file, in sentences. gone are the
// messages that are not in the queue any more.
func (f *File) differences(now *plan.Plan, t *model.Topology, gone int) (found []string) {
	is := now.Promise()
	if is.Refusal.Refused() {
		return nil // it says why
	}

	was := f.promise(&is, gone)
	for _, c := range was.Changes(&is) {
		if !slices.Contains(f.Harm, text(c.Says)) {
			found = append(found, c.Says)
		}
	}

	for _, q := range f.Queues {
		ref := now.From.Beside(string(q.Name))
		settings := settingsOf(t, ref)
		either := map[string]text{}
		maps.Copy(either, settings)
		maps.Copy(either, q.Settings)
		for _, name := range slices.Sorted(maps.Keys(either)) {
			was, is := q.Settings[name], settings[name]
			if was != is && (name != consumers || is == "") {
				found = append(found, model.Sayf("%s of %s: %s, and not %s", name, ref, shown(is), shown(was)))
			}
		}
	}

	return found
}

func shown(setting text) string {
	if setting == "" {
		return "none"
	}
	return model.Printable(string(setting))
}

// promise returns what the file promises, as far as messages that are gone do not explain the difference.
func (f *File) promise(now *plan.Promise, gone int) plan.Promise {
	was := plan.Promise{Messages: now.Messages}
	left := gone
	for _, w := range f.ways() {
		still := slices.ContainsFunc(now.Ways, func(n target.Way) bool { return n.Address == w.Address })
		if !still && w.Messages <= left {
			left -= w.Messages
			continue
		}
		was.Ways = append(was.Ways, w.Way)
	}

	for _, s := range f.Strips {
		if gone == 0 || slices.Contains(now.Strips, string(s)) {
			was.Strips = append(was.Strips, string(s))
		}
	}

	return was
}
