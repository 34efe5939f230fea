package findings

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/upgrade"
)

// Findings about an upgrade: what will not work in the new version, or will mean something else.

//go:embed upgrades.toml
var upgradesText string

// upgrading is a broker before an upgrade.
type upgrading struct {
	now, then *model.Topology // the same, on both versions
	use       upgrade.Use
	from, to  model.Version
	found     []Finding
}

// difference is one between two versions.
type difference struct {
	Code              string
	Since             string // the first version with it
	Level             Level
	Setting, Exchange string
	Message, Remedy   string
}

// stops are the versions at which an upgrade has to stop, by RabbitMQ's guide. Measured: 4.0.5 does not start on the
// data of 3.10.8; 4.3.6 does on those of a single node 4.0.5, which the guide does not support.
var stops = strings.Fields("3.9 3.10 3.11 3.12 3.13 4.2 4.3")

// Upgrade returns what an upgrade to a version changes for what is declared and connected, sorted.
func Upgrade(t *model.Topology, to model.Version, use upgrade.Use) []Finding {
	next := *t.Snapshot
	next.Overview.Version = to
	u := &upgrading{
		now: model.NewTopology(t.Snapshot), then: model.NewTopology(&next), use: use,
		from: t.Snapshot.Overview.Version, to: to,
	}

	var table struct{ Change []difference }
	_, _ = toml.Decode(upgradesText, &table) // a test reads it
	for _, d := range table.Change {
		if u.passes(d.Since) {
			u.compare(d)
		}
	}

	u.findForBroker()
	u.findByBehaviour()
	return Sort(u.found)
}

// passes reports whether the upgrade comes to a version.
func (u *upgrading) passes(version string) bool {
	return model.ParseVersion(version).Between(u.from, u.to)
}

func (u *upgrading) compare(d difference) {
	add := func(f Finding, about, evidence string) {
		if evidence == "" {
			return
		}
		f.Code, f.Level, f.Evidence, f.Remedy = d.Code, d.Level, evidence, d.Remedy
		f.Message = strings.Replace(d.Message, "%s", model.Printable(about), 1)
		u.found = append(u.found, f)
	}

	for q := range u.now.EachQueue() {
		add(Finding{VHost: q.VHost, Queue: q.Name}, q.Name, u.showsInQueue(d, q))
	}

	for x := range model.Each(u.now.Snapshot.Exchanges) {
		if d.Exchange != "" && x.Type == d.Exchange {
			waiting := "how many messages wait in it is unknown"
			if n, known := x.Delayed.Get(); known {
				waiting = model.Sayf("%v message(s) (is|are) waiting in it", n)
			}
			add(Finding{VHost: x.VHost, Exchange: x.Name}, x.Name, "type "+x.Type+"; "+waiting)
		}
	}

	var clients []string
	for _, c := range u.use.Clients {
		if shown := showsInClient(d, c); shown != "" {
			clients = append(clients, shown+": "+c.Name)
		}
	}
	add(Finding{}, "", listed(clients))
}

// showsInQueue returns what shows that a difference concerns a queue; "" when it does not.
func (u *upgrading) showsInQueue(d difference, q *model.Queue) string {
	argument, byArgument := q.Arguments["x-"+d.Setting]
	policy, byPolicy := q.PolicyDefinition[d.Setting]
	version, _ := q.Arguments.Integer("x-queue-version")
	limit := u.then.Settings(q.QueueRef).DeliveryLimit
	switch {
	case byArgument:
		return fmt.Sprintf("x-%s %v (argument)", d.Setting, argument)
	case byPolicy && q.Type == model.Classic:
		return fmt.Sprintf("%s %v (policy %s)", d.Setting, policy, q.Policy)
	case d.Code == "upgrade-transient-queues" && !q.Durable && !q.Exclusive:
		return "durable false, exclusive false"
	case d.Code == "upgrade-queue-version" && version == 1:
		return "x-queue-version 1 (argument)"
	case d.Code == "upgrade-delivery-limit" && limit.Source.Kind == model.FromDefault:
		return "no delivery-limit; dead-letter-exchange " + u.now.Settings(q.QueueRef).DLX.String()
	case d.Code == "upgrade-nack" && limit.Value > 0 && q.Consumed():
		return "delivery-limit " + limit.String() + ", " + model.ConsumerWords(q.Consumers)
	}

	return ""
}

// smallestFrame is the least frame_max, in bytes, that RabbitMQ accepts from 4.1 on.
const smallestFrame = 8192

// showsInClient is showsInQueue for a connection or a channel.
func showsInClient(d difference, c upgrade.Client) string {
	switch {
	case d.Code == "upgrade-frame-max" && c.FrameMax > 0 && c.FrameMax < smallestFrame:
		return "frame_max " + model.Count(c.FrameMax)
	case d.Code == "upgrade-global-qos" && c.GlobalPrefetch > 0:
		return "global prefetch " + model.Count(c.GlobalPrefetch)
	case d.Code == "upgrade-amqp10-addresses" && strings.HasPrefix(c.Protocol, "AMQP 1"):
		return c.Protocol
	}

	return ""
}

// findForBroker finds what concerns the broker as a whole.
func (u *upgrading) findForBroker() {
	steps := slices.DeleteFunc(slices.Clone(stops), func(v string) bool {
		return !u.passes(v) || model.ParseVersion(v).AtLeast(u.to.Major, u.to.Minor)
	})
	if len(steps) > 0 {
		u.found = append(u.found, Finding{
			Code:     "upgrade-in-steps",
			Message:  "the upgrade is not possible in one step: a node may refuse to start on data that are too old",
			Evidence: "this is RabbitMQ " + u.from.String(),
			Remedy: "upgrade to " + strings.Join(steps, ", ") + " first, and enable all stable feature flags after each " +
				"step (rabbitmqctl enable_feature_flag all)",
		}.completed())
	}

	if off := u.use.FlagsOff; len(off) > 0 {
		u.found = append(u.found, Finding{
			Code:     "upgrade-feature-flags",
			Message:  "stable feature flags are disabled: a later version that requires them does not start",
			Evidence: "disabled: " + listed(off),
		}.completed())
	}

	if used := u.use.Deprecated; len(used) > 0 {
		u.found = append(u.found, Finding{
			Code:     "upgrade-deprecated-features",
			Message:  "deprecated features are in use: a later version may refuse them",
			Evidence: "RabbitMQ reports as used: " + listed(used),
		}.completed())
	}
}

// findByBehaviour finds what other checks find only with the behaviour of the new version.
func (u *upgrading) findByBehaviour() {
	known := map[Identity]bool{}
	for _, f := range Of(u.now) {
		known[f.Identity()] = true
	}
	for _, f := range Of(u.then) {
		if !known[f.Identity()] && f.Level != LevelInfo {
			u.found = append(u.found, f)
		}
	}
}

// listed names the first of several, each once.
func listed(all []string) string {
	const most = 5
	all = slices.Compact(slices.Sorted(slices.Values(all)))
	if more := len(all) - most; more > 0 {
		all = append(all[:most], model.Count(more)+" more")
	}
	return strings.Join(all, ", ")
}
