package target

import (
	"slices"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/loss"
	"github.com/dlxtop/dlxtop/model/message"
)

// Mode is how the address of a replayed message is chosen.
type Mode string

// The modes, as --to names them.
const (
	// ToAuto is the narrowest address that keeps the routing key with which the worker saw the message: the message's own
	// origin if that reaches only the worker; otherwise another way that keeps the key; otherwise the way by which the
	// worker's retries come back; otherwise the worker by name through the default exchange.
	ToAuto     Mode = "auto"
	ToOrigin   Mode = "origin"   // where the message was first published
	ToQueue    Mode = "queue"    // one queue, through the default exchange
	ToExchange Mode = "exchange" // a fixed exchange and key
)

// Target is where a replay goes. The topology that it was made from gives the way of each message.
type Target struct {
	Mode     Mode
	From     model.QueueRef
	Workers  []model.QueueRef // the workers of the flows that From belongs to
	Fixed    model.Address    // for ToQueue and ToExchange
	WaysBack [][]wayBack      // for each of Workers: the flow's own ways from a buffer back to it, narrowest first
	ByName   bool             // only its name ties From to Workers
	Alike    []model.QueueRef // workers whose names begin like From's: offered when nothing else is known
	Inside   bool             // From is a worker or a buffer of its flows: its messages are for Workers
	Itself   bool             // of ToAuto: From is the worker of its only flow
}

// Way is where one message goes and which queues it reaches.
type Way struct {
	model.Address
	Reaches []model.QueueRef    // the queues that receive it, sorted
	Exact   bool                // false: an exchange type on the way makes Reaches only the possible set
	Why     string              // "its origin", "the flow's way back", …
	Clue    *Clue               // how ToAuto knows the worker; nil: from the flow alone
	Against []Clue              // weaker evidence for other workers
	Problem model.Objection     // why it cannot be sent there, nil when it can; a plan has no such way
	Again   *loss.SecondFailure // how it is lost if it fails again there; nil: it is not
}

// New prepares where a replay from a queue goes. The mode and fixed address are those of Parse.
func New(t *model.Topology, from model.QueueRef, mode Mode, fixed model.Address) Target {
	to := Target{Mode: mode, From: from, Fixed: fixed}
	if mode == ToAuto {
		to.Alike = t.NamedLike(from)
	}

	flows := t.FlowsOf(from)
	to.ByName = len(flows) > 0
	for _, flow := range flows {
		worker := flow.Worker.Queue
		if worker == from && mode == ToAuto {
			continue // auto never sends a message back into the queue in which it is
		}
		if !flow.Role(from).IsEnd() {
			to.Inside = true
		}
		if end, ok := flow.End(from); !ok || !end.ByName {
			to.ByName = false
		}

		to.Workers = append(to.Workers, worker)
		to.WaysBack = append(to.WaysBack, waysBack(t, flow))
	}

	if len(flows) > 0 && len(to.Workers) == 0 {
		to.Itself = true
		to.Inside = true
		to.ByName = false
	}

	return to
}

// wayBack is how a buffer passes its messages to the worker.
type wayBack struct {
	model.Address
	KeepsKey bool // each message keeps its own key, and the address has none
	Buffer   string
	Retries  bool // the worker's failures come back this way, so that it knows the key
	reaches  int
}

// waysBack returns the ways by which the flow's buffers pass messages to the worker: first those that reach no other
// queue.
func waysBack(t *model.Topology, flow *model.Flow) []wayBack {
	var found []wayBack
	for _, b := range flow.Buffers {
		hop, expires := t.Hop(b.Queue, model.Expired)
		if !expires || hop.Exchange == "" || len(hop.Keys) > 1 || !slices.Contains(hop.Route.Queues, flow.Worker.Queue) {
			continue
		}
		w := wayBack{Buffer: b.Queue.Name, Retries: b.Role == model.RetryBuffer, reaches: len(hop.Route.Queues)}
		w.Exchange = hop.Exchange
		w.KeepsKey = len(hop.Keys) == 0
		if !w.KeepsKey {
			w.RoutingKey = hop.Keys[0]
		}
		if w.KeepsKey || hop.Route.Exact {
			found = append(found, w)
		}
	}

	slices.SortStableFunc(found, func(a, b wayBack) int { return a.reaches - b.reaches })
	return found
}

