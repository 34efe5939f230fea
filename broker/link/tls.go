package link

import (
	"cmp"
	"context"
	"crypto/tls"
	"net"

	amqp "github.com/rabbitmq/amqp091-go"
)

// tlsFailure means that a broker was reached, but the TLS handshake failed.
type tlsFailure struct{ error }

func (e *tlsFailure) Unwrap() error { return e.error }

// secure puts TLS around a connection. amqp091-go would put it around the wire, which would then see no frames.
func (p *Pool) secure(ctx context.Context, conn net.Conn) (net.Conn, error) {
	secured := tls.Client(conn, p.tls)
	if err := secured.HandshakeContext(ctx); err != nil {
		_ = conn.Close()
		return nil, &tlsFailure{err}
	}

	return secured, nil
}

// tlsConfig returns the given TLS configuration, or the system's defaults, for the host of the URL.
func tlsConfig(given *tls.Config, uri *amqp.URI) *tls.Config {
	config := &tls.Config{ServerName: uri.ServerName, MinVersion: tls.VersionTLS12}
	if given != nil {
		config = given.Clone()
	}
	config.ServerName = cmp.Or(config.ServerName, uri.Host)
	return config
}
