package findings

import (
	"maps"
	"slices"
	"strings"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/model/story"
)

// Dead letters that no binding leads on. With a dead-letter key, or without any binding, they are certainly lost, or
// kept by a queue with the strategy at-least-once. Without a key each message keeps its own, including CC and BCC,
// which no binding shows: that is only a warning, until statistics or peeked messages show that they arrive. LosingNow
// finds actual losses.
func (t *checking) findUnroutableDeadLetters(q queue) {
	hops := t.Hops(q.QueueRef)
	if len(hops) == 0 || hops[0].Route.MissingExchange != "" || hops[0].Route.Unread {
		return
	}
	route := hops[0].Route
	switch {
	case route.Keys == model.KeysKnown && len(route.Queues) == 0:
		t.onDemand(q, t.deadLettersLost(q))
	case route.Keys == model.KeysKnown:
	case len(route.Queues) > 0 && t.headersDecide(&route):
		t.findLostHeaders(q, &route)
	case route.Keys == model.KeysBound && len(route.Queues) == 0:
		t.foundIn(q, deadLettersAstray(q, nil))
	case route.Keys != model.KeysBeyond:
		t.findLostKeys(q)
	case !slices.ContainsFunc(route.Queues, func(ref model.QueueRef) bool {
		behind, _ := t.Queue(ref)
		return behind.DeadLettered().Or(0) > 0 && !t.fed().queues[ref]
	}):
		t.foundIn(q, deadLettersAstray(q, route.Queues))
	}
}

// findLostKeys finds keys with which messages enter a queue, but which route its dead letters to no queue. Where no key
// leads on, and no binding accepts any key, deadLettersAstray reports it.
func (t *checking) findLostKeys(q queue) {
	var lost, kept []string
	for _, k := range t.ArrivalKeys(q.QueueRef) {
		if k.Pattern != "" && (q.TTL.Set || t.IsBuffer(q.QueueRef)) {
			continue // a buffer accepts all keys, and gets those of its workers
		}
		names := &kept
		if route := t.DeadLetterWith(q.QueueRef, k.Key); route.Exact && len(route.Queues) == 0 {
			names = &lost
		}
		if name := k.Name(); !slices.Contains(*names, name) {
			*names = append(*names, name)
		}
	}

	if len(lost) == 0 || len(kept) == 0 && len(t.Snapshot.Seen.To[q.QueueRef]) > 0 {
		return
	}
	exchange := exchangeOf(q.Settings)
	leads := "no other key that is bound leads on"
	if len(kept) > 0 {
		leads = "it has one for " + namedKeys(kept)
	}

	f := Finding{
		Code:     "dead-letter-unroutable",
		Exchange: q.DLX.Value,
		Message: spell("dead letters of %s that arrive with %s %s: %s has no queue for them", q, namedKeys(lost),
			endOf(q).are, exchange),
		Evidence: spell("dead-letter-exchange %s (%s); no dead-letter-routing-key, so each message keeps its own "+
			"keys; %s%s", exchange, q.DLX.Source, leads, endOf(q).evidence),
		Remedy: spell("bind a queue to %s for %s, or set a dead-letter-routing-key", exchange, namedKeys(lost)),
	}

	if q.DLX.Value == "" {
		f.Remedy = "set a dead-letter-routing-key: the default exchange leads to the queue of that name"
	}

	t.foundIn(q, f)
}

// findLostHeaders finds dead letters that a headers exchange leads on only with the headers of its bindings, and that
// may lack them: nothing by which they get into the queue asks for the same.
func (t *checking) findLostHeaders(q queue, route *model.Route) {
	arrivals := []model.Table{}
	for b := range t.BindingsTo(q.QueueRef) {
		headers := model.Table{}
		if t.decidesByHeaders(b.From()) {
			headers = b.Arguments
		}
		arrivals = append(arrivals, headers)
	}
	if len(arrivals) == 0 { // only by its name
		arrivals = append(arrivals, nil)
	}

	leadsOn := func(headers model.Table) bool { return t.leadsOnDead(q, headers) }
	if !slices.ContainsFunc(arrivals, func(headers model.Table) bool { return !leadsOn(headers) }) {
		return
	}

	arrived := slices.ContainsFunc(route.Queues, func(ref model.QueueRef) bool {
		behind, _ := t.Queue(ref)
		return behind.DeadLettered().Or(0) > 0
	})
	exchange := model.ExchangeName(route.Through[slices.IndexFunc(route.Through, t.decidesByHeaders)].Name)
	t.foundAt(q.QueueRef, Finding{
		Code:     "dead-letter-unroutable",
		Level:    infoIf(arrived),
		Exchange: q.DLX.Value,
		Message: spell("dead letters of %s %s unless they have the headers that a binding of %s asks for", q,
			endOf(q).are, exchange),
		Evidence: spell("dead-letter-exchange %s (%s) leads to %v by %s alone, and nothing by which messages get in asks "+
			"for such headers%s", exchangeOf(q.Settings), q.DLX.Source, route.Queues, exchange, endOf(q).evidence),
		Remedy: spell("bind a queue to %s without arguments, which takes all, or give it an alternate exchange; do "+
			"nothing if all messages have these headers", exchange),
	})
}

