package plan

import (
	"time"

	"github.com/dlxtop/dlxtop/model"
)

// Frozen is the moment at which the messages of an action were read. Messages that arrive in their queue later are not
// part of it, and stay.
type Frozen struct {
	At    time.Time        // zero: the action is on what is there when it runs
	Depth model.Opt[int64] // ready messages in the queue at that time
}

// Arrived returns how many messages have come into the queue since, at least: arrivals may be hidden by messages that
// others took meanwhile. ready is a newer count, out how many of the earlier messages are known to have left.
func (f Frozen) Arrived(ready int64, out int) int64 {
	return max(ready-f.Depth.Or(ready)+int64(out), 0)
}

// Out returns how many of the messages from before are no longer in the queue; unknown when some outcomes are.
func (a *Account) Out() model.Opt[int] {
	if a.Unknown+a.Held > 0 {
		return model.Unknown[int]()
	}
	return model.Some(a.Moved + a.Dropped + a.Gone)
}

// ArrivedWords returns "3 came later and stay", "" for none.
func ArrivedWords(n int64) string {
	if n == 0 {
		return ""
	}
	return model.Sayf("%v came later and (stays|stay)", n)
}
