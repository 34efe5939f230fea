package mgmt

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/dial"
	"github.com/dlxtop/dlxtop/internal/manage"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/trouble"
)

// answering returns a port that sends the same bytes to every client.
func answering(t *testing.T, bytes string) string {
	t.Helper()
	return dial.Serve(t, dial.Listen(t), func(conn net.Conn) {
		go func() {
			defer conn.Close()
			_, _ = conn.Read(make([]byte, 512))
			_, _ = io.WriteString(conn, bytes)
		}()
	})
}

// trustOf trusts a server's certificate.
func trustOf(s *httptest.Server) *tls.Config {
	trust := &tls.Config{RootCAs: x509.NewCertPool()}
	trust.RootCAs.AddCert(s.Certificate())
	return trust
}

func TestEveryConnectErrorNamesItsCauseAndTheNextStep(t *testing.T) {
	b := realBroker(t)
	shop := b.vhost("shop")
	closed := b.vhost("closed")
	manage.User(t, b.API(), "untagged", "", shop)
	manage.User(t, b.API(), "clerk", "management", shop)
	manage.User(t, b.API(), "watcher", "monitoring")
	api := strings.TrimPrefix(b.as("guest", "guest"), "http://guest:guest@")
	amqpPort := strings.TrimSuffix(strings.TrimPrefix(b.AMQP(), "amqp://guest:guest@"), "/")
	page := served(t, func(w http.ResponseWriter, _ *http.Request) {
		io.WriteString(w, "<!doctype html><title>Welcome</title>")
	})
	other := served(t, func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, `{"service":"something else"}`) })

	broken := served(t, func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "no\x1b[31m backend\nmore", http.StatusBadGateway)
	})
	secured := httptest.NewTLSServer(b.proxy(nil))
	defer secured.Close()
	secured.Config.ErrorLog = nil
	_, port, _ := net.SplitHostPort(secured.Listener.Addr().String())
	trust := trustOf(secured)
	places := map[string]string{
		"unused": dial.Unused(t), "api": api, "amqp": amqpPort, "tls": port, "page": page, "other": other, "broken": broken,
		"ssh": answering(t, "SSH-2.0-x\r\n"), "closing": answering(t, ""),
		// RabbitMQ 3.10.8 with TLS answers plain HTTP with an alert.
		"alerting": answering(t, "\x15\x03\x03\x00\x02\x02\x0a"),
	}
	placed := func(text string) string {
		return os.Expand(text, func(name string) string { return places[name] })
	}

	type expected struct {
		Name, URL, VHost, Cause, Next string
		Kind                          trouble.Kind
		Trusts                        bool
	}
	must.Run(t, "testdata/connect_errors.toml", func(t *testing.T, test expected) {
		options := Options{URL: placed(test.URL), VHost: test.VHost}
		if test.Trusts {
			options.TLS = trust
		}

		c := client(t, options)
		_, checkErr := c.Check(t.Context())
		_, snapshotErr := c.Snapshot(t.Context())
		for _, err := range []error{checkErr, snapshotErr} {
			connect := connectError(t, err)
			assert.Equal(t, connect.Kind, test.Kind, "%v", connect)
			assert.Contains(t, connect.Cause, placed(test.Cause))
			assert.Contains(t, connect.Next, placed(test.Next))
			for _, secret := range []string{"wrongpass", manage.Password, "guest:guest"} {
				assert.That(t, !strings.Contains(connect.Error(), secret), "the error shows a password: %v", connect)
			}
		}
	})

	t.Run("vhost without a permission", func(t *testing.T) {
		_, err := client(t, Options{URL: b.as("clerk", manage.Password), VHost: closed}).Check(t.Context())
		connect := connectError(t, err)
		// 3.10 and 4.0 say that it is not allowed, 4.3 hides that it exists.
		assert.That(t, connect.Kind == trouble.NotAllowed || connect.Kind == trouble.NoSuchVHost, "%v", err)
		assert.Contains(t, connect.Cause, "closed")
	})

	t.Run("TLS with the authority", func(t *testing.T) {
		s := poll(t, client(t, Options{URL: "https://guest:guest@127.0.0.1:" + port, TLS: trust}))
		assert.That(t, s.Overview.Version.Known(), "overview over TLS: %+v", s.Overview)
	})
}

