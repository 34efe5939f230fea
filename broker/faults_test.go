package broker_test

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	rabbithole "github.com/michaelklishin/rabbit-hole/v2"

	"github.com/dlxtop/dlxtop/broker"
	"github.com/dlxtop/dlxtop/demo"
	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/manage"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/internal/seed"
	"github.com/dlxtop/dlxtop/internal/size"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/peek"
	"github.com/dlxtop/dlxtop/model/plan"
)

// wantNothingLost drains both queues and checks that each of n messages is in one of them, and that the account agrees:
// at most its unknown ones are in both.
func wantNothingLost(t *testing.T, a *app, cable *cable, from, to *model.Queue, n int, account plan.Account) {
	t.Helper()

	// Wait until everything that the broken connections sent has arrived, and what they held is back: a connection leaves
	// the list before its channels requeue.
	a.until(func() error {
		if err := cable.gone(t, node, "guest"); err != nil {
			return err
		}
		left, there := a.ready(from), a.ready(to)
		if left+there < n || left < n-account.Moved-account.Unknown {
			return fmt.Errorf("%d of %d messages are left, %d are there: %+v", left, n, there, account)
		}
		return nil
	})

	moved, kept := a.empty(to), a.empty(from)
	seen := byID(slices.Concat(moved, kept))

	twice := 0
	for _, times := range seen {
		if times > 1 {
			twice++
		}
	}

	assert.That(t, len(seen) == n, "%d of %d messages are left", len(seen), n)
	assert.That(t, twice <= account.Unknown,
		"%d messages are in both queues, the account knows of %d: %+v", twice, account.Unknown, account)
	assert.That(t, len(moved) >= account.Moved && len(moved) <= account.Moved+account.Unknown,
		"%d messages arrived: %+v", len(moved), account)
	assert.That(t, len(kept) <= n-account.Moved && len(kept) >= n-account.Moved-account.Unknown,
		"%d messages are kept: %+v", len(kept), account)
}

// awaitGoroutines waits until no more goroutines run than before.
func awaitGoroutines(t *testing.T, before int) {
	t.Helper()
	deadline := time.Now().Add(patience)
	for runtime.NumGoroutine() > before {
		if time.Now().After(deadline) {
			stacks := make([]byte, 1<<20)
			t.Fatalf("%d goroutines, before %d:\n%s", runtime.NumGoroutine(), before, stacks[:runtime.Stack(stacks, true)])
		}
		time.Sleep(10 * time.Millisecond)
	}
}

func TestCableCutWhileReplaying(t *testing.T) {
	forEachKindAlone(t, func(t *testing.T, kind model.QueueType) {
		for _, limit := range []int64{3_000, 20_000, 100_000, 300_000, 330_000} {
			const n = 3000
			a := newApp(t)
			from := a.filled(fmt.Sprint("failed", limit), kind, numbered(n)...)
			to := a.queue(fmt.Sprint("worker", limit), kind)
			before := runtime.NumGoroutine()
			cable, address := newCable(t, limit)
			c := must.Get(broker.New(broker.Options{URL: address}))(t)
			account, err := c.Execute(t.Context(), replayTo(t, from, to, plan.Selection{}), nil)
			assert.That(t, err == nil, "limit %d: %v", limit, err)
			t.Logf("limit %d: moved %d, unknown %d: %s", limit, account.Moved, account.Unknown, account.Stopped)
			assert.That(t, account.Moved >= n || account.Stopped != "", "it does not say that it was stopped: %+v", account)
			c.Close()
			wantNothingLost(t, a, cable, from, to, n, account)
			awaitGoroutines(t, before+1) // the cable's own
		}
	})
}

