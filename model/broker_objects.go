package model

import (
	"slices"
	"time"
)

// QueueType is RabbitMQ's kind of queue.
type QueueType string

// The kinds of queue that dlxtop knows. Another string is a kind it does not know.
const (
	Classic QueueType = "classic"
	Quorum  QueueType = "quorum"
	Stream  QueueType = "stream"
)

// QueueRef names one queue of a cluster.
type QueueRef struct {
	VHost string
	Name  string
}

// QueueSet is a set of queues.
type QueueSet = map[QueueRef]bool

// String returns the queue's name, with its vhost in front when that is not the default one.
func (r QueueRef) String() string {
	if r.VHost == "" || r.VHost == "/" {
		return r.Name
	}
	return r.VHost + "/" + r.Name
}

// Printable is String, fit for a terminal.
func (r QueueRef) Printable() string { return Printable(r.String()) }

// Beside returns the queue of a name in the same vhost.
func (r QueueRef) Beside(name string) QueueRef { return QueueRef{r.VHost, name} }

// Queue is one queue as the management API reported it.
type Queue struct {
	QueueRef
	Type       QueueType
	Durable    bool
	AutoDelete bool
	Exclusive  bool
	Arguments  Table // the declared arguments, x-… keys

	Policy         string // name of the policy that applies, "" when none does
	OperatorPolicy string
	// effective_policy_definition: policy and operator policy merged by the broker, without arguments; nil when not
	// reported
	PolicyDefinition Table

	State         string   // running, idle, flow, down, …; "" when unknown
	Node          string   // where the queue is (the leader of a replicated queue); "" when unknown
	Members       []string // nodes with a replica; nil when unknown, and for a classic queue
	Online        []string // the reachable members; nil when unknown
	Ready         Opt[int64]
	Unacked       Opt[int64]
	Consumers     Opt[int64]
	Carried       int64      // of the consumers, those that are shovels or federation links
	ReadyBytes    Opt[int64] // message_bytes_ready: bodies only
	DeadLettering Opt[int64] // messages_dlx: held by an at-least-once quorum queue
	Delayed       Opt[int64] // messages_delayed: waiting for a delayed retry, 4.3 and later
	// messages_active_priorities: how many priorities the ready messages of a quorum queue have, without those that were
	// returned (4.3 and later)
	Priorities Opt[int64]
	// next_delayed_at, last_delayed_at: when the first and the last of them are due, by the broker's clock
	NextRetry, LastRetry Opt[time.Time]
	HeadTimestamp        Opt[time.Time]
	SingleActive         bool // declared with the single-active-consumer argument
	NoneActive           bool // it has consumers, and the broker reports that none of them is the active one
	ExclusiveHeld        bool // a consumer with exclusive access is attached
	// Favoured consumers have a higher priority (x-priority) than others, and get messages first; 0: all have the same
	// one, or it is unknown
	Favoured      int64
	DeliverRate   Opt[float64] // messages handed out (deliver and get), per second
	AckRate       Opt[float64] // acknowledged, per second
	RedeliverRate Opt[float64] // redelivered messages among those handed out, per second
	PollRate      Opt[float64] // basic.get calls per second; unknown when there never was one
	// messages that publishers sent here since the broker began to count, without dead-lettered arrivals
	Published      Opt[int64]
	Delivered      Opt[int64] // handed out since the broker began to count: deliver, deliver_no_ack, get, get_no_ack
	Redelivered    Opt[int64] // redelivered messages among those handed out
	DeliveredNoAck Opt[int64] // those handed out that needed no acknowledgement
	Acked          Opt[int64] // acknowledged since the broker began to count
	CountedAt      time.Time  // when these counts were read, by this machine's clock
	// for so long, or longer, its consumers have held all that their prefetch allows and acknowledged nothing, while
	// messages wait; 0: not so, or unknown
	HeldFor        time.Duration
	HeldBy         int64 // how many consumers these are; the others wait behind a single active one
	OwnedByAnother bool  // exclusive to another connection: nothing else can use it (405)
}

// ExchangeRef names one exchange of a cluster.
type ExchangeRef struct {
	VHost string
	Name  string
}

// Applications returns how many consumers the queue has that are neither shovels nor federation links.
func (q *Queue) Applications() Opt[int64] {
	if n, known := q.Consumers.Get(); known {
		return Some(max(n-q.Carried, 0))
	}
	return q.Consumers
}

// Consumed reports whether applications are known to consume the queue.
func (q *Queue) Consumed() bool { return q.Applications().Or(0) > 0 }

// Polled reports whether an application takes messages with basic.get instead of consuming.
func (q *Queue) Polled() bool { return q.PollRate.Or(0) > 0 && !q.Consumed() }

