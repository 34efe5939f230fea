package broker_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/dlxtop/dlxtop/broker"
	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/internal/seed"
	"github.com/dlxtop/dlxtop/internal/size"
	"github.com/dlxtop/dlxtop/journal"
	"github.com/dlxtop/dlxtop/mgmt"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/model/peek"
	"github.com/dlxtop/dlxtop/model/plan"
	"github.com/dlxtop/dlxtop/model/resume"
)

// resumeWant is what the program passes to plan a resume.
func resumeWant(ctx context.Context, c *broker.Client, j *journal.Journal, chain []plan.Record) resume.Want {
	return resume.Want{
		Chain: chain, User: c.User(), Broker: c.Address(), Insist: true,
		Record:  func(id int64) (plan.Record, error) { return j.Record(ctx, id) },
		Entries: func(id int64, each func(*plan.Entry) error) error { return j.Entries(ctx, id, each) },
		Reads: plan.Reads{
			Look: func(made peek.Plan, each func(*message.Message) error) (string, error) {
				read, err := c.Read(ctx, made, each)
				return read.Stopped, err
			},
			Count: func(refs []model.QueueRef) (map[model.QueueRef]model.QueueCounts, error) {
				return c.Count(ctx, refs)
			},
		},
	}
}

// resumed resumes a record as the program does, on a topology of these queues.
func resumed(
	ctx context.Context,
	c *broker.Client,
	j *journal.Journal,
	id int64,
	api, version string,
	queues ...*model.Queue,
) (resume.Plan, plan.Account, error) {
	chain, err := j.Chain(ctx, id)
	if err != nil {
		return resume.Plan{}, plan.Account{}, err
	}
	source, err := mgmt.New(mgmt.Options{URL: api})
	if err != nil {
		return resume.Plan{}, plan.Account{}, err
	}
	defer source.Close()
	var refs []model.QueueRef
	for _, q := range queues {
		refs = append(refs, q.QueueRef)
	}
	if err := c.AwaitGone(ctx, &chain[len(chain)-1], source.Connections, refs...); err != nil {
		return resume.Plan{}, plan.Account{}, err
	}
	want := resumeWant(ctx, c, j, chain)
	topology := topologyOf(version, queues)
	p, err := resume.Of(topology, want)
	if err != nil || p.Refusal.Refused() {
		return p, plan.Account{}, err
	}
	account, err := c.Resume(ctx, p.On(topology, want), nil)
	return p, account, err
}

// resumer resumes the last record of a journal. The victim's variable says which journal.
func resumer(kind, url, from, to, path string) int {
	j := journal.New(journal.Options{Path: path})
	c, err := broker.New(broker.Options{URL: url, Journal: j})
	if err != nil {
		fmt.Println(err)
		return 1
	}
	queues := namedQueues(kind, from, to)
	records, err := j.Records(context.Background(), 1)
	if err != nil || len(records) == 0 {
		fmt.Println("no record", err)
		return 1
	}
	fmt.Println("begins")
	made, account, err := resumed(context.Background(), c, j, records[0].ID, os.Getenv(victimVariable+"_API"),
		os.Getenv(victimVariable+"_VERSION"), queues...)
	why := ""
	if len(made.Undecided) > 0 {
		why = made.Undecided[0].Why
	}
	fmt.Printf("ends %d done, %d arrived, %d unsent, %d undecided %q; moved %d; %v %q %q\n", made.Done, made.Acks(),
		made.Unsent, len(made.Undecided), why, account.Moved+account.Dropped, err, made.Refusal.Words(), account.Stopped)
	return 0
}

// killedRun is an action that is killed, and resumed until it is complete.
type killedRun struct {
	*app
	operation plan.Operation
	kind      model.QueueType
	n         int
	from, to  *model.Queue
	path      string
}

