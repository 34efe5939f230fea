package trace

import (
	"slices"
	"time"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/message"
)

const (
	tapRemembers = 100_000  // messages seen entering a buffer: older ones are forgotten
	tapQueues    = 1000     // queues that the twins of one message are seen to leave
	tapHashes    = 64 << 10 // bytes of a body used to distinguish messages
)

// WaitKnown is how it is known when a message began to wait.
type WaitKnown string

// The sources, best first.
const (
	WaitTapped    WaitKnown = "tapped"          // it was seen passing another exchange, or this one before
	WaitBroker    WaitKnown = "timestamp_in_ms" // the broker wrote it into the message
	WaitPublisher WaitKnown = "timestamp"       // by the publisher's clock, in seconds
	WaitDied      WaitKnown = "x-death"         // of the previous death, in seconds
)

// Passed is one message passing a tapped exchange. Its texts contain raw names: draw them through Printable.
type Passed struct {
	Time       time.Time // when it passed
	Exchange   string
	RoutingKey string
	From       string       // the queue that it left as a dead letter, "" when it was published
	Reason     model.Reason // "" when it was published
	Unclear    string       // why From is unknown, "" when it is known

	Waited model.Opt[time.Duration] // in From
	Known  WaitKnown                // how Waited is known, "" when it is not
	Should model.Opt[time.Duration] // its TTL there, for an expired one
	Late   model.Opt[time.Duration] // Waited minus Should
	// how much of Late it waited for messages ahead of it, as far as they were seen entering
	Behind model.Opt[time.Duration]
	// when it was to leave, by its TTL and the messages ahead of it: known when it was seen entering
	Due model.Opt[time.Time]

	Tries   model.Opt[int64] // failed ones so far, as far as the broker or the worker counted
	Message *message.Message
}

// Passing follows messages from one tapped exchange to the next. It is not safe for concurrent use.
type Passing struct {
	vhost    string
	topology *model.Topology

	entered map[message.Fingerprint]*twins
	order   []message.Fingerprint // a ring of remembered messages, the oldest at next
	next    int
	leaves  map[string]time.Time // by queue: when the last one that left it was to leave
}

// entrance is one message that was seen entering queues.
type entrance struct {
	at         time.Time
	expiration string
	deaths     int64
}

// twins are the entrances of indistinguishable messages, oldest first. left is, for each queue, how many of them, from
// the first on, were seen leaving it, including forgotten ones.
type twins struct {
	seen      []entrance
	forgotten int
	left      map[string]int
}

// NewPassing follows the messages of a vhost, with the settings of its queues.
func NewPassing(vhost string, t *model.Topology) *Passing {
	return &Passing{vhost: vhost, topology: t, entered: map[message.Fingerprint]*twins{}, leaves: map[string]time.Time{}}
}

// Follow takes the settings from a newer poll.
func (p *Passing) Follow(t *model.Topology) { p.topology = t }

// See records a message passing now, by this machine's clock. Call it in the order in which messages pass.
func (p *Passing) See(m *message.Message, now time.Time) Passed {
	row := Passed{
		Time:       now,
		Exchange:   m.Exchange,
		RoutingKey: m.RoutingKey,
		Message:    m,
		Tries:      tries(m),
	}

	id, deaths := tapIdentity(m), m.DeathCount()

	switch {
	case m.DeathsError != "" && len(m.Deaths) == 0:
		row.Unclear = m.DeathsError
	case len(m.Deaths) > 0 && p.diesInto(&m.Deaths[0], m):
		d := &m.Deaths[0]
		row.From, row.Reason = d.Queue, d.Reason
		p.waited(&row, m, p.entered[id].find(d.Queue, deaths-1))
	}

	p.remember(id, entrance{at: now, expiration: m.Properties.Expiration, deaths: deaths})
	return row
}

