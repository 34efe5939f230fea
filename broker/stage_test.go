package broker_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/dlxtop/dlxtop/broker"
	"github.com/dlxtop/dlxtop/demo"
	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/internal/seed"
	"github.com/dlxtop/dlxtop/internal/size"
	"github.com/dlxtop/dlxtop/journal"
	"github.com/dlxtop/dlxtop/mgmt"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/model/plan"
	"github.com/dlxtop/dlxtop/model/target"
)

// stage is one execution under a fault, with everything needed to find out afterwards where each message is.
type stage struct {
	*app
	node      *demo.Node
	operation plan.Operation
	kind      model.QueueType
	n         int
	rate      float64
	from, to  *model.Queue
	exchange  string // leads to the target; "" is the default exchange
	key       string
	aside     []*model.Queue // where messages of the target go when it overflows
	destroyed bool           // what was in the target is lost with it
	user      *url.Userinfo  // dlxtop connects as this user
	cable     *cable
	path      string        // of the journal
	patience  time.Duration // with a broker that confirms nothing
	random    *rand.Rand

	account plan.Account
	err     error
	under   *underWay
}

// underWay is what the account says during the run.
type underWay struct {
	sync.Mutex
	moved  int
	waited string // everything that it said it was waiting for
	ended  bool
}

// progress returns how many messages were moved or dropped so far, what was waited for, and whether it has ended.
func (s *stage) progress() (moved int, waited string, ended bool) {
	s.under.Lock()
	defer s.under.Unlock()
	return s.under.moved, s.under.waited, s.under.ended
}

func newStage(t *testing.T, n *demo.Node, operation plan.Operation, kind model.QueueType, messages int) *stage {
	t.Helper()
	r := seed.Rand(t)
	s := &stage{
		app: newAppOn(t, n), node: n, operation: operation, kind: kind, n: messages, cable: &cable{random: r}, random: r,
		patience: 15 * time.Second, user: url.UserPassword("guest", "guest"), under: &underWay{},
	}

	s.from = s.filled(s.suffix("failed"), kind, numbered(messages)...)
	s.to = s.queue(s.suffix("worker"), kind)
	s.key, s.path = s.to.Name, journalPath(t)
	return s
}

// suffix distinguishes the queues of stages in one test.
func (s *stage) suffix(what string) string { return fmt.Sprintf("%s.%s.%s", s.operation, s.kind, what) }

// retarget declares the target again, with these arguments.
func (s *stage) retarget(arguments ...any) {
	s.Helper()
	s.deleteQueue(s.to.Name)
	s.to = s.queue(s.suffix("worker"), s.kind, arguments...)
}

func (s *stage) plan() plan.Run {
	if s.operation == plan.Drop {
		return dropPlan(s, s.from, plan.Selection{}, s.n)
	}
	var exchanges []string
	if s.exchange != "" {
		exchanges = []string{s.exchange}
	}

	made := planned(s, topology([]*model.Queue{s.from, s.to}, exchanges...), plan.ActionWant{
		Operation: plan.Replay, From: s.from.QueueRef, Mode: target.ToExchange,
		Fixed: model.Address{Exchange: s.exchange, RoutingKey: s.key}, User: s.user.Username(),
		Options: plan.Options{Insist: true, Mark: true},
	})

	made.Planned, made.Rate = s.n, s.rate
	return made
}

// run executes the plan through the cable.
func (s *stage) run(t *testing.T) {
	t.Helper()
	u := must.Get(url.Parse(s.cable.lay(t, s.node)))(t)
	u.User = s.user
	j := journal.New(journal.Options{Path: s.path})
	defer j.Close()
	c := newClient(t, broker.Options{URL: u.String(), Journal: j})
	defer c.Close()
	c.SetPatience(s.patience, time.Minute, 10*time.Second)

	s.account, s.err = c.Execute(context.Background(), s.plan(), func(a plan.Account) {
		s.under.Lock()
		defer s.under.Unlock()
		if s.under.moved = a.Moved + a.Dropped; !strings.Contains(s.under.waited, a.Waiting) {
			s.under.waited += a.Waiting + "; "
		}
	})

	s.under.Lock()
	defer s.under.Unlock()
	s.under.ended = true
}

// verdict is what happened to the messages of one or more stages.
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
	v.mostTwice = max(v.mostTwice, other.mostTwice)
	v.mostUnknown = max(v.mostUnknown, other.mostUnknown)
}

func (v *verdict) String() string {
	return fmt.Sprintf("%d times, %d in the middle; %d messages, %d lost; twice %d (at most %d at once), unknown %d "+
		"(at most %d at once)",
		v.rounds, v.struck, v.messages, v.lost, v.twice, v.mostTwice, v.unknown, v.mostUnknown)
}

