// Package mgmt reads a broker through its management API and returns package model's values.
//
// The long lists (queues, exchanges, bindings, consumers) have tolerant decoders: an odd element or field is unknown,
// but does not lose the list. They are decoded element by element, so that they are in memory once. Short ones are read
// by rabbit-hole (hole.go), where its types have all that is read. Every request goes through one transport, with a
// context, a timeout, kept connections, and the answer's own words in the error.
package mgmt

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	rabbithole "github.com/michaelklishin/rabbit-hole/v2"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/hosts"
)

// defaultTimeout bounds one request: the full list of 10,000 queues takes about 2 s on 4.3.6.
const defaultTimeout = 10 * time.Second

// Options describe a broker's management API.
type Options struct {
	URL            string            // http(s)://[user:pass@]host:port, a path prefix is allowed
	Others         []string          // further nodes of its cluster, each as host:port
	User, Password string            // used when the URL has none
	VHost          string            // only this vhost; "" is all that the user may see
	TLS            *tls.Config       // nil: the system's defaults
	Renamed        map[string]string // the new names of queues, by their old ones: a part of each snapshot
	Roles          model.StatedRoles // what the user says of queues: a part of each snapshot
	Timeout        time.Duration     // of one request; 0 is 10 s; up to four times as long after a slower one
}

// Client polls one broker. It is safe for concurrent use.
type Client struct {
	endpoint string // scheme, host, port and prefix: no credentials, no trailing slash
	hosts    *hosts.List
	user     string
	password string
	vhost    string
	timeout  time.Duration
	heldLong time.Duration
	longer   atomic.Int64 // how often the timeout was doubled
	polled   atomic.Bool  // a snapshot was taken
	monitors atomic.Bool  // the user sees connections and consumers of others, too
	roles    model.StatedRoles
	renamed  map[string]string
	// queues with consumers other than dlxtop in the last snapshot
	consumed atomic.Pointer[map[model.QueueRef]consumption]
	// the names of policies of queues for which a pattern is matched otherwise here than by the broker
	otherwise atomic.Pointer[map[model.QueueRef]string]
	most      sizes
	transport *http.Transport
	clock     clock                  // the broker's
	cluster   atomic.Pointer[string] // named by the first answer; nil before
	members   *hosts.Cluster
	listeners atomic.Pointer[[]hosts.Listener] // of the last overview
	verified  atomic.Pointer[string]           // the host that has last proved to be of the cluster
}

// New prepares a client; it does not connect. The error says in one sentence what is wrong with the URL, and never
// repeats a password.
func New(o Options) (*Client, error) {
	u, err := parseURL(o.URL)
	if err != nil {
		return nil, err
	}
	protocol, port := hosts.HTTP, "80"
	if u.Scheme == "https" {
		protocol, port = hosts.HTTPS, "443"
	}

	members := &hosts.Cluster{}
	c := &Client{
		members:  members,
		hosts:    hosts.New(members, protocol, model.AddressOf(u, port), o.Others...),
		user:     o.User,
		password: o.Password,
		vhost:    o.VHost,
		timeout:  o.Timeout,
		most:     defaultSizes,
		roles:    o.Roles,
		renamed:  o.Renamed,
		heldLong: heldLong,

		transport: newTransport(o.TLS),
	}

	if u.User != nil {
		c.user = u.User.Username()
		if password, ok := u.User.Password(); ok {
			c.password = password
		}
	}

	u.User = nil
	c.endpoint = u.String()
	if c.timeout <= 0 {
		c.timeout = defaultTimeout
	}

	return c, nil
}

// Cluster returns what the API told of the nodes.
func (c *Client) Cluster() *hosts.Cluster { return c.members }

// Close drops the connections kept for the next poll. Requests in flight continue until their context ends.
func (c *Client) Close() { c.transport.CloseIdleConnections() }

// Check asks the broker who it is and whether the user may look at it: the cheapest way to find out that a poll would
// work. Its errors are *trouble.Error, or ctx's when ctx was cancelled.
func (c *Client) Check(ctx context.Context) (model.Overview, error) {
	overview, err := c.overview(ctx)
	if err == nil {
		overview.User, overview.UserTags, err = c.whoAmI(ctx)
	}
	if err == nil {
		c.learnMembers(&overview, c.nodes(ctx), nil)
		err = c.seesSomething(ctx)
	}
	if err != nil {
		return model.Overview{}, c.connectError(ctx, err)
	}

	return overview, nil
}

// seesSomething finds out whether the user sees the selected vhost, or any vhost at all: every vhost has exchanges.
func (c *Client) seesSomething(ctx context.Context) error {
	var page struct {
		Total field[int64] `json:"total_count"`
	}
	query := url.Values{"page": {"1"}, "page_size": {"1"}, "columns": {"name"}}
	if err := c.getObject(ctx, c.inVHost("exchanges"), query, &page); err != nil {
		return err
	}
	if page.Total.known && page.Total.value == 0 {
		return errNoVHost
	}

	return nil
}