// diesInto reports whether a message is where its newest death sends it: an application that republishes it may keep
// its x-death.
func (p *Passing) diesInto(d *message.Death, m *message.Message) bool {
	if d.Queue == "" {
		return false
	}
	ref := model.QueueRef{VHost: p.vhost, Name: d.Queue}
	if _, known := p.topology.Queue(ref); !known {
		return true // deleted since, or exclusive and short-lived
	}
	s := p.topology.Settings(ref)
	return s.DLX.Set && s.DLX.Value == m.Exchange && (!s.Key.Set || s.Key.Value == m.RoutingKey)
}

// waited works out how long a dead letter has waited, and how long it should have.
func (p *Passing) waited(row *Passed, m *message.Message, in *entrance) {
	d := &m.Deaths[0]
	ref := model.QueueRef{VHost: p.vhost, Name: d.Queue}
	expired := d.Reason == model.Expired
	ttl := p.topology.Settings(ref).TTL
	var own string // its own TTL there, as text

	switch {
	case in != nil:
		own = in.expiration
	case d.Count <= 1:
		own = d.OriginalExpiration // the group's first death has it
	case !ttl.Set:
		own = "?" // unknown
	}

	wait := ttl.Value
	known := ttl.Set
	ofQueue := true
	if e, ok := message.ParseExpiration(own); ok && (!known || e < wait) {
		wait = e
		known = true
		ofQueue = false
	}

	if expired && known {
		row.Should = model.Some(wait)
	}

	if in != nil {
		row.Waited = model.Some(row.Time.Sub(in.at))
		row.Known = WaitTapped
	} else if began, how, ok := p.beganToWait(m); ok {
		waited := row.Time.Sub(began)
		if believable(waited, row.Should, ofQueue) {
			row.Waited = model.Some(max(waited, 0))
			row.Known = how
		}
	}

	if !row.Waited.Known() || !row.Should.Known() {
		return
	}
	row.Late = model.Some(row.Waited.Or(0) - wait)
	if in == nil {
		return
	}
	due := in.at.Add(wait)
	if before := p.leaves[d.Queue]; before.After(due) && !p.byPriority(ref) {
		row.Behind = model.Some(before.Sub(due))
		due = before
	}
	row.Due = model.Some(due)

	if len(p.leaves) < tapRemembers { // names of queues come from messages
		p.leaves[d.Queue] = due
	}
}

// byPriority reports whether a queue may deliver messages in an order other than that of arrival.
func (p *Passing) byPriority(ref model.QueueRef) bool {
	q, ok := p.topology.Queue(ref)
	if !ok {
		return false
	}
	_, set := q.Arguments["x-max-priority"]
	return set
}

// beganToWait returns when a dead letter entered the queue that it left, according to the message, by this machine's
// clock.
func (p *Passing) beganToWait(m *message.Message) (began time.Time, how WaitKnown, ok bool) {
	skew := p.topology.Snapshot.Overview.ClockSkew.Or(0) // of the broker
	if m.DeathsError != "" {
		return began, "", false
	}
	if m.DeathCount() > 1 {
		return p.diedBefore(m, skew)
	}
	if _, _, republished := m.FirstKey(); republished {
		return began, "", false
	}
	if _, _, replayed := m.Replays(); replayed {
		return began, "", false
	}
	at, ok := m.PublishedAt()
	how = WaitPublisher
	if ms, told := m.Headers.Integer("timestamp_in_ms"); ok && told && at.Equal(time.UnixMilli(ms)) {
		how, at = WaitBroker, at.Add(-skew)
	}

	return at, how, ok
}