// WayOf decides where one message goes; its envelope, if any, must be open.
func (t *Target) WayOf(r *model.Topology, m *message.Message, o message.Opened) Way {
	c := replay{Target: t, Topology: r, Message: m, envelope: o.Envelope, headers: o.ReplayHeaders()}
	if t.Mode == ToQueue || t.Mode == ToExchange {
		return c.routeBy(t.Fixed, "chosen")
	}
	was, _ := m.OriginBy(o.Envelope)
	origin, why := c.renamed(was), "its origin"
	if origin != was {
		why += ", renamed by [redirect] from " + was.RoutingKey
	}
	if t.Mode == ToOrigin {
		return c.routeBy(origin, why)
	}
	chosen := c.choose()
	switch {
	case chosen.problem != nil:
		return Way{Problem: chosen.problem}
	case chosen.clue == nil && t.Itself:
		return Way{Problem: intoItself(t.From)}
	}

	workers := t.Workers
	if chosen.clue != nil {
		workers = []model.QueueRef{chosen.clue.Queue}
		c.recorded = chosen.clue.Kind == ByRecord
	}

	w := c.autoBy(origin, why)
	narrow := w.reachesOnly(workers...) && !c.recordsPattern(w.Reaches[0], w.RoutingKey)
	if !narrow || w.Loses() {
		other := c.wayTo(&chosen)
		if !narrow || other.Problem == nil && !other.Loses() {
			w = other
		}
	}

	if slices.Contains(w.Reaches, t.From) {
		w.Problem = intoItself(t.From)
	}

	w.Clue, w.Against = chosen.clue, chosen.against
	return w
}

// existsAgain: a queue that was renamed is there, so that two could be the worker.
func existsAgain(old model.QueueRef, name string) model.Said {
	return model.Saidf("[redirect] of the configuration leads from %s to %v, and %s exists again: delete that line, or "+
		"name a target, for example queue:%v", old, name, old, old.Name)
}

// intoItself: the only target that is known is the queue in which the message is.
func intoItself(from model.QueueRef) model.Said {
	return model.Saidf("it is in the queue of its worker, %s, already, and auto never sends a message back into its own "+
		"queue: name a target, for example queue:NAME", from)
}

// wayTo returns the way for a message whose origin does not lead to the worker alone, or would lose it if it fails
// again: the first way that reaches only the worker and does not lose it. Without a clue, the flows name the worker.
func (r *replay) wayTo(by *choice) Way {
	worker := model.QueueRef{}
	why := "the worker by name"
	if by.clue != nil {
		worker, why = by.clue.Queue, by.clue.reason()
	} else {
		var ok bool
		if worker, ok = r.workerOf(); !ok {
			trace := r.trace().describe()
			if len(by.against) > 0 {
				trace = "the message names " + cluesWords(by.against)
			}
			return Way{Problem: model.Saidf("this queue belongs to %d flows (%s), and %s: name a target, for example "+
				"queue:NAME%s", len(r.Workers), r.Workers, trace, r.onward())}
		}
	}

	var lossy *Way
	for _, to := range r.addressesOf(worker, why) {
		w := r.autoBy(to.Address, to.why)
		switch {
		case !w.reachesOnly(worker):
		case !w.Loses():
			return w
		case lossy == nil:
			lossy = &w
		}
	}

	if lossy != nil {
		return *lossy
	}

	return r.autoBy(model.Address{RoutingKey: worker.Name}, why)
}

// onward names the address to which the buffer in which a message is sends it, when that reaches several queues.
func (r *replay) onward() string {
	hop, _ := r.Hop(r.From, model.Expired)
	to := r.whenDue()
	if len(to) < 2 || hop.Exchange == "" {
		return ""
	}
	key := r.RoutingKey
	if len(hop.Keys) > 0 {
		key = hop.Keys[0]
	}

	return model.Sayf(", or exchange:%s/%s, where it goes by itself (%s)", hop.Exchange, key, to)
}

// whenDue returns the queues that get a message of a buffer when it is due; nil where that is not certain.
func (r *replay) whenDue() []model.QueueRef {
	route := r.DeadLetter(r.From, []string{r.RoutingKey}, r.ReplayHeaders())
	if !r.IsBuffer(r.From) || !route.Exact {
		return nil
	}
	return route.Queues
}

// WhyEdited is the Way.Why of an address that an edit gave.
const WhyEdited = "edited"

// reasoned is an address with the reason to send a message there.
type reasoned struct {
	model.Address
	why string
}

