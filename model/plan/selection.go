package plan

import (
	"maps"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/cause"
	"github.com/dlxtop/dlxtop/model/filter"
	"github.com/dlxtop/dlxtop/model/message"
)

// Selection says which messages of a queue a plan acts on.
type Selection struct {
	// Fingerprints are the selected messages, and how many twins of each. Nil: not selected one by one.
	Fingerprints message.Twins
	MessageID    string         // only messages with this message_id; "" is any
	Filter       *filter.Filter // only messages that match; nil is any
	Cause        cause.ID       // only messages that failed for this cause; "" is any
	Limit        int            // at most this many messages; 0 is no limit
	// Except are messages that were acted on earlier and are still in the queue, with how many of each: the first ones are
	// not selected.
	Except message.Twins
}

func Nobody() Selection { return Selection{Fingerprints: message.Twins{}} }

// All reports whether the selection is everything in the queue when the execution starts.
func (s Selection) All() bool { return s.Fingerprints == nil && !s.ByContent() && s.Limit == 0 }

// ByContent reports whether a message's content decides about its selection: then the whole queue must be read to find
// them.
func (s Selection) ByContent() bool { return s.MessageID != "" || s.Filter != nil || s.Cause != "" }

// OneByOne reports whether each message is examined for the selection; otherwise the first ones of the queue are
// selected, up to Limit.
func (s Selection) OneByOne() bool {
	return s.Fingerprints != nil || s.ByContent() || len(s.Except) > 0
}

// Picker decides for each message, from the head of the queue, whether a plan acts on it.
type Picker struct {
	selection Selection
	from      model.QueueRef
	left      message.Twins
	except    message.Twins
	picked    int
	wanted    int // 0: no known end
}

// Picker starts a selection at the head of a queue.
func (s Selection) Picker(from model.QueueRef) *Picker {
	p := &Picker{selection: s, from: from, wanted: s.Limit, except: maps.Clone(s.Except)}
	if p.left = maps.Clone(s.Fingerprints); p.left != nil {
		if chosen := p.Missing(); s.Limit == 0 || chosen < s.Limit {
			p.wanted = chosen
		}
	}

	return p
}

// Pick reports whether the plan acts on this message. A filter that fails on a message does not pick it. Messages that
// were selected one by one are not asked about again: what is known around them changes.
func (p *Picker) Pick(m *message.Message) bool {
	if p.Done() {
		return false
	}
	s := p.selection
	if p.except[m.Fingerprint] > 0 {
		p.except[m.Fingerprint]--
		return false
	}

	if p.left != nil && p.left[m.Fingerprint] == 0 || s.MessageID != "" && m.Properties.MessageID != s.MessageID ||
		p.left == nil && !s.Filter.Match(m) || s.Cause != "" && !cause.MatchesID(p.from, m, s.Cause) {
		return false
	}
	if p.left != nil {
		p.left[m.Fingerprint]--
	}

	p.picked++
	return true
}

func (p *Picker) Picked() int { return p.picked }

func (p *Picker) Done() bool {
	chosen := p.left != nil || p.selection.Limit > 0
	return chosen && p.picked >= p.wanted
}

// Missing returns how many of the selected messages were not found: they are gone.
func (p *Picker) Missing() int {
	n := 0
	for _, left := range p.left {
		n += left
	}
	return n
}
