package model

// Operation is what a plan does.
type Operation string

// The operations.
const (
	Replay Operation = "replay" // publish again, wait for the confirm, then acknowledge
	Drop   Operation = "drop"   // acknowledge
)

// Address is where a message is published: an exchange ("" is the default exchange) and a routing key.
type Address struct {
	Exchange   string
	RoutingKey string
}

// Plan is an action before it runs: data that can be printed, shown in a dialog and tested without a broker.
type Plan struct {
	Operation  Operation
	From       QueueRef
	Acquire    PeekPlan  // how the messages are taken out of From
	Selection  Selection // which of them
	Target     Target    // where a replay goes
	Planned    int       // how many messages are chosen
	Recipients []Recipient
	Strips     []string // headers and properties that are removed, as they occur in the chosen messages
	Warnings   []string // what could go wrong, in words
	Refusal    string   // why it must not run, "" when it may
	User       string   // the connected user: another user_id than this one is stripped, because the broker refuses it (406)
	Rate       float64  // messages per second at most; 0 is as fast as the broker confirms
}

// Recipient is a queue that would receive messages of a plan.
type Recipient struct {
	Queue     QueueRef
	Consumers Opt[int64]
	Messages  int // of the messages looked at when the plan was made
}

// ActionWant is what a person or a script wants done.
type ActionWant struct {
	Operation Operation
	From      QueueRef
	Selection Selection
	Planned   int       // how many messages that is, as far as known
	Sample    []Message // messages that were looked at and are chosen: the plan names their recipients and strips
	Mode      TargetMode
	Fixed     Address // of ToQueue and ToExchange
	User      string  // the connected user
	Rate      float64 // messages per second at most; 0 is as fast as the broker confirms
	Insist    bool    // go on in spite of a refusal that can be overridden
}

// Plan makes the plan for an action.
func (t *Topology) Plan(want ActionWant) Plan { return Plan{} }
