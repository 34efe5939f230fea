package broker_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/dlxtop/dlxtop/broker"
	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/internal/seed"
	"github.com/dlxtop/dlxtop/internal/size"
	"github.com/dlxtop/dlxtop/journal"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/model/peek"
	"github.com/dlxtop/dlxtop/model/plan"
)

// TestTwoAtOnce lets two clients with one journal act on the same queue. Each message is moved or dropped by one of
// them. The second begins at a random moment, when the first has usually taken everything, and then while the first has
// part of it: then both must have done something.
func TestTwoAtOnce(t *testing.T) {
	rounds := size.Rounds(1)
	forEachKind(t, func(t *testing.T, kind model.QueueType) {
		for _, second := range both {
			t.Run("replay and "+string(second), func(t *testing.T) {
				t.Parallel()
				for range rounds {
					twoAtOnce(t, kind, second, func(one *stage, begin func(), _ func() bool) {
						one.cable.struck.Store(&strike{at: one.moment(t) / 256, do: begin})
					})
					first, other := twoAtOnce(t, kind, second, func(one *stage, begin func(), busy func() bool) {
						page := 2 + one.random.IntN(2) // of three or more
						one.cable.consumes = func(n int) {
							if n != page {
								return
							}
							for begin(); !busy(); {
								time.Sleep(5 * time.Millisecond)
							}
						}
					})

					assert.That(t, first != 0, "the first did %d, and the second %d", first, other)
					assert.That(t, other != 0, "the first did %d, and the second %d", first, other)
				}
			})
		}
	})
}

// twoAtOnce returns how many messages each of two clients has moved or dropped. prepare decides when the second begins;
// busy reports whether it has done something, or has ended.
func twoAtOnce(
	t *testing.T, kind model.QueueType, second plan.Operation, prepare func(one *stage, begin func(), busy func() bool),
) (first, other int) {
	t.Helper()
	n := size.Of(3000, 5000)
	one := newStage(t, node, plan.Replay, kind, n)
	one.patience = patience // there is no fault here: wait for a stalled broker
	two := *one
	two.operation = second
	two.cable = &cable{random: one.random}
	two.under = &underWay{}
	begins := make(chan struct{})
	begin := sync.OnceFunc(func() { close(begins) })
	prepare(one, begin, func() bool {
		moved, _, ended := two.progress()
		return moved > 0 || ended
	})

	two.path = one.path // it has a new one when the moment was not known
	var running sync.WaitGroup
	running.Go(func() {
		one.run(t)
		begin()
	})

	running.Go(func() {
		<-begins
		two.run(t)
	})

	running.Wait()

	for _, s := range []*stage{one, &two} {
		a := s.account
		must.That(t, s.err == nil, "%v %+v", s.err, a)
		assert.Equal(t, a.Stopped, "", "%v", s.err)
		assert.That(t, a.Refused+a.Returned+a.Unknown <= 0, "%v %+v", s.err, a)
	}

	assert.Equal(t, one.account.Moved+two.account.Moved+two.account.Dropped, n, "were moved or dropped")
	one.await(one.from, 0)
	target := one.find(one.to)
	journaled := outcomes(t, one.path)
	for _, id := range count(n) {
		done, there := journaled[id], target[id]
		must.Equal(t, len(done), 1, "%s was %s, and is %d times in the target", id, done, there)
		assert.That(t, done[0] == plan.Moved && there == 1 || done[0] == plan.Dropped && there == 0,
			"%s was %s, and is %d times in the target", id, done, there)
	}

	t.Logf("%d moved, then %d moved and %d dropped", one.account.Moved, two.account.Moved, two.account.Dropped)
	return one.account.Moved, two.account.Moved + two.account.Dropped
}

// TestActionWaitsForALook: an action that did not wait would report the messages held by the look as gone.
func TestActionWaitsForALook(t *testing.T) {
	onEachKind(t, func(t *testing.T, kind model.QueueType, a *app, c *broker.Client) {
		from := a.filled("failed", kind, numbered(5)...)
		accounts := make(chan plan.Account, 1)
		begin := sync.OnceFunc(func() {
			drop := dropPlan(t, from, plan.Selection{}, 5)
			go func() {
				account, err := c.Execute(t.Context(), drop, nil)
				assert.Succeeds(t, err)
				accounts <- account
			}()

			select {
			case account := <-accounts: // nothing is left for it
				accounts <- account
			case <-time.After(200 * time.Millisecond): // it waits
			}
		})

		must.Get(c.Read(t.Context(), planPeek(from, peek.Want{}), func(*message.Message) error {
			begin()
			return nil
		}))(t)

		wantOutcome(t, <-accounts, outcome{Planned: 5, Dropped: 5})
	})
}

// outcomes returns the outcomes of each message in a journal's records.
func outcomes(t *testing.T, path string) map[string][]plan.Outcome {
	t.Helper()
	j := openJournal(t, path)
	must.Equal(t, len(recordsOf(t, j)), 2, "records")
	found := map[string][]plan.Outcome{}
	eachEntry(t, j, func(_ *plan.Record, e *plan.Entry) {
		assert.That(t, e.Outcome != "", "%s has no outcome", e.MessageID)
		found[e.MessageID] = append(found[e.MessageID], e.Outcome)
	})

	return found
}

