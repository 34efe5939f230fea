package findings

import (
	"cmp"
	"time"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/model/story"
)

// From this many tries on a message is taken for one that never succeeds: applications give up earlier. Where only its
// age bounds the tries, the threshold is higher.
const (
	manyTries        = 10
	manyTriesByBound = 50
)

// poison: a message that comes back again and again blocks others, and nothing ends it.
type poison struct {
	topology *model.Topology
	queue    model.QueueRef
	takenAt  time.Time
	applies  bool

	n        int
	worst    story.Tries
	position int    // of the worst message
	id       string // its message_id
}

func newPoison(t *model.Topology, q *model.Queue, takenAt time.Time) *poison {
	f := story.RetryFlow(t, q.QueueRef)
	applies := f != nil && !f.Role(q.QueueRef).IsEnd() // messages in a failed queue have come to rest
	return &poison{topology: t, queue: q.QueueRef, takenAt: takenAt, applies: applies}
}

func (p *poison) inspect(m *message.Message) {
	if !p.applies {
		return
	}
	tries := story.TriesOf(p.topology, m, p.queue, p.takenAt)
	if tries.Least < manyTries && tries.Most < manyTriesByBound {
		return
	}
	p.n++
	if c := cmp.Or(cmp.Compare(tries.Least, p.worst.Least), cmp.Compare(tries.Most, p.worst.Most),
		cmp.Compare(p.position, m.Position)); p.n == 1 || c > 0 {
		p.worst = tries
		p.position = m.Position
		p.id = m.Properties.MessageID
	}
}

func (p *poison) finding() (Finding, bool) {
	n, worst := p.n, p.worst
	if n == 0 {
		return Finding{}, false
	}
	id := "without a message id"
	if p.id != "" {
		id = "id " + model.Printable(p.id)
	}

	words := spell("message %v (%s) comes back again and again: %s tries", p.position, id, worst.Words())
	if n > 1 {
		words = spell("%v message(s) come back again and again: message %v (%s) has had %s tries", n, p.position, id,
			worst.Words())
	}

	evidence := "its deaths, and the tries that its worker counts in headers"
	switch {
	case worst.Note != "" && worst.Most > 0:
		evidence = worst.Note + ": its age and the shortest delay of a retry bound it"
	case worst.Note != "":
		evidence = worst.Note
	}

	return Finding{
		Code:     "poison-message",
		Message:  words,
		Evidence: evidence,
	}, true
}
