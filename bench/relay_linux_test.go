package bench

import (
	octets "encoding/binary"
	"errors"
	"fmt"
	"syscall"
	"time"

	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/internal/raw"
)

// relay does the minimum that a client must do to move messages through sockets and lose none: it publishes each
// delivery byte by byte as it came, with another address in front, and acknowledges it once it is confirmed. It
// computes, keeps and shows nothing. What a command takes beyond that is the command's own cost; what the relay takes
// is the cost of the broker and the socket.
type relay struct {
	source, target *raw.Link
	publish        []byte // the frame of basic.publish
	failed         chan error
}

// The methods that a relay writes and reads: class and method in one number.
const (
	qos           = 60<<16 | 10
	qosDone       = 60<<16 | 11
	consume       = 60<<16 | 20
	deliver       = 60<<16 | 60
	publish       = 60<<16 | 40
	acknowledge   = 60<<16 | 80
	confirmSelect = 85<<16 | 10
	confirmsOn    = 85<<16 | 11
	closing       = 20<<16 | 40
	closed        = 20<<16 | 41
)

const relayed = 1000 // messages in flight at most: the prefetch of a shovel

// relay moves all messages, and counts its processor time as a command's.
func (c *bench) relay(from, to string) {
	c.Helper()
	began := ownTime()
	must.Do(c, relayMessages(c.node.AMQP(), from, to, c.messages))
	c.await(to)
	c.own += ownTime() - began
}

// look takes all messages and returns them, the minimum that every peek does, and counts its processor time as a
// command's.
func (c *bench) look(queue string) {
	c.Helper()
	began := ownTime()
	must.Do(c, lookAtMessages(c.node.AMQP(), queue, c.messages))
	c.own += ownTime() - began
}

func lookAtMessages(address, queue string, messages int) error {
	source, err := raw.Open(address)
	if err != nil {
		return err
	}
	defer source.Close()
	if err := consumeFrom(source, queue, messages); err != nil {
		return err
	}
	var bodyLeft uint64 // bytes still to come of the message
	for left := messages; left > 0; {
		frame, err := source.Frame()
		if err != nil {
			return err
		}
		if bodyLeft = bodyRest(frame, bodyLeft); frame[0] != raw.MethodFrame && bodyLeft == 0 {
			left--
		}
	}

	return source.Call(closed, closing, []byte{0, 200}, raw.Short(""), make([]byte, 4)) // returns them in their order
}

func ownTime() time.Duration {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		return 0
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

func relayMessages(address, from, to string, messages int) error {
	source, err := raw.Open(address)
	if err != nil {
		return err
	}
	defer source.Close()
	target, err := raw.Open(address)
	if err != nil {
		return err
	}
	defer target.Close()
	if err := target.Call(confirmsOn, confirmSelect, []byte{0}); err != nil {
		return err
	}

	const mandatory = 1
	r := &relay{source: source, target: target, failed: make(chan error, 1), publish: raw.MethodFrameOf(publish,
		[]byte{0, 0}, raw.Short(""), raw.Short(to), []byte{mandatory})}
	if err := consumeFrom(source, from, relayed); err != nil {
		return err
	}
	go func() { r.failed <- r.forward(messages) }()
	settled := r.settle(messages)
	if settled != nil {
		source.Close() // stops further deliveries
	}
	if err := errors.Join(settled, <-r.failed); err != nil {
		return err
	}

	return setPrefetch(source, relayed) // once it is answered, the broker has all acknowledgements
}

// forward publishes each delivery. When publishing fails, no more confirms are expected.
func (r *relay) forward(messages int) (err error) {
	defer func() {
		if err = errors.Join(err, r.target.Out.Flush()); err != nil {
			r.target.Close()
		}
	}()

	var bodyLeft uint64 // bytes still to come of the message
	for left := messages; left > 0; {
		frame, err := r.source.Frame()
		if err != nil {
			return err
		}
		bodyLeft = bodyRest(frame, bodyLeft)
		if frame[0] == raw.MethodFrame {
			if raw.MethodOf(frame) != deliver {
				continue
			}
			frame = r.publish
		}

		if _, err := r.target.Out.Write(frame); err != nil {
			return err
		}
		if frame[0] != raw.MethodFrame && bodyLeft == 0 {
			left--
		}

		if r.source.In.Buffered() == 0 {
			if err := r.target.Out.Flush(); err != nil {
				return err
			}
		}
	}

	return nil
}

// settle acknowledges confirmed messages: the n-th delivery is the n-th publish.
func (r *relay) settle(messages int) error {
	confirmed := make([]bool, messages+2)
	done, acknowledged := 0, 0 // all deliveries up to these
	for acknowledged < messages {
		frame, err := r.target.Frame()
		if err != nil {
			return err
		}
		if raw.MethodOf(frame) != acknowledge {
			return fmt.Errorf("method %x instead of a confirm", raw.MethodOf(frame))
		}
		tag := int(octets.BigEndian.Uint64(frame[raw.FrameHead+4:]))
		if multiple := frame[raw.FrameHead+12]&1 == 1; multiple {
			for i := done + 1; i <= tag; i++ {
				confirmed[i] = true
			}
		}

		confirmed[tag] = true
		for confirmed[done+1] {
			done++
		}
		if done == acknowledged || r.target.In.Buffered() > 0 && done < messages {
			continue
		}
		const multiple = 1
		r.source.Method(acknowledge, octets.BigEndian.AppendUint64(nil, uint64(done)), []byte{multiple})
		if err := r.source.Out.Flush(); err != nil {
			return err
		}
		acknowledged = done
	}

	return nil
}

// setPrefetch limits the number of unacknowledged deliveries.
func setPrefetch(l *raw.Link, messages int) error {
	return l.Call(qosDone, qos, make([]byte, 4), octets.BigEndian.AppendUint16(nil, uint16(messages)), []byte{0})
}

// consumeFrom begins deliveries with the prefetch as their limit.
func consumeFrom(l *raw.Link, queue string, prefetch int) error {
	if err := setPrefetch(l, prefetch); err != nil {
		return err
	}
	l.Method(consume, []byte{0, 0}, raw.Short(queue), raw.Short(""), []byte{0}, []byte{0, 0, 0, 0})
	return l.Out.Flush()
}

// bodyRest returns how many bytes of a message's body follow a frame; left is the number before that frame.
func bodyRest(frame []byte, left uint64) uint64 {
	const sizeAt = 4
	switch payload := raw.Payload(frame); frame[0] {
	case raw.HeaderFrame:
		return octets.BigEndian.Uint64(payload[sizeAt:])
	case raw.BodyFrame:
		return left - uint64(len(payload))
	}

	return left
}
