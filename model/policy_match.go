package model

import (
	"regexp"
	"slices"
)

// appliesTo reports whether a policy's apply-to takes in queues of a type. classic_queues, quorum_queues and streams
// came with 3.12.
func (p *Policy) appliesTo(kind QueueType) bool {
	switch p.ApplyTo {
	case "queues", "all":
		return true
	case "classic_queues":
		return kind == Classic
	case "quorum_queues":
		return kind == Quorum
	case "streams":
		return kind == Stream
	}
	return false
}

// policyMatcher finds the policies whose pattern matches a queue's name. Patterns are Perl-like on the broker: one that
// Go's engine does not read matches nothing here, because nobody can tell.
type policyMatcher map[string][]matchablePolicy // by vhost; highest priority first

type matchablePolicy struct {
	*Policy
	pattern *regexp.Regexp
}

// NewPolicyMatcher takes policies, without operator policies. One whose pattern is none of Go matches nothing.
func NewPolicyMatcher(policies []Policy) policyMatcher {
	m := policyMatcher{}
	for i := range policies {
		p := &policies[i]
		if p.Operator {
			continue
		}
		if pattern, err := regexp.Compile(p.Pattern); err == nil {
			m[p.VHost] = append(m[p.VHost], matchablePolicy{p, pattern})
		}
	}
	for _, list := range m {
		slices.SortStableFunc(list, func(a, b matchablePolicy) int { return int(max(min(b.Priority-a.Priority, 1), -1)) })
	}
	return m
}

// PassedOver are the policies that match a queue and have a higher priority than the one that applies: the broker skips
// a policy entirely for a queue whose type does not support one of its keys (measured on 3.10.8, 4.0.5 and 4.3.6).
func (m policyMatcher) PassedOver(q *Queue) []*Policy {
	var skipped []*Policy
	for _, p := range m[q.VHost] {
		if p.Name == q.Policy {
			return skipped
		}
		if p.appliesTo(q.Type) && p.pattern.MatchString(q.Name) {
			skipped = append(skipped, p.Policy)
		}
	}
	if q.Policy != "" {
		return nil // the one that applies is unknown here, so nothing can be said of the order
	}
	return skipped
}

// unsupported are policy keys that a type of queue does not know, as far as dlxtop knows (from the broker's source,
// 3.10 to 4.3).
var unsupported = map[QueueType][]string{
	Classic: {
		"delivery-limit", "dead-letter-strategy", "delayed-retry-type", "delayed-retry-min", "delayed-retry-max", "max-age",
		"stream-max-segment-size-bytes", "initial-cluster-size", "queue-leader-locator-quorum", "max-in-memory-length",
		"max-in-memory-bytes",
		"target-group-size",
	},
	Quorum: {
		"max-age", "stream-max-segment-size-bytes", "queue-mode", "queue-version", "max-priority", "ha-mode",
		"ha-params", "ha-sync-mode",
		"ha-promote-on-shutdown", "ha-promote-on-failure", "queue-master-locator",
	},
	Stream: {
		"message-ttl", "expires", "dead-letter-exchange", "dead-letter-routing-key", "dead-letter-strategy",
		"delivery-limit", "max-length",
		"overflow", "queue-mode", "queue-version", "max-priority", "ha-mode",
	},
}

// UnsupportedKeys are the keys of a policy that queues of this type ignore.
func UnsupportedKeys(p *Policy, kind QueueType) []string {
	var keys []string
	for _, key := range unsupported[kind] {
		if _, ok := p.Definition[key]; ok {
			keys = append(keys, key)
		}
	}
	return keys
}
