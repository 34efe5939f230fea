package resume

import (
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/plan"
)

// Barred returns why a topology alone refuses the resume, whatever a look would find.
func (q *Inquiry) Barred(t *model.Topology) plan.Refusal {
	want := &q.want
	if len(want.Chain) == 0 {
		return nil
	}
	last := want.Last()
	for r := range model.Each(want.Chain) {
		if r.Undone > 0 {
			return plan.Against("%d was undone: replay or drop what is there again", r.ID)
		}
	}

	from := queueOf(last)
	here := t.Snapshot.Overview.ClusterName
	_, exists := t.Queue(from)
	switch {
	case last.Operation == plan.Rescue:
		return plan.Against("%d is a rescue: `dlxtop journal undo %[1]d` brings back what has no confirmed copy", last.ID)
	case last.Running:
		return plan.Refusal{plan.StillRuns(last)}
	case !last.On(want.Broker, here) && !want.Insist:
		return plan.Refusal{plan.DoneElsewhere(last, want.Broker, here, "")}
	case !exists:
		return plan.Against("there is no queue %s here any more: declare it again, or look at its vhost", from)
	}

	return nil
}

// heldElsewhere refuses a plan while messages of the source may be out of sight: the rest would miss them.
func heldElsewhere(source model.QueueRef) plan.Refusal {
	held := model.Saidf("a consumer of %s, or another look, may hold some of its messages, or has just given them back: "+
		"what became of those that were not found is undecided; resume it when nothing consumes the queue", source)
	return plan.Refusal{held.Insisting("goes on without what is held: it stays unknown, or is left")}
}

// otherPrints refuses a record whose messages cannot be recognized, and says what to do instead.
func otherPrints(r *plan.Record) plan.Refusal {
	queue := queueOf(r)
	instead := model.Sayf("look which of those left in %s are not where they were sent to (`dlxtop journal show %d`), "+
		"and %s those", queue, r.ID, r.Operation)
	switch {
	case r.Undoes > 0:
		instead = model.Sayf("`dlxtop journal undo %d` begins again", r.Undoes)
	case r.Operation == plan.Import:
		instead = model.Sayf("look which messages of the file are in %s, and import the others", queue)
	case r.Operation == plan.Drop:
		instead = model.Sayf("look which of them are left in %s, and drop those", queue)
	}

	return plan.Against("the messages of the %s %d cannot be recognized: an earlier version made their fingerprints in "+
		"another way; %s", r.Operation, r.ID, instead)
}
