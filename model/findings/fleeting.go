package findings

import (
	"strings"

	"github.com/dlxtop/dlxtop/model"
)

// fleeting are queues that RabbitMQ deletes for the same reason, and whose dead letters go to the same address.
type fleeting struct {
	vhost            string
	when             string
	evidence, remedy string
	level            Level
}

// findFleetingQueues finds queues that take what waits in them along when they are deleted, though their dead-letter
// exchange suggests that nothing is lost: RabbitMQ dead-letters nothing of a queue that is deleted (all versions). One
// finding is about all that are alike, as each pod of a service has its own.
func (t *checking) findFleetingQueues() {
	found := map[fleeting][]model.QueueRef{}
	var order []fleeting
	for q := range t.EachQueue() {
		q := queue{q, t.Settings(q.QueueRef)}
		if !q.DLX.Set || t.IsBuffer(q.QueueRef) || t.IsFailed(q.QueueRef) {
			continue
		}
		f, goes := goesWithMessages(q)
		if !goes {
			continue
		}
		if found[f] == nil {
			order = append(order, f)
		}

		found[f] = append(found[f], q.QueueRef)
	}

	for _, f := range order {
		refs := found[f]
		waiting := int64(0)
		for _, ref := range refs {
			q, _ := t.Queue(ref)
			waiting += q.Ready.Or(0) + q.Unacked.Or(0)
		}

		t.foundAt(refs[0], Finding{
			Code:  "messages-go-with-queue",
			Level: f.level,
			Message: spell("what waits in %v is lost %s: RabbitMQ deletes the queue with its messages, and dead-letters "+
				"none of them", refs, f.when),
			Evidence: model.Sayf("%s; holding %v message(s)", f.evidence, waiting),
			Remedy:   f.remedy,
		})
	}
}

// goesWithMessages says when RabbitMQ deletes a queue by itself; false if it does not.
func goesWithMessages(q queue) (f fleeting, goes bool) {
	f = fleeting{vhost: q.VHost}
	durable := "declare it durable, not %s, with a name that its next consumer knows"
	switch {
	case q.Exclusive:
		f.when = "when the connection that declared it ends"
		f.evidence = "declared exclusive"
		f.remedy = spell(durable, "exclusive")
	case q.AutoDelete:
		f.when = "when its last consumer ends"
		f.evidence = "declared auto-delete"
		f.remedy = spell(durable, "auto-delete")
	case q.Expires.Set:
		f.when = spell("when it has had no consumer for %s", q.Expires.Value)
		f.evidence, f.remedy = "expires "+q.Expires.String(), without(q.Expires.Source, "expires")
	default:
		return f, false
	}

	f.evidence += "; " + deadLettering(q.Settings)

	// A queue that the server named is mostly for answers: a policy for all queues does not mean it.
	if strings.HasPrefix(q.Name, "amq.") && q.DLX.Source.Kind != model.FromArgument {
		f.level = LevelInfo
	}

	return f, true
}
