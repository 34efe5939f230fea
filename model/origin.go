package model

import (
	"fmt"
	"slices"
)

// Origin is where a message was first published, as far as it tells: what the envelope that it is in tells; the exchange and
// the first routing key of its earliest death; without deaths what a framework wrote down; else where it was published last.
//
// A worker that republishes a failed message starts a new life: the broker's x-death then begins with the republish, and
// so does Origin. OriginReason says so where a header betrays it.
func (m *Message) Origin() Address {
	a, _ := m.origin()
	return a
}

// OriginReason says in one sentence where Origin knows it from, and what it cannot know.
func (m *Message) OriginReason() string {
	a, reason := m.origin()
	if key, header, ok := m.firstKey(); ok && key != a.RoutingKey {
		reason += fmt.Sprintf("; the header %s has the key %s, so it was republished since, and its first exchange is not told",
			header, quoted(key))
	}
	return reason
}

func (m *Message) origin() (Address, string) {
	return m.originBy(opening(m).envelope)
}

// originBy is origin for a message whose envelope, if there is one, is open.
func (m *Message) originBy(e *Envelope) (Address, string) {
	if e != nil {
		return Address{e.Original.Exchange, e.Original.RoutingKey}, fmt.Sprintf("%s wrote it into the message", e.Framework)
	}
	if d := m.firstDeath(); d != nil {
		a := Address{Exchange: d.Exchange, RoutingKey: m.RoutingKey}
		if len(d.RoutingKeys) > 0 {
			a.RoutingKey = d.RoutingKeys[0] // the keys of CC come after it
			return a, fmt.Sprintf("the exchange and key of its first death, in %s", d.Queue)
		}
		return a, fmt.Sprintf("the exchange of its first death, in %s, which does not tell the key: this is the present one", d.Queue)
	}
	r := reader{m: m}
	for _, c := range originConventions {
		exchange, ok := r.text(c.in, c.exchange)
		if !ok || !r.has(c.in, c.needs) {
			continue
		}
		if key, ok := r.text(c.in, c.key); ok {
			return Address{exchange, key}, fmt.Sprintf("%s wrote it into the message", c.name)
		}
	}
	return Address{m.Exchange, m.RoutingKey}, "it has not been dead-lettered: where it was published last"
}

// firstDeath is the death with which the message's history begins. The broker writes the newest first, by the latest death
// of each group; the first death of a group has the time. Times are to the second, so x-first-death-* decides between
// equals, and then the order.
func (m *Message) firstDeath() *Death {
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

// earlier compares two deaths by time. One without a time is later than any with one.
func earlier(a, b *Death) bool {
	if a.Time.IsZero() || b.Time.IsZero() {
		return !a.Time.IsZero()
	}
	return a.Time.Before(b.Time)
}

// firstKeyHeaders are headers in which applications that republish keep the first routing key, without its exchange.
var firstKeyHeaders = []string{"x-orig-routing-key", "x-original-routing-key", "x-original-routingKey"}

// firstKey is the routing key with which the message was first published, when the application wrote it down.
func (m *Message) firstKey() (key, header string, ok bool) {
	for _, h := range firstKeyHeaders {
		if key, ok := m.Headers.Text(h); ok {
			return key, h, true
		}
	}
	return "", "", false
}
