package model

import (
	"slices"
	"strings"
	"time"
)

// Failed queues that have a dead-letter exchange themselves. A policy for all queues gives one to each, and some
// programs declare every queue alike: what workers have, too, says nothing about a queue.

// deadLettering is what queues with the same dead lettering share: a policy, or the exchange and the key of their
// arguments.
type deadLettering struct {
	vhost, exchange, key string
	keyed                bool
	policy               Source
}

// commonness is how many queues of a kind share a dead lettering.
type commonness struct {
	workers int                             // that applications consume, or did
	ttls    map[Setting[time.Duration]]bool // of the workers
	plain   int                             // whose name says neither that messages wait there nor that they failed
}

func (r *roles) deadLetteringOf(ref QueueRef) deadLettering {
	s := r.t.settings.of(ref)
	if s.DLX.Source.Kind != FromArgument {
		return deadLettering{vhost: ref.VHost, policy: s.DLX.Source}
	}
	return deadLettering{vhost: ref.VHost, exchange: s.DLX.Value, key: s.Key.Value, keyed: s.Key.Set}
}

// findCommon counts which queues share a dead lettering. Under a policy all count that it applies to, also where an
// argument is stronger.
func (r *roles) findCommon() map[deadLettering]*commonness {
	common := map[deadLettering]*commonness{}
	count := func(q *Queue, d deadLettering) {
		c := common[d]
		if c == nil {
			c = &commonness{ttls: map[Setting[time.Duration]]bool{}}
			common[d] = c
		}

		if r.works(q) {
			c.workers++
			c.ttls[r.t.settings.of(q.QueueRef).TTL] = true
		}
		if r.heard[q.QueueRef].plain() {
			c.plain++
		}
	}

	for q := range r.t.EachQueue() {
		if q.Policy != "" {
			count(q, deadLettering{vhost: q.VHost, policy: Source{FromPolicy, q.Policy}})
		}
		if s := r.t.settings.of(q.QueueRef); s.DLX.Set && s.DLX.Source.Kind == FromArgument {
			count(q, r.deadLetteringOf(q.QueueRef))
		}
	}

	return common
}

// isCommon reports whether the dead lettering of a queue without consumers says nothing about it: workers have the
// same, or, where the queue is named for failures, others that are not.
func (r *roles) isCommon(q *Queue) bool {
	if r.works(q) || !r.t.settings.of(q.QueueRef).DLX.Set {
		return false
	}
	c := r.common[r.deadLetteringOf(q.QueueRef)]
	return c != nil && (c.workers > 0 || c.plain > 0 && r.heard[q.QueueRef].failed != "")
}

// isCommonTTL reports whether workers with the dead lettering of a queue have its TTL, too, or it has none.
func (r *roles) isCommonTTL(q *Queue) bool {
	ttl := r.t.settings.of(q.QueueRef).TTL
	return !ttl.Set || r.common[r.deadLetteringOf(q.QueueRef)].ttls[ttl] // isCommon: it is there
}

// findEnds finds the failed queues among those that have a dead-letter exchange, neither wait nor are consumed: those
// that are named so, unless ordinary messages come in or a failed queue of their own is named after them, and those
// that only failures fill, where workers share their dead lettering or it leads back to the queue.
func (b *flowBuilder) findEnds(served map[QueueRef]bool) map[QueueRef]bool {
	ends := map[QueueRef]bool{}
	for q := range b.t.EachQueue() {
		ref := q.QueueRef
		if _, stated := b.statedWaits(ref); stated {
			ends[ref] = b.isStated(ref, FailedRole, ParkedRole)
			continue
		}

		if _, held := b.held[ref]; held || b.isBuffer(ref) || b.works(q) || !b.t.settings.of(ref).DLX.Set {
			continue
		}
		says := b.heard[ref]
		named := says.failed != "" && !says.weak && !b.hasOwnFailed(ref)
		named = named && (!served[ref] || b.isCommon(q))
		rests := b.isCommon(q) && b.rejected[ref] || b.rests[resting{ref, b.t.settings.of(ref).DLX.Value}]
		rests = rests || b.archives(q, b.narrowed(ref, Expired))
		ends[ref] = named || rests && !served[ref]
	}

	return ends
}

// hasOwnFailed reports whether the dead letters of a queue end in one that is named after it, and for failures:
// payments.rejected.dlq of payments.rejected.
func (b *flowBuilder) hasOwnFailed(ref QueueRef) bool {
	return slices.ContainsFunc(b.t.RejectedTargets(ref), func(target QueueRef) bool {
		rest, more := namedAfter(target, ref)
		return more && listen(rest).failed != "" && listen(rest).base == ""
	})
}

// namedAfter reports whether a queue's name begins with all words of another's, and returns the further ones.
func namedAfter(ref, other QueueRef) (rest string, more bool) {
	return strings.CutPrefix(strings.Join(nameWords(ref.Name), " "), strings.Join(nameWords(other.Name), " ")+" ")
}

// deadLetteringWords say that a queue has no dead-letter exchange, or why the one that it has does not count.
func (b *flowBuilder) deadLetteringWords(q *Queue) string {
	dlx := b.t.settings.of(q.QueueRef).DLX
	name := ExchangeName(dlx.Value)
	switch {
	case !dlx.Set:
		return "no dead-letter exchange"
	case b.isCommon(q):
		return Sayf("its dead-letter exchange %s (%v) is that of other queues, too", name,
			dlx.Source.String())
	}

	return Sayf("its dead letters go on to %s (%v)", name, dlx.Source.String())
}
