package plan

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/peek"
)

// Sequel is whether a replay worked: what happened to its messages afterwards, as far as counts and their mark show.
type Sequel struct {
	Sent     int64
	Unsure   int64            // further messages that may have been sent
	Taken    int64            // at least this many: no longer ready where they were sent
	Acked    model.Opt[int64] // at most this many: acknowledged there; unknown without statistics
	Held     int64            // at most this many: taken, and neither acknowledged nor rejected; 0 without statistics
	Retrying int64            // at most this many: in the retry buffers of their workers
	Back     int64            // recognized in the queue that they came from: at least this many came back
	Came     int64            // further messages that came into that queue since the replay began
	Read     bool             // that queue was read since it changed last: those that came are not recognized
	Leaves   Leaving          // messages may have left it, so that fewer are seen than came
	Watch    time.Duration    // how long to watch, after the last was taken and processed
	Until    time.Time        // the current end of the watch
	At       time.Time        // when they were counted
	Over     bool
	Left     bool   // the watch stopped early: the program ended, or the replay was undone
	Trouble  string // why the last count failed; "" when it did not
}

// UnmarshalJSON reads what version 1.0.0 wrote, too: there Grown says that Back is by the queue's count, which began
// late.
func (s *Sequel) UnmarshalJSON(text []byte) error {
	type fields Sequel
	read := struct {
		fields
		Grown bool
	}{}

	if err := json.Unmarshal(text, &read); err != nil {
		return err
	}

	*s = Sequel(read.fields)
	if read.Grown {
		s.Back, s.Came, s.Leaves = 0, s.Back, OldLeave
	}

	return nil
}

// Leaving is which messages of the queue that a replay's messages came from may leave it, other than by dlxtop.
type Leaving int

const (
	AllStay  Leaving = iota
	OldLeave         // those from before the replay: a count hides as many that came
	AnyLeave         // those that came back, too: a look finds fewer
)

// leaving returns what is known of that before a replay that is watched for some time; left messages stay.
func leaving(t *model.Topology, ref model.QueueRef, left int64, watch time.Duration) Leaving {
	s := t.Settings(ref)
	switch {
	case s.TTL.Set && s.TTL.Value <= watch, t.WaitsByMessage(ref):
		return AnyLeave
	case left > 0 && s.TTL.Set, s.DropsHead():
		return OldLeave
	}

	return AllStay
}

// Bound is what a number says of the messages that came back.
type Bound string

const (
	Exactly Bound = ""
	AtLeast Bound = "at least"
	AtMost  Bound = "up to"
	Unclear Bound = "unknown"
)

// CameBack returns how many messages came back. Messages that were read and are not recognized are others.
func (s *Sequel) CameBack() (n int64, is Bound) {
	switch {
	case s.Read && s.Leaves < AnyLeave:
		return s.Back, Exactly
	case s.Back > 0 && (s.Leaves > AllStay || s.Came > 0):
		return s.Back, AtLeast
	case s.Leaves > AllStay:
		return 0, Unclear
	case s.Came > 0:
		return min(s.Came, s.Sent+s.Unsure), AtMost
	}

	return s.Back, Exactly
}

// None reports whether none came back, as far as is known; also without a sequel.
func (s *Sequel) None() bool {
	if s == nil {
		return true
	}
	n, is := s.CameBack()
	return n == 0 && (is == Exactly || is == Unclear && s.Read)
}

// Worked reports whether all were taken, and none came back as far as is known.
func (s *Sequel) Worked() bool { return s.None() && s.Taken >= s.Sent }

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
	if s.Held > 0 {
		words = append(words, model.Sayf("up to %v being processed", s.Held))
	}

	words = append(words, s.back())
	if waiting := s.Sent - s.Taken; waiting > 0 {
		words = append(words, model.Count(waiting)+" still waiting")
	}
	if s.Retrying > 0 {
		words = append(words, model.Sayf("up to %v waiting for a retry", s.Retrying))
	}

	text := strings.Join(words, ", ")
	left := s.Until.Sub(now)
	switch {
	case s.Over:
		text += " within " + model.ShortDuration(s.Watch)
	case s.Left, left < -seenLast:
		text += "; not watched after " + s.At.Local().Format("15:04:05")
	case s.Taken < s.Sent:
		text += model.Sayf("; watched until %s after all are taken", s.Watch)
	case s.Held > 0:
		text += model.Sayf("; watched until %s after all are processed", s.Watch)
	default:
		text += model.Sayf("; watched for %s more", max(left, 0).Truncate(time.Second))
	}

	if s.Trouble != "" {
		text += "; not counted now: " + s.Trouble
	}

	return text
}

