package broker

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

	"github.com/dlxtop/dlxtop/broker/spool"
	"github.com/dlxtop/dlxtop/broker/wire"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/plan"
	"github.com/dlxtop/dlxtop/model/ports"
)

const (
	defaultTimeout = 10 * time.Second
	heartbeat      = 10 * time.Second // a dead peer is noticed after 15 s
)

// mechanisms are the ways to log in that a URL may ask for.
var mechanisms = []string{"plain", "amqplain", "external"}

// Options say where the broker is.
type Options struct {
	URL     string         // amqp(s)://user:pass@host:port[/vhost]
	TLS     *tls.Config    // nil: what the URL's parameters say, else the system's defaults
	Timeout time.Duration  // to connect; 0 is 10 s, as for a request to the API
	Journal ports.Recorder // nil: what is done is not kept, and there is no undo
	Reread  plan.Reread    // tells whether a replay reaches other queues than it did; nil: nobody looks
	Full    bool           // the journal keeps replayed messages completely, not only what was changed in them
	Looks   Looks          // nil: what looks cost is remembered while the client lives
}

// Client talks to one broker. It keeps one connection for each vhost, made when it is first needed and again after it
// was lost, and has further ones while messages are held: see links. It is safe for concurrent use.
type Client struct {
	url     string
	uri     amqp.URI
	tls     *tls.Config
	timeout time.Duration
	journal ports.Recorder
	reread  plan.Reread
	full    bool
	session string // in the names of all connections, so that others can see whether they are gone

	patience    patience // of replays
	spoolMemory int      // bytes of a peek that are kept in memory: a test wants none
	comeback    time.Duration

	mu       sync.Mutex
	links    map[string]*links      // by vhost
	cluster  string                 // that the first connection led to, "" when none told
	returned map[model.QueueRef]int // how many messages were last given back to a quorum queue: see source.extend
	closed   bool

	looks       Looks
	looksFailed error // why they are not used any more; nil while they are
	own         *ownLooks
	rescues     map[string]bool // vhosts in which a rescue is possible

	holds    holds
	counter  counter
	trips    roundTrips
	losses   chan error // holds one: a loss that Lost has not told yet
	watching sync.WaitGroup
}

// New reads the options. It does not connect. The error is one sentence without the password.
func New(o Options) (*Client, error) {
	// What ParseURI says of a bad URL can quote a part of the password.
	bad := errors.New("the AMQP URL cannot be read: write it like amqp://user:password@host:5672/vhost (amqps:// " +
		"for TLS), " +
		"with special characters in user, password and vhost percent-encoded (@ is %40, / is %2F)")
	if !strings.HasPrefix(o.URL, "amqp://") && !strings.HasPrefix(o.URL, "amqps://") {
		return nil, bad
	}
	uri, err := amqp.ParseURI(o.URL)
	if err != nil || uri.Port < 1 || uri.Port > 65535 {
		return nil, bad
	}
	secured, err := tlsConfig(o.TLS, &uri)
	if err != nil {
		return nil, err
	}
	for _, mechanism := range uri.AuthMechanism {
		if !slices.Contains(mechanisms, strings.ToLower(mechanism)) {
			return nil, fmt.Errorf("the AMQP URL asks for auth_mechanism=%s, which dlxtop does not support: it "+
				"supports %s",
				model.Printable(mechanism), strings.Join(mechanisms, ", "))
		}
	}
	if o.Timeout <= 0 {
		o.Timeout = defaultTimeout
	}
	return &Client{
		url: o.URL, uri: uri, tls: secured, timeout: o.Timeout, patience: defaultPatience, spoolMemory: spool.Memory,
		comeback: comeback,
		journal:  o.Journal, reread: o.Reread, full: o.Full,
		links: map[string]*links{}, losses: make(chan error, 1), returned: map[model.QueueRef]int{},
		looks: o.Looks, own: newOwnLooks(), rescues: map[string]bool{},
		session: rand.Text()[:sessionLength],
		holds:   newHolds(), counter: newCounter(),
	}, nil
}

// User is the user that the client connects as.
func (c *Client) User() string { return c.uri.Username }

// Address is the broker's host and port, as the journal names it.
func (c *Client) Address() string { return c.address() }

// VHost is the vhost that the URL names.
func (c *Client) VHost() string { return c.uri.Vhost }

// Check proves that the broker lets the user into a vhost; "" is the one that the URL names. What a person can act on
// is a *model.ConnectError.
func (c *Client) Check(ctx context.Context, vhost string) error {
	_, err := c.connection(ctx, vhost)
	return err
}

// Cluster is the name of the cluster that a vhost's connection leads to, "" when its greeting does not tell.
func (c *Client) Cluster(ctx context.Context, vhost string) (string, error) {
	connection, err := c.connection(ctx, vhost)
	if err != nil {
		return "", err
	}
	return clusterOf(connection), nil
}

// Close closes all connections. What a running call holds goes back to its queue.
func (c *Client) Close() error {
	c.mu.Lock()
	c.closed = true
	all := c.links
	c.links = map[string]*links{}
	c.mu.Unlock()
	for _, l := range all {
		l.close()
	}
	c.watching.Wait()
	c.counter.running.Wait() // its channels are closed with their connections
	if c.looks != nil {
		return c.looks.Close()
	}
	return nil
}

