package alarm

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/cause"
	"github.com/dlxtop/dlxtop/model/filter"
	"github.com/dlxtop/dlxtop/model/findings"
	"github.com/dlxtop/dlxtop/model/peek"
	"github.com/dlxtop/dlxtop/model/polls"
)

// Thing is something with facts.
type Thing struct {
	Key     string         // identifies it among its kind
	Subject string         // in words, printable
	Values  map[string]any // the known facts: numbers (int, seconds too), texts, truths, tables
}

// Number returns a number among the facts.
func (t *Thing) Number(name string) (float64, bool) {
	switch v := t.Values[name].(type) {
	case int:
		return float64(v), true
	case bool:
		if v {
			return 1, true
		}
		return 0, true
	}
	return 0, false
}

// JSON returns the known facts; durations are in ms.
func (t *Thing) JSON() json.RawMessage {
	out := map[string]any{}
	for _, f := range Facts {
		v, known := t.Values[f.Name]
		n, number := v.(int)
		_, bound := v.(filter.Bound)
		switch {
		case !known || bound || v == "":
		case f.Unit == seconds && number:
			out[f.Name+"_ms"] = n * 1000
		default:
			out[f.Name] = v
		}
	}
	text, _ := json.Marshal(out) // of these types it never fails
	return text
}

// words are the facts that a rule uses, and how many messages failed.
func (t *Thing) words(uses map[string]bool) string {
	var all []string
	for _, f := range Facts {
		v, known := t.Values[f.Name]
		if !known || !uses[f.Name] && f.Name != "failed" {
			continue
		}
		switch v := v.(type) {
		case int:
			text := model.Count(v)
			if f.Unit == seconds {
				text = model.ShortDuration(time.Duration(v) * time.Second)
			}
			all = append(all, f.Name+" "+text)
		case map[string]any:
			if message, ok := v["message"].(string); ok {
				all = append(all, model.Printable(message))
			}
		}
	}

	return strings.Join(all, ", ")
}

// Seen is what a poll and looks have seen of a broker.
type Seen struct {
	polls.Poll
	Heads  *polls.Seen
	Now    time.Time
	Causes []cause.Group
	States cause.States
	Oldest func(model.QueueRef) model.Opt[time.Time] // when the oldest message of a failed queue failed, if it was read
	Unread model.QueueSet                            // buffers whose head may hold up others, of which that is unknown
	Totals Totals
	Unsure bool // not all failed queues could be read that should be
}

// Totals are how many messages left each buffer, and how many came into it, since a watch began.
type Totals map[model.QueueRef]struct{ left, came int64 }

// Add adds what moved between two polls.
func (t Totals) Add(moves model.Moves) {
	for ref, m := range moves {
		sum := t[ref]
		sum.left, sum.came = sum.left+m.Gone.Or(0), sum.came+m.Came.Or(0)
		t[ref] = sum
	}
}

// Things returns all things of a kind with their facts.
func (s *Seen) Things(per Per) (all Things) {
	about := findings.NewAbout(s.Findings)
	add := func(name string, t Thing) {
		t.Values["flow"] = name
		all.Facts = append(all.Facts, t)
	}

	switch per {
	case PerFlow:
		for flow := range model.Each(s.Topology.Flows()) {
			add(flow.Name, s.thing(flow.Worker.Queue, about.Flow(flow), flow))
		}
		for _, m := range s.Topology.FailedWithoutFlow() {
			add("", s.thing(m.Queue, about.Queue(m.Queue), &model.Flow{Failed: []model.Member{m}}))
		}
	case PerQueue:
		for q := range s.Topology.EachQueue() {
			add(s.flowName(q.QueueRef), s.thing(q.QueueRef, about.Queue(q.QueueRef), s.alone(q.QueueRef)))
		}

	case PerVHost:
		for _, vhost := range s.Topology.Snapshot.VHosts {
			add("", s.vhost(vhost))
		}
	case PerCause:
		all.Unsure = s.Unsure
		for g := range model.Each(s.Causes) {
			add(s.flowName(g.Queues[0].Of), s.cause(g))
		}
	case PerFinding:
		for f := range model.Each(s.Findings) {
			add(s.flowName(f.At()), s.finding(f))
		}
	}

	return all
}

func (s *Seen) flowName(ref model.QueueRef) string {
	if flow, ok := s.Topology.FlowOf(ref); ok {
		return flow.Name
	}
	return ""
}

