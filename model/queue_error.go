package model

import "errors"

// ErrConnectionLost means that a connection died, or was closed because the broker stops.
var ErrConnectionLost = errors.New("the connection to the broker was lost")

// Errors about one queue, to be found with errors.Is.
var (
	ErrQueueGone = errors.New("the queue does not exist any more")
	ErrQueueDown = errors.New("the queue exists, but cannot be used: its node is down, and it comes back " +
		"with its messages when that node starts")
	ErrQueueExclusive = errors.New("the queue is exclusive to another connection: only that connection can read it")
	ErrConsumeRefused = errors.New("a consumer with exclusive access is attached")
	ErrQueueBusy      = errors.New("the broker refused the read")
	ErrQueueSilent    = errors.New("the queue does not answer: its broker is very busy, its node went down, or it has " +
		"no leader now: try again in a moment")
)
