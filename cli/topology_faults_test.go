package cli_test

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	rabbithole "github.com/michaelklishin/rabbit-hole/v2"
	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/dlxtop/dlxtop/cli"
	"github.com/dlxtop/dlxtop/cli/config"
	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/built"
	"github.com/dlxtop/dlxtop/internal/dial"
	"github.com/dlxtop/dlxtop/internal/manage"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/internal/seed"
	"github.com/dlxtop/dlxtop/internal/size"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/plan"
)

// underPlan is one replay of 100 messages by a user who agrees to everything, while the topology changes.
type underPlan struct {
	*vhost
	random   *rand.Rand
	n        int
	kind     string // of the exchange
	name     func(string) string
	deleted  bool // what was in the worker is lost with it
	changes  []string
	struck   sync.WaitGroup
	executed struct {
		sync.Mutex
		plan    *plan.Run
		account plan.Account
	}
}

// change is one way in which a topology changes.
type change struct {
	name string
	make func(*underPlan) error
}

// key is the routing key of the test's publishes and bindings.
const key = "k"

var topologyChanges = []change{
	{"a queue is bound", func(u *underPlan) error {
		return u.channel.QueueBind(u.name("audit"), key, u.name("x"), false, u.matching())
	}},
	{"another is bound", func(u *underPlan) error {
		return u.channel.QueueBind(u.name("other"), key, u.name("x"), false, u.matching())
	}},
	{"the worker is unbound", func(u *underPlan) error {
		return u.channel.QueueUnbind(u.name("worker"), key, u.name("x"), u.matching())
	}},
	{"the worker is deleted", func(u *underPlan) error {
		u.deleted = true
		_, err := u.channel.QueueDelete(u.name("worker"), false, false, false)
		return err
	}},
	{"an exchange is bound", func(u *underPlan) error {
		return u.channel.ExchangeBind(u.name("inner"), key, u.name("x"), false, u.matching())
	}},
	{"an alternate exchange by policy", func(u *underPlan) error {
		u.giveAlternate()
		return nil
	}},
	{"an alternate exchange instead of the worker", func(u *underPlan) error {
		u.giveAlternate()
		return u.channel.QueueUnbind(u.name("worker"), key, u.name("x"), u.matching())
	}},
	{"the exchange is deleted", func(u *underPlan) error {
		return u.channel.ExchangeDelete(u.name("x"), false, false)
	}},
}

// matching returns the arguments that a binding to a headers exchange needs.
func (u *underPlan) matching() amqp.Table {
	if u.kind == "headers" {
		return amqp.Table{"x-match": "all", "h": "1"}
	}
	return nil
}

// giveAlternate gives the exchange an alternate one, by policy.
func (u *underPlan) giveAlternate() {
	manage.Of(u.t, node.API()).SetPolicy(false, rabbithole.Policy{
		Vhost: u.vhost.name, Name: u.name("policy"), Pattern: "^" + u.name("x") + "$", ApplyTo: "exchanges",
		Definition: map[string]any{"alternate-exchange": u.name("aside")},
	})
}

// TestFaultsTopologyChangedUnderPlans binds, unbinds and deletes queues at random moments between the plan, the yes and
// the end of a replay. No message is in a queue that the last agreed plan did not name unless the account says so, and
// none is lost.
func TestFaultsTopologyChangedUnderPlans(t *testing.T) {
	t.Parallel()
	v := newVHost(t)
	random := seed.Rand(t)
	told := map[string]int{}
	for round := range 4 * size.Rounds(2) {
		kind := []string{"direct", "topic", "fanout", "headers"}[random.IntN(4)]
		t.Run(strconv.Itoa(round), func(t *testing.T) {
			u := &underPlan{vhost: v.connected(t), random: random, n: 100, kind: kind}
			u.name = func(what string) string { return fmt.Sprintf("r%d.%s", round, what) }
			u.declareAll()
			u.run(t)
			for _, what := range u.judge(t) {
				told[what]++
			}
		})
	}

	t.Logf("%d rounds: %v", 4*size.Rounds(2), told)
}

