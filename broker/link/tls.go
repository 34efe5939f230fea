package link

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/dlxtop/dlxtop/model"
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

// tlsConfig is the TLS configuration from the options, or else from the URL's parameters. An error is one sentence.
func tlsConfig(given *tls.Config, uri *amqp.URI) (*tls.Config, error) {
	config := &tls.Config{ServerName: uri.ServerName, MinVersion: tls.VersionTLS12}
	if given != nil {
		config = given.Clone()
	} else if err := readCertificates(config, uri); err != nil {
		return nil, err
	}

	if config.ServerName == "" {
		config.ServerName = uri.Host
	}

	return config, nil
}

func readCertificates(config *tls.Config, uri *amqp.URI) error {
	if uri.CACertFile != "" {
		text, err := os.ReadFile(uri.CACertFile)
		if err != nil {
			return fmt.Errorf("cacertfile in the AMQP URL cannot be read: %s", model.Printable(err.Error()))
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(text) {
			return fmt.Errorf("cacertfile in the AMQP URL: %s holds no certificate in PEM", model.Printable(uri.CACertFile))
		}
	}

	if uri.CertFile != "" || uri.KeyFile != "" {
		pair, err := tls.LoadX509KeyPair(uri.CertFile, uri.KeyFile)
		if err != nil {
			if in := (*fs.PathError)(nil); errors.As(err, &in) {
				err = in.Err // the path of a key must not appear in logs
			}
			return fmt.Errorf("certfile and keyfile in the AMQP URL cannot be used: %s", model.Printable(err.Error()))
		}
		config.Certificates = []tls.Certificate{pair}
	}

	return nil
}
