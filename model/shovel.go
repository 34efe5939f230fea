package model

// Shovel is a running shovel inside this broker that stays: it carries what comes into a queue to an address.
type Shovel struct {
	Name     string
	VHost    string   // where it is defined
	From     QueueRef // the queue that it consumes
	Bound    Address  // where it bound that queue, if it takes from an exchange
	ToVHost  string
	To       Address
	KeepsKey bool // each message keeps its own routing key; To has none
}

// ShovelRoute returns the queues to which a shovel carries messages.
func (t *Topology) ShovelRoute(s *Shovel) Route {
	if t.routings[s.ToVHost] == nil {
		return Route{Unread: true}
	}
	return t.deadLetterRoute(s.ToVHost, s.To.Exchange, routed{keys: []string{s.To.RoutingKey}, keysKnown: !s.KeepsKey})
}

// Worked reports whether applications consumed a queue at this poll or an earlier one.
func (t *Topology) Worked(ref QueueRef) bool { return t.worked[ref] }
