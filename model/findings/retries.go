package findings

import (
	"slices"

	"github.com/dlxtop/dlxtop/model"
)

// Findings about messages that wait for another try.

// retryBuffers calls each once for every queue that is a retry buffer, or the entrance of one.
func (t *checking) retryBuffers(each func(*model.Buffer, model.QueueRef)) {
	seen := model.QueueSet{}
	for flow := range model.Each(t.Flows()) {
		for _, b := range flow.Buffers {
			if ref, ok := b.Entrance(); ok && b.Role == model.RetryBuffer && !seen[ref] {
				seen[ref] = true
				each(b, ref)
			}
		}
	}
}

// From 4.0 the broker ignores an x-death that a client publishes (earlier versions continued to count in it): a worker
// that republishes a failed message to a retry buffer, and gives up by the count in x-death, then never gives up. One
// that has published to a failed queue gives up by another count.
func (t *checking) findUncountedRetries() {
	version := t.Snapshot.Overview.Version
	if !version.Known() || t.Behaviour.CountsRepublishedDeaths {
		return
	}
	t.retryBuffers(func(b *model.Buffer, ref model.QueueRef) {
		workers := t.Retriers(ref)
		givers := workers
		if len(givers) == 0 {
			givers = b.Targets // a worker that fills its own buffer leaves no trace before a look
		}

		counted := slices.ContainsFunc(b.Queues(), func(ref model.QueueRef) bool { return t.Snapshot.Seen.Counted[ref] })
		rejected := b.Rejected || t.fed().queues[ref]
		if rejected || counted || slices.ContainsFunc(givers, t.givesUp) {
			return
		}

		of := "of " + model.Names(workers)
		worker := model.NamesOr(workers, "the worker")
		if len(workers) == 0 {
			of = "through " + model.Printable(ref.Name)
		}

		t.foundAt(ref, Finding{
			Code: "republished-deaths-uncounted",
			Message: spell("retries %s may never end: RabbitMQ %s does not count deaths in messages "+
				"that a worker republishes", of, version),
			Evidence: spell("%s is filled by publishing, not by a dead-letter exchange of %s; there "+
				"the count in x-death stays 1", ref, worker),
		})
	})
}

// givesUp reports whether a worker has published to one of its failed queues since RabbitMQ began to count.
func (t *checking) givesUp(worker model.QueueRef) bool {
	for _, f := range t.FlowsOf(worker) {
		for _, m := range f.Failed {
			if f.Worker.Queue == worker && t.Known(m.Queue).Published.Or(0) > 0 {
				return true
			}
		}
	}

	return false
}

// findRetriesForOthers finds retry buffers that lead to workers other than those whose failures wait there: retried
// messages reach some that had already processed them.
func (t *checking) findRetriesForOthers() {
	t.retryBuffers(func(b *model.Buffer, ref model.QueueRef) {
		if reached, exact := t.afterRetry(ref, nil, 0); exact {
			if len(reached) > 1 {
				t.foundAt(ref, t.retriesForOthers(ref, t.Retriers(ref), reached, ""))
			}
			return
		}

		for _, worker := range t.Retriers(ref) {
			for _, k := range t.sharedKeys(worker, t.ExpiredTargets(ref)) {
				key := k.Key
				if s := t.Settings(worker); s.Key.Set {
					key = s.Key.Value
				}
				if b.Rejected && !slices.Contains(t.DeadLetterWith(worker, k.Key).Queues, ref) {
					continue
				}
				reached, exact := t.afterRetry(ref, &key, 0)
				if exact && len(reached) > 1 && slices.Contains(reached, worker) {
					t.foundAt(ref, t.retriesForOthers(ref, []model.QueueRef{worker}, reached, k.Name()))
					return
				}
			}
		}
	})
}

// findSharedRetries finds workers whose dead letters are all copied to the retry buffer of each of them.
func (t *checking) findSharedRetries() {
	together := map[*model.QueueRef][]model.QueueRef{} // workers with the same hop share one list of targets
	for q := range t.EachQueue() {
		hop, ok := t.Hop(q.QueueRef, model.Rejected)
		if !ok || !q.Consumed() {
			continue
		}
		if hop.Route.Exact && len(hop.Route.Queues) > 1 {
			list := &hop.Route.Queues[0]
			together[list] = append(together[list], q.QueueRef)
		}
	}

	for _, workers := range together {
		var retried []model.QueueRef
		for _, ref := range t.RejectedTargets(workers[0]) {
			reached, exact := t.afterRetry(ref, nil, 0)
			if !exact || !t.IsBuffer(ref) {
				continue
			}
			if len(reached) == 1 && slices.Contains(workers, reached[0]) {
				retried = model.UnionOf(retried, reached)
			}
		}

		if len(retried) < 2 {
			continue
		}
		first := retried[0]
		t.foundAt(first, Finding{
			Code:    "retry-reaches-others",
			Message: spell("retries of %s go to all of them: each gets what another one rejected, too", retried),
			Evidence: spell("their dead-letter exchange %s leads to %s", exchangeOf(t.Settings(first)),
				t.RejectedTargets(first)),
			Remedy: "give each worker a dead-letter-routing-key of its own, and bind its retry buffer with that one alone",
		})
	}
}

