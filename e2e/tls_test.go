package e2e

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/dlxtop/dlxtop/cli"
	"github.com/dlxtop/dlxtop/demo"
	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/built"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/internal/size"
)

// authority signs certificates for a test.
type authority struct {
	t           *testing.T
	dir         string
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	a := &authority{t: t, dir: t.TempDir()}
	a.certificate = &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "authority"}, NotBefore: time.Now().Add(-time.Hour),
		NotAfter: time.Now().Add(time.Hour),
		IsCA:     true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	a.key = a.write("authority", a.certificate, nil)
	return a
}

// sign writes NAME.pem and NAME.key.
func (a *authority) sign(name string, change func(*x509.Certificate)) {
	a.t.Helper()
	c := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), NotBefore: time.Now().Add(-time.Hour),
		NotAfter: time.Now().Add(time.Hour),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	change(c)
	a.write(name, c, a.key)
}

// write signs with a key, or with the certificate's own (nil).
func (a *authority) write(name string, c *x509.Certificate, signer *ecdsa.PrivateKey) *ecdsa.PrivateKey {
	a.t.Helper()
	key := must.Get(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))(a.t)
	if signer == nil {
		signer = key
	}
	der := must.Get(x509.CreateCertificate(rand.Reader, c, a.certificate, &key.PublicKey, signer))(a.t)
	private := must.Get(x509.MarshalECPrivateKey(key))(a.t)
	for path, block := range map[string]*pem.Block{
		a.path(name + ".pem"): {Type: "CERTIFICATE", Bytes: der},
		a.path(name + ".key"): {Type: "EC PRIVATE KEY", Bytes: private},
	} {
		must.Do(a.t, os.WriteFile(path, pem.EncodeToMemory(block), 0o600))
	}
	return key
}

func (a *authority) path(name string) string { return filepath.Join(a.dir, name) }

// freePort is a port that nothing listens on.
func freePort(t *testing.T) int {
	t.Helper()
	listener := must.Get(net.Listen("tcp4", "127.0.0.1:0"))(t)
	defer listener.Close()
	return listener.Addr().(*net.TCPAddr).Port
}

// TestServerNameOfAMQP: the AMQP port has a certificate for a name of its own, the management API one for its address.
func TestServerNameOfAMQP(t *testing.T) {
	size.Long(t)
	a := newAuthority(t)
	a.sign("amqp", func(c *x509.Certificate) { c.DNSNames = []string{"amqp.example"} })
	a.sign("api", func(c *x509.Certificate) { c.IPAddresses = []net.IP{net.IPv4(127, 0, 0, 1)} })
	amqps, https := freePort(t), freePort(t)
	secure, err := demo.Start(t.Context(), demo.Options{Settings: fmt.Sprintf(`listeners.ssl.1 = 127.0.0.1:%d
ssl_options.cacertfile = %s
ssl_options.certfile = %s
ssl_options.keyfile = %s
management.ssl.ip = 127.0.0.1
management.ssl.port = %d
management.ssl.cacertfile = %s
management.ssl.certfile = %s
management.ssl.keyfile = %s
`, amqps, a.path("authority.pem"), a.path("amqp.pem"), a.path("amqp.key"),
		https, a.path("authority.pem"), a.path("api.pem"), a.path("api.key"))})
	must.Do(t, err)
	t.Cleanup(func() {
		assert.Succeeds(t, secure.Stop())
	})
	scenario, err := demo.ScenarioNamed("pubsub")
	if err == nil {
		err = scenario.Declare(t.Context(), secure.AMQP())
	}
	must.Do(t, err)
	query := "?cacertfile=" + a.path("authority.pem")
	for _, c := range []struct {
		name   string
		query  string
		status int
		says   string // and, when it fails, --url
	}{
		{"the name of the AMQP certificate", query + "&server_name_indication=amqp.example", cli.ExitDone, ""},
		{"no name", query, cli.ExitConnect, "for another name"},
		{
			"a mechanism that it has not", query + "&server_name_indication=amqp.example&auth_mechanism=external",
			cli.ExitConnect, "does not offer the mechanism EXTERNAL",
		},
		{"a name that it has not", query + "&server_name_indication=other.example", cli.ExitConnect, "for another name"},
	} {
		t.Run(c.name, func(t *testing.T) {
			command := exec.CommandContext(t.Context(), built.Program, "peek", "ucenter@user@failed", "-n", "1",
				"--url", fmt.Sprintf("amqps://guest:guest@127.0.0.1:%d/%%2f%s", amqps, c.query), "--api",
				fmt.Sprintf("https://127.0.0.1:%d", https))
			command.Env = append(built.Environment(), "HOME="+t.TempDir())
			var out, errs bytes.Buffer
			command.Stdout, command.Stderr = &out, &errs
			_ = command.Run() // the status tells
			if command.ProcessState.ExitCode() != c.status || !bytes.Contains(errs.Bytes(), []byte(c.says)) {
				t.Errorf("exit status %d: %s%s", command.ProcessState.ExitCode(), out.String(), errs.String())
			}
			assert.That(t, c.status == cli.ExitDone || bytes.Contains(errs.Bytes(), []byte("--url")) &&
				!bytes.Contains(errs.Bytes(), []byte("--api")), "it is the AMQP certificate that is meant: %s", errs.String())
		})
	}
}
