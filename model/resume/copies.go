package resume

import (
	"slices"

	"github.com/dlxtop/dlxtop/model/message"
)

// targetCopies are the messages of a record in one of its targets.
type targetCopies struct {
	mark     string // of the replay; "": they are not marked
	arrivals map[message.Fingerprint]published
	expected []*pending
	verdicts map[*pending]verdict

	seen      int                           // messages of the target so far
	sightings map[message.Fingerprint][]int // of pending ones: where
	places    map[int64][]place             // of the copies that have certainly arrived, by record, from the head on
	found     map[message.Fingerprint]int   // copies that have certainly arrived
	earliest  int                           // the lowest rank that was seen, 0: none
	strangers map[string]int                // messages with the mark that are none of these, by message_id
	strange   bool                          // there are such messages

	consumers bool   // it has consumers now
	untouched bool   // nobody has taken a message out of it since the record began
	unread    string // why the target could not be read; "" when it was
}

// place is where a copy was seen that has certainly arrived.
type place struct{ rank, at int }

// published is what was published with one fingerprint.
type published struct {
	certain int   // how many have certainly arrived
	rank    int   // of the last one
	record  int64 // of the last one that has certainly arrived
	pending int
}

func newTargetCopies() *targetCopies {
	return &targetCopies{
		arrivals: map[message.Fingerprint]published{}, verdicts: map[*pending]verdict{},
		sightings: map[message.Fingerprint][]int{}, places: map[int64][]place{}, found: map[message.Fingerprint]int{},
		strangers: map[string]int{},
	}
}

// certain notes a copy that has arrived.
func (c *targetCopies) certain(f message.Fingerprint, rank int, record int64) {
	p := c.arrivals[f]
	p.certain++
	p.rank, p.record = rank, record
	c.arrivals[f] = p
}

// expect notes a copy that may have arrived.
func (c *targetCopies) expect(f message.Fingerprint, by *pending) {
	p := c.arrivals[f]
	p.pending++
	p.rank = max(p.rank, by.rank)
	c.arrivals[f] = p
	c.expected = append(c.expected, by)
}

// see takes in one message of the target.
func (c *targetCopies) see(m *message.Message) {
	c.seen++
	p, known := c.arrivals[m.Fingerprint]
	switch {
	case known:
		if c.earliest == 0 || p.rank < c.earliest {
			c.earliest = p.rank
		}
		if p.pending > 0 {
			c.sightings[m.Fingerprint] = append(c.sightings[m.Fingerprint], c.seen)
		} else {
			c.places[p.record] = append(c.places[p.record], place{p.rank, c.seen})
		}
		c.found[m.Fingerprint]++
	case m.MarkedBy(c.mark):
		c.strange = true
		c.strangers[m.Properties.MessageID]++
	}
}

// missing reports whether a copy that has certainly arrived is not there any more.
func (c *targetCopies) missing() bool {
	for f, p := range c.arrivals {
		if c.found[f] < p.certain {
			return true
		}
	}
	return false
}

// judge decides of each expected copy whether it has arrived. Copies arrive in the order of publishing, and consumers
// take the first ones first: where an earlier copy is there still, and no consumer that could have given it back, a
// later one has never been there.
func (c *targetCopies) judge() {
	left, foreign := map[message.Fingerprint]int{}, map[message.Fingerprint]bool{}
	for _, p := range c.expected {
		f := *p.sent
		if _, worked := left[f]; !worked {
			left[f] = c.beyond(p)
			foreign[f] = c.mark == "" && left[f] > c.arrivals[f].pending
		}
	}
	for _, p := range c.expected {
		f := *p.sent
		switch {
		case foreign[f]: // somebody else has put a twin there
		case left[f] > 0:
			left[f]--
			c.verdicts[p] = yes
		case c.strangers[p.id] > 0 && p.id != "": // the broker has changed it on its way in
			c.strangers[p.id]--
			c.verdicts[p] = yes
		case c.unread != "", c.strange && p.id == "":
		case c.untouched, !c.consumers && c.earliest > 0 && c.earliest < p.rank:
			c.verdicts[p] = no
		}
	}
}

// beyond is how many copies like p's there are beyond those that have certainly arrived. Without a mark, one that lies
// in front of what was published before it and has certainly arrived is none of this record.
func (c *targetCopies) beyond(p *pending) (n int) {
	f, last := *p.sent, 0
	if c.arrivals[f].certain > 0 || c.mark != "" {
		return len(c.sightings[f]) - c.arrivals[f].certain
	}
	for _, earlier := range slices.Backward(c.places[p.record]) {
		if earlier.rank < p.rank {
			last = earlier.at
			break
		}
	}
	for _, at := range c.sightings[f] {
		if at > last {
			n++
		}
	}
	return n
}