// A broker that stops reading from the publishing connection, as in an alarm, must not hang a replay for ever.
func TestStalledReplayEnds(t *testing.T) {
	forEachKind(t, func(t *testing.T, kind model.QueueType) {
		for _, cancelled := range []bool{false, true} {
			a := newApp(t)
			const n = 1500
			messages := numbered(n)
			for i := range messages {
				messages[i].Body = append(messages[i].Body, make([]byte, 20_000)...) // more than the sockets buffer
			}

			from, to := a.moving(kind, messages...)
			cable, address := newCable(t, 10_000_000)
			cable.stall = make(chan struct{})
			c := must.Get(broker.New(broker.Options{URL: address}))(t)
			ctx, cancel := context.WithCancel(t.Context())

			if cancelled {
				c.SetPatience(time.Minute, time.Minute, 300*time.Millisecond)
				go func() { // when the cable stalls
					for ctx.Err() == nil && cable.bytes.Load() < cable.limit {
						time.Sleep(time.Millisecond)
					}
					cancel()
				}()
			} else {
				c.SetPatience(time.Second, time.Minute, time.Minute)
			}

			account, err := c.Execute(ctx, replayTo(t, from, to, plan.Selection{}), nil)
			cancel()
			assert.Succeeds(t, err)
			t.Logf("moved %d, unknown %d: %s", account.Moved, account.Unknown, account.Stopped)
			assert.That(t, account.Stopped != "", "it does not say that it was stopped: %+v", account)
			close(cable.stall)
			c.Close()
			wantNothingLost(t, a, cable, from, to, n, account)
			a.deleteQueue(from.Name)
			a.deleteQueue(to.Name)
		}
	})
}

// A delivery that is on its way while the queue already counts nothing is ours, and not another consumer's.
func TestDeliveriesThatComeLate(t *testing.T) {
	forEachKind(t, func(t *testing.T, kind model.QueueType) {
		for _, n := range []int{1, 2, 700} {
			a := newApp(t)
			from := a.filled(fmt.Sprint("failed", n), kind, numbered(n)...)
			to := a.queue(fmt.Sprint("worker", n), kind)
			cable := &cable{late: 300 * time.Millisecond}
			c := newClient(t, broker.Options{URL: cable.lay(t, node)})
			executed(t, c, replayTo(t, from, to, plan.Selection{}), outcome{Planned: n, Moved: n})
			assert.Equal(t, a.ready(from), 0)
			assert.Equal(t, a.ready(to), n)
		}
	})
}

func TestCableCutWhilePeeking(t *testing.T) {
	forEachKind(t, func(t *testing.T, kind model.QueueType) {
		a := newApp(t)
		q := a.queue("q", kind)
		n := size.Of(3000, 20_000)
		a.publish(q, numbered(n)...)
		cable, address := newCable(t, 0)
		c := must.Get(broker.New(broker.Options{URL: address}))(t)
		defer c.Close()

		go func() {
			for a.ready(q) == n && t.Context().Err() == nil {
				time.Sleep(time.Millisecond)
			}
			cable.cut()
		}()

		peeked, err := c.Peek(t.Context(), planPeek(q, peek.Want{Limit: n}))
		assert.That(t, err != nil || peeked.Messages.Len() == n, "a cut peek is no error")
		t.Log(err)
		a.await(q, n)

		// It insists because the plan knows nothing of the cut.
		got := lookAt(t, c, q, peek.Want{Limit: 10, Insist: true})
		assert.That(t, len(got.Messages) == 10, "%d messages after the cut", len(got.Messages))
	})
}

func TestQueueDeletedWhileReplaying(t *testing.T) {
	onEachKind(t, func(t *testing.T, kind model.QueueType, a *app, c *broker.Client) {
		n := size.Of(4000, 20_000)
		from, to := a.moving(kind, numbered(n)...)
		p := replayTo(t, from, to, plan.Selection{})
		var once sync.Once
		account := must.Get(c.Execute(t.Context(), p, func(account plan.Account) {
			if account.Moved > 0 {
				once.Do(func() { a.deleteQueue(from.Name) })
			}
		}))(t)

		t.Logf("%+v", account)
		assert.That(t, account.Moved >= n || account.Stopped != "", "it does not say that it was stopped: %+v", account)
		moved := a.ready(to)
		assert.That(t, moved >= account.Moved && moved <= account.Moved+account.Unknown, "%d arrived: %+v", moved, account)
	})
}

