package mgmt

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/model"
)

// wire counts a client's connections and the bytes that came over them.
type wire struct {
	connections, received atomic.Int64
}

func (w *wire) under(c *Client) {
	dial := c.transport.DialContext
	c.transport.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		w.connections.Add(1)
		return countedConn{conn, &w.received}, nil
	}
}

type countedConn struct {
	net.Conn
	received *atomic.Int64
}

func (c countedConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.received.Add(int64(n))
	return n, err
}

func TestConnectionsAreKept(t *testing.T) {
	b := realBroker(t)
	c := client(t, Options{URL: b.API()})
	var w wire
	w.under(c)
	for range 5 {
		poll(t, c)
		must.Get(c.Counts(t.Context()))(t)
	}
	// A request that begins before the transport has taken the last connection back makes another.
	n := w.connections.Load()
	assert.That(t, n <= 2*mostAtOnce, "5 polls took %d connections, not %d at most", n, 2*mostAtOnce)
}

// TestOneRequestAtATime: a poll behind another one never has two requests in flight.
func TestOneRequestAtATime(t *testing.T) {
	b := realBroker(t)
	target := must.Get(url.Parse(b.API()))(t)
	var asked, now, most atomic.Int64
	proxy := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: target.Scheme, Host: target.Host})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		at := now.Add(1)
		defer now.Add(-1)
		for before := most.Load(); at > before && !most.CompareAndSwap(before, at); before = most.Load() {
		}
		proxy.ServeHTTP(w, r)
	}))
	defer server.Close()
	c := client(t, Options{URL: server.URL, User: "guest", Password: "guest"})
	poll(t, c)
	asked.Store(0)
	most.Store(0)
	for range 3 {
		poll(t, c)
	}
	if n, at := asked.Load(), most.Load(); n < 3*5 || at != 1 {
		t.Errorf("of %d requests %d were in flight at once", n, at)
	}
}

func TestRefusalsKeepTheConnection(t *testing.T) {
	b := realBroker(t)
	c := client(t, Options{URL: b.API(), VHost: "nope"})
	var w wire
	w.under(c)
	for range 5 {
		_, err := c.Counts(t.Context())
		must.That(t, err != nil, "a vhost that does not exist has counts")
	}
	assert.Equal(t, w.connections.Load(), 1, "5 refused requests took")
}

func TestListsAreCompressed(t *testing.T) {
	b := realBroker(t)
	vhost := b.vhost("many")
	for i := range 60 {
		b.put(fmt.Sprintf("queues/%s/orders.%03d", vhost, i),
			`{"durable":true,"arguments":{"x-message-ttl":30000,"x-dead-letter-exchange":"amq.topic"}}`)
	}
	c := client(t, Options{URL: b.API(), VHost: vhost})
	var w wire
	w.under(c)
	var plain int64
	must.Do(t, c.request(t.Context(), func(ctx context.Context) error {
		resp, err := c.get(ctx, c.inVHost("queues"), url.Values{"columns": {queueColumns}}, c.most.object)
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		plain, err = io.Copy(io.Discard, resp.Body)
		return err
	}))
	got := w.received.Load()
	assert.That(t, plain >= 5000 && got <= plain/3, "a list of %d bytes came as %d bytes", plain, got)
}

// mute accepts connections and never answers.
func mute(t *testing.T) string {
	t.Helper()
	listener := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	t.Cleanup(func() { listener.Close() })
	return "http://" + listener.Addr().String()
}

func TestCancelReturnsPromptly(t *testing.T) {
	b := realBroker(t)
	stalled := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.Contains(r.URL.Path, "/queues") {
			b.proxy(nil).ServeHTTP(w, r)
			return
		}
		io.WriteString(w, `[{"name":"half","vho`)
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	}))
	defer stalled.Close()
	for name, address := range map[string]string{"before the answer": mute(t), "within the list": through(stalled.URL)} {
		t.Run(name, func(t *testing.T) {
			c := client(t, Options{URL: address, Timeout: patience})
			ctx, cancel := context.WithCancel(t.Context())
			time.AfterFunc(300*time.Millisecond, cancel)
			_, err := c.Snapshot(ctx)
			assert.That(t, errors.Is(err, context.Canceled), "cancelled after 300 ms: %v", err)
		})
	}
}

func TestTimeouts(t *testing.T) {
	address := mute(t)
	deadline, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	for _, test := range []struct {
		name  string
		ctx   context.Context
		limit time.Duration
		kind  model.ConnectKind
		cause string
	}{
		{"the client's", t.Context(), 200 * time.Millisecond, model.TooSlow, "gave no answer within 200ms"},
		{"the caller's", deadline, patience, model.NoAnswer, "gave no answer in time"},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := client(t, Options{URL: address, Timeout: test.limit})
			_, err := c.Check(test.ctx)
			var connect *model.ConnectError
			assert.That(t, errors.As(err, &connect) && connect.Kind == test.kind && strings.Contains(connect.Cause, test.cause),
				"%v", err)
		})
	}
}

// A broker that takes longer than the timeout is asked again with more time, four times as much at most.
func TestASlowBrokerGetsMoreTime(t *testing.T) {
	b := realBroker(t)
	const limit = time.Second
	answer := httptest.NewRecorder()
	ask := httptest.NewRequest(http.MethodGet, "/api/overview", nil)
	ask.SetBasicAuth("guest", "guest")
	b.proxy(nil).ServeHTTP(answer, ask)
	slow := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-r.Context().Done(): // the client gave up
		case <-time.After(2*limit + limit/5):
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write(answer.Body.Bytes())
		}
	}))
	defer slow.Close()
	c := client(t, Options{URL: through(slow.URL), Timeout: limit})
	for _, within := range []string{"1s", "2s"} {
		var connect *model.ConnectError
		if _, err := c.overview(t.Context()); !errors.As(c.connectError(t.Context(), err), &connect) ||
			connect.Kind != model.TooSlow || !strings.Contains(connect.Cause, within) {
			t.Fatalf("within %s: %v", within, err)
		}
	}
	if _, err := c.overview(t.Context()); err != nil {
		t.Errorf("with four times as long: %v", err)
	}
}

func TestNothingIsLeftBehind(t *testing.T) {
	b := realBroker(t)
	http.DefaultClient.CloseIdleConnections()
	before := runtime.NumGoroutine()
	c := client(t, Options{URL: b.API()})
	poll(t, c)
	for i := range 10 {
		ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i)*500*time.Microsecond)
		_, _ = c.Snapshot(ctx)
		cancel()
	}
	c.Close()
	await(t, "all goroutines have ended", func() bool { return runtime.NumGoroutine() <= before })
}

func TestAnAnswerThatBreaksOff(t *testing.T) {
	b := realBroker(t)
	server := b.before(func(path string, body []byte) []byte {
		if strings.Contains(path, "/api/queues") {
			return []byte(`[{"name":"whole","vhost":"/"},{"name":`)
		}
		return body
	})
	_, err := client(t, Options{URL: through(server.URL)}).Snapshot(t.Context())
	var connect *model.ConnectError
	assert.That(t, errors.As(err, &connect) && strings.Contains(connect.Cause, "broke off"), "half a list: %v", err)
}
