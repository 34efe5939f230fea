package broker

import (
	"bufio"
	"net"
	"sync"
	"time"
)

const (
	readAhead   = 64 << 10  // bytes that are read at once
	writeBehind = 256 << 10 // bytes that may wait to be written

	// stuck is how long nothing must be read from a wire: amqp091-go 1.16.0 stops reading for ever at an answer
	// that it does not expect, with heartbeats and all (seen when a quorum queue is deleted under its consumer,
	// 3.10.8). It waits 5 s at most for a listener.
	stuck = 10 * time.Second
)

// wire is a network connection that reads and writes many frames at once: amqp091-go writes each message by itself
// and reads 4 KiB at a time, which keeps both sides busy with packets. What is written goes out at once when the
// line is free, else together with what comes meanwhile. It remembers how the other side began, which tells what it
// is when it is no RabbitMQ. Headers and bodies of messages pass by amqp091-go: see headers.go and contents.go. So it
// has to be above TLS.
type wire struct {
	net.Conn
	in  *incoming
	out *outgoing

	mu      sync.Mutex
	changed *sync.Cond // of what follows
	waiting []byte     // to be written
	closing bool
	failed  error // of a write
	written chan struct{}

	stuck time.Duration
	away  *time.Timer // cuts a wire that nobody reads from any more

	first []byte // the first bytes that were read, at most 8
	err   error  // of the last read
}

func newWire(conn net.Conn, stuck time.Duration) *wire {
	w := &wire{
		Conn: conn, in: newIncoming(bufio.NewReaderSize(conn, readAhead)), out: newOutgoing(),
		written: make(chan struct{}), stuck: stuck,
	}
	w.changed = sync.NewCond(&w.mu)
	w.away = time.AfterFunc(stuck, w.cut)
	go w.write()
	return w
}

// Read implements net.Conn.
func (w *wire) Read(p []byte) (int, error) {
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

// Write takes bytes to be written. An error is that of an earlier write.
func (w *wire) Write(p []byte) (int, error) {
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

// carry gives the next message that is published its properties, those of appendProperties, and its body, unless that
// is larger than one frame: rest is the body to publish it with. What it carries is written when the publish has
// returned, which has to be the only one on this wire. frameMax is in bytes, 0 is no limit.
func (w *wire) carry(properties, body []byte, frameMax int) (rest []byte) {
	most := readAhead
	if frameMax > 0 {
		most = min(most, frameMax)
	}
	if len(body)+frameExtra > most {
		body, rest = nil, body
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.out.properties, w.out.body = properties, body
	return rest
}

// write writes what waits, until the wire is closed.
func (w *wire) write() {
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
func (w *wire) Close() error {
	w.end()
	_ = w.SetWriteDeadline(time.Now().Add(closeLimit))
	<-w.written
	return w.Conn.Close()
}

// cut closes at once.
func (w *wire) cut() {
	w.end()
	_ = w.Conn.Close()
}

func (w *wire) end() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closing = true
	w.changed.Broadcast()
}

// began returns the first bytes that came, and the error of the last read.
func (w *wire) began() (string, error) {
	if w == nil {
		return "", nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return string(w.first), w.err
}