// Short returns its main point, for a list: "2 came back".
func (s *Sequel) Short() string {
	if s == nil || s.Sent == 0 {
		return ""
	}
	n, is := s.CameBack()
	none := n == 0 && is == Exactly && s.Came == 0
	switch {
	case n == 0 && s.Taken < s.Sent:
		return model.Count(s.Sent-s.Taken) + " not taken"
	case none && s.Left:
		return "none back by " + s.At.Local().Format("15:04")
	case none && !s.Over:
		return "none back yet"
	}

	return s.back()
}

func (s *Sequel) count(n int64, what string) string {
	if n >= s.Sent {
		return "all " + what
	}
	return model.Sayf("%v of %v %s", n, s.Sent, what)
}

// back says how many came back: never that none did while some that came later may be among them.
func (s *Sequel) back() string {
	came := model.Count(s.Came)
	n, is := s.CameBack()
	switch {
	case is == Unclear && s.Read:
		return "none was seen to come back"
	case is == Unclear && s.Came > 0:
		return "unknown how many came back (" + came + " came later)"
	case is == Unclear:
		return "unknown whether some came back"
	case n == 0 && s.Came > 0:
		return "none recognized of " + came + " that came later"
	case n == 0:
		return "none came back"
	case is == AtLeast && s.Came > 0 && !s.Read:
		return model.Sayf("at least %v came back (%s more came later)", n, came)
	case is != Exactly:
		return model.Sayf("%s %v came back", is, n)
	default:
		return model.Count(n) + " came back"
	}
}

// Following is how to follow the messages of a replay.
type Following struct {
	Record   int64 // the record that gets the sequel; 0 for none
	Sent     int64
	Unsure   int64          // further messages that may have been sent
	Queue    model.QueueRef // they came from
	Released Released       // by what they are recognized
	Earlier  int64          // the record that this one resumes, whose messages are recognized, too; 0 for none
	Before   int64          // ready messages in the queue before the first publish, less those that were moved since
	Back     int64          // recognized in it before the replay ended
	Leaves   Leaving
	Look     peek.Plan // how to find them in the queue; only done when it costs nothing
	Targets  []FollowedQueue
	Buffers  []model.QueueRef // those of their workers
	Watch    time.Duration
}

// FollowedQueue is a queue that they were sent to, as it was before.
type FollowedQueue struct {
	Queue model.QueueRef
	Taken model.Opt[int64] // what consumers had taken for good
	Ahead int64            // messages in it
}

// mostFollowed bounds the size of a queue that is searched for messages that came back: each look reads all of it.
const mostFollowed = 50_000

// Follow plans how to follow an executed plan, given its account; ok: there is something to follow. A resumed replay is
// followed with what its earlier records sent.
func (r *Run) Follow(t *model.Topology, a *Account) (f Following, ok bool) {
	p := &r.Plan
	f = Following{
		Record:   a.JournalID,
		Sent:     int64(a.Moved),
		Unsure:   int64(a.Unknown),
		Queue:    p.From,
		Released: Released{Mark: a.Mark},
		Watch:    watchOf(p.Round),
		Before:   max(a.Depth-int64(a.Moved+a.Gone+a.Unknown), 0),
		Back:     int64(a.CameBack),
		Look:     peek.For(t, p.From, peek.Want{Limit: mostFollowed}),
	}

	if a.Released != nil {
		f.Released = *a.Released
	}

	if g := r.Resuming; g != nil {
		f.Earlier = g.Record
		f.Unsure += int64(g.unsure())
		f.Sent += int64(g.Moved + len(g.Acks))
		f.Before = max(g.Left-int64(len(g.Acks)+a.Moved+a.Gone+a.Unknown), 0)
	}

	if a.Earlier > 0 {
		f.Earlier = a.Earlier
	}

	f.Look.Nameless = true
	f.Leaves = leaving(t, p.From, f.Before, f.Watch)

	for _, to := range p.Recipients {
		q, _ := t.Queue(to.Queue)
		if declare, _ := t.Countable(to.Queue); !declare || to.Queue == p.From {
			continue
		}
		ahead, _ := q.Depth()
		queue := FollowedQueue{to.Queue, to.Taken, ahead}
		if f.Earlier > 0 { // consumers may have taken these before the count
			queue.Taken = model.Unknown[int64]()
		}

		f.Targets = append(f.Targets, queue)
		for _, b := range retryBuffers(t, to.Queue) {
			for _, ref := range b.Queues() {
				if declare, _ := t.Countable(ref); declare {
					f.Buffers = append(f.Buffers, ref)
				}
			}
		}
	}

	declare, _ := t.Countable(p.From)
	return f, p.Operation == Replay && f.Sent > 0 && f.Released.Mark != "" && declare && len(f.Targets) > 0
}