func newKilledRun(t *testing.T, operation plan.Operation, kind model.QueueType, n int) *killedRun {
	a := newApp(t)
	k := &killedRun{
		app: a, operation: operation, kind: kind, n: n, path: filepath.Join(t.TempDir(), "journal.db"),
		from: described(a.queue("failed", kind), kind), to: described(a.queue("worker", kind), kind),
	}
	k.publish(k.from.QueueRef, k.messages()...)
	return k
}

// twinEvery is the distance of twins: message 8 repeats message 7, 16 repeats 15.
const twinEvery = 8

func (k *killedRun) messages() []amqp.Publishing {
	messages := numbered(k.n)
	for i := twinEvery; i < len(messages); i += twinEvery {
		messages[i] = messages[i-1]
	}
	return messages
}

// run runs one process, and kills it this long after it began.
func (k *killedRun) run(t *testing.T, operation plan.Operation, moment time.Duration) (ran time.Duration, said string) {
	command := victimOf(operation, k.kind, node.AMQP(), k.from.Name, k.to.Name, k.path)
	command.Env = append(command.Env, victimVariable+"_API="+node.API())
	return runVictim(t, moment, command)
}

// whole checks that each message is where it belongs, once.
func (k *killedRun) whole(t *testing.T) (twice, lost int) {
	t.Helper()
	where := k.to.QueueRef
	if k.operation == plan.Drop { // and comes back when all of it is undone
		j := journal.New(journal.Options{Path: k.path})
		defer j.Close()
		c := journaledBy(t, j, false)
		records := must.Get(j.Records(t.Context(), 0))(t)
		k.await(k.from.QueueRef, 0)
		for _, r := range slices.Backward(records) {
			if made := planUndo(t, c, j, r.ID, k.from); !made.Refusal.Refused() {
				undo(t, c, j, r.ID, k.from)
			}
		}
		where = k.from.QueueRef
	} else if k.operation == sparing {
		k.await(k.from.QueueRef, (k.n-1)/twinEvery)
	} else {
		k.await(k.from.QueueRef, 0)
	}
	want, got := map[string]int{}, map[string]int{}
	for _, m := range k.messages() {
		if want[m.MessageId]++; k.operation == sparing {
			want[m.MessageId] = 1
		}
	}
	for _, d := range k.drain(where, k.ready(where)) {
		got[d.MessageId]++
	}
	for id, n := range want {
		twice += max(got[id]-n, 0)
		lost += max(n-got[id], 0)
	}
	assert.That(t, twice+lost == 0, "%d messages too many, %d are missing", twice, lost)
	return twice, lost
}

// TestResumed kills replays, moves and drops at random moments, and their resumes, too: in the end each message is
// where it belongs once, twins as often as they were there.
func TestResumed(t *testing.T) {
	t.Parallel()
	rounds := (size.Rounds(1) + 2) / 3
	n := size.Of(1000, 5000)
	r := seed.Rand(t)
	for _, operation := range []plan.Operation{plan.Replay, sparing, plan.Move, plan.Drop} {
		sideBySide(t, func(t *testing.T, kind model.QueueType) {
			t.Run(string(operation), func(t *testing.T) {
				calibrated := newKilledRun(t, operation, kind, n)
				took, said := calibrated.run(t, operation, time.Minute)
				must.That(t, strings.HasPrefix(said, "ends"), "%v", said)
				calibrated.whole(t)
				var killed, twice, lost int
				round := 0
				for ; round < rounds || killed < rounds && round < 10*rounds; round++ { // some end before they are killed
					t.Run(fmt.Sprint(round), func(t *testing.T) {
						k := newKilledRun(t, operation, kind, n)
						kills, more, less := k.killAndResume(t, r, &took)
						killed, twice, lost = killed+kills, twice+more, lost+less
					})
				}
				assert.That(t, killed >= rounds, "%d kills in %d rounds", killed, round)
				t.Logf("%s, %s: %d rounds, %d kills; %d messages, doubled %d, lost %d", operation, kind, round, killed,
					round*n, twice, lost)
			})
		})
	}
}

