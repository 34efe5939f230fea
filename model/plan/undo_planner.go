package plan

import (
	"context"
	"errors"
	"fmt"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/model/peek"
)

// Reads is the broker from which an undo and a resume learn what the record does not say.
type Reads interface {
	// Read calls each with the messages of a queue.
	Read(ctx context.Context, look peek.Plan, each message.Visit) (peek.Read, error)
	// Count counts queues exactly.
	Count(ctx context.Context, refs []model.QueueRef) (model.CountsByQueue, error)
	// Others are what others do with the queues, while no dlxtop of this machine looks at them; nil: only Count shows it.
	Others(ctx context.Context, left []Left) (map[model.QueueRef]Others, error)
}

// Others are the other programs at a queue, except dlxtop's on this machine.
type Others struct {
	Hold      bool             // they hold messages, or have just given some back: what was not found may be there
	Unacked   int64            // of what they hold, what the statistics show
	Consumers model.Opt[int64] // now
}

// Words say that an action which found nothing to act on may have missed something.
func (o Others) Words() string {
	if o.Unacked == 0 {
		return "others have just given messages of the queue back, or new ones have come: run it again"
	}

	return model.Sayf("others hold %v message(s) of the queue (unacknowledged), which no look sees: run it again when "+
		"they have ended", o.Unacked)
}

// Left is what a look or an action has found in a queue, or left there.
type Left struct {
	Queue   model.QueueRef
	Type    model.QueueType
	Ready   int64 // messages
	Changed bool  // just now, by the action itself
}

// Whole calls each with every ready message of a queue. others.Hold is also set where a consumer may hold messages that
// could come back: no look shows those. stopped is why some are missing, "" when none are.
func Whole(
	ctx context.Context, r Reads, look peek.Plan, each message.Visit,
) (others Others, stopped string, err error) {
	found := int64(0)
	read, err := r.Read(ctx, look, func(m *message.Message) error {
		found++
		return each(m)
	})

	if err != nil || read.Stopped != "" {
		return others, read.Stopped, err
	}
	others, err = OthersAt(ctx, r, look, found)
	others.Hold = others.Hold || others.Consumers.Or(0) > 0
	return others, "", err
}

// OthersAt returns what others do with a queue in which a look has found that many messages.
func OthersAt(ctx context.Context, r Reads, look peek.Plan, found int64) (Others, error) {
	others, err := r.Others(ctx, []Left{{Queue: look.Queue, Type: look.Type, Ready: found}})
	if err != nil || others != nil {
		return others[look.Queue], err
	}
	counts, err := r.Count(ctx, []model.QueueRef{look.Queue})
	return Others{Consumers: counts[look.Queue].Consumers}, err
}

// UndoNotLooked is the error of a failed look for messages that may be in their queue already.
type UndoNotLooked struct {
	Messages int // those that may be there
	Err      error
}

func (e *UndoNotLooked) Error() string {
	return fmt.Sprintf("look whether messages are there already: %v", e.Err)
}

func (e *UndoNotLooked) Unwrap() error { return e.Err }

// Refusal returns the overridable refusal that follows: it is unknown what is there.
func (e *UndoNotLooked) Refusal() Refusal { return Refusal{maybeThere(e.Messages)} }

// Looked adds the messages in the queue to want when it is uncertain whether the record's are among them, or
// acknowledgements may be lost. A look has a cost, so a plan that is made again reuses it. It does not look for what it
// cannot recognize. An error is an *UndoNotLooked, which insisting overrides, or comes from reading the entries.
func (w UndoWant) Looked(ctx context.Context, t *model.Topology, reads Reads) (UndoWant, error) {
	p, err := ForUndo(t, w)
	lost := w.Record.LostAcks(t, w.Record.From)
	if err != nil || p.Uncertain == 0 && lost == nil || w.Record.OtherPrints {
		return w, err
	}
	var recorded []int
	err = w.Entries(func(e *Entry) error {
		if lost.Recorded(e) {
			recorded = Last(recorded, e.Position)
		}
		return nil
	})
	if err != nil {
		return w, err
	}

	there := message.Twins{}
	look := peek.ToDecide(t, w.Record.From, w.Insist, w.ReadOnly)
	others, stopped, err := Whole(ctx, reads, look, func(m *message.Message) error {
		there[m.Fingerprint]++
		lost.See(m)
		return nil
	})

	if others.Hold {
		err = errors.New("a consumer, or another look, may hold them now, or has just given them back: they are undecided")
	}

	switch {
	case err != nil && !w.Insist && p.Uncertain > 0:
		return w, &UndoNotLooked{p.Uncertain, err}
	case err == nil && stopped == "":
		w.There = there
		back, _ := lost.Back()
		w.Back = recorded[len(recorded)-len(back):]
	}

	return w, nil
}

// PlanUndo plans how a record is undone, with exact counts of the queues whose limits matter. An error comes from
// reading the entries, or from counting.
func PlanUndo(ctx context.Context, t *model.Topology, want UndoWant, reads Reads) (UndoPlan, error) {
	p, err := ForUndo(t, want)
	if err != nil {
		return p, err
	}
	limited := p.Limited(t)
	if len(limited) == 0 {
		return p, nil
	}
	if want.Counts, err = reads.Count(ctx, limited); err != nil {
		return p, err
	}

	return ForUndo(t, want)
}
