package broker_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
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
	"github.com/dlxtop/dlxtop/model/build"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/model/plan"
	"github.com/dlxtop/dlxtop/model/resume"
)

// resumeWant returns what the program passes to plan a resume.
func resumeWant(c *broker.Client, j *journal.Journal, chain []plan.Record) resume.Want {
	return resume.Want{
		Chain: chain, User: c.User(), Broker: c.Address(), Insist: true,
		Record: j.Record, Entries: j.Entries, Reads: countedReads{c},
	}
}

// countedReads finds out by counts alone what others do with a queue.
type countedReads struct{ *broker.Client }

func (countedReads) Others(context.Context, []plan.Left) (map[model.QueueRef]plan.Others, error) {
	return nil, nil
}

// planResume plans to resume a record on a topology, and wants that to be possible. change changes what is wanted.
func planResume(
	t *testing.T, c *broker.Client, j *journal.Journal, id int64, topology *model.Topology, change ...func(*resume.Want),
) resume.Run {
	t.Helper()
	want := resumeWant(c, j, must.Get(j.Chain(t.Context(), id))(t))
	for _, do := range change {
		do(&want)
	}

	made := must.Get(resume.Of(t.Context(), topology, want))(t)
	must.Equal(t, made.Refusal.Words(), "")
	return made
}

// resumed resumes a record as the program does, on a topology of these queues.
func resumed(
	ctx context.Context, c *broker.Client, j *journal.Journal, id int64, api, version string, queues []*model.Queue,
) (p resume.Plan, account plan.Account, err error) {
	chain, err := j.Chain(ctx, id)
	if err != nil {
		return p, account, err
	}
	source, err := mgmt.New(mgmt.Options{URL: api, Timeout: must.Patience})
	if err != nil {
		return p, account, err
	}
	defer source.Close()
	if err := c.AwaitGone(ctx, &chain[len(chain)-1], source.Connections); err != nil {
		return p, account, err
	}
	want := resumeWant(c, j, chain)
	topology := topologyOf(version, queues)
	run, err := resume.Of(ctx, topology, want)
	if err != nil || run.Refusal.Refused() {
		return run.Plan, account, err
	}
	account, err = c.Resume(ctx, run, nil)
	return run.Plan, account, err
}

// resumer resumes the last record of a journal.
func resumer(o job) error {
	c, j, err := o.client()
	if err != nil {
		return err
	}
	records, err := j.Records(context.Background(), 1)
	if err != nil || len(records) == 0 {
		return fmt.Errorf("no record: %v", err)
	}
	fmt.Println("begins")
	made, account, err := resumed(context.Background(), c, j, records[0].ID, o.API, o.Version, o.queues())
	why := ""
	if len(made.Undecided) > 0 {
		why = made.Undecided[0].Why
	}

	fmt.Printf("ends %d done, %d arrived, %d unsent, %d undecided %q; moved %d; %v %q %q\n", made.Done, made.Acks(),
		made.Unsent, len(made.Undecided), why, account.Moved+account.Dropped, err, made.Refusal.Words(), account.Stopped)
	return nil
}

// killedRun is an action that is killed, and resumed until it is complete.
type killedRun struct {
	*undoRace
	n int
}