// addressesOf returns the addresses by which a worker expects its messages, best first: those that keep the key which
// it saw, through each exchange that routes it to the worker by that key, through the flow's buffers' exchanges, or by
// its name; the ways by which its retries, or this message's own delay, come back; the one key that it is bound with;
// its name, for the reason byName. At last the ways of delayed messages: their key can mean something else to the
// worker.
func (r *replay) addressesOf(worker model.QueueRef, byName string) (found []reasoned) {
	var exchanges []string
	for b := range r.BindingsTo(worker) {
		x, _ := r.Handing(b.From())
		if (x.Kind == "direct" || x.Kind == "topic") && !slices.Contains(exchanges, b.Source) {
			exchanges = append(exchanges, b.Source)
		}
	}

	through := func(key, why string) {
		for _, x := range exchanges {
			found = append(found, reasoned{model.Address{Exchange: x, RoutingKey: key}, why})
		}
	}

	var ways []wayBack
	if i := slices.Index(r.Workers, worker); i >= 0 {
		ways = r.WaysBack[i]
	}

	keys := r.keysSeen(worker)
	if key, known := r.keyBehind(r.From.Name, worker).Get(); known {
		keys = append(keys, key)
	}

	for _, key := range keys {
		through(key, "the key that it was published with")
		for _, w := range ways {
			if w.KeepsKey || w.RoutingKey == key {
				found = append(found, reasoned{model.Address{Exchange: w.Exchange, RoutingKey: key}, "the flow's own way back"})
			}
		}

		if key == worker.Name {
			found = append(found, reasoned{model.Address{RoutingKey: key}, byName})
		}
	}

	if key, where, named := loss.NamedKey(r.Topology, worker, r.Message); named {
		through(key, "the key in "+model.Printable(where))
	}

	var delayed []reasoned
	for _, w := range ways {
		back := reasoned{w.Address, "the flow's own way back"}
		switch {
		case w.KeepsKey:
		case w.Retries || r.ExpiredIn(w.Buffer):
			found = append(found, back)
		default:
			delayed = append(delayed, back)
		}
	}

	bound := r.EntryKeys(worker)
	if keys := slices.Compact(bound.Keys); len(keys) == 1 && !bound.Open() && keys[0] != worker.Name {
		through(keys[0], "the key that the worker is bound by")
	}

	found = append(found, reasoned{model.Address{RoutingKey: worker.Name}, byName})
	return append(found, delayed...)
}

// keysSeen returns the keys with which a worker saw a message, as far as that says: first the one that an application
// recorded, then that of its death there, or else the one that it was first published with.
func (r *replay) keysSeen(worker model.QueueRef) (keys []string) {
	if key, _, told := r.FirstKey(); told {
		keys = append(keys, key)
	}

	for d := range model.Each(r.Deaths) {
		if d.Queue == worker.Name && len(d.RoutingKeys) > 0 {
			keys = append(keys, r.OwnKey(d.RoutingKeys[0]))
		}
	}

	if a, told := r.ToldOrigin(r.envelope); told && (len(keys) == 0 || r.envelope != nil) {
		keys = append(keys, a.RoutingKey)
	}

	return model.Without(keys, func(key string) bool { return r.recordsPattern(worker, key) })
}

// recordsPattern reports whether a key is the pattern by which a worker is bound, and an application recorded it as if
// it were that of the message.
func (r *replay) recordsPattern(worker model.QueueRef, key string) bool {
	first, _, _ := r.FirstKey()
	return first == key && slices.Contains(r.EntryKeys(worker).Patterns, key)
}

// OtherKey returns the key with which a worker at the end of a way sees a message, where it has not seen it with that
// key before: also behind a buffer, which may give messages a key of its own. was is the one that it saw; unknown where
// the message does not say.
func (t *Target) OtherKey(
	r *model.Topology, m *message.Message, e *message.Envelope, w *Way,
) (key string, was model.Opt[string], differs bool) {
	c := replay{Target: t, Topology: r, Message: m, envelope: e}
	for _, ref := range w.Reaches {
		key, worker := w.RoutingKey, ref
		if hop, expires := r.Hop(ref, model.Expired); expires && !r.Works(ref) && len(hop.Route.Queues) > 0 {
			worker = hop.Route.Queues[0]
			if len(hop.Keys) == 1 {
				key = hop.Keys[0]
			}
		}

		seen := c.keysSeen(worker)
		knows := func(behind string) bool { return c.keyBehind(behind, worker) == model.Some(key) }
		known := slices.Contains(seen, key) || knows(t.From.Name) || slices.ContainsFunc(m.Deaths,
			func(d message.Death) bool { return d.Reason == model.Expired && knows(d.Queue) })
		if known {
			continue
		}
		if len(seen) > 0 {
			was = model.Some(seen[0])
		}

		return key, was, true
	}

	return "", was, false
}