// TestFaultsOfTheNode lets faults strike a whole node, which has no other users: a restart, and an alarm.
func TestFaultsOfTheNode(t *testing.T) {
	size.Long(t)
	t.Parallel()
	n := roughNode(t)

	rounds := size.Rounds(1)
	for _, f := range []struct {
		name       string
		operations []plan.Operation
		messages   int
		rate       float64 // so that it is still running when the fault strikes; 0: as fast as possible
		strike     func(t *testing.T, n *demo.Node, stages []*stage, begin func())
		check      func(*stage)
	}{
		{"broker stopped and started", both, size.Of(1500, 6000), 500, restart, func(*stage) {}},
		{"memory alarm", []plan.Operation{plan.Replay}, size.Of(1500, 3000), 1000, alarm, wentOn},
	} {
		t.Run(f.name, func(t *testing.T) {
			var total verdict
			for round := range rounds {
				t.Run(fmt.Sprint(round), func(t *testing.T) {
					var stages []*stage
					for _, operation := range f.operations {
						for _, kind := range kinds {
							s := newStage(t, n, operation, kind, f.messages)
							s.rate = f.rate
							stages = append(stages, s)
						}
					}

					strikeAll(t, n, stages, f.strike)
					struck := 0
					for _, s := range stages {
						s.app = newAppOn(t, n) // the old one may have lost its connection
						f.check(s)
						v := s.judge()
						total.add(v)
						struck += v.struck
						s.deleteQueue(s.from.Name)
						s.deleteQueue(s.to.Name)
					}

					assert.That(t, struck != 0, "all was over before it was struck")
				})
			}

			t.Log(f.name + ": " + total.String())
		})
	}
}

// strikeAll runs all stages at once under a fault: strike says when they begin.
func strikeAll(t *testing.T, n *demo.Node, stages []*stage, strike func(*testing.T, *demo.Node, []*stage, func())) {
	t.Helper()
	var running sync.WaitGroup
	strike(t, n, stages, func() {
		for _, s := range stages {
			running.Go(func() { s.run(t) })
		}
	})

	running.Wait()
}

// restart stops the broker as an administrator would, and starts it again. It begins when some messages of a stage are
// moved.
func restart(t *testing.T, n *demo.Node, stages []*stage, begin func()) {
	begin()
	some := 1 + seed.Rand(t).IntN(stages[0].n/2)
	stages[0].until(func() error {
		if moved, _, ended := stages[0].progress(); !ended && moved < some {
			return fmt.Errorf("%d of %d were moved", moved, some)
		}
		return nil
	})

	assert.Succeeds(t, n.Halt())
	assert.Succeeds(t, n.Resume(t.Context()))
}

// alarm makes the broker believe for a while that it uses too much memory: it then blocks publishers. It begins when
// some messages of each stage are moved, and ends a moment after each reported that it waits. rabbitmqctl starts
// slowly, so it is started beforehand, and controlled by files.
func alarm(t *testing.T, n *demo.Node, stages []*stage, begin func()) {
	dir := t.TempDir()
	must.Do(t, os.Chmod(dir, 0o777))
	here := filepath.Join(dir, "here")
	raise := filepath.Join(dir, "raise")
	lift := filepath.Join(dir, "lift")
	ended := make(chan error, 1)
	go func() {
		_, err := n.Control(context.Background(), "eval", fmt.Sprintf(`
			Await = fun Await(File, Left) ->
				case filelib:is_file(File) orelse Left =:= 0 of true -> ok; false -> timer:sleep(5), Await(File, Left - 1) end
			end,
			ok = file:write_file(%q, ""),
			Await(%q, %[4]d),
			vm_memory_monitor:set_vm_memory_high_watermark(0.000001),
			Await(%[3]q, %[4]d),
			vm_memory_monitor:set_vm_memory_high_watermark({absolute, "2GB"}).`,
			here, raise, lift, patience/(5*time.Millisecond)))

		ended <- err
	}()

	r := seed.Rand(t)
	some := r.IntN(stages[0].n / 2)

	all := func(what string, holds func(moved int, waited string) bool) {
		t.Helper()
		stages[0].until(func() error {
			for _, s := range stages {
				if moved, waited, ended := s.progress(); !ended && !holds(moved, waited) {
					return fmt.Errorf("%s: %s: %d moved, waiting for %q", what, s.from, moved, waited)
				}
			}
			return nil
		})
	}

	tell := func(file string) {
		t.Helper()
		must.Do(t, os.WriteFile(file, nil, 0o600))
	}

	stages[0].until(func() error {
		_, err := os.Stat(here)
		return err
	})

	begin()
	all("before the alarm", func(moved int, _ string) bool { return moved >= some })
	tell(raise)
	all("in the alarm", func(_ int, waited string) bool { return strings.Contains(waited, blocked) })
	time.Sleep(seed.Within(r, time.Second))
	tell(lift)
	assert.Succeeds(t, <-ended)
}

const blocked = "blocks publishers" // reported during an alarm

