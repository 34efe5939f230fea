package broker_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"dlxtop/model"
)

// fault is something that happens to a broker, or to the way there, while messages are moved or dropped.
type fault struct {
	name       string
	kinds      []model.QueueType // nil: both
	operations []model.Operation // nil: replay
	set        func(*stage)      // before it begins; nil: nothing
	strike     func(*stage)      // at a random moment; nil: nothing
	latency    time.Duration     // of the cable, each way, more or less half of it
	messages   int               // 0: 3000, in the sample 1000
	patience   time.Duration     // with a broker that confirms nothing; 0: 15 s
	complete   bool              // all of it is done nevertheless
}

var both = []model.Operation{model.Replay, model.Drop}

var faults = []fault{
	{name: "connection cut", operations: both, strike: func(s *stage) { s.cable.cut() }},
	{name: "connection delayed", operations: both, complete: true, latency: 20 * time.Millisecond, messages: sized(500, always(1500)), strike: func(s *stage) {
		s.cable.pausedUntil.Store(time.Now().Add(rand.N(time.Second)).UnixNano())
	}},
	{name: "channel error, publishing", strike: func(s *stage) { s.cable.poison.Store(basicPublish) }},
	{name: "channel error, source", operations: both, strike: func(s *stage) { s.cable.poison.Store(basicAck) }},
	{name: "target queue deleted", patience: 3 * time.Second, strike: func(s *stage) {
		s.destroyed = true
		s.deleteQueue(s.to.Name)
	}},
	{name: "target exchange deleted", set: func(s *stage) {
		s.exchange, s.key = s.to.Name+".exchange", "k"
		if err := s.channel.ExchangeDeclare(s.exchange, "direct", false, false, false, false, nil); err != nil {
			s.Fatal(err)
		}
		if err := s.channel.QueueBind(s.to.Name, "k", s.exchange, false, nil); err != nil {
			s.Fatal(err)
		}
	}, strike: func(s *stage) {
		if err := s.channel.ExchangeDelete(s.exchange, false, false); err != nil {
			s.Error(err)
		}
	}},
	{name: "target full, reject-publish", set: func(s *stage) { s.retarget("x-max-length", rand.Int32N(int32(s.n)), "x-overflow", "reject-publish") }},
	{name: "target full, reject-publish-dlx", kinds: []model.QueueType{model.Classic}, set: func(s *stage) { s.overflow("reject-publish-dlx") }},
	{name: "target full, drop-head", complete: true, set: func(s *stage) { s.overflow("drop-head") }},
	{name: "permission withdrawn", operations: both, set: func(s *stage) {
		name := "withdrawn-" + url.PathEscape(strings.ReplaceAll(s.Name(), "/", "-"))
		u, err := url.Parse(user(s, name, `{"configure":".*","write":".*","read":".*"}`))
		if err != nil {
			s.Fatal(err)
		}
		s.user = u.User
	}, strike: func(s *stage) {
		user := url.PathEscape(s.user.Username())
		switch rand.IntN(4) {
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
	s.retarget("x-max-length", rand.Int32N(int32(s.n)), "x-overflow", what, "x-dead-letter-exchange", "", "x-dead-letter-routing-key", aside.Name)
}

// TestFaults lets each fault strike at random moments. No message is lost, and the account and the journal are true of each of them.
func TestFaults(t *testing.T) {
	rounds := sized(2, func(faults int) int { return faults })
	for _, f := range faults {
		t.Run(f.name, func(t *testing.T) {
			kinds, operations := f.kinds, f.operations
			if kinds == nil {
				kinds = ([]model.QueueType{model.Classic, model.Quorum})
			}
			if operations == nil {
				operations = []model.Operation{model.Replay}
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

func (f *fault) once(t *testing.T, operation model.Operation, kind model.QueueType) verdict {
	s := newStage(t, node, operation, kind, cmp.Or(f.messages, sized(1000, always(3000))))
	s.patience = cmp.Or(f.patience, s.patience)
	if f.latency > 0 {
		s.cable.latency, s.cable.jitter = f.latency, f.latency/2
	}
	var moment time.Duration
	if f.strike != nil {
		moment = s.moment(t)
	}
	if f.set != nil {
		f.set(s)
	}
	struck := make(chan struct{})
	go func() {
		defer close(struck)
		if f.strike != nil {
			time.Sleep(moment)
			f.strike(s)
		}
	}()
	s.run(t)
	<-struck
	if f.complete && !s.account.Complete() {
		t.Errorf("it did not go on: %v %+v", s.err, s.account)
	}
	return s.judge()
}
