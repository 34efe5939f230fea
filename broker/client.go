// Package broker is dlxtop's AMQP 0-9-1 side: it peeks at messages, replays, drops and counts them. It is the adapter
// between amqp091-go and the model, and knows no screens.
//
// Messages are only ever taken with manual acknowledgement. Whatever ends a call, unacknowledged messages are returned
// as the plan says, or by the broker when the connection is lost.
package broker

import (
	"context"
	"crypto/tls"
	"sync"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/dlxtop/dlxtop/broker/link"
	"github.com/dlxtop/dlxtop/broker/spool"
	"github.com/dlxtop/dlxtop/broker/tap"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/hosts"
	"github.com/dlxtop/dlxtop/model/mend"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/model/peek"
	"github.com/dlxtop/dlxtop/model/plan"
	"github.com/dlxtop/dlxtop/model/trace"
)

type Options struct {
	URL     string         // amqp(s)://user:pass@host:port[/vhost]
	Others  []string       // further nodes of its cluster, each as host:port
	TLS     *tls.Config    // nil: from the URL's parameters, with the system's defaults
	Timeout time.Duration  // to connect; 0 is 10 s, like a request to the API
	Journal Recorder       // nil: nothing is recorded, and there is no undo
	Reread  plan.Reread    // to find out whether a replay reaches other queues than planned; nil: not checked
	Full    bool           // the journal keeps replayed messages completely, not only their changes
	Looks   PeekLedger     // nil: what looks cost is only remembered while the client lives
	Turns   Turns          // nil: looks and actions of other programs are not waited for
	Cluster *hosts.Cluster // what the management API tells of its nodes; nil: nothing
	// Totals counts all queues by the management API, without the delay of its statistics; nil: messages that others hold
	// are not seen
	Totals func(context.Context) (model.CountsByQueue, error)
	Store  PeekStore   // nil: no other program reuses peeks
	JQ     mend.Runner // runs the jq programs of plans; nil: none can be run
}

// PeekStore saves, for every dlxtop of this user, peeks that used up a delivery limit.
type PeekStore interface {
	Save(cluster string, p *peek.Peeked) error
	Drop(cluster string, queue model.QueueRef)
}

// Client talks to one broker, on the connections of its pool. It is safe for concurrent use.
type Client struct {
	*link.Pool
	journal Recorder
	reread  plan.Reread
	full    bool

	patience    patience // of replays
	spoolMemory int      // bytes of a peek that are kept in memory; tests set it to 0
	comeback    time.Duration

	mu       sync.Mutex
	returned map[model.QueueRef]int // how many messages were last returned to a quorum queue: see source.extend
	late     map[model.QueueRef]lateReturn

	store       PeekStore
	jq          mend.Runner
	looks       PeekLedger
	looksFailed error // why they are no longer used; nil while they are
	own         *ownLooks
	turns       Turns
	turnsFailed error // why they are no longer shared
	ownTurns    *ownTurns
	totals      func(context.Context) (model.CountsByQueue, error)
	rescues     map[string]bool // vhosts in which a rescue is possible

	holds   holds
	watched watching
	counter counter
}

// New checks the options. It does not connect. The error is one sentence without the password.
func New(o Options) (*Client, error) {
	pool, err := link.New(o.URL, o.Others, o.Cluster, o.TLS, o.Timeout)
	if err != nil {
		return nil, err
	}

	return &Client{
		Pool:        pool,
		journal:     o.Journal,
		reread:      o.Reread,
		full:        o.Full,
		patience:    defaultPatience,
		spoolMemory: spool.Memory,
		comeback:    comeback,
		returned:    map[model.QueueRef]int{},
		late:        map[model.QueueRef]lateReturn{},
		looks:       o.Looks,
		store:       o.Store,
		jq:          o.JQ,
		rescues:     map[string]bool{},
		own:         &ownLooks{looked: model.LookedByQueue{}},
		turns:       o.Turns,
		ownTurns:    &ownTurns{},
		totals:      o.Totals,
		holds:       holds{now: map[model.QueueRef]int{}, ended: map[model.QueueRef]time.Time{}},
		counter: counter{
			turn: make(chan struct{}, 1), lanes: map[string]*[countLanes]*amqp.Channel{}, most: map[string]int{},
			refused: map[model.QueueRef]time.Time{}, permits: map[model.ExchangeRef]permit{},
		},
	}, nil
}

// Close closes all connections. Messages held by running calls return to their queues.
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
