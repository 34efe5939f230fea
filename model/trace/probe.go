package trace

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/model/plan"
)

// ProbeHeader marks a probe: a table {"id": text, "time": timestamp}.
const ProbeHeader = "dlxtop-probe"

const (
	probePatience = 10 * time.Second // beyond the TTL
	probeLongest  = 24 * time.Hour
)

// NewProbeID returns a unique message_id for a probe.
func NewProbeID() string {
	var random [8]byte
	_, _ = rand.Read(random[:]) // never fails
	return "dlxtop-probe-" + hex.EncodeToString(random[:])
}

// ProbeWant is what a user or a script wants to know: how long a message takes through a buffer of a flow.
type ProbeWant struct {
	ID     string // from NewProbeID
	Flow   *model.Flow
	Buffer model.QueueRef // zero: the first one
	// through the default exchange, although an exchange leads into the buffer
	Direct      bool
	ToConsumers bool                                  // even if applications consume it
	Timeout     time.Duration                         // 0: the TTL plus 10 s
	Consumers   func(model.QueueRef) model.Opt[int64] // counted just now; nil: as in the topology
}

// ProbePlan is a probe before it is sent: one marked message through a buffer, and its removal from queues without
// consumers.
type ProbePlan struct {
	ID          string
	VHost       string
	Entrance    model.Address
	Buffer      model.QueueRef
	TTL         model.Opt[time.Duration] // the expected wait
	Expiration  string                   // its own, in milliseconds, if the buffer has no TTL
	DLX         string
	Reaches     []plan.Recipient // the queues that receive what expires
	ToConsumers bool             // agreed to, or there are no consumers
	Consumed    int64            // consumers of the queues that it reaches
	Tap         TapPlan          // how it is followed; without bindings it is only looked for in its target queues
	Removals    []plan.Plan      // how it is removed: first from the buffer, then from every queue without consumers
	Timeout     time.Duration
	Warnings    []string // what the user might not expect, one sentence each
	Refusal     Refusal  // why it must not be sent, nil when it may
	// NeedsConsumers: it is refused only because consumers would get it; ToConsumers agrees to that
	NeedsConsumers bool
}

func (p *ProbePlan) warn(format string, values ...any) {
	p.Warnings = append(p.Warnings, fmt.Sprintf(format, values...))
}

func PlanProbe(t *model.Topology, want ProbeWant) ProbePlan {
	p := ProbePlan{ID: want.ID, VHost: want.Flow.VHost, ToConsumers: want.ToConsumers}
	b, refusal := probedBuffer(want)
	if refusal.Refused() {
		p.Refusal = refusal
		return p
	}
	p.Buffer, p.DLX = b.Queue, b.DLX
	p.TTL = b.TTL
	if !p.TTL.Known() {
		p.TTL, p.Expiration = model.Some(time.Second), "1000"
		p.warn("%s has no TTL of its own: the probe brings one of 1s", model.Printable(b.Queue.Name))
	}
	p.Timeout = want.Timeout
	if p.Timeout <= 0 {
		p.Timeout = min(p.TTL.Or(0), probeLongest) + probePatience
	}
	p.Entrance = model.Address{RoutingKey: b.Queue.Name}
	if in, ok := entranceOf(t, b); ok && !want.Direct {
		p.Entrance = in
	}
	probeReach(t, &p, want.Consumers)
	probeTap(t, &p)
	if q, _ := t.Queue(b.Queue); q != nil && q.Ready.Or(0) > 0 && p.Expiration != "" && !p.Refusal.Refused() {
		p.warn("%s in front of it: with a longer TTL than its own they hold it up", model.PluralAre(q.Ready.Or(0), "message"))
	}
	for _, takes := range plan.IntakeWarnings(t, b.Queue, 1) {
		if t.Settings(b.Queue).Bounded() {
			p.warn("%s", takes.Words())
		}
	}
	return p
}

func probedBuffer(want ProbeWant) (b *model.Buffer, why Refusal) {
	for _, one := range want.Flow.Buffers {
		if one.InExchange == "" && !one.Held && (want.Buffer == (model.QueueRef{}) || one.Has(want.Buffer)) {
			return one, nil
		}
	}
	if want.Buffer == (model.QueueRef{}) {
		return nil, refuse("this flow has no buffer that expires messages: there is no way to measure")
	}
	return nil, refuse("%s is not a buffer of this flow that expires messages", model.Printable(want.Buffer.Name))
}

// entranceOf is an exchange and key that lead only into a buffer.
func entranceOf(t *model.Topology, b *model.Buffer) (model.Address, bool) {
	for binding := range model.Each(t.Snapshot.Bindings) {
		if binding.ToExchange ||
			(model.QueueRef{VHost: binding.VHost, Name: binding.Destination}) != b.Queue || len(binding.Arguments) > 0 {
			continue
		}
		a := model.Address{Exchange: binding.Source, RoutingKey: binding.RoutingKey}
		route := t.Route(binding.VHost, a.Exchange, []string{a.RoutingKey}, probeHeaders(""))
		if route.Exact && !route.Internal && !route.Delays && slices.Equal(route.Queues, []model.QueueRef{b.Queue}) {
			return a, true
		}
	}
	return model.Address{}, false
}

func probeHeaders(id string) model.Table {
	return model.Table{ProbeHeader: model.Table{"id": id, "time": time.Now().Truncate(time.Second)}}
}