func newKilledRun(t *testing.T, operation plan.Operation, kind model.QueueType, n int) *killedRun {
	k := &killedRun{newUndoRace(t, operation, kind), n}
	k.publish(k.from, k.messages()...)
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
func (k *killedRun) run(t *testing.T, do string, moment time.Duration) (ran time.Duration, said string) {
	return runVictim(t, moment, process(t, job{
		Do: do, Operation: k.operation, Kind: k.kind, URL: node.AMQP(), From: k.from.Name, To: k.to.Name, Journal: k.path,
	}))
}

// whole checks that each message is where it belongs, once. undecided are the originals that a resume left beside their
// copies, as it said: a copy directly behind the last message of a record cannot be told from its original.
func (k *killedRun) whole(t *testing.T, undecided int) (twice, lost int) {
	t.Helper()
	where, left := k.to, 0
	switch k.operation {
	case plan.Drop: // and comes back when all of it is undone
		c, j := k.client()
		k.await(k.from, 0)
		for _, r := range slices.Backward(recordsOf(t, j)) {
			if made := planUndo(t, c, j, r.ID, k.from); !made.Refusal.Refused() {
				undo(t, c, j, r.ID, k.from)
			}
		}

		where, left = k.from, k.n
	case sparing:
		left = (k.n-1)/twinEvery + undecided
	}

	k.await(k.from, left)
	want := map[string]int{}
	for _, m := range k.messages() {
		if want[m.MessageId]++; k.operation == sparing {
			want[m.MessageId] = 1
		}
	}

	got := byID(k.drain(where, k.ready(where)))
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
				took, said := calibrated.run(t, "act", time.Minute)
				must.That(t, strings.HasPrefix(said, "ends"), "%v", said)
				calibrated.whole(t, 0)
				var killed, twice, lost int

				round := 0
				for ; round < rounds || killed < rounds && round < 10*rounds; round++ { // some end before they are killed
					t.Run(fmt.Sprint(round), func(t *testing.T) {
						k := newKilledRun(t, operation, kind, n)
						kills, more, less := k.killAndResume(t, r, &took)
						killed = killed + kills
						twice = twice + more
						lost = lost + less
					})
				}

				assert.That(t, killed >= rounds, "%d kills in %d rounds", killed, round)
				t.Logf("%s, %s: %d rounds, %d kills; %d messages, doubled %d, lost %d", operation, kind, round, killed,
					round*n, twice, lost)
			})
		})
	}
}

// A copy of what a record has sent stays when the record is resumed, also where the record died before it met the copy,
// or before it wrote what it had sent.
func TestResumeSparesCopiesOfItsOwn(t *testing.T) {
	forEachKind(t, func(t *testing.T, kind model.QueueType) {
		for _, outcomes := range []int{600, 0} {
			t.Run(fmt.Sprint(outcomes), func(t *testing.T) {
				const n = 3000 // more than the journal is ahead of what is sent
				s := newUndoRace(t, plan.Replay, kind)
				s.publish(s.from, append(numbered(n-1), numbered(1)...)...)

				made := replayTo(t, s.from, s.to, plan.Selection{})
				made.Mark, made.Doubles = true, false
				ctx, victim := s.victim(t, outcomes)
				must.Get(victim.Execute(ctx, made, nil))(t)
				victim.Close()

				wantResumed(t, s.path, s.from, s.to)
				s.await(s.from, 1)
				s.await(s.to, n-1)
			})
		}
	})
}

// killAndResume kills an action, half of the time also the first resume, and continues until it ends. took is how long
// an action takes: one that ends before it is killed gives a better estimate.
func (k *killedRun) killAndResume(t *testing.T, r *rand.Rand, took *time.Duration) (kills, twice, lost int) {
	moments := []time.Duration{seed.Within(r, *took)}
	if r.IntN(2) == 0 {
		moments = append(moments, seed.Within(r, *took))
	}

	do, undecided := "act", 0
	for tries := 0; tries < 6; tries++ {
		moment := time.Minute
		if len(moments) > 0 {
			moment, moments = moments[0], moments[1:]
		}

		ran, said := k.run(t, do, moment)
		switch {
		case said == "":
			kills++
		case do != "resume" && strings.HasPrefix(said, "ends"):
			t.Logf("it ended before it was killed")
			*took = min(*took, ran)
		default:
			t.Logf("%s", said)
			_, after, _ := strings.Cut(said, " unsent, ")
			must.Get(fmt.Sscanf(after, "%d undecided", &undecided))(t)
		}

		if said != "" {
			break
		}
		if len(k.records(t)) > 0 { // it was not killed before it began
			do = "resume"
		}
	}

	if records := k.records(t); len(records) > 0 && records[0].Unfinished() {
		t.Errorf("it was not resumed: %+v", records[0])
	}

	if k.operation != sparing {
		undecided = 0
	}
	assert.That(t, undecided <= kills, "%d undecided after %d kills", undecided, kills)
	twice, lost = k.whole(t, undecided)
	return kills, twice, lost
}

