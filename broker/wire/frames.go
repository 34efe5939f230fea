package wire

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"io"
	"math"
	"sync/atomic"
)

const (
	frameHead = 7    // bytes before a frame's payload: type, channel, size
	frameEnd  = 0xCE // after it

	frameMethod    = 1 // also the first that a broker sends
	frameHeader    = 2
	frameBody      = 3
	frameHeartbeat = 8

	smallestFrame = 4096 // bytes that every peer accepts
)

// incoming is the stream of bytes from a broker, frame by frame, with the properties of each message moved in front of
// its body. Anything but AMQP passes unchanged.
type incoming struct {
	from  *bufio.Reader
	ready []byte       // returned next
	rest  int64        // bytes of the frame that is passed on as it arrives
	left  int64        // bytes of the message's body after this frame
	came  atomic.Int64 // whole messages
	asIs  bool         // the rest passes unread
	spare []byte       // the buffer for the next ready
}

const noMessage = -1

func newIncoming(from *bufio.Reader) *incoming { return &incoming{from: from, left: noMessage} }

// Read implements io.Reader. It does not wait when it has something to return.
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
			if r.rest -= int64(c); r.rest == 0 && r.left == 0 {
				r.came.Add(1)
				r.left = noMessage
			}

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

// whole reports whether the next frame can be read without waiting.
func (r *incoming) whole() bool {
	if r.from.Buffered() < frameHead {
		return false
	}
	frame, _ := r.from.Peek(frameHead)
	if frame[0] != frameHeader {
		return true
	}

	return int64(r.from.Buffered()) >= frameSize(frame)
}

// next begins the next frame. It only returns the connection's error if nothing was received before it.
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
	total := frameSize(head)
	switch {
	case kind != frameHeader:
		r.rest = total
		if kind == frameBody && r.left > 0 {
			r.left -= total - frameExtra
		}
		return nil
	case total <= int64(r.from.Size()):
		frame, err := r.from.Peek(int(total))
		if err != nil {
			return r.broken(err)
		}
		if r.ready = r.disguised(frame); r.ready == nil {
			r.rest = total
		} else {
			_, _ = r.from.Discard(int(total)) // they are buffered
		}

		return nil
	}

	var long bytes.Buffer // it grows as bytes arrive
	_, err = io.CopyN(&long, r.from, total)
	frame := long.Bytes()
	if err != nil {
		r.ready, r.asIs = frame, true
		return nil
	}

	if r.ready = r.disguised(frame); r.ready == nil {
		r.ready = frame
	}

	return nil
}

// broken ends the reading of frames: the received part of the last one is returned before the error.
func (r *incoming) broken(err error) error {
	r.asIs = true
	if r.from.Buffered() > 0 {
		return nil
	}
	return err
}

// disguised returns the replacement for a content header frame: one without properties, and body frames with them. It
// is nil for a damaged frame: amqp091-go then closes the connection.
func (r *incoming) disguised(frame []byte) []byte {
	properties, ok := propertiesOf(frame)
	if !ok {
		return nil
	}
	front := append(binary.BigEndian.AppendUint32(nil, uint32(len(properties))), properties...)
	body := bodySize(frame)
	if body > math.MaxInt64-uint64(len(front)) {
		return nil
	}
	out := appendHeader(r.spare[:0], frame, body+uint64(len(front)))
	for len(front) > 0 {
		n := min(len(front), smallestFrame-frameExtra)
		out = appendFrame(out, frameBody, frame[1:3], func(b []byte) []byte { return append(b, front[:n]...) })
		front = front[n:]
	}

	if r.spare = nil; cap(out) <= readAhead {
		r.spare = out
	}

	r.left = int64(body)
	if body == 0 {
		r.came.Add(1)
		r.left = noMessage
	}

	return out
}

// frameSize returns the size of a frame in bytes, from its head.
func frameSize(head []byte) int64 { return frameExtra + int64(binary.BigEndian.Uint32(head[3:])) }

// bodySize returns the size of a message's body in bytes, from its content header frame; 0 when that is too short.
func bodySize(frame []byte) uint64 {
	if len(frame) < frameFixed+frameExtra {
		return 0
	}
	return binary.BigEndian.Uint64(frame[frameHead+4:])
}

// propertiesOf finds the properties in a content header frame, flags first. ok is false when the frame is damaged, or
// has something after them: RabbitMQ refuses that (541; 3.10.8, 4.0.5, 4.3.6).
func propertiesOf(frame []byte) (properties []byte, ok bool) {
	if len(frame) < frameFixed+frameExtra || frame[len(frame)-1] != frameEnd {
		return nil, false
	}
	properties = frame[frameHead+frameBefore : len(frame)-1]
	return properties, complete(properties)
}

// appendHeader writes a content header frame without its properties, and with another body size.
func appendHeader(b, frame []byte, body uint64) []byte {
	return appendFrame(b, frame[0], frame[1:3], func(b []byte) []byte {
		b = binary.BigEndian.AppendUint64(append(b, frame[frameHead:frameHead+4]...), body)
		return append(b, 0, 0)
	})
}

// appendFrame writes a frame with the payload that write appends.
func appendFrame(b []byte, kind byte, channel []byte, write func([]byte) []byte) []byte {
	return append(counted(append(append(b, kind), channel...), write), frameEnd)
}

// outgoing is the stream of bytes to a broker, frame by frame. It inserts the properties of messages, which amqp091-go
// publishes without any.
type outgoing struct {
	properties []byte // for the next content header; nil: it passes unchanged
	greeting   int    // remaining bytes of the protocol header
	held       []byte // the beginning of a frame
}

func newOutgoing() *outgoing { return &outgoing{greeting: len("AMQP\x00\x00\x09\x01")} }

// add appends the frames that p completes to what waits to be written.
func (w *outgoing) add(waiting, p []byte) []byte {
	n := min(w.greeting, len(p))
	waiting = append(waiting, p[:n]...)
	p = p[n:]
	w.greeting -= n
	w.held = append(w.held, p...)
	rest := w.held
	for len(rest) >= frameHead && int64(len(rest)) >= frameSize(rest) {
		frame := rest[:frameSize(rest)]
		if rest = rest[len(frame):]; frame[0] == frameHeader {
			waiting = w.header(waiting, frame)
		} else {
			waiting = append(waiting, frame...)
		}
	}

	if len(rest) < len(w.held) {
		w.held = append(w.held[:0], rest...)
	}

	return waiting
}

// header appends a content header frame, with the properties.
func (w *outgoing) header(b, frame []byte) []byte {
	if w.properties == nil || len(frame) < frameExtra+frameBefore {
		return append(b, frame...)
	}
	b = appendFrame(b, frame[0], frame[1:3], func(b []byte) []byte {
		return append(append(b, frame[frameHead:frameHead+frameBefore]...), w.properties...)
	})
	w.properties = nil
	return b
}
