package broker

import (
	"context"
	"crypto/tls"
	"sync"
	"time"

	"github.com/dlxtop/dlxtop/broker/link"
	"github.com/dlxtop/dlxtop/broker/spool"
	"github.com/dlxtop/dlxtop/broker/tap"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/model/plan"
	"github.com/dlxtop/dlxtop/model/ports"
	"github.com/dlxtop/dlxtop/model/trace"
)

// Options say where the broker is.
type Options struct {
	URL     string         // amqp(s)://user:pass@host:port[/vhost]
	TLS     *tls.Config    // nil: what the URL's parameters say, else the system's defaults
	Timeout time.Duration  // to connect; 0 is 10 s, as for a request to the API
	Journal ports.Recorder // nil: what is done is not kept, and there is no undo
	Reread  plan.Reread    // says whether a replay reaches other queues than it did; nil: that is not looked at
	Full    bool           // the journal keeps replayed messages completely, not only what was changed in them
	Looks   Looks          // nil: what looks cost is remembered while the client lives
}

// Client talks to one broker, on the connections of its pool. It is safe for concurrent use.
type Client struct {
	*link.Pool
	journal ports.Recorder
	reread  plan.Reread
	full    bool

	patience    patience // of replays
	spoolMemory int      // bytes of a peek that are kept in memory: a test wants none
	comeback    time.Duration

	mu       sync.Mutex
	returned map[model.QueueRef]int // how many messages were last given back to a quorum queue: see source.extend

	looks       Looks
	looksFailed error // why they are not used any more; nil while they are
	own         *ownLooks
	rescues     map[string]bool // vhosts in which a rescue is possible

	holds   holds
	counter counter
}

// New reads the options. It does not connect. The error is one sentence without the password.
func New(o Options) (*Client, error) {
	pool, err := link.New(o.URL, o.TLS, o.Timeout)
	if err != nil {
		return nil, err
	}
	return &Client{
		Pool: pool, journal: o.Journal, reread: o.Reread, full: o.Full,
		patience: defaultPatience, spoolMemory: spool.Memory, comeback: comeback,
		returned: map[model.QueueRef]int{},
		looks:    o.Looks, rescues: map[string]bool{},
		own:     &ownLooks{looked: map[model.QueueRef]model.Looked{}, locks: map[model.QueueRef]chan struct{}{}},
		holds:   holds{now: map[model.QueueRef]int{}, ended: map[model.QueueRef]time.Time{}},
		counter: newCounter(),
	}, nil
}

// Close closes all connections. What a running call holds goes back to its queue.
func (c *Client) Close() error {
	c.Pool.Close()
	c.counter.running.Wait() // its channels are closed with their connections
	if c.looks != nil {
		return c.looks.Close()
	}
	return nil
}

// Tap is tap.Run on this client's broker.
func (c *Client) Tap(
	ctx context.Context, p trace.TapPlan, follow <-chan trace.TapPlan, see func(m *message.Message, at time.Time),
	tell func(trace.TapCounts),
) error {
	return tap.Run(ctx, c.Pool, p, follow, see, tell)
}
