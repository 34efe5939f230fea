package broker_test

import (
	"slices"
	"strings"
	"testing"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/dlxtop/dlxtop/broker"
	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/journal"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/plan"
	"github.com/dlxtop/dlxtop/model/resume"
)

// forgottenReplay is a replay that died halfway, of a classic queue that has forgotten the last acknowledgements.
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
	account, err := c.Resume(t.Context(), run, nil)
	assert.That(t, err == nil && account.Stopped == "", "%+v %v", account, err)
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
	made, run := planResume(t, c, j, id, topology)
	must.That(t, made.Acks() > 0, "%+v", made)
	held := s.drain(s.from, s.ready(s.from))
	account, err := c.Resume(t.Context(), run, nil)
	assert.That(t, err == nil && strings.Contains(account.Stopped, "another look holds them"), "%+v %v", account, err)
	for _, d := range held {
		s.publish(s.from, asPublished(d))
	}
	_, run = planResume(t, c, j, lastRecord(t, j).ID, topology)
	s.wantResumedWhole(t, c, run, n)
}

// A classic queue whose node was killed may have forgotten some acknowledgements, but not later ones (4.0.5).
func TestResumeOfSomeForgotten(t *testing.T) {
	t.Parallel()
	const n = 600
	s, c, j, id := forgottenReplay(t, n)
	for i, d := range s.drain(s.from, s.ready(s.from)) {
		if i < 3 || i >= 12 {
			s.publish(s.from, asPublished(d))
		}
	}
	made, run := planResume(t, c, j, id, topology([]*model.Queue{s.from, s.to}))
	must.That(t, made.Done == 9 && made.Acks() > 3, "%+v", made)
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
	record := must.Get(j.Record(t.Context(), id))(t)
	want := resumeWant(t.Context(), c, j, must.Get(j.Chain(t.Context(), id))(t))
	want.Insist = false
	made, err := resume.Of(topology, want)
	assert.That(t, err == nil && made.Refusal.Overridable() && strings.Contains(made.Refusal.Words(), "may hold some"),
		"%v %v", err, made.Refusal.Words())
	made, _ = planResume(t, c, j, id, topology)
	assert.Equal(t, made.Done, 0, "are taken for done")
	_, err = plan.UndoWant{
		Record: record, User: c.User(), Broker: c.Address(), Entries: entriesOf(j, id),
	}.Looked(topology, want.Reads)
	assert.That(t, err != nil && strings.Contains(err.Error(), "may hold them"), "%v", err)
	must.Do(t, channel.Close())
	s.await(s.from, ready)

	_, run := planResume(t, c, j, id, topology, func(w *resume.Want) { w.Insist = false })
	s.wantResumedWhole(t, c, run, n)
}
