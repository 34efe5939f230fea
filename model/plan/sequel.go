package plan

import (
	"fmt"
	"strings"
	"time"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/peek"
)

// Sequel is whether a replay worked: what happened to its messages afterwards, as far as counts and their mark show.
type Sequel struct {
	Sent     int64
	Taken    int64            // at least this many: no longer ready where they were sent
	Acked    model.Opt[int64] // at most this many: acknowledged there; unknown without statistics
	Retrying int64            // at most this many: in the retry buffers of their workers
	Back     int64            // in the queue that they came from
	Grown    bool             // Back is the growth of that queue, because peeking at it costs
	Watch    time.Duration    // how long to watch, after the last was taken
	Until    time.Time        // the current end of the watch
	At       time.Time        // when they were counted
	Over     bool
	Left     bool   // the watch stopped early: the program ended, or the replay was undone
	Trouble  string // why the last count failed; "" when it did not
}

// seenLast is how long after its end an unfinished watch must belong to a killed program.
const seenLast = 10 * time.Second

// Words describe the sequel at a time; "" without one.
func (s *Sequel) Words(now time.Time) string {
	if s == nil || s.Sent == 0 {
		return ""
	}
	words := []string{s.count(s.Taken, "taken")}
	if n, known := s.Acked.Get(); known {
		words = append(words, s.count(n, "acknowledged"))
	}
	words = append(words, s.back())
	if waiting := s.Sent - s.Taken; waiting > 0 {
		words = append(words, model.Count(waiting)+" still waiting")
	}
	if s.Retrying > 0 && !s.Over {
		words = append(words, "up to "+model.Count(s.Retrying)+" waiting for a retry")
	}
	text := strings.Join(words, ", ")
	switch left := s.Until.Sub(now); {
	case s.Over:
		text += " within " + model.ShortDuration(s.Watch)
	case s.Left, left < -seenLast:
		text += "; not watched after " + s.At.Local().Format("15:04:05")
	case s.Taken < s.Sent:
		text += "; watched until " + model.ShortDuration(s.Watch) + " after all are taken"
	default:
		text += "; watched for " + model.ShortDuration(max(left, 0).Truncate(time.Second)) + " more"
	}
	if s.Trouble != "" {
		text += "; not counted now: " + s.Trouble
	}
	return text
}

// Short is its main point, for a list: "2 came back".
func (s *Sequel) Short() string {
	switch {
	case s == nil || s.Sent == 0:
		return ""
	case s.Back == 0 && s.Taken < s.Sent:
		return model.Count(s.Sent-s.Taken) + " not taken"
	case s.Back == 0 && s.Left:
		return "none back by " + s.At.Local().Format("15:04")
	case s.Back == 0 && !s.Over:
		return "none back yet"
	}
	return s.back()
}

func (s *Sequel) count(n int64, what string) string {
	if n >= s.Sent {
		return "all " + what
	}
	return fmt.Sprintf("%s of %s %s", model.Count(n), model.Count(s.Sent), what)
}

func (s *Sequel) back() string {
	switch {
	case s.Back == 0:
		return "none came back"
	case s.Grown:
		return "up to " + model.Count(s.Back) + " came back"
	}
	return model.Count(s.Back) + " came back"
}

// Following is how to follow the messages of a replay.
type Following struct {
	Record  int64 // the record that gets the sequel; 0 for none
	Sent    int64
	Queue   model.QueueRef // they came from
	Mark    string
	Look    peek.Plan // how to find the mark in the queue; only done when it costs nothing
	Targets []FollowedQueue
	Buffers []model.QueueRef // those of their workers
	Watch   time.Duration
}

// FollowedQueue is a queue that they were sent to, as it was before.
type FollowedQueue struct {
	Queue model.QueueRef
	Taken model.Opt[int64] // what consumers had taken for good
	Ahead int64            // messages in it
}

// mostFollowed bounds the size of a queue that is searched for messages that came back: each look reads all of it.
const mostFollowed = 50_000

// Follow plans how to follow an executed plan, given its account; ok: there is something to follow.
func (p *Plan) Follow(t *model.Topology, a *Account) (f Following, ok bool) {
	f = Following{
		Record: a.JournalID, Sent: int64(a.Moved), Queue: p.From, Mark: a.Mark, Watch: watchOf(p.Round),
		Look: peek.For(t, p.From, peek.Want{Limit: mostFollowed}),
	}
	f.Look.Nameless = true
	for _, r := range p.Recipients {
		q, _ := t.Queue(r.Queue)
		if declare, _ := t.Countable(r.Queue); !declare || r.Queue == p.From {
			continue
		}
		ahead, _ := q.Depth()
		f.Targets = append(f.Targets, FollowedQueue{r.Queue, r.Taken, ahead})
		for _, b := range retryBuffers(t, r.Queue) {
			for _, ref := range b.Queues() {
				if declare, _ := t.Countable(ref); declare {
					f.Buffers = append(f.Buffers, ref)
				}
			}
		}
	}
	declare, _ := t.Countable(p.From)
	return f, p.Operation == Replay && f.Sent > 0 && f.Mark != "" && declare && len(f.Targets) > 0
}
