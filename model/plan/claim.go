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
type ClaimState string

// The states of what was asked for, as sentences about the other action and the record.
const (
	ClaimRunning   ClaimState = "undo %[1]d is bringing these messages back now: wait for its end"
	ClaimUncertain ClaimState = "undo %[1]d ended in the middle: undo %d again, so that dlxtop looks for what it did"
	ClaimDone      ClaimState = "undo %[1]d has already brought these messages back: there is nothing left to undo"
	ClaimResumed   ClaimState = "%[1]d is resuming %d: wait for its end, then see what it did"
)

// ClaimedError is that another action has everything that was asked for of a record.
type ClaimedError struct {
	Record int64
	By     int64 // the record of the other one
	State  ClaimState
}

// Error is one sentence that names the other action.
func (e *ClaimedError) Error() string { return fmt.Sprintf(string(e.State), e.By, e.Record) }

// Attempt is an undo of one entry that did not tell its outcome.
type Attempt struct {
	By   int64               // the record of the undo
	Sent message.Fingerprint // of what it published
}