// Exchange is one exchange as the management API reported it. The default exchange has the name "".
type Exchange struct {
	ExchangeRef
	Type             string // direct, fanout, topic, headers, or a plugin's
	Internal         bool
	Arguments        Table
	Policy           string
	PolicyDefinition Table        // definition of the policy that applies (alternate-exchange)
	Delayed          Opt[int64]   // messages_delayed of an x-delayed-message exchange
	PublishInRate    Opt[float64] // per second
}

// Binding binds a queue or an exchange to an exchange.
type Binding struct {
	VHost         string
	Source        string // the default exchange's bindings, one for every queue, are not listed
	Destination   string
	ToExchange    bool // the destination is an exchange, not a queue
	RoutingKey    string
	Arguments     Table
	PropertiesKey string // the management API's identity of the binding
}

// From returns the exchange that is bound to.
func (b *Binding) From() ExchangeRef { return ExchangeRef{b.VHost, b.Source} }

// Policy is a policy or an operator policy.
type Policy struct {
	VHost      string
	Name       string
	Pattern    string
	ApplyTo    string // queues, exchanges, all, classic_queues, quorum_queues, streams
	Priority   int64
	Definition Table
	Operator   bool
}

// Overview is what the broker reports about itself.
type Overview struct {
	Node        string
	AMQP        string // the address that messages are read from; "" where there is only one
	ClusterName string
	Version     Version
	User        string
	UserTags    []string
	RatesMode   string // basic, detailed, none; "" when unknown
	StatsOff    bool   // management statistics are disabled on the broker: there are counts but no rates
	// the broker's clock minus this machine's, from the HTTP Date header; 0 when they may be equal
	ClockSkew   Opt[time.Duration]
	ClockWithin time.Duration // how far ClockSkew may be off, either way
	Ports       []int         // on which the cluster listens; nil when unknown
}

// Monitors reports whether the user sees the connections, channels and consumers of other users, too.
func (o *Overview) Monitors() bool {
	return slices.Contains(o.UserTags, "monitoring") || o.Administers()
}

// Administers reports whether the user is an administrator.
func (o *Overview) Administers() bool { return slices.Contains(o.UserTags, "administrator") }

// Snapshot is one poll of a broker. A part that could not be read is nil and named in Missing.
type Snapshot struct {
	TakenAt   time.Time
	Took      time.Duration
	Overview  Overview
	VHosts    []string // the vhosts that this snapshot covers
	Queues    []Queue
	Exchanges []Exchange
	Bindings  []Binding
	Nodes     []Node   // nil when the user may not read them: this needs the tag monitoring
	Policies  []Policy // policies and operator policies; nil when the user may not read them
	Shovels   []Shovel // and federation links
	// in words: why shovels and links are unknown, otherwise ""
	ShovelsUnknown string
	Missing        []string // in words: what could not be read and why

	Looked map[QueueRef]Looked // what earlier peeks have cost, as remembered on this machine
	Seen   Seen                // where messages that were peeked at came from and go to
	Stated StatedRoles         // what the user says of queues, in the configuration
	// the new names of queues by their old ones, also in the configuration
	Renamed map[string]string
}

// NoDLX reports whether it is certain that a queue with these settings has no dead-letter exchange: the policy of a new
// queue is unknown for some seconds.
func (q *Queue) NoDLX(s Settings) bool { return !s.DLX.Set && q.PolicyDefinition != nil }

// DeadLettered returns how many dead letters came into the queue since the broker began to count, at least: what left
// it plus what is in it, minus what publishers sent. It is unknown without statistics.
func (q *Queue) DeadLettered() Opt[int64] {
	taken, known := q.Taken().Get()
	depth, counted := q.Depth()
	if !known || !counted {
		return Unknown[int64]()
	}
	return Some(max(taken+depth-q.Published.Or(0), 0))
}

// CameBack returns how many dead letters a worker got since the broker began to count, at least: first deliveries minus
// what publishers sent. Messages published before the broker began to count must not be mistaken for dead letters.
func (q *Queue) CameBack() int64 {
	if q == nil || !q.Published.Known() {
		return 0
	}
	return q.arrived() - q.Published.Or(0)
}

// arrived returns how many deliveries were the first ones of a message in the queue, not those after a requeue.
func (q *Queue) arrived() int64 { return q.Delivered.Or(0) - q.Redelivered.Or(0) }

// Taken returns how many messages left the queue for good since the broker began to count; unknown without statistics.
func (q *Queue) Taken() Opt[int64] {
	if q == nil || !q.Published.Known() && !q.Delivered.Known() && !q.Acked.Known() {
		return Unknown[int64]()
	}
	return Some(q.Acked.Or(0) + q.DeliveredNoAck.Or(0))
}
