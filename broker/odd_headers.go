package broker

import (
	"crypto/rand"
	"encoding/binary"
	"fmt"

	amqp "github.com/rabbitmq/amqp091-go"

	"dlxtop/model"
	"dlxtop/model/message"
)

// Tables of headers that amqp091-go 1.16 cannot read, or cannot write, pass it in disguise.
//
// On the way in, the wire puts a table with one entry in the place of such a table: standIn, and how many bytes the
// table has. The table itself goes in front of the body. So it lives as long as its delivery, and a header that is
// larger than a frame passes, too.
//
// On the way out, the one entry is standIn with the bytes of the table, and the wire puts these in its place.

// standIn is the name of that entry. No message has it: it is random, and never leaves this process.
var standIn = rand.Text()

// received are the headers and the body of what amqp091-go received, as they were sent.
func received(headers amqp.Table, body []byte) (model.Table, []byte) {
	if len(headers) == 1 {
		if n, odd := headers[standIn].(int64); odd && n >= 0 && n <= int64(len(body)) {
			return decodeTable(body[:n], 0), body[n:]
		}
	}
	return tableOf(headers), body
}

// sendable are headers as amqp091-go takes them.
func sendable(t model.Table) amqp.Table {
	if writable(t, 0) {
		return wireTable(t)
	}
	return amqp.Table{standIn: string(encodeTable(nil, t))}
}

// writable reports whether amqp091-go writes a value as it is. It would write the deepest ones, too, but copies
// each level once more.
func writable(v any, depth int) bool {
	switch v := v.(type) {
	case uint64, model.Repeated, model.RawValue:
		return false
	case []any:
		for _, e := range v {
			if !writable(e, depth+1) {
				return false
			}
		}
	case model.Table:
		for _, e := range v {
			if !writable(e, depth+1) {
				return false
			}
		}
	}
	return depth <= clientNesting
}

// frameFixed is what a content header has beside its properties: class, weight, size of the body, flags; frameExtra
// is what a frame has beside its payload. In bytes.
const (
	frameFixed = 14
	frameExtra = 8
)

// headerFits refuses what cannot be the header of a message: it would end the connection. frameMax is in bytes, 0
// is no limit.
func headerFits(p *message.Publishing, frameMax int) error {
	size, err := tableSize(p.Headers)
	if err != nil {
		return fmt.Errorf("AMQP cannot carry its headers: %w", err)
	}
	q := &p.Properties
	size += frameExtra + frameFixed + 4 // of the table's length
	if q.DeliveryMode > 0 {
		size++
	}
	if q.Priority > 0 {
		size++
	}
	if !q.Timestamp.IsZero() {
		size += 8
	}
	for _, s := range [...]string{
		q.ContentType, q.ContentEncoding, q.CorrelationID, q.ReplyTo, q.Expiration, q.MessageID, q.Type, q.UserID, q.AppID,
	} {
		if len(s) > 255 {
			return fmt.Errorf("a property has %d bytes, and 255 is the most", len(s))
		}
		if s != "" {
			size += 1 + len(s)
		}
	}
	if frameMax > 0 && size > frameMax {
		return fmt.Errorf("its headers and properties have %s, and the broker takes %s at most (frame_max)",
			model.Plural(size, "byte"), model.Plural(frameMax, "byte"))
	}
	return nil
}

// tableAt finds the table of the headers in the payload of a content header frame: payload[start:end] with its
// length in front. ok is false when there is none, or none that ends within the payload.
func tableAt(payload []byte) (start, end int, ok bool) {
	const contentType, contentEncoding, headers = 1 << 15, 1 << 14, 1 << 13
	if len(payload) < frameFixed {
		return 0, 0, false
	}
	flags := binary.BigEndian.Uint16(payload[frameFixed-2:])
	if flags&headers == 0 {
		return 0, 0, false
	}
	start = frameFixed
	for _, text := range [...]uint16{contentType, contentEncoding} {
		if flags&text != 0 && start < len(payload) {
			start += 1 + int(payload[start])
		}
	}
	if start+4 > len(payload) {
		return 0, 0, false
	}
	size := binary.BigEndian.Uint32(payload[start:])
	if uint64(size) > uint64(len(payload)-start-4) {
		return 0, 0, false
	}
	return start, start + 4 + int(size), true
}
