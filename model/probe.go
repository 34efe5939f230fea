package model

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"slices"
	"time"
)

// ProbeHeader marks a probe: a table {"id": text, "time": timestamp}.
const ProbeHeader = "dlxtop-probe"

const (
	probePatience = 10 * time.Second // beyond the TTL
	probeLongest  = 24 * time.Hour
)

// NewProbeID names one probe: its message_id.
func NewProbeID() string {
	var random [8]byte
	_, _ = rand.Read(random[:]) // never fails
	return "dlxtop-probe-" + hex.EncodeToString(random[:])
}

// ProbeWant is what a person or a script wants to know: how long a message takes through a buffer of a flow.
type ProbeWant struct {
	ID          string // of NewProbeID
	Flow        *Flow
	Buffer      QueueRef                  // which buffer; the zero value is the first
	Direct      bool                      // through the default exchange, though an exchange in front leads into the buffer
	ToConsumers bool                      // also where applications consume it
	Timeout     time.Duration             // 0: the TTL and 10 s
	Consumers   func(QueueRef) Opt[int64] // counted just now; nil: as the topology has it
}

// ProbePlan is a probe before it is sent: one marked message through a buffer, and out of the queues again that nobody consumes.
type ProbePlan struct {
	ID          string
	VHost       string
	Entrance    Address
	Buffer      QueueRef
	TTL         Opt[time.Duration] // that it should wait
	Expiration  string             // its own, in milliseconds, where the buffer has no TTL
	DLX         string
	Reaches     []Recipient // the queues that receive what expires
	ToConsumers bool        // agreed to, or nobody consumes there
	Consumed    int64       // consumers of the queues that it reaches
	Tap         TapPlan     // how it is followed; without bindings it is only looked for where it should arrive
	Removals    []Plan      // how it is taken out again: of the buffer first, and of every queue that nobody consumes
	Timeout     time.Duration
	Warnings    []string
	Refusal     string // why it must not be sent, "" when it may
	consumed    bool   // it is refused only for the consumers that would get it
}

// PlanProbe plans a probe.
func (t *Topology) PlanProbe(want ProbeWant) ProbePlan {
	p := ProbePlan{ID: want.ID, VHost: want.Flow.VHost, ToConsumers: want.ToConsumers}
	b, why := probedBuffer(want)
	if why != "" {
		p.Refusal = why
		return p
	}
	p.Buffer, p.DLX = b.Queue, b.DLX
	p.TTL = b.TTL
	if !p.TTL.Known() {
		p.TTL, p.Expiration = Some(time.Second), "1000"
		p.Warnings = append(p.Warnings, fmt.Sprintf("%s has no TTL of its own: the probe brings one of 1s", Printable(b.Queue.Name)))
	}
	p.Timeout = want.Timeout
	if p.Timeout <= 0 {
		p.Timeout = min(p.TTL.Or(0), probeLongest) + probePatience
	}
	p.Entrance = Address{RoutingKey: b.Queue.Name}
	if in, ok := t.entranceOf(b); ok && !want.Direct {
		p.Entrance = in
	}
	t.probeReach(&p, want.Consumers)
	t.probeTap(&p)
	if q := t.queues[b.Queue]; q != nil && q.Ready.Or(0) > 0 && p.Expiration != "" && p.Refusal == "" {
		p.Warnings = append(p.Warnings, fmt.Sprintf("%s in front of it: with a longer TTL than its own they hold it up", are(q.Ready.Or(0), "message")))
	}
	for _, words := range t.IntakeWarnings(b.Queue, 1) {
		if t.settings[b.Queue].Bounded() {
			p.Warnings = append(p.Warnings, words)
		}
	}
	return p
}

