package plan

import (
	"fmt"

	"github.com/dlxtop/dlxtop/model/message"
)

// Claim is what an undo reserves of a record before it does anything, so that no other undo brings the same messages
// back at the same time.
type Claim struct {
	Positions []int // of the entries that it would bring back
	// Known are earlier undos with unknown outcomes for these entries, whose copies the plan has looked for. Entries with
	// further unknown outcomes since then are not granted: they need a new look first.
	Known []int64
}

// ClaimState is why a claim is refused.
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

// Error names the other action in one sentence.
func (e *ClaimedError) Error() string { return fmt.Sprintf(string(e.State), e.By, e.Record) }

// Attempt is an undo of one entry whose outcome is unknown.
type Attempt struct {
	By   int64               // the record of the undo
	Sent message.Fingerprint // what it published
}