// connected returns the vhost with a separate connection.
func (v *vhost) connected(t *testing.T) *vhost {
	t.Helper()
	return &vhost{t: t, name: v.name, channel: dial.Channel(t, v.url())}
}

func (u *underPlan) declareAll() {
	for _, name := range []string{"failed", "worker", "audit", "other", "beside", "spare"} {
		u.declare(u.name(name), nil)
	}

	u.vhost.exchange(u.name("x"), u.kind)
	u.vhost.exchange(u.name("inner"), "fanout")
	u.vhost.exchange(u.name("aside"), "fanout")
	u.vhost.bind(u.name("beside"), "", u.name("inner"))
	u.vhost.bind(u.name("spare"), "", u.name("aside"))
	must.Do(u.t, u.channel.QueueBind(u.name("worker"), key, u.name("x"), false, u.matching()))
	for i := range u.n {
		u.publish("", u.name("failed"), amqp.Publishing{
			MessageId: fmt.Sprint("m-", i), Headers: amqp.Table{"h": "1"}, Body: []byte("body"),
		})
	}
}

// strikes are what happens at the moments of a round.
type strikes struct {
	sync.Mutex
	due map[string][]func()
}

// at runs what is due at a moment: before anything else happens, or concurrently.
func (s *strikes) at(moment string, beside *sync.WaitGroup) {
	s.Lock()
	due := s.due[moment]
	s.due[moment] = nil
	s.Unlock()

	for _, strike := range due {
		if moment == "planned" || moment == "asked" {
			strike()
		} else {
			beside.Go(strike)
		}
	}
}

// strikes returns one or two changes, each at its own moment.
func (u *underPlan) strikes(rate string) *strikes {
	moments := []string{"planned", "asked", "agreed", "running"}
	all := &strikes{due: map[string][]func(){}}
	for range 1 + u.random.IntN(2) {
		c := topologyChanges[u.random.IntN(len(topologyChanges))]
		moment := moments[u.random.IntN(len(moments))]
		delay := time.Duration(0)
		if moment == "agreed" || moment == "running" {
			delay = seed.Within(u.random, 30*time.Millisecond)
			if rate != "" && u.random.IntN(3) > 0 {
				delay = seed.Within(u.random, 4*time.Second)
			}
		}

		struck := fmt.Sprintf("%s (%s, after %s, %s)", c.name, moment, delay.Round(time.Millisecond),
			cmp.Or(rate, "fast"))
		u.changes = append(u.changes, struck)
		all.due[moment] = append(all.due[moment], func() {
			time.Sleep(delay)
			u.struckBy(c)
		})
	}

	return all
}

// spied makes a program report its moments, and what it executes.
func (u *underPlan) spied(p *cli.Program, at func(moment string)) {
	source, broker := p.Source, p.Broker
	readings := 0
	p.Source = func(c config.Connection) (cli.Source, error) {
		s, err := source(c)
		return &watched{Source: s, after: func() {
			switch readings++; readings {
			case 1:
				at("planned")
			case 2:
				at("agreed")
			}
		}}, err
	}

	p.Broker = func(c config.Connection, j cli.Journal, reads cli.Rereads) (cli.Broker, error) {
		b, err := broker(c, j, reads)
		return &spy{Broker: b, under: u, before: func() { at("running") }}, err
	}
}

// run replays while the topology changes. The user agrees to everything.
func (u *underPlan) run(t *testing.T) {
	rate := []string{"", "40/s", "25/s"}[u.random.IntN(3)]
	all := u.strikes(rate)
	master, tty := openPTY(t)
	var out bytes.Buffer
	var said built.Buffer
	p := program(tty, &out, &said)
	u.spied(p, func(moment string) { all.at(moment, &u.struck) })
	done := make(chan int, 1) // one status
	args := []string{"replay", u.name("failed"), "--to", "exchange:" + u.name("x") + "/" + key}

	if rate != "" {
		args = append(args, "--rate", rate)
	}

	go func() { done <- p.Run(t.Context(), u.on(args...)) }()
	deadline := time.After(2 * patience)
	for answered := 0; ; {
		select {
		case <-done:
			u.struck.Wait()
			if t.Failed() {
				t.Log(said.String())
			}
			return
		case <-deadline:
			t.Fatalf("%v: it does not end: %s", u.changes, said.String())
		case <-time.After(5 * time.Millisecond):
			if asked := strings.Count(said.String(), "[y/N]"); asked > answered {
				answered = asked
				all.at("asked", nil)
				must.Get(master.Write([]byte("y\n")))(t)
			}
		}
	}
}