func probedBuffer(want ProbeWant) (b *Buffer, refusal string) {
	for i := range want.Flow.Buffers {
		one := &want.Flow.Buffers[i]
		if one.InExchange == "" && !one.Held && (want.Buffer == (QueueRef{}) || one.Has(want.Buffer)) {
			return one, ""
		}
	}
	if want.Buffer != (QueueRef{}) {
		return nil, fmt.Sprintf("%s is no buffer of this flow that expires messages", Printable(want.Buffer.Name))
	}
	return nil, "this flow has no buffer that expires messages: there is no way to measure"
}

// entranceOf is an exchange and key that lead into a buffer and nowhere else.
func (t *Topology) entranceOf(b *Buffer) (Address, bool) {
	for i := range t.Snapshot.Bindings {
		binding := &t.Snapshot.Bindings[i]
		if binding.ToExchange || binding.Source == "" || (QueueRef{binding.VHost, binding.Destination}) != b.Queue || len(binding.Arguments) > 0 {
			continue
		}
		a := Address{binding.Source, binding.RoutingKey}
		route := t.Route(binding.VHost, a.Exchange, []string{a.RoutingKey}, probeHeaders(""))
		if route.Exact && !route.Internal && !route.Delays && slices.Equal(route.Queues, []QueueRef{b.Queue}) {
			return a, true
		}
	}
	return Address{}, false
}

func probeHeaders(id string) Table {
	return Table{ProbeHeader: Table{"id": id, "time": time.Now().Truncate(time.Second)}}
}

// probeReach works out whom the probe reaches, and how it is taken out again.
func (t *Topology) probeReach(p *ProbePlan, consumers func(QueueRef) Opt[int64]) {
	route := t.DeadLetter(p.Buffer, []string{p.Entrance.RoutingKey}, probeHeaders(p.ID))
	switch {
	case route.MissingExchange != "":
		p.Warnings = append(p.Warnings, fmt.Sprintf("there is no exchange %s: what expires is lost", Printable(route.MissingExchange)))
	case route.Unread:
		p.Refusal = "nobody can tell whom it would reach: " + route.Why
	case len(route.Queues) == 0:
		p.Warnings = append(p.Warnings, fmt.Sprintf("no queue takes what %s hands on: the probe will be lost, as everything is", Printable(ExchangeName(p.DLX))))
	case !route.Exact:
		p.Warnings = append(p.Warnings, "it reaches some of these queues: "+route.Why)
	}
	queues := []QueueRef{p.Buffer}
	var busy []string
	for _, ref := range route.Queues {
		n := t.queues[ref].Consumers
		if consumers != nil {
			n = consumers(ref)
		}
		p.Reaches = append(p.Reaches, Recipient{Queue: ref, Consumers: n, Messages: 1})
		switch c, known := n.Get(); {
		case !known:
			busy = append(busy, Printable(ref.Name)+" (consumers unknown)")
			p.Consumed++
		case c > 0:
			busy = append(busy, fmt.Sprintf("%s (%s)", Printable(ref.Name), Plural(c, "consumer")))
			p.Consumed += c
		default:
			queues = append(queues, ref)
		}
	}
	for _, ref := range queues {
		removal := t.Plan(ActionWant{Operation: Drop, From: ref, Selection: Selection{MessageID: p.ID, Limit: 1}, Planned: 1, Journaled: true})
		p.Removals = append(p.Removals, removal)
		if removal.Refusal != "" && p.Refusal == "" {
			p.Refusal = fmt.Sprintf("it could not be taken out of %s again: %s", Printable(ref.Name), removal.Refusal)
		}
	}
	if len(busy) > 0 && !p.ToConsumers && p.Refusal == "" {
		p.consumed = true
		p.Refusal = "applications consume what it reaches, and would get the probe: " + joined(busy)
	}
}

func joined(words []string) string {
	out := ""
	for i, w := range words {
		if i > 0 {
			out += ", "
		}
		out += w
	}
	return out
}

// NeedsConsumers reports whether the plan is refused only for the consumers that would get the probe.
func (p *ProbePlan) NeedsConsumers() bool { return p.consumed }

