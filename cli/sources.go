package cli

import (
	"context"
	"errors"
	"time"

	"github.com/dlxtop/dlxtop/cli/naming"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/action"
	"github.com/dlxtop/dlxtop/model/cause"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/model/peek"
	"github.com/dlxtop/dlxtop/model/plan"
	"github.com/dlxtop/dlxtop/model/planfile"
	"github.com/dlxtop/dlxtop/model/target"
)

// source is a queue that messages are taken from: what is wanted of it, and what was looked at.
type source struct {
	plan.ActionWant
	looked action.Sample
	wrong  plan.Refusal // why it could not be looked at, where others could
}

// sources are the queues that a user named.
func (s *session) sources(ctx context.Context, t *model.Topology, a *taking) ([]model.QueueRef, error) {
	if a.queues == "" {
		ref, err := s.findQueue(ctx, t, a.queue)
		return []model.QueueRef{ref}, err
	}

	refs, err := naming.Matching(a.queues, t.FailedQueues(), "failed queue")
	if err != nil {
		return nil, usage("%w", err)
	}
	for i, ref := range refs {
		if i > 0 && refs[i-1].VHost == ref.VHost {
			continue
		}
		if err := s.checkCluster(ctx, ref.VHost, t.Snapshot.Overview); err != nil {
			return nil, err
		}
	}

	return refs, nil
}

// lookAt looks at queues in turn. A limit is on all together: those after it was reached are left out.
func (s *session) lookAt(
	ctx context.Context, t *model.Topology, from []model.QueueRef, like plan.ActionWant, a *taking,
) (sources []source, err error) {
	planned, limit := 0, like.Selection.Limit
	for i, ref := range from {
		one := source{ActionWant: like}
		one.From = ref
		if limit > 0 && planned >= limit {
			s.note("--limit is reached: %v queue(s) not looked at", len(from)-i)
			break
		}
		one.Selection.Limit = max(limit-planned, 0)
		if one.Mode == target.ToExchange && a.file == nil && !a.given("key") {
			if one.Fixed, err = target.Split(t, ref, like.Fixed.Exchange); err != nil {
				return nil, usage("--to: %w", err)
			}
		}

		one.looked, err = s.sample(ctx, t, &one.ActionWant, a)
		var own *exit
		if len(from) > 1 && errors.As(err, &own) && own.status == ExitRefused {
			one.wrong, err = plan.Against("%s", err), nil
		}
		if err != nil {
			return nil, err
		}

		if a.file != nil {
			of := a.file.Want()
			one.Selection, one.Planned = of.Selection, of.Planned
		}
		planned += one.Planned
		sources = append(sources, one)
	}

	for one := range model.Each(sources) {
		if like.Over > 0 && len(sources) > 1 { // its share of the time
			one.Over = time.Duration(float64(like.Over) * float64(one.Planned) / float64(max(planned, 1)))
		}
	}

	return sources, s.findOthers(ctx, t, sources)
}

// planAll plans what is done with each queue. Copies of what an earlier one sends stay.
func (s *session) planAll(
	ctx context.Context, t *model.Topology, sources []source, a *taking,
) (all []*action.Messages, err error) {
	sent := plan.NewDoubles()
	if looked := len(sources) > 1 || sources[0].Sample != nil; looked && s.journal != nil && sources[0].SparesDoubles() {
		if sent, err = s.journal.Replayed(ctx, s.broker.Address(), t.Snapshot.Overview.ClusterName); err != nil {
			return nil, err
		}
	}

	for i := range sources {
		one := &sources[i]
		want := one.ActionWant
		if want.SparesDoubles() && want.Sample != nil {
			want.Sent = sent
		}
		made, err := s.plan(ctx, t, want)
		if err != nil {
			return nil, err
		}

		if one.wrong.Refused() {
			made.Refusal = one.wrong
		}
		if want.Sent != nil && i+1 < len(sources) && !made.Refusal.Refused() {
			sent.Expect(t, want)
		}
		if a.file != nil {
			a.file.Judge(&made, t, s.broker.Address(), a.found)
		}
		if a.dryRun || !a.agreed {
			made.WarnOfRights(ctx, t, s.broker.MayWrite)
		}

		all = append(all, &action.Messages{
			Run:       made.On(t),
			NoJournal: s.journal == nil,
			Undo:      "`dlxtop journal undo` undoes it",
			Sample:    one.looked,
		})
	}

	return all, nil
}

