package broker_test

import (
	"encoding/binary"
	"io"
	"math/rand/v2"
	"net"
	"net/url"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/dlxtop/dlxtop/demo"
	"github.com/dlxtop/dlxtop/internal/dial"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/internal/seed"
)

// cable is a TCP proxy to a node that can cut, delay, stall, and send something wrong in its client's name.
type cable struct {
	sync.Mutex
	conns []net.Conn
	ends  []string     // the addresses as seen by the node
	bytes atomic.Int64 // sent to the node
	limit int64        // cuts itself after this many; 0: never
	// if set, it is not cut, but a connection that sent this many stalls until the channel is closed
	stall chan struct{}

	far             atomic.Pointer[string] // host:port
	latency, jitter time.Duration          // in each direction; packets keep their order
	random          *rand.Rand
	pausedUntil     atomic.Int64           // nothing is delivered before: nanoseconds since 1970
	struck          atomic.Pointer[strike] // nil: no fault
	// a wrong acknowledgement is sent to the node before this method, once; 0: never
	poison   atomic.Int64
	venom    func(channel uint16) []byte // the frame sent before the poisoned method; nil: wrongAck
	consumes func(n int)                 // if set, called before the nth basic.consume is sent to the node
	consumed atomic.Int64
	// if not 0, the first delivery on a channel, and what the channel gets behind it, comes so much later to the client
	late time.Duration
}

// strike is a fault that happens once, when this many bytes were sent to the node, before the last of them arrive
// there.
type strike struct {
	at    int64
	do    func()
	once  sync.Once
	begun atomic.Bool
	done  chan struct{} // closed when do has returned; nil: nothing waits for it
}

func (s *strike) strike() {
	s.once.Do(func() {
		s.begun.Store(true)
		s.do()
		if s.done != nil {
			close(s.done)
		}
	})
}

// The methods of AMQP's class basic that a cable recognizes.
const (
	basicConsume = 20
	basicPublish = 40
	basicDeliver = 60
	basicAck     = 80
)

func newCable(t testing.TB, limit int64) (*cable, string) {
	t.Helper()
	c := &cable{limit: limit, random: seed.Rand(t)}
	return c, c.lay(t, node)
}

// lay connects a cable to a node, and returns the URL of its near end.
func (c *cable) lay(t testing.TB, n *demo.Node) string {
	t.Helper()
	u := must.Get(url.Parse(n.AMQP()))(t)
	c.lead(t, n)
	t.Cleanup(c.cut)
	from := net.Dialer{LocalAddr: ownAddress()}
	u.Host = dial.Serve(t, dial.Listen(t), func(near net.Conn) {
		far, err := from.Dial("tcp", *c.far.Load())
		if err != nil {
			near.Close()
			return
		}

		c.Lock()
		c.conns = append(c.conns, near, far)
		c.ends = append(c.ends, far.LocalAddr().String())
		c.Unlock()
		if c.late != 0 {
			go c.deliverLate(near, far)
		} else {
			go c.carry(near, far)
		}
		go c.carry(far, &frames{from: &counted{Conn: near, cable: c}, cable: c})
	})

	return u.String()
}

// ownAddress returns an address that only one cable dials from, so that the broker's names for its connections are
// unique: Linux reuses a port within minutes, and a long-lived application may get it. Elsewhere it is nil, and a port
// may be mistaken for a cable's.
func ownAddress() net.Addr {
	if runtime.GOOS != "linux" {
		return nil // only 127.0.0.1 exists
	}
	n := addresses.Add(1)
	return &net.TCPAddr{IP: net.IPv4(127, 64, byte(n>>8), byte(n))}
}

// addresses counts the cables with their own address.
var addresses atomic.Uint32

// throughAs returns a URL of the node, including the user, that leads through the cable.
func (c *cable) throughAs(t *testing.T, address string) string {
	t.Helper()
	u := must.Get(url.Parse(address))(t)
	near := must.Get(url.Parse(c.lay(t, node)))(t)
	u.Host = near.Host
	return u.String()
}

// lead makes new connections end at another node.
func (c *cable) lead(t testing.TB, n *demo.Node) {
	t.Helper()
	u := must.Get(url.Parse(n.AMQP()))(t)
	c.far.Store(&u.Host)
}

// carry copies one direction of a connection, until it ends.
func (c *cable) carry(to net.Conn, from io.Reader) {
	defer to.Close()
	if c.latency == 0 {
		_, _ = io.Copy(to, from)
		return
	}

	type packet struct {
		due   time.Time
		bytes []byte
	}

	under := make(chan packet, 1000) // in flight
	go func() {
		defer close(under)
		buffer := make([]byte, 64<<10)
		for {
			n, err := from.Read(buffer)
			if n > 0 {
				due := time.Now().Add(c.latency + seed.Within(c.random, 2*c.jitter) - c.jitter)
				under <- packet{due, append([]byte(nil), buffer[:n]...)}
			}
			if err != nil {
				return
			}
		}
	}()

	for p := range under {
		due := p.due
		if paused := time.Unix(0, c.pausedUntil.Load()); paused.After(due) {
			due = paused
		}
		time.Sleep(time.Until(due))
		if _, err := to.Write(p.bytes); err != nil {
			to.Close()
			for range under {
			}
		}
	}
}