// headersDecide reports whether the headers of a message, and not its keys, decide where a route leads.
func (t *checking) headersDecide(route *model.Route) bool {
	other := func(at model.ExchangeRef) bool {
		x, ok := t.Exchange(at)
		return !ok || x.Type != "fanout" && x.Type != "headers" && (x.Type != "topic" || !t.passesAll(at))
	}
	return slices.ContainsFunc(route.Through, t.decidesByHeaders) && !slices.ContainsFunc(route.Through, other)
}

// passesAll reports whether all bindings of a topic exchange accept every key.
func (t *checking) passesAll(at model.ExchangeRef) bool {
	for b := range model.Each(t.Snapshot.Bindings) {
		if b.From() == at && b.RoutingKey != "#" {
			return false
		}
	}
	return true
}

func (t *checking) decidesByHeaders(at model.ExchangeRef) bool {
	x, ok := t.Exchange(at)
	return ok && x.Type == "headers"
}

// leadsOnDead reports whether a queue takes the dead letters of a message with these headers, for any reason.
func (t *checking) leadsOnDead(q queue, headers model.Table) bool {
	reasons := []model.Reason{model.Expired, model.Rejected, model.MaxLen, model.DeliveryLimit}
	return slices.ContainsFunc(reasons, func(reason model.Reason) bool {
		dead := maps.Clone(headers)
		if dead == nil {
			dead = model.Table{}
		}
		for _, death := range []string{"x-first-death-", "x-last-death-"} {
			dead[death+"queue"], dead[death+"reason"] = q.Name, string(reason)
		}
		return len(t.Route(q.VHost, q.DLX.Value, []string{q.Key.Value}, dead).Queues) > 0
	})
}

// namedKeys lists keys for a sentence, at most three of them.
func namedKeys(keys []string) string {
	const most = 3
	some := keys[:min(len(keys), most)]
	words := agree(len(keys), "the key ", "the keys ") + model.Printable(strings.Join(some, ", "))
	if more := len(keys) - len(some); more > 0 {
		words += model.Sayf(" and %v more", more)
	}
	return words
}

// onDemand reports a finding, but as a warning if something shows that workers declare a queue for dead letters only
// when they need it, as Peanar does just before each reject: an earlier poll had one; dead letters have come back,
// though no queue leads to this one; or an exchange that is named for retries leads back, and nothing leads to it.
func (t *checking) onDemand(q queue, f Finding) {
	name, seen := model.Printable(q.Name), ""
	if gone := t.Gone(q.QueueRef); len(gone) > 0 {
		seen = "at an earlier poll they went to " + model.Names(gone)
	} else if n := q.CameBack(); n > 0 && !t.fed().queues[q.QueueRef] {
		seen = spell("%v dead letter(s) came back to %s since RabbitMQ counts, though no queue leads there now", n, q)
	} else if back := t.wayBack(q); back != "" {
		seen = spell("the exchange %s leads back to %s, and no queue expires into it", back, q)
	}

	if seen != "" {
		f.Level = LevelWarning
		f.Message = strings.Replace(f.Message, "dead letters of "+name+" are lost: ", "dead letters of "+name+
			" are lost unless its worker declares a queue for them in time: now ", 1)
		f.Evidence += "; " + seen
		f.Remedy = "nothing, if its worker declares that queue before each reject; else " + f.Remedy
	}

	t.foundIn(q, f)
}

// wayBack returns an exchange that is bound to a queue and named for retries, like its dead-letter exchange, but that
// nothing leads to; "" when there is none.
func (t *checking) wayBack(q queue) string {
	if !model.NamedForRetries(q.DLX.Value) {
		return ""
	}
	for b := range t.BindingsTo(q.QueueRef) {
		if model.NamedForRetries(b.Source) && !t.fed().exchanges[b.From()] {
			return b.Source
		}
	}

	return ""
}

// feeds are the queues that other queues' hops lead to, and the exchanges that dead letters or other exchanges lead to.
type feeds struct {
	queues    model.QueueSet
	exchanges map[model.ExchangeRef]bool
}

