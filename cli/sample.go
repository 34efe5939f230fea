package cli

import (
	"context"
	"fmt"

	"github.com/dlxtop/dlxtop/cli/report"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/cause"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/model/peek"
	"github.com/dlxtop/dlxtop/model/plan"
)

// sampleSize is how many messages are looked at before everything in a queue is acted on: enough to name who would
// receive them. What the sample did not foresee is refused message by message, never sent.
const sampleSize = 1000

// smallSample is how many a dry run looks at where that counts towards a delivery limit, and an action that goes on by
// itself and needs no sample: enough to name the usual recipients, and what is changed.
const smallSample = 100

// sample looks at messages in order to say who would receive the chosen ones, and completes want with them. Messages
// that are chosen one by one are looked for in as much of the queue as a look may read.
//
// With nobody to read it, an action that needs no sample makes do with a small one, and goes without where that costs
// much: a quorum queue gives what it got back from an earlier look out first, and all of it has to be taken so that it
// keeps its order.
func (s *session) sample(
	ctx context.Context, t *model.Topology, want *plan.ActionWant, c consent,
) (report.Look, error) {
	want.Selection.Filter, want.Mend = want.Selection.Filter.Within(ctx), want.Mend.Within(ctx)
	selection := want.Selection
	oneByOne := selection.ByContent()
	peeking := peek.Want{Limit: sampleSize, Insist: want.Insist}
	acquire := peek.For(t, want.From, peeking)
	unread := c.agreed && !c.dryRun && !want.NeedsLook()
	switch {
	case acquire.Counts && !want.NeedsLook(), unread && acquire.Type == model.Quorum:
		return s.withoutLook(ctx, t, want, acquire.Counts)
	case oneByOne:
		peeking.Limit = peek.MostLook
	case want.Mend != nil: // how many it changes is wanted of all
		peeking.Limit = peek.MostLook
		if selection.Limit > 0 {
			peeking.Limit = min(selection.Limit, peek.MostLook)
		}
	case selection.Limit > 0:
		peeking.Limit = min(selection.Limit, sampleSize)
	}
	if acquire.Counts && c.dryRun && !oneByOne || unread {
		peeking.Limit = min(peeking.Limit, smallSample)
	}
	peeked, err := s.peek(ctx, t, want.From, peeking)
	if err != nil {
		return report.Look{}, err
	}
	peek.Note(t.Snapshot, &peeked)
	looked := report.Look{Messages: peeked.Messages.Len(), Depth: peeked.Depth, Limit: peeked.Plan.Budget}
	if left, counts := peeked.LooksLeft(); counts {
		looked.Left = model.Some(left)
	}
	depth := int(peeked.Depth.Or(int64(looked.Messages)))
	looked.Complete = peeked.Stopped == "" && looked.Messages >= depth && looked.Messages < peeking.Limit

	picker := selection.Picker(want.From)
	chosen := map[message.Fingerprint]int{}
	picked, err := pickOf(ctx, peeked.Messages, 0, picker, func(m *message.Message) {
		if selection.Cause != "" && looked.Cause == "" {
			looked.Cause = model.Printable(cause.Of(want.From, m).String())
		}
		chosen[m.Fingerprint]++
	})
	if err != nil {
		return report.Look{}, err
	}
	want.Sample = picked
	looked.Complete = looked.Complete || picker.Done()
	want.Planned = picked.Len()
	if oneByOne && looked.Complete { // who reads it agrees to these, however long that takes
		want.Selection.Fingerprints = chosen
		looked.Frozen = plan.Frozen{At: peeked.TakenAt, Depth: peeked.Depth}
	}
	if !oneByOne {
		want.Planned = depth
		if selection.Limit > 0 {
			want.Planned = min(selection.Limit, depth)
		}
		looked.Complete = looked.Complete || looked.Messages >= want.Planned
	}
	return looked, nil
}

// withoutLook completes want with the number of messages alone.
func (s *session) withoutLook(
	ctx context.Context, t *model.Topology, want *plan.ActionWant, costs bool,
) (report.Look, error) {
	counted, err := s.broker.Count(ctx, []model.QueueRef{want.From})
	depth := counted[want.From].Ready
	if _, there := counted[want.From]; err == nil && there && !depth.Known() {
		err = fmt.Errorf("count %s: %w", model.Printable(want.From.String()), model.ErrQueueSilent)
	}
	if err != nil {
		return report.Look{}, err
	}
	want.Planned = int(depth.Or(0))
	if limit := want.Selection.Limit; limit > 0 {
		want.Planned = min(want.Planned, limit)
	}
	looked := report.Look{Depth: depth, Complete: true, Saved: true, Counts: costs}
	if left, limit, _, told := peek.LooksLeftOf(t, want.From); told {
		looked.Left, looked.Limit = model.Some(left), limit
	}
	return looked, nil
}