// killAndResume kills an action, half of the time also the first resume, and continues until it ends. took is how long
// an action takes: one that ends before it is killed gives a better estimate.
func (k *killedRun) killAndResume(t *testing.T, r *rand.Rand, took *time.Duration) (kills, twice, lost int) {
	moments := []time.Duration{seed.Within(r, *took)}
	if r.IntN(2) == 0 {
		moments = append(moments, seed.Within(r, *took))
	}
	operation := k.operation
	for tries := 0; tries < 6; tries++ {
		moment := time.Minute
		if len(moments) > 0 {
			moment, moments = moments[0], moments[1:]
		}
		ran, said := k.run(t, operation, moment)
		switch {
		case said == "":
			kills++
		case operation != "resume" && strings.HasPrefix(said, "ends"):
			t.Logf("it ended before it was killed")
			*took = min(*took, ran)
		default:
			t.Logf("%s", said)
		}
		if said != "" {
			break
		}
		if records, err := k.records(); err != nil || len(records) == 0 {
			continue // it was killed before it began
		}
		operation = "resume"
	}
	if records, _ := k.records(); len(records) > 0 && records[0].Unfinished() {
		t.Errorf("it was not resumed: %+v", records[0])
	}
	twice, lost = k.whole(t)
	return kills, twice, lost
}

func (k *killedRun) records() ([]plan.Record, error) {
	j := journal.New(journal.Options{Path: k.path})
	defer j.Close()
	records, err := j.Records(context.Background(), 0)
	return records, errors.Join(err)
}

// dying is a journal whose program is as good as killed from some moment on: later writes are lost.
type dying struct {
	*journal.Journal
	outcomes int    // that are written before
	end      func() // ends the execution
	dead     bool
}

func (d *dying) Settle(id int64, settled []plan.Settled) error {
	if d.outcomes -= len(settled); d.outcomes < 0 {
		d.dead = true
	}
	if d.dead {
		d.end()
		return nil
	}
	return d.Journal.Settle(id, settled)
}

func (d *dying) Write(id int64, entries []plan.Entry, settled []plan.Settled) error {
	if d.dead {
		settled = nil
	}
	return d.Journal.Write(id, entries, settled)
}

func (d *dying) Finish(int64, []plan.Settled, plan.Account) error { return d.Journal.Close() }

// lastRecord is the newest record of a journal.
func lastRecord(t *testing.T, j *journal.Journal) plan.Record {
	t.Helper()
	records, err := j.Records(t.Context(), 1)
	must.That(t, err == nil && len(records) == 1, "%v %v", err, records)
	return records[0]
}

// wantResumed resumes the last record, and wants it to be complete.
func wantResumed(t *testing.T, path string, queues ...*model.Queue) (resume.Plan, plan.Account) {
	t.Helper()
	j := journal.New(journal.Options{Path: path})
	defer j.Close()
	c := journaledBy(t, j, false)
	id := lastRecord(t, j).ID
	made, account, err := resumed(t.Context(), c, j, id, node.API(), node.Version(), queues...)
	must.That(t, err == nil && !made.Refusal.Refused() && account.Stopped == "",
		"%v %q %+v", err, made.Refusal.Words(), account)
	unfinished, err := j.Unfinished(t.Context())
	assert.That(t, err == nil && len(unfinished) == 0, "still reported as unfinished: %+v %v", unfinished, err)
	r, err := j.Record(t.Context(), id)
	assert.That(t, err == nil && r.ResumedBy != 0 && !r.Unfinished(), "%+v %v", r, err)
	return made, account
}