// diedBefore returns when the previous death sent a message straight into the queue that it left now.
func (p *Passing) diedBefore(m *message.Message, skew time.Duration) (at time.Time, how WaitKnown, ok bool) {
	if len(m.Deaths) < 2 || m.Deaths[0].Count > 1 || m.Deaths[1].Count > 1 || m.Deaths[1].Time.IsZero() {
		return at, "", false
	}
	before := &m.Deaths[1]
	route := p.topology.DeadLetter(model.QueueRef{VHost: p.vhost, Name: before.Queue}, before.RoutingKeys, m.Headers)
	for _, q := range route.Queues {
		if q.Name == m.Deaths[0].Queue && route.Exact {
			return before.Time.Add(-skew), WaitDied, true
		}
	}

	return at, "", false
}

// believable reports whether a message can have waited this long: a wait distorted by another clock is not shown.
// Nothing expires before its TTL, and only messages ahead hold it longer; with one TTL for the whole queue none of
// those can.
func believable(waited time.Duration, should model.Opt[time.Duration], ofQueue bool) bool {
	const rounding, clocks, longest = 2 * time.Second, time.Minute, 24 * time.Hour
	ttl, known := should.Get()
	switch {
	case waited < -rounding:
		return false
	case !known:
		return waited <= 365*24*time.Hour
	case waited < ttl-rounding:
		return false
	case ofQueue:
		return waited <= ttl+clocks
	}

	return waited <= ttl+longest
}

// find returns when a message was seen earlier, after this number of deaths and not seen leaving this queue since. From
// 4.0 on the broker's count begins again when a message is republished: then it is the newest entrance. Queues pass
// twins on in order.
func (t *twins) find(queue string, deaths int64) *entrance {
	if t == nil {
		return nil
	}
	from := min(max(t.left[queue]-t.forgotten, 0), len(t.seen))
	at := from + slices.IndexFunc(t.seen[from:], func(e entrance) bool { return e.deaths == deaths })
	if at < from && deaths == 0 {
		at = len(t.seen) - 1
	}
	if at < from {
		return nil
	}
	if t.left == nil || len(t.left) >= tapQueues { // names of queues come from messages
		t.left = map[string]int{}
	}

	t.left[queue] = t.forgotten + at + 1
	return &t.seen[at]
}

func (p *Passing) remember(id message.Fingerprint, e entrance) {
	if len(p.order) < tapRemembers {
		p.order = append(p.order, id)
	} else {
		oldest := p.order[p.next]
		t := p.entered[oldest]
		t.seen, t.forgotten = t.seen[1:], t.forgotten+1
		if len(t.seen) == 0 {
			delete(p.entered, oldest)
		}
		p.order[p.next] = id
		p.next = (p.next + 1) % tapRemembers
	}

	t := p.entered[id]
	if t == nil {
		t = &twins{}
		p.entered[id] = t
	}

	t.seen = append(t.seen, e)
}

// tapIdentity identifies messages by what their publishers set and no dead-letter exchange changes.
func tapIdentity(m *message.Message) message.Fingerprint {
	w := message.NewFingerprinter()
	q := &m.Properties
	for _, s := range []string{
		q.ContentType, q.ContentEncoding, q.CorrelationID, q.ReplyTo, q.MessageID, q.Type,
		q.UserID, q.AppID,
	} {
		w.Text(s)
	}

	w.Moment(q.Timestamp)
	w.Table(m.Headers, message.IsBrokerHeader)
	w.Number('b', uint64(m.BodyBytes))
	return w.Sum(m.Body[:min(len(m.Body), tapHashes)])
}

// tries returns how often a worker has failed with a message: as often as it rejected it; otherwise the larger one of
// its expiries in a buffer and the worker's own count.
func tries(m *message.Message) model.Opt[int64] {
	if m.DeathsError != "" {
		return model.Unknown[int64]()
	}
	var failed, expired int64
	for d := range model.Each(m.Deaths) {
		switch d.Reason {
		case model.Rejected, model.DeliveryLimit:
			failed = message.AddCapped(failed, d.Times())
		default:
			expired = message.AddCapped(expired, d.Times())
		}
	}

	if failed > 0 {
		return model.Some(failed)
	}

	return model.Some(max(expired, m.CountedByWorker()))
}
