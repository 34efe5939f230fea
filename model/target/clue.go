package target

import (
	"regexp"
	"slices"
	"strings"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/message"
)

// ClueKind is how it is known which queue a message is for.
type ClueKind string

// The kinds, strongest first. All but the last two decide; these are only offered.
const (
	ByFramework ClueKind = "framework" // the framework wrote it into the message
	ByRecord    ClueKind = "record"    // the application wrote it into the message, and the queue exists
	ByRejection ClueKind = "rejection" // the last queue in x-death that gave it up, or where it waited for a worker
	ByExpiry    ClueKind = "expiry"    // the queue behind the last buffer in x-death in which it expired
	ByOrigin    ClueKind = "origin"    // its first exchange and key reach it
	ByFlow      ClueKind = "flow"      // its dead letters end here
	ByName      ClueKind = "name"      // this queue is named like it
	ByMention   ClueKind = "mention"   // the message has its name, or that of an exchange that reaches it
	ByLikeness  ClueKind = "likeness"  // the names begin with the same words
)

// Clue is evidence of which queue a message is for.
type Clue struct {
	Kind      ClueKind
	Queue     model.QueueRef
	Renamed   string // what the queue is called in the message, where the configuration has another name for it
	Again     bool   // with Renamed: the queue with the old name exists, and this is it
	Gone      bool   // there is no such queue in the vhost of the messages
	Elsewhere string // with Gone: a vhost with a queue of that name
	Framework string // for ByFramework
	Topic     bool   // for ByFramework: it recorded the name of a topic

	Weak    bool          // for ByRecord: see message.Statement
	Where   string        // for ByRecord and ByMention: "x-original-queue"
	Through string        // for ByExpiry: the buffer
	Reason  model.Reason  // for ByRejection: why the message left it
	Address model.Address // for ByOrigin; for ByMention with an exchange
	Reaches int           // for both: how many queues that address reaches
	// with Gone: what brought the message from where the queue is; its By is "" otherwise
	Passage message.Passage
}

// cluesIn returns the clues in a message itself, except its origin: strongest first.
func (r *replay) cluesIn() (clues []Clue) {
	for _, s := range r.Stated(r.envelope) {
		if s.Unusable == "" {
			clues = append(clues, r.stated(&s))
		}
	}

	if c, ok := r.diedElsewhere(); ok {
		clues = append(clues, c)
	} else {
		clues = append(clues, r.died()...)
	}

	return slices.DeleteFunc(clues, func(c Clue) bool { return c.Queue == r.From || c.Weak && c.Gone })
}

// stated returns the clue of a record. Of several names that the queue can have, one that exists is believed.
func (r *replay) stated(s *message.Statement) Clue {
	c := Clue{
		Kind: ByFramework, Queue: r.From.Beside(s.Queue), Framework: s.Framework, Topic: s.Topic,
	}
	if s.Framework == "" {
		c.Kind = ByRecord
		c.Where = s.Where
		c.Weak = s.Weak || slices.ContainsFunc(r.Workers, func(worker model.QueueRef) bool {
			return r.EntryKeys(worker).Choose(s.Queue) // the application may have recorded the key as its queue
		})
	}

	if vhost, known := s.VHost.Get(); known && vhost != r.From.VHost {
		c.Queue.VHost = vhost
		c.Gone = true
		c.Elsewhere = vhost
		return c
	}

	for _, name := range s.Others {
		if _, exists := r.Queue(c.Queue); exists {
			break
		}
		if other := r.From.Beside(name); r.Works(other) {
			c.Queue = other
		}
	}

	return r.locate(c)
}

// died returns the clues of x-death, or of the headers of a single death, if an application took x-death away.
func (r *replay) died() (clues []Clue) {
	deaths := r.Deaths
	if d := r.FailingDeath(); len(deaths) == 0 && d != nil {
		deaths = []message.Death{*d}
	}

	for d := range model.Each(deaths) {
		c := Clue{Kind: ByRejection, Queue: r.From.Beside(d.Queue), Reason: d.Reason}
		gaveUp := d.Reason != model.Expired && r.notWaiting(c.Queue) || r.stoodBesideWorkers(d) ||
			d.Reason == model.Rejected && r.rejectsHere(c.Queue)
		if d.Queue != "" && c.Queue != r.From && gaveUp {
			clues = append(clues, r.locate(c))
			break
		}
	}

	if c, ok := r.expired(); ok && (c.Kind == ByExpiry || clues == nil) {
		clues = append(clues, c)
	}

	return clues
}

