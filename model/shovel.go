package model

// Shovel is a shovel or a federation link: it carries what comes into a queue to an address, of this broker or another.
type Shovel struct {
	Name     string // of a link: its upstream, or what its consumer is called
	VHost    string // where it is defined
	Link     bool   // it is a federation link
	State    string // running; or why it carries nothing: starting, terminated, error
	Since    string // as its node writes it, by its own clock and time zone; "" when unknown
	Why      string // why it does not run, in the broker's words
	AckMode  string // on-confirm, on-publish, no-ack; "" when unknown
	Ends     bool   // it ends by itself
	From     QueueRef
	FromHost string  // the other broker that has From; "" for this one
	Bound    Address // where it bound that queue, if it takes from an exchange
	ToVHost  string
	To       Address
	ToHost   string // the other broker that has To; "" for this one
	KeepsKey bool   // each message keeps its own routing key; To has none
}

// ShovelRoute returns the queues of this broker to which a shovel carries messages.
func (t *Topology) ShovelRoute(s *Shovel) Route {
	if t.routings[s.ToVHost] == nil {
		return Route{Unread: true}
	}
	return t.deadLetterRoute(s.ToVHost, s.To.Exchange, routed{keys: []string{s.To.RoutingKey}, keysKnown: !s.KeepsKey})
}

// Worked reports whether applications consumed a queue at this poll or an earlier one.
func (t *Topology) Worked(ref QueueRef) bool { return t.worked[ref] }
