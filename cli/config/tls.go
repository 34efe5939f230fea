package config

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"

	"github.com/dlxtop/dlxtop/model"
)

// tlsOf reads RabbitMQ's query parameters of an amqps URL: cacertfile, certfile and keyfile name PEM files, and
// server_name_indication a host. The files hold for the management API, too, which usually has the same authority; the
// host is AMQP's alone, as the API's is the one that its URL names. Without any of them it is nil: the system's
// defaults.
func tlsOf(from string, e endpoint) (*tls.Config, error) {
	query, err := url.ParseQuery(e.query)
	if err != nil {
		return nil, fmt.Errorf("the parameters behind the ? in %s cannot be read", from)
	}
	authority, certificate, key, host := query.Get("cacertfile"), query.Get("certfile"), query.Get("keyfile"),
		query.Get("server_name_indication")
	if !e.tls || authority == "" && certificate == "" && key == "" && host == "" {
		return nil, nil
	}
	config := &tls.Config{ServerName: host, MinVersion: tls.VersionTLS12}
	if authority != "" {
		text, err := os.ReadFile(authority)
		if err != nil {
			return nil, fmt.Errorf("cacertfile in %s cannot be read: %s", from, model.Printable(err.Error()))
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(text) {
			return nil, fmt.Errorf("cacertfile in %s: %s holds no certificate in PEM", from, model.Printable(authority))
		}
	}
	if certificate != "" || key != "" {
		pair, err := tls.LoadX509KeyPair(certificate, key)
		if err != nil {
			if in := (*fs.PathError)(nil); errors.As(err, &in) {
				err = in.Err // the path of a key is not for logs
			}
			return nil, fmt.Errorf("certfile and keyfile in %s cannot be used: %s", from, model.Printable(err.Error()))
		}
		config.Certificates = []tls.Certificate{pair}
	}
	return config, nil
}

// withoutServerName are the same settings for another host; nil for nil.
func withoutServerName(config *tls.Config) *tls.Config {
	if config == nil {
		return nil
	}
	config = config.Clone()
	config.ServerName = ""
	return config
}
