package model

import "time"

// StoryKind is what a StoryEvent tells.
type StoryKind string

// The kinds of events.
const (
	StoryPublished StoryKind = "published"
	StoryDied      StoryKind = "died"
	StoryNow       StoryKind = "now"
)

// StoryEvent is one line of a message's story, ready to be drawn as Time, What, Where, Detail.
type StoryEvent struct {
	Kind      StoryKind
	Time      time.Time // zero: nobody told
	TimeExact bool      // false: the event was at Time at the latest, or Time is zero
	What      string    // "published", "expired ×3", "now in"
	Where     string    // the exchange or the queue
	Detail    string    // "user.create", "after 30s"
	Note      string    // what the broker does not tell, "" when there is nothing to say
	Reason    Reason    // of StoryDied
	Count     int64     // of StoryDied; 0 unknown
}

// Story tells what is known of a message's way, oldest first: published, each group of deaths, and the queue it is in now.
func (m *Message) Story(in QueueRef) []StoryEvent { return nil }
