package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/model/target"
)

// PlannedReset is one change that a replay makes in some messages of the sample because of what a framework wrote. For
// a counter it has the lowest and the highest value.
type PlannedReset struct {
	message.Reset
	Most     int64
	Messages int
}

// Words returns "resets retries 2 -> 0", "keeps retries 2", "removes rascal.error".
func (r PlannedReset) Words() string { return r.Does() + " " + r.What() }

// Does returns the verb: "resets", "keeps", "removes".
func (r PlannedReset) Does() string {
	switch r.Kind {
	case message.CounterReset:
		return "resets"
	case message.CounterKept, message.CounterLeft, message.NoCounter:
		return "keeps"
	}

	return "removes"
}

// What returns the object: "retries 2 -> 0".
func (r PlannedReset) What() string {
	was := model.Count(r.Was)
	if r.Most > r.Was {
		was += " to " + model.Count(r.Most)
	}

	name := model.Printable(r.Name)
	switch r.Kind {
	case message.CounterReset:
		return fmt.Sprintf("%s %s -> %d", name, was, r.Is)
	case message.CounterKept:
		return name + " " + was
	case message.CounterLeft:
		words := name + " " + was
		if r.Edit != "" {
			words += " (--edit " + model.Printable(shellQuoted(r.Edit)) + " resets it)"
		}
		return words
	case message.NoCounter:
		return name + " (no number)"
	}

	return name
}

// shellQuoted returns a text as one word of a shell.
func shellQuoted(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }

// CountsTries reports whether messages of the plan have counters of tries, which a replay may reset or keep.
func (p *Plan) CountsTries() bool {
	return slices.ContainsFunc(p.Resets, func(r PlannedReset) bool {
		return r.Counts()
	})
}

// PlannedGroup is where the messages of one framework go: a queue with messages of several has several kinds of work.
type PlannedGroup struct {
	Framework message.Framework // "" when unknown
	To        []model.QueueRef
	Stay      bool // they have no target
	Messages  int
}

// Words returns "312 Celery to orders", "3 without a target: stay".
func (g PlannedGroup) Words() string {
	words := model.Count(int64(g.Messages))
	if g.Framework != "" {
		words += " " + string(g.Framework)
	}
	if g.Stay {
		return words + " without a target: stay"
	}

	return words + " to " + model.Printable(model.Names(g.To))
}

// GroupWords returns all groups in one line; "" when there is only one kind.
func (p *Plan) GroupWords() string {
	return strings.Join(model.Mapped(p.Groups, (*PlannedGroup).Words), ", ")
}

// wish returns what the plan does about a message's tries. A move leaves a message as it is, except for marks that only
// make sense with the death history, where that is stripped.
func (p *Plan) wish() message.ResetWish {
	return message.ResetWish{KeepTries: p.KeepTries, MarksOnly: p.Operation == Move}
}

// resetting returns a message as its worker will see it, and the changes for that. An edited message is left as it is.
func (p *Plan) resetting(m *message.Message) (*message.Message, []message.Reset) {
	if p.Edited != nil || p.Operation != Replay && p.Operation != Move || p.KeepDeaths {
		return m, nil
	}
	return m.Reset(p.wish())
}

// resetNotes collect what a plan changes for frameworks, and what awaits its messages.
type resetNotes struct {
	plan     *Plan
	resets   map[message.Reset]*PlannedReset
	order    []message.Reset
	groups   map[string]*PlannedGroup
	mixed    bool // the groups belong to more than one framework
	arrivals map[arrival]*awaited
	now      time.Time
	t        *model.Topology
	counts   model.CountsByQueue // ActionWant.Counts
}

// arrival is what awaits messages of one framework at their target.
type arrival struct {
	kind      arrivalKind
	framework message.Framework
	queue     string
}

type arrivalKind int

const (
	tooLate       arrivalKind = iota // its framework lets it expire
	held                             // by the worker, until it is due
	early                            // it runs before it is due
	noRetry                          // no retry, only one try
	noAnswer                         // its reply queue is gone
	directAnswer                     // its requester may be gone
	requesterGone                    // it is
	severals                         // marks of several frameworks
)

type awaited struct {
	messages int
	at       time.Time // the latest
}

func (a *awaited) add(at time.Time) {
	if a.messages++; at.After(a.at) {
		a.at = at
	}
}

func newResetNotes(p *Plan, t *model.Topology, want *ActionWant) *resetNotes {
	return &resetNotes{
		plan:     p,
		t:        t,
		now:      t.Snapshot.TakenAt,
		counts:   want.Counts,
		resets:   map[message.Reset]*PlannedReset{},
		groups:   map[string]*PlannedGroup{},
		arrivals: map[arrival]*awaited{},
	}
}

// reset records the changes in one message. strips are the headers that are removed by name anyway.
func (n *resetNotes) reset(resets []message.Reset, strips map[string]bool) {
	for _, r := range resets {
		if n.plan.Mend != nil && r.Edit != "" {
			continue // the program may be this one
		}
		if !r.Counts() && r.Kind != message.NoCounter && r.Name == r.Header {
			strips[r.Name] = true
			continue
		}

		key := r
		key.Was, key.Is = 0, 0
		planned := n.resets[key]
		if planned == nil {
			planned = &PlannedReset{Reset: r, Most: r.Was}
			n.resets[key] = planned
			n.order = append(n.order, key)
		}

		planned.Was, planned.Most = min(planned.Was, r.Was), max(planned.Most, r.Was)
		planned.Messages++
	}
}

