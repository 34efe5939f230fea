package bench

import (
	"bufio"
	octets "encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"syscall"
	"time"

	"github.com/dlxtop/dlxtop/internal/must"
)

// relay does the minimum that a client must do to move messages through sockets and lose none: it publishes each
// delivery byte by byte as it came, with another address in front, and acknowledges it once it is confirmed. It
// computes, keeps and shows nothing. What a command takes beyond that is the command's own cost; what the relay takes
// is the cost of the broker and the socket.
type relay struct {
	source, target *rawLink
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

const (
	relayed   = 1000 // messages in flight at most: the prefetch of a shovel
	frameHead = 7    // bytes: kind, channel, size

	methodFrame = 1
	headerFrame = 2
	bodyFrame   = 3
)

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
	source, err := openRaw(address)
	if err != nil {
		return err
	}
	defer source.Close()
	if err := source.consume(queue, messages); err != nil {
		return err
	}
	var bodyLeft uint64 // bytes still to come of the message
	for left := messages; left > 0; {
		frame, err := source.frame()
		if err != nil {
			return err
		}
		if bodyLeft = bodyRest(frame, bodyLeft); frame[0] != methodFrame && bodyLeft == 0 {
			left--
		}
	}
	return source.call(closed, closing, []byte{0, 200}, short(""), make([]byte, 4)) // returns them in their order
}

