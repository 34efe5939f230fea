package model

import "time"

// Looked is what is remembered of a queue that was looked at.
type Looked struct {
	Highest int64 // delivery count that a message in the queue may have by now, where returns count
	Limit   int64 // its delivery limit at the last look
	Ended   Ended // how the last look ended that dlxtop did not end itself; zero: since then the queue was read
}

// EndedBy is what ended a look before dlxtop did. Everything that was held went back, and counts as a return.
type EndedBy string

// The kinds.
const (
	// RabbitMQ failed inside (541, from 4.0 on): as when a message of an AMQP 1.0 client has no form in AMQP 0-9-1.
	EndedByConversion EndedBy = "conversion"
	EndedByBroker     EndedBy = "broker"
	EndedByClient     EndedBy = "client" // this client cannot read what came
	EndedByCut        EndedBy = "cut"    // the connection was lost without a word
)

// Ended is how a look ended that dlxtop did not end itself.
type Ended struct {
	By     EndedBy `json:",omitempty"` // "": none did
	Said   string  `json:",omitempty"` // the code and the text
	Before int64   `json:",omitempty"` // messages at the head of the queue that came before that, and are there still
	Times  int64   `json:",omitempty"` // in a row
	At     time.Time
}

// Any reports whether a look ended so.
func (e Ended) Any() bool { return e.By != "" }

// Sure reports whether another look would most likely end in the same way. A connection can be lost once for any
// reason.
func (e Ended) Sure() bool { return e.Any() && (e.By != EndedByCut || e.Times > 1) }

// Remember takes in what earlier looks have cost, of all dlxtop on this machine. err is why that is not known.
func (s *Snapshot) Remember(looked map[QueueRef]Looked, err error) {
	s.Looked = looked
	if err != nil {
		s.Missing = append(s.Missing, "the cost of earlier looks is unknown: "+err.Error())
	}
}