// probeReach works out which queues the probe reaches, and how it is removed.
func probeReach(t *model.Topology, p *ProbePlan, consumers func(model.QueueRef) model.Opt[int64]) {
	route := t.DeadLetter(p.Buffer, []string{p.Entrance.RoutingKey}, probeHeaders(p.ID))
	switch {
	case route.MissingExchange != "":
		p.warn("there is no exchange %s: expired messages are lost", model.Printable(route.MissingExchange))
	case route.Unread:
		p.Refusal = refuse("it is unknown which queues it would reach: %s", route.Why)
	case len(route.Queues) == 0:
		p.warn("no queue takes messages from %s: the probe will be lost, as all of them are",
			model.Printable(model.ExchangeName(p.DLX)))
	case !route.Exact:
		p.warn("it reaches some of these queues: %s", route.Why)
	}
	queues := []model.QueueRef{p.Buffer}
	var busy []string
	for _, ref := range route.Queues {
		q, _ := t.Queue(ref)
		n := q.Consumers
		if consumers != nil {
			n = consumers(ref)
		}
		p.Reaches = append(p.Reaches, plan.Recipient{Queue: ref, Consumers: n, Messages: 1})
		if c := n.Or(1); c > 0 {
			consumers := "consumers unknown"
			if n.Known() {
				consumers = model.Plural(c, "consumer")
			}
			busy = append(busy, fmt.Sprintf("%s (%s)", model.Printable(ref.Name), consumers))
			p.Consumed += c
		} else {
			queues = append(queues, ref)
		}
	}
	for _, ref := range queues {
		removal := plan.New(t, plan.ActionWant{
			Operation: plan.Drop, From: ref,
			Selection: plan.Selection{MessageID: p.ID, Limit: 1}, Planned: 1, Journaled: true,
		})
		p.Removals = append(p.Removals, removal)
		if removal.Refusal.Refused() && !p.Refusal.Refused() {
			p.Refusal = refuse("it could not be taken out of %s again: %s", model.Printable(ref.Name), removal.Refusal.Words())
		}
	}
	if len(busy) > 0 && !p.ToConsumers && !p.Refusal.Refused() {
		p.NeedsConsumers = true
		p.Refusal = refuse("applications consume what it reaches, and would get the probe: %s", strings.Join(busy, ", "))
	}
}

func probeTap(t *model.Topology, p *ProbePlan) {
	if p.Refusal.Refused() {
		return
	}
	var exchanges []string
	for _, name := range []string{p.DLX, p.Entrance.Exchange} {
		if tap := PlanTap(t, TapWant{VHost: p.VHost, Exchanges: []string{name}}); !tap.Refusal.Refused() &&
			!slices.Contains(exchanges, name) {
			exchanges = append(exchanges, name)
		}
	}
	if len(exchanges) > 0 {
		p.Tap = PlanTap(t, TapWant{VHost: p.VHost, Exchanges: exchanges})
	}
	if p.DLX == "" {
		p.warn("the default exchange cannot be tapped: when the probe expires is seen only where it arrives")
	}
}

// Taps reports whether the probe is seen passing an exchange.
func (p *ProbePlan) Taps(exchange string) bool {
	return len(p.Tap.Bindings) > 0 && slices.Contains(p.Tap.Exchanges, exchange)
}

func (p *ProbePlan) Publishing() message.Publishing {
	return message.Publishing{
		Address: p.Entrance, Headers: probeHeaders(p.ID), Reaches: []model.QueueRef{p.Buffer},
		Properties: message.Properties{
			MessageID: p.ID, AppID: "dlxtop", ContentType: "text/plain", DeliveryMode: 2,
			Timestamp: time.Now(), Expiration: p.Expiration,
		},
		Body: []byte("a probe of dlxtop: it measures how long a message takes, and can be dropped"),
	}
}

func (p *ProbePlan) IsProbe(m *message.Message) bool {
	mark, ok := m.Headers[ProbeHeader].(model.Table)
	if !ok {
		return false
	}
	id, _ := mark.Text("id")
	return id == p.ID
}

type ProbeStage string

const (
	ProbeEntered ProbeStage = "entered" // the broker has confirmed that it is in the buffer
	ProbeExpired ProbeStage = "expired" // it passed the DLX
	ProbeReached ProbeStage = "reached" // it was found in a target queue, or delivered to its consumers
	ProbeRemoved ProbeStage = "removed" // it was removed
)

type ProbeStep struct {
	Stage ProbeStage
	Where string        // the queue or exchange
	After time.Duration // since it was sent
	Note  string
}

type ProbeResult struct {
	Steps   []ProbeStep
	Waited  model.Opt[time.Duration] // in the buffer
	Should  model.Opt[time.Duration]
	Arrived bool   // everywhere it should
	Verdict string // one sentence
	Left    string // the queue in which it may still be, "" when it was removed or consumed
}

// String is one line: "entered buffer 12ms, expired after 5.003s against 5s configured, worker 5.011s".
func (r *ProbeResult) String() string {
	var words []string
	for _, s := range r.Steps {
		after := model.ShortDuration(s.After.Round(time.Millisecond))
		switch s.Stage {
		case ProbeEntered:
			words = append(words, "entered "+model.Printable(s.Where)+" "+after)
		case ProbeExpired:
			if waited, ok := r.Waited.Get(); ok {
				after = model.ShortDuration(waited.Round(time.Millisecond))
			}
			words = append(words, fmt.Sprintf("expired after %s (TTL %s)", after, model.ShortDuration(r.Should.Or(0))))
		case ProbeReached:
			words = append(words, model.Printable(s.Where)+" "+after)
		}
	}
	return strings.Join(words, ", ")
}