func ownTime() time.Duration {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		return 0
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

func relayMessages(address, from, to string, messages int) error {
	source, err := openRaw(address)
	if err != nil {
		return err
	}
	defer source.Close()
	target, err := openRaw(address)
	if err != nil {
		return err
	}
	defer target.Close()
	if err := target.call(confirmsOn, confirmSelect, []byte{0}); err != nil {
		return err
	}
	const mandatory = 1
	r := &relay{source: source, target: target, failed: make(chan error, 1), publish: frameOf(publish,
		[]byte{0, 0}, short(""), short(to), []byte{mandatory})}
	if err := source.consume(from, relayed); err != nil {
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
	return source.prefetch(relayed) // once it is answered, the broker has all acknowledgements
}

// forward publishes each delivery. When publishing fails, no more confirms are expected.
func (r *relay) forward(messages int) (err error) {
	defer func() {
		if err = errors.Join(err, r.target.out.Flush()); err != nil {
			r.target.Close()
		}
	}()
	var bodyLeft uint64 // bytes still to come of the message
	for left := messages; left > 0; {
		frame, err := r.source.frame()
		if err != nil {
			return err
		}
		bodyLeft = bodyRest(frame, bodyLeft)
		if frame[0] == methodFrame {
			if methodOf(frame) != deliver {
				continue
			}
			frame = r.publish
		}
		if _, err := r.target.out.Write(frame); err != nil {
			return err
		}
		if frame[0] != methodFrame && bodyLeft == 0 {
			left--
		}
		if r.source.in.Buffered() == 0 {
			if err := r.target.out.Flush(); err != nil {
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
		frame, err := r.target.frame()
		if err != nil {
			return err
		}
		if methodOf(frame) != acknowledge {
			return fmt.Errorf("method %x instead of a confirm", methodOf(frame))
		}
		tag := int(octets.BigEndian.Uint64(frame[frameHead+4:]))
		if multiple := frame[frameHead+12]&1 == 1; multiple {
			for i := done + 1; i <= tag; i++ {
				confirmed[i] = true
			}
		}
		confirmed[tag] = true
		for confirmed[done+1] {
			done++
		}
		if done == acknowledged || r.target.in.Buffered() > 0 && done < messages {
			continue
		}
		const multiple = 1
		r.source.method(acknowledge, octets.BigEndian.AppendUint64(nil, uint64(done)), []byte{multiple})
		if err := r.source.out.Flush(); err != nil {
			return err
		}
		acknowledged = done
	}
	return nil
}

// rawLink is one channel on one connection, without a client library.
type rawLink struct {
	net.Conn
	in   *bufio.Reader
	out  *bufio.Writer
	held []byte // the frame that was read last
}

func openRaw(address string) (*rawLink, error) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, err
	}
	conn, err := net.Dial("tcp", u.Host)
	if err != nil {
		return nil, err
	}
	const buffered = 128 << 10
	l := &rawLink{Conn: conn, in: bufio.NewReaderSize(conn, buffered), out: bufio.NewWriterSize(conn, buffered)}
	if _, err := l.out.WriteString("AMQP\x00\x00\x09\x01"); err != nil {
		return nil, err
	}
	const (
		start, startOk = 10<<16 | 10, 10<<16 | 11
		tune, tuneOk   = 10<<16 | 30, 10<<16 | 31
		open, openOk   = 10<<16 | 40, 10<<16 | 41
		channelOpen    = 20<<16 | 10
		channelOk      = 20<<16 | 11
	)
	if err := l.await(start); err != nil {
		return nil, err
	}
	l.channel(0, startOk, long(""), short("PLAIN"), long("\x00guest\x00guest"), short("en_US"))
	if err := l.await(tune); err != nil {
		return nil, err
	}
	l.channel(0, tuneOk, []byte{0, 10, 0, 2, 0, 0, 0, 0}) // 10 channels, frames of 128 KiB, no heartbeats
	l.channel(0, open, short("/"), short(""), []byte{0})
	if err := l.await(openOk); err != nil {
		return nil, err
	}
	return l, l.call(channelOk, channelOpen, short(""))
}

// prefetch limits the number of unacknowledged deliveries.
func (l *rawLink) prefetch(messages int) error {
	return l.call(qosDone, qos, make([]byte, 4), octets.BigEndian.AppendUint16(nil, uint16(messages)), []byte{0})
}

// consume begins deliveries with the prefetch as their limit.
func (l *rawLink) consume(queue string, prefetch int) error {
	if err := l.prefetch(prefetch); err != nil {
		return err
	}
	l.method(consume, []byte{0, 0}, short(queue), short(""), []byte{0}, []byte{0, 0, 0, 0})
	return l.out.Flush()
}

func (l *rawLink) call(answer, method uint32, arguments ...[]byte) error {
	l.method(method, arguments...)
	return l.await(answer)
}

// await flushes and reads until the method arrives.
func (l *rawLink) await(method uint32) error {
	if err := l.out.Flush(); err != nil {
		return err
	}
	for {
		frame, err := l.frame()
		if err != nil {
			return fmt.Errorf("waiting for method %x: %w", method, err)
		}
		if methodOf(frame) == method {
			return nil
		}
	}
}

// frame reads a frame, from its kind to its end. The frame is valid until the next read.
func (l *rawLink) frame() ([]byte, error) {
	head, err := l.in.Peek(frameHead)
	if err != nil {
		return nil, err
	}
	size := frameHead + int(octets.BigEndian.Uint32(head[3:])) + 1
	if cap(l.held) < size {
		l.held = make([]byte, size)
	}
	l.held = l.held[:size]
	_, err = io.ReadFull(l.in, l.held)
	return l.held, err
}

// method writes a method; the next flush reports a failed write.
func (l *rawLink) method(method uint32, arguments ...[]byte) { l.channel(1, method, arguments...) }

func (l *rawLink) channel(channel byte, method uint32, arguments ...[]byte) {
	frame := frameOf(method, arguments...)
	frame[2] = channel
	_, _ = l.out.Write(frame)
}

func frameOf(method uint32, arguments ...[]byte) []byte {
	size := 4
	for _, a := range arguments {
		size += len(a)
	}
	frame := octets.BigEndian.AppendUint32([]byte{methodFrame, 0, 1}, uint32(size))
	frame = octets.BigEndian.AppendUint32(frame, method)
	for _, a := range arguments {
		frame = append(frame, a...)
	}
	const end = 0xCE
	return append(frame, end)
}

// bodyRest returns how many bytes of a message's body follow a frame; left is the number before that frame.
func bodyRest(frame []byte, left uint64) uint64 {
	const sizeAt = 4
	switch payload := frame[frameHead : len(frame)-1]; frame[0] {
	case headerFrame:
		return octets.BigEndian.Uint64(payload[sizeAt:])
	case bodyFrame:
		return left - uint64(len(payload))
	}
	return left
}

func methodOf(frame []byte) uint32 {
	if frame[0] != methodFrame {
		return 0
	}
	return octets.BigEndian.Uint32(frame[frameHead:])
}

func short(s string) []byte { return append([]byte{byte(len(s))}, s...) }

func long(s string) []byte { return append(octets.BigEndian.AppendUint32(nil, uint32(len(s))), s...) }