// undoer plans an undo, says so, and runs it on demand, like a prompt.
func undoer(o job) error {
	c, j, err := o.client()
	if err != nil {
		return err
	}
	made, err := undoPlan(context.Background(), c, j, o.Record, o.Version, o.queues())
	if err != nil {
		return err
	}
	fmt.Println("planned")
	_, _ = bufio.NewReader(os.Stdin).ReadString('\n')
	account, err := c.Undo(context.Background(), made, nil)
	fmt.Println("ends", account.Moved, account.Planned, err)
	return nil
}

// TestUndoAtOnce runs two to four undos of one record at the same time, all planned beforehand: everything comes back
// once.
func TestUndoAtOnce(t *testing.T) {
	t.Parallel()
	rounds := max(2, 5*size.Rounds(0))
	r := seed.Rand(t)
	for _, operation := range both {
		sideBySide(t, func(t *testing.T, kind model.QueueType) {
			t.Run(string(operation), func(t *testing.T) {
				s := newUndoRace(t, operation, kind)
				refused := 0
				for round := range rounds {
					refused += s.run(r, round%10 == 0)
					if t.Failed() {
						break
					}
				}

				t.Logf("%d races, %d undos were refused", rounds, refused)
			})
		})
	}
}

// undoRace is the queues of some races, and their journal.
type undoRace struct {
	*app
	operation plan.Operation
	kind      model.QueueType
	from, to  *model.Queue
	path      string
}

func newUndoRace(t *testing.T, operation plan.Operation, kind model.QueueType) *undoRace {
	s := &undoRace{app: newApp(t), operation: operation, kind: kind, path: journalPath(t)}
	s.from, s.to = s.moving(kind)
	return s
}

// client returns a client with its own view of the journal, like another program.
func (s *undoRace) client() (*broker.Client, *journal.Journal) {
	j := openJournal(s, s.path)
	return journaledBy(s, j, false), j
}

// run returns one race of clients or processes. It returns how many undos were refused.
func (s *undoRace) run(r *rand.Rand, processes bool) (refused int) {
	s.Helper()
	n := 1 + r.IntN(100)
	s.publish(s.from, numbered(n)...)
	c, j := s.client()
	defer c.Close()
	defer j.Close()
	account := s.act(c, n)
	must.Equal(s, account.Moved+account.Dropped, n, "moved or dropped")

	undos := make([]func() (plan.Account, error), 2+r.IntN(3))
	for i := range undos {
		if undos[i] = s.planned(account.JournalID); processes {
			undos[i] = s.process(account.JournalID)
		}
	}

	var all sync.WaitGroup
	back := make([]int, len(undos))
	for i := range undos {
		all.Go(func() {
			a, err := undos[i]()
			if back[i] = a.Moved; err != nil {
				back[i] = -1
				assert.Contains(s, err.Error(), "undo ")
			}
		})
	}

	all.Wait()
	total := 0
	for _, b := range back {
		if total += max(b, 0); b < 0 {
			refused++
		}
	}

	s.await(s.to, 0)
	got := s.drain(s.from, s.ready(s.from))
	wantOnce(s, got, n)
	assert.Equal(s, len(byID(got)), n, "different messages; the undos report %d: %v", total, back)
	assert.Equal(s, total, n)
	return refused
}

// act moves or drops all n messages of the source.
func (s *undoRace) act(c *broker.Client, n int) plan.Account {
	s.Helper()
	if s.operation == plan.Replay {
		return execute(s, c, replayTo(s, s.from, s.to, plan.Selection{}))
	}
	return execute(s, c, dropPlan(s, s.from, plan.Selection{}, n))
}

// planned plans an undo with a new client, and returns a function that runs it.
func (s *undoRace) planned(id int64) func() (plan.Account, error) {
	c, j := s.client()
	p := planUndo(s, c, j, id, s.from, s.to)
	return func() (plan.Account, error) {
		defer j.Close()
		defer c.Close()
		return c.Undo(context.Background(), p, nil)
	}
}

// process plans an undo in a new process, and returns a function that runs it.
func (s *undoRace) process(id int64) func() (plan.Account, error) {
	command := process(s, job{
		Do: "undo", Kind: s.kind, URL: node.AMQP(), From: s.from.Name, To: s.to.Name, Journal: s.path, Record: id,
	})
	in := must.Get(command.StdinPipe())(s)
	lines := started(s, command, "planned")

	return func() (a plan.Account, err error) {
		if _, err := in.Write([]byte("go\n")); err != nil {
			return a, err
		}
		lines.Scan()
		var refusal string
		if n, e := fmt.Sscanf(lines.Text(), "ends %d %d %s", &a.Moved, &a.Planned, &refusal); n < 3 {
			return a, fmt.Errorf("%q: %w", lines.Text(), e)
		}
		if refusal != "<nil>" {
			err = errors.New(lines.Text())
		}

		return a, errors.Join(err, command.Wait())
	}
}
