package config

import (
	"fmt"
	"net"
	"net/url"
	"regexp"
	"strconv"
	"strings"

	"github.com/dlxtop/dlxtop/model"
)

// endpoint is one URL of a broker, taken apart.
type endpoint struct {
	tls            bool
	host           string // without the port
	port           string
	user, password string
	named          bool   // the URL has a user
	vhost          string // of an AMQP URL; "" when it names none
	path           string // of an API URL, without slashes at its end: a proxy's prefix, and /api where that was written
	query          string // of an AMQP URL, as it was given
}

// RabbitMQ's ports.
const (
	amqpPort  = "5672"
	amqpsPort = "5671"
	apiPort   = "15672"
	apisPort  = "15671"
)

// parseAMQP reads amqp(s)://user:password@host:port/vhost. No path, or "/" alone, names no vhost; "/%2f" is the vhost
// "/". from is the place that the URL comes from: an error names it, and never the URL, which may hold a password.
func parseAMQP(from, text string) (endpoint, error) {
	u, err := url.Parse(text)
	if err != nil || (u.Scheme != "amqp" && u.Scheme != "amqps") || !goodHost(u) || !goodPort(u.Port()) {
		return endpoint{}, fmt.Errorf("%s is not an AMQP URL: write amqp://user:password@host:port/vhost, or "+
			"amqps://…, with "+
			"special characters as %%XX", from)
	}
	e := endpointOf(u, "amqps", amqpPort, amqpsPort)
	e.query = u.RawQuery
	e.vhost, err = url.PathUnescape(strings.TrimPrefix(u.EscapedPath(), "/"))
	if err != nil {
		return endpoint{}, fmt.Errorf("the vhost in %s cannot be read: write special characters as %%XX, the vhost / "+
			"as %%2f", from)
	}
	return e, nil
}

// parseAPI reads http(s)://user:password@host:port/prefix. Without a port it is the scheme's own, as in any URL.
func parseAPI(from, text string) (endpoint, error) {
	u, err := url.Parse(text)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || !goodHost(u) || !goodPort(u.Port()) {
		return endpoint{}, fmt.Errorf("%s is not the URL of a management API: write http://host:15672, or "+
			"https://…, with "+
			"special characters as %%XX", from)
	}
	e := endpointOf(u, "https", "80", "443")
	e.path = strings.TrimRight(u.EscapedPath(), "/")
	return e, nil
}

func endpointOf(u *url.URL, secure, plainPort, securePort string) endpoint {
	e := endpoint{tls: u.Scheme == secure, host: u.Hostname(), port: u.Port()}
	if e.port == "" {
		e.port = plainPort
		if e.tls {
			e.port = securePort
		}
	}
	if port, err := strconv.Atoi(e.port); err == nil {
		e.port = strconv.Itoa(port) // 05672 is 5672
	}
	if u.User != nil {
		e.user, e.named = u.User.Username(), u.User.Username() != ""
		e.password, _ = u.User.Password()
	}
	return e
}

// goodHost accepts a name, an address, and an IPv6 address in brackets, all of letters that can be shown.
func goodHost(u *url.URL) bool {
	host := u.Hostname()
	return host != "" && model.Printable(host) == host && (strings.HasPrefix(u.Host, "[") || !strings.Contains(host, ":"))
}

// goodPort accepts an absent port too.
func goodPort(port string) bool {
	n, err := strconv.Atoi(port)
	return port == "" || err == nil && n > 0 && n < 1<<16
}

func (e endpoint) address() string { return net.JoinHostPort(e.host, e.port) }

// apiBeside is where a broker's management API usually is.
func (e endpoint) apiBeside() endpoint {
	return e.beside(apiPort, apisPort)
}

// amqpBeside is where a management API's broker usually is. From https it is amqps: a password that was to be sent over
// TLS is not sent in the clear.
func (e endpoint) amqpBeside() endpoint {
	return e.beside(amqpPort, amqpsPort)
}

func (e endpoint) beside(plainPort, securePort string) endpoint {
	e.port = plainPort
	if e.tls {
		e.port = securePort
	}
	e.vhost, e.path, e.query = "", "", ""
	return e
}

// amqpURL is the endpoint with its credentials, and without a vhost.
func (e endpoint) amqpURL() string {
	u := url.URL{Scheme: "amqp", User: url.UserPassword(e.user, e.password), Host: e.address(), RawQuery: e.query}
	if e.tls {
		u.Scheme = "amqps"
	}
	return u.String()
}

// apiURL is the endpoint without credentials.
func (e endpoint) apiURL() string {
	u := url.URL{Scheme: "http", Host: e.address()}
	if e.tls {
		u.Scheme = "https"
	}
	return u.String() + e.path
}

// credentials finds the password in a URL.
var credentials = regexp.MustCompile(`(://[^:/@\s]*):\S*@`)

// WithoutPasswords makes a text that may hold a URL fit to be shown: an argument in the wrong place is often one. The
// password "password" is dlxtop's own example.
func WithoutPasswords(text string) string {
	return credentials.ReplaceAllStringFunc(text, func(found string) string {
		if strings.HasSuffix(found, ":password@") {
			return found
		}
		return credentials.ReplaceAllString(found, "$1:***@")
	})
}

// WithoutPassword is an argument, which may be a URL with anything in it, without the password.
func WithoutPassword(argument string) string {
	scheme, rest, isURL := strings.Cut(argument, "://")
	if !isURL {
		return argument
	}
	if before, _, has := strings.Cut(rest, "password="); has {
		rest = before + "password=***"
	}
	at := strings.LastIndex(rest, "@")
	if user, _, has := strings.Cut(rest[:max(at, 0)], ":"); has {
		rest = user + ":***" + rest[at:]
	}
	return scheme + "://" + rest
}