// group records where one message goes.
func (n *resetNotes) group(m *message.Message, way *target.Way) {
	frameworks := m.Frameworks()
	var framework message.Framework
	if len(frameworks) > 0 {
		framework = frameworks[0]
	}
	if len(frameworks) > 1 {
		n.await(arrival{severals, framework, joined(frameworks)}, time.Time{})
	}

	g := PlannedGroup{Framework: framework, Stay: way.Problem != nil}
	if !g.Stay {
		g.To = way.Reaches
	}

	key := fmt.Sprint(g.Framework, g.Stay, g.To)
	if n.groups[key] == nil {
		for _, other := range n.groups {
			n.mixed = n.mixed || other.Framework != g.Framework
		}
		n.groups[key] = &g
	}

	n.groups[key].Messages++
}

func joined(frameworks []message.Framework) string {
	return strings.Join(model.Mapped(frameworks, func(f *message.Framework) string { return string(*f) }), " and ")
}

func (n *resetNotes) await(a arrival, at time.Time) {
	if n.arrivals[a] == nil {
		n.arrivals[a] = &awaited{}
	}
	n.arrivals[a].add(at)
}

// arrives records what the worker will do with one message.
func (n *resetNotes) arrives(m *message.Message) {
	framework, _ := m.Framework()
	await := func(kind arrivalKind, at time.Time) { n.await(arrival{kind: kind, framework: framework}, at) }
	if at, ok := m.Expires(); ok && !n.now.IsZero() && at.Before(n.now) {
		await(tooLate, at)
	}

	if at, holds, ok := m.Eta(); ok && !n.now.IsZero() && at.After(n.now) {
		kind := early
		if holds {
			kind = held
		}
		await(kind, at)
	}

	if left, ok := m.RetriesLeft(); ok && left <= 0 {
		await(noRetry, time.Time{})
	}

	queue := m.Properties.ReplyTo
	switch {
	case !m.WantsReply():
	case strings.HasPrefix(queue, directReply):
		if kind, lost := n.requester(queue); lost {
			await(kind, time.Time{})
		}
	case !n.answered(queue):
		n.await(arrival{noAnswer, framework, queue}, time.Time{})
	}
}

// directReply begins the address of a requester without a queue: it exists as long as the requester's channel.
const directReply = "amq.rabbitmq.reply-to"

// mostRequesters bounds how many requesters are looked for: for each that is gone, RabbitMQ closes a channel.
const mostRequesters = 10

// requester reports whether the answer to a requester is lost, or may be: a count finds its address while its channel
// is open (3.10.8, 4.0.5, 4.3.6).
func (n *resetNotes) requester(address string) (kind arrivalKind, lost bool) {
	p, ref := n.plan, n.plan.From.Beside(address)
	asked := slices.Contains(p.Requesters, ref)
	if !asked && len(p.Requesters) < mostRequesters {
		p.Requesters, asked = append(p.Requesters, ref), true
	}

	_, there := n.counts[ref]
	if asked && n.counts != nil {
		return requesterGone, !there
	}
	return directAnswer, true
}

// answered reports whether the reply queue of a request exists.
func (n *resetNotes) answered(queue string) bool {
	if strings.ContainsAny(queue, "/:") {
		return true
	}
	_, there := n.t.Queue(n.plan.From.Beside(queue))
	return there
}

func (n *resetNotes) write() {
	for _, key := range n.order {
		n.plan.Resets = append(n.plan.Resets, *n.resets[key])
	}

	slices.SortStableFunc(n.plan.Resets, func(a, b PlannedReset) int {
		return cmp.Or(cmp.Compare(a.Framework, b.Framework), cmp.Compare(a.Name, b.Name))
	})
	if n.mixed {
		for _, g := range n.groups {
			n.plan.Groups = append(n.plan.Groups, *g)
		}
		slices.SortFunc(n.plan.Groups, func(a, b PlannedGroup) int {
			return cmp.Or(cmp.Compare(b.Messages, a.Messages), cmp.Compare(a.Words(), b.Words()))
		})
	}

	warnings := make([]Warning, 0, len(n.arrivals))
	for a, on := range n.arrivals {
		warnings = append(warnings, a.warning(on, n.now))
	}

	slices.SortFunc(warnings, func(a, b Warning) int { return cmp.Compare(a.Says, b.Says) })
	for _, w := range warnings {
		n.plan.warn(w)
	}
}

func (a arrival) warning(on *awaited, now time.Time) Warning {
	n := on.messages
	of := strings.TrimSpace(string(a.framework) + " message")
	replayed := "replayed now, (it runs|they run) at once"
	switch a.kind {
	case severals:
		return warning("%v message(s) (has|have) the marks of %s: what each of them wrote is reset", n, a.queue)
	case noAnswer:
		return warning("%v %s(s) (asks|ask) for an answer in %v, which does not exist: the answer is lost", n, of,
			a.queue)
	case directAnswer:
		return warning("%v %s(s) (asks|ask) for an answer by direct reply-to: the (answer is|answers are) lost unless the "+
			"requester still waits on the same channel", n, of)
	case requesterGone:
		return warning("%v %s(s) (asks|ask) for an answer by direct reply-to, and the requester is gone: the (answer "+
			"is|answers are) lost", n, of)
	case noRetry:
		return warning("%v %s(s) (gets|get) one try and no retry: RetryCount is 0, and how many there were is not in the "+
			"message", n, of)
	case tooLate:
		return warning("%v %s(s) (has|have) expired (%s ago): the worker will discard (it|them). Begin with a canary", n, of,
			now.Sub(on.at).Truncate(time.Second))
	case held:
		replayed = "the worker holds (it|them) until then. Begin with a canary"
	}

	return warning("%v %s(s) (is|are) due later, the last in %s: "+replayed, n, of, on.at.Sub(now).Truncate(time.Second))
}