// struckBy changes the topology on its own channel, which closes if another change has removed the object.
func (u *underPlan) struckBy(c change) {
	another := underPlan{vhost: u.connected(u.t), kind: u.kind, name: u.name}
	err := c.make(&another)
	u.executed.Lock()
	defer u.executed.Unlock()
	u.deleted = u.deleted || another.deleted
	if err != nil {
		u.changes = append(u.changes, fmt.Sprintf("%s did not work: %v", c.name, err))
	}
}

// watched is a source that reports each reading.
type watched struct {
	cli.Source
	sync.Mutex
	after func()
}

func (w *watched) Snapshot(ctx context.Context) (*model.Snapshot, error) {
	return w.tell(w.Source.Snapshot(ctx))
}

func (w *watched) Current(ctx context.Context) (*model.Snapshot, error) {
	return w.tell(w.Source.Current(ctx))
}

func (w *watched) tell(s *model.Snapshot, err error) (*model.Snapshot, error) {
	w.Lock()
	defer w.Unlock()
	w.after()
	return s, err
}

// spy is a broker that records the executed plan.
type spy struct {
	cli.Broker
	under  *underPlan
	before func()
}

func (s *spy) Execute(ctx context.Context, run plan.Run, progress plan.Progress) (plan.Account, error) {
	s.before()
	account, err := s.Broker.Execute(ctx, run, progress)
	e := &s.under.executed
	e.Lock()
	defer e.Unlock()
	e.plan, e.account = &run, account
	return account, err
}

// judge compares where the messages are with the plan and the account. It returns the differences.
func (u *underPlan) judge(t *testing.T) (what []string) {
	e := &u.executed
	there := map[string]int{} // by id: in how many queues
	source := map[string]bool{}
	least := u.n - e.account.Moved - e.account.Unknown
	must.Await(t, "what was held is back", func() bool { return u.count(u.name("failed")) >= least })
	for _, d := range u.take(u.name("failed")) {
		source[d.MessageId] = true
	}

	twice := 0
	for _, queue := range []string{"worker", "audit", "other", "beside", "spare"} {
		if queue == "worker" && u.deleted {
			continue
		}
		found := u.take(u.name(queue))
		for _, d := range found {
			if there[d.MessageId]++; source[d.MessageId] && there[d.MessageId] == 1 {
				twice++
			}
		}

		is := func(r plan.Recipient) bool { return r.Queue.Name == u.name(queue) }
		named := e.plan != nil && slices.ContainsFunc(e.plan.Recipients, is)
		if len(found) == 0 || named {
			continue
		}
		what = append(what, "strayed")
		told := 0
		for _, s := range e.account.Strayed {
			if s.Queue.Name == u.name(queue) {
				told += s.Messages
			}
		}

		switch {
		case e.account.Unguarded != "":
			what = append(what, "not known which queues the last reached")
		case told < len(found):
			t.Errorf("%d are in %s, which the plan does not name, and the account says %d", len(found), queue, told)
		}
	}

	missing := 0
	for i := range u.n {
		if id := fmt.Sprint("m-", i); !source[id] && there[id] == 0 {
			missing++
		}
	}

	most := e.account.Moved + e.account.Unknown
	assert.That(t, missing <= 0 || u.deleted && missing <= most, "%d messages are lost", missing)
	assert.That(t, twice <= e.account.Unknown, "%d messages are twice there", twice)
	switch {
	case e.plan == nil:
		what = append(what, "not agreed")
	case e.account.Stopped != "":
		what = append(what, "stopped")
	default:
		what = append(what, "ran")
	}

	if t.Failed() {
		t.Logf("%s exchange: %s: %+v", u.kind, strings.Join(u.changes, "; "), e.account)
	}

	return what
}