// wentOn checks that a blocked stage was reported as waiting, and continued.
func wentOn(s *stage) {
	assert.That(s, s.account.Complete(), "it did not go on: %+v", s.account)
	assert.Equal(s, s.account.Waiting, "")
	assert.Contains(s, s.under.waited, blocked, "it reported that it waits for")
}

// fault is something that happens to a broker, or to the connection, while messages are moved or dropped.
type fault struct {
	name       string
	kinds      []model.QueueType // nil: both
	operations []plan.Operation  // nil: replay
	set        func(*stage)      // before it begins; may be nil
	strike     func(*stage)      // at a random moment; may be nil
	latency    time.Duration     // of the cable, in each direction, give or take half
	messages   int               // 0: 3000, or 1000 in a sample
	complete   bool              // everything is done nevertheless
	ends       bool              // the execution ends early, or leaves something undone
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
		assert.Succeeds(s, s.channel.ExchangeDelete(s.exchange, false, false))
	}},
	// A full quorum queue still accepts what is in flight: there must be more than that.
	{name: "target full, reject-publish", ends: true, messages: size.Of(2500, 3000), set: func(s *stage) {
		s.retarget("x-max-length", s.random.Int32N(int32(s.n/4)), "x-overflow", "reject-publish")
	}},
	{
		name: "target full, reject-publish-dlx", ends: true, kinds: []model.QueueType{model.Classic},
		set: func(s *stage) { s.overflow("reject-publish-dlx") },
	},
	{name: "target full, drop-head", complete: true, set: func(s *stage) { s.overflow("drop-head") }},
	{name: "permission withdrawn", operations: both, set: func(s *stage) {
		name := "withdrawn-" + strings.ReplaceAll(s.Name(), "/", "-")
		s.user = must.Get(url.Parse(user(s, name, manage.EveryRight)))(s).User
	}, strike: func(s *stage) {
		n, user := manage.Of(s, node.API()), s.user.Username()
		switch s.random.IntN(4) {
		case 0:
			n.Done(n.UpdatePermissionsIn("/", user, rabbithole.Permissions{Configure: ".*", Read: ".*"}))
		case 1:
			n.Done(n.UpdatePermissionsIn("/", user, rabbithole.Permissions{Configure: ".*", Write: ".*"}))
		case 2:
			n.Done(n.ClearPermissionsIn("/", user))
		case 3:
			n.Done(n.DeleteUser(user))
		}
	}},
}

// overflow makes the target hold only some of the messages; the others go aside.
func (s *stage) overflow(what string) {
	aside := s.queue("aside", model.Classic)
	s.aside = append(s.aside, aside)
	s.retarget("x-max-length", s.random.Int32N(int32(s.n)), "x-overflow", what, "x-dead-letter-exchange", "",
		"x-dead-letter-routing-key", aside.Name)
}

// TestFaults lets each fault strike at random moments. No message is lost, and the account and the journal are right
// about each.
func TestFaults(t *testing.T) {
	t.Parallel()
	rounds := size.Rounds(2)
	for _, f := range faults {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			kinds, operations := kinds, f.operations
			if f.kinds != nil {
				kinds = f.kinds
			}
			if operations == nil {
				operations = []plan.Operation{plan.Replay}
			}

			var total verdict
			for round := range rounds {
				kind := kinds[round%len(kinds)]
				operation := operations[(round/len(kinds))%len(operations)]
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

func TestAccountOfACancelledReplay(t *testing.T) {
	forEachKind(t, func(t *testing.T, kind model.QueueType) {
		for _, after := range []int{0, 1, 300, 1000} {
			t.Run(fmt.Sprint(after), func(t *testing.T) {
				t.Parallel()
				a, c := newApp(t), client(t)
				n := size.Of(1500, 5000)
				from, to := a.moving(kind, numbered(n)...)
				made := replayTo(t, from, to, plan.Selection{})
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()

				go func() { // cancels when this many have arrived
					for ctx.Err() == nil && a.ready(to) < after {
						time.Sleep(time.Millisecond)
					}
					cancel()
				}()

				account, err := c.Execute(ctx, made, nil)
				<-ctx.Done()
				must.That(t, err == nil || ctx.Err() != nil, "%v", err)
				assert.That(t, account.Moved == n || err != nil || account.Stopped != "", "it does not say that it was stopped")
				assert.That(t, account.Unknown+account.Refused+account.Returned+account.Gone == 0, "%+v", account)
				a.wantMoved(from, count(n)[account.Moved:], to, count(n)[:account.Moved])
			})
		}
	})
}
