package mgmt

import (
	"errors"
	"fmt"
	"net"
	"net/http/httptest"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
)

// TestALateConnection: a node too busy to accept connections leaves them to the kernel, which has room for a few, and
// clients retry after 1, 3 and 7 s. A client that waits longer than 5 s gets an answer.
func TestALateConnection(t *testing.T) {
	t.Parallel()
	b := realBroker(t)
	listener, address := crowded(t)
	server := httptest.NewUnstartedServer(b.proxy(nil))
	server.Listener.Close()
	server.Listener = listener
	t.Cleanup(server.Close)
	defer time.AfterFunc(6*time.Second, server.Start).Stop()
	c := client(t, Options{URL: through("http://" + address), Timeout: patience})
	_, err := c.Check(t.Context())
	assert.That(t, err == nil, "an API that accepts connections after 6 s: %v", err)
}

// crowded returns a listener without room for another connection until one is accepted.
func crowded(t *testing.T) (listener net.Listener, address string) {
	t.Helper()
	socket := must.Get(syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0))(t)
	must.Do(t, errors.Join(syscall.Bind(socket, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}),
		syscall.Listen(socket, 0)))
	file := os.NewFile(uintptr(socket), "crowded")
	defer file.Close()
	listener = must.Get(net.FileListener(file))(t)
	t.Cleanup(func() { listener.Close() })

	address = fmt.Sprint(listener.Addr())
	for range 8 {
		conn, err := net.DialTimeout("tcp", address, 300*time.Millisecond)
		if err != nil {
			return listener, address
		}
		t.Cleanup(func() { conn.Close() })
	}

	t.Fatal("there is always room for another connection")
	return nil, ""
}
