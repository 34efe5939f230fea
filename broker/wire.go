package broker

import (
	"net"
	"sync"
)

// wire is a network connection that remembers how the other side began, which tells what it is when it is no RabbitMQ.
type wire struct {
	net.Conn

	mu    sync.Mutex
	first []byte // the first bytes that were read, at most 8
	err   error  // of the last read
}

func newWire(conn net.Conn) *wire { return &wire{Conn: conn} }

func (w *wire) Read(p []byte) (int, error) {
	n, err := w.Conn.Read(p)
	w.mu.Lock()
	defer w.mu.Unlock()
	if missing := 8 - len(w.first); missing > 0 {
		w.first = append(w.first, p[:min(n, missing)]...)
	}
	w.err = err
	return n, err
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
