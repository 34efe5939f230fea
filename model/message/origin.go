package message

import (
	"fmt"
	"slices"

	"github.com/dlxtop/dlxtop/model"
)

// OriginOrWhy returns where a message was first published, as far as it says, and how that is known: from its envelope;
// from the exchange and first routing key of its earliest death; without deaths from what a framework wrote; otherwise
// it is where it was published last.
//
// When a worker republishes a failed message, the broker's x-death begins again, and with it this origin. FirstKey
// shows that.
func (m *Message) OriginOrWhy() (model.Address, string) {
	return m.OriginBy(Opening(m).Envelope)
}

// OriginBy is OriginOrWhy for a message whose envelope, if any, is open.
func (m *Message) OriginBy(e *Envelope) (model.Address, string) {
	if e != nil {
		return model.Address{Exchange: e.Original.Exchange, RoutingKey: e.Original.RoutingKey},
			fmt.Sprintf("%s wrote it into the message", e.Framework)
	}
	if d := m.FirstDeath(); d != nil {
		a := model.Address{Exchange: d.Exchange, RoutingKey: m.RoutingKey}
		if len(d.RoutingKeys) > 0 {
			a.RoutingKey = d.RoutingKeys[0] // the keys of CC come after it
			if own := m.own(a); own != a {
				return own, "the mark of its last replay, which went another way"
			}
			return a, fmt.Sprintf("the exchange and key of its first death, in %s", d.Queue)
		}

		return a, fmt.Sprintf("the exchange of its first death, in %s, which does not have the key: this is the "+
			"present one", d.Queue)
	}

	r := reader{m: m}
	if a, by, ok := r.writtenOrigin(); ok {
		return a, by + " wrote it into the message"
	}

	return model.Address{Exchange: m.Exchange, RoutingKey: m.RoutingKey},
		"it has not been dead-lettered: where it was published last"
}

// ToldOrigin is OriginBy when the origin is recorded: by a framework or an application in the envelope or the headers,
// which republishing keeps, or else by the first death; false when only the last publish is known.
func (m *Message) ToldOrigin(e *Envelope) (model.Address, bool) {
	if e == nil {
		r := reader{m: m}
		if a, _, ok := r.writtenOrigin(); ok {
			return a, true
		}
		if m.FirstDeath() == nil {
			return model.Address{Exchange: m.Exchange, RoutingKey: m.RoutingKey}, false
		}
	}

	a, _ := m.OriginBy(e)
	return a, true
}

// writtenOrigin returns the origin that a framework or an application wrote into the message.
func (r *reader) writtenOrigin() (a model.Address, by string, ok bool) {
	for i := range frameworks() {
		c := frameworks()[i].Origin
		if c == nil || !r.has(c.Needs) {
			continue
		}

		exchange, ok := r.text(c.Exchange)
		key, complete := r.text(c.Key)
		if ok && complete {
			return r.m.own(model.Address{Exchange: exchange, RoutingKey: key}), string(frameworks()[i].Name), true
		}
	}

	told := r.m.recorded()
	exchange, _ := told.get(exchangeRole)
	key, ok := told.get(keyRole)
	if !ok || exchange.at == nil {
		return model.Address{}, "", false
	}

	return r.m.own(model.Address{Exchange: exchange.text, RoutingKey: key.text}), "the application", true
}

// FirstDeath returns the death with which the message's history begins. The broker sorts groups by their latest death,
// newest first, but a group's time is that of its first death. Times are in seconds, so x-first-death-* decides between
// equal ones, and then the order.
func (m *Message) FirstDeath() *Death {
	queue, _ := m.Headers.Text("x-first-death-queue")
	reason, _ := m.Headers.Text("x-first-death-reason")
	exchange, _ := m.Headers.Text("x-first-death-exchange")
	rank := func(d *Death) int {
		n := 0
		if queue != "" && d.Queue == queue && string(d.Reason) == reason {
			n += 2
		}
		if queue != "" && d.Exchange == exchange {
			n++
		}
		return n
	}

	var first *Death
	for i := range slices.Backward(m.Deaths) {
		d := &m.Deaths[i]
		if first == nil || earlier(d, first) || !earlier(first, d) && rank(d) > rank(first) {
			first = d
		}
	}

	return first
}

// ExpiredIn reports whether a message expired in a queue of this name.
func (m *Message) ExpiredIn(queue string) bool {
	return slices.ContainsFunc(m.Deaths, func(d Death) bool { return d.Queue == queue && d.Reason == model.Expired })
}

// earlier compares two deaths by time. One without a time is later than any with a time.
func earlier(a, b *Death) bool {
	if a.Time.IsZero() || b.Time.IsZero() {
		return !a.Time.IsZero()
	}
	return a.Time.Before(b.Time)
}
