// Package policing finds which policies apply to a queue by pattern, type and priority, and what they then set.
package policing

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"github.com/dlxtop/dlxtop/model"
)

// appliesTo reports whether a policy's apply-to includes queues of a type. classic_queues, quorum_queues and streams
// came with 3.12.
func appliesTo(p *model.Policy, kind model.QueueType) bool {
	switch p.ApplyTo {
	case "queues", "all":
		return true
	case "classic_queues":
		return kind == model.Classic
	case "quorum_queues":
		return kind == model.Quorum
	case "streams":
		return kind == model.Stream
	}

	return false
}

// Matcher finds the policies whose pattern matches a queue's name. The broker's patterns are Perl-like; one that
// Go's engine cannot compile matches nothing here.
type Matcher map[string][]matchablePolicy // by vhost; highest priority first

type matchablePolicy struct {
	*model.Policy
	pattern, not *regexp.Regexp // not: nil, or a prefix that names must not have
}

// NewMatcher takes the policies, or with operator the operator policies, out of a list. A pattern that Go cannot
// compile matches nothing.
func NewMatcher(policies []model.Policy, operator bool) Matcher {
	m := Matcher{}
	for i := range policies {
		p := matchablePolicy{Policy: &policies[i]}
		if p.Operator == operator && p.compile() == nil {
			m[p.VHost] = append(m[p.VHost], p)
		}
	}

	for _, list := range m {
		slices.SortStableFunc(list, func(a, b matchablePolicy) int { return cmp.Compare(b.Priority, a.Priority) })
	}

	return m
}

// compile compiles the pattern, including one that excludes a prefix, like ^(?!amq\.).*, which Go's regexp does not
// support.
func (p *matchablePolicy) compile() (err error) {
	pattern := p.Pattern
	if rest, ok := strings.CutPrefix(pattern, "^(?!"); ok {
		if not, tail, ok := strings.Cut(rest, ")"); ok && !strings.ContainsAny(not, "([") {
			if p.not, err = regexp.Compile("^(?:" + not + ")"); err != nil {
				return err
			}
			pattern = "^" + tail
		}
	}

	p.pattern, err = regexp.Compile(pattern)
	return err
}

func (p *matchablePolicy) matches(q *model.Queue) bool {
	return appliesTo(p.Policy, q.Type) && p.pattern.MatchString(q.Name) && (p.not == nil || !p.not.MatchString(q.Name))
}

// Others returns the policies that match a queue besides the one that applies, by priority. The broker skipped those
// above it: it skips a whole policy when the queue's type does not support one of its keys (measured on 3.10.8, 4.0.5
// and 4.3.6; operator policies, too). Those below it, or of the same priority, are overridden. When the one that
// applies is not known here, the order is unknown.
func (m Matcher) Others(q *model.Queue) (above []*model.Policy, applied *model.Policy, below []*model.Policy) {
	list, name := m[q.VHost], q.Policy
	if len(list) > 0 && list[0].Operator {
		name = q.OperatorPolicy
	}

	if i := slices.IndexFunc(list, func(p matchablePolicy) bool { return p.Name == name }); i >= 0 {
		applied = list[i].Policy
	} else if name != "" {
		return nil, nil, nil
	}

	for _, p := range list {
		switch {
		case p.Policy == applied || !p.matches(q):
		case applied == nil || p.Priority > applied.Priority:
			above = append(above, p.Policy)
		default:
			below = append(below, p.Policy)
		}
	}

	return above, applied, below
}

// unsupported are policy keys that a queue type ignores, as far as dlxtop knows (from the broker's source, 3.10 to
// 4.3).
var unsupported = map[model.QueueType][]string{
	model.Classic: {
		"delivery-limit", "dead-letter-strategy", "delayed-retry-type", "delayed-retry-min", "delayed-retry-max", "max-age",
		"stream-max-segment-size-bytes", "initial-cluster-size", "queue-leader-locator-quorum", "max-in-memory-length",
		"max-in-memory-bytes", "target-group-size",
	},
	model.Quorum: {
		"max-age", "stream-max-segment-size-bytes", "queue-mode", "queue-version", "max-priority", "ha-mode", "ha-params",
		"ha-sync-mode", "ha-promote-on-shutdown", "ha-promote-on-failure", "queue-master-locator",
	},
	model.Stream: {
		"message-ttl", "expires", "dead-letter-exchange", "dead-letter-routing-key", "dead-letter-strategy", "delivery-limit",
		"max-length", "overflow", "queue-mode", "queue-version", "max-priority", "ha-mode",
	},
}

// UnsupportedKeys returns the keys of a policy that queues of this type ignore.
func UnsupportedKeys(p *model.Policy, kind model.QueueType) []string {
	return model.Without(unsupported[kind], func(key string) bool {
		_, has := p.Definition[key]
		return !has
	})
}