// alone returns a queue as if it were all of its flow.
func (s *Seen) alone(ref model.QueueRef) *model.Flow {
	own := &model.Flow{Worker: model.Member{Queue: ref}}
	for _, flow := range s.Topology.FlowsOf(ref) {
		if m, ends := flow.End(ref); ends && flow.Role(ref) == model.FailedRole && own.Failed == nil {
			own.Failed = []model.Member{m}
		}
		for _, b := range flow.Buffers {
			if b.Queue == ref && own.Buffers == nil {
				own.Buffers = []*model.Buffer{b}
			}
		}
	}

	for _, m := range s.Topology.FailedWithoutFlow() {
		if m.Queue == ref {
			own.Failed = []model.Member{m}
		}
	}

	return own
}

func (s *Seen) vhost(name string) Thing {
	var flows []*model.Flow
	for flow := range model.Each(s.Topology.Flows()) {
		if flow.VHost == name {
			flows = append(flows, flow)
		}
	}
	for _, m := range s.Topology.FailedWithoutFlow() {
		if m.Queue.VHost == name {
			flows = append(flows, &model.Flow{Failed: []model.Member{m}})
		}
	}

	var found []*findings.Finding
	for f := range model.Each(s.Findings) {
		if f.VHost == name {
			found = append(found, f)
		}
	}

	return s.thing(model.QueueRef{VHost: name}, found, flows...)
}

// thing adds up the facts of flows; a queue or a buffer that several of them share counts once.
func (s *Seen) thing(at model.QueueRef, found []*findings.Finding, flows ...*model.Flow) Thing {
	g := group{Seen: s, once: model.QueueSet{}, values: map[string]any{"vhost": at.VHost, "queue": at.Name}}
	for _, flow := range flows {
		g.failed(flow)
		g.worker(flow)
		g.waiting(flow)
	}

	g.finish()
	g.findings(found)
	subject := at.Printable()
	if at.Name == "" {
		subject = "vhost " + model.Printable(at.VHost)
	}

	return Thing{at.VHost + "\x00" + at.Name, subject, g.values}
}

// group adds up facts.
type group struct {
	*Seen
	once   model.QueueSet // what was counted
	values map[string]any

	parked, waits, ready, consumers model.Opt[int64]
	oldest, due                     model.Opt[time.Duration]
	there                           time.Duration // for how long the head of a failed queue was seen
	moved, back                     int64
	looks                           model.Opt[int64]
	ends                            []model.QueueRef
	overdue, unclear                bool
}

func (g *group) first(ref model.QueueRef) bool {
	seen := g.once[ref]
	g.once[ref] = true
	return !seen
}

func (g *group) failed(flow *model.Flow) {
	for _, m := range flow.Failed {
		if !g.first(m.Queue) {
			continue
		}
		g.ends = append(g.ends, m.Queue)
		ready := polls.ReadyOf(g.Topology, m.Queue)
		g.parked = polls.Plus(g.parked, ready)
		if at, known := g.Oldest(m.Queue).Get(); known && ready.Or(0) > 0 {
			g.oldest = model.Some(max(g.oldest.Or(0), g.age(at)))
		}
		if ready.Or(0) > 0 {
			g.there = max(g.there, g.Now.Sub(g.Heads.History.HeadArrived(g.Now, m.Queue).Since))
		}
		if left, _, counts, _ := peek.LooksLeftOf(g.Topology, m.Queue); counts {
			g.looks = model.Some(min(g.looks.Or(left), left))
		}
	}
}

// age returns how long ago something was, by the broker's clock.
func (s *Seen) age(at time.Time) time.Duration {
	return max(s.Now.Sub(s.Topology.Snapshot.Overview.Clock().Local(at)), 0)
}

func (g *group) worker(flow *model.Flow) {
	q := g.Topology.Known(flow.Worker.Queue)
	if !g.first(q.QueueRef) && len(flow.Failed) == 0 {
		return
	}
	consumers := q.Applications()
	if q.Polled() {
		consumers = model.Some[int64](1)
	}
	g.ready, g.consumers = polls.Plus(g.ready, q.Ready), polls.Plus(g.consumers, consumers)
	if flow.DelayedRetry.Type.Set {
		g.waits = polls.Plus(g.waits, q.Delayed)
	}
}

