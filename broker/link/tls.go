package link

import (
	"cmp"
	"context"
	"crypto/tls"
	"net"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/dlxtop/dlxtop/model"
)

// tlsFailure means that a broker was reached, but the TLS handshake failed.
type tlsFailure struct{ error }

func (e *tlsFailure) Unwrap() error { return e.error }

// secure puts TLS around a connection. amqp091-go would put it around the wire, which would then see no frames.
func (p *attempt) secure(ctx context.Context, conn net.Conn) (net.Conn, error) {
	config := p.tls.Clone()
	config.ServerName = cmp.Or(config.ServerName, model.HostOf(p.address))
	secured := tls.Client(conn, config)
	if err := secured.HandshakeContext(ctx); err != nil {
		_ = conn.Close()
		return nil, &tlsFailure{err}
	}

	return secured, nil
}

// tlsConfig returns the given TLS configuration, or the system's defaults. Without a server name in it, or in the URL,
// the certificate has to name the host.
func tlsConfig(given *tls.Config, uri *amqp.URI) *tls.Config {
	config := &tls.Config{ServerName: uri.ServerName, MinVersion: tls.VersionTLS12}
	if given != nil {
		config = given.Clone()
	}

	return config
}
