package model

// PlanPeek plans a look at a queue. The table of methods and releases by type and version replaces this file.
func PlanPeek(q *Queue, _ Settings, _ Behaviour, want PeekWant) PeekPlan {
	return PeekPlan{Queue: q.QueueRef, Type: q.Type, Limit: want.Limit}
}
