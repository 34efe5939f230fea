package broker

import (
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/peek"
)

const (
	firstPage = 250 // the sizes of its messages tell how large the next may be
	// of bodies in a page: so much, and as many headers, may be in memory when what takes them is slower than the broker
	pageBytes = 8 << 20
)

// pages decides how many messages are asked for at once while a queue is read and everything is held.
type pages struct {
	number int   // so far
	taken  int   // messages
	bytes  int64 // of their bodies
	told   int64 // bytes of a body on average, as the queue's statistics have it; 0 is unknown
}

// next is the size of the next page, given how many messages are left: as large as pageBytes allows, and large enough
// that the messages of a quorum queue are kept in few pages.
func (p *pages) next(left int64, kind model.QueueType) int {
	n := int64(firstPage)
	if mean := p.mean(); mean > 0 {
		if n = max(pageBytes/mean, 1); p.taken == 0 {
			n = min(n, firstPage) // statistics may be of what was there before
		}
		if rest := int64(maxPages - p.number); rest > 0 && kind == model.Quorum {
			n = max(n, (left+rest-1)/rest)
		}
	}
	p.number++
	return int(min(n, left, peek.MaxPage))
}

// took notes a message, and returns its position.
func (p *pages) took(body int) int {
	p.taken++
	p.bytes += int64(body)
	return p.taken
}

// mean is the mean size of a body, at least 1: of those that were taken, else by the statistics; 0 is unknown.
func (p *pages) mean() int64 {
	if p.taken == 0 {
		return p.told
	}
	return max(p.bytes/int64(p.taken), 1)
}
