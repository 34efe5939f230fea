package broker_test

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	rabbithole "github.com/michaelklishin/rabbit-hole/v2"

	"github.com/dlxtop/dlxtop/broker"
	"github.com/dlxtop/dlxtop/demo"
	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/dial"
	"github.com/dlxtop/dlxtop/internal/manage"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/internal/size"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/peek"
	"github.com/dlxtop/dlxtop/model/plan"
	"github.com/dlxtop/dlxtop/model/trouble"
)

func TestNewRefusesABadURLWithoutThePassword(t *testing.T) {
	for _, bad := range []string{
		"", "localhost", "http://u:sesame@host", "amqp://u:sesame@host:port", "amqp://u:se/same@host",
		"amqp://u:sesame@ho st", "amqp://u:sesame%zz@host", "amqp://u:sesame@host:99999",
	} {
		_, err := broker.New(broker.Options{URL: bad})
		must.That(t, err != nil, "%q: %v", bad, err)
		assert.Lacks(t, err.Error(), "sesame", "%v", bad)
	}

	c := must.Get(broker.New(broker.Options{URL: "amqp://me:pass@host/%2Fv"}))(t)
	assert.Equal(t, c.User(), "me", "%v", c)
	assert.Equal(t, c.VHost(), "/v")
}

func TestConnectErrors(t *testing.T) {
	t.Parallel()
	manage.VHost(t, node.API(), "closed")
	places := map[string]string{
		"amqp": must.Get(url.Parse(node.AMQP()))(t).Host, "http": must.Get(url.Parse(node.API()))(t).Host,
		"visitor": user(t, "visitor"), "secure": secureServer(t, time.Hour), "expired": secureServer(t, -time.Hour),
		"silent": dial.Silent(t), "rude": oddServer(t, []byte{}),
		// Erlang's TLS, and so RabbitMQ's, answers a client without TLS with the alert "unexpected message".
		"alerting": oddServer(t, []byte{21, 3, 3, 0, 2, 2, 10}),
	}

	type expected struct {
		Name, URL, VHost, Says string
		Kind                   trouble.Kind
	}
	must.Run(t, "testdata/connect_errors.toml", func(t *testing.T, test expected) {
		address := os.Expand(test.URL, func(name string) string { return places[name] })
		timeout := 10 * time.Second
		silence := strings.Contains(test.Says, "said nothing")
		if silence {
			timeout = 200 * time.Millisecond
		}

		var e *trouble.Error
		for until := time.Now().Add(patience); ; {
			c := newClient(t, broker.Options{URL: address, Timeout: timeout})
			err := c.Check(t.Context(), cmp.Or(test.VHost, "/"))
			must.That(t, errors.As(err, &e), "%v", err)
			// A busy machine had not even connected in time, or not yet found out what else is listening there.
			late := silence && strings.Contains(e.Cause, "did not answer within") ||
				test.Says == "speaks HTTP" && !strings.Contains(e.Cause, test.Says)
			if !late || time.Now().After(until) {
				break
			}
			timeout *= 2
		}

		t.Log(e)
		assert.Equal(t, e.Kind, test.Kind, "%v", e)
		assert.Contains(t, e.Cause, test.Says)
		assert.That(t, e.Next != "", "%v", e)
		assert.Lacks(t, e.Error(), "sesame")
		assert.Lacks(t, e.Error(), "\n")
	})
}

// oddServer accepts connections, and answers with some bytes and the end.
func oddServer(t *testing.T, answer []byte) string {
	t.Helper()
	return dial.Serve(t, dial.Listen(t), func(conn net.Conn) {
		_, _ = conn.Read(make([]byte, 8))
		_, _ = conn.Write(answer)
		conn.Close()
	})
}

func TestConnectIsCancelled(t *testing.T) {
	t.Parallel()
	c := newClient(t, broker.Options{URL: "amqp://guest:sesame@" + dial.Silent(t), Timeout: time.Minute})
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	err := c.Check(ctx, "/")
	assert.That(t, errors.Is(err, context.DeadlineExceeded), "%v", err)
}

func TestPermissions(t *testing.T) {
	t.Parallel()
	a := newApp(t)
	from, to := a.moving(model.Classic, numbered(10)...)
	blind := newClient(t, broker.Options{URL: user(t, "blind", rabbithole.Permissions{Write: ".*"})})
	var e *trouble.Error
	_, err := blind.Peek(t.Context(), planPeek(from, peek.Want{}))
	must.That(t, errors.As(err, &e), "peek without the right to read: %v", err)
	assert.Equal(t, e.Kind, trouble.NotAllowed)
	mute := newClient(t, broker.Options{URL: user(t, "mute", rabbithole.Permissions{Read: ".*"})})
	executed(t, mute, replayTo(t, from, to, plan.Selection{}),
		outcome{Planned: 10, Refused: 1, Stopped: true})
	wantIDs(t, "kept", a.drain(from, 10), count(10))
}

func TestCloseEndsTheClient(t *testing.T) {
	t.Parallel()
	c := client(t)
	must.Do(t, c.Check(t.Context(), ""))
	assert.Succeeds(t, c.Close())
	assert.That(t, c.Check(t.Context(), "") != nil, "a closed client connects")
}

