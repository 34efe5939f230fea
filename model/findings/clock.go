package findings

import (
	"time"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/message"
)

// findClockSkew reports that the broker's clock differs from this machine's.
func (t *checking) findClockSkew() {
	clock := t.Snapshot.Overview.Clock()
	if clock.Ahead.Abs() <= model.NotableSkew {
		return
	}
	by := clock.Ahead.Abs().Round(time.Second)
	way := "behind"
	if clock.Ahead < 0 {
		way = "ahead of"
	}

	t.found(Finding{
		Code: "clock-skew",
		Message: spell("this machine's clock is %s %s the broker's: dlxtop shows the broker's times by "+
			"this machine's clock", by, way),
		Evidence: spell("the Date of the management API's answers, give or take %s", clock.Within),
		Remedy:   "synchronize both with NTP",
	})
}

// publishersAhead: a message cannot be published after it was seen, nor after it died. If its timestamp says so, its
// publisher's clock is ahead of the broker's.
type publishersAhead struct {
	clock   model.Clock
	takenAt time.Time

	n    int
	most time.Duration
}

func (p *publishersAhead) inspect(m *message.Message) {
	stamp := m.Properties.Timestamp
	if stamp.Before(model.FirstTime) || stamp.After(model.LastTime) {
		return
	}
	by := p.clock.Local(stamp).Sub(p.takenAt) - p.clock.Within
	if d := m.FirstDeath(); d != nil && !d.Time.IsZero() {
		by = max(by, stamp.Sub(d.Time))
	}

	if by > model.ClockTolerance {
		p.n++
		p.most = max(p.most, by)
	}
}

func (p *publishersAhead) finding() (Finding, bool) {
	return Finding{
		Code: "clock-skew",
		Message: spell("%v message(s) (has|have) a timestamp later than what happened to (it|them): the publisher's clock "+
			"is at least %s ahead", p.n, p.most.Truncate(time.Second)),
		Evidence: "the property timestamp, against the time of the look and of the first death",
		Remedy:   "synchronize the publishers with NTP; until then due times ignore these timestamps",
	}, p.n > 0
}
