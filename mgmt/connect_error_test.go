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
	unused := dial.Unused(t)
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
	url := func(text string) Options { return Options{URL: text} }
	at := func(address string) Options { return url("http://guest:guest@" + address) }
	overTLS := func(address string, trust *tls.Config) Options {
		return Options{URL: "https://guest:guest@" + address, TLS: trust}
	}
	as := func(user, password string) Options { return url(b.as(user, password)) }

	tests := []struct {
		name        string
		options     Options
		kind        model.ConnectKind
		cause, next string
	}{
		{
			"nothing listens", at(unused), model.Unreachable, "nothing listens on " + unused,
			"rabbitmq-plugins enable rabbitmq_management",
		},
		{"nothing listens, next", at(unused), model.Unreachable, "", "name another broker with --api"},
		{"no such host", at("nohost.invalid:15672"), model.NoSuchHost, "nohost.invalid", "check"},
		{
			"wrong password", as("guest", "wrongpass"), model.BadCredentials,

			api + " does not accept user guest with this password", "authenticate_user guest",
		},
		{"unknown user", as("stranger", "wrongpass"), model.BadCredentials, "does not accept user stranger", "check"},
		{
			"no credentials", url("http://" + api), model.BadCredentials, "asks for a user",
			"--api http://user:password@" + api,
		},
		{
			"no tag", as("untagged", manage.Password), model.NotAllowed, "user untagged may not use the management API",
			"rabbitmqctl set_user_tags untagged management",
		},
		{
			"no vhost at all", as("watcher", manage.Password), model.NotAllowed,
			"user watcher has no permission on any vhost", "set_permissions",
		},

		{
			"vhost that does not exist",
			Options{URL: b.API(), VHost: "nope"},
			model.NoSuchVHost,
			"vhost nope does not exist", "--vhost",
		},
		{"AMQP port", at(amqpPort), model.NoManagement, amqpPort + " looks like the AMQP port", "15672"},
		{"TLS to the AMQP port", overTLS(amqpPort, nil), model.NoManagement, "looks like the AMQP port", "15672"},
		{"TLS to a plain port", overTLS(api, nil), model.TLSMismatch, "does not speak TLS", "http://"},
		{"plain to a proxy's TLS port", at("127.0.0.1:" + port), model.TLSMismatch, "expects TLS", "https://"},
		{ // RabbitMQ 3.10.8 with TLS answers plain HTTP with an alert.
			"plain to RabbitMQ's TLS port", at(answering(t, "\x15\x03\x03\x00\x02\x02\x0a")), model.TLSMismatch, "expects TLS",
			"https://",
		},

		{
			"unknown authority", overTLS("127.0.0.1:"+port, nil), model.TLSMismatch,
			"authority that this machine does not trust", "SSL_CERT_FILE",
		},
		{
			"certificate of another name", overTLS("localhost:"+port, trust), model.TLSMismatch, "for another name", "--api",
		},
		{"another protocol", at(answering(t, "SSH-2.0-x\r\n")), model.NoManagement, "does not speak HTTP", "15672"},
		{"a silent close", at(answering(t, "")), model.NoAnswer, "closed the connection without an answer", "https://"},
		{"a web page", url(page), model.NoManagement, "not as RabbitMQ's management API", "15672"},
		{"other JSON", url(other), model.NoManagement, "not as RabbitMQ's management API", "15672"},
		{"a wrong path", url(b.API() + "/rabbit"), model.NoManagement, "no RabbitMQ management API", "--api"},
		{
			"a proxy without its broker", url(broken), model.NoManagement,
			"502 Bad Gateway: no\\x1b[31m backend", "log",
		},
	}

	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			c := client(t, test.options)
			_, checkErr := c.Check(t.Context())
			_, snapshotErr := c.Snapshot(t.Context())
			for _, err := range []error{checkErr, snapshotErr} {
				connect := connectError(t, err)
				assert.Equal(t, connect.Kind, test.kind, "%s: %v", connect.Kind, connect)
				assert.Contains(t, connect.Cause, test.cause)
				assert.Contains(t, connect.Next, test.next)
				for _, secret := range []string{"wrongpass", manage.Password, "guest:guest"} {
					assert.That(t, !strings.Contains(connect.Error(), secret), "the error shows a password: %v", connect)
				}
			}
		})
	}

	t.Run("vhost without a permission", func(t *testing.T) {
		_, err := client(t, Options{URL: b.as("clerk", manage.Password), VHost: closed}).Check(t.Context())
		connect := connectError(t, err)
		// 3.10 and 4.0 say that it is not allowed, 4.3 hides that it exists.
		assert.That(t, connect.Kind == model.NotAllowed || connect.Kind == model.NoSuchVHost, "%v", err)
		assert.Contains(t, connect.Cause, "closed")
	})

	t.Run("TLS with the authority", func(t *testing.T) {
		s := poll(t, client(t, overTLS("127.0.0.1:"+port, trust)))
		assert.That(t, s.Overview.Version.Known(), "overview over TLS: %+v", s.Overview)
	})
}

// Cases that need another machine, another version or more certificates than a test has.
func TestAnswersInOtherWords(t *testing.T) {
	c := client(t, Options{URL: "http://u:secret@h:15672", VHost: "v"})
	for _, test := range []struct {
		answer answerError
		kind   model.ConnectKind
		cause  string
	}{
		// 4.0.5, 4.3.6
		{answerError{401, "not_authorized", "Not_Authorized", ""}, model.BadCredentials, "does not accept user u"},
		{answerError{401, "not_authorized", "Login failed", ""}, model.BadCredentials, "does not accept user u"}, // 3.10.8
		{answerError{401, "", "", ""}, model.BadCredentials, "does not accept user u"},
		{
			answerError{401, "not_authorised", "User can only log in via localhost", ""},
			model.NotAllowed,
			"only from its own machine",
		},

		// 3.10.8, 4.0.5
		{
			answerError{401, "not_authorised", "User not authorised to access virtual host", ""},
			model.NotAllowed,
			"no permission on vhost v",
		},
		{answerError{403, "", "denied", ""}, model.NotAllowed, "no permission on vhost v"},
		{answerError{404, "not_found", "Not Found", ""}, model.NoSuchVHost, "or user u may not see it"},         // 4.3.6
		{answerError{404, "Object Not Found", "Not Found", ""}, model.NoSuchVHost, "vhost v does not exist"},    // all
		{answerError{404, "", "", ""}, model.NoManagement, "no RabbitMQ management API"},                        // a proxy
		{answerError{503, "", "starting", ""}, model.NoManagement, "answers 503 Service Unavailable: starting"}, // a proxy
	} {
		got := c.answered(&test.answer)
		assert.Equal(t, got.Kind, test.kind, "%v: %s: %v", test.answer, got.Kind, got)
		assert.Contains(t, got.Cause, test.cause, "%v", test.answer)
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
		assert.Equal(t, connect.Kind, model.NoManagement)
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
	assert.Equal(t, asked.Load(), 3, "asked %d times: %v", asked.Load(), err)
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
	assert.That(t, dialed >= 3, "connected %d times: %v", dialed, err)
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