// whoAmI returns the name and the tags of the user, according to the broker.
func (c *Client) whoAmI(ctx context.Context) (name string, tags []string, err error) {
	me, err := ask(ctx, c, "name,tags", (*rabbithole.Client).Whoami)
	if err == nil && me == nil {
		err = errOtherJSON
	}
	if err != nil {
		return "", nil, err
	}

	return me.Name, me.Tags, nil
}

// inVHost returns the path of a list: for the selected vhost only, or for all that the user may see.
func (c *Client) inVHost(list string) string {
	if c.vhost == "" {
		return list
	}
	return list + "/" + url.PathEscape(c.vhost)
}

// mostLonger is how often the timeout may be doubled.
const mostLonger = 2

// attempt is one try to get an answer from one host.
type attempt struct {
	address string
	begun   atomic.Bool // there is an answer: what was read of it must not be read a second time, from another host
}

// attemptKey is the key of the *attempt in a context.
type attemptKey struct{}

// request runs one request, on another host when the current one does not answer.
func (c *Client) request(ctx context.Context, do func(context.Context) error) error {
	timeout := c.timeout << c.longer.Load()
	return c.hosts.Try(timeout, func(address string, limit time.Duration) error {
		a := &attempt{address: address}
		err := c.verify(ctx, a, limit)
		if err == nil {
			err = c.try(ctx, a, timeout, do)
		}
		if err == nil || a.begun.Load() || ctx.Err() != nil {
			return err
		}

		return c.connectError(ctx, err)
	})
}

// verify asks one of several hosts for the name of its cluster, before anything of it is used. While a node stands
// still, the others answer that, and no overview (3.10.8).
func (c *Client) verify(ctx context.Context, a *attempt, limit time.Duration) error {
	if last := c.verified.Load(); !c.hosts.Several() || last != nil && *last == a.address {
		return nil
	}

	var cluster struct {
		Name field[string] `json:"name"`
	}
	err := c.try(ctx, a, limit, func(ctx context.Context) error {
		return c.answer(ctx, "cluster-name", nil, c.most.object, decodeInto(&cluster))
	})
	if err == nil {
		a.begun.Store(false) // nothing else was read yet
		err = c.sameCluster(cluster.Name.value)
	}

	return err
}

// try runs a request on one host. After a timeout, the next request gets more time: a poll that always ended at the
// same time would never show a large, busy broker.
func (c *Client) try(
	ctx context.Context, a *attempt, timeout time.Duration, do func(context.Context) error,
) error {
	longer := c.longer.Load()
	slow := &slowError{after: timeout}
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, slow)
	defer cancel()
	ctx = httptrace.WithClientTrace(context.WithValue(ctx, attemptKey{}, a), &httptrace.ClientTrace{
		ConnectDone: func(_, _ string, err error) { slow.accepted.CompareAndSwap(false, err == nil) },
		GotConn:     func(httptrace.GotConnInfo) { slow.accepted.Store(true) },
	})

	err := do(ctx)
	if err == nil || ctx.Err() == nil {
		return err
	}
	if context.Cause(ctx) == slow && slow.accepted.Load() && longer < mostLonger {
		c.longer.CompareAndSwap(longer, longer+1)
	}

	return context.Cause(ctx)
}

// get sends a request of our own, and reads at most limit bytes of the answer. ctx must live until the body is closed.
func (c *Client) get(ctx context.Context, path string, query url.Values, limit int64) (*http.Response, error) {
	target := c.endpoint + "/api/" + path
	if len(query) > 0 {
		target += "?" + query.Encode()
	}

	req, err := http.NewRequestWithContext(ctx, http.MethodGet, target, nil)
	if err != nil {
		return nil, err
	}
	req.SetBasicAuth(c.user, c.password)
	return (&http.Client{Transport: bound{c.transport, &c.clock, limit}}).Do(req)
}

// parseURL accepts what people write for the API: also with a slash, "/api" or the web UI's "/#/" at the end.
func parseURL(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	if err != nil {
		// url.Parse's error may quote a part of the password.
		return nil, errors.New("the URL of the management API cannot be read: write http://user:password@host:15672, " +
			"with special characters in user and password percent-encoded (@ is %40, / is %2F)")
	}

	switch u.Scheme {
	case "http", "https":
	case "amqp", "amqps":
		return nil, fmt.Errorf("this is an AMQP URL: the management API has one of its own, usually http://%s",
			net.JoinHostPort(model.Printable(cmp.Or(u.Hostname(), "host")), "15672"))
	default:
		return nil, fmt.Errorf("the URL of the management API must begin with http:// or https://, for example " +
			"http://localhost:15672")
	}

	if u.Hostname() == "" {
		return nil, fmt.Errorf("the URL of the management API names no host: write %s://host:15672", u.Scheme)
	}
	path := strings.TrimSuffix(strings.TrimRight(u.Path, "/"), "/api")
	return &url.URL{Scheme: u.Scheme, User: u.User, Host: u.Host, Path: strings.TrimRight(path, "/")}, nil
}
