package picture

import (
	"time"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/story"
)

// HeadState is what is known of the head of a buffer.
type HeadState struct {
	Waits   bool // something is in the buffer
	Due     story.DueTime
	Blocked story.Blocked // what waits behind it; By is nil when nothing does, or nobody has looked
	Looked  bool          // a look told it
	Cut     bool          // RabbitMQ drops it then, as it returns without a rejection
}

// headKind is what can be said of when the head of a buffer leaves.
type headKind int

const (
	HeadNone    headKind = iota // nothing waits
	HeadUnknown                 // nothing tells when it leaves
	HeadNever                   // a look told that nothing expires it
	HeadOverdue                 // it should have left, and has not, beyond what counts lag
	headNow                     // it leaves now, or has just left: the next count tells
	headDue                     // it leaves at a time that is known, or known at most
)

func (h HeadState) Kind(now time.Time) headKind {
	switch {
	case !h.Waits:
		return HeadNone
	case h.Due.Kind == story.DueAtMost && now.Sub(h.Due.Time) > model.StatisticsLag:
		return HeadOverdue
	case h.Due.Kind == story.DueUnknown && h.Looked:
		return HeadNever
	case h.Due.Kind == story.DueUnknown || h.Due.Kind == "":
		return HeadUnknown
	case h.Due.Time.Before(now):
		return headNow
	}
	return headDue
}

// Words are when the head leaves: "3.2s", "≤ 30s", "overdue", "never", "?" when nothing tells, "-" when nothing waits.
func (h HeadState) Words(now time.Time) string {
	switch h.Kind(now) {
	case HeadNone:
		return "-"
	case HeadUnknown:
		return "?"
	case HeadNever:
		return "never"
	case HeadOverdue:
		return "overdue"
	case headNow:
		return "now"
	}
	return h.Due.In(now)
}