// plan makes the plan of an action, with exact counts of the queues whose limits decide what is lost there.
func (s *session) plan(ctx context.Context, t *model.Topology, want plan.ActionWant) (plan.Plan, error) {
	p := plan.New(t, want)
	err := ctx.Err()
	if err != nil {
		return p, err // messages that were not tried would stay
	}
	if want.Counts, err = s.counts(ctx, p.Counted(t)); err != nil || want.Counts == nil {
		return p, err
	}

	return plan.New(t, want), nil
}

// counts counts queues exactly; nil when there are none.
func (s *session) counts(ctx context.Context, refs []model.QueueRef) (model.CountsByQueue, error) {
	if len(refs) == 0 {
		return nil, nil
	}
	return s.broker.Count(ctx, refs)
}

// sampleSize is how many messages are peeked at before everything in a queue is acted on: enough to name who would
// receive them. A message that the sample did not foresee is refused one by one, never sent.
const sampleSize = 1000

// smallSample is how many messages a dry run peeks at where that counts towards a delivery limit, or an action that
// needs neither a question nor a sample: enough to name the usual recipients, and what is changed.
const smallSample = 100

// sample peeks at messages in order to say who would receive the selected ones, and completes want with them. Messages
// that are selected one by one are looked for in as much of the queue as a peek may read.
//
// In a script, an action that needs no sample uses a small one, and none where that is expensive: a quorum queue first
// delivers what an earlier look returned, and all of it must be taken to keep its order.
func (s *session) sample(
	ctx context.Context, t *model.Topology, want *plan.ActionWant, c *taking,
) (looked action.Sample, err error) {
	want.Mend = want.Mend.Within(ctx, s.JQ)

	oneByOne := want.Selection.OneByOne()
	limit := want.Selection.Limit
	peeking := peek.Want{Limit: sampleSize, Insist: want.Insist, Decides: !c.dryRun}
	acquire := peek.For(t, want.From, peeking)

	unread := c.agreed && !c.dryRun && !want.NeedsLook()
	switch {
	case acquire.Counts && !want.NeedsLook(), unread && acquire.Type == model.Quorum:
		return s.withoutLook(ctx, t, want, acquire.Counts, !c.dryRun)
	case oneByOne:
		peeking.Limit = peek.MostLook
	case want.Mend != nil: // the number of changed messages is wanted for all
		peeking.Limit = peek.MostLook
		if limit > 0 {
			peeking.Limit = min(limit, peek.MostLook)
		}
	case limit > 0:
		peeking.Limit = min(limit, sampleSize)
	}

	if acquire.Counts && c.dryRun && !oneByOne || unread {
		peeking.Limit = min(peeking.Limit, smallSample)
	}

	peeked, err := s.peek(ctx, t, want.From, peeking)
	if err != nil {
		return looked, err
	}
	peek.Note(t.Snapshot, &peeked)
	around := s.look(ctx, t, want.From, peeked.Messages)
	want.Selection.Filter = around.Filter(want.Selection.Filter).Within(ctx)
	selection := want.Selection
	looked = action.Sample{Messages: peeked.Messages.Len(), Depth: peeked.Depth, Limit: peeked.Plan.Budget}
	if left, counts := peeked.LooksLeft(); counts {
		looked.Left = model.Some(left)
	}

	depth := int(peeked.Depth.Or(int64(looked.Messages)))
	looked.Complete = peeked.Stopped == "" && looked.Messages >= depth && looked.Messages < peeking.Limit

	picker := selection.Picker(want.From)
	chosen := message.Twins{}
	picked, err := pickOf(ctx, peeked.Messages, 0, picker, func(m *message.Message) {
		if selection.Cause != "" && looked.Cause == "" {
			looked.Cause = model.Printable(cause.Of(want.From, m).String())
		}
		chosen[m.Fingerprint]++
	})
	if err != nil {
		return looked, err
	}
	s.tellLacking(selection.Filter)
	want.Sample = picked
	looked.Complete = looked.Complete || picker.Done()
	if c.file != nil {
		now := c.file.Later()
		now.Filter = around.Filter(now.Filter).Within(ctx)
		later, err := pickOf(ctx, peeked.Messages, 0, now.Picker(want.From), func(*message.Message) {})
		if err != nil {
			return looked, err
		}
		c.found = planfile.Found{Messages: picked.Len(), Complete: looked.Complete, Later: later.Len()}
	}

	want.Planned = picked.Len()
	if oneByOne && looked.Complete { // the user agrees to these, however long reading takes
		want.Selection.Fingerprints = chosen
		looked.Frozen = plan.Frozen{At: peeked.TakenAt, Depth: peeked.Depth}
	}

	if !oneByOne {
		want.Planned = depth
		if limit > 0 {
			want.Planned = min(limit, depth)
		}
		looked.Complete = looked.Complete || looked.Messages >= want.Planned
	}

	return looked, nil
}

