package broker_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"dlxtop/broker"
	"dlxtop/demo"
	"dlxtop/journal"
	"dlxtop/model"
)

// faultsVariable is how many times each fault strikes: `make faults` sets it. Without it the tests are a sample.
const faultsVariable = "DLXTOP_FAULTS"

// sized is sample, or in `make faults` what the long run does.
func sized(sample int, long func(faults int) int) int {
	if n, err := strconv.Atoi(os.Getenv(faultsVariable)); err == nil && n > 0 {
		return long(n)
	}
	return sample
}

// always is a size of the long run that does not depend on the number of faults.
func always(n int) func(int) int { return func(int) int { return n } }

// stage is one execution that a fault strikes, with everything that is needed to tell afterwards where each message is.
type stage struct {
	*app
	node      *demo.Node
	operation model.Operation
	kind      model.QueueType
	n         int
	rate      float64
	from, to  *model.Queue
	exchange  string // that leads to the target; "" is the default exchange
	key       string
	aside     []model.QueueRef // where messages of the target go by its overflow
	destroyed bool             // what was in the target is gone with it
	user      *url.Userinfo    // that dlxtop connects as
	cable     *cable
	path      string        // of the journal
	patience  time.Duration // with a broker that confirms nothing

	account model.Account
	err     error
	waited  string // what the account said it was waiting for
}

func newStage(t *testing.T, n *demo.Node, operation model.Operation, kind model.QueueType, messages int) *stage {
	t.Helper()
	s := &stage{app: newAppOn(t, n), node: n, operation: operation, kind: kind, n: messages, cable: &cable{}, patience: 15 * time.Second, user: url.UserPassword("guest", "guest")}
	s.from = described(s.queue(s.suffix("failed"), kind), kind)
	s.to = described(s.queue(s.suffix("worker"), kind), kind)
	s.key = s.to.Name
	s.path = filepath.Join(t.TempDir(), "journal.db")
	s.publish(s.from.QueueRef, numbered(messages)...)
	return s
}

// suffix tells the queues of stages of one test apart.
func (s *stage) suffix(what string) string { return fmt.Sprintf("%s.%s.%s", s.operation, s.kind, what) }

// retarget declares the target anew, with these arguments.
func (s *stage) retarget(arguments ...any) {
	s.Helper()
	s.deleteQueue(s.to.Name)
	s.queue(s.suffix("worker"), s.kind, arguments...)
}

func (s *stage) plan() model.Plan {
	if s.operation == model.Drop {
		return dropPlan(s, s.from, model.Selection{}, s.n)
	}
	var exchanges []string
	if s.exchange != "" {
		exchanges = []string{s.exchange}
	}
	plan := planned(s, topology([]*model.Queue{s.from, s.to}, exchanges...), model.ActionWant{
		Operation: model.Replay, From: s.from.QueueRef, Mode: model.ToExchange, Fixed: model.Address{Exchange: s.exchange, RoutingKey: s.key},
		User: s.user.Username(), Insist: true, Mark: true,
	})
	plan.Planned, plan.Rate = s.n, s.rate
	return plan
}

// run executes the plan through the cable.
func (s *stage) run(t *testing.T) {
	t.Helper()
	u, err := url.Parse(s.cable.lay(t, s.node))
	if err != nil {
		t.Fatal(err)
	}
	u.User = s.user
	j := journal.New(journal.Options{Path: s.path})
	defer j.Close()
	c, err := broker.New(broker.Options{URL: u.String(), Journal: j})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	c.SetPatience(s.patience, time.Minute, 10*time.Second)
	var mu sync.Mutex
	s.account, s.err = c.Execute(context.Background(), s.plan(), func(a model.Account) {
		mu.Lock()
		defer mu.Unlock()
		if a.Waiting != "" {
			s.waited = a.Waiting
		}
	})
}

// verdict is what became of the messages of one or more stages.
type verdict struct {
	rounds, struck, messages, lost, twice, mostTwice, unknown, mostUnknown int
}

func (v *verdict) add(other verdict) {
	v.rounds += other.rounds
	v.struck += other.struck
	v.messages += other.messages
	v.lost += other.lost
	v.twice += other.twice
	v.unknown += other.unknown
	v.mostTwice, v.mostUnknown = max(v.mostTwice, other.mostTwice), max(v.mostUnknown, other.mostUnknown)
}

func (v *verdict) String() string {
	return fmt.Sprintf("%d times, %d in the middle; %d messages, %d lost; twice %d (at most %d at once), unknown %d (at most %d at once)",
		v.rounds, v.struck, v.messages, v.lost, v.twice, v.mostTwice, v.unknown, v.mostUnknown)
}