// A connection that stalls or is cut during the handshake says nothing about the password or the vhost. amqp091-go
// mistakes that for a refusal of the user, or of the vhost.
func TestAnEndOfTheHandshakeIsNoRefusal(t *testing.T) {
	t.Parallel()
	whole, address := newCable(t, 0)
	check := func(t *testing.T, address string, timeout time.Duration) error {
		t.Helper()
		c := newClient(t, broker.Options{URL: address, Timeout: timeout})
		return c.Check(t.Context(), "/")
	}

	must.Do(t, check(t, address, patience))

	const header = 8
	for limit := int64(header + 1); limit < whole.bytes.Load(); limit += 40 {
		for how, stall := range map[string]chan struct{}{"cut": nil, "stall": make(chan struct{})} {
			t.Run(fmt.Sprintf("%s/%d", how, limit), func(t *testing.T) {
				t.Parallel()
				c := &cable{limit: limit, stall: stall}
				address := c.lay(t, node)
				if stall != nil {
					t.Cleanup(func() { close(stall) })
				}

				err := check(t, address, 300*time.Millisecond)
				var e *trouble.Error
				if err == nil && limit > header+1 || errors.As(err, &e) && e.Kind == trouble.Unreachable {
					return // the last bytes close the connection, and nothing depends on them
				}
				t.Error(err)
			})
		}
	}
}

// secureServer listens for TLS, with an untrusted certificate.
func secureServer(t *testing.T, validFor time.Duration) string {
	t.Helper()
	config := &tls.Config{Certificates: []tls.Certificate{
		must.Get(tls.X509KeyPair(dial.Certificate(t, validFor, "127.0.0.1")))(t),
	}}

	return dial.Serve(t, must.Get(tls.Listen("tcp", "127.0.0.1:0", config))(t), func(conn net.Conn) {
		go func() {
			_, _ = conn.Read(make([]byte, 1)) // runs the handshake
			conn.Close()
		}()
	})
}

// secureNode enables the broker's TLS listener, and returns its address, and a file with the certificate.
func secureNode(t *testing.T, n *demo.Node) (address, authority string) {
	t.Helper()
	certificate, key := dial.Certificate(t, time.Hour, "rabbit.test", "127.0.0.1")
	authority = filepath.Join(t.TempDir(), "ca.pem")
	must.Do(t, os.WriteFile(authority, certificate, 0o600))
	address = dial.Unused(t)
	text := func(file []byte) string {
		block, _ := pem.Decode(file)
		return `base64:decode(<<"` + base64.StdEncoding.EncodeToString(block.Bytes) + `">>)`
	}

	options := fmt.Sprintf("[{cert, %s}, {key, {'ECPrivateKey', %s}}, {verify, verify_none}]", text(certificate),
		text(key))
	const call = `rabbit_networking:ensure_ssl(), rabbit_networking:start_ssl_listener({"127.0.0.1", %s}, %s, 2).`
	start := fmt.Sprintf(call, strings.TrimPrefix(address, "127.0.0.1:"), options)
	out, err := n.Control(t.Context(), "eval", start)
	must.That(t, err == nil, "%v %v", err, out)

	return address, authority
}

// TestTLS acts on messages through a broker's TLS listener, including those with odd headers, and checks what is said
// about errors there.
func TestTLS(t *testing.T) {
	size.Long(t)
	t.Parallel()
	address, authority := secureNode(t, node)
	s := newOddStage(t, model.Quorum)
	trusted := x509.NewCertPool()
	trusted.AppendCertsFromPEM(must.Get(os.ReadFile(authority))(t))
	with := func(user string, secure *tls.Config) *broker.Client {
		return newClient(t, broker.Options{URL: "amqps://" + user + "@" + address + "/", TLS: secure})
	}
	trusts := &tls.Config{RootCAs: trusted}
	c := with("guest:guest", trusts)
	s.wantValues(t, s.peeked(t, c, s.from))
	n := len(s.ids)
	executed(t, c, movePlan(t, s.peeked(t, c, s.from), s.from, s.to), outcome{Planned: n, Moved: n})
	s.await(s.to, n)
	s.wantTables(t, s.to.Name, s.ids)

	named := with("guest:guest", &tls.Config{RootCAs: trusted, ServerName: "rabbit.test"})
	assert.Succeeds(t, named.Check(t.Context(), "/"))

	for _, test := range []struct {
		user   string
		secure *tls.Config
		vhost  string
		kind   trouble.Kind
		says   string
	}{
		{"guest:guest", nil, "/", trouble.TLSMismatch, "does not trust"},
		{
			"guest:guest",
			&tls.Config{RootCAs: trusted, ServerName: "other.test"},
			"/", trouble.TLSMismatch,
			"for another name",
		},
		{"guest:sesame", trusts, "/", trouble.BadCredentials, "refused the user guest"},
		{"guest:guest", trusts, "nowhere", trouble.NoSuchVHost, "no vhost nowhere"},
	} {
		var e *trouble.Error
		err := with(test.user, test.secure).Check(t.Context(), test.vhost)
		must.That(t, errors.As(err, &e), "%s: %v", test.says, err)
		assert.Equal(t, e.Kind, test.kind, "%s", test.says)
		assert.Contains(t, e.Cause, test.says)
	}
}

// user creates a user with rights on "/", if any are named, and returns the URL to connect as it.
func user(t testing.TB, name string, rights ...rabbithole.Permissions) string {
	t.Helper()
	n := manage.Of(t, node.API())
	n.Done(n.PutUser(name, rabbithole.UserSettings{Password: "secret"}))
	for _, r := range rights {
		n.Done(n.UpdatePermissionsIn("/", name, r))
	}

	u := must.Get(url.Parse(node.AMQP()))(t)
	u.User = url.UserPassword(name, "secret")
	return u.String()
}