// keyBehind returns the key with which a worker gets a message that leaves a queue by itself; unknown where it does not
// get it, or only the message's own key there would tell.
func (r *replay) keyBehind(queue string, worker model.QueueRef) model.Opt[string] {
	hop, leaves := r.Hop(r.From.Beside(queue), model.Expired)
	switch {
	case !leaves || len(hop.Keys) > 1 || !slices.Contains(hop.Route.Queues, worker):
	case len(hop.Keys) == 1:
		return model.Some(hop.Keys[0])
	case queue == r.From.Name:
		return model.Some(r.RoutingKey)
	}

	return model.Unknown[string]()
}

// workerOf finds the worker that a message is for: the only one, or the one in which it died last.
func (r *replay) workerOf() (model.QueueRef, bool) {
	if len(r.Workers) == 1 {
		return r.Workers[0], true
	}
	for _, death := range r.Deaths {
		if ref := r.From.Beside(death.Queue); slices.Contains(r.Workers, ref) {
			return ref, true
		}
	}

	return model.QueueRef{}, false
}

// reachesOnly reports whether a message goes to exactly one queue, and that is one of these.
func (w Way) reachesOnly(workers ...model.QueueRef) bool {
	return w.Problem == nil && w.Exact && len(w.Reaches) == 1 && slices.Contains(workers, w.Reaches[0])
}

// replay is what a way depends on: a message, and the headers that its copy will have. The headers are nil if no
// message was peeked at.
type replay struct {
	*Target
	*model.Topology
	*message.Message
	envelope *message.Envelope
	headers  model.Table
	recorded bool // the application recorded in the message which queue it is for
}

// WayBy returns the way of a message by an address; its copy will have these headers.
func (t *Target) WayBy(
	r *model.Topology, m *message.Message, e *message.Envelope, headers model.Table, a model.Address, why string,
) Way {
	c := replay{Target: t, Topology: r, Message: m, envelope: e, headers: headers}
	return c.routeBy(a, why)
}

// autoBy is routeBy for a way that the user did not choose: then a key that the message does not name is a loss, too,
// unless the application named the queue beside it.
func (r *replay) autoBy(a model.Address, why string) Way {
	w := r.routeBy(a, why)
	if r.recorded || w.Problem != nil || len(w.Reaches) != 1 {
		return w
	}

	if w.Again == nil {
		w.Again = loss.OfOtherKey(r.Topology, w.Reaches[0], r.Message, w.RoutingKey)
	}
	return w
}

func (r *replay) routeBy(a model.Address, why string) Way {
	route := r.Route(r.From.VHost, a.Exchange, []string{a.RoutingKey}, r.headers)
	w := Way{Address: a, Reaches: route.Queues, Exact: route.Exact, Why: why}
	switch {
	case route.MissingExchange != "":
		w.Problem = model.Saidf("the exchange %s does not exist", route.MissingExchange)
	case route.Internal:
		w.Problem = model.Saidf("the exchange %s is internal: clients cannot publish to it", a.Exchange)
	case route.Delays:
		w.Problem = model.Saidf("the exchange %s delays (x-delayed-message): it reports at once that no queue took the "+
			"message, and delivers it later: dlxtop could not know whether it arrived", a.Exchange)
	case len(route.Queues) == 0 && !route.Exact:
		w.Problem = model.Saidf("it is unknown which queues it would reach: %s", route.Why)
	case len(route.Queues) == 0:
		w.Problem = model.Saidf("no queue is bound for key %s on %s", model.Quoted(a.RoutingKey),
			model.ExchangeName(a.Exchange))
	default:
		w.Again = r.secondFailure(&w)
		if w.Again == nil && len(w.Reaches) == 1 {
			w.Again = loss.OfPublishedFailure(r.Topology, r.From, w.Reaches[0], r.Message, a.RoutingKey)
		}
	}

	return w
}

// secondFailure returns how the copy is lost if it fails again in one of the queues that a way reaches.
func (r *replay) secondFailure(w *Way) (again *loss.SecondFailure) {
	for _, ref := range w.Reaches {
		own := func() [][]string { return loss.OwnKeysOf(r.Topology, ref, r.Message, r.envelope) }
		f := loss.OfSecondFailure(r.Topology, ref, w.RoutingKey, r.headers, r.Headers, own)
		if f != nil && (again == nil || again.Same) {
			again = f
		}
	}

	return again
}

// Loses reports whether a copy that goes this way is lost at its second failure, unlike the application's messages.
func (w *Way) Loses() bool { return w.Again != nil && !w.Again.Same }