func (t *checking) feeds() feeds {
	fed := feeds{model.QueueSet{}, map[model.ExchangeRef]bool{}}
	for q := range t.EachQueue() {
		for _, hop := range t.Hops(q.QueueRef) {
			fed.exchanges[model.ExchangeRef{VHost: q.VHost, Name: hop.Exchange}] = true
			if hop.Route.Keys != model.KeysBeyond {
				for _, ref := range hop.Route.Queues {
					fed.queues[ref] = true
				}
			}
		}
	}

	for b := range model.Each(t.Snapshot.Bindings) {
		if b.ToExchange {
			fed.exchanges[model.ExchangeRef{VHost: b.VHost, Name: b.Destination}] = true
		}
	}

	return fed
}

func (t *checking) deadLettersLost(q queue) Finding {
	exchange := exchangeOf(q.Settings)
	end := endOf(q)
	f := Finding{
		Code:     "dead-letter-unroutable",
		Level:    end.level,
		Exchange: q.DLX.Value,
		Message:  spell("dead letters of %s %s: no queue is bound to %s", q, end.are, exchange),
		Evidence: spell("dead-letter-exchange %s (%s); no queue is reached", exchange, q.DLX.Source),
		Remedy:   "bind a queue to " + exchange,
	}

	if q.Key.Set {
		key := model.Printable(model.Quoted(q.Key.Value))
		f.Message = spell("dead letters of %s %s: no queue is bound to %s for the key %s", q, end.are, exchange, key)
		f.Evidence += ", dead-letter-routing-key " + model.Printable(q.Key.String())
		f.Remedy = spell("bind a queue to %s with the key %s, or correct the dead-letter-routing-key", exchange, key)
		if q.DLX.Value == "" {
			f.Remedy = spell("declare the queue %s, or correct the dead-letter-routing-key", key)
		}
		if like := t.boundLike(q); like != "" {
			f.Remedy += spell(": the nearest is %s", model.Printable(like))
		}
	}

	f.Evidence += end.evidence
	return f
}

// boundLike returns the key bound to a dead-letter exchange that is most like the dead-letter key: at most a quarter of
// its characters differ, apart from upper and lower case. It returns "" when there is none. The default exchange has
// the name of every queue. The dead-letter key itself can be bound to an exchange that leads nowhere.
func (t *checking) boundLike(q queue) (like string) {
	least := 1 + len(q.Key.Value)/4
	closer := func(key string) {
		if d := model.Distance(q.Key.Value, key); d < least && key != q.Key.Value {
			like, least = key, d
		}
	}

	for b := range model.Each(t.Snapshot.Bindings) {
		if b.VHost == q.VHost && b.Source == q.DLX.Value {
			closer(b.RoutingKey)
		}
	}
	for other := range t.EachQueue() {
		if other.VHost == q.VHost && q.DLX.Value == "" {
			closer(other.Name)
		}
	}

	return like
}

// deadLettersAstray is for messages that keep their own keys, of which only bound ones are known. others are the queues
// that other keys reach.
func deadLettersAstray(q queue, others []model.QueueRef) Finding {
	exchange := exchangeOf(q.Settings)
	f := Finding{
		Code:     "dead-letter-unroutable",
		Exchange: q.DLX.Value,
		Message: spell("dead letters of %s %s: %s has no queue for the keys that messages arrive with",
			q, endOf(q).may, exchange),
		Evidence: spell("dead-letter-exchange %s (%s); no dead-letter-routing-key, so each message keeps its own keys, "+
			"including CC and BCC%s", exchange, q.DLX.Source, endOf(q).evidence),
		Remedy: spell("bind a queue to %s for their keys, or set a dead-letter-routing-key; do nothing "+
			"if they carry another key that is bound (CC)", exchange),
	}

	if len(others) > 0 {
		f.Evidence += "; other keys reach " + model.Names(others) + ", where no dead letter was counted yet"
	}

	return f
}

// strays are messages that will be lost when they expire, or kept, as their own keys show.
type strays struct {
	ways *story.Ways
	from queue
}

func (s *strays) inspect(m *message.Message) { s.ways.See(m) }

func (s *strays) finding() (Finding, bool) {
	n, keys := s.ways.Lost()
	dlx := s.from.DLX
	end := endOf(s.from)
	exchange := exchangeOf(s.from.Settings)

	return Finding{
		Code:     "dead-letter-unroutable",
		Level:    end.level,
		Exchange: dlx.Value,
		Message: spell("%v message(s) will be %s on expiry: %s has no queue for the keys that they keep", n, end.will,
			exchange),
		Evidence: spell("keys of the first one: %s; dead-letter-exchange %s, no dead-letter-routing-key%s",
			keys, dlx, end.evidence),
		Remedy: spell("before they expire, bind a queue to %s for these keys, or set a dead-letter-routing-key "+
			"by policy", exchange),
	}, n > 0
}
