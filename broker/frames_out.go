package broker

import "encoding/binary"

// outgoing are the bytes for a broker, frame by frame, with the tables of headers that the stand-ins carry.
type outgoing struct {
	greeting int    // bytes of the protocol's name that are still to come
	rest     int64  // bytes of the frame that passes as it comes
	held     []byte // the beginning of a frame
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
				waiting = restored(waiting, w.held)
				w.held = w.held[:0]
			}
		}
	}
	return waiting
}

// size is that of the frame whose head is held, in bytes.
func (w *outgoing) size() int { return frameExtra + int(binary.BigEndian.Uint32(w.held[3:])) }

// restored appends a content header frame, with the table that its stand-in carries, if it has one.
func restored(b, frame []byte) []byte {
	payload := frame[frameHead : len(frame)-1]
	start, end, ok := tableAt(payload)
	name := 1 + len(standIn)
	if !ok || end-start < tableLength+name+5 {
		return append(b, frame...)
	}
	entry := payload[start+tableLength : end]
	if string(entry[1:name]) != standIn {
		return append(b, frame...)
	}
	table := entry[name+5:] // behind the letter of its type and its length
	return appendFrame(b, frame[0], frame[1:3], func(b []byte) []byte {
		b = binary.BigEndian.AppendUint32(append(b, payload[:start]...), uint32(len(table)))
		return append(append(b, table...), payload[end:]...)
	})
}
