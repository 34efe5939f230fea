package model

import (
	"fmt"
	"time"
)

// Source is where an effective setting comes from.
type Source struct {
	Kind SourceKind
	Name string // of the policy
}

// SourceKind is the kind of place where a setting is made.
type SourceKind string

// The places, as flows -o json names them.
const (
	FromArgument       SourceKind = "argument"
	FromPolicy         SourceKind = "policy"
	FromOperatorPolicy SourceKind = "operator policy"
	FromMessage        SourceKind = "message"
	FromDefault        SourceKind = "default" // the broker's default
)

// String returns "argument", "policy retry-30s", "operator policy cap".
func (s Source) String() string {
	if s.Name == "" {
		return string(s.Kind)
	}
	return string(s.Kind) + " " + s.Name
}

// Setting is an effective value with where it comes from. The zero Setting is not set.
type Setting[T any] struct {
	Value  T
	Set    bool
	Source Source
}

// ByPolicy reports whether a policy made the setting: it can be another one tomorrow.
func (s Setting[T]) ByPolicy() bool {
	return s.Source.Kind == FromPolicy || s.Source.Kind == FromOperatorPolicy
}

// Settings are the effective settings of one queue: arguments, policy and operator policy merged as the broker merges
// them.
type Settings struct {
	TTL           Setting[time.Duration] // message TTL of the queue; a message's own expiration may be lower
	Expires       Setting[time.Duration] // x-expires: the queue itself is deleted when unused for this long
	DLX           Setting[string]        // "" with Set: the default exchange
	Key           Setting[string]        // dead-letter routing key; not set: the message's own keys
	Strategy      Setting[string]        // at-most-once or at-least-once (quorum)
	MaxLength     Setting[int64]         // messages
	MaxBytes      Setting[int64]         // body bytes
	Overflow      Setting[string]        // drop-head, reject-publish, reject-publish-dlx (classic)
	NoRejectDLX   bool                   // reject-publish-dlx is set on a quorum queue: drop-head applies
	DeliveryLimit Setting[int64]         // quorum; -1 is unlimited from 4.0
	DelayedRetry  RetryDelays            // of a quorum queue

	ConsumerTimeout Setting[time.Duration] // of the queue itself; see Topology.ConsumerTimeout
}

// DropHead is what a queue without an overflow setting does (all versions).
const DropHead = "drop-head"

// RejectPublish refuses what a full queue cannot take, dead letters of a classic one, too.
const RejectPublish = "reject-publish"

// settingsOfAll are the settings of all queues. Queues with equal settings share them: a broker has many queues and few
// ways to declare one.
type settingsOfAll map[QueueRef]*Settings

// of returns a queue's settings; for an unknown queue nothing is set.
func (all settingsOfAll) of(ref QueueRef) *Settings {
	if s := all[ref]; s != nil {
		return s
	}
	return &Settings{}
}

func findSettings(s *Snapshot, b Behaviour) settingsOfAll {
	policies := make(map[policyKey]*Policy, len(s.Policies))
	for p := range Each(s.Policies) {
		policies[policyKey{p.VHost, p.Name, p.Operator}] = p
	}

	all := make(settingsOfAll, len(s.Queues))
	made := map[Settings]*Settings{}
	for q := range Each(s.Queues) {
		told := settingsOf(q, policies, b)
		if made[told] == nil {
			own := told // only these are on the heap
			made[told] = &own
		}
		all[q.QueueRef] = made[told]
	}

	return all
}

// settingsOf merges the arguments of a queue with its policies. The rules (measured on 3.10.8, 4.0.5 and 4.3.6):
// dead-letter exchange, key and strategy: the argument wins; TTL, expiry and lengths: the lower wins; delivery limit:
// the lower wins, from 4.0 the higher when one is negative; overflow: the argument wins on classic queues, the policy
// on quorum queues, which treat reject-publish-dlx as drop-head (rabbit_quorum_queue: it logs "Invalid overflow
// strategy").
func settingsOf(q *Queue, policies map[policyKey]*Policy, b Behaviour) Settings {
	if q.Type == Stream {
		return Settings{} // streams neither expire nor dead-letter single messages
	}
	r := settingReader{queue: q, policies: policies}
	s := Settings{
		TTL:       r.milliseconds("message-ttl"),
		Expires:   r.milliseconds("expires"),
		DLX:       r.text("dead-letter-exchange"),
		Key:       r.text("dead-letter-routing-key"),
		MaxLength: r.lower("max-length"),
		MaxBytes:  r.lower("max-length-bytes"),
		Overflow:  r.text("overflow"),
	}

	if b.TimeoutByQueue {
		s.ConsumerTimeout = r.milliseconds("consumer-timeout")
	}
	if !s.DLX.Set {
		s.Key = Setting[string]{} // a key without an exchange does nothing
	}

	if q.Type == Quorum {
		s.Overflow = r.policyFirst("overflow")
		if s.Overflow.Value == "reject-publish-dlx" {
			s.Overflow.Value, s.NoRejectDLX = DropHead, true
		}
		s.Strategy = r.text("dead-letter-strategy")
		s.DeliveryLimit = r.deliveryLimit(b)
		if b.DelayedRetry {
			s.DelayedRetry = r.delayedRetry()
		}
	}

	if !s.Overflow.Set {
		s.Overflow = Setting[string]{DropHead, true, Source{Kind: FromDefault}}
	}

	return s
}