// probeTap plans how the probe is followed.
func (t *Topology) probeTap(p *ProbePlan) {
	if p.Refusal != "" {
		return
	}
	var exchanges []string
	for _, name := range []string{p.DLX, p.Entrance.Exchange} {
		if tap := t.PlanTap(TapWant{VHost: p.VHost, Exchanges: []string{name}}); tap.Refusal == "" && !slices.Contains(exchanges, name) {
			exchanges = append(exchanges, name)
		}
	}
	if len(exchanges) > 0 {
		p.Tap = t.PlanTap(TapWant{VHost: p.VHost, Exchanges: exchanges})
	}
	if p.DLX == "" {
		p.Warnings = append(p.Warnings, "the default exchange cannot be tapped: when the probe expires is seen only where it arrives")
	}
}

// Taps reports whether the probe is seen when it passes an exchange.
func (p *ProbePlan) Taps(exchange string) bool {
	return len(p.Tap.Bindings) > 0 && slices.Contains(p.Tap.Exchanges, exchange)
}

// Publishing is the probe itself.
func (p *ProbePlan) Publishing() Publishing {
	return Publishing{
		Address: p.Entrance, Headers: probeHeaders(p.ID), Reaches: []QueueRef{p.Buffer},
		Properties: Properties{MessageID: p.ID, AppID: "dlxtop", ContentType: "text/plain", DeliveryMode: 2, Timestamp: time.Now(), Expiration: p.Expiration},
		Body:       []byte("a probe of dlxtop: it measures how long a message takes, and can be dropped"),
	}
}

// IsProbe reports whether a message is this probe.
func (p *ProbePlan) IsProbe(m *Message) bool {
	mark, ok := m.Headers[ProbeHeader].(Table)
	if !ok {
		return false
	}
	id, _ := mark.Text("id")
	return id == p.ID
}

// ProbeStage is how far a probe has come.
type ProbeStage string

// The stages.
const (
	ProbeEntered ProbeStage = "entered" // the broker has confirmed that the buffer has it
	ProbeExpired ProbeStage = "expired" // it passed the DLX
	ProbeReached ProbeStage = "reached" // it was found where it should arrive, or handed to its consumers
	ProbeRemoved ProbeStage = "removed" // it was taken out again
)

// ProbeStep is one stage of one probe.
type ProbeStep struct {
	Stage ProbeStage
	Where string        // the queue or exchange
	After time.Duration // since it was sent
	Note  string
}

// ProbeResult is what came of a probe.
type ProbeResult struct {
	Steps   []ProbeStep
	Waited  Opt[time.Duration] // in the buffer
	Should  Opt[time.Duration]
	Arrived bool   // everywhere it should
	Verdict string // one sentence
	Left    string // the queue in which it may still be, "" when it was taken out or consumed
}

// After is when a stage was reached, since the probe was sent.
func (r *ProbeResult) After(stage ProbeStage) (ProbeStep, bool) {
	for _, s := range r.Steps {
		if s.Stage == stage {
			return s, true
		}
	}
	return ProbeStep{}, false
}

// String is one line: "entered buffer 12ms, expired after 5.003s against 5s configured, worker 5.011s".
func (r *ProbeResult) String() string {
	var words []string
	for _, s := range r.Steps {
		after := ShortDuration(s.After.Round(time.Millisecond))
		switch s.Stage {
		case ProbeEntered:
			words = append(words, "entered "+Printable(s.Where)+" "+after)
		case ProbeExpired:
			if waited, ok := r.Waited.Get(); ok {
				after = ShortDuration(waited.Round(time.Millisecond))
			}
			words = append(words, fmt.Sprintf("expired after %s against %s", after, ShortDuration(r.Should.Or(0))))
		case ProbeReached:
			words = append(words, Printable(s.Where)+" "+after)
		}
	}
	return joined(words)
}
