// Package link makes and shares the connections to a broker, and explains to an operator what a broker refuses and why.
// Other packages look, publish and tap on them.
package link

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/dlxtop/dlxtop/broker/wire"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/hosts"
	"github.com/dlxtop/dlxtop/model/trouble"
)

const (
	// Heartbeat is how often both sides send a sign of life: a dead peer is noticed after 15 s.
	Heartbeat = 10 * time.Second

	defaultTimeout = 10 * time.Second
	sessionLength  = 12 // characters in the names of a pool's connections: enough to distinguish programs
)

// mechanisms are the login mechanisms that a URL may name.
var mechanisms = []string{"plain", "amqplain", "external"}

// Pool keeps the connections to one broker: one for each vhost, made on demand and remade after a loss, and further
// ones while messages are held (links). It is safe for concurrent use.
type Pool struct {
	url     string
	uri     amqp.URI
	hosts   *hosts.List
	cluster *hosts.Cluster
	tls     *tls.Config
	Timeout time.Duration // how long a connect, or another expected answer of the broker, may take
	// Session is part of the names of all connections, so that other programs can see whether they are gone.
	Session string

	mu     sync.Mutex
	links  map[string]*links // by vhost
	first  string            // the cluster of the first connection, "" when its greeting did not say
	closed bool

	trips    roundTrips
	losses   chan error // holds one: a loss that Lost has not returned yet
	watching sync.WaitGroup
}

// New parses the URL, amqp(s)://user:pass@host:port[/vhost]. It does not connect. others are further nodes of its
// cluster, each as host:port; cluster knows more, nil: none. secure is the TLS configuration with the certificates that
// the URL names, nil for the system's; timeout bounds each connect, 0 is 10 s. The error is one sentence without the
// password.
func New(
	url string, others []string, cluster *hosts.Cluster, secure *tls.Config, timeout time.Duration,
) (*Pool, error) {
	// ParseURI's error for a bad URL can quote a part of the password.
	bad := errors.New("the AMQP URL cannot be read: write it like amqp://user:password@host:5672/vhost (amqps:// " +
		"for TLS), with special characters in user, password and vhost percent-encoded (@ is %40, / is %2F)")
	if !strings.HasPrefix(url, "amqp://") && !strings.HasPrefix(url, "amqps://") {
		return nil, bad
	}
	uri, err := amqp.ParseURI(url)
	if err != nil || uri.Port < 1 || uri.Port > 65535 {
		return nil, bad
	}
	for _, mechanism := range uri.AuthMechanism {
		if !slices.Contains(mechanisms, strings.ToLower(mechanism)) {
			return nil, model.Errorf("the AMQP URL asks for auth_mechanism=%v, which dlxtop does not support: it "+
				"supports %s", mechanism, strings.Join(mechanisms, ", "))
		}
	}

	if timeout <= 0 {
		timeout = defaultTimeout
	}
	protocol := hosts.AMQP
	if uri.Scheme == "amqps" {
		protocol = hosts.AMQPS
	}

	return &Pool{
		url:     url,
		uri:     uri,
		hosts:   hosts.New(cluster, protocol, net.JoinHostPort(uri.Host, strconv.Itoa(uri.Port)), others...),
		cluster: cluster,
		tls:     tlsConfig(secure, &uri),
		Timeout: timeout,
		Session: rand.Text()[:sessionLength],
		links:   map[string]*links{},
		losses:  make(chan error, 1),
	}, nil
}

func (p *Pool) User() string { return p.uri.Username }

// Address returns the broker's host and port, as the journal names it: the first ones, whichever node answers.
func (p *Pool) Address() string { return p.hosts.First() }

// Several reports whether there is more than one node to connect to.
func (p *Pool) Several() bool { return p.hosts.Several() }

// Node returns the address that connections lead to.
func (p *Pool) Node() string { return p.hosts.Current() }

func (p *Pool) VHost() string { return p.uri.Vhost }

// Check proves that the broker lets the user into a vhost; "" is the one in the URL. Errors that a user can act on are
// *trouble.Error.
func (p *Pool) Check(ctx context.Context, vhost string) error {
	_, err := p.Connection(ctx, vhost)
	return err
}

// Cluster returns the name of the cluster that a vhost's connection leads to, "" when its greeting does not say.
func (p *Pool) Cluster(ctx context.Context, vhost string) (string, error) {
	connection, err := p.Connection(ctx, vhost)
	if err != nil {
		return "", err
	}
	return p.cluster.Name(clusterOf(connection)), nil
}

// KnownCluster returns the name of the first connection's cluster; "" when there was none, or its greeting did not say.
func (p *Pool) KnownCluster() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.cluster.Name(p.first)
}

func (p *Pool) Close() {
	p.mu.Lock()
	p.closed = true
	all := p.links
	p.links = map[string]*links{}
	p.mu.Unlock()

	for _, l := range all {
		l.Lock()
		for _, one := range l.all {
			one.HangUp()
		}
		l.Unlock()
	}

	p.watching.Wait()
}

// Dial makes a connection that no other call uses; vhost "" is the one in the URL.
func (p *Pool) Dial(ctx context.Context, vhost, name string) (*Link, error) {
	l, _, err := p.DialChannels(ctx, vhost, name, 0)
	return l, err
}

