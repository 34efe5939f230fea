package resume

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/internal/seed"
	"github.com/dlxtop/dlxtop/internal/size"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/build"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/model/peek"
	"github.com/dlxtop/dlxtop/model/plan"
	"github.com/dlxtop/dlxtop/model/target"
)

// killedAt is a replay of everything in a queue, or a drop, as it stands when its program is killed. Messages are
// numbers: equal ones are twins.
type killedAt struct {
	queue     []int // when it began
	intended  int   // the first of them: written down
	published int   // of these
	acked     int   // of these
	settled   int   // of these
	drop      bool
	marked    bool
	named     bool  // they have a message_id each, and differ
	arrived   []int // in the source since
	foreign   []int // in the target before
}

func randomKill(r *rand.Rand) killedAt {
	n, kinds := 1+r.IntN(12), 1+r.IntN(30)
	k := killedAt{drop: r.IntN(3) == 0, marked: r.IntN(2) == 0, named: r.IntN(2) == 0}
	for i := range n {
		if k.queue = append(k.queue, r.IntN(kinds)); k.named {
			k.queue[i] = i
		}
	}
	k.intended = 1 + r.IntN(n)
	k.published = r.IntN(k.intended + 1)
	k.acked = r.IntN(k.published + 1)
	k.settled = r.IntN(k.acked + 1)
	if r.IntN(3) == 0 {
		for range 1 + r.IntN(3) {
			if k.arrived = append(k.arrived, r.IntN(kinds)); k.named {
				k.arrived[len(k.arrived)-1] += n + 30*len(k.arrived)
			}
		}
	}
	return k
}

func original(kind int) message.Message {
	m := message.Message{
		RoutingKey: "k", Properties: message.Properties{Type: fmt.Sprint(kind)},
		Body: []byte{byte(kind)}, BodyBytes: 1,
	}
	m.Fingerprint = message.FingerprintOf(&m)
	return m
}

func (k *killedAt) copyOf(kind int) message.Message {
	m := original(kind)
	m.RoutingKey = "worker"
	if k.marked {
		m.Headers = model.Table{message.ReplayHeader: model.Table{
			"count": int64(1), "time": time.Unix(1e9, 0),
			"replay": "MARK",
		}}
	}
	m.Fingerprint = message.FingerprintOf(&m)
	return m
}

// source and target are what is in the queues after the kill.
func (k *killedAt) source() (kinds []int) {
	return append(append(kinds, k.queue[k.acked:]...), k.arrived...)
}

func (k *killedAt) target() (kinds []int) {
	if k.drop {
		return nil
	}
	return append(append(kinds, k.foreign...), k.queue[:k.published]...)
}

// plan plans to go on with it.
func (k *killedAt) plan(t *testing.T) Plan {
	t.Helper()
	from, to := model.QueueRef{VHost: "/", Name: "failed"}, model.QueueRef{VHost: "/", Name: "worker"}
	s := &model.Snapshot{
		VHosts:    []string{"/"},
		Exchanges: []model.Exchange{{ExchangeRef: model.ExchangeRef{VHost: "/"}, Type: "direct", Durable: true}},
	}
	for _, ref := range []model.QueueRef{from, to} {
		s.Queues = append(s.Queues, model.Queue{
			QueueRef: ref, Type: model.Classic, Durable: true,
			Consumers: model.Some[int64](0),
		})
	}
	r := plan.Record{
		ID: 1, Operation: plan.Replay, From: from, Broker: "b", Planned: len(k.queue), Entries: k.intended,
		Intent: &plan.Intent{
			Source: from, Depth: int64(len(k.queue)), Mode: target.ToQueue, Fixed: model.Address{RoutingKey: "worker"},
			Mark: k.marked, MarkName: "MARK",
			Recipients: []plan.Recipient{{Queue: to, Consumers: model.Some[int64](0)}},
		},
	}
	if k.drop {
		r.Operation = plan.Drop
	}
	planned, err := Of(model.NewTopology(s), Want{
		Chain: []plan.Record{r}, Broker: "b",
		Entries: func(_ int64, each func(*plan.Entry) error) error {
			for i, kind := range k.queue[:k.intended] {
				m := original(kind)
				m.Position = i + 1
				e := plan.Entry{Position: i + 1, Fingerprint: m.Fingerprint}
				if k.named {
					e.MessageID = fmt.Sprint(kind)
				}
				if k.drop {
					e.Message = &m
				} else {
					e.Sent = &plan.Sent{Fingerprint: k.copyOf(kind).Fingerprint, Reached: []string{"worker"}}
				}
				if e.Outcome = plan.Moved; k.drop {
					e.Outcome = plan.Dropped
				}
				if i >= k.settled {
					e.Outcome = ""
				}
				if err := each(&e); err != nil {
					return err
				}
			}
			return nil
		},
		Look: func(p peek.Plan, each func(*message.Message) error) (string, error) {
			kinds, of := k.source(), original
			if p.Queue == to {
				kinds, of = k.target(), k.copyOf
			}
			for _, kind := range kinds {
				m := of(kind)
				if err := each(&m); err != nil {
					return "", err
				}
			}
			return "", nil
		},
	})
	must.That(t, err == nil && !planned.Refusal.Refused(), "%+v: %v %s", k, err, planned.Refusal.Words())
	read, err := build.ThroughJSON(planned)
	if err != nil || !reflect.DeepEqual(planned, read) {
		t.Fatalf("%v: %s", err, cmp.Diff(planned, read, cmp.Exporter(func(reflect.Type) bool { return true })))
	}
	return read // what is executed was written as JSON
}

