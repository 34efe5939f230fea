package trace

import (
	"time"

	"github.com/dlxtop/dlxtop/model"
)

// WaitedWords returns how long a message waited: "5.003s", "≈ 5s" when it is known in seconds, "?" when unknown; ""
// when it was published.
func (p *Passed) WaitedWords() string {
	waited, known := p.Waited.Get()
	switch {
	case p.From == "":
		return ""
	case !known:
		return "?"
	case p.Known == WaitPublisher || p.Known == WaitDied:
		return "≈ " + model.ShortDuration(waited.Round(time.Second))
	}

	return model.ShortDuration(waited.Round(time.Millisecond))
}

// ShouldWords returns how long a message should have waited.
func (p *Passed) ShouldWords() string {
	should, known := p.Should.Get()
	switch {
	case p.From == "" || p.Reason != model.Expired:
		return ""
	case !known:
		return "?"
	}

	return model.ShortDuration(should)
}

// LateWords returns how much longer a message waited than it should have: "+3ms", "+2.9s held" when others ahead held
// it up; "" when unknown.
func (p *Passed) LateWords() string {
	late, known := p.Late.Get()
	if !known {
		return ""
	}
	unit, about := time.Millisecond, ""
	if p.Known == WaitPublisher || p.Known == WaitDied {
		unit, about = time.Second, "≈ "
	}

	late = max(late.Round(unit), 0) // negative values are due to the delay of its copies
	words := about + "+" + model.ShortDuration(late)
	if behind := p.Behind.Or(0); behind > lateWorthTelling {
		words += " held"
	}

	return words
}

// lateWorthTelling is the delay from which a message counts as late: below is the broker's own pace, and the way here.
const lateWorthTelling = 100 * time.Millisecond

// IsLate reports whether a message is later than a broker's own pace explains.
func (p *Passed) IsLate() bool {
	most := lateWorthTelling
	if p.Known == WaitPublisher || p.Known == WaitDied {
		most = 2 * time.Second
	}
	return p.Late.Or(0) > most
}

// PassedJSON is a line of `dlxtop tap`. What is absent is unknown.
type PassedJSON struct {
	Time       string           `json:"time"`
	Exchange   string           `json:"exchange"`
	RoutingKey string           `json:"routing_key"`
	From       string           `json:"from,omitempty"`
	Reason     model.Reason     `json:"reason,omitempty"`
	Waited     model.Opt[int64] `json:"waited_ms,omitzero"`
	WaitedBy   WaitKnown        `json:"waited_by,omitempty"`
	Should     model.Opt[int64] `json:"should_ms,omitzero"`
	Late       model.Opt[int64] `json:"late_ms,omitzero"`
	Behind     model.Opt[int64] `json:"behind_ms,omitzero"`
	Tries      model.Opt[int64] `json:"tries,omitzero"`
	MessageID  string           `json:"message_id,omitempty"`
	Problem    string           `json:"problem,omitempty"` // why "from" is unknown
	BodyBytes  int              `json:"body_bytes"`
}

func (p *Passed) JSON() PassedJSON {
	return PassedJSON{
		Time:       p.Time.UTC().Format("2006-01-02T15:04:05.000Z07:00"),
		Exchange:   p.Exchange,
		RoutingKey: p.RoutingKey,
		From:       p.From,
		Reason:     p.Reason,
		Waited:     inMilliseconds(p.Waited),
		WaitedBy:   p.Known,
		Should:     inMilliseconds(p.Should),
		Late:       inMilliseconds(p.Late),
		Behind:     inMilliseconds(p.Behind),
		Tries:      p.Tries,
		MessageID:  p.Message.Properties.MessageID,
		Problem:    p.Unclear,
		BodyBytes:  p.Message.BodyBytes,
	}
}

// inMilliseconds rounds down, negative values too, so that waited is should plus late.
func inMilliseconds(d model.Opt[time.Duration]) model.Opt[int64] {
	v, ok := d.Get()
	if !ok {
		return model.Unknown[int64]()
	}
	ms := v.Milliseconds()
	if v < 0 && v%time.Millisecond != 0 {
		ms--
	}

	return model.Some(ms)
}
