package model

import (
	"fmt"
	"slices"
	"strconv"
	"time"
)

// StoryKind is what a StoryEvent tells.
type StoryKind string

// The kinds of events.
const (
	StoryPublished   StoryKind = "published"
	StoryRepublished StoryKind = "republished" // by a worker: the broker's x-death begins here
	StoryReplayed    StoryKind = "replayed"    // by dlxtop, as its header tells
	StoryDied        StoryKind = "died"
	StoryFailed      StoryKind = "failed" // as a worker wrote it into the message
	StoryNow         StoryKind = "now"
	StoryTries       StoryKind = "tries"  // how often the worker has had it
	StoryLadder      StoryKind = "ladder" // the retry buffers in the order of their TTLs, with those that it has passed
	StoryNext        StoryKind = "next"   // what becomes of it without anybody doing something
)

// StoryEvent is one line of a message's story, ready to be drawn as Time, What, Where, Detail. Its texts hold names as they
// are: draw them through Printable.
type StoryEvent struct {
	Kind      StoryKind
	Time      time.Time // zero: nobody told
	TimeExact bool      // false: the event was at Time at the latest, or Time is zero
	What      string    // "published", "expired ×3"; "" when Kind says it already
	Where     string    // the exchange or the queue; "" when it is not told
	Detail    string    // the routing key; "after 30s"; the failure
	Note      string    // what is not told, or where it is known from; "" when there is nothing to say
	Reason    Reason    // of StoryDied
	Count     int64     // of StoryDied; 0 unknown
}

// Story tells what is known of a message's way, oldest first: published, each group of deaths by the time of its first,
// the failure that a worker wrote down, and the queue it is in now.
func (m *Message) Story(in QueueRef) []StoryEvent {
	deaths := m.deathsByTime()
	events := m.beginning(deaths)
	if words := m.ReplayedWords(); words != "" {
		_, last, _ := m.Replays() // which took the deaths before it off
		events = append(events, StoryEvent{Kind: StoryReplayed, Time: last, TimeExact: !last.IsZero(), What: words, Note: "by dlxtop; the time is of the last"})
	}
	for i, d := range deaths {
		e := StoryEvent{
			Kind: StoryDied, Time: d.Time, TimeExact: !d.Time.IsZero(),
			What: died(d.Reason, d.Count), Where: d.Queue, Reason: d.Reason, Count: d.Count,
		}
		if waited, ok := waited(d, events[len(events)-1]); ok {
			e.Detail = "after " + ShortDuration(waited)
		}
		if d.Count > 1 {
			e.Note = fmt.Sprintf("the first; the other %s are not told", Plural(d.Count-1, "time"))
			if d.Count == 2 {
				e.Note = "the first; the other time is not told"
			}
		}
		if i > 0 && d.Time.IsZero() {
			e.Note = "when is not told"
		}
		events = append(events, e)
	}
	if f, ok := m.Failure(); ok && f.Source != fromDeaths {
		events = append(events, StoryEvent{Kind: StoryFailed, What: "failed", Detail: f.String(), Note: "by " + f.Source})
	}
	now := StoryEvent{Kind: StoryNow, Where: in.Name}
	if len(events) > 1 && (m.Exchange != "" || m.RoutingKey != in.Name) {
		now.Note = fmt.Sprintf("through %s, key %s", ExchangeName(m.Exchange), quoted(m.RoutingKey))
	}
	return append(events, now)
}

// beginning is the first publish, and the republish with which x-death begins when a header betrays one.
func (m *Message) beginning(deaths []*Death) []StoryEvent {
	origin, _ := m.origin()
	e := StoryEvent{Kind: StoryPublished, What: "published", Where: ExchangeName(origin.Exchange), Detail: quoted(origin.RoutingKey)}
	var firstDeath time.Time
	if len(deaths) > 0 {
		firstDeath = deaths[0].Time
	}
	published, claimed := m.publishedAt()
	switch {
	case claimed && (firstDeath.IsZero() || !published.After(firstDeath.Add(clockTolerance))):
		e.Time, e.TimeExact = published, true
	case !firstDeath.IsZero():
		e.Time = firstDeath
		if ttl, ok := parseExpiration(deaths[0].OriginalExpiration); ok && deaths[0].Reason == Expired {
			e.Time = firstDeath.Add(-ttl)
		}
		e.Note = "at the latest: it has no time of its own"
		if claimed {
			e.Note = "at the latest: its timestamp is after its first death"
		}
	}
	key, header, told := m.firstKey()
	if !told || key == origin.RoutingKey {
		return []StoryEvent{e}
	}
	again := StoryEvent{
		Kind: StoryRepublished, What: "republished", Where: e.Where, Detail: e.Detail,
		Note: "by an application; deaths before are not told",
	}
	e.Where, e.Detail = "", quoted(key)
	e.Note = fmt.Sprintf("the key by %s; the exchange is not told", header)
	return []StoryEvent{e, again}
}

// deathsByTime are the deaths by the time of the first of each group, oldest first. One without a time keeps its place in
// x-death, where the newest is first.
func (m *Message) deathsByTime() []*Death {
	deaths := make([]*Death, 0, len(m.Deaths))
	for i := range slices.Backward(m.Deaths) {
		deaths = append(deaths, &m.Deaths[i])
	}
	if slices.ContainsFunc(deaths, func(d *Death) bool { return d.Time.IsZero() }) {
		return deaths
	}
	first := m.firstDeath()
	slices.SortStableFunc(deaths, func(a, b *Death) int {
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

// waited is how long the message had waited when it died: its own TTL, else what passed since the event before, when both
// times are known and nothing untold lies between them.
func waited(d *Death, before StoryEvent) (time.Duration, bool) {
	if ttl, ok := parseExpiration(d.OriginalExpiration); ok && d.Reason == Expired {
		return ttl, true
	}
	if d.Time.IsZero() || !before.TimeExact || before.Count > 1 || d.Time.Before(before.Time) {
		return 0, false
	}
	return d.Time.Sub(before.Time).Round(time.Second), true // x-death tells times to the second
}

// parseExpiration reads the expiration of a message. RabbitMQ takes whole milliseconds below 2^32 and refuses all else.
func parseExpiration(s string) (time.Duration, bool) {
	ms, err := strconv.ParseUint(s, 10, 32)
	return time.Duration(ms) * time.Millisecond, err == nil
}
