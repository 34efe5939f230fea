package broker

import (
	"bufio"
	"encoding/binary"
	"math"
)

const (
	frameHead = 7    // bytes in front of a frame's payload: type, channel, size
	frameEnd  = 0xCE // behind it

	frameMethod    = 1 // and what a broker says first
	frameHeader    = 2
	frameBody      = 3
	frameHeartbeat = 8

	smallestFrame = 4096 // bytes that every peer takes
)

// incoming are the bytes of a broker, frame by frame, with the headers of each message in front of its body. What is no
// AMQP passes as it is.
type incoming struct {
	from  *bufio.Reader
	ready []byte // is handed out next
	rest  int64  // bytes of the frame that is handed out as it comes
	asIs  bool   // nothing is looked at any more
	spare []byte // for what is ready next
}

func newIncoming(from *bufio.Reader) *incoming { return &incoming{from: from} }

// Read implements io.Reader. It waits for nothing when it has something to return.
func (r *incoming) Read(p []byte) (n int, err error) {
	for n < len(p) {
		switch {
		case len(r.ready) > 0:
			c := copy(p[n:], r.ready)
			r.ready, n = r.ready[c:], n+c
		case r.rest > 0 || r.asIs:
			if n > 0 && r.from.Buffered() == 0 {
				return n, nil
			}
			most := p[n:]
			if !r.asIs {
				most = most[:min(int64(len(most)), r.rest)]
			}
			c, err := r.from.Read(most)
			n += c
			r.rest -= int64(c)
			if err != nil {
				return n, err
			}
		default:
			if n > 0 && !r.whole() {
				return n, nil
			}
			if err := r.next(); err != nil {
				return n, err
			}
		}
	}
	return n, nil
}

// whole reports whether the next frame can be begun without waiting.
func (r *incoming) whole() bool {
	if r.from.Buffered() < frameHead {
		return false
	}
	head, _ := r.from.Peek(frameHead)
	return head[0] != frameHeader || int64(r.from.Buffered()) >= frameExtra+int64(binary.BigEndian.Uint32(head[3:]))
}

// next begins the next frame. The error is that of the connection, when nothing came before it.
func (r *incoming) next() error {
	first, err := r.from.Peek(1)
	if err != nil {
		return r.broken(err)
	}
	kind := first[0]
	if kind != frameMethod && kind != frameHeader && kind != frameBody && kind != frameHeartbeat {
		r.asIs = true
		return nil
	}
	head, err := r.from.Peek(frameHead)
	if err != nil {
		return r.broken(err)
	}
	total := frameExtra + int64(binary.BigEndian.Uint32(head[3:]))
	switch {
	case kind != frameHeader:
		r.rest = total
		return nil
	case total <= int64(r.from.Size()):
		frame, err := r.from.Peek(int(total))
		if err != nil {
			return r.broken(err)
		}
		if r.ready = r.disguised(frame); r.ready == nil {
			r.rest = total
		} else {
			_, _ = r.from.Discard(int(total)) // which it has
		}
		return nil
	}
	frame, err := r.long(total)
	if err != nil {
		r.ready, r.asIs = frame, true
		return nil
	}
	if r.ready = r.disguised(frame); r.ready == nil {
		r.ready = frame
	}
	return nil
}

// broken ends the reading of frames: what came of the last one is handed out before the error.
func (r *incoming) broken(err error) error {
	r.asIs = true
	if r.from.Buffered() > 0 {
		return nil
	}
	return err
}

// long reads a frame that is larger than the buffer. It takes memory as bytes come.
func (r *incoming) long(total int64) ([]byte, error) {
	var frame []byte
	for int64(len(frame)) < total {
		start := len(frame)
		frame = append(frame, make([]byte, min(total-int64(start), readAhead))...)
		n, err := r.from.Read(frame[start:])
		frame = frame[:start+n]
		if err != nil {
			return frame, err
		}
	}
	return frame, nil
}

// disguised is what stands for a content header frame: one without headers, and a frame of the body that has them. It
// is nil when the frame is damaged: amqp091-go then ends the connection.
func (r *incoming) disguised(frame []byte) []byte {
	payload := frame[frameHead : len(frame)-1]
	start, end, ok := tableAt(payload)
	if !ok || frame[len(frame)-1] != frameEnd {
		return nil
	}
	table := payload[start:end]
	if len(table) == 0 {
		table = noTable[:]
	}
	body := binary.BigEndian.Uint64(payload[4:])
	if body > math.MaxInt64-uint64(len(table)) {
		return nil
	}
	flags := binary.BigEndian.Uint16(payload[frameFixed-2:])
	out := appendFrame(r.spare[:0], frame[0], frame[1:3], func(b []byte) []byte {
		b = binary.BigEndian.AppendUint64(append(b, payload[:4]...), body+uint64(len(table)))
		b = binary.BigEndian.AppendUint16(b, flags&^withHeaders)
		return append(append(b, payload[frameFixed:start]...), payload[end:]...)
	})
	for len(table) > 0 {
		n := min(len(table), smallestFrame-frameExtra)
		out = appendFrame(out, frameBody, frame[1:3], func(b []byte) []byte { return append(b, table[:n]...) })
		table = table[n:]
	}
	if r.spare = nil; cap(out) <= readAhead {
		r.spare = out
	}
	return out
}

// noTable is the length of a table that is not there.
var noTable [tableLength]byte

// appendFrame writes a frame with the payload that write appends.
func appendFrame(b []byte, kind byte, channel []byte, write func([]byte) []byte) []byte {
	b = append(append(b, kind), channel...)
	start := len(b)
	b = write(append(b, 0, 0, 0, 0))
	binary.BigEndian.PutUint32(b[start:], uint32(len(b)-start-4))
	return append(b, frameEnd)
}
