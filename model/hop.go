package model

// Hop is one way out of a queue: messages that leave it for a reason go to an exchange with a key and reach queues.
type Hop struct {
	From     QueueRef
	Reason   Reason
	Exchange string   // the DLX; "" is the default exchange
	Keys     []string // the dead-letter routing key; empty: each message's own keys, and Route is then the possible set
	Route    Route
}

// Route is which queues a publish reaches.
type Route struct {
	Queues          []QueueRef    // sorted, each once
	Exact           bool          // false: the possible set only (unknown key, or an exchange type whose choice is its own)
	MissingExchange string        // an exchange that does not exist; "" when all do. The default exchange always exists
	Internal        bool          // the first exchange is internal: the broker refuses a client's publish
	Through         []ExchangeRef // the exchanges passed, in order of discovery
	Why             string        // why the route is not exact, "" when it is
}