func (k *killedRun) records(t *testing.T) []plan.Record { return recordsOf(t, openJournal(t, k.path)) }

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

// lastRecord returns the newest record of a journal.
func lastRecord(t *testing.T, j *journal.Journal) plan.Record {
	t.Helper()
	records := recordsOf(t, j)
	must.That(t, len(records) > 0, "no record")
	return records[0]
}

// wantResumed resumes the last record, and wants it to be complete.
func wantResumed(t *testing.T, path string, queues ...*model.Queue) (resume.Plan, plan.Account) {
	t.Helper()
	j := openJournal(t, path)
	c := journaledBy(t, j, false)
	id := lastRecord(t, j).ID
	made, account, err := resumed(t.Context(), c, j, id, node.API(), node.Version(), queues)
	must.Do(t, err)
	must.That(t, !made.Refusal.Refused(), "%q %+v", made.Refusal.Words(), account)
	must.Equal(t, account.Stopped, "")
	unfinished := must.Get(j.Unfinished(t.Context()))(t)
	assert.Equal(t, len(unfinished), 0, "still reported as unfinished: %+v", unfinished)
	r := must.Get(j.Record(t.Context(), id))(t)
	assert.That(t, r.ResumedBy != 0, "%+v", r)

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
				s.publish(s.from, numbered(n)...)
				c, j := s.client()
				done := s.act(c, n)
				undo := planUndo(t, c, j, done.JournalID, s.from, s.to)

				ctx, victim := s.victim(t, 100)
				must.Get(victim.Undo(ctx, undo, nil))(t)
				victim.Close()
				lastUncertain(t, j)
				resumed, account := wantResumed(t, s.path, s.from, s.to)
				t.Logf("%d done, %d arrived, %d unsent, %d undecided; %d moved", resumed.Done, resumed.Acks(), resumed.Unsent,
					len(resumed.Undecided), account.Moved)
				s.await(s.to, 0)
				wantOnce(t, s.drain(s.from, n), n)
			})
		})
	}
}

// An import that died continues after what is in the queue, and not with another file.
func TestResumeOfAnImport(t *testing.T) {
	forEachKind(t, func(t *testing.T, kind model.QueueType) {
		const n = 900
		a := newApp(t)
		q, path := a.queue("q", kind), journalPath(t)
		file := func(_ context.Context, _ string, each message.Visit) error {
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

		must.Get(journaledBy(t, d, false).Import(t.Context(), made, func(each message.Visit) error {
			sent := 0
			return file(t.Context(), "", func(m *message.Message) error {
				if sent++; sent > 600 {
					return errors.New("killed")
				}
				return each(m)
			})
		}, nil))(t)

		j := openJournal(t, path)
		c := journaledBy(t, j, false)
		last := lastRecord(t, j)
		must.That(t, last.Unfinished(), "%+v", last)
		want := resumeWant(c, j, must.Get(j.Chain(t.Context(), last.ID))(t))
		want.File = func(ctx context.Context, _ string, each message.Visit) error {
			return file(ctx, "", func(m *message.Message) error { m.Fingerprint[0]++; return each(m) })
		}
		other := must.Get(resume.Of(t.Context(), topology([]*model.Queue{q}), want))(t)
		assert.Contains(t, other.Refusal.Words(), "was changed since")
		run := planResume(t, c, j, last.ID, topology([]*model.Queue{q}), func(w *resume.Want) { w.File = file })
		must.Equal(t, len(run.Undecided), 0, "are undecided")
		account := must.Get(c.Resume(t.Context(), run, nil))(t)
		assert.Equal(t, account.Stopped, "", "%+v", account)
		assert.Equal(t, account.Moved, run.Planned())
		wantOnce(t, a.drain(q, n), n)
	})
}

// Of two resumes planned at the same time one runs, and the other is refused.
func TestResumeTwiceAtOnce(t *testing.T) {
	forEachKind(t, func(t *testing.T, kind model.QueueType) {
		const n = 600
		s, d := diedReplay(t, kind, n)
		errs := make(chan error, 2)
		var both []func()
		for range 2 {
			c, j := s.client()
			run := planResume(t, c, j, d, topology([]*model.Queue{s.from, s.to}))
			both = append(both, func() {
				_, err := c.Resume(context.Background(), run, nil)
				errs <- err
			})
		}

		for _, run := range both {
			go run()
		}

		var refused *plan.ClaimedError
		one, two := <-errs, <-errs
		assert.That(t, one == nil || two == nil, "%v, %v", one, two)
		must.That(t, errors.As(errors.Join(one, two), &refused), "%v, %v", one, two)
		assert.Equal(t, refused.State, plan.ClaimResumed)
		s.await(s.from, 0)
		wantOnce(t, s.drain(s.to, n), n)
	})
}

// diedReplay returns a replay that died halfway.
func diedReplay(t *testing.T, kind model.QueueType, n int) (s *undoRace, id int64) {
	t.Helper()
	s = newUndoRace(t, plan.Replay, kind)
	s.publish(s.from, numbered(n)...)
	made := replayTo(t, s.from, s.to, plan.Selection{})
	made.Mark = true
	ctx, victim := s.victim(t, n/6)
	must.Get(victim.Execute(ctx, made, nil))(t)
	_, j := s.client()
	return s, lastUncertain(t, j)
}

// victim returns a client whose journal dies after this many outcomes, and the context that ends then.
func (s *undoRace) victim(t *testing.T, outcomes int) (context.Context, *broker.Client) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	d := &dying{Journal: journal.New(journal.Options{Path: s.path}), outcomes: outcomes, end: cancel}
	return ctx, journaledBy(t, d, false)
}