// An undo that died is resumed, and brings back each message once: from the journal, and from where a replay had sent
// it.
func TestResumeOfAnUndo(t *testing.T) {
	t.Parallel()
	for _, operation := range both {
		sideBySide(t, func(t *testing.T, kind model.QueueType) {
			t.Run(string(operation), func(t *testing.T) {
				const n = 700
				s := newUndoRace(t, operation, kind)
				s.publish(s.from.QueueRef, numbered(n)...)
				c, j := s.client()
				p := dropPlan(t, s.from, plan.Selection{}, n)
				if operation == plan.Replay {
					p = replayTo(t, s.from, s.to, plan.Selection{})
				}
				done := execute(t, c, p)
				undo := planUndo(t, c, j, done.JournalID, s.from, s.to)

				ctx, cancel := context.WithCancel(t.Context())
				d := &dying{Journal: journal.New(journal.Options{Path: s.path}), outcomes: 100, end: cancel}
				victim := journaledBy(t, d, false)
				must.Get(victim.Undo(ctx, undo, nil))(t)
				victim.Close()
				r := lastRecord(t, j)
				must.That(t, r.Unfinished() && r.Uncertain() != 0, "%+v", r)
				resumed, account := wantResumed(t, s.path, s.from, s.to)
				t.Logf("%d done, %d arrived, %d unsent, %d undecided; %d moved", resumed.Done, resumed.Acks(), resumed.Unsent,
					len(resumed.Undecided), account.Moved)
				s.await(s.to.QueueRef, 0)
				wantOnce(t, s.drain(s.from.QueueRef, n), n)
			})
		})
	}
}

// wantOnce wants each of n messages once.
func wantOnce(t *testing.T, deliveries []amqp.Delivery, n int) {
	t.Helper()
	got := map[string]int{}
	for _, d := range deliveries {
		got[d.MessageId]++
	}
	for _, id := range count(n) {
		if got[id] != 1 {
			t.Errorf("%s is there %d times", id, got[id])
			return
		}
	}
}

// An import that died continues after what is in the queue, and not with another file.
func TestResumeOfAnImport(t *testing.T) {
	forEachKind(t, func(t *testing.T, kind model.QueueType) {
		const n = 900
		a := newApp(t)
		q := described(a.queue("q", kind), kind)
		path := filepath.Join(t.TempDir(), "journal.db")
		file := func(_ string, each func(*message.Message) error) error {
			for i := range n {
				m := message.Message{
					Properties: message.Properties{MessageID: fmt.Sprint(i + 1)}, Body: []byte("body"), BodyBytes: 4,
				}
				m.Fingerprint = message.FingerprintOf(&m)
				if err := each(&m); err != nil {
					return err
				}
			}
			return nil
		}
		made := resume.FromFile(topology([]*model.Queue{q}), q.QueueRef, "/file", n, false)
		d := &dying{Journal: journal.New(journal.Options{Path: path}), outcomes: 100, end: func() {}}
		must.Get(journaledBy(t, d, false).Import(t.Context(), made, func(each func(*message.Message) error) error {
			sent := 0
			return file("", func(m *message.Message) error {
				if sent++; sent > 600 {
					return errors.New("killed")
				}
				return each(m)
			})
		}, nil))(t)
		j := journal.New(journal.Options{Path: path})
		defer j.Close()
		c := journaledBy(t, j, false)
		chain, err := j.Chain(t.Context(), lastRecord(t, j).ID)
		must.That(t, err == nil && chain[0].Unfinished(), "%+v %v", chain, err)
		want := resumeWant(t.Context(), c, j, chain)
		want.File = func(_ string, each func(*message.Message) error) error {
			return file("", func(m *message.Message) error { m.Fingerprint[0]++; return each(m) })
		}
		other, err := resume.Of(topology([]*model.Queue{q}), want)
		assert.That(t, err == nil && strings.Contains(other.Refusal.Words(), "was changed since"),
			"another file: %q %v", other.Refusal.Words(), err)
		want.File = file
		resumed, err := resume.Of(topology([]*model.Queue{q}), want)
		must.That(t, err == nil && !resumed.Refusal.Refused() && len(resumed.Undecided) == 0, "%+v %v", resumed, err)
		account, err := c.Resume(t.Context(), resumed.On(nil, want), nil)
		assert.That(t, err == nil && account.Stopped == "" && account.Moved == resumed.Planned(), "%+v %v", account, err)
		wantOnce(t, a.drain(q.QueueRef, n), n)
	})
}

