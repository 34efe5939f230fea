package model

import "time"

// Role is the part that a queue plays in a flow.
type Role string

// The roles.
const (
	DelayedBuffer Role = "delayed" // a buffer that publishers fill on purpose
	RetryBuffer   Role = "retry"   // a buffer that failures of a worker fill
	WorkerRole    Role = "worker"
	FailedRole    Role = "failed"
)

// Flow is one worker with its buffers, its failed queues and the exchanges between them. It is named after the worker.
type Flow struct {
	Name    string
	VHost   string
	Worker  Member
	Buffers []Buffer
	Failed  []Member
}

// Member is a queue's membership in a flow, with the reason for it.
type Member struct {
	Queue  QueueRef
	Reason string
}

// Buffer is a queue of a flow whose messages wait.
type Buffer struct {
	Member
	Role      Role
	TTL       Opt[time.Duration] // the queue's effective message TTL; unknown when each message brings its own
	TTLSource string             // "argument", "policy retry-30s", "operator policy cap" or "message"
	DLX       string
	DLXSource string
	Key       Opt[string] // dead-letter routing key; unknown when the messages' own keys are used
	Targets   []QueueRef  // the queues that receive what expires
}

// Queues are all queues of the flow: buffers, worker, failed.
func (f *Flow) Queues() []QueueRef {
	refs := make([]QueueRef, 0, len(f.Buffers)+1+len(f.Failed))
	for _, b := range f.Buffers {
		refs = append(refs, b.Queue)
	}
	refs = append(refs, f.Worker.Queue)
	for _, m := range f.Failed {
		refs = append(refs, m.Queue)
	}
	return refs
}
