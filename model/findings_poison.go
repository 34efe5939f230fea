package model

import (
	"fmt"
	"time"
)

// From how many tries on a message is taken for one that never succeeds: applications give up before. Where its age only bounds
// the tries, it takes more to say so.
const (
	manyTries        = 10
	manyTriesByBound = 50
)

// A message that comes back again and again is in the way of others, and nothing ends it.
func findPoison(t *Topology, q *Queue, messages []Message, takenAt time.Time) (Finding, bool) {
	if f := t.retryFlow(q.QueueRef); f == nil || f.Role(q.QueueRef) == FailedRole {
		return Finding{}, false // there it has come to rest
	}
	n := 0
	var worst Tries
	var which *Message
	for i := range messages {
		tries := t.Tries(&messages[i], q.QueueRef, takenAt)
		if tries.Least < manyTries && tries.Most < manyTriesByBound {
			continue
		}
		n++
		if which == nil || tries.Least > worst.Least || tries.Least == worst.Least && tries.Most > worst.Most {
			worst, which = tries, &messages[i]
		}
	}
	if n == 0 {
		return Finding{}, false
	}
	id := "without a message id"
	if which.Properties.MessageID != "" {
		id = "id " + Printable(which.Properties.MessageID)
	}
	words := fmt.Sprintf("message %d (%s) comes back again and again: %s tries", which.Position, id, worst.Words())
	if n > 1 {
		words = fmt.Sprintf("%s come back again and again: message %d (%s) has had %s tries", Plural(n, "message"), which.Position, id, worst.Words())
	}
	evidence := "its deaths, and what its worker counts in its headers"
	if worst.Note != "" {
		evidence = worst.Note + ": its age and the shortest delay of a retry bound it"
	}
	return Finding{
		Code: "poison-message", Level: LevelWarning, Message: words, Evidence: evidence,
		Remedy: "drop it (the journal keeps it), or mend what it needs and replay it; let the worker give up after some tries",
	}, true
}