// Of two resumes planned at the same time one runs, and the other is refused.
func TestResumeTwiceAtOnce(t *testing.T) {
	forEachKind(t, func(t *testing.T, kind model.QueueType) {
		const n = 600
		s, d := diedReplay(t, kind, n)
		type planned struct {
			c   *broker.Client
			run resume.Run
		}
		var both []planned
		for range 2 {
			c, j := s.client()
			chain := must.Get(j.Chain(t.Context(), d))(t)
			want := resumeWant(t.Context(), c, j, chain)
			topology := topology([]*model.Queue{s.from, s.to})
			made, err := resume.Of(topology, want)
			must.That(t, err == nil && !made.Refusal.Refused(), "%v %v", err, made.Refusal.Words())
			both = append(both, planned{c, made.On(topology, want)})
		}
		errs := make(chan error, 2)
		for _, p := range both {
			go func() {
				_, err := p.c.Resume(context.Background(), p.run, nil)
				errs <- err
			}()
		}
		var refused *plan.ClaimedError
		one, two := <-errs, <-errs
		assert.That(t, (one == nil || two == nil) && errors.As(errors.Join(one, two), &refused) &&
			refused.State == plan.ClaimResumed, "%v, %v", one, two)
		s.await(s.from.QueueRef, 0)
		wantOnce(t, s.drain(s.to.QueueRef, n), n)
	})
}

// diedReplay is a replay that died halfway.
func diedReplay(t *testing.T, kind model.QueueType, n int) (s *undoRace, id int64) {
	t.Helper()
	s = newUndoRace(t, plan.Replay, kind)
	s.publish(s.from.QueueRef, numbered(n)...)
	made := replayTo(t, s.from, s.to, plan.Selection{})
	made.Mark = true
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	d := &dying{Journal: journal.New(journal.Options{Path: s.path}), outcomes: n / 6, end: cancel}
	must.Get(journaledBy(t, d, false).Execute(ctx, made, nil))(t)
	_, j := s.client()
	r := lastRecord(t, j)
	must.That(t, r.Unfinished() && r.Uncertain() != 0, "%+v", r)
	return s, r.ID
}

// Messages that a consumer of the target may have taken are undecided; they stay unknown, or as chosen.
func TestResumeWithAConsumer(t *testing.T) {
	t.Parallel()
	for _, choice := range []resume.Choice{"", resume.PublishAgain, resume.LeaveThem} {
		t.Run(string(choice), func(t *testing.T) {
			s, c, j, id := forgottenReplay(t, 600)
			chain := must.Get(j.Chain(t.Context(), id))(t)
			consumed := *s.to
			consumed.Consumers = model.Some[int64](1)
			taken := s.drain(s.to.QueueRef, s.ready(s.to.QueueRef))
			want := resumeWant(t.Context(), c, j, chain)
			topology := topology([]*model.Queue{s.from, &consumed})
			want.Choice = choice
			made, err := resume.Of(topology, want)
			must.That(t, err == nil && !made.Refusal.Refused(), "%v %v", err, made.Refusal.Words())
			account, err := c.Resume(t.Context(), made.On(topology, want), nil)
			must.That(t, err == nil && account.Stopped == "", "%v %v", account, err)
			t.Logf("%d taken; %d done, %d unsent, %d undecided; %d moved", len(taken), made.Done, made.Unsent,
				len(made.Undecided), account.Moved)
			left := s.ready(s.from.QueueRef)
			switch choice {
			case "":
				assert.That(t, len(made.Undecided) > 0 && left == len(made.Undecided),
					"%d are left, %d undecided", left, len(made.Undecided))
				if r, err := j.Record(t.Context(), id); err != nil || r.Uncertain() != len(made.Undecided) || r.Unfinished() {
					t.Errorf("%+v %v", r, err)
				}
			case resume.PublishAgain:
				assert.Equal(t, left, 0, "are left")
			case resume.LeaveThem:
				if r, err := j.Record(t.Context(), id); err != nil || r.Uncertain() != 0 || left == 0 {
					t.Errorf("%d are left, %+v %v", left, r, err)
				}
			}
		})
	}
}
