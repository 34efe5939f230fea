package config

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/peek"
)

// Connection is which broker to use, as which user, and what may be done there.
type Connection struct {
	Name     string   // for people: the context's name, or host:port
	AMQP     string   // amqp(s)://user:password@host:port
	API      string   // http(s)://host:port, without credentials
	Hosts    []string // further nodes of the cluster, for AMQP, each as host:port
	APIHosts []string // the same for the management API
	User     string   // for the management API
	Password string
	VHost    string // the only vhost to look at; "" is every one that the user sees
	Caution
	TLS        *tls.Config       // for AMQP; nil: the system's defaults
	APITLS     *tls.Config       // for the management API: the same, but with its own host name
	NoJournal  bool              // actions are not recorded
	JournalDir string            // "" is the user's own
	APIOnly    bool              // only the management API was named: AMQP is at its usual address
	Guessed    bool              // nothing was configured: it is the broker on this machine, if there is one
	Command    string            // that uses it, as other programs of dlxtop show it
	Roles      model.StatedRoles // of queues, from the configuration file
	Renamed    map[string]string // queues that have another name now, from the configuration file
}

// Caution is what a context says besides which broker it is.
type Caution struct {
	ReadOnly    bool
	Production  bool
	FullJournal bool         // replayed messages are kept completely
	Looks       peek.Consent // to looks that use up delivery limits; "" when the configuration says nothing
	Warning     string       // from the configuration file; "" without one
}

// String returns the connection's name: a connection contains a password, which must not be printed.
func (c Connection) String() string { return c.Name }

// GoString is String too.
func (c Connection) GoString() string { return c.Name }

// Address returns the broker's host:port.
func (c Connection) Address() string {
	e, err := parseAMQP("the URL", c.AMQP)
	if err != nil {
		return c.Name
	}
	return e.address()
}

// Flags are the command line's options for the connection.
type Flags struct {
	URL, API, Context   string // "" when not given
	VHost               model.Opt[string]
	ReadOnly, NoJournal bool
	Ask                 Ask // for a password that is nowhere; nil: there is no terminal
}

// Connection determines the connection. The first of these that is given wins: --url or --api (with --context: that
// context's broker, seen through this --api), --context, the DLXTOP_ variables, AMQP_URL, RABBITMQ_URL, this machine.
// What is named together belongs together: --api alone never borrows the broker from an environment variable, because
// then dlxtop would look at one broker and act on another.
func (f Flags) Connection(env func(string) string) (Connection, error) {
	s := settings{url: f.URL, api: f.API, urlFrom: "--url", apiFrom: "--api"}
	switch {
	case f.Context != "":
		context, err := loadContext(env, f.Context)
		if err != nil {
			return Connection{}, err
		}
		s = s.over(context)
	case f.URL == "" && f.API == "":
		var err error
		if s, err = environment(env); err != nil {
			return Connection{}, err
		}
	}

	s.ReadOnly = s.ReadOnly || f.ReadOnly
	s.vhost = cmp.Or(f.VHost, s.vhost)
	file, err := Read(env)
	if err != nil {
		return Connection{}, err
	}
	c, err := s.connection(f.Ask)
	c.NoJournal, c.Roles, c.Renamed = f.NoJournal, file.statedRoles(s.name), file.Renamed
	return c, err
}

// environment reads the environment; the zero settings when it has none.
func environment(env func(string) string) (settings, error) {
	own := settings{url: env("DLXTOP_URL"), api: env("DLXTOP_API"), urlFrom: "DLXTOP_URL", apiFrom: "DLXTOP_API"}
	if name := env("DLXTOP_CONTEXT"); name != "" && own.url == "" {
		context, err := loadContext(env, name)
		if err != nil {
			return settings{}, err
		}
		return own.over(context), nil
	}

	if own.url != "" || own.api != "" {
		return own, nil
	}
	for _, name := range []string{"AMQP_URL", "RABBITMQ_URL"} {
		if value := env(name); value != "" {
			return settings{url: value, urlFrom: name}, nil
		}
	}

	return settings{}, nil
}

type settings struct {
	name             string
	url, api         string
	urlFrom, apiFrom string            // where they were written, for errors
	vhost            model.Opt[string] // unknown: the URL's
	passwordCommand  string            // prints the password that the URLs do not have; "": there is none
	Caution
}

// over lays settings over those of a context. Settings for another broker take nothing from the context but its
// caution.
func (s settings) over(context settings) settings {
	if s.url != "" {
		s.Caution = context.Caution
		return s
	}

	if s.api != "" {
		context.api, context.apiFrom = s.api, s.apiFrom
	}

	return context
}

