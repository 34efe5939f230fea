package plan

import (
	"fmt"

	"github.com/dlxtop/dlxtop/model/message"
)

// Claim is what an undo takes for itself of a record before it does anything: what one undo has claimed, no other
// brings back at the same time.
type Claim struct {
	Positions []int // of the entries that it wants to bring back
	// Known are the undos before it that did not tell what became of these, and whose copies the plan has looked for.
	// What another one left uncertain since is not given: somebody has to look first.
	Known []int64
}

// ClaimState is why a claim gets nothing.
type ClaimState int

// The states of what was asked for.
const (
	ClaimRunning   ClaimState = iota // another undo brings it back at this moment
	ClaimUncertain                   // another undo ended in the middle of it after the plan was made
	ClaimDone                        // another undo has brought it back
	ClaimResumed                     // another record goes on with it
)

// ClaimedError is that another action has everything that was asked for of a record.
type ClaimedError struct {
	Record int64
	By     int64 // the record of the other one
	State  ClaimState
}

// Error is one sentence that names the other action.
func (e *ClaimedError) Error() string {
	switch e.State {
	case ClaimRunning:
		return fmt.Sprintf("undo %d is bringing these messages back now: wait for its end", e.By)
	case ClaimResumed:
		return fmt.Sprintf("%d is resuming %d: wait for its end, then see what it did", e.By, e.Record)
	case ClaimUncertain:
		return fmt.Sprintf("undo %d ended in the middle: undo %d again, so that dlxtop looks for what it did", e.By, e.Record)
	}
	return fmt.Sprintf("undo %d has already brought these messages back: there is nothing left to undo", e.By)
}

// Attempt is an undo of one entry that did not tell its outcome.
type Attempt struct {
	By   int64               // the record of the undo
	Sent message.Fingerprint // of what it published
}
