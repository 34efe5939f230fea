package broker

import (
	"encoding/binary"
	"fmt"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/message"
)

// Tables of headers pass by amqp091-go 1.16. There are some that it cannot read, or cannot write, and RabbitMQ takes
// them (3.10.8, 4.0.5, 4.3.6): of two values with one name it keeps the last, and where it meets an unsigned 64-bit
// number, more than 32 tables in each other or 8192 values in one, it closes the connection, with everything that is
// held on it, and the message is delivered again. All others it reads value by value through a stream: a search took 20
// µs of a processor for a message that had died twice, and takes 12 without that.
//
// On the way in, the wire takes the table out of the content header. It keeps it with the body (contents.go), or, where
// the body is too large for that, puts it in front of it, behind its length: four zero bytes of a message without
// headers. So a header that is larger than a frame passes, too.
//
// On the way out, a message is published without properties, and the wire writes them, headers included, in the place
// of none.

// tableLength is what the length of a table has, in bytes.
const tableLength = 4

// appendProperties writes the properties of a message, its headers among them, as a content header has them: flags
// first. headerFits has measured them.
func appendProperties(b []byte, p *message.Publishing) []byte {
	q, start := &p.Properties, len(b)
	flags, flag := uint16(0), uint16(1<<15)
	has := func(there bool) bool {
		if there {
			flags |= flag
		}
		flag >>= 1
		return there
	}
	texts := func(all ...string) {
		for _, s := range all {
			if has(s != "") {
				b = append(append(b, byte(len(s))), s...)
			}
		}
	}
	b = append(b, 0, 0)
	texts(q.ContentType, q.ContentEncoding)
	if has(len(p.Headers) > 0) {
		at := len(b)
		b = encodeTable(append(b, noTable[:]...), p.Headers)
		binary.BigEndian.PutUint32(b[at:], uint32(len(b)-at-tableLength))
	}
	for _, n := range [...]uint8{q.DeliveryMode, q.Priority} {
		if has(n > 0) {
			b = append(b, n)
		}
	}
	texts(q.CorrelationID, q.ReplyTo, q.Expiration, q.MessageID)
	if has(!q.Timestamp.IsZero()) {
		b = binary.BigEndian.AppendUint64(b, uint64(q.Timestamp.Unix()))
	}
	texts(q.Type, q.UserID, q.AppID)
	binary.BigEndian.PutUint16(b[start:], flags)
	return b
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
	size += frameExtra + frameFixed + tableLength
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

// withHeaders is the flag of a content header that has headers.
const withHeaders = 1 << 13

// tableAt finds the table of the headers in the payload of a content header frame: payload[start:end], which begins
// with its length and is empty when there is none. ok is false when the payload is damaged up to there.
func tableAt(payload []byte) (start, end int, ok bool) {
	const contentType, contentEncoding = 1 << 15, 1 << 14
	if len(payload) < frameFixed {
		return 0, 0, false
	}
	flags := binary.BigEndian.Uint16(payload[frameFixed-2:])
	start = frameFixed
	for _, text := range [...]uint16{contentType, contentEncoding} {
		if flags&text != 0 && start < len(payload) {
			start += 1 + int(payload[start])
		}
	}
	if flags&withHeaders == 0 {
		return start, start, start <= len(payload)
	}
	if start+tableLength > len(payload) {
		return 0, 0, false
	}
	size := binary.BigEndian.Uint32(payload[start:])
	if uint64(size) > uint64(len(payload)-start-tableLength) {
		return 0, 0, false
	}
	return start, start + tableLength + int(size), true
}
