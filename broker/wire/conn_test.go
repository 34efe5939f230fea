package wire

import (
	"errors"
	"io"
	"net"
	"testing"
	"time"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
)

// A Conn is cut when its reader is stuck, so that everything that waits for an answer ends.
func TestConnThatIsNotReadFromIsCut(t *testing.T) {
	near, far := net.Pipe()
	defer far.Close()
	w := newConn(near, time.Second)
	go func() { _, _ = far.Write([]byte("an answer")) }()
	must.Get(w.Read(make([]byte, 9)))(t)
	// The reader does not come back.
	_ = far.SetReadDeadline(time.Now().Add(time.Minute))
	if _, err := far.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		t.Errorf("the other side saw %v", err)
	}
	if _, err := w.Write([]byte("x")); !errors.Is(err, net.ErrClosed) {
		t.Errorf("a write returned %v", err)
	}
}

// A Conn on which nothing comes is read from, and stays.
func TestConnThatIsReadFromStays(t *testing.T) {
	near, far := net.Pipe()
	defer far.Close()
	w := newConn(near, 200*time.Millisecond)
	defer w.Cut()
	read := make(chan error, 1)
	go func() {
		_, err := w.Read(make([]byte, 1))
		read <- err
	}()
	select {
	case err := <-read:
		t.Fatalf("it was cut: %v", err)
	case <-time.After(600 * time.Millisecond):
	}
	go func() { _, _ = far.Write([]byte("x")) }()
	assert.Succeeds(t, <-read)
}
