package model

import "time"

const (
	rateSpan = 10 * time.Second
	nowSpan  = time.Second
)

// Rates are the messages per second that came into and went from a queue: over the last ten seconds, and over the last one. They are unknown
// for queues that are not counted, or have consumers: see the polls' movements.
func (w *Watch) Rates(ref QueueRef, now time.Time) (steady, latest Movement, ok bool) {
	p := w.places[ref]
	if p == nil || p.consumed || !p.fast || now.Sub(p.fastAt) > counting || w.began.IsZero() {
		return steady, latest, false
	}
	over := min(rateSpan, max(now.Sub(w.began), nowSpan))
	for _, s := range p.steps {
		if now.Sub(s.at) >= over {
			continue
		}
		add(&steady, s, over)
		switch {
		case s.late:
			add(&latest, s, over) // nobody knows when
		case now.Sub(s.at) < nowSpan:
			add(&latest, s, nowSpan)
		}
	}
	add(&steady, step{}, over)
	add(&latest, step{}, nowSpan)
	return steady, latest, true
}

// add adds what a step saw to rates over some time.
func add(m *Movement, s step, over time.Duration) {
	m.In = Some(m.In.Or(0) + float64(s.came)/over.Seconds())
	m.Out = Some(m.Out.Or(0) + float64(s.went)/over.Seconds())
}