// Bounded reports whether the queue has a maximum length, in messages or bytes.
func (s Settings) Bounded() bool { return s.MaxLength.Set || s.MaxBytes.Set }

// DropsHead reports whether the queue drops its oldest messages when it is full.
func (s Settings) DropsHead() bool { return s.Bounded() && s.Overflow.Value == DropHead }

// Full reports whether the queue drops its oldest message for each one that comes, if that has the mean size.
func (s Settings) Full(q *Queue) bool {
	ready := q.Ready.Or(0)
	long := s.MaxLength.Set && ready >= s.MaxLength.Value
	heavy := s.MaxBytes.Set && ready > 0 && q.ReadyBytes.Or(0) > s.MaxBytes.Value-q.ReadyBytes.Or(0)/ready
	return s.DropsHead() && (long || heavy)
}

// keepsLatest reports whether a queue only keeps the newest message: what it replaces leaves it, and has not failed.
func (s Settings) keepsLatest() bool { return s.MaxLength.Value == 1 && s.DropsHead() && !s.TTL.Set }

// Refuses reports whether the queue refuses publishes when it is full.
func (s Settings) Refuses() bool { return s.Bounded() && s.Overflow.Value != DropHead }

// KeepsDeadLetters reports whether a quorum queue keeps a dead letter until the queues behind its exchange have
// confirmed it (rabbit_fifo_dlx, 3.10 and later). Without overflow reject-publish the broker falls back to
// at-most-once.
func (s Settings) KeepsDeadLetters() bool {
	return s.DLX.Set && s.Strategy.Value == "at-least-once" && s.Overflow.Value == RejectPublish
}

// settingReader reads one queue's settings by their policy names; the argument's name is the same with "x-" in front.
type settingReader struct {
	queue    *Queue
	policies map[policyKey]*Policy
}

func (r settingReader) text(name string) Setting[string] {
	if v, ok := r.queue.Arguments.Text("x-" + name); ok {
		return Setting[string]{v, true, Source{Kind: FromArgument}}
	}
	return r.policyText(name)
}

func (r settingReader) policyText(name string) Setting[string] {
	if v, ok := r.queue.PolicyDefinition.Text(name); ok {
		return Setting[string]{v, true, r.source(name)}
	}
	return Setting[string]{}
}

// policyFirst is text where a policy wins over the argument.
func (r settingReader) policyFirst(name string) Setting[string] {
	if policy := r.policyText(name); policy.Set {
		return policy
	}
	return r.text(name)
}

func (r settingReader) lower(name string) Setting[int64] {
	return r.number(name, func(policy, argument int64) bool { return policy < argument })
}

// number reads a numeric setting from argument and policy; wins reports whether the policy's value is the effective
// one.
func (r settingReader) number(name string, wins func(policy, argument int64) bool) Setting[int64] {
	argument, byArgument := r.queue.Arguments.Integer("x-" + name)
	policy, byPolicy := r.queue.PolicyDefinition.Integer(name)
	switch {
	case byPolicy && (!byArgument || wins(policy, argument)):
		return Setting[int64]{policy, true, r.source(name)}
	case byArgument:
		return Setting[int64]{argument, true, Source{Kind: FromArgument}}
	}

	return Setting[int64]{}
}

func (r settingReader) milliseconds(name string) Setting[time.Duration] {
	s := r.lower(name)
	return Setting[time.Duration]{milliseconds(s.Value), s.Set, s.Source}
}

func (r settingReader) deliveryLimit(b Behaviour) Setting[int64] {
	s := r.number("delivery-limit", func(policy, argument int64) bool {
		higherWins := !b.NegativeDeliveryLimitDrops && (argument < 0 || policy < 0)
		return (policy < argument) != higherWins
	})

	if !s.Set && b.DefaultDeliveryLimit > 0 {
		return Setting[int64]{b.DefaultDeliveryLimit, true, Source{Kind: FromDefault}}
	}

	return s
}

// source finds which of the queue's two policies gave a key of the merged definition. When both have it, it is the one
// whose value the broker chose.
func (r settingReader) source(name string) Source {
	q := r.queue
	operator, known := r.policies[policyKey{q.VHost, q.OperatorPolicy, true}]
	if q.OperatorPolicy != "" && (q.Policy == "" || known &&
		SameValue(operator.Definition[name], q.PolicyDefinition[name])) {
		return Source{FromOperatorPolicy, q.OperatorPolicy}
	}
	return Source{FromPolicy, q.Policy}
}

// SameValue reports whether two values of a setting, each an integer or a text, are equal.
func SameValue(a, b any) bool {
	if x, ok := AsInteger(a); ok {
		y, ok := AsInteger(b)
		return ok && x == y
	}
	x, ok := AsText(a)
	y, ok2 := AsText(b)
	return ok && ok2 && x == y
}

type policyKey struct {
	vhost, name string
	operator    bool
}

// milliseconds converts the broker's unit, and caps it at the longest duration (292 years).
func milliseconds(ms int64) time.Duration {
	const most = int64(1<<63-1) / int64(time.Millisecond)
	return time.Duration(min(max(ms, 0), most)) * time.Millisecond
}

// String shows a text setting with its source: "master (argument)".
func (s Setting[T]) String() string {
	if !s.Set {
		return "not set"
	}
	value := fmt.Sprint(s.Value)
	if d, ok := any(s.Value).(time.Duration); ok {
		value = ShortDuration(d)
	}

	return Sayf("%s (%s)", value, s.Source)
}