// findCrossedRetries finds workers whose retry buffers lead to each other: a message that all of them reject goes round
// without end. findReturns reports circles without a buffer.
func (t *checking) findCrossedRetries() {
	walk := t.circles(func(at model.QueueRef) []model.QueueRef {
		reason := model.Expired
		if t.consumed(at) {
			reason = model.Rejected
		} else if !t.Settings(at).TTL.Set {
			return nil
		}

		hop, ok := t.Hop(at, reason)
		if !ok || !hop.Route.Exact {
			return nil
		}
		return hop.Route.Queues
	})

	for q := range t.EachQueue() {
		circle := walk(q.QueueRef)
		workers := model.Without(circle, func(ref model.QueueRef) bool { return !t.consumed(ref) })
		if len(workers) < 2 || len(workers) == len(circle) {
			continue
		}
		first := workers[0]
		t.foundAt(first, Finding{
			Code: "retry-reaches-others",
			Message: spell("retries of %s lead to each other's worker: a message that all of them reject goes round without end",
				workers),
			Evidence: "rejected messages and those that expire go through " + model.Names(circle) + ", and again",
		})
	}
}

func (t *checking) consumed(ref model.QueueRef) bool { return t.Known(ref).Consumed() }

// sharedKeys returns the keys with which messages arrive at a worker, first those that other workers bind, too: for a
// pattern, only those show which keys exist.
func (t *checking) sharedKeys(worker model.QueueRef, others []model.QueueRef) (keys []model.ArrivalKey) {
	for _, other := range others[:min(len(others), mostOthers)] {
		for _, k := range t.ArrivalKeys(other) {
			for b := range t.BindingsTo(worker) {
				if k.Pattern == "" && other != worker &&
					slices.Contains(t.Route(b.VHost, b.Source, []string{k.Key}, nil).Queues, worker) {
					keys = append(keys, k)
				}
			}
		}
	}

	return append(keys, t.ArrivalKeys(worker)...)
}

const mostOthers = 20 // workers whose keys are examined

const mostHops = 20 // buffers in a row: more are a circle

// afterRetry returns the workers that messages expiring in a queue finally reach, with its key or, if nil, with any
// key; exact is false where that is uncertain.
func (t *checking) afterRetry(ref model.QueueRef, key *string, hops int) (workers []model.QueueRef, exact bool) {
	hop, ok := t.Hop(ref, model.Expired)
	if !ok || hops == mostHops {
		return nil, ok
	}
	route := hop.Route
	if len(hop.Keys) > 0 {
		key = &hop.Keys[0]
	} else if !route.Exact && key != nil {
		route = t.DeadLetterWith(ref, *key)
	}

	if !route.Exact {
		return nil, false
	}
	for _, next := range route.Queues {
		switch {
		case t.IsBuffer(next):
			further, exact := t.afterRetry(next, key, hops+1)
			if !exact {
				return nil, false
			}
			workers = model.UnionOf(workers, further)
		case t.IsWorker(next):
			workers = model.UnionOf(workers, []model.QueueRef{next})
		}
	}

	return workers, true
}

func (t *checking) retriesForOthers(ref model.QueueRef, failed, reached []model.QueueRef, key string) Finding {
	s := t.Settings(ref)
	others := model.Without(reached, func(r model.QueueRef) bool { return slices.Contains(failed, r) })
	f := Finding{
		Code:     "retry-reaches-others",
		Exchange: s.DLX.Value,
		Message:  spell("retries of %s go to %s, too, which get again what they may have processed", failed, others),
		Evidence: spell("%s expires to the exchange %s, which leads to %s", ref, exchangeOf(s), reached),
		Remedy: spell("let it lead to %s alone: the default exchange (\"\") as dead-letter-exchange, and its name as "+
			"dead-letter-routing-key", failed),
	}

	if key != "" {
		f.Evidence += spell(" with the key %s that %s arrives with", key, failed)
	}

	if len(failed) != 1 {
		f.Message = spell("what waits in %s for another try goes to %s: those that have processed it get it again",
			ref, reached)
		f.Remedy = "use a retry buffer for each worker, with the default exchange (\"\") as dead-letter-exchange, and the " +
			"worker's name as dead-letter-routing-key"
	}

	return f
}
