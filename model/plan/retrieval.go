package plan

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/message"
)

// Undoing is the part of a record that one execution takes back from a queue.
type Undoing struct {
	Record int64          // the record that is undone
	Back   model.QueueRef // the queue that the messages go back to
	User   string         // the connected user
	Sent   []Sought       // by position
	Known  []int64        // as in Claim
	Gone   GoneWhy        // what may have happened to those no longer in the queue
}

// Sought is a message that an undo looks for, in few bytes: a record may have millions. What restores it is in the
// journal.
type Sought struct {
	Position    int                 // of its entry
	Fingerprint message.Fingerprint // as it was published
}

// Claim returns what this undo claims before it begins.
func (u *Undoing) Claim() Claim {
	c := Claim{Known: u.Known}
	for i := range u.Sent {
		c.Positions = append(c.Positions, u.Sent[i].Position)
	}
	return c
}

// chosen returns the messages to look for, and how many twins of each.
func (u *Undoing) chosen() message.Twins {
	chosen := make(message.Twins, len(u.Sent))
	for i := range u.Sent {
		chosen[u.Sent[i].Fingerprint]++
	}
	return chosen
}

// Take takes messages of an undo back from a queue.
type Take struct {
	Plan
	Undoing *Undoing
}

func (t *Take) Run() Run { return Run{Plan: t.Plan, Undoing: t.Undoing} }

// Grant reduces an undo to what it was granted; positions are in order.
func (r *Run) Grant(positions []int) {
	undoing := *r.Undoing
	undoing.Sent = slices.DeleteFunc(slices.Clone(undoing.Sent), func(s Sought) bool {
		_, given := slices.BinarySearch(positions, s.Position)
		return !given
	})

	r.Undoing = &undoing
	r.Planned = len(positions)
	r.Selection.Fingerprints = undoing.chosen()
}

// Retrieval is an undo that is taking messages back from a queue. It is not safe for concurrent use.
type Retrieval struct {
	undoing *Undoing
	entry   func(position int) (Entry, error)
	sought  []Sought // sorted by fingerprint
	found   []int    // how many of the twins that begin at this index were found
}

// Retrieval begins to take messages back. entry reads the journal's entries.
func (u *Undoing) Retrieval(entry func(position int) (Entry, error)) *Retrieval {
	r := &Retrieval{undoing: u, entry: entry, sought: slices.Clone(u.Sent), found: make([]int, len(u.Sent))}
	slices.SortFunc(r.sought, func(a, b Sought) int {
		return cmp.Or(bytes.Compare(a.Fingerprint[:], b.Fingerprint[:]), cmp.Compare(a.Position, b.Position))
	})
	return r
}

// Publishing returns what brings a sent message back, with the position of its entry. Each entry is used once; twins
// are interchangeable.
func (r *Retrieval) Publishing(m *message.Message) (p message.Publishing, undoes int, err error) {
	first, known := slices.BinarySearchFunc(r.sought, m.Fingerprint, func(s Sought, f message.Fingerprint) int {
		return bytes.Compare(s.Fingerprint[:], f[:])
	})
	if known {
		next := first + r.found[first]
		known = next < len(r.sought) && r.sought[next].Fingerprint == m.Fingerprint
	}

	if !known {
		return p, 0, errors.New("the journal does not know this message")
	}
	e, err := r.entry(r.sought[first+r.found[first]].Position)
	if err != nil {
		return p, 0, err
	}
	r.found[first]++
	u, was := r.undoing, *m
	if e.Message != nil {
		was = *e.Message
	} else {
		e.Sent.Former.restore(&was)
	}

	p, _ = Restoring(&was, u.Back.Name, u.User)
	p.Reaches = []model.QueueRef{u.Back}
	return p, e.Position, nil
}

// Left returns the claim for the messages that were not found.
func (r *Retrieval) Left() Claim {
	left := Claim{Known: r.undoing.Known}
	for i, found := 0, 0; i < len(r.sought); i++ {
		if i == 0 || r.sought[i].Fingerprint != r.sought[i-1].Fingerprint {
			found = r.found[i]
		}
		if found--; found < 0 {
			left.Positions = append(left.Positions, r.sought[i].Position)
		}
	}

	slices.Sort(left.Positions)
	return left
}

// Claim is what an undo reserves of a record before it does anything, so that no other undo brings the same messages
// back at the same time.
type Claim struct {
	Positions []int // of the entries that it would bring back
	// Known are earlier undos with unknown outcomes for these entries, whose copies the plan has looked for. Entries with
	// further unknown outcomes since then are not granted: they need a new look first.
	Known []int64
}

type ClaimState string

// The states, as sentences about the other action and the record.
const (
	ClaimRunning   ClaimState = "undo %[1]d is bringing these messages back now: wait for its end"
	ClaimUncertain ClaimState = "undo %[1]d ended in the middle: undo %d again, so that dlxtop looks for what it did"
	ClaimDone      ClaimState = "undo %[1]d has already brought these messages back: there is nothing left to undo"
	ClaimResumed   ClaimState = "%[1]d is resuming %d: wait for its end, then see what it did"
)

// ClaimedError means that other actions have claimed everything that was asked for.
type ClaimedError struct {
	Record int64
	By     int64 // the other action's record
	State  ClaimState
}

func (e *ClaimedError) Error() string { return fmt.Sprintf(string(e.State), e.By, e.Record) }

// BeingResumed means that another program plans to resume a record, or does.
type BeingResumed struct {
	Record int64
	By     model.Holder
}

func (e *BeingResumed) Error() string {
	return fmt.Sprintf("%s is resuming %d: wait for its end, then see what it did", e.By.Words(), e.Record)
}

// Attempt is an undo of one entry whose outcome is unknown.
type Attempt struct {
	By   int64               // the record of the undo
	Sent message.Fingerprint // what it published
}