// lastUncertain returns the last record's id, and wants it unfinished, with uncertain entries.
func lastUncertain(t *testing.T, j *journal.Journal) int64 {
	t.Helper()
	r := lastRecord(t, j)
	must.That(t, r.Unfinished(), "%+v", r)
	must.That(t, r.Uncertain() != 0, "%+v", r)
	return r.ID
}

// Messages that a consumer of the target may have taken are undecided; they stay unknown, or as chosen.
func TestResumeWithAConsumer(t *testing.T) {
	t.Parallel()
	for _, choice := range []resume.Choice{"", resume.PublishAgain, resume.LeaveThem} {
		t.Run(string(choice), func(t *testing.T) {
			s, c, j, id := forgottenReplay(t, 600)
			consumed := *s.to
			consumed.Consumers = build.Some(1)
			taken := s.drain(s.to, s.ready(s.to))
			run := planResume(t, c, j, id, topology([]*model.Queue{s.from, &consumed}),
				func(w *resume.Want) { w.Choice = choice })
			account := must.Get(c.Resume(t.Context(), run, nil))(t)
			must.Equal(t, account.Stopped, "", "%v", account)
			t.Logf("%d taken; %d done, %d unsent, %d undecided; %d moved", len(taken), run.Done, run.Unsent,
				len(run.Undecided), account.Moved)
			left := s.ready(s.from)

			switch choice {
			case "":
				assert.That(t, len(run.Undecided) > 0, "%d are left, %d undecided", left, len(run.Undecided))
				assert.Equal(t, left, len(run.Undecided))
				r := must.Get(j.Record(t.Context(), id))(t)
				assert.Equal(t, r.Uncertain(), len(run.Undecided), "%+v", r)
				assert.That(t, !r.Unfinished(), "%+v", r)
			case resume.PublishAgain:
				assert.Equal(t, left, 0, "are left")
			case resume.LeaveThem:
				r := must.Get(j.Record(t.Context(), id))(t)
				assert.Equal(t, r.Uncertain(), 0, "%d are left, %+v", left, r)
				assert.That(t, left > 0, "%d are left, %+v", left, r)
			}
		})
	}
}