// execute does what the plan says: copies are those that reach the target by it, left is what stays in the source.
func (k *killedAt) execute(p *Plan) (copies, left []int) {
	acks := map[message.Fingerprint]int{}
	for _, a := range p.Rest.Resuming.Acks {
		acks[a.Fingerprint]++
	}
	var kinds []int
	for _, kind := range k.source() {
		if f := original(kind).Fingerprint; acks[f] > 0 {
			acks[f]--
			continue
		}
		kinds = append(kinds, kind)
	}
	picker := p.Rest.Selection.Picker(p.Rest.From)
	most := int(p.Rest.Resuming.Left) - len(p.Rest.Resuming.Acks)
	for i, kind := range kinds {
		m := original(kind)
		if i < most && picker.Pick(&m) {
			copies = append(copies, kind)
		} else {
			left = append(left, kind)
		}
	}
	return copies, left
}

func counts(lists ...[]int) map[int]int {
	n := map[int]int{}
	for _, list := range lists {
		for _, kind := range list {
			n[kind]++
		}
	}
	return n
}

// TestResumeAtRandom: nothing is ever lost or doubled by a resume, wherever the program was killed, with twins and
// with messages that came since; and where all messages differ, nothing is left undecided.
func TestResumeAtRandom(t *testing.T) {
	r := seed.Rand(t)
	decided, open := 0, 0
	for range size.Of(1500, 30_000) {
		k := randomKill(r)
		p := k.plan(t)
		copies, left := k.execute(&p)
		is, was := counts(k.target(), copies, left), counts(k.queue, k.arrived)
		if k.drop {
			is = counts(k.queue[:k.acked], copies, left) // a drop has no copies: what is acknowledged is gone
		}
		bad := ""
		undecided := len(p.Undecided)
		for kind, n := range was {
			switch {
			case is[kind] < n:
				bad = fmt.Sprintf("%d of kind %d are lost", n-is[kind], kind)
			case is[kind] > n && undecided == 0:
				bad = fmt.Sprintf("%d of kind %d are there twice", is[kind]-n, kind)
			}
		}
		switch {
		case undecided > 0:
			open++
		case bad == "":
			decided++
		}
		if k.named && undecided > 0 {
			bad = fmt.Sprintf("%d are undecided", undecided)
		}
		if k.named && len(k.arrived) == 0 && len(left) > 0 {
			bad = fmt.Sprintf("%v are left", left)
		}
		must.That(t, bad == "", "%s: %+v\nacknowledges %v, done %d, unsent %d, undecided %v\ncopies %v, left %v", bad, k,
			p.Rest.Resuming.Acks, p.Done, p.Unsent, p.Undecided, copies, left)
	}
	t.Logf("%d decided, %d left something open", decided, open)
}
