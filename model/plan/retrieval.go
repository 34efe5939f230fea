package plan

import (
	"cmp"
	"errors"
	"slices"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/message"
)

// Undoing is the part of a record that one execution takes back from a queue: what was sent there.
type Undoing struct {
	Record int64          // that is taken back
	Back   model.QueueRef // the queue that the messages go back to
	User   string         // the connected user
	Sent   []Entry        // by their positions
	Known  []int64        // as a Claim has it
	Gone   GoneWhy        // what may have become of those that are not in the queue any more
}

// Claim is what this undo asks for before it begins.
func (u *Undoing) Claim() Claim {
	c := Claim{Known: u.Known}
	for i := range u.Sent {
		c.Positions = append(c.Positions, u.Sent[i].Position)
	}
	return c
}

// chosen are the messages to look for, with how many twins of each.
func (u *Undoing) chosen() map[message.Fingerprint]int {
	chosen := make(map[message.Fingerprint]int, len(u.Sent))
	for i := range u.Sent {
		chosen[u.Sent[i].Sent.Fingerprint]++
	}
	return chosen
}

// Granted is the part of a plan that an undo was given.
func (p *Plan) Granted(positions []int) Plan {
	given := make(map[int]bool, len(positions))
	for _, position := range positions {
		given[position] = true
	}
	undoing, out := *p.Undoing, *p
	undoing.Sent = nil
	for _, e := range p.Undoing.Sent {
		if given[e.Position] {
			undoing.Sent = append(undoing.Sent, e)
		}
	}
	out.Undoing, out.Planned = &undoing, len(positions)
	out.Selection.Fingerprints = undoing.chosen()
	return out
}

// Entries calls with each entry.
func (u *Undoing) Entries(each func(*Entry) error) error {
	for i := range u.Sent {
		if err := each(&u.Sent[i]); err != nil {
			return err
		}
	}
	return nil
}

// Retrieval is an undo while it takes messages back from a queue. It is not safe for concurrent use.
type Retrieval struct {
	undoing *Undoing
	left    map[message.Fingerprint][]*Entry // not found yet
}

// Retrieval begins to take back.
func (u *Undoing) Retrieval() *Retrieval {
	r := &Retrieval{undoing: u, left: make(map[message.Fingerprint][]*Entry, len(u.Sent))}
	for i := range u.Sent {
		f := u.Sent[i].Sent.Fingerprint
		r.left[f] = append(r.left[f], &u.Sent[i])
	}
	return r
}

// Publishing is what brings a message back that was sent, with the position of its entry. Each entry is used once;
// twins are interchangeable.
func (r *Retrieval) Publishing(m *message.Message) (p message.Publishing, undoes int, err error) {
	entries := r.left[m.Fingerprint]
	if len(entries) == 0 {
		return message.Publishing{}, 0, errors.New("the journal does not know this message")
	}
	e, u := entries[0], r.undoing
	r.left[m.Fingerprint] = entries[1:]
	was := *m
	if e.Message != nil {
		was = *e.Message
	} else {
		e.Sent.Former.restore(&was)
	}
	p, _ = Restoring(&was, u.Back.Name, u.User)
	p.Reaches = []model.QueueRef{u.Back}
	return p, e.Position, nil
}

// Left is the part of the undo whose messages were not found.
func (r *Retrieval) Left() Undoing {
	left := *r.undoing
	left.Sent = nil
	for _, entries := range r.left {
		for _, e := range entries {
			left.Sent = append(left.Sent, *e)
		}
	}
	slices.SortFunc(left.Sent, func(a, b Entry) int { return cmp.Compare(a.Position, b.Position) })
	return left
}
