package plan

import (
	"crypto/sha256"
	"maps"

	"github.com/dlxtop/dlxtop/model/message"
)

// What is kept of published messages, to recognize those whose mark a worker has dropped.
const (
	mostReleased = 10_000
	mostHashed   = 64 << 20 // bytes of bodies
)

// Released are published messages, so that one that comes back can be recognized.
type Released struct {
	Mark string // this replay's name in ReplayHeader; "": messages were not marked

	ids    map[string]int
	bodies map[[sha256.Size]byte]int
	added  int
	hashed int // bytes
}

func (r *Released) Add(p *message.Publishing) {
	r.AddID(p.Properties.MessageID)
	if r.added > mostReleased || len(p.Body) == 0 || r.hashed+len(p.Body) > mostHashed {
		return
	}
	if r.bodies == nil {
		r.bodies = map[[sha256.Size]byte]int{}
	}

	r.hashed += len(p.Body)
	r.bodies[sha256.Sum256(p.Body)]++
}

func (r *Released) AddID(id string) {
	if r.added++; r.added > mostReleased || id == "" {
		return
	}
	if r.ids == nil {
		r.ids = map[string]int{}
	}
	r.ids[id]++
}

// Copy returns a copy to which more can be added.
func (r *Released) Copy() Released {
	own := *r
	own.ids, own.bodies = maps.Clone(r.ids), maps.Clone(r.bodies)
	return own
}

// ComeBacks counts the messages that came back, in one pass through the queue that they came from.
type ComeBacks struct {
	released *Released
	ids      map[string]int
	bodies   map[[sha256.Size]byte]int
	Count    int // of those that came back
	Others   int // that arrived since, and are not recognized
}

func (r *Released) ComeBacks() *ComeBacks {
	return &ComeBacks{released: r, ids: maps.Clone(r.ids), bodies: maps.Clone(r.bodies)}
}

// Look examines one message of the queue. With the mark of this replay, it came back. A worker may have dropped the
// headers: without any mark, and arrived since, it is recognized by the same message_id or the same body. A failed
// message may be in an envelope.
func (c *ComeBacks) Look(m *message.Message, arrived bool) {
	inner := message.Opening(m).Message
	mark, marked := inner.ReplayMark()
	if !marked {
		mark, marked = m.ReplayMark()
	}

	switch {
	case marked && c.released.Mark != "":
		switch {
		case mark == c.released.Mark:
			c.Count++
		case arrived:
			c.Others++
		}
		return
	case !arrived:
		return
	}

	body := sha256.Sum256(inner.Body)
	id := inner.Properties.MessageID
	switch {
	case id != "" && c.ids[id] > 0:
		c.ids[id]--
	case len(inner.Body) > 0 && c.bodies[body] > 0:
		c.bodies[body]--
	default:
		c.Others++
		return
	}

	c.Count++
}
