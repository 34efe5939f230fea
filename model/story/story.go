package story

import (
	"fmt"
	"slices"
	"time"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/message"
)

// Kind is the kind of an Event.
type Kind string

const (
	Published   Kind = "published"
	Republished Kind = "republished" // by a worker: the broker's x-death begins here
	Replayed    Kind = "replayed"    // by dlxtop, as its header says
	Died        Kind = "died"
	Failed      Kind = "failed" // as a worker recorded it in the message
	Now         Kind = "now"
	Tried       Kind = "tries"  // how often the worker has had it
	Ladder      Kind = "ladder" // the retry buffers in the order of their TTLs, with those that it has passed
	Next        Kind = "next"   // what happens to it without intervention
	Runs        Kind = "runs"   // when its worker runs it at the earliest, as its framework recorded it
)

// Event is one line of a message's story, ready to be drawn as Time, What, Where, Detail. Its texts contain raw names:
// draw them through Printable.
type Event struct {
	Kind      Kind
	Time      time.Time    // zero: unknown
	TimeExact bool         // false: at Time or earlier, or Time is zero
	What      string       // "published", "expired ×3"; "" when Kind says it already
	Where     string       // the exchange or the queue; "" when unknown
	Detail    string       // the routing key; "after 30s"; the failure
	Note      string       // what is unknown, or how it is known; "" when there is nothing to say
	Reason    model.Reason // for Died
	Count     int64        // for Died; 0: unknown
}

// Of returns the known history of a message, oldest first: published, each group of deaths at the time of its first,
// the failure that a worker recorded, and the queue it is in now.
func Of(m *message.Message, in model.QueueRef) []Event {
	deaths := deathsByTime(m)
	events := beginning(m, deaths)
	if words := m.ReplayedWords(); words != "" {
		_, last, _ := m.Replays() // it removed the deaths before it
		events = append(events, Event{
			Kind:      Replayed,
			Time:      last,
			TimeExact: !last.IsZero(),
			What:      words,
			Note:      "by dlxtop; the time is of the last",
		})
	}

	for i, d := range deaths {
		e := Event{
			Kind:      Died,
			Time:      d.Time,
			TimeExact: !d.Time.IsZero(),
			What:      message.Died(d.Reason, d.Count),
			Where:     d.Queue,
			Reason:    d.Reason,
			Count:     d.Count,
		}

		e.Detail = waited(d, events[len(events)-1])

		if d.Count > 1 {
			e.Note = model.Sayf("first of %v: RabbitMQ keeps only the first time", d.Count)
		}
		if i > 0 && d.Time.IsZero() {
			e.Note = "when is unknown"
		}

		events = append(events, e)
	}

	if f, ok := m.Failure(); ok && f.Source != message.FromDeaths {
		e := Event{Kind: Failed, What: "failed", Detail: f.String(), Note: "from " + f.Source}
		if times := m.WrittenTimes(f); len(times) > 0 {
			e.Time = slices.MaxFunc(times, time.Time.Compare)
			e.TimeExact = !e.Time.IsZero()
		}

		events = append(events, e)
	}

	now := Event{Kind: Now, Where: in.Name}
	if len(events) > 1 && (m.Exchange != "" || m.RoutingKey != in.Name) {
		now.Note = fmt.Sprintf("through %s, key %s", model.ExchangeName(m.Exchange), model.Quoted(m.RoutingKey))
	}

	return append(events, now)
}

// beginning returns the first publish, and the republish with which x-death begins when a header shows one.
func beginning(m *message.Message, deaths []*message.Death) []Event {
	origin, _ := m.OriginOrWhy()
	e := Event{
		Kind: Published, What: "published", Where: model.ExchangeName(origin.Exchange),
		Detail: model.Quoted(origin.RoutingKey),
	}

	var firstDeath time.Time
	if len(deaths) > 0 {
		firstDeath = deaths[0].Time
	}

	published, claimed := m.PublishedAt()
	switch {
	case claimed && (firstDeath.IsZero() || !published.After(firstDeath.Add(model.ClockTolerance))):
		e.Time, e.TimeExact = published, true
	case !firstDeath.IsZero():
		e.Time = firstDeath // its own TTL does not help: the queue's may have been lower
		e.Note = "at the latest: it has no time of its own"
		if claimed {
			e.Note = "at the latest: its timestamp is after its first death"
		}
	}

	key, header, told := m.FirstKey()
	if !told || key == origin.RoutingKey {
		return []Event{e}
	}
	again := Event{
		Kind:   Republished,
		What:   "republished",
		Where:  e.Where,
		Detail: e.Detail,
		Note:   "by an application; earlier deaths unknown",
	}

	e.Where, e.Detail = "", model.Quoted(key)
	e.Note = fmt.Sprintf("routing key from %s; exchange unknown", header)
	return []Event{e, again}
}

// deathsByTime returns the deaths by the time of the first in each group, oldest first. One without a time keeps its
// place in x-death, where the newest is first.
func deathsByTime(m *message.Message) []*message.Death {
	deaths := make([]*message.Death, 0, len(m.Deaths))
	for i := range slices.Backward(m.Deaths) {
		deaths = append(deaths, &m.Deaths[i])
	}
	if slices.ContainsFunc(deaths, func(d *message.Death) bool { return d.Time.IsZero() }) {
		return deaths
	}
	first := m.FirstDeath()
	slices.SortStableFunc(deaths, func(a, b *message.Death) int {
		if c := a.Time.Compare(b.Time); c != 0 || a == b {
			return c
		}
		switch first {
		case a:
			return -1
		case b:
			return 1
		}

		return 0
	})

	return deaths
}

// waited returns how long the message had waited when it died: the time since the previous event, if both times are
// known and nothing unknown happened in between. That is shown as its own TTL only if it agrees: messages ahead can
// hold it up longer, and a lower TTL of the queue ends the wait sooner.
func waited(d *message.Death, before Event) string {
	ttl, hasTTL := message.ParseExpiration(d.OriginalExpiration)
	hasTTL = hasTTL && d.Reason == model.Expired
	if d.Time.IsZero() || !before.TimeExact || before.Count > 1 || d.Time.Before(before.Time) {
		if hasTTL {
			return "TTL " + model.ShortDuration(ttl)
		}
		return ""
	}

	passed := d.Time.Sub(before.Time).Round(time.Second) // x-death has times in seconds
	if hasTTL && (passed-ttl).Abs() <= time.Second {
		passed = ttl
	}

	return "after " + model.ShortDuration(passed)
}