// judge finds out where each message is, and compares that with the account and with the journal, message by message.
func (s *stage) judge() verdict {
	s.Helper()
	entries := s.entries()
	s.settled()
	source := s.find(s.from)
	sent := map[string]int{}
	aside := map[string]int{}
	if !s.destroyed {
		sent = s.find(s.to)
	}

	for _, q := range s.aside {
		for id, times := range s.find(q) {
			aside[id] += times
		}
	}

	v := verdict{rounds: 1, messages: s.n, unknown: s.account.Unknown, mostUnknown: s.account.Unknown}
	a := s.account
	if s.err != nil || a.Stopped != "" || a.Moved+a.Dropped < s.n || s.under.waited != "" {
		v.struck = 1
	}

	assert.Equal(s, a.Waiting, "", "it was said to wait for %q, and at the end for", s.under.waited)
	assert.That(s,
		!strings.Contains(a.Stopped, "confirmed nothing") || strings.Contains(s.under.waited, "confirms nothing"),
		"it was said to wait for %q: %s", s.under.waited, a.Stopped)
	told := plan.Account{}
	complaints := 0
	complain := func(format string, values ...any) {
		if complaints++; complaints < 5 {
			s.Errorf(format, values...)
		}
	}

	for i := range s.n {
		id := strconv.Itoa(i + 1)
		e := entries[id]
		told.Add(e.Outcome, &message.Message{}, "")
		there := source[id] + sent[id]
		gone := s.destroyed && (e.Outcome == plan.Moved || e.Outcome == plan.Unsure)

		kept := s.operation == plan.Drop && e.Message != nil && string(e.Message.Body) == "body of "+id
		if there+aside[id] == 0 && !gone && !kept {
			v.lost++
			complain("%s is lost; the journal says %q", id, e.Outcome)
		}

		if there > 1 {
			v.twice++
			if e.Outcome != plan.Unsure {
				complain("%s is there %d times, and the journal says %q", id, there, e.Outcome)
			}
		}

		switch e.Outcome {
		case plan.Moved, plan.Dropped:
			if source[id] > 0 {
				complain("%s was %s, and is in its queue", id, e.Outcome)
			}
		case plan.Unsure:
		default:
			if source[id] != 1 || sent[id] > 0 {
				complain("%s: the journal says %q, but it is %d times in its queue and %d times in the target", id,
					e.Outcome, source[id], sent[id])
			}
		}
	}

	v.mostTwice = v.twice
	assert.Equal(s, [...]int{a.Moved, a.Dropped, a.Refused, a.Returned, a.Unknown},
		[...]int{told.Moved, told.Dropped, told.Refused, told.Returned, told.Unknown},
		"moved, dropped, refused, returned, unknown; the journal says what is wanted")
	assert.That(s, s.err != nil || a.Stopped != "" || a.Done() == s.n, "it was not stopped, and did not do all: %+v", a)
	if s.Failed() {
		a.Problems = a.Problems[:min(len(a.Problems), 2)]
		s.Logf("%d in the source, %d in the target, %d aside; %v; %+v", len(source), len(sent), len(aside), s.err, a)
	}

	return v
}

// entries returns the journal's entries by message.
func (s *stage) entries() map[string]plan.Entry {
	s.Helper()
	entries := map[string]plan.Entry{}
	eachEntry(s, openJournal(s, s.path), func(r *plan.Record, e *plan.Entry) {
		assert.That(s, !r.Unfinished(), "unfinished: %+v", r)
		entries[e.MessageID] = *e
	})

	return entries
}

// settled waits until what broken connections held is back, and what they sent has arrived.
func (s *stage) settled() {
	s.Helper()
	a := &s.account
	certain := s.n
	if s.operation == plan.Drop || s.destroyed {
		certain = s.n - a.Moved - a.Dropped - a.Unknown
	}

	s.until(func() error {
		if err := s.cable.gone(s, s.node, s.user.Username()); err != nil {
			return err
		}
		there := s.ready(s.from)
		if !s.destroyed {
			there += s.ready(s.to)
		}
		for _, q := range s.aside {
			there += s.ready(q)
		}
		if there < certain {
			return fmt.Errorf("%d of %d messages are there: %+v", there, certain, *a)
		}
		return nil
	})
}

// find takes all messages out of a queue, and counts them by id.
func (s *stage) find(q *model.Queue) map[string]int {
	s.Helper()
	return byID(s.empty(q))
}

// moments are how many bytes executions send without a fault, by alike.
var moments sync.Map

