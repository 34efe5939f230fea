package wire

import (
	"encoding/binary"
	"sync"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/message"
)

// Bodies that fit into one frame, and into what is read ahead, go past amqp091-go 1.16, as headers do. It allocates a
// body twice and copies it once more on the way in, and writes it in pieces of 4 KiB on the way out: a replay of bodies
// of 16 KiB takes 42 µs of processor for each from a classic queue and 38 µs from a quorum queue, and 48 and 44 with
// that (medians of 5, in turns, without a journal).
//
// On the way in, a Conn keeps the content, and amqp091-go gets a number as its body, with which Message claims the
// content. On the way out, a message is published without a body, and the Conn writes it behind the properties.

// content is what a message has beside its address: its properties as AMQP writes them, flags first, and its body.
type content struct {
	properties, body []byte
}

// contents keeps each content that came in until it is claimed.
type contents struct {
	mu     sync.Mutex
	last   uint64
	waited map[uint64]content
}

// ticketSize is how many bytes take the place of a content: a length that no properties have, and a number.
const ticketSize = lengthSize + 8

// lengthSize is how many bytes the length of properties in front of a body has; noSuchLength is more than any frame.
const (
	lengthSize   = 4
	noSuchLength = 1<<32 - 1
)

// keep appends the ticket of a content to b.
func (c *contents) keep(b []byte, one content) []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.waited == nil {
		c.waited = map[uint64]content{}
	}
	c.last++
	c.waited[c.last] = one
	return binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint32(b, noSuchLength), c.last)
}

// claim returns the properties, the headers and the body of what amqp091-go received, as they were sent; headers is nil
// when there are none. It can be called once.
func (c *contents) claim(received []byte) (p message.Properties, headers model.Table, body []byte) {
	one := c.claimed(received)
	p, headers = decodeProperties(one.properties)
	return p, headers, one.body
}

func (c *contents) claimed(received []byte) content {
	if n := binary.BigEndian.Uint32(received); n != noSuchLength {
		return content{received[lengthSize : lengthSize+n], received[lengthSize+n:]}
	}
	ticket := binary.BigEndian.Uint64(received[lengthSize:])
	c.mu.Lock()
	defer c.mu.Unlock()
	one, there := c.waited[ticket]
	if !there {
		panic("a delivery was claimed twice, or after its messages were given back") // not to be taken for an empty one
	}
	delete(c.waited, ticket)
	return one
}
