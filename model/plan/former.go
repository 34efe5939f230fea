package plan

import (
	"bytes"
	"maps"
	"reflect"
	"slices"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/message"
)

// Former is the parts of a message that a publish changed, as they were before.
type Former struct {
	Expiration string
	UserID     string
	Zeros      message.PropertySet // the properties in its Zeros
	Headers    model.Table         // removed or changed headers, with their old values
	Added      []string            // headers that it did not have
}

// NewEntry returns the journal's entry for a message that a plan acts on. p is what is published for it, nil for a
// drop. full keeps the complete message of a replay too.
func NewEntry(m *message.Message, p *message.Publishing, full bool) Entry {
	e := Entry{
		Position: m.Position, MessageID: m.Properties.MessageID, Fingerprint: m.Fingerprint,
		Address: model.Address{Exchange: m.Exchange, RoutingKey: m.RoutingKey},
	}

	if p == nil {
		e.Message = m
		return e
	}

	former, told := formerOf(m, p)
	e.Sent = &Sent{Fingerprint: m.FingerprintOfCopy(p), To: p.Address, Former: former}
	for _, q := range p.Reaches {
		e.Sent.Reached = append(e.Sent.Reached, q.Name)
	}
	if !told {
		e.Sent.Changed = beyondFormer(m, p)
	}

	for key := range former.Headers {
		if _, there := p.Headers[key]; !there && !message.IsBrokerHeader(key) {
			e.Sent.Removed = append(e.Sent.Removed, key)
		}
	}

	slices.Sort(e.Sent.Removed)
	if full || !told {
		e.Message = m
	}

	return e
}

// StayingEntry records a message that stays in its queue among others that are sent.
func StayingEntry(m *message.Message) Entry {
	e := NewEntry(m, nil, false)
	e.Message, e.Stays = nil, true
	return e
}

// formerOf compares a message with what is published for it. told is false when they differ in more than Former can
// hold: the body, or a property that a replay keeps.
func formerOf(m *message.Message, p *message.Publishing) (f Former, told bool) {
	f = Former{Expiration: m.Properties.Expiration, UserID: m.Properties.UserID, Zeros: m.Properties.Zeros}
	for key, v := range m.Headers {
		if now, there := p.Headers[key]; !there || !equalValue(now, v) {
			if f.Headers == nil {
				f.Headers = model.Table{}
			}
			f.Headers[key] = v
		}
	}

	for key := range p.Headers {
		if _, there := m.Headers[key]; !there {
			f.Added = append(f.Added, key)
		}
	}

	same := p.Properties
	same.Expiration = f.Expiration
	same.UserID = f.UserID
	same.Zeros = f.Zeros
	return f, same == m.Properties && bytes.Equal(p.Body, m.Body)
}

func equalValue(a, b any) bool {
	switch a.(type) {
	case string, int64, int32, bool:
		return a == b
	}

	return reflect.DeepEqual(a, b)
}

// restore gives a republished message its former parts back.
func (f *Former) restore(m *message.Message) {
	m.Properties.Expiration = f.Expiration
	m.Properties.UserID = f.UserID
	m.Properties.Zeros = f.Zeros
	headers := maps.Clone(m.Headers)
	if headers == nil {
		headers = model.Table{}
	}
	for _, key := range f.Added {
		delete(headers, key)
	}

	maps.Copy(headers, f.Headers)
	m.Headers = headers
}

// Restoring returns what brings a message back to its queue: through the default exchange, with everything as it was.
// left are the parts that cannot be set again without harm: CC and BCC would send it to further queues, a foreign
// user_id is refused (406), and a quorum queue's delivery counters begin at 0.
func Restoring(m *message.Message, queue, user string) (p message.Publishing, left []string) {
	p = message.Publishing{Address: model.Address{RoutingKey: queue}, Properties: m.Properties, Body: m.Body}
	if m.Properties.HasForeignUser(user) {
		p.Properties.Clear(message.PropUserID)
		left = append(left, "user_id")
	}

	for key, v := range m.Headers {
		if key == "CC" || key == "BCC" || slices.Contains(message.DeliveryCounters, key) {
			left = append(left, key)
			continue
		}
		if p.Headers == nil {
			p.Headers = make(model.Table, len(m.Headers))
		}
		p.Headers[key] = v
	}

	slices.Sort(left)
	return p, left
}