// moment returns a random moment of an execution like this one, in bytes that it has sent, so that it comes however
// busy the machine is. If the total is not known yet, the execution is used up to find out.
func (s *stage) moment(t *testing.T) int64 {
	t.Helper()
	sent, ok := moments.Load(s.alike())
	if !ok {
		s.run(t)
		sent, _ = moments.LoadOrStore(s.alike(), s.unstruck(t))
	}

	return s.random.Int64N(sent.(int64) * 4 / 5) // the rest may be its end
}

// alike returns the key that stages share which send about as many bytes.
func (s *stage) alike() string {
	return fmt.Sprint(s.operation, s.kind, s.n, s.rate, s.cable.latency, s.node.AMQP())
}

// unstruck prepares the next run after one without a fault, and returns how many bytes that sent.
func (s *stage) unstruck(t *testing.T) (sent int64) {
	t.Helper()
	must.That(t, s.account.Complete(), "nothing strikes it: %v %+v", s.err, s.account)
	s.judge()
	s.publish(s.from, numbered(s.n)...)
	s.path += "."
	s.under = &underWay{}
	return s.cable.bytes.Swap(0)
}

// runUntilStruck runs it until its fault strikes, if it has one: how many bytes a run sends depends on how many
// acknowledgements are combined, so the moment may be beyond its end. Then it comes in the first half of the next.
func (s *stage) runUntilStruck(t *testing.T) {
	t.Helper()
	for range 5 {
		s.run(t)
		strikes := s.cable.struck.Load()
		if strikes == nil {
			return
		}
		if strikes.begun.Load() { // it may have ended the previous run early
			<-strikes.done
			return
		}

		at := s.random.Int64N(s.unstruck(t) / 2)
		s.cable.struck.Store(&strike{at: at, do: strikes.do, done: strikes.done})
	}

	t.Fatal("it was over before it was struck, five times")
}

// rough is a node for tests that would disturb others: it is stopped, alarmed, or configured differently.
var rough struct {
	sync.Mutex
	*demo.Node
}

// roughNode returns the rough node, for one test at a time, which must restore it.
func roughNode(t *testing.T) *demo.Node {
	t.Helper()
	rough.Lock()
	t.Cleanup(rough.Unlock)
	if rough.Node == nil {
		rough.Node = must.Get(demo.Start(t.Context(), demo.Options{}))(t)
	}
	return rough.Node
}

// TestOnARoughNode runs the tests that need the rough node for a short time, one after the other: waiting for it would
// take the place of others that could run.
func TestOnARoughNode(t *testing.T) {
	size.Long(t)
	t.Parallel()
	n := roughNode(t)
	for name, test := range map[string]func(*testing.T, *demo.Node){
		"a message that is too large":        messageThatIsTooLarge,
		"another broker at the same address": anotherBrokerAtTheSameAddress, "a lost connection is reported": lostIsReported,
		"no look in an alarm": noLookInAnAlarm, "the count survives a lost broker": countSurvivesALostBroker,
		"a tap of a broker that goes away": tapOfABrokerThatGoesAway,
	} {
		t.Run(name, func(t *testing.T) { test(t, n) })
	}
}

// The list of connections lacks the newest ones. A program that was killed right after publishing is waited for
// although the list does not show its connection yet.
func TestGoneIsNotWhatIsNotListedYet(t *testing.T) {
	t.Parallel()
	a := newApp(t)
	queue := a.queue("q", model.Classic).QueueRef
	source := must.Get(mgmt.New(mgmt.Options{URL: node.API(), Timeout: must.Patience}))(t)
	defer source.Close()
	late := must.Get(source.Connections(t.Context()))(t)
	const session = "NOTLISTEDYET"
	name := "dlxtop replay " + session
	dead := must.Get(amqp.DialConfig(node.AMQP(), amqp.Config{Properties: amqp.Table{"connection_name": name}}))(t)
	defer dead.Close()
	c := newClient(t, broker.Options{URL: node.AMQP()})
	asked := 0
	seen := false
	closed := false

	err := c.AwaitGone(t.Context(), &plan.Record{Operation: plan.Replay, Session: session, From: queue},
		func(ctx context.Context) ([]string, error) {
			if asked++; asked <= 3 { // a list that is late
				return late, nil
			}
			names, err := source.Connections(ctx)
			if listed := slices.Contains(names, name); listed && !closed {
				seen, closed = true, true
				assert.Succeeds(t, dead.Close())
			}

			return names, err
		})

	must.Do(t, err)
	assert.That(t, seen, "it waited for %d lists, and did not see the connection", asked)
	names := must.Get(source.Connections(t.Context()))(t)
	assert.That(t, !slices.Contains(names, name), "it is still there: %q", names)
}
