package message

import (
	"crypto/rand"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/dlxtop/dlxtop/model"
)

// ReplayHeader is the header that a replay adds, so that a message that fails again is recognised. Its value is a text,
// "count=2; time=2026-11-22T05:00:00Z; replay=NAME", because some frameworks accept only texts: Watermill requeues a
// message with a header of another type for ever. The name is that of the last replay. Early pre-releases wrote a table
// with the same keys, which is read, too.
//
// Where a replay publishes by another address than the message's own, "; via=KEY; key=KEY; exchange=EXCHANGE" keep the
// key of the replay and the message's own address: a worker that fails again, and the broker's x-death, write the
// replay's address where the message's own one was.
const ReplayHeader = "dlxtop-replay"

type replayMark struct {
	count int64
	at    time.Time // zero when unknown
	name  string    // "" when the replay had none
	// of a replay by another address than the message's own; otherwise nil
	detour *detour
}

// detour is the key that a replay published with in place of the message's own address.
type detour struct {
	via      string
	key      string
	exchange model.Opt[string] // unknown where only the key was told
}

// String returns the mark as written to the header: count, time (RFC 3339, UTC), and the name of the replay.
func (r replayMark) String() string {
	text := fmt.Sprintf("count=%d; time=%s", r.count, r.at.UTC().Format(time.RFC3339))
	if r.name != "" {
		text += "; replay=" + r.name
	}

	if d := r.detour; d != nil {
		text += "; via=" + url.QueryEscape(d.via) + "; key=" + url.QueryEscape(d.key)
		if exchange, known := d.exchange.Get(); known {
			text += "; exchange=" + url.QueryEscape(exchange)
		}
	}

	return text
}

// replayMark reads the mark. marked is true for anything that looks like one.
func (m *Message) replayMark() (r replayMark, marked bool) {
	switch v := m.Headers[ReplayHeader].(type) {
	case model.Table:
		r.count, _ = v.Integer("count")
		r.at, _ = v.Time("time")
		r.name, _ = v.Text("replay")
		return r, true
	case string:
		var d detour
		bypassed := false
		for part := range strings.SplitSeq(v, "; ") {
			key, text, _ := strings.Cut(part, "=")
			value, _ := url.QueryUnescape(text)

			switch key {
			case "count":
				if n, err := strconv.ParseInt(value, 10, 32); err == nil {
					r.count = n
				}
			case "time":
				r.at, _ = time.Parse(time.RFC3339, value)
			case "replay":
				r.name = value
			case "via":
				d.via = value
			case "key":
				d.key, bypassed = value, true
			case "exchange":
				d.exchange = model.Some(value)
			}
		}

		if bypassed {
			r.detour = new(d) // most messages have none, and need no memory for one
		}

		return r, r.count > 0
	}

	return r, false
}

// NewMark returns a unique name for a replay.
func NewMark() string { return rand.Text() }

// Mark records in a publishing that m is replayed once more, by the replay of this name ("" for none), and m's own
// address where it is another, unless an edit changed that; e is its envelope, if any.
func (p *Publishing) Mark(m *Message, e *Envelope, name string, edited bool) {
	if p.Headers == nil {
		p.Headers = model.Table{}
	}

	n, _, _ := m.Replays()
	mark := replayMark{count: n + 1, at: time.Now(), name: name}
	a, told := m.ToldOrigin(e)
	key, _, keyTold := m.FirstKey()
	switch {
	case edited:
	case told && a != p.Address:
		mark.detour = &detour{p.RoutingKey, a.RoutingKey, model.Some(a.Exchange)}
	case !told && keyTold && key != p.RoutingKey:
		mark.detour = &detour{via: p.RoutingKey, key: key}
	}

	p.Headers[ReplayHeader] = mark.String()
}

// OwnKey returns a key that the message says of itself, or the one in whose place a replay wrote it.
func (m *Message) OwnKey(key string) string {
	if r, _ := m.replayMark(); r.detour != nil && r.detour.via == key {
		return r.detour.key
	}
	return key
}

// own returns an address that the message says of itself, or the one in whose place a replay wrote it.
func (m *Message) own(a model.Address) model.Address {
	if r, _ := m.replayMark(); r.detour != nil && r.detour.via == a.RoutingKey {
		a.RoutingKey, a.Exchange = r.detour.key, r.detour.exchange.Or(a.Exchange)
	}
	return a
}

// ReplayMark returns the name of the replay that sent a message last. marked is true for every message that dlxtop
// replayed, even without a name.
func (m *Message) ReplayMark() (name string, marked bool) {
	r, marked := m.replayMark()
	return r.name, marked
}

// MarkedBy reports whether a replay of this name sent the message.
func (m *Message) MarkedBy(name string) bool {
	if name == "" {
		return false
	}
	mark, _ := m.ReplayMark()
	return mark == name
}

// Replays returns how often dlxtop has replayed a message, and when last (zero when unknown).
func (m *Message) Replays() (n int64, last time.Time, ok bool) {
	r, _ := m.replayMark()
	if r.count < 1 {
		return 0, time.Time{}, false
	}
	return r.count, r.at, true
}

// ReplayedWords returns "replayed 2 times", "" when it was not.
func (m *Message) ReplayedWords() string {
	n, _, ok := m.Replays()
	switch {
	case !ok:
		return ""
	case n == 1:
		return "replayed once"
	default:
		return model.Sayf("replayed %v times", n)
	}
}
