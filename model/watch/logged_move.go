package watch

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/dlxtop/dlxtop/model"
)

// MoveKind is a kind of movement.
type MoveKind string

const (
	MoveHop      MoveKind = "hop"      // left a buffer for the queues behind it
	MoveArrival  MoveKind = "arrival"  // came into a queue, from publishers or by an unseen way
	MoveReturn   MoveKind = "return"   // came back to a retry buffer from the worker
	MoveEither   MoveKind = "either"   // came into a retry buffer that publishers use too: whether it is new is unknown
	MoveGivenUp  MoveKind = "given up" // came into a failed queue
	MoveTaken    MoveKind = "taken"    // consumers took ready messages
	MoveDelivery MoveKind = "delivery" // consumers received messages, by the statistics
	MoveLeft     MoveKind = "left"     // left a queue that is not a buffer, for an unknown reason
	MoveLook     MoveKind = "look"     // another tool held messages and returned them
)

func (k MoveKind) arrives() bool {
	return k == MoveArrival || k == MoveReturn || k == MoveEither || k == MoveGivenUp
}

// LoggedMove is a movement of messages: what counts saw at one place within about a second. It grows during that time,
// and later learns what happened to the messages.
type LoggedMove struct {
	At         time.Time // of the first count that saw it
	Until      time.Time // of the last count that saw it
	Kind       MoveKind
	Queue      model.QueueRef // the one that it left; for arrivals, returns and messages given up: the one that it reached
	N          int64
	To         []Reached // for a hop: the queues behind
	Late       bool      // it was not seen, but derived from totals, which lag
	Own        bool      // dlxtop itself held messages of the queue meanwhile
	Redeclared bool      // the queue was deleted and declared again

	// Acked is how many messages of a delivery were acknowledged.
	Acked int64
	// Waited is how long the messages of a hop had waited, or those of a look were held: unknown when they were not seen
	// arriving.
	waited span
	exact  bool        // for a hop: everything that leaves goes to every queue of To
	kept   bool        // for a hop: the queue keeps dead letters that no queue accepts (at-least-once)
	taken  waitingLine // what left: another tool may return it
	early  bool        // for a hop: none of them was due
	vague  bool        // for a hop: it may have been another tool's look
}

// Reached is what arrived of a hop in one queue.
type Reached struct {
	Queue   model.QueueRef
	N       int64
	Missing int64 // that certainly did not arrive

	start model.Opt[int64] // the statistics of that queue when the hop was seen
	went  int64            // what had left that queue at that time
}

// Waited returns the shortest and the longest time that messages had waited, within about a quarter of a second.
func (m *LoggedMove) Waited() (least, most model.Opt[time.Duration]) {
	return m.waited.least, m.waited.most
}

// Missing returns how many messages of a hop are certainly lost.
func (m *LoggedMove) Missing() (n int64) {
	for _, r := range m.To {
		n = max(n, r.Missing)
	}
	return n
}

// moveWords are for movements described by a number and the queue. Some may have been seen late.
var moveWords = map[MoveKind]string{
	MoveArrival: "%s arrived in %s", MoveReturn: "%s returned to %s", MoveEither: "%s came into %s, new or sent again",
	MoveGivenUp: "%s given up to %s", MoveLeft: "%s left %s: taken or purged",
}

// String returns the movement in words, printable: "5 left buffer-queue, 5 arrived in worker-queue after 5.0s".
func (m *LoggedMove) String() string {
	n := model.Count(m.N)
	name := model.Printable(m.Queue.Name)
	late, more := "", ""
	if m.Late {
		late = " between two counts"
	}

	switch {
	case m.Kind == MoveHop:
		return m.hopWords() + late
	case m.Kind == MoveTaken:
		return n + " taken by consumers of " + name
	case m.Kind == MoveDelivery:
		if m.Acked > 0 {
			more = model.Sayf(", %v acknowledged", m.Acked)
		}
		return n + " delivered from " + name + more
	case m.Kind == MoveLook:
		if m.waited.most.Known() {
			more = " for " + seconds(m.waited.most.Or(0))
		}
		return n + " of " + name + " were held by another tool" + more + " and given back"
	case m.Kind == MoveLeft && m.Own:
		return n + " left " + name + ", taken out by dlxtop"
	}

	return fmt.Sprintf(moveWords[m.Kind], n, name) + late
}

func (m *LoggedMove) hopWords() string {
	words := model.Count(m.N) + " left " + model.Printable(m.Queue.Name)
	after := m.waitWords()
	switch {
	case m.Redeclared:
		return words + ", which was deleted and declared again"
	case len(m.To) == 0 && m.exact && m.kept:
		return words + after + ": kept, no queue takes them yet"
	case len(m.To) == 0 && m.exact:
		return words + after + ": lost, no queue takes them"
	case len(m.To) == 0:
		return words + after
	}

	var all, arrived, missing []string
	same := !slices.ContainsFunc(m.To, func(r Reached) bool { return r.N != m.To[0].N })
	for _, r := range m.To {
		name := model.Printable(r.Queue.Name)
		all = append(all, name)
		if r.N > 0 {
			arrived = append(arrived, model.Count(r.N)+" arrived in "+name)
		}
		if r.Missing > 0 {
			missing = append(missing, model.Count(r.Missing)+" not seen to arrive in "+name)
		}
	}

	switch {
	case len(arrived) == 0 && len(missing) == 0:
		return words + " for " + strings.Join(all, ", ") + after
	case len(arrived) > 0 && same:
		words += model.Sayf(", %v arrived in %s", m.To[0].N, strings.Join(all, " and "))
	case len(arrived) > 0:
		words += ", " + strings.Join(arrived, ", ")
	}

	words += after
	if len(missing) > 0 {
		why := "lost, or taken out by hand"
		if m.early {
			why = "taken out by hand, they were not due yet"
		}
		words += ", " + strings.Join(missing, ", ") + ": " + why
	}

	return words
}

func (m *LoggedMove) waitWords() string {
	least, known := m.waited.least.Get()
	most := m.waited.most.Or(0)
	switch {
	case !known:
		return ""
	case most-least < 300*time.Millisecond:
		return " after " + seconds((least+most)/2)
	}

	return " after " + seconds(least) + " to " + seconds(most)
}

// seconds formats a measured time: tenths of seconds below a minute, whole ones above.
func seconds(d time.Duration) string {
	if d = max(d, 0); d < time.Minute {
		return fmt.Sprintf("%.1fs", d.Seconds())
	}
	return model.ShortDuration(d.Round(time.Second))
}
