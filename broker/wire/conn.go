// Package wire is the layer below the client library: a network connection that reads and writes many AMQP frames at
// once, and passes properties and headers of messages around amqp091-go, byte for byte.
package wire

import (
	"bufio"
	"encoding/binary"
	"net"
	"sync"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/dlxtop/dlxtop/model/message"
)

const (
	readAhead   = 64 << 10  // bytes read at once
	writeBehind = 256 << 10 // bytes that may wait to be written

	// stuck is how long a connection may go unread before it is cut: amqp091-go 1.16.0 stops reading for ever, heartbeats
	// included, at an answer that it does not expect (seen when a quorum queue is deleted under its consumer, 3.10.8). It
	// waits at most 5 s for a listener.
	stuck = 10 * time.Second

	// CloseLimit is for the last bytes on a connection.
	CloseLimit = 2 * time.Second
)

// Conn is a network connection that reads and writes many frames at once: amqp091-go writes each message separately and
// reads 4 KiB at a time, which keeps both sides busy with packets. Writes go out at once when the line is free,
// otherwise together with later ones. A Conn remembers the other side's first bytes, which identify it when it is not
// RabbitMQ. It takes properties out of the frames and puts them in (headers.go), so it has to be above TLS.
type Conn struct {
	net.Conn
	in  *incoming
	out *outgoing

	mu      sync.Mutex
	changed *sync.Cond // guards the fields below
	waiting []byte     // to be written
	closing bool
	failed  error // of a write
	written chan struct{}

	stuck time.Duration
	away  *time.Timer // cuts a connection that is no longer read

	first []byte // the first bytes read, at most 8
	err   error  // of the last read
}

// New wraps a connection, and then owns it: Close or Cut closes both.
func New(conn net.Conn) *Conn { return newConn(conn, stuck) }

func newConn(conn net.Conn, stuck time.Duration) *Conn {
	w := &Conn{
		Conn:    conn,
		in:      newIncoming(bufio.NewReaderSize(conn, readAhead)),
		out:     newOutgoing(),
		written: make(chan struct{}),
		stuck:   stuck,
	}

	w.changed = sync.NewCond(&w.mu)
	w.away = time.AfterFunc(stuck, w.Cut)
	go w.write()

	return w
}

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

// Write queues bytes. Its error is that of an earlier write.
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

// Carry takes the properties and headers of the next message to be published, as checkHeader returned them. They are
// inserted when amqp091-go publishes the body without any. Nothing else may be published on this connection until that
// has returned.
func (w *Conn) Carry(properties []byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.out.properties = properties
}

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

// Close briefly writes what is still queued, and closes.
func (w *Conn) Close() error {
	w.end()
	_ = w.SetWriteDeadline(time.Now().Add(CloseLimit))
	<-w.written
	return w.Conn.Close()
}

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

// Heard returns the first bytes received, at most 8, and the error of the last read; for a nil Conn nothing.
func (w *Conn) Heard() (first string, err error) {
	if w == nil {
		return "", nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return string(w.first), w.err
}

// IsAMQP reports whether the first bytes received are a broker's.
func IsAMQP(first string) bool { return first != "" && first[0] == frameMethod }

// Message converts a delivery, without a position, and without a fingerprint, which takes time for large bodies.
func (w *Conn) Message(d *amqp.Delivery) message.Message {
	m := w.message(d.Exchange, d.RoutingKey, d.Body)
	m.Redelivered = d.Redelivered
	m.BodyBytes = len(m.Body)
	m.Deaths, m.DeathsError = message.ParseDeaths(m.Headers)
	return m
}

// Returned converts a returned publishing to a message, to be compared with what was published.
func (w *Conn) Returned(r *amqp.Return) message.Message {
	return w.message(r.Exchange, r.RoutingKey, r.Body)
}

// message splits what amqp091-go received as a body: properties with their length in front, and the body.
func (w *Conn) message(exchange, key string, received []byte) message.Message {
	w.in.came.Add(-1)
	end := lengthSize + binary.BigEndian.Uint32(received)
	m := message.Message{Exchange: exchange, RoutingKey: key, Body: received[end:]}
	m.Properties, m.Headers = decodeProperties(received[lengthSize:end])
	return m
}

const lengthSize = 4

// Unclaimed returns how many whole messages arrived that neither Message nor Returned was called for yet.
func (w *Conn) Unclaimed() int { return int(w.in.came.Load()) }

// Forget discards messages that amqp091-go had when their channel ended: nothing is called for them.
func (w *Conn) Forget() { w.in.came.Store(0) }
