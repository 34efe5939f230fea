package plan

import (
	"time"

	"github.com/dlxtop/dlxtop/model"
)

// Frozen is when messages were read that an action is on. What comes into their queue later is none of them, and stays.
type Frozen struct {
	At    time.Time        // zero: the action is on what is there when it runs
	Depth model.Opt[int64] // ready messages of the queue then
}

// Arrived is how many messages have come into the queue since, at least: those that others took meanwhile hide as many.
// ready is a newer count, out how many of those that were there then are known to have left.
func (f Frozen) Arrived(ready int64, out int) int64 {
	return max(ready-f.Depth.Or(ready)+int64(out), 0)
}

// Out is how many of the messages that were in the queue before are no longer there; unknown when some may be.
func (a *Account) Out() model.Opt[int] {
	if a.Unknown > 0 {
		return model.Unknown[int]()
	}
	return model.Some(a.Moved + a.Dropped + a.Gone)
}

// ArrivedWords are "3 came later and stay", "" of none.
func ArrivedWords(n int64) string {
	if n == 0 {
		return ""
	}
	return model.Count(n) + " came later and " + many(int(n), "stays", "stay")
}