// diedElsewhere returns the clue of a message that a shovel or a federation brought here after it had failed: x-death
// has no vhost, and a queue of the same name here never had it. A queue here whose dead letters come to From is
// believed, unless the message was published into From directly.
func (r *replay) diedElsewhere() (c Clue, ok bool) {
	passages := r.Passages()
	if len(passages) == 0 {
		return c, false
	}
	p := passages[0]
	directly := p.Known && slices.Contains(r.Possible(r.From.VHost, p.Into), r.From)
	d := r.FailingDeath()
	here := d != nil && !directly && r.deadLettersHere(r.From.Beside(d.Queue))
	if here || d == nil && (!directly || p.Queue == "") {
		return c, false
	}

	c = Clue{Kind: ByRejection, Queue: model.QueueRef{VHost: p.VHost, Name: p.Queue}, Gone: true, Elsewhere: p.VHost}
	c.Passage = p
	if d != nil {
		c.Queue.Name, c.Reason = d.Queue, d.Reason
	}

	return c, true
}

// deadLettersHere reports whether dead letters of a queue come to From, through buffers or not.
func (r *replay) deadLettersHere(ref model.QueueRef) bool {
	seen := model.QueueSet{ref: true}
	next := []model.QueueRef{ref}
	for len(next) > 0 {
		at := next[0]
		next = next[1:]
		for _, hop := range r.Hops(at) {
			for _, to := range hop.Route.Queues {
				if to == r.From {
					return true
				}
				if !seen[to] && !r.Works(to) {
					seen[to] = true
					next = append(next, to)
				}
			}
		}
	}

	return false
}

// Parted returns the queue that a message left last, when it was given up there, and where such dead letters go now:
// not to From any more.
func (t *Target) Parted(r *model.Topology, m *message.Message) (last model.QueueRef, to []model.QueueRef, parted bool) {
	if len(m.Deaths) == 0 || m.Deaths[0].Reason == model.Expired || len(m.Passages()) > 0 {
		return
	}
	c := replay{Target: t, Topology: r, Message: m}
	last = t.From.Beside(m.Deaths[0].Queue)
	route := r.DeadLetter(last, m.Deaths[0].RoutingKeys, m.ReplayHeaders())
	here := last == t.From || slices.Contains(route.Queues, t.From) || c.deadLettersHere(last)
	return last, route.Queues, r.Works(last) && route.Exact && !here
}

// notWaiting reports whether a queue is a worker, or gone: a failed queue or a buffer in x-death is no evidence of a
// message's worker.
func (r *replay) notWaiting(ref model.QueueRef) bool {
	_, exists := r.Queue(ref)
	return !exists || r.Works(ref)
}

// rejectsHere reports whether a queue that looks like a buffer dead-letters into From: what was rejected there had a
// consumer.
func (r *replay) rejectsHere(ref model.QueueRef) bool {
	return r.IsBuffer(ref) && slices.Contains(r.RejectedTargets(ref), r.From)
}

// stoodBesideWorkers reports whether a queue is gone, and the address that led a message into it now leads to workers:
// then it was a worker, not a buffer.
func (r *replay) stoodBesideWorkers(d *message.Death) bool {
	if _, exists := r.Queue(r.From.Beside(d.Queue)); exists || len(d.RoutingKeys) == 0 {
		return false
	}
	route := r.Route(r.From.VHost, d.Exchange, d.RoutingKeys, nil)
	return slices.ContainsFunc(route.Queues, func(ref model.QueueRef) bool { return r.mayWork(ref) })
}

// locate completes a clue by looking up its queue.
func (r *replay) locate(c Clue) Clue {
	if name, renamed := r.Snapshot.Renamed[c.Queue.Name]; renamed && !c.Gone {
		c.Renamed = c.Queue.Name
		if _, c.Again = r.Queue(c.Queue); !c.Again {
			c.Queue.Name = name
		}
	}
	if _, exists := r.Queue(c.Queue); exists || c.Gone {
		return c
	}
	c.Gone = true
	for _, vhost := range r.Snapshot.VHosts { // sorted, and few: this runs for each message, and there may be many queues
		if _, there := r.Queue(model.QueueRef{VHost: vhost, Name: c.Queue.Name}); there {
			c.Elsewhere = vhost
			break
		}
	}

	return c
}

// renamed returns the address of a queue by its new name, where an address names a queue that is gone.
func (r *replay) renamed(a model.Address) model.Address {
	name, renamed := r.Snapshot.Renamed[a.RoutingKey]
	if _, exists := r.Queue(r.From.Beside(a.RoutingKey)); renamed && a.Exchange == "" && !exists {
		a.RoutingKey = name
	}
	return a
}

// expired finds where a message went if its newest death is an expiry: a worker that itself publishes into its failed
// queue leaves no death of its own.
func (r *replay) expired() (Clue, bool) {
	if len(r.Deaths) == 0 || r.Deaths[0].Reason != model.Expired {
		return Clue{}, false
	}
	d := &r.Deaths[0]
	buffer := r.From.Beside(d.Queue)
	c := Clue{Kind: ByExpiry, Through: d.Queue}
	if _, exists := r.Queue(buffer); !exists {
		if name, ok := r.symfonyWorker(d.Queue); ok {
			c.Queue = r.From.Beside(name)
			return c, true
		}
		return r.locate(Clue{Kind: ByRejection, Queue: buffer, Reason: d.Reason}), !r.wasBuffer(d.Queue)
	}

	route := r.DeadLetter(buffer, d.RoutingKeys, r.ReplayHeaders())
	if !route.Exact || len(route.Queues) != 1 || !r.Works(route.Queues[0]) {
		return Clue{}, false
	}
	c.Queue = route.Queues[0]
	return c, true
}

