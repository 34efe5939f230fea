package target

import (
	"slices"

	"github.com/dlxtop/dlxtop/model"
)

// MostOffered bounds how many queues a refusal names.
const MostOffered = 8

// choice is how the worker of a message is known.
type choice struct {
	clue    *Clue  // nil: by one of the flows of its queue
	against []Clue // weaker evidence for other workers
	problem model.Objection
}

// choose finds the worker of a message from, in this order: a framework's record, that of the application, x-death, its
// origin, its flow, the name of its queue. If two clues in the message itself disagree, nothing is chosen; neither is
// another worker when the message names a queue that is gone, or that is in another vhost. The buffer of its retries
// may lead to another one today.
func (r *replay) choose() choice {
	told := r.cluesIn()
	if r.Inside { // it is a part of the way to its workers: only a framework knows better
		if len(told) > 0 && told[0].Kind == ByFramework && !told[0].Gone {
			return choice{clue: &told[0]}
		}
		to := r.whenDue()
		if len(r.Workers) > 1 && len(to) == 1 && slices.Contains(r.Workers, to[0]) {
			return choice{clue: &Clue{Kind: ByRecord, Queue: to[0], Where: "its routing key"}}
		}
		if slices.Contains(to, r.From) && r.unrouted() {
			return unrouted(r.Message.Exchange)
		}

		// a queue named for failures or retries can hand on what a worker rejected to another one: it is no next step
		named := model.NamedForFailures(r.From.Name)
		rejected := len(told) > 0 && told[0].Kind == ByRejection && !told[0].Gone
		if named && rejected && !slices.Contains(r.Workers, told[0].Queue) {
			return r.refuse(cluesDisagree, told)
		}
		return choice{}
	}

	gaveUp := slices.ContainsFunc(told, func(c Clue) bool { return c.Kind == ByRejection && c.Gone })
	standing := model.Without(told, func(c Clue) bool {
		return c.Gone || c.Kind == ByRecord && !r.Works(c.Queue) || c.Kind == ByExpiry && gaveUp
	})

	ties := r.ties()
	others := func(c *Clue) []Clue {
		return model.Without(ties, func(tie Clue) bool { return tie.Queue == c.Queue || len(ties) > 1 })
	}
	brought := slices.ContainsFunc(told, func(c Clue) bool { return c.Passage.By != "" })
	stated := len(told) > 0 && told[0].Kind == ByFramework && !told[0].Topic // a topic need not be a queue

	disagree := slices.ContainsFunc(standing, func(c Clue) bool {
		return c.Queue != standing[0].Queue || c.Weak && len(r.Workers) > 0 && !slices.Contains(r.Workers, c.Queue)
	})
	if i := slices.IndexFunc(told, func(c Clue) bool { return c.Again }); i >= 0 {
		return choice{problem: existsAgain(told[i].Queue, r.Snapshot.Renamed[told[i].Renamed])}
	}

	switch {
	case brought, stated && told[0].Gone:
		return r.refuse(workerGone, told)
	case disagree:
		return r.refuse(cluesDisagree, told)
	case len(standing) > 0:
		gone := model.Without(told, func(c Clue) bool { return c.Kind != ByRecord || !c.Gone }) // other evidence weighs more
		return choice{clue: &standing[0], against: append(others(&standing[0]), gone...)}
	case gaveUp || slices.ContainsFunc(told, func(c Clue) bool { return c.Kind == ByRecord && !c.Topic }):
		// an existing queue got its own copies, or has replaced the one that is gone: both look the same
		return r.refuse(workerGone, told)
	}

	if origin := r.origin(); len(origin) == 1 && origin[0].Reaches == 1 {
		switch {
		case slices.Contains(r.Workers, origin[0].Queue): // the flow agrees
			return choice{clue: &origin[0]}
		case len(r.Workers) > 0 && !r.ByName:
			return r.refuse(cluesDisagree, told)
		}
		return choice{clue: &origin[0], against: others(&origin[0])}
	}

	switch {
	case r.unrouted():
		return unrouted(r.Message.Exchange)
	case r.ByName && len(told) > 0:
		return r.refuse(workerGone, told)
	case len(r.Workers) == 0:
		if key, ok := r.keyed(); ok && len(told) == 0 {
			return choice{clue: &key}
		}
		return r.refuse(noFlow, told)
	}

	if r.ByName && len(r.Workers) == 1 {
		return choice{clue: &ties[0]}
	}

	return choice{against: told} // for queues that are gone
}

// unrouted reports whether a message came by an alternate exchange from one that has no other way here.
func (r *replay) unrouted() bool {
	x, _ := r.Handing(model.ExchangeRef{VHost: r.From.VHost, Name: r.Message.Exchange})
	for b := range r.BindingsTo(r.From) {
		if b.Source == r.Message.Exchange {
			return false
		}
	}

	return x.Alternate != "" && len(r.Deaths) == 0
}

func unrouted(exchange string) choice {
	return choice{problem: model.Saidf("no queue took it, and the alternate exchange of %s led it here: name a target, "+
		"for example exchange:%[1]s/KEY", exchange)}
}

// ties returns the flows of the queue as clues.
func (t *Target) ties() (clues []Clue) {
	kind := ByFlow
	if t.ByName {
		kind = ByName
	}
	for _, worker := range t.Workers {
		clues = append(clues, Clue{Kind: kind, Queue: worker})
	}

	return clues
}

// refuse chooses nothing, and offers the possible queues: each once, with its strongest clue.
func (r *replay) refuse(why workerProblem, told []Clue) choice {
	o := NoWorker{Problem: why, Trace: r.trace()}
	clues := slices.Concat(told, r.origin(), r.ties())
	if why == noFlow {
		clues = append(clues, r.mentioned()...)
	}

	if d := r.FailingDeath(); len(clues) == 0 && d != nil && d.Reason == model.Rejected {
		clues = append(clues, r.locate(Clue{Kind: ByRejection, Queue: r.From.Beside(d.Queue), Reason: d.Reason}))
	}

	if !slices.ContainsFunc(clues, func(c Clue) bool { return !c.Gone }) {
		for _, ref := range r.Alike {
			clues = append(clues, Clue{Kind: ByLikeness, Queue: ref})
		}
	}

	for _, c := range clues {
		same := func(other Clue) bool { return other.Queue == c.Queue && other.Gone == c.Gone }
		if !slices.ContainsFunc(o.Clues, same) && len(o.Clues) < MostOffered {
			o.Clues = append(o.Clues, c)
		}
	}

	return choice{problem: o}
}
