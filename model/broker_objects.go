package model

import "time"

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

// String is the queue's name, with its vhost in front when that is not the default one.
func (r QueueRef) String() string {
	if r.VHost == "" || r.VHost == "/" {
		return r.Name
	}
	return r.VHost + "/" + r.Name
}

// Queue is one queue as the management API told it.
type Queue struct {
	QueueRef
	Type       QueueType
	Durable    bool
	AutoDelete bool
	Exclusive  bool
	Arguments  Table // the declared arguments, x-… keys

	Policy         string // name of the policy that applies, "" when none does
	OperatorPolicy string
	// effective_policy_definition: policy and operator policy merged by the broker, without arguments; nil when it did
	// not say
	PolicyDefinition Table

	State         string   // running, idle, flow, down, …; "" when unknown
	Node          string   // where it is: of a replicated queue its leader; "" when unknown
	Members       []string // nodes that have a replica; nil when unknown, and of a classic queue
	Online        []string // of these, the ones that are reachable; nil when unknown
	Ready         Opt[int64]
	Unacked       Opt[int64]
	Consumers     Opt[int64]
	ReadyBytes    Opt[int64] // message_bytes_ready: bodies only
	DeadLettering Opt[int64] // messages_dlx: held by an at-least-once quorum queue
	Delayed       Opt[int64] // messages_delayed: waiting for a delayed retry, 4.3 and later
	HeadTimestamp Opt[time.Time]
	SingleActive  bool         // a single active consumer was asked for by argument
	ExclusiveHeld bool         // a consumer with exclusive access is attached
	PublishRate   Opt[float64] // messages that entered, per second
	DeliverRate   Opt[float64] // messages handed out (deliver and get), per second
	AckRate       Opt[float64] // per second
	RedeliverRate Opt[float64] // of these, given again after they had come back, per second
	PollRate      Opt[float64] // how often somebody asked with basic.get, per second; unknown: nobody ever did
	// messages that publishers sent here since the broker counts; dead-lettered arrivals are not in it
	Published      Opt[int64]
	Delivered      Opt[int64] // handed out since the broker counts: deliver, deliver_no_ack, get, get_no_ack
	Redelivered    Opt[int64] // of these, given again after they had come back
	DeliveredNoAck Opt[int64] // of those handed out, without waiting for an acknowledgement
	Acked          Opt[int64] // acknowledged since the broker counts
	CountedAt      time.Time  // when these counts were read, by this machine's clock
	OwnedByAnother bool       // exclusive to a connection: nobody else can touch it (405)
}

// ExchangeRef names one exchange of a cluster.
type ExchangeRef struct {
	VHost string
	Name  string
}

// Polled reports whether an application takes messages with basic.get instead of consuming.
func (q *Queue) Polled() bool { return q.PollRate.Or(0) > 0 && q.Consumers.Or(0) == 0 }

// Exchange is one exchange as the management API told it. The default exchange has the name "".
type Exchange struct {
	ExchangeRef
	Type             string // direct, fanout, topic, headers, or a plugin's
	Durable          bool
	AutoDelete       bool
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
	Source        string // exchange: what the default exchange binds, every queue, is not listed
	Destination   string
	ToExchange    bool // the destination is an exchange, else a queue
	RoutingKey    string
	Arguments     Table
	PropertiesKey string // the management API's identity of the binding
}

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

// Overview is what the broker says of itself.
type Overview struct {
	Node        string
	ClusterName string
	Version     Version
	Erlang      string
	User        string
	UserTags    []string
	RatesMode   string // basic, detailed, none; "" when unknown
	StatsOff    bool   // management statistics are disabled on the broker: counts come without rates
	// the broker's clock minus this machine's, from the HTTP Date header; 0 when they may be the same
	ClockSkew   Opt[time.Duration]
	ClockWithin time.Duration // how far ClockSkew may be off, either way
}

// Snapshot is one poll of a broker. A part that could not be read is nil and named in Missing.
type Snapshot struct {
	TakenAt   time.Time
	Took      time.Duration
	Overview  Overview
	VHosts    []string // the vhosts that this snapshot covers
	Queues    []Queue
	Exchanges []Exchange
	Bindings  []Binding
	Nodes     []Node   // nil when the user may not read them: that takes the tag monitoring
	Policies  []Policy // policies and operator policies; nil when the user may not read them
	Missing   []string // in words: what could not be read and why

	Looked map[QueueRef]Looked // what looks have cost, as this machine remembers it
	Seen   Seen                // the ways of messages that were looked at
}

// NoDLX reports whether it is certain that a queue with these settings has no dead-letter exchange: a fresh queue's
// policy is unknown for some seconds.
func (q *Queue) NoDLX(s Settings) bool { return !s.DLX.Set && q.PolicyDefinition != nil }

// DeadLettered is how many dead letters came into the queue since the broker counts, at least: what was taken out of
// it and what is in it, without what publishers sent. Of a queue without statistics it is unknown.
func (q *Queue) DeadLettered() Opt[int64] {
	taken, known := q.Taken().Get()
	depth, counted := q.Depth()
	if !known || !counted {
		return Unknown[int64]()
	}
	return Some(max(taken+depth-q.Published.Or(0), 0))
}

// Taken is how many messages were taken out of the queue for good since the broker counts; a queue without statistics
// does not tell.
func (q *Queue) Taken() Opt[int64] {
	if q == nil || !q.Published.Known() && !q.Delivered.Known() && !q.Acked.Known() {
		return Unknown[int64]()
	}
	return Some(q.Acked.Or(0) + q.DeliveredNoAck.Or(0))
}
