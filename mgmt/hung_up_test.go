package mgmt

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/dlxtop/dlxtop/internal/must"
)

// TestAnAnswerAfterAHangUp: a busy node may close a connection that it has just accepted (seen on 3.10.8).
func TestAnAnswerAfterAHangUp(t *testing.T) {
	b := realBroker(t)
	api := b.proxy(nil)
	var asked atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if asked.Add(1) <= 2 && strings.HasPrefix(r.URL.Path, "/api/queues") {
			panic(http.ErrAbortHandler) // closes the connection
		}
		api.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	c := client(t, Options{URL: through(server.URL)})
	if _, _, err := c.queues(t.Context(), false); err != nil || asked.Load() != 3 {
		t.Errorf("asked %d times: %v", asked.Load(), err)
	}
}

// ended is a connection that tells when the client has closed it.
type ended struct {
	net.Conn
	closed chan struct{}
	once   sync.Once
}

// Close implements net.Conn.
func (e *ended) Close() error {
	e.once.Do(func() { close(e.closed) })
	return e.Conn.Close()
}

// TestAnAnswerAfterAnEarlyHangUp: the connection may end before the request is begun, too.
func TestAnAnswerAfterAnEarlyHangUp(t *testing.T) {
	b := realBroker(t)
	listener := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for conn, err := listener.Accept(); err == nil; conn, err = listener.Accept() {
			_ = conn.Close()
		}
	}()
	c := client(t, Options{URL: b.API()})
	dialed := 0
	c.transport.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		if dialed++; dialed > 2 {
			return new(net.Dialer).DialContext(ctx, network, address)
		}
		conn, err := new(net.Dialer).DialContext(ctx, network, listener.Addr().String())
		return &ended{Conn: conn, closed: make(chan struct{})}, err
	}
	ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{GotConn: func(got httptrace.GotConnInfo) {
		if conn, ok := got.Conn.(*ended); ok {
			<-conn.closed // the request comes after it
		}
	}})
	if _, _, err := c.queues(ctx, false); err != nil || dialed < 3 {
		t.Errorf("connected %d times: %v", dialed, err)
	}
}