// forgottenReplay returns a replay that died halfway, of a classic queue that has forgotten the last acknowledgements.
func forgottenReplay(t *testing.T, n int) (s *undoRace, c *broker.Client, j *journal.Journal, id int64) {
	t.Helper()
	s, id = diedReplay(t, model.Classic, n)
	c, j = s.client()
	var there []amqp.Publishing
	must.Do(t, j.Entries(t.Context(), id, func(e *plan.Entry) error {
		if e.Outcome == "" {
			there = append(there, numbered(e.Position)[e.Position-1])
		}
		return nil
	}))

	forgotten := there
	for _, d := range s.drain(s.from, s.ready(s.from)) {
		if !slices.ContainsFunc(forgotten, func(p amqp.Publishing) bool { return p.MessageId == d.MessageId }) {
			there = append(there, asPublished(d))
		}
	}

	s.publish(s.from, there...)
	return s, c, j, id
}

// wantResumedWhole resumes a replay, and wants each of its n messages in the target once.
func (s *undoRace) wantResumedWhole(t *testing.T, c *broker.Client, run resume.Run, n int) {
	t.Helper()
	account := must.Get(c.Resume(t.Context(), run, nil))(t)
	assert.Equal(t, account.Stopped, "", "%+v", account)
	s.await(s.from, 0)
	wantOnce(t, s.drain(s.to, n), n)
}

// Originals that the plan saw, and that another look holds during the run, do not count as gone. The next resume takes
// them out.
func TestResumeOfHeldOriginals(t *testing.T) {
	t.Parallel()
	const n = 600
	s, c, j, id := forgottenReplay(t, n)
	topology := topology([]*model.Queue{s.from, s.to})
	run := planResume(t, c, j, id, topology)
	must.That(t, run.Acks() > 0, "%+v", run)
	held := s.drain(s.from, s.ready(s.from))
	account := must.Get(c.Resume(t.Context(), run, nil))(t)
	assert.Contains(t, account.Stopped, "another look holds them")

	s.putBack(s.from, held)
	run = planResume(t, c, j, lastRecord(t, j).ID, topology)
	s.wantResumedWhole(t, c, run, n)
}

// A classic queue whose node was killed may have forgotten some acknowledgements, but not later ones (4.0.5).
func TestResumeOfSomeForgotten(t *testing.T) {
	t.Parallel()
	const n = 600
	s, c, j, id := forgottenReplay(t, n)
	held := s.drain(s.from, s.ready(s.from))
	s.putBack(s.from, slices.Delete(held, 3, 12))
	run := planResume(t, c, j, id, topology([]*model.Queue{s.from, s.to}))
	must.Equal(t, run.Done, 9, "%+v", run)
	must.That(t, run.Acks() > 3, "%+v", run)
	s.wantResumedWhole(t, c, run, n)
}

// Messages that a consumer holds may come back. A resume and an undo planned meanwhile do not count them as gone.
func TestPlanOfHeldOriginals(t *testing.T) {
	t.Parallel()
	const n = 600
	s, c, j, id := forgottenReplay(t, n)
	topology := topology([]*model.Queue{s.from, s.to})
	ready := s.ready(s.from)
	channel, held := s.consumer(s.from, ready)
	for range ready {
		<-held
	}

	want := resumeWant(c, j, must.Get(j.Chain(t.Context(), id))(t))
	want.Insist = false
	made, err := resume.Of(t.Context(), topology, want)
	must.Do(t, err)
	assert.That(t, made.Refusal.Overridable(), "%v", made.Refusal.Words())
	assert.Contains(t, made.Refusal.Words(), "may hold some")
	made = planResume(t, c, j, id, topology)
	assert.Equal(t, made.Done, 0, "are taken for done")
	_, err = plan.UndoWant{
		Record: must.Get(j.Record(t.Context(), id))(t), User: c.User(), Broker: c.Address(), Entries: entriesOf(j, id),
	}.Looked(t.Context(), topology, want.Reads)
	assert.Fails(t, err, "may hold them")
	must.Do(t, channel.Close())
	s.await(s.from, ready)

	run := planResume(t, c, j, id, topology, func(w *resume.Want) { w.Insist = false })
	s.wantResumedWhole(t, c, run, n)
}