// deliverLate carries what a node sends, and what the channels with deliveries get later than the others.
func (c *cable) deliverLate(to net.Conn, from io.Reader) {
	defer to.Close()
	var writing sync.Mutex
	write := func(frame []byte) {
		writing.Lock()
		defer writing.Unlock()
		_, _ = to.Write(frame)
	}

	behind := map[uint16]chan []byte{}
	defer func() {
		for _, frames := range behind {
			close(frames)
		}
	}()

	read := frames{from: from, cable: c, started: true}
	for read.next() == nil {
		frame := slices.Clone(read.whole)
		read.whole = nil
		channel := binary.BigEndian.Uint16(frame[1:])

		if behind[channel] == nil && isMethod(frame, basicDeliver) {
			frames := make(chan []byte, 1000)
			behind[channel] = frames
			time.AfterFunc(c.late, func() {
				for frame := range frames {
					write(frame)
				}
			})
		}

		if frames := behind[channel]; frames != nil {
			frames <- frame
		} else {
			write(frame)
		}
	}
}

// isMethod reports whether a frame is a method of AMQP's class basic.
func isMethod(frame []byte, method uint16) bool {
	const kind, basic = 1, 60
	return frame[0] == kind && binary.BigEndian.Uint16(frame[7:]) == basic && binary.BigEndian.Uint16(frame[9:]) == method
}

func (c *cable) cut() {
	c.Lock()
	defer c.Unlock()
	for _, conn := range c.conns {
		conn.Close()
	}
	c.conns = nil
}

// counted counts what it reads, and cuts the cable at its limit, or stalls at its own.
type counted struct {
	net.Conn
	cable *cable
	bytes int64
}

func (r *counted) Read(p []byte) (int, error) {
	n, err := r.Conn.Read(p)
	r.bytes += int64(n)
	total := r.cable.bytes.Add(int64(n))
	if s := r.cable.struck.Load(); s != nil && total >= s.at {
		s.strike()
	}

	switch c := r.cable; {
	case c.limit == 0:
	case c.stall == nil && total > c.limit:
		c.cut()
	case c.stall != nil && r.bytes > c.limit:
		<-c.stall
	}

	return n, err
}

// frames reads a client's AMQP frames one by one, and inserts a wrong acknowledgement when the cable says so.
type frames struct {
	from    io.Reader
	cable   *cable
	started bool
	whole   []byte // to be read before the next frame
}

func (f *frames) Read(p []byte) (int, error) {
	if len(f.whole) == 0 {
		if err := f.next(); err != nil {
			return 0, err
		}
	}

	n := copy(p, f.whole)
	f.whole = f.whole[n:]
	return n, nil
}

func (f *frames) next() error {
	if !f.started { // the protocol header
		f.started = true
		f.whole = make([]byte, 8)
		_, err := io.ReadFull(f.from, f.whole)
		return err
	}

	head := make([]byte, 7)
	if _, err := io.ReadFull(f.from, head); err != nil {
		return err
	}
	frame := append(head, make([]byte, int(binary.BigEndian.Uint32(head[3:]))+1)...)
	if _, err := io.ReadFull(f.from, frame[7:]); err != nil {
		return err
	}
	if m := f.cable.poison.Load(); m != 0 && isMethod(frame, uint16(m)) && f.cable.poison.CompareAndSwap(m, 0) {
		venom := wrongAck
		if f.cable.venom != nil {
			venom = f.cable.venom
		}
		f.whole = append(f.whole[:0], venom(binary.BigEndian.Uint16(frame[1:]))...)
	}

	if f.cable.consumes != nil && isMethod(frame, basicConsume) {
		f.cable.consumes(int(f.cable.consumed.Add(1)))
	}

	f.whole = append(f.whole, frame...)
	return nil
}

// wrongAck returns a frame that acknowledges a delivery that never existed: the broker closes the channel (406).
func wrongAck(channel uint16) []byte {
	frame := []byte{1, 0, 0, 0, 0, 0, 13, 0, 60, 0, basicAck}
	binary.BigEndian.PutUint16(frame[1:], channel)
	frame = binary.BigEndian.AppendUint64(frame, 1<<40)
	return append(frame, 0, 0xce) // not multiple; the frame's end
}

// strayAck returns a frame with an acknowledgement on channel 0: the broker closes the connection.
func strayAck(uint16) []byte { return wrongAck(0) }

// brokenAck returns a frame with an acknowledgement that is truncated after its class and method: the broker closes the
// connection.
func brokenAck(channel uint16) []byte {
	return append(binary.BigEndian.AppendUint16([]byte{1}, channel), 0, 0, 0, 4, 0, 60, 0, basicAck, 0xce)
}
