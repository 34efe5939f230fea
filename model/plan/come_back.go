package plan

import (
	"crypto/sha256"
	"maps"

	"github.com/dlxtop/dlxtop/model/message"
)

// Released are messages that were published, so that one of them is known again when it comes back.
type Released struct {
	Mark string // of this replay, in ReplayHeader; "": they were not marked

	ids    map[string]int
	bodies map[[sha256.Size]byte]int
}

// Add notes a message that is published.
func (r *Released) Add(p *message.Publishing) {
	if r.bodies == nil {
		r.bodies = map[[sha256.Size]byte]int{}
	}
	r.AddID(p.Properties.MessageID)
	if len(p.Body) > 0 {
		r.bodies[sha256.Sum256(p.Body)]++
	}
}

// AddID notes the message_id of one.
func (r *Released) AddID(id string) {
	if r.ids == nil {
		r.ids = map[string]int{}
	}
	if id != "" {
		r.ids[id]++
	}
}

// ComeBacks counts those that came back, in one pass through the queue that they came from.
type ComeBacks struct {
	released *Released
	ids      map[string]int
	bodies   map[[sha256.Size]byte]int
	Count    int
}

// ComeBacks begins a pass.
func (r *Released) ComeBacks() *ComeBacks {
	return &ComeBacks{released: r, ids: maps.Clone(r.ids), bodies: maps.Clone(r.bodies)}
}

// Look takes one message of the queue in. It came back when it has the mark of this replay. A worker may have dropped
// the headers: when it has no mark at all and arrived since, the same message_id, or the same body, tells; a failure
// may be in an envelope.
func (c *ComeBacks) Look(m *message.Message, arrived bool) {
	inner := message.Opening(m).Message
	mark, marked := inner.ReplayMark()
	if !marked {
		mark, marked = m.ReplayMark()
	}
	switch {
	case marked && c.released.Mark != "":
		if mark == c.released.Mark {
			c.Count++
		}
		return
	case !arrived:
		return
	}
	body := sha256.Sum256(inner.Body)
	switch id := inner.Properties.MessageID; {
	case id != "" && c.ids[id] > 0:
		c.ids[id]--
	case len(inner.Body) > 0 && c.bodies[body] > 0:
		c.bodies[body]--
	default:
		return
	}
	c.Count++
}
