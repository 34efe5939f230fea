package plan

import (
	"errors"
	"fmt"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/model/peek"
)

// Reads is how an undo and a resume learn what the record does not say.
type Reads struct {
	// Look calls each with the messages of a queue. stopped is why some are missing, "" when none are.
	Look func(look peek.Plan, each func(*message.Message) error) (stopped string, err error)
	// Count counts queues exactly.
	Count func(refs []model.QueueRef) (map[model.QueueRef]model.QueueCounts, error)
}

// Whole calls each with every ready message of a queue. held is whether a consumer may hold others that could come
// back: no look shows those, and the statistics lag.
func (r Reads) Whole(look peek.Plan, each func(*message.Message) error) (held bool, stopped string, err error) {
	if stopped, err = r.Look(look, each); err != nil || stopped != "" {
		return false, stopped, err
	}
	counts, err := r.Count([]model.QueueRef{look.Queue})
	return counts[look.Queue].Consumers.Or(0) > 0, "", err
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

// Refusal is the overridable refusal that follows: it is unknown what is there.
func (e *UndoNotLooked) Refusal() Refusal { return Refusal{maybeThere(e.Messages)} }

// Looked adds the messages in the queue to want when it is uncertain whether the record's are among them, or
// acknowledgements may be lost. A look has a cost, so a plan that is made again reuses it. It does not look for what it
// cannot recognize. An error is an *UndoNotLooked, which insisting overrides, or comes from reading the entries.
func (w UndoWant) Looked(t *model.Topology, reads Reads) (UndoWant, error) {
	p, err := ForUndo(t, w)
	lost := w.Record.LostAcks(t, w.Record.From)
	if err != nil || p.Uncertain == 0 && lost == nil || w.Record.OtherPrints {
		return w, err
	}
	if err := w.Entries(func(e *Entry) error { lost.Recorded(e); return nil }); err != nil {
		return w, err
	}
	there := map[message.Fingerprint]int{}
	look := peek.ToDecide(t, w.Record.From, w.Insist, w.ReadOnly)
	held, stopped, err := reads.Whole(look, func(m *message.Message) error {
		there[m.Fingerprint]++
		lost.See(m)
		return nil
	})
	if held {
		err = errors.New("a consumer, or another look, may hold them now")
	}
	switch {
	case err != nil && !w.Insist && p.Uncertain > 0:
		return w, &UndoNotLooked{p.Uncertain, err}
	case err == nil && stopped == "":
		w.There = there
		w.Back, _ = lost.Back()
	}
	return w, nil
}

// PlanUndo plans how a record is undone, with exact counts of the queues whose limits matter. An error comes from
// reading the entries, or from counting.
func PlanUndo(t *model.Topology, want UndoWant, reads Reads) (UndoPlan, error) {
	p, err := ForUndo(t, want)
	if err != nil {
		return p, err
	}
	limited := p.Limited(t)
	if len(limited) == 0 {
		return p, nil
	}
	if want.Counts, err = reads.Count(limited); err != nil {
		return p, err
	}
	return ForUndo(t, want)
}