// aTime is a delay at the end of a queue's name: with a unit, or in milliseconds. Other numbers are those of shards or
// processes, whose answers may expire there.
var aTime = regexp.MustCompile(`^[-_.:@]?(\d+(ms|s|m|h|d)|[1-9]\d*00)$`)

// wasBuffer reports whether a queue that is gone was a buffer for one delay, which applications let RabbitMQ delete: by
// its name, or because only a time stands behind the name of a worker, as in orders.5000.
func (t *Target) wasBuffer(name string) bool {
	return model.NamedForWaiting(name) || slices.ContainsFunc(t.Workers, func(worker model.QueueRef) bool {
		rest, after := strings.CutPrefix(name, worker.Name)
		return after && aTime.MatchString(rest)
	})
}

var symfonyDelay = regexp.MustCompile(`^delay_(.*)_[^_]*_(retry|delay)$`)

// symfonyWorker parses the name of a delay queue of Symfony Messenger, which is deleted soon after its messages are
// due: delay_EXCHANGE_KEY_MILLISECONDS_retry (or _delay). A retry goes to the queue named like the key, a delayed
// message through the exchange. Names may contain underscores, so the exchange and the way must exist.
func (r *replay) symfonyWorker(name string) (queue string, ok bool) {
	part := symfonyDelay.FindStringSubmatch(name)
	if part == nil {
		return "", false
	}
	rest := part[1]
	found := map[string]bool{}
	for i := range len(rest) {
		if rest[i] != '_' {
			continue
		}
		exchange, key := rest[:i], rest[i+1:]
		if _, exists := r.Topology.Exchange(model.ExchangeRef{VHost: r.From.VHost, Name: exchange}); !exists {
			continue
		}
		if part[2] == "retry" && r.Works(r.From.Beside(key)) {
			found[key] = true
			continue
		}

		if route := r.Route(r.From.VHost, exchange, []string{key}, nil); route.Exact && len(route.Queues) == 1 &&
			r.Works(route.Queues[0]) {
			found[route.Queues[0].Name] = true
		}
	}

	for queue = range found {
	}

	return queue, len(found) == 1
}

// origin returns the queues that the first exchange and key of a message reach, if it records these: otherwise, without
// a dead-lettering, only its last publish is known. A topic can be a fanout exchange, to which each of its queues is
// bound.
func (r *replay) origin() (clues []Clue) {
	address, ok := r.ToldOrigin(r.envelope)
	for _, s := range r.Stated(r.envelope) {
		if _, exists := r.Topology.Exchange(model.ExchangeRef{VHost: r.From.VHost, Name: s.Queue}); exists && s.Topic {
			address = model.Address{Exchange: s.Queue}
			ok = true
		}
	}

	if !ok {
		return nil
	}
	address = r.renamed(address)
	route := r.Route(r.From.VHost, address.Exchange, []string{address.RoutingKey}, r.ReplayHeaders())
	if !route.Exact {
		return nil
	}
	for _, ref := range route.Queues {
		if r.mayWork(ref) {
			clues = append(clues, Clue{Kind: ByOrigin, Queue: ref, Address: address, Reaches: len(route.Queues)})
		}
	}

	return clues
}

// keyed returns the clue of an application that publishes its failures under the name of the worker's queue. A copy of
// what the same key brings to that queue is no failure.
func (r *replay) keyed() (Clue, bool) {
	c := Clue{
		Kind: ByRecord, Queue: r.From.Beside(r.RoutingKey), Where: "its routing key",
	}
	route := r.Route(r.From.VHost, r.Message.Exchange, []string{r.RoutingKey}, r.ReplayHeaders())
	failed := len(r.Deaths) == 0 && route.Exact && !slices.Contains(route.Queues, c.Queue)
	return c, failed && r.mayWork(c.Queue)
}

func (r *replay) mayWork(ref model.QueueRef) bool {
	return ref != r.From && r.Works(ref)
}

// mentioned returns the workers that a text of the message names: one, or an exchange that reaches some whatever the
// key.
func (r *replay) mentioned() (clues []Clue) {
	_, where, _ := r.Mentions(func(text string) bool {
		c := Clue{Kind: ByMention, Queue: r.From.Beside(text)}
		if r.mayWork(c.Queue) {
			clues = append(clues, c)
			return true
		}

		c.Address.Exchange = text
		route := r.Route(r.From.VHost, text, []string{""}, nil)
		c.Reaches = len(route.Queues)
		for _, c.Queue = range route.Queues {
			if route.Exact && r.mayWork(c.Queue) {
				clues = append(clues, c)
			}
		}

		return len(clues) > 0
	})

	for i := range clues {
		clues[i].Where = where
	}

	return clues
}
