package cause

import (
	"encoding/binary"

	"github.com/dlxtop/dlxtop/model/message"
)

// originalOf returns the part of message.Original that a member keeps.
func originalOf(m *message.Message) uint64 {
	o, ok := m.Original()
	if !ok {
		return 0
	}
	n := binary.BigEndian.Uint64(o.Message[:]) | 1
	if o.ByID {
		n++
	}

	return n
}

// different counts the messages of causes, leaving out copies of a message that failed for the same worker in other
// queues. For messages without an id the queue with most of them counts.
func (g *Groups) different(present []*group) map[*group]int {
	different := map[*group]int{}
	several := false
	for _, at := range present {
		different[at] = at.messages
		several = several || len(at.queues) > 1
	}

	if !several {
		return different
	}
	type published struct {
		group    *group
		worker   string
		original uint64
	}

	most := map[published]int{}
	for _, q := range g.queues {
		here := map[published]int{}
		for _, in := range q.each() {
			if at := in.group.current(); len(at.queues) > 1 && in.original != 0 {
				here[published{at, in.worker, in.original}]++
			}
		}

		for p, n := range here {
			byID := p.original%2 == 0
			counted := max(most[p], n)
			if byID {
				counted = 1
			}
			different[p.group] += counted - most[p] - n
			most[p] = counted
		}
	}

	return different
}
