package find

import (
	"strings"

	"github.com/dlxtop/dlxtop/model"
)

// Reason is why some queues were not read, or not to their end.
type Reason struct {
	Why      string
	Queues   []model.QueueRef
	Messages model.Opt[int64] // in all of them; unknown when it is for one of them
	Costly   bool             // only the cost of peeking is against it
}

// Reasons groups what was not read by reason, in the order of the first queue of each.
func Reasons(missed []NotRead) []Reason {
	var all []Reason
	at := map[string]int{}
	for _, n := range missed {
		i, known := at[n.Why]
		if !known {
			i = len(all)
			at[n.Why] = i
			all = append(all, Reason{Why: n.Why, Messages: model.Some[int64](0), Costly: n.Costly})
		}
		r := &all[i]
		r.Queues = append(r.Queues, n.Queue)
		if sum, known := r.Messages.Get(); known && n.Messages.Known() {
			r.Messages = model.Some(sum + n.Messages.Or(0))
		} else {
			r.Messages = model.Unknown[int64]()
		}
	}
	return all
}

// Words are "12 messages of orders and 3 more queues: a look has a cost: …". They are not printable.
func (r *Reason) Words() string {
	const named = 3
	var names []string
	for _, q := range r.Queues[:min(named, len(r.Queues))] {
		names = append(names, q.String())
	}
	words := strings.Join(names, ", ")
	if more := len(r.Queues) - named; more > 0 {
		words += " and " + model.Plural(more, "more queue")
	}
	if n, known := r.Messages.Get(); known {
		words = model.Plural(n, "message") + " of " + words
	}
	return words + ": " + r.Why
}
