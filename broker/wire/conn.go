// Package wire is what lies below the client library: a network connection that reads and writes many AMQP frames at
// once, and hands properties and headers of messages past amqp091-go, byte for byte.
package wire

import (
	"bufio"
	"encoding/binary"
	"net"
	"sync"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/message"
)

const (
	readAhead   = 64 << 10  // bytes that are read at once
	writeBehind = 256 << 10 // bytes that may wait to be written

	// stuck is for how long nothing reads from a connection before it is cut: amqp091-go 1.16.0 stops reading for ever,
	// heartbeats included, at an answer that it does not expect (seen when a quorum queue is deleted under its consumer,
	// 3.10.8). It waits 5 s at most for a listener.
	stuck = 10 * time.Second

	closeLimit = 2 * time.Second // for the last words on a connection
)

// Conn is a network connection that reads and writes many frames at once: amqp091-go writes each message by itself and
// reads 4 KiB at a time, which keeps both sides busy with packets. What is written goes out at once when the line is
// free, else together with what comes meanwhile. A Conn remembers the other side's first bytes, which show what it is
// when it is no RabbitMQ. It takes properties out of the frames and puts them in (headers.go), so it has to be above
// TLS.
type Conn struct {
	net.Conn
	in  *incoming
	out *outgoing

	properties []byte // of the message that is published: the buffer is used again

	mu      sync.Mutex
	changed *sync.Cond // of what follows
	waiting []byte     // to be written
	closing bool
	failed  error // of a write
	written chan struct{}

	stuck time.Duration
	away  *time.Timer // cuts a connection that nothing reads from any more

	first []byte // the first bytes that were read, at most 8
	err   error  // of the last read
}

// New puts a Conn around a connection, which it owns from then on: Close or Cut ends both.
func New(conn net.Conn) *Conn { return newConn(conn, stuck) }

func newConn(conn net.Conn, stuck time.Duration) *Conn {
	w := &Conn{
		Conn: conn, in: newIncoming(bufio.NewReaderSize(conn, readAhead)), out: newOutgoing(),
		written: make(chan struct{}), stuck: stuck,
	}
	w.changed = sync.NewCond(&w.mu)
	w.away = time.AfterFunc(stuck, w.Cut)
	go w.write()
	return w
}

// Read implements net.Conn.
func (w *Conn) Read(p []byte) (int, error) {
	w.away.Stop()
	n, err := w.in.Read(p)
	if err == nil {
		w.away.Reset(w.stuck)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if missing := 8 - len(w.first); missing > 0 {
		w.first = append(w.first, p[:min(n, missing)]...)
	}
	w.err = err
	return n, err
}

// Write queues bytes to be written. Its error is that of an earlier write.
func (w *Conn) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for len(w.waiting) > writeBehind && w.failed == nil && !w.closing {
		w.changed.Wait()
	}
	switch {
	case w.failed != nil:
		return 0, w.failed
	case w.closing:
		return 0, net.ErrClosed
	}
	w.waiting = w.out.add(w.waiting, p)
	w.changed.Broadcast()
	return len(p), nil
}

// Carry takes the properties and headers of the message that is published next, which CheckHeader has passed. They are
// written in the place of none when amqp091-go publishes its body. Nothing else may be published on this connection
// until that has returned.
func (w *Conn) Carry(p *message.Publishing) {
	w.properties = AppendProperties(w.properties[:0], &p.Properties, p.Headers)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.out.properties = w.properties
}

// write writes what waits, until the connection is closed.
func (w *Conn) write() {
	defer close(w.written)
	var spare []byte
	for {
		w.mu.Lock()
		for len(w.waiting) == 0 && !w.closing {
			w.changed.Wait()
		}
		batch := w.waiting
		w.waiting = spare[:0]
		w.changed.Broadcast()
		w.mu.Unlock()
		if len(batch) == 0 {
			return
		}
		_, err := w.Conn.Write(batch)
		if err != nil {
			w.mu.Lock()
			w.failed = err
			w.changed.Broadcast()
			w.mu.Unlock()
			return
		}
		spare = batch
	}
}

// Close writes what still waits, briefly, and closes.
func (w *Conn) Close() error {
	w.end()
	_ = w.SetWriteDeadline(time.Now().Add(closeLimit))
	<-w.written
	return w.Conn.Close()
}

// Cut closes at once, whatever waits to be written.
func (w *Conn) Cut() {
	w.end()
	_ = w.Conn.Close()
}

func (w *Conn) end() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closing = true
	w.changed.Broadcast()
}

// HangUp closes an AMQP connection, and waits for the broker's answer, but not for long. It is gone in any case.
func HangUp(connection *amqp.Connection) {
	_ = connection.CloseDeadline(time.Now().Add(closeLimit))
}

// Heard returns the first bytes that came, at most 8, and the error of the last read. Of nil it is nothing.
func (w *Conn) Heard() (first string, err error) {
	if w == nil {
		return "", nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return string(w.first), w.err
}

// IsAMQP reports whether the first bytes that came are those of a broker.
func IsAMQP(first string) bool { return first != "" && first[0] == frameMethod }

// Message is a delivery as the model knows it, without a position, and without a fingerprint, which takes its time with
// large bodies.
func (w *Conn) Message(d *amqp.Delivery) message.Message {
	m := message.Message{Exchange: d.Exchange, RoutingKey: d.RoutingKey, Redelivered: d.Redelivered}
	w.in.came.Add(-1)
	m.Properties, m.Headers, m.Body = content(d.Body)
	m.BodyBytes = len(m.Body)
	m.Deaths, m.DeathsError = message.ParseDeaths(m.Headers)
	return m
}

// Returned is a returned publishing as a message, to be compared with what was published.
func (w *Conn) Returned(r *amqp.Return) message.Message {
	m := message.Message{Exchange: r.Exchange, RoutingKey: r.RoutingKey}
	w.in.came.Add(-1)
	m.Properties, m.Headers, m.Body = content(r.Body)
	return m
}

// content is what amqp091-go received as a body: properties, behind their length, and the body.
func content(received []byte) (p message.Properties, headers model.Table, body []byte) {
	end := lengthSize + binary.BigEndian.Uint32(received)
	p, headers = decodeProperties(received[lengthSize:end])
	return p, headers, received[end:]
}

// lengthSize is how many bytes the length of properties in front of a body has.
const lengthSize = 4

// Unclaimed is how many whole messages came in that neither Message nor Returned was called with yet.
func (w *Conn) Unclaimed() int { return int(w.in.came.Load()) }

// Forget lets go of messages that amqp091-go had when their channel ended: nothing is called with them.
func (w *Conn) Forget() { w.in.came.Store(0) }