// connection derives the halves that were not given.
func (s settings) connection(ask Ask) (Connection, error) {
	var broker, api endpoint
	var err error
	guessed := s.url == "" && s.api == ""
	if s.url != "" || guessed {
		if broker, err = parseAMQP(s.urlFrom, cmp.Or(s.url, "amqp://localhost")); err != nil {
			return Connection{}, err
		}
		api = broker.beside(apiPort, apisPort)
	}

	if s.api != "" {
		if api, err = parseAPI(s.apiFrom, s.api); err != nil {
			return Connection{}, err
		}
		if s.url == "" {
			broker = api.beside(amqpPort, amqpsPort)
		}
	}

	secured, err := tlsOf(s.urlFrom, broker)
	if err != nil {
		return Connection{}, err
	}
	apiTLS := secured.Clone()
	if secured != nil {
		apiTLS.ServerName = ""
	}

	share(&broker, &api)
	share(&api, &broker)
	if s.passwordCommand != "" && !broker.needsPassword() && !api.needsPassword() {
		return Connection{}, fmt.Errorf("%s names no user, or has a password already, and the context has a "+
			"password_command: write the user alone into the URL", s.from())
	}
	if err := s.complete(&broker, &api, ask); err != nil {
		return Connection{}, err
	}

	return Connection{
		Name:     cmp.Or(s.name, broker.address()),
		AMQP:     broker.amqpURL(),
		API:      api.apiURL(),
		Hosts:    broker.others,
		APIHosts: api.others,
		User:     api.user,
		Password: api.password,
		VHost:    s.vhost.Or(broker.vhost),
		Caution:  s.Caution,
		TLS:      secured,
		APITLS:   apiTLS,
		Guessed:  guessed,
		APIOnly:  s.url == "" && s.api != "",
	}, nil
}

// share gives one endpoint the other's credentials when it has none; RabbitMQ's defaults when neither has.
func share(to, from *endpoint) {
	if to.named {
		return
	}
	to.user = "guest"
	to.password = "guest"
	if from.named {
		to.user = from.user
		to.password = from.password
		to.named = true
	}
}

type endpoint struct {
	tls            bool
	host           string // without the port
	port           string
	others         []string // further nodes, each as host:port
	user, password string
	named          bool   // the URL has a user
	vhost          string // of an AMQP URL; "" when it names none
	path           string // of an API URL, without trailing slashes: a proxy's prefix, and /api if it was given
	query          string // of an AMQP URL, as given
}

// RabbitMQ's ports.
const (
	amqpPort  = "5672"
	amqpsPort = "5671"
	apiPort   = "15672"
	apisPort  = "15671"
)

// parseAMQP parses amqp(s)://user:password@host:port/vhost. No path, or "/" alone, names no vhost; "/%2f" is the vhost
// "/". from is where the URL comes from: an error names that, and never the URL, which may contain a password.
func parseAMQP(from, text string) (endpoint, error) {
	e, u, err := parseURL(from, text, "amqp", amqpPort, amqpsPort, "an AMQP URL: write amqp://user:password@host:port/"+
		"vhost, or amqps://…")
	if err != nil {
		return e, err
	}
	e.query = u.RawQuery
	e.vhost, err = url.PathUnescape(strings.TrimPrefix(u.EscapedPath(), "/"))
	if err != nil {
		return endpoint{}, fmt.Errorf("the vhost in %s cannot be read: write special characters as %%XX, the vhost / "+
			"as %%2f", from)
	}

	return e, nil
}

// parseAPI parses http(s)://user:password@host:port/prefix. Without a port it is the scheme's default, as in any URL.
func parseAPI(from, text string) (endpoint, error) {
	e, u, err := parseURL(from, text, "http", "80", "443", "the URL of a management API: write http://host:15672, or "+
		"https://…")
	if err == nil {
		e.path = strings.TrimRight(u.EscapedPath(), "/")
	}
	return e, err
}

// parseURL parses a URL of a scheme, or of that with TLS, whose name has an s. is says what the text should be.
// Several hosts are separated by commas, and those without a port have that of the last one.
func parseURL(from, text, scheme, port, securePort, is string) (endpoint, *url.URL, error) {
	text, hosts := oneHost(text)
	u, err := url.Parse(text)
	if err != nil || u.Scheme != scheme && u.Scheme != scheme+"s" || !goodHost(u) || !goodPort(u.Port()) {
		return endpoint{}, nil, fmt.Errorf("%s is not %s, with special characters as %%XX", from, is)
	}

	e := endpoint{tls: u.Scheme != scheme, host: u.Hostname(), user: u.User.Username()}
	if e.tls {
		port = securePort
	}
	port = cmp.Or(u.Port(), port)
	for i, host := range slices.Backward(hosts) {
		other, err := url.Parse("amqp://" + host)
		if err != nil || other.Host != host || strings.HasSuffix(host, ":") || !goodHost(other) || !goodPort(other.Port()) {
			return endpoint{}, nil, fmt.Errorf("%s names several hosts, and host %d of them cannot be read: write "+
				"%s://user:password@one,two,three:%s", from, i+2, scheme, port)
		}
		if i == len(hosts)-1 {
			port = cmp.Or(other.Port(), port)
		}
		e.others = append(e.others, model.AddressOf(other, port))
	}

	slices.Reverse(e.others)
	_, e.port, _ = net.SplitHostPort(model.AddressOf(u, port))

	// A script that forgot to set its variable writes an empty password. RabbitMQ (3.10, 4.0 and 4.3) refuses it.
	password, written := u.User.Password()
	e.named, e.password = e.user != "", password
	if written && password == "" && e.named {
		return endpoint{}, nil, fmt.Errorf("the password in %s is empty, and RabbitMQ refuses that: write it, or leave "+
			"out the colon and dlxtop asks for it on a terminal", from)
	}

	return e, u, nil
}

