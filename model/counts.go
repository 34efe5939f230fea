package model

// QueueCounts are the counts of one queue as a cheap poll between two snapshots tells them.
type QueueCounts struct {
	Ready     Opt[int64]
	Unacked   Opt[int64]
	Consumers Opt[int64] // mostly unknown: brokers tell it only with their statistics
}