// DialChannels is Dial, and opens n channels.
func (p *Pool) DialChannels(
	ctx context.Context, vhost, name string, n int,
) (l *Link, channels []*amqp.Channel, err error) {
	err = Patiently(ctx, IsLimit, func() error {
		if l, err = p.dialSome(ctx, vhost, name); err != nil {
			return err
		}
		channels = make([]*amqp.Channel, n)
		for i := range channels {
			if channels[i], err = p.Open(l.Connection); err != nil {
				l.Wire.Cut()
				return err
			}
		}

		return nil
	})

	return l, channels, err
}

// attempt is one try to connect to one node.
type attempt struct {
	*Pool
	address string
	timeout time.Duration
}

// dialSome connects to the current host, or to the next one that answers.
func (p *Pool) dialSome(ctx context.Context, vhost, name string) (l *Link, err error) {
	if vhost == "" {
		vhost = p.uri.Vhost
	}

	err = p.hosts.Try(p.Timeout, func(address string, limit time.Duration) (err error) {
		l, err = (&attempt{p, address, limit}).dial(ctx, vhost, name)
		return err
	})

	return l, err
}

func (p *attempt) dial(ctx context.Context, vhost, name string) (*Link, error) {
	caller := ctx
	ctx, cancel := context.WithTimeout(ctx, p.timeout)
	defer cancel()
	var made atomic.Pointer[wire.Conn] // nil without a connection, or before its TLS handshake
	config := amqp.Config{
		Vhost:     vhost,
		Heartbeat: Heartbeat,
		Properties: amqp.Table{
			"product": "dlxtop", "platform": "Go " + runtime.Version(), "connection_name": name,
			"information": "terminal dashboard for delayed, retry and failed queues",
		},
		Dial: func(string, string) (net.Conn, error) {
			var dialer net.Dialer
			conn, err := dialer.DialContext(ctx, "tcp", p.address)
			if err == nil && p.uri.Scheme == "amqps" {
				conn, err = p.secure(ctx, conn)
			}

			if err != nil {
				return nil, err
			}
			w := wire.New(conn)
			made.Store(w)
			deadline, _ := ctx.Deadline()
			return w, w.SetDeadline(deadline) // for the handshake: amqp091-go removes it when the connection is open
		},
	}

	if p.uri.AuthMechanism == nil {
		config.SASL = []amqp.Authentication{&login{p.uri.PlainAuth(), config.Properties}}
	}

	// The handshake ignores the context.
	stop := context.AfterFunc(ctx, func() {
		if w := made.Load(); w != nil {
			w.Cut()
		}
	})

	url := p.url
	if rest, secure := strings.CutPrefix(url, "amqps"); secure {
		url = "amqp" + rest // TLS is established already
	}

	connection, err := amqp.DialConfig(url, config)
	w := made.Load()
	if !stop() && err == nil {
		err = context.Cause(ctx)
	}

	if err != nil {
		if w != nil {
			w.Cut()
		}
		e := caller.Err()
		if deadline, ok := caller.Deadline(); ok && !time.Now().Before(deadline) {
			e = context.DeadlineExceeded // the wire's deadline is the same, and may come first
		}
		if e != nil {
			return nil, fmt.Errorf("connect to %s: %w", p.address, e)
		}
		return nil, p.connectError(ctx, err, vhost, w)
	}

	if err := p.sameCluster(connection); err != nil {
		w.Cut()
		return nil, err
	}

	return &Link{Connection: connection, Wire: w}, nil
}

// sameCluster refuses a connection to another cluster than the first one's: an address may lead to another broker
// later, and a plan for one must not be executed on another.
func (p *attempt) sameCluster(connection *amqp.Connection) error {
	name := clusterOf(connection)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.first == "" {
		p.first = name
	}
	if name == "" || p.cluster.Name(name) == p.cluster.Name(p.first) {
		return nil
	}

	return trouble.LeadsElsewhere.With(trouble.Values{At: p.address, Name: name, Detail: p.first})
}

func clusterOf(connection *amqp.Connection) string {
	name, _ := connection.Properties["cluster_name"].(string)
	return name
}

// login is a login by password that requests an answer when it is refused. Otherwise RabbitMQ waits 3 s and hangs up;
// amqp091-go 1.16 has no setting for it, and sets the capabilities just before it asks for the response.
type login struct {
	amqp.Authentication
	properties amqp.Table
}

func (l *login) Response() string {
	if capabilities, ok := l.properties["capabilities"].(amqp.Table); ok {
		capabilities["authentication_failure_close"] = true
	}
	return l.Authentication.Response()
}

// Open opens a channel. IsChannelLimit recognizes its error when a limit is reached.
func (p *Pool) Open(connection *amqp.Connection) (*amqp.Channel, error) {
	began := time.Now()
	channel, err := connection.Channel()
	if err == nil {
		p.trips.add(time.Since(began))
		return channel, nil
	}

	if reached := limitReached(err, p.uri.Username, "", int(connection.Config.ChannelMax)); reached != nil {
		return nil, channelLimit{reached}
	}

	return nil, fmt.Errorf("open a channel: %w", Loss(err))
}
