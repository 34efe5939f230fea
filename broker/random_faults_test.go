package broker_test

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/internal/seed"
	"github.com/dlxtop/dlxtop/internal/size"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/plan"
)

// fault is something that happens to a broker, or to the way there, while messages are moved or dropped.
type fault struct {
	name       string
	kinds      []model.QueueType // nil: both
	operations []plan.Operation  // nil: replay
	set        func(*stage)      // before it begins; nil: nothing
	strike     func(*stage)      // at a random moment; nil: nothing
	latency    time.Duration     // of the cable, each way, more or less half of it
	messages   int               // 0: 3000, in the sample 1000
	complete   bool              // all of it is done nevertheless
	ends       bool              // what it strikes comes to an early end, or leaves something undone
}

var both = []plan.Operation{plan.Replay, plan.Drop}

var faults = []fault{
	{name: "connection cut", operations: both, ends: true, strike: func(s *stage) { s.cable.cut() }},
	{
		name: "connection delayed", operations: both, complete: true, latency: 20 * time.Millisecond,
		messages: size.Of(300, 1500), strike: func(s *stage) {
			s.cable.pausedUntil.Store(time.Now().Add(seed.Within(s.random, time.Second)).UnixNano())
		},
	},
	{name: "channel error, publishing", ends: true, strike: func(s *stage) { s.cable.poison.Store(basicPublish) }},
	{
		name: "channel error, source", operations: both, ends: true,
		strike: func(s *stage) { s.cable.poison.Store(basicAck) },
	},
	{name: "target queue deleted", ends: true, strike: func(s *stage) {
		s.destroyed = true
		s.deleteQueue(s.to.Name)
	}},
	{name: "target exchange deleted", ends: true, set: func(s *stage) {
		s.exchange, s.key = s.to.Name+".exchange", "k"
		must.Do(s, s.channel.ExchangeDeclare(s.exchange, "direct", false, false, false, false, nil))
		must.Do(s, s.channel.QueueBind(s.to.Name, "k", s.exchange, false, nil))
	}, strike: func(s *stage) {
		if err := s.channel.ExchangeDelete(s.exchange, false, false); err != nil {
			s.Error(err)
		}
	}},
	// A quorum queue takes what is under way when it is full: there have to be more than that.
	{name: "target full, reject-publish", ends: true, messages: size.Of(2500, 3000), set: func(s *stage) {
		s.retarget("x-max-length", s.random.Int32N(int32(s.n/4)), "x-overflow", "reject-publish")
	}},
	{
		name: "target full, reject-publish-dlx", ends: true, kinds: []model.QueueType{model.Classic},
		set: func(s *stage) { s.overflow("reject-publish-dlx") },
	},
	{name: "target full, drop-head", complete: true, set: func(s *stage) { s.overflow("drop-head") }},
	{name: "permission withdrawn", operations: both, set: func(s *stage) {
		name := "withdrawn-" + url.PathEscape(strings.ReplaceAll(s.Name(), "/", "-"))
		u := must.Get(url.Parse(user(s, name, `{"configure":".*","write":".*","read":".*"}`)))(s)
		s.user = u.User
	}, strike: func(s *stage) {
		user := url.PathEscape(s.user.Username())
		switch s.random.IntN(4) {
		case 0:
			api(s, http.MethodPut, "/api/permissions/%2F/"+user, `{"configure":".*","write":"","read":".*"}`)
		case 1:
			api(s, http.MethodPut, "/api/permissions/%2F/"+user, `{"configure":".*","write":".*","read":""}`)
		case 2:
			api(s, http.MethodDelete, "/api/permissions/%2F/"+user, "")
		default:
			api(s, http.MethodDelete, "/api/users/"+user, "")
		}
	}},
}

// overflow lets the target hold some of the messages only, and those that it does not hold go aside.
func (s *stage) overflow(what string) {
	aside := s.queue("aside", model.Classic)
	s.aside = append(s.aside, aside)
	s.retarget("x-max-length", s.random.Int32N(int32(s.n)), "x-overflow", what, "x-dead-letter-exchange", "",
		"x-dead-letter-routing-key", aside.Name)
}

// TestFaults lets each fault strike at random moments. No message is lost, and the account and the journal are true of
// each of them.
func TestFaults(t *testing.T) {
	t.Parallel()
	rounds := size.Rounds(2)
	for _, f := range faults {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			kinds, operations := f.kinds, f.operations
			if kinds == nil {
				kinds = ([]model.QueueType{model.Classic, model.Quorum})
			}
			if operations == nil {
				operations = []plan.Operation{plan.Replay}
			}
			var total verdict
			for round := range rounds {
				kind, operation := kinds[round%len(kinds)], operations[(round/len(kinds))%len(operations)]
				t.Run(fmt.Sprintf("%d %s %s", round, operation, kind), func(t *testing.T) {
					total.add(f.once(t, operation, kind))
				})
			}
			t.Log(f.name + ": " + total.String())
		})
	}
}

func (f *fault) once(t *testing.T, operation plan.Operation, kind model.QueueType) verdict {
	s := newStage(t, node, operation, kind, cmp.Or(f.messages, size.Of(600, 3000)))
	if f.latency > 0 {
		s.cable.latency, s.cable.jitter = f.latency, f.latency/2
	}
	if f.strike != nil {
		s.cable.struck.Store(&strike{at: s.moment(t), do: func() { f.strike(s) }, done: make(chan struct{})})
	}
	if f.set != nil {
		f.set(s)
	}
	s.runUntilStruck(t)
	assert.That(t, !f.complete || s.account.Complete(), "it did not go on: %v %+v", s.err, s.account)
	v := s.judge()
	assert.That(t, !f.ends || v.struck != 0, "nothing was struck: %+v", s.account)
	return v
}
