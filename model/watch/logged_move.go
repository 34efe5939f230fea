package watch

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/dlxtop/dlxtop/model"
)

// MoveKind is what kind of movement was seen.
type MoveKind string

// The kinds.
const (
	MoveHop      MoveKind = "hop"      // left a buffer for the queues behind it
	MoveArrival  MoveKind = "arrival"  // came into a queue, from publishers or by an unseen way
	MoveReturn   MoveKind = "return"   // came back to a retry buffer from the worker
	MoveEither   MoveKind = "either"   // came into a retry buffer that publishers use too: new or not, that is unknown
	MoveGivenUp  MoveKind = "given up" // came into a failed queue
	MoveTaken    MoveKind = "taken"    // consumers took what was ready
	MoveDelivery MoveKind = "delivery" // consumers were given messages, as the statistics tell
	MoveLeft     MoveKind = "left"     // left a queue that is no buffer, by nobody's hand that is known
	MoveLook     MoveKind = "look"     // another tool held messages and gave them back
)

func (k MoveKind) arrives() bool {
	return k == MoveArrival || k == MoveReturn || k == MoveEither || k == MoveGivenUp
}

// LoggedMove is a movement of messages: what counts within about a second have seen at one place. It grows for that
// long, and learns later what became of the messages.
type LoggedMove struct {
	At         time.Time // of the count that saw it first
	Until      time.Time // of the count that saw the last of it
	Kind       MoveKind
	Queue      model.QueueRef // that it left; of arrivals, returns and messages given up: that it reached
	N          int64
	To         []Reached // of a hop: the queues behind
	Late       bool      // it was not seen, but worked out from totals that are known late
	Own        bool      // dlxtop itself held messages of the queue meanwhile
	Redeclared bool      // the queue was deleted and declared again

	// Acked is, of a delivery, how many were acknowledged.
	Acked int64
	// Waited is, of a hop, how long the messages had waited, and of a look how long they were held: unknown when they
	// were not seen to arrive.
	waited span
	exact  bool        // of a hop: all that leaves goes to every queue of To
	kept   bool        // of a hop: the queue keeps what no queue takes (at-least-once)
	taken  waitingLine // what left: another tool may give it back
	early  bool        // of a hop: none of them was due
	vague  bool        // of a hop: it may have been a look by another tool
}

// Reached is what arrived of a hop in one queue.
type Reached struct {
	Queue   model.QueueRef
	N       int64
	Missing int64 // that certainly did not arrive

	start model.Opt[int64] // what statistics told of that queue when the hop was seen
	went  int64            // what had left that queue then
}

// Waited is how long messages had waited: the shortest and the longest time, within about a quarter of a second.
func (m *LoggedMove) Waited() (least, most model.Opt[time.Duration]) {
	return m.waited.least, m.waited.most
}

// Missing is how many messages of a hop are lost, as far as is certain.
func (m *LoggedMove) Missing() (n int64) {
	for _, r := range m.To {
		n = max(n, r.Missing)
	}
	return n
}

// String is the movement in words, printable: "5 left buffer-queue, 5 arrived in worker-queue after 5.0s".
func (m *LoggedMove) String() string {
	n, name := model.Count(m.N), model.Printable(m.Queue.Name)
	late := ""
	if m.Late {
		late = " between two counts"
	}
	switch m.Kind {
	case MoveHop:
		return m.hopWords() + late
	case MoveArrival:
		return n + " arrived in " + name + late
	case MoveReturn:
		return n + " returned to " + name + late
	case MoveEither:
		return n + " came into " + name + ", new or sent again" + late
	case MoveGivenUp:
		return n + " given up to " + name + late
	case MoveTaken:
		return n + " taken by consumers of " + name
	case MoveDelivery:
		words := n + " delivered from " + name
		if m.Acked > 0 {
			words += ", " + model.Count(m.Acked) + " acknowledged"
		}
		return words
	case MoveLook:
		words := n + " of " + name + " were held by another tool"
		if m.waited.most.Known() {
			words += " for " + seconds(m.waited.most.Or(0))
		}
		return words + " and given back"
	}
	if m.Own {
		return n + " left " + name + ", taken out by dlxtop"
	}
	return n + " left " + name + ": taken or purged" + late
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
	var arrived, pending []string
	same := !slices.ContainsFunc(m.To, func(r Reached) bool { return r.N != m.To[0].N })
	var missing []string
	for _, r := range m.To {
		name := model.Printable(r.Queue.Name)
		switch {
		case r.N > 0 && same:
			arrived = append(arrived, name)
		case r.N > 0:
			arrived = append(arrived, model.Count(r.N)+" arrived in "+name)
		}
		if r.Missing > 0 {
			missing = append(missing, model.Count(r.Missing)+" not seen to arrive in "+name)
		}
		pending = append(pending, name)
	}
	switch {
	case len(arrived) == 0 && len(missing) == 0:
		return words + " for " + strings.Join(pending, ", ") + after
	case len(arrived) > 0 && same:
		words += ", " + model.Count(m.To[0].N) + " arrived in " + strings.Join(arrived, " and ") + after
	case len(arrived) > 0:
		words += ", " + strings.Join(arrived, ", ") + after
	default:
		words += after
	}
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

// seconds is a measured time: tenths of seconds below a minute, whole ones above.
func seconds(d time.Duration) string {
	d = max(d, 0)
	if d < time.Minute {
		return fmt.Sprintf("%.1fs", d.Seconds())
	}
	return model.ShortDuration(d.Round(time.Second))
}