// oneHost takes all hosts but the first one out of a URL.
func oneHost(text string) (one string, others []string) {
	scheme, rest, isURL := strings.Cut(text, "://")
	if !isURL {
		return text, nil
	}
	end := strings.IndexAny(rest, "/?#")
	if end < 0 {
		end = len(rest)
	}
	at := strings.LastIndex(rest[:end], "@") + 1
	hosts := strings.Split(rest[at:end], ",")
	return scheme + "://" + rest[:at] + hosts[0] + rest[end:], hosts[1:]
}

// goodHost accepts a name, an address, and an IPv6 address in brackets, if all characters are printable.
func goodHost(u *url.URL) bool {
	host := u.Hostname()
	return host != "" && model.Printable(host) == host && (strings.HasPrefix(u.Host, "[") || !strings.Contains(host, ":"))
}

// goodPort also accepts an absent port.
func goodPort(port string) bool {
	n, err := strconv.Atoi(port)
	return port == "" || err == nil && n > 0 && n < 1<<16
}

func (e endpoint) address() string { return net.JoinHostPort(e.host, e.port) }

// beside returns the usual address of a broker's management API, or of its broker. From https it is amqps: a password
// meant for TLS is not sent in the clear.
func (e endpoint) beside(plainPort, securePort string) endpoint {
	e.port = plainPort
	if e.tls {
		e.port = securePort
	}

	e.vhost = ""
	e.path = ""
	e.query = ""
	others := e.others
	e.others = nil
	for _, other := range others {
		e.others = append(e.others, net.JoinHostPort(model.HostOf(other), e.port))
	}

	return e
}

// amqpURL returns the endpoint with its credentials, without a vhost.
func (e endpoint) amqpURL() string {
	u := url.URL{Scheme: "amqp", User: url.UserPassword(e.user, e.password), Host: e.address(), RawQuery: e.query}
	if e.password == "" {
		u.User = url.User(e.user)
	}
	if e.tls {
		u.Scheme = "amqps"
	}

	return u.String()
}

func (e endpoint) apiURL() string {
	u := url.URL{Scheme: "http", Host: e.address()}
	if e.tls {
		u.Scheme = "https"
	}
	return u.String() + e.path
}

// credentials finds the password in a URL.
var credentials = regexp.MustCompile(`(://[^:/@\s]*):\S*@`)

// WithoutPasswords makes a text that may contain a URL fit to be shown: an argument in the wrong place is often one.
// The password "password" is dlxtop's own example.
func WithoutPasswords(text string) string {
	return credentials.ReplaceAllStringFunc(text, func(found string) string {
		if strings.HasSuffix(found, ":password@") {
			return found
		}
		return credentials.ReplaceAllString(found, "$1:***@")
	})
}

// WithoutPassword returns an argument, possibly any kind of URL, without the password.
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

// tlsOf reads RabbitMQ's query parameters of an amqps URL: cacertfile, certfile and keyfile name PEM files, and
// server_name_indication a host. The files also apply to the management API, which usually has the same authority; the
// host only to AMQP, as the API's is the one in its URL. Without any of them it is nil: the system's defaults.
func tlsOf(from string, e endpoint) (*tls.Config, error) {
	query, err := url.ParseQuery(e.query)
	if err != nil {
		return nil, fmt.Errorf("the parameters behind the ? in %s cannot be read", from)
	}
	authority := query.Get("cacertfile")
	certificate := query.Get("certfile")
	key := query.Get("keyfile")
	host := query.Get("server_name_indication")
	if !e.tls || authority == "" && certificate == "" && key == "" && host == "" {
		return nil, nil
	}
	config := &tls.Config{ServerName: host, MinVersion: tls.VersionTLS12}
	if authority != "" {
		text, err := os.ReadFile(authority)
		if err != nil {
			return nil, model.Errorf("cacertfile in %s cannot be read: %v", from, err.Error())
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(text) {
			return nil, model.Errorf("cacertfile in %s: %v holds no certificate in PEM", from, authority)
		}
	}

	if certificate != "" || key != "" {
		pair, err := tls.LoadX509KeyPair(certificate, key)
		if err != nil {
			if in := (*fs.PathError)(nil); errors.As(err, &in) {
				err = in.Err // the path of a key must not appear in logs
			}
			return nil, model.Errorf("certfile and keyfile in %s cannot be used: %v", from, err.Error())
		}
		config.Certificates = []tls.Certificate{pair}
	}

	return config, nil
}