// judge looks where each message is, and compares that with the account and with the journal, message by message.
func (s *stage) judge() verdict {
	s.Helper()
	entries := s.entries()
	s.settled()
	source, target, aside := s.find(s.from.QueueRef), map[string]int{}, map[string]int{}
	if !s.destroyed {
		target = s.find(s.to.QueueRef)
	}
	for _, q := range s.aside {
		for id, times := range s.find(q) {
			aside[id] += times
		}
	}
	v := verdict{rounds: 1, messages: s.n, unknown: s.account.Unknown, mostUnknown: s.account.Unknown}
	if a := &s.account; s.err != nil || a.Stopped != "" || a.Moved+a.Dropped < s.n || s.waited != "" {
		v.struck = 1
	}
	if a := &s.account; a.Waiting != "" || strings.Contains(a.Stopped, "confirmed nothing") && !strings.Contains(s.waited, "confirms nothing") {
		s.Errorf("it was said to wait for %q, and at the end for %q", s.waited, a.Waiting)
	}
	told := model.Account{}
	complaints := 0
	complain := func(format string, values ...any) {
		if complaints++; complaints < 5 {
			s.Errorf(format, values...)
		}
	}
	for i := range s.n {
		id := strconv.Itoa(i + 1)
		e := entries[id]
		told.Add(e.Outcome, &model.Message{}, "")
		there := source[id] + target[id]
		gone := s.destroyed && (e.Outcome == model.Moved || e.Outcome == model.Unsure)
		kept := s.operation == model.Drop && e.Message != nil && string(e.Message.Body) == "body of "+id
		if there+aside[id] == 0 && !gone && !kept {
			v.lost++
			complain("%s is lost; the journal says %q", id, e.Outcome)
		}
		if there > 1 {
			v.twice++
			if e.Outcome != model.Unsure {
				complain("%s is there %d times, and the journal says %q", id, there, e.Outcome)
			}
		}
		switch e.Outcome {
		case model.Moved, model.Dropped:
			if source[id] > 0 {
				complain("%s was %s, and is in its queue", id, e.Outcome)
			}
		case model.Unsure:
		default:
			if source[id] != 1 || target[id] > 0 {
				complain("%s: the journal says %q, but it is %d times in its queue and %d times in the target", id, e.Outcome, source[id], target[id])
			}
		}
	}
	v.mostTwice = v.twice
	a := s.account
	for _, count := range []struct {
		what          string
		account, kept int
	}{
		{"moved", a.Moved, told.Moved},
		{"dropped", a.Dropped, told.Dropped},
		{"refused", a.Refused, told.Refused},
		{"returned", a.Returned, told.Returned},
		{"unknown", a.Unknown, told.Unknown},
	} {
		if count.account != count.kept {
			s.Errorf("%d %s, the journal says %d", count.account, count.what, count.kept)
		}
	}
	if s.err == nil && a.Stopped == "" && a.Done() != s.n {
		s.Errorf("it was not stopped, and did not do all: %+v", a)
	}
	if s.Failed() {
		a.Problems = a.Problems[:min(len(a.Problems), 2)]
		s.Logf("%d in the source, %d in the target, %d aside; %v; %+v", len(source), len(target), len(aside), s.err, a)
	}
	return v
}

// entries are what the journal says of each message.
func (s *stage) entries() map[string]model.Entry {
	s.Helper()
	j := journal.New(journal.Options{Path: s.path})
	defer j.Close()
	entries := map[string]model.Entry{}
	records, err := j.Records(s.Context(), 0)
	if err != nil {
		s.Fatal(err)
	}
	for _, r := range records {
		if r.Unfinished() {
			s.Errorf("unfinished: %+v", r)
		}
		if err := j.Entries(s.Context(), r.ID, func(e *model.Entry) error {
			entries[e.MessageID] = *e
			return nil
		}); err != nil {
			s.Fatal(err)
		}
	}
	return entries
}

// settled waits until what broken connections held is back, and what they had sent is in.
func (s *stage) settled() {
	s.Helper()
	a := &s.account
	certain := s.n
	if s.operation == model.Drop || s.destroyed {
		certain = s.n - a.Moved - a.Dropped - a.Unknown
	}
	before := -1
	s.until(func() error {
		if err := s.noneHeld(s.from.Name); err != nil {
			return err
		}
		there := s.ready(s.from.QueueRef)
		if !s.destroyed {
			there += s.ready(s.to.QueueRef)
		}
		for _, q := range s.aside {
			there += s.ready(q)
		}
		if there < certain {
			before = -1
			return fmt.Errorf("%d of %d messages are there: %+v", there, certain, *a)
		}
		if there != before {
			before = there
			time.Sleep(200 * time.Millisecond)
			return errors.New("messages still come")
		}
		return nil
	})
}

// find takes all messages out of a queue, and counts them by their ids.
func (s *stage) find(q model.QueueRef) map[string]int {
	s.Helper()
	found := map[string]int{}
	for _, d := range s.drain(q, s.ready(q)) {
		found[d.MessageId]++
	}
	return found
}

// moments are how long executions take that nothing strikes, by what they are.
var moments sync.Map

// moment is a random moment of an execution like this one, which is used up to find out how long it takes, if that is not known yet.
func (s *stage) moment(t *testing.T) time.Duration {
	t.Helper()
	key := fmt.Sprint(s.operation, s.kind, s.n, s.rate, s.cable.latency, s.node.AMQP())
	took, ok := moments.Load(key)
	if !ok {
		s.run(t)
		if !s.account.Complete() {
			t.Fatalf("nothing strikes it: %v %+v", s.err, s.account)
		}
		s.judge()
		took, _ = moments.LoadOrStore(key, s.account.Elapsed)
		s.publish(s.from.QueueRef, numbered(s.n)...)
		s.path += ".2"
	}
	return rand.N(took.(time.Duration))
}
