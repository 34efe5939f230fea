package model

import "slices"

// Looked is what is remembered of a queue in which returns count.
type Looked struct {
	Highest int64 // delivery count that a message in the queue may have by now
	Limit   int64 // its delivery limit at the last look
}

// ReturnsCount reports whether there are queues in which a delivery limit may count what looks give back.
func (s *Snapshot) ReturnsCount() bool {
	return BehaviourOf(s.Overview.Version).ReturnCountsAsDelivery &&
		slices.ContainsFunc(s.Queues, func(q Queue) bool { return q.Type == Quorum })
}

// Remember takes in what earlier looks have cost, of all dlxtop on this machine. err is why that is not known.
func (s *Snapshot) Remember(looked map[QueueRef]Looked, err error) {
	s.Looked = looked
	if err != nil {
		s.Missing = append(s.Missing, "the cost of earlier looks is unknown: "+err.Error())
	}
}
