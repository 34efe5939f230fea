package mgmt

import (
	"compress/gzip"
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
	"sync"
	"sync/atomic"
	"testing"
	"time"

	rabbithole "github.com/michaelklishin/rabbit-hole/v2"
	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/dial"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/model/trouble"
)

// wire counts a client's connections and the bytes received on them.
type wire struct {
	connections, received atomic.Int64
}

func (w *wire) under(c *Client) {
	var dialer net.Dialer
	c.transport.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dialer.DialContext(ctx, network, address)
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

	// A request that begins before the transport has reclaimed the last connection opens another.
	n := w.connections.Load()
	assert.That(t, n <= 2*mostAtOnce, "5 polls took %d connections, not %d at most", n, 2*mostAtOnce)
}

// A poll that follows another one never has two requests in flight.
func TestOneRequestAtATime(t *testing.T) {
	b := realBroker(t)
	target := must.Get(url.Parse(b.API()))(t)
	var asked, now, most atomic.Int64
	proxy := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: target.Scheme, Host: target.Host})
	c := client(t, Options{URL: served(t, func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		at := now.Add(1)
		defer now.Add(-1)
		for before := most.Load(); at > before && !most.CompareAndSwap(before, at); before = most.Load() {
		}
		proxy.ServeHTTP(w, r)
	})})

	poll(t, c)
	asked.Store(0)
	most.Store(0)

	for range 3 {
		poll(t, c)
	}

	n, at := asked.Load(), most.Load()
	assert.That(t, n >= 3*5, "of %d requests %d were in flight at once", n, at)
	assert.Equal(t, at, 1)
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
		b.queue(vhost, fmt.Sprintf("orders.%03d", i), amqp.Table{
			"x-message-ttl": 30000, "x-dead-letter-exchange": "amq.topic",
		})
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
	assert.That(t, plain >= 5000, "a list of %d bytes came as %d bytes", plain, got)
	assert.That(t, got <= plain/3, "a list of %d bytes came as %d bytes", plain, got)
}

func TestCancelReturnsPromptly(t *testing.T) {
	b := realBroker(t)
	stalled := served(t, func(w http.ResponseWriter, r *http.Request) {
		if !strings.Contains(r.URL.Path, "/queues") {
			b.proxy(nil).ServeHTTP(w, r)
			return
		}
		io.WriteString(w, `[{"name":"half","vho`)
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	})

	for name, address := range map[string]string{
		"before the answer": "http://" + dial.Silent(t), "within the list": stalled,
	} {
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
	address := "http://" + dial.Silent(t)
	deadline, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	for _, test := range []struct {
		name  string
		ctx   context.Context
		limit time.Duration
		kind  trouble.Kind
		cause string
	}{
		{"the client's", t.Context(), 200 * time.Millisecond, trouble.TooSlow, "gave no answer within 200ms"},
		{"the caller's", deadline, patience, trouble.NoAnswer, "gave no answer in time"},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := client(t, Options{URL: address, Timeout: test.limit})
			_, err := c.Check(test.ctx)
			connect := connectError(t, err)
			assert.Equal(t, connect.Kind, test.kind, "%v", err)
			assert.Contains(t, connect.Cause, test.cause)
		})
	}
}

// A broker that takes longer than the timeout is asked again with more time, at most four times as much.
func TestASlowBrokerGetsMoreTime(t *testing.T) {
	b := realBroker(t)
	const limit = time.Second
	answer := httptest.NewRecorder()
	ask := httptest.NewRequest(http.MethodGet, "/api/overview", nil)
	ask.SetBasicAuth("guest", "guest")
	b.proxy(nil).ServeHTTP(answer, ask)

	c := client(t, Options{Timeout: limit, URL: served(t, func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-r.Context().Done(): // the client gave up
		case <-time.After(2*limit + limit/5):
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write(answer.Body.Bytes())
		}
	})})

	for _, within := range []string{"1s", "2s"} {
		_, err := c.overview(t.Context())
		connect := connectError(t, c.connectError(t.Context(), err))
		must.Equal(t, connect.Kind, trouble.TooSlow, "within %s: %v", within, err)
		must.Contains(t, connect.Cause, within)
	}

	_, err := c.overview(t.Context())
	assert.That(t, err == nil, "with four times as long: %v", err)
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
	must.Await(t, "all goroutines have ended", func() bool { return runtime.NumGoroutine() <= before })
}

func TestAnAnswerThatBreaksOff(t *testing.T) {
	b := realBroker(t)
	broken := b.before(func(path string, body []byte) []byte {
		if strings.Contains(path, "/api/queues") {
			return []byte(`[{"name":"whole","vhost":"/"},{"name":`)
		}
		return body
	})

	_, err := client(t, Options{URL: broken}).Snapshot(t.Context())
	assert.Contains(t, connectError(t, err).Cause, "broke off", "half a list")
}