// dial makes a connection. Its wire ends it at once when closed, whatever the connection waits for.
func (c *Client) dial(ctx context.Context, vhost, name string) (connection *amqp.Connection, w *wire.Conn, err error) {
	err = patiently(ctx, isLimit, func() error {
		connection, w, err = c.dialOnce(ctx, vhost, name)
		return err
	})
	return connection, w, err
}

// dialChannels makes a connection and opens channels on it.
func (c *Client) dialChannels(
	ctx context.Context, vhost, name string, n int,
) (connection *amqp.Connection, w *wire.Conn, channels []*amqp.Channel, err error) {
	err = patiently(ctx, isLimit, func() error {
		if connection, w, err = c.dialOnce(ctx, vhost, name); err != nil {
			return err
		}
		channels = make([]*amqp.Channel, n)
		for i := range channels {
			if channels[i], err = c.open(connection); err != nil {
				w.Cut()
				return err
			}
		}
		return nil
	})
	return connection, w, channels, err
}

func (c *Client) dialOnce(ctx context.Context, vhost, name string) (*amqp.Connection, *wire.Conn, error) {
	if vhost == "" {
		vhost = c.uri.Vhost
	}
	caller := ctx
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	var made atomic.Pointer[wire.Conn] // nil while there is no connection, or no TLS on it
	config := amqp.Config{
		Vhost:     vhost,
		Heartbeat: heartbeat,
		Properties: amqp.Table{
			"product": "dlxtop", "platform": "Go " + runtime.Version(), "connection_name": name,
			"information": "terminal dashboard for delayed, retry and failed queues",
		},
		Dial: func(string, string) (net.Conn, error) {
			var dialer net.Dialer
			conn, err := dialer.DialContext(ctx, "tcp", c.address())
			if err == nil && c.uri.Scheme == "amqps" {
				conn, err = c.secure(ctx, conn)
			}
			if err != nil {
				return nil, err
			}
			w := wire.New(conn)
			made.Store(w)
			deadline, _ := ctx.Deadline()
			return w, w.SetDeadline(deadline) // of the handshake: amqp091-go takes it away when the connection is open
		},
	}
	if c.uri.AuthMechanism == nil {
		config.SASL = []amqp.Authentication{&login{c.uri.PlainAuth(), config.Properties}}
	}
	// The handshake knows no context.
	stop := context.AfterFunc(ctx, func() {
		if w := made.Load(); w != nil {
			w.Cut()
		}
	})
	connection, err := amqp.DialConfig(plainURL(c.uri, c.url), config)
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
			return nil, nil, fmt.Errorf("connect to %s: %w", c.address(), e)
		}
		return nil, nil, c.connectError(ctx, err, vhost, w)
	}
	if err := c.sameCluster(connection); err != nil {
		w.Cut()
		return nil, nil, err
	}
	return connection, w, nil
}

// sameCluster wants each connection to lead to the cluster of the first one: an address may belong to another broker
// after a while, and what was planned on one must not be done on another.
func (c *Client) sameCluster(connection *amqp.Connection) error {
	name := clusterOf(connection)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cluster == "" {
		c.cluster = name
	}
	if name == "" || name == c.cluster {
		return nil
	}
	return model.LeadsElsewhere.With(model.ConnectValues{At: c.address(), Name: name, Detail: c.cluster})
}

func clusterOf(connection *amqp.Connection) string {
	name, _ := connection.Properties["cluster_name"].(string)
	return name
}

// login is a login by password that asks to be told when it is refused. Without that RabbitMQ waits 3 s and hangs up;
// amqp091-go 1.16 offers no setting for it, and sets the capabilities just before it asks for the response.
type login struct {
	amqp.Authentication
	properties amqp.Table
}

// Response implements amqp.Authentication.
func (l *login) Response() string {
	if capabilities, ok := l.properties["capabilities"].(amqp.Table); ok {
		capabilities["authentication_failure_close"] = true
	}
	return l.Authentication.Response()
}

// address is host and port, for people.
func (c *Client) address() string {
	return net.JoinHostPort(c.uri.Host, strconv.Itoa(c.uri.Port))
}

// open opens a channel. Where a limit is reached the error is a channelLimit.
func (c *Client) open(connection *amqp.Connection) (*amqp.Channel, error) {
	began := time.Now()
	channel, err := connection.Channel()
	if err == nil {
		c.trips.add(time.Since(began))
		return channel, nil
	}
	if reached := limitReached(err, c.uri.Username, "", int(connection.Config.ChannelMax)); reached != nil {
		return nil, channelLimit{reached}
	}
	return nil, fmt.Errorf("open a channel: %w", lost(err))
}

// lost puts amqp091-go's words for a connection that went away into a sentence.
func lost(err error) error {
	var e *amqp.Error
	if errors.Is(err, amqp.ErrClosed) || errors.As(err, &e) && (!e.Server || e.Code == amqp.ConnectionForced) {
		return fmt.Errorf("the connection to the broker was lost: %s", words(err))
	}
	return err
}

// words are the broker's own words of an error, without amqp091-go's around them.
func words(err error) string {
	var e *amqp.Error
	if errors.As(err, &e) {
		return model.Printable(e.Reason)
	}
	return model.Printable(err.Error())
}
