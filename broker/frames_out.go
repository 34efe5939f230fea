package broker

import "encoding/binary"

// outgoing are the bytes for a broker, frame by frame, with what of messages that are published passes by amqp091-go.
type outgoing struct {
	properties []byte // of the next content header; nil: it passes as it is
	body       []byte // behind it, when it says that there is none
	greeting   int    // bytes of the protocol's name that are still to come
	rest       int64  // bytes of the frame that passes as it comes
	held       []byte // the beginning of a frame
}

func newOutgoing() *outgoing { return &outgoing{greeting: len("AMQP\x00\x00\x09\x01")} }

// add appends to what waits to be written: frames may come in pieces.
func (w *outgoing) add(waiting, p []byte) []byte {
	for len(p) > 0 {
		switch {
		case w.greeting > 0:
			n := min(w.greeting, len(p))
			waiting = append(waiting, p[:n]...)
			p, w.greeting = p[n:], w.greeting-n
		case w.rest > 0:
			n := min(w.rest, int64(len(p)))
			waiting = append(waiting, p[:n]...)
			p, w.rest = p[n:], w.rest-n
		default:
			need := frameHead
			if len(w.held) >= frameHead {
				need = w.size()
			}
			n := min(need-len(w.held), len(p))
			w.held = append(w.held, p[:n]...)
			p = p[n:]
			switch {
			case len(w.held) == frameHead && w.held[0] != frameHeader:
				waiting = append(waiting, w.held...)
				w.rest = int64(w.size() - frameHead)
				w.held = w.held[:0]
			case len(w.held) > frameHead && len(w.held) == w.size():
				waiting = w.header(waiting)
				w.held = w.held[:0]
			}
		}
	}
	return waiting
}

// size is that of the frame whose head is held, in bytes.
func (w *outgoing) size() int { return frameExtra + int(binary.BigEndian.Uint32(w.held[3:])) }

// header appends the content header frame that is held.
func (w *outgoing) header(b []byte) []byte {
	const before = frameFixed - 2 // the flags are the beginning of the properties
	if w.properties == nil || len(w.held) < frameExtra+before {
		return append(b, w.held...)
	}
	b = appendFrame(b, w.held[0], w.held[1:3], func(b []byte) []byte {
		b = append(b, w.held[frameHead:frameHead+before]...)
		if len(w.body) > 0 {
			binary.BigEndian.PutUint64(b[len(b)-8:], uint64(len(w.body)))
		}
		return append(b, w.properties...)
	})
	if len(w.body) > 0 {
		b = appendFrame(b, frameBody, w.held[1:3], func(b []byte) []byte { return append(b, w.body...) })
	}
	w.properties, w.body = nil, nil
	return b
}