// Cases that need another machine, another version or more certificates than a test has.
func TestAnswersInOtherWords(t *testing.T) {
	c := client(t, Options{URL: "http://u:secret@h:15672", VHost: "v"})
	for _, test := range must.Cases[struct {
		Answer answerError
		Kind   trouble.Kind
		Cause  string
	}](t, "testdata/answers.toml") {
		got := c.answered(&test.Answer)
		assert.Equal(t, got.Kind, test.Kind, "%v: %v", test.Answer, got)
		assert.Contains(t, got.Cause, test.Cause, "%v", test.Answer)
	}
}

// A redirect is never followed, whatever it points to: the password would go there, and the answers would be believed.
func TestNoRedirectIsFollowed(t *testing.T) {
	b := realBroker(t)
	var followed atomic.Int64 // requests that came through a redirect, with a real broker's answers
	elsewhere := httptest.NewServer(b.proxy(func(_ string, body []byte) []byte { followed.Add(1); return body }))
	defer elsewhere.Close()
	target := strings.Replace(elsewhere.URL, "http://", "http://guest:secret@", 1)
	redirecting := func(status int, server func(http.Handler) *httptest.Server) *httptest.Server {
		s := server(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Location", target+r.URL.Path+"?token=secret")
			w.WriteHeader(status)
		}))
		t.Cleanup(s.Close)
		return s
	}

	moved := redirecting(http.StatusPermanentRedirect, httptest.NewServer)

	downgrading := redirecting(http.StatusFound, httptest.NewTLSServer)
	for _, o := range []Options{
		{URL: through(moved.URL)},
		{URL: strings.Replace(downgrading.URL, "https://", "https://guest:secret@", 1), TLS: trustOf(downgrading)},
	} {
		_, err := client(t, o).Snapshot(t.Context())
		connect := connectError(t, err)
		assert.Equal(t, connect.Kind, trouble.NoManagement)
		assert.Contains(t, connect.Cause, "redirects to "+elsewhere.URL+"/api/")
		assert.Contains(t, connect.Next, "--api")
		assert.Lacks(t, err.Error(), "secret")
	}

	assert.Equal(t, followed.Load(), 0, "requests came by a redirect")
}

// A busy node may close a connection that it has just accepted (seen on 3.10.8).
func TestAnAnswerAfterAHangUp(t *testing.T) {
	b := realBroker(t)
	api := b.proxy(nil)
	var asked atomic.Int64
	c := client(t, Options{URL: served(t, func(w http.ResponseWriter, r *http.Request) {
		if asked.Add(1) <= 2 && strings.HasPrefix(r.URL.Path, "/api/queues") {
			panic(http.ErrAbortHandler) // closes the connection
		}
		api.ServeHTTP(w, r)
	})})

	_, _, err := c.queues(t.Context(), false)
	must.Do(t, err)
	assert.Equal(t, asked.Load(), 3, "times asked")
}

// ended is a connection that signals when the client has closed it.
type ended struct {
	net.Conn
	closed chan struct{}
	once   sync.Once
}

func (e *ended) Close() error {
	e.once.Do(func() { close(e.closed) })
	return e.Conn.Close()
}

