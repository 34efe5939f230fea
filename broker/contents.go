package broker

import (
	"encoding/binary"
	"sync"

	"github.com/dlxtop/dlxtop/model"
)

// Bodies that fit into one frame, and into what is read ahead, pass by amqp091-go 1.16 as headers do. It takes memory
// for each twice and copies it once more on the way in, and writes it in pieces of 4 KiB on the way out: of a replay of
// 16 KiB that was a tenth of the processor's time.
//
// On the way in, the wire keeps the content, and amqp091-go gets a number as its body. Whoever gets the delivery claims
// the content with it. On the way out, a message is published without a body, and the wire writes it behind the
// properties.

// content is what a message has beside its address and its other properties: its headers as AMQP writes them, behind
// their length, nil when it has none; and its body.
type content struct {
	table, body []byte
}

// contents keeps each content that came in until it is claimed.
type contents struct {
	mu     sync.Mutex
	last   uint64
	waited map[uint64]content
}

// ticketSize is what stands for a content, in bytes: the length of a table that there cannot be, and a number.
const ticketSize = tableLength + 8

// noSuchTable is longer than every frame.
const noSuchTable = 1<<32 - 1

// keep appends the ticket of a content to b.
func (c *contents) keep(b []byte, one content) []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.waited == nil {
		c.waited = map[uint64]content{}
	}
	c.last++
	c.waited[c.last] = one
	return binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint32(b, noSuchTable), c.last)
}

// claim returns the headers and the body of what amqp091-go received, as they were sent; nil when there are no headers.
// It can be called once.
func (c *contents) claim(received []byte) (model.Table, []byte) {
	one := c.claimed(received)
	if one.table == nil {
		return nil, one.body
	}
	return decodeTable(one.table[tableLength:], 0), one.body
}

func (c *contents) claimed(received []byte) content {
	n := binary.BigEndian.Uint32(received)
	switch n {
	case 0:
		return content{body: received[tableLength:]}
	case noSuchTable:
	default:
		return content{received[:tableLength+n], received[tableLength+n:]}
	}
	ticket := binary.BigEndian.Uint64(received[tableLength:])
	c.mu.Lock()
	defer c.mu.Unlock()
	one, there := c.waited[ticket]
	if !there {
		panic("a delivery was claimed twice, or after its messages were given back") // it must not pass for an empty one
	}
	delete(c.waited, ticket)
	return one
}

// forget lets go of what nobody will claim: deliveries that amqp091-go had when their channel ended.
func (c *contents) forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.waited = nil
}
