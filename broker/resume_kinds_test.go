package broker_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/dlxtop/dlxtop/broker"
	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/journal"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/model/plan"
	"github.com/dlxtop/dlxtop/model/resume"
)

// dying is a journal whose program is as good as killed from some moment on: what it writes after that is not there.
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

// wantResumed goes on with the last record, and wants that to be all.
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
	assert.That(t, err == nil && len(unfinished) == 0, "still told as unfinished: %+v %v", unfinished, err)
	r, err := j.Record(t.Context(), id)
	assert.That(t, err == nil && r.ResumedBy != 0 && !r.Unfinished(), "%+v %v", r, err)
	return made, account
}

// TestResumeOfAnUndo: an undo that died goes on, and brings back each message once: from the journal, and from where
// a replay had sent it.
func TestResumeOfAnUndo(t *testing.T) {
	t.Parallel()
	for _, operation := range both {
		forEachKind(t, func(t *testing.T, kind model.QueueType) {
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
				t.Logf(
					"%d done, %d arrived, %d unsent, %d undecided; %d moved",
					resumed.Done,
					resumed.Acks(),
					resumed.Unsent,
					len(resumed.Undecided),
					account.Moved,
				)
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

// TestResumeOfAnImport: an import that died goes on behind what is in the queue, and not with another file.
func TestResumeOfAnImport(t *testing.T) {
	t.Parallel()
	forEachKind(t, func(t *testing.T, kind model.QueueType) {
		const n = 900
		a := newApp(t)
		q := described(a.queue("q", kind), kind)
		path := filepath.Join(t.TempDir(), "journal.db")
		file := func(_ string, each func(*message.Message) error) error {
			for i := range n {
				m := message.Message{
					Properties: message.Properties{MessageID: fmt.Sprint(i + 1)}, Body: []byte("body"),
					BodyBytes: 4,
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

// TestResumeTwiceAtOnce: of two resumes planned at the same time one goes on, and the other is refused.
func TestResumeTwiceAtOnce(t *testing.T) {
	t.Parallel()
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
			chain, err := j.Chain(t.Context(), d)
			must.Do(t, err)
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

// diedReplay is a replay that died in its middle.
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

// TestResumeWithAConsumer: what a consumer of the target may have taken is not decided; it stays unknown, or as is
// chosen.
func TestResumeWithAConsumer(t *testing.T) {
	t.Parallel()
	for _, choice := range []resume.Choice{"", resume.PublishAgain, resume.LeaveThem} {
		t.Run(string(choice), func(t *testing.T) {
			const n = 600
			s, id := diedReplay(t, model.Classic, n)
			c, j := s.client()
			var forgotten []amqp.Publishing // as if the last acknowledgements had not arrived
			must.Do(t, j.Entries(t.Context(), id, func(e *plan.Entry) error {
				if e.Outcome == "" {
					forgotten = append(forgotten, numbered(e.Position)[e.Position-1])
				}
				return nil
			}))
			rest := s.drain(s.from.QueueRef, s.ready(s.from.QueueRef))
			there := forgotten
			for _, d := range rest {
				if !slices.ContainsFunc(forgotten, func(p amqp.Publishing) bool { return p.MessageId == d.MessageId }) {
					there = append(there, asPublished(d))
				}
			}
			s.publish(s.from.QueueRef, there...)
			chain, err := j.Chain(t.Context(), id)
			must.Do(t, err)
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
			t.Logf(
				"%d taken; %d done, %d unsent, %d undecided; %d moved",
				len(taken),
				made.Done,
				made.Unsent,
				len(made.Undecided),
				account.Moved,
			)
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
