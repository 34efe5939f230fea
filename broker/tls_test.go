package broker_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/dlxtop/dlxtop/broker"
	"github.com/dlxtop/dlxtop/demo"
	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/internal/size"
	"github.com/dlxtop/dlxtop/model"
)

// certificate is one that nobody trusts, for this machine, with its key, that is valid for so long from now on.
func certificate(t *testing.T, validFor time.Duration) (der []byte, key *ecdsa.PrivateKey) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must.Do(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(validFor),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, DNSNames: []string{"rabbit.test"},
		IsCA: true, BasicConstraintsValid: true,
	}
	if der, err = x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key); err != nil {
		t.Fatal(err)
	}
	return der, key
}

// secureServer listens for TLS, with a certificate that nobody trusts.
func secureServer(t *testing.T, validFor time.Duration) string {
	t.Helper()
	der, key := certificate(t, validFor)
	config := &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}}
	listener := must.Get(tls.Listen("tcp", "127.0.0.1:0", config))(t)
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				_, _ = conn.Read(make([]byte, 1)) // runs the handshake
				conn.Close()
			}()
		}
	}()
	return listener.Addr().String()
}

// secureNode lets the broker listen for TLS, and returns where, and a file with the certificate.
func secureNode(t *testing.T, n *demo.Node) (address, authority string) {
	t.Helper()
	der, key := certificate(t, time.Hour)
	authority = filepath.Join(t.TempDir(), "ca.pem")
	must.Do(t, os.WriteFile(authority, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600))
	private := must.Get(x509.MarshalECPrivateKey(key))(t)
	free := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	port := free.Addr().(*net.TCPAddr).Port
	free.Close()
	text := func(b []byte) string { return `base64:decode(<<"` + base64.StdEncoding.EncodeToString(b) + `">>)` }
	options := fmt.Sprintf("[{cert, %s}, {key, {'ECPrivateKey', %s}}, {verify, verify_none}]", text(der), text(private))
	const call = `rabbit_networking:ensure_ssl(), rabbit_networking:start_ssl_listener({"127.0.0.1", %d}, %s, 2).`
	start := fmt.Sprintf(call, port, options)
	out, err := n.Control(t.Context(), "eval", start)
	must.That(t, err == nil, "%v %v", err, out)
	return fmt.Sprintf("127.0.0.1:%d", port), authority
}

// TestTLS acts on messages through a broker's TLS listener, those with odd headers too, and tells what is wrong
// there in words.
func TestTLS(t *testing.T) {
	size.Long(t)
	t.Parallel()
	address, authority := secureNode(t, node)
	s := newOddStage(t, model.Quorum)
	with := func(user, parameters string) *broker.Client {
		c := newClient(t, broker.Options{URL: "amqps://" + user + "@" + address + "/?" + parameters})
		return c
	}
	c := with("guest:guest", "cacertfile="+authority)
	s.wantValues(t, s.peeked(t, c, s.from))
	n := len(s.ids)
	wantOutcome(t, execute(t, c, movePlan(t, s.peeked(t, c, s.from), s.from, s.to)), outcome{Planned: n, Moved: n})
	s.await(s.to.QueueRef, n)
	s.wantTables(t, s.to.Name, s.ids)

	named := with("guest:guest", "cacertfile="+authority+"&server_name_indication=rabbit.test")
	assert.Succeeds(t, named.Check(t.Context(), "/"))
	for _, test := range []struct {
		user, parameters, vhost string
		kind                    model.ConnectKind
		says                    string
	}{
		{"guest:guest", "", "/", model.TLSMismatch, "does not trust"},
		{
			"guest:guest", "cacertfile=" + authority + "&server_name_indication=other.test", "/", model.TLSMismatch,
			"for another name",
		},
		{"guest:sesame", "cacertfile=" + authority, "/", model.BadCredentials, "refused the user guest"},
		{"guest:guest", "cacertfile=" + authority, "nowhere", model.NoSuchVHost, "no vhost nowhere"},
	} {
		var e *model.ConnectError
		err := with(test.user, test.parameters).Check(t.Context(), test.vhost)
		assert.That(t, errors.As(err, &e) && e.Kind == test.kind && strings.Contains(e.Cause, test.says),
			"%+v: %v", test, err)
	}
	_, err := broker.New(broker.Options{URL: "amqps://guest:sesame@" + address + "/?cacertfile=/nowhere"})
	assert.That(t, err != nil && !strings.Contains(err.Error(), "sesame"), "a certificate that is not there: %v", err)
}
