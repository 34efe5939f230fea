package model

import "time"

// LookedByQueue is what is remembered of several queues.
type LookedByQueue = map[QueueRef]Looked

// Looked is what is remembered of a queue that was peeked at.
type Looked struct {
	Highest int64 // the delivery count that a message in the queue may have by now, where returns count
	Limit   int64 // its delivery limit at the last peek
	Ended   Ended // why the last peek ended early, if it was not dlxtop that ended it; zero: the queue was read since
}

// EndedBy is what ended a peek before dlxtop did. All held messages went back, and that counts as a return.
type EndedBy string

const (
	// RabbitMQ failed internally (541, from 4.0 on), for example on a message of an AMQP 1.0 client without an AMQP 0-9-1
	// form.
	EndedByConversion EndedBy = "conversion"
	EndedByBroker     EndedBy = "broker"
	EndedByClient     EndedBy = "client" // this client cannot read what it received
	EndedByCut        EndedBy = "cut"    // the connection was lost without an error
)

// Ended is how a peek ended that dlxtop did not end itself.
type Ended struct {
	By     EndedBy `json:",omitempty"` // "": none ended so
	Said   string  `json:",omitempty"` // the code and the text
	Before int64   `json:",omitempty"` // messages that arrived before the end, and are still at the head of the queue
	Times  int64   `json:",omitempty"` // in a row
	At     time.Time
}

// Any reports whether a peek ended so.
func (e Ended) Any() bool { return e.By != "" }

// Sure reports whether another peek would most likely end in the same way. A single lost connection can have any
// reason.
func (e Ended) Sure() bool { return e.Any() && (e.By != EndedByCut || e.Times > 1) }

// Remember adds what earlier peeks of any dlxtop on this machine have cost. err is why that is unknown.
func (s *Snapshot) Remember(looked map[QueueRef]Looked, err error) {
	s.Looked = looked
	if err != nil {
		s.Missing = append(s.Missing, "the cost of earlier looks is unknown: "+err.Error())
	}
}