// findOthers finds out what others do with queues in which a look has found nothing to act on, or, by the statistics,
// hold beside what was selected.
func (s *session) findOthers(ctx context.Context, t *model.Topology, sources []source) error {
	var left []plan.Left
	for one := range model.Each(sources) {
		q, there := t.Queue(one.From)
		switch {
		case !there || q.Type == model.Stream || !one.looked.Complete || one.wrong.Refused():
			continue
		case one.Planned == 0:
			left = append(left, plan.Left{Queue: one.From, Type: q.Type, Ready: int64(one.looked.Messages)})
			continue
		case one.Selection.ByContent():
			one.looked.Others.Unacked = heldByConsumers(q)
		}

		if n := one.looked.Others.Unacked; n > 0 {
			s.note("consumers hold up to %v more message(s) of the queue (unacknowledged), which no look sees: those "+
				"that match stay", n)
		}
	}

	if len(left) == 0 {
		return nil
	}

	said := make(chan bool)
	timer := time.AfterFunc(soon, func() {
		of := model.Plural(len(left), "queue")
		if len(left) == 1 {
			of = model.Printable(left[0].Queue.Name)
		}
		s.note("nothing matches so far; it waits for up to 7 s until RabbitMQ has counted what others hold of %s", of)
		close(said)
	})

	others, err := s.broker.Others(ctx, left)
	if !timer.Stop() {
		<-said
	}
	for i := range sources {
		if found, looked := others[sources[i].From]; looked {
			sources[i].looked.Others = found
		}
	}

	return err
}

// soon is when a wait is announced.
const soon = 500 * time.Millisecond

// withoutLook completes want with only the number of messages. decides: an action follows.
func (s *session) withoutLook(
	ctx context.Context, t *model.Topology, want *plan.ActionWant, costs, decides bool,
) (looked action.Sample, err error) {
	counted, err := s.broker.CountInTurn(ctx, want.From, decides)
	depth := counted[want.From].Ready
	if _, there := counted[want.From]; err == nil && there && !depth.Known() {
		err = model.Errorf("count %v: %w", want.From, model.ErrQueueSilent)
	}
	if err != nil {
		return looked, err
	}
	want.Planned = int(depth.Or(0))
	if limit := want.Selection.Limit; limit > 0 {
		want.Planned = min(want.Planned, limit)
	}

	looked = action.Sample{Depth: depth, Complete: true, Saved: true, Counts: costs}
	if left, limit, _, told := peek.LooksLeftOf(t, want.From); told {
		looked.Left = model.Some(left)
		looked.Limit = limit
	}

	return looked, nil
}
