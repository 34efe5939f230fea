package plan

import (
	"cmp"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/loss"
	"github.com/dlxtop/dlxtop/model/message"
)

// GoneWhy is what may have happened to messages that are no longer where they were sent.
type GoneWhy string

// The reasons. If a limit has dropped messages, the journal may have them whole.
const (
	// A consumer took them, or they expired.
	GoneTaken GoneWhy = ""
	// Only the queue's limit can have dropped them: the journal brings them back.
	GoneLimit GoneWhy = "limit"
	// A consumer took them, or RabbitMQ holds them back until the time in their header.
	GoneWaits GoneWhy = "waits"
	// A consumer took them, the queue's limit dropped them, or a second failure lost them.
	GoneEither GoneWhy = "either"
	// The same, and the journal does not have all of them whole.
	GoneUnkept GoneWhy = "unkept"
	// The same, and the user insisted on bringing them back from the journal.
	GoneInsists GoneWhy = "insists"
)

// Restores reports whether those that are gone come back from the journal.
func (g GoneWhy) Restores() bool { return g == GoneLimit || g == GoneInsists }

const (
	lostThere = "taken by a consumer, expired, or lost there: dropped by a limit, or a dead letter that reaches no queue"
	keptBack  = "taken by a consumer, expired, or kept back by RabbitMQ until the time in " + message.DeliveryTimeHeader
	noUndo    = "that cannot be undone"
)

// goneWords say what may have happened, what can be done about it, and what a plan warns of: the queue is 1, its
// consumers are 2.
var goneWords = map[GoneWhy]struct{ happened, next, warning string }{
	GoneTaken: {
		"taken by a consumer, or expired", noUndo, "%[2]s on %[1]s: messages taken from there cannot be brought back",
	},
	GoneLimit: {"dropped by the limit of the queue", noUndo, ""},
	GoneWaits: {
		keptBack, "undo once more when that time has come", "messages that are not found in %[1]s were " + keptBack,
	},
	GoneEither: {
		lostThere, "undo and insist, and the journal brings them back, twice where a consumer has taken them",
		"messages no longer in %[1]s were taken by a consumer, or lost there: insist, and the journal brings back all " +
			"that is not found",
	},
	GoneUnkept: {lostThere, noUndo, "messages no longer in %[1]s were taken by a consumer, or lost there"},
	GoneInsists: {
		lostThere, noUndo, "messages no longer in %[1]s come back from the journal: those that a consumer or its " +
			"dead-letter exchange has taken exist twice",
	},
}

func (g GoneWhy) Words() string { return goneWords[g].happened }

func (g GoneWhy) Next() string { return goneWords[g].next }

// goneWhy decides what may have happened to messages that are no longer in a queue. A queue that drops its oldest
// messages may have dropped them, and one that loses copies which fail again may have lost them. Otherwise it is
// unlikely that they were taken if the queue is still full, has no consumers, had no acknowledgements, nothing expires,
// and no dead-letter exchange has moved them on.
func goneWhy(t *model.Topology, ref model.QueueRef, took *taking, want *UndoWant) GoneWhy {
	s := t.Settings(ref)
	loses := s.DropsHead() || len(loss.Limited(t, loss.Behind(t, ref))) > 0
	for key := range took.keys {
		_, lost := t.DeadEnd(ref, []string{key}, nil)
		loses = loses || lost
	}

	if !loses {
		if in := want.Record.Intent; in != nil && in.KeepDelay {
			return GoneWaits
		}
		return GoneTaken
	}

	if took.unkept {
		return GoneUnkept
	}
	q, _ := t.Queue(ref)
	consumers := cmp.Or(want.Counts[ref].Consumers, q.Consumers)
	untaken := consumers.Or(1) == 0 && q.Acked.Or(0) == 0 && q.DeliveredNoAck.Or(0) == 0
	one := loss.Arrivals{Messages: 1, Sizes: []int64{took.largest}}
	full := loss.OfLimit(t, ref, one, want.Counts)
	stays := untaken && !s.TTL.Set && !s.DLX.Set
	switch {
	case stays && full != nil && full.Holds.Known():
		return GoneLimit
	case want.Insist:
		return GoneInsists
	}

	return GoneEither
}

// Gone returns what may have happened to messages that are no longer where they were sent.
func (p *UndoPlan) Gone() GoneWhy {
	var why GoneWhy
	for i := range p.Takes {
		if g := p.Takes[i].Undoing.Gone; why == GoneTaken || g == GoneEither || g == GoneUnkept {
			why = g
		}
	}

	return why
}

// limits works out what the limit of the target queue drops or refuses and what loses messages that leave it again, and
// refuses the undo, unless the user insisted.
func (b *undoBuilder) limits(t *model.Topology, want *UndoWant) {
	p := b.plan
	a := loss.Arrivals{Messages: p.Planned(), Sizes: b.sizes, Mean: loss.MeanSize(t, p.Back), AtMost: len(p.Takes) > 0}
	for i := range p.Takes {
		if mean := loss.MeanSize(t, p.Takes[i].From); mean.Or(0) > a.Mean.Or(0) {
			a.Mean = mean
		}
	}

	p.receive(t, p.Back, a, want.Counts)
	p.judge(inJournalOnly, want.Insist)
}

// Limited returns the queues of the plan that have a limit and that can be counted exactly: UndoWant.Counts.
func (p *UndoPlan) Limited(t *model.Topology) []model.QueueRef {
	refs := []model.QueueRef{p.Back}
	for i := range p.Takes {
		refs = append(refs, p.Takes[i].From)
	}
	return loss.Limited(t, refs)
}