func (g *group) waiting(flow *model.Flow) {
	own := &model.Flow{Worker: flow.Worker, DelayedRetry: flow.DelayedRetry}
	for _, b := range flow.Buffers {
		for _, ref := range b.Queues() {
			g.moved += g.Totals[ref].left
			if b.Role == model.RetryBuffer {
				g.back += g.Totals[ref].came
			}
			g.unclear = g.unclear || g.Unread[ref]
		}
		g.waits = polls.Plus(g.waits, g.Topology.Waiting(b))
		own.Buffers = append(own.Buffers, b)
	}

	head := g.Heads.Soonest(own, g.Now)
	switch head.Kind(g.Now) {
	case polls.HeadOverdue:
		g.overdue = true
	case polls.HeadUnknown, polls.HeadOlder:
		g.values["overdue"] = nil
	}
	if head.Waits && head.Due.Known() {
		in := max(head.Due.Time.Sub(g.Now), 0)
		g.due = model.Some(min(g.due.Or(in), in))
	}
}

// finish sets the facts that are known. A sum of which a part is unknown is known when the rest says enough.
func (g *group) finish() {
	number := func(name string, n model.Opt[int64]) {
		if n, known := n.Get(); known {
			g.values[name] = int(n)
		}
	}

	if len(g.ends) == 0 {
		g.parked = model.Some[int64](0)
	}
	number("failed", g.parked)
	number("waiting", model.Some(g.waits.Or(0)))
	number("ready", g.ready)
	number("consumers", g.consumers)
	number("looks_left", g.looks)
	number("moved", model.Some(g.moved))
	number("came_back", model.Some(g.back))

	oldest, known := g.oldest.Get()
	switch {
	case known:
		g.values["oldest_failed"] = int(oldest.Seconds())
	case g.parked == model.Some[int64](0):
		g.values["oldest_failed"] = 0
	case g.parked.Known():
		g.values["oldest_failed"] = filter.Bound{Value: int(g.there.Seconds())}
	}

	due, known := g.due.Get()
	switch {
	case known:
		g.values["next_due"] = int(due.Seconds())
	case g.waits.Or(0) == 0:
		g.values["next_due"] = 0
	}

	_, unclear := g.values["overdue"]
	delete(g.values, "overdue")
	if g.overdue || !unclear {
		g.values["overdue"] = g.overdue
	}

	states := map[string]any{}
	for _, state := range cause.AllStates {
		states[string(state)] = 0
	}
	for c := range model.Each(g.Causes) {
		here := func(in cause.Count[model.QueueRef]) bool { return slices.Contains(g.ends, in.Of) }
		if slices.ContainsFunc(c.Queues, here) {
			state := string(g.States.Now(c, g.Now).State)
			states[state] = states[state].(int) + 1
		}
	}
	g.values["causes"] = states
}

func (g *group) findings(found []*findings.Finding) {
	levels := map[string]any{}
	for _, level := range findings.Levels {
		levels[string(level)] = 0
	}

	losing, blocked, since := false, false, g.Now
	for _, f := range found {
		levels[string(f.Level)] = levels[string(f.Level)].(int) + 1
		losing = losing || f.Code == "losing-now"
		if f.Code == "head-of-line-blocked" {
			blocked = true
			if f.Since.Before(since) {
				since = f.Since
			}
		}
	}

	g.values["findings"], g.values["losing"] = levels, losing
	if blocked || !g.unclear {
		g.values["head_blocked"], g.values["head_blocked_for"] = blocked, int(g.Now.Sub(since).Seconds())
	}
}

func (s *Seen) cause(c *cause.Group) Thing {
	at := c.Queues[0].Of
	state := s.States.Now(c, s.Now).State
	t := Thing{string(c.ID), model.Printable(c.Cause.String()), map[string]any{
		"vhost": at.VHost, "queue": at.Name, "failed": c.Messages, "cause": c.Cause.String(),
		"cause_id": string(c.ID), "new_cause": state == cause.New, "cause_back": state == cause.Back,
	}}
	if first, known := c.First.Get(); known {
		t.Values["oldest_failed"] = int(s.age(first).Seconds())
	}
	return t
}

func (s *Seen) finding(f *findings.Finding) Thing {
	key, _ := json.Marshal(f.Identity())
	subject := f.Code + " " + model.Printable(f.Place())
	return Thing{string(key), subject, map[string]any{
		"vhost": f.VHost, "queue": f.Queue,
		"finding": map[string]any{"level": string(f.Level), "code": f.Code, "message": f.Message},
	}}
}
