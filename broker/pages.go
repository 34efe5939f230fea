package broker

import (
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/peek"
)

const (
	firstPage = 250 // its sizes show how large the next may be
	// bytes of bodies in a page: that much, and as much of headers, may be in memory when the reader is slower than the
	// broker
	pageBytes = 8 << 20
)

// pages decides how many messages are requested at once while a queue is read and everything is held.
type pages struct {
	number int   // so far
	taken  int   // messages
	bytes  int64 // of their bodies
	told   int64 // mean bytes of a body, from the queue's statistics; 0 is unknown
}

// next is the size of the next page, given how many messages are left: as large as pageBytes allows, and large enough
// that the messages of a quorum queue are kept in few pages.
func (p *pages) next(left int64, kind model.QueueType) int {
	n := int64(firstPage)
	if mean := p.mean(); mean > 0 {
		if n = max(pageBytes/mean, 1); p.taken == 0 {
			n = min(n, firstPage) // the statistics may be about earlier messages
		}
		if rest := int64(maxPages - p.number); rest > 0 && kind == model.Quorum {
			n = max(n, (left+rest-1)/rest)
		}
	}
	p.number++
	return int(min(n, left, peek.MaxPage))
}

// took counts a message, and returns its position.
func (p *pages) took(body int) int {
	p.taken++
	p.bytes += int64(body)
	return p.taken
}

// mean is the mean body size, at least 1: of the messages taken, otherwise from the statistics; 0 is unknown.
func (p *pages) mean() int64 {
	if p.taken == 0 {
		return p.told
	}
	return max(p.bytes/int64(p.taken), 1)
}