// The connection may end before the request is begun, too.
func TestAnAnswerAfterAnEarlyHangUp(t *testing.T) {
	b := realBroker(t)
	early := dial.Serve(t, dial.Listen(t), func(conn net.Conn) { conn.Close() })
	c := client(t, Options{URL: b.API()})
	dialed := 0
	c.transport.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		if dialed++; dialed > 2 {
			return new(net.Dialer).DialContext(ctx, network, address)
		}
		conn, err := new(net.Dialer).DialContext(ctx, network, early)
		return &ended{Conn: conn, closed: make(chan struct{})}, err
	}

	ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{GotConn: func(got httptrace.GotConnInfo) {
		if conn, ok := got.Conn.(*ended); ok {
			<-conn.closed // the request comes after it
		}
	}})

	_, _, err := c.queues(ctx, false)
	must.Do(t, err)
	assert.That(t, dialed >= 3, "connected %d times", dialed)
}

// The queue list is 500 while a stream in it is being declared (3.10.8: it has no process yet). Here the stream
// coordinator is suspended for 600 ms, as on a busy node.
func TestListWhileAStreamStarts(t *testing.T) {
	b := realBroker(t)
	vhost := b.vhost("starting")
	connection := must.Get(dial.AMQP(b.AMQP() + vhost))(t)
	defer connection.Close()

	declare := func(name string) error {
		channel, err := connection.Channel()
		if err == nil {
			_, err = channel.QueueDeclare(name, true, false, false, false, amqp.Table{"x-queue-type": "stream"})
		}
		return err
	}

	must.Do(t, declare("first")) // starts the coordinator
	dir := t.TempDir()
	must.Do(t, os.Chmod(dir, 0o777))
	here := filepath.Join(dir, "here")
	ended := make(chan error, 2)

	go func() {
		_, err := b.Control(t.Context(), "eval", fmt.Sprintf(`
			Process = whereis(rabbit_stream_coordinator),
			erlang:suspend_process(Process), ok = file:write_file(%q, ""),
			timer:sleep(600), erlang:resume_process(Process).`, here))
		ended <- err
	}()

	awaitFile(t, here)
	go func() { ended <- declare("second") }()

	c := client(t, Options{URL: b.API(), VHost: vhost})
	for began := time.Now(); time.Since(began) < time.Second; {
		_, _, err := c.queues(t.Context(), false)
		assert.That(t, err == nil, "after %s: %v", time.Since(began).Round(time.Millisecond), err)
	}

	for range 2 {
		assert.Succeeds(t, <-ended)
	}
}

// awaitFile waits until a node has written a file.
func awaitFile(t *testing.T, path string) {
	t.Helper()
	must.Await(t, "the node has written "+path, func() bool {
		_, err := os.Stat(path)
		return err == nil
	})
}

// A queue is down where lists show it so and its node does not run; where no node is known, the next list decides.
func TestDownIsDoubted(t *testing.T) {
	b := realBroker(t)
	vhost := b.vhost("down")
	b.queue(vhost, "q", nil)
	const all = 10
	for _, test := range []struct {
		name  string
		lists int    // that show it as down
		nodes string // replaces `"running":true`
		want  model.Outage
	}{
		{"its node runs, whatever the lists say", all, `"running":true`, model.NoOutage},
		{"its node does not run", 1, `"running":false`, model.NodeDown},
		{"no node is known, and the next list is right", 1, `"name":"another@node"`, model.NoOutage},
		{"no node is known, and each list says it", all, `"name":"another@node"`, model.NodeDown},
	} {
		t.Run(test.name, func(t *testing.T) {
			lists := 0
			changed := b.before(func(path string, body []byte) []byte {
				switch {
				case strings.Contains(path, "/api/nodes"):
					return []byte(strings.ReplaceAll(string(body), `"running":true`, test.nodes))
				case !strings.Contains(path, "/api/queues"):
					return body
				}

				if lists++; lists > test.lists {
					return body
				}
				return damage(t, body, "q", func(q map[string]any) any { q["state"] = "down"; return q })
			})

			s := poll(t, client(t, Options{URL: changed, VHost: vhost}))
			assert.Equal(t, s.Queues[0].Outage(), test.want)
		})
	}
}