// An endless answer is read to a limit and no further, and the error says so and what to do. Without the limit the
// program had 2.65 GB after 13 s.
func TestAnswersWithoutEnd(t *testing.T) {
	most := sizes{object: 1 << 20, list: 8 << 20, element: 1 << 20, elements: 30_000}
	queue := `{"name":"` + strings.Repeat("q", 3000) + `","vhost":"/","arguments":{}},`
	for _, test := range []struct {
		name, begin, forever string
		zipped               bool
		most                 int64 // bytes that may be read
	}{
		{"elements", "[", queue, false, most.list},
		{"elements, compressed", "[", queue, true, 1 << 30}, // sockets buffer much of it
		{"small elements", "[", "{},", false, int64(most.elements) * 4},
		{"elements of another kind", "[", "1,", false, int64(most.elements) * 4},
		{"one text", `[{"name":"`, "aaaaaaaaaaaaaaaa", false, most.element * 2},
		{"one object", `[{"a":1`, `,"b":{"c":[1,2,3]}`, false, most.element * 2},
		{"deeper and deeper", "[", `{"a":[`, false, most.list},
		{"blanks", "", "        ", false, most.list},
	} {
		t.Run(test.name, func(t *testing.T) {
			var written atomic.Int64
			ended := make(chan struct{}, 10) // requests of a test

			c := client(t, Options{Timeout: time.Minute, URL: served(t, func(w http.ResponseWriter, r *http.Request) {
				defer func() { ended <- struct{}{} }()
				var out io.Writer = w
				if test.zipped {
					w.Header().Set("Content-Encoding", "gzip")
					zipped, _ := gzip.NewWriterLevel(w, gzip.BestSpeed)
					out = zipped
				}

				_, err := io.WriteString(out, test.begin)
				block := []byte(strings.Repeat(test.forever, 1+64<<10/len(test.forever))) // the server must not allocate
				for err == nil {
					var n int
					n, err = out.Write(block)
					written.Add(int64(n))
				}
			})})

			c.most = most
			var before, after runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&before)
			_, err := c.Counts(context.Background())
			runtime.ReadMemStats(&after)
			<-ended
			connect := connectError(t, err)
			must.Contains(t, connect.Cause, "reading stopped after")
			must.Contains(t, connect.Next, "--vhost")
			const buffered = 16 << 20 // by sockets and compression
			n := written.Load()
			assert.That(t, n <= test.most+buffered, "%d bytes were taken, of %d", n, test.most)

			// Total allocations, garbage included: the memory in use is less.
			allocated := after.TotalAlloc - before.TotalAlloc
			assert.That(t, allocated <= 6*uint64(most.list)+buffered, "%d MiB were allocated", allocated>>20)
		})
	}
}

// Answers that are read as a whole have their own limits.
func TestOtherAnswersWithoutEnd(t *testing.T) {
	c := client(t, Options{Timeout: time.Minute, URL: served(t, func(w http.ResponseWriter, r *http.Request) {
		begin := `{"rabbit":"`
		if strings.Contains(r.URL.Path, "bindings") || strings.Contains(r.URL.Path, "policies") {
			begin = `[{"source":"`
		}
		_, err := io.WriteString(w, begin)
		for block := strings.Repeat("a", 64<<10); err == nil; {
			_, err = io.WriteString(w, block)
		}
	})})

	c.most = sizes{object: 1 << 20, list: 8 << 20, element: 1 << 20, elements: 30_000}
	for name, ask := range map[string]func() error{
		"Check":    func() error { _, err := c.Check(context.Background()); return err },
		"Snapshot": func() error { _, err := c.Snapshot(context.Background()); return err },
		"bindings": func() error { _, err := c.bindings(context.Background()); return err },
		"policies": func() error {
			_, err := policies(context.Background(), c, (*rabbithole.Client).ListPoliciesIn)
			return err
		},
	} {
		err := c.connectError(t.Context(), ask())
		assert.Contains(t, err.Error(), "reading stopped after", name)
	}
}

// forgetCaches resets the API's caches to those of a node that has just started: the first request for a list starts
// one.
const forgetCaches = `[begin supervisor:terminate_child(rabbit_mgmt_db_cache_sup, Id),` +
	` supervisor:delete_child(rabbit_mgmt_db_cache_sup, Id) end` +
	` || {Id, _, _, _} <- supervisor:which_children(rabbit_mgmt_db_cache_sup)].`

// A node that has just started answers 500 to some of the first simultaneous requests (3.10.8: 14 of 48); a client gets
// its list all the same.
func TestFirstRequestsAtOnce(t *testing.T) {
	b := realBroker(t)
	var clients []*Client
	for range 8 {
		clients = append(clients, client(t, Options{URL: b.API()}))
	}

	for range 2 {
		must.Get(b.Control(t.Context(), "eval", forgetCaches))(t)
		var wg sync.WaitGroup
		for _, c := range clients {
			wg.Go(func() {
				_, _, err := c.queues(t.Context(), false)
				assert.Succeeds(t, err)
			})
		}

		wg.Wait()
	}
}

func TestNewReadsURLsAsPeopleWriteThem(t *testing.T) {
	type read struct{ Endpoint, Address, User, Password string }
	for _, test := range must.Cases[struct {
		URL, User, Password string
		Read                read
	}](t, "testdata/urls.toml") {
		c := client(t, Options{URL: test.URL, User: test.User, Password: test.Password})
		assert.Equal(t, read{c.endpoint, c.hosts.First(), c.user, c.password}, test.Read, "%s", test.URL)
	}
}

func TestNewExplainsABadURL(t *testing.T) {
	for address, words := range map[string]string{
		"":                           "must begin with http:// or https://",
		"localhost:15672":            "must begin with http:// or https://",
		"http://":                    "names no host",
		"http://u:hunter2@h:port":    "cannot be read",
		"amqp://u:hunter2@h:5672/v":  "is an AMQP URL",
		"ftp://u:hunter2@h":          "must begin with",
		"http://u:hunter2@h:1/%zz/%": "cannot be read",
	} {
		_, err := New(Options{URL: address})
		must.Fails(t, err, words, "%v", address)
		assert.Lacks(t, err.Error(), "hunter2", "%v", address)
		assert.Lacks(t, err.Error(), "\n", "%v", address)
	}
}
