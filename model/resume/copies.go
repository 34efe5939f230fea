package resume

import (
	"slices"

	"github.com/dlxtop/dlxtop/model/message"
)

// targetCopies are a record's messages in one of its targets.
type targetCopies struct {
	mark     string // the replay's name; "": they are not marked
	arrivals map[message.Fingerprint]published
	expected []*pending
	verdicts map[*pending]verdict

	seen      int                           // messages of the target examined so far
	sightings map[message.Fingerprint][]int // where pending ones were seen
	places    map[int64][]place             // where copies that have certainly arrived were seen, by record, from the head
	found     message.Twins                 // how many of each have certainly arrived and were seen
	earliest  int                           // the lowest rank seen, 0: none
	strangers map[string]int                // marked messages that are none of these, by message_id
	strange   bool                          // there are such messages

	consumers bool   // the target has consumers now
	untouched bool   // nothing was taken from the target since the record began
	gone      bool   // the target does not exist any more
	unread    string // why the target could not be read; "" when it was
}

// place is where a copy that has certainly arrived was seen.
type place struct{ rank, at int }

// published is what was published with one fingerprint.
type published struct {
	certain int   // how many have certainly arrived
	rank    int   // of the last one
	record  int64 // the record of the last one that has certainly arrived
	pending int
}

func newTargetCopies() *targetCopies {
	return &targetCopies{
		arrivals:  map[message.Fingerprint]published{},
		verdicts:  map[*pending]verdict{},
		sightings: map[message.Fingerprint][]int{},
		places:    map[int64][]place{},
		found:     message.Twins{},
		strangers: map[string]int{},
	}
}

// certain adds a copy that has arrived.
func (c *targetCopies) certain(f message.Fingerprint, rank int, record int64) {
	p := c.arrivals[f]
	p.certain++
	p.rank, p.record = rank, record
	c.arrivals[f] = p
}

// expect adds a copy that may have arrived.
func (c *targetCopies) expect(f message.Fingerprint, by *pending) {
	p := c.arrivals[f]
	p.pending++
	p.rank = max(p.rank, by.rank)
	c.arrivals[f] = p
	c.expected = append(c.expected, by)
}

func (c *targetCopies) count(m *message.Message) {
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

// missing reports whether a copy that has certainly arrived is no longer there.
func (c *targetCopies) missing() bool {
	for f, p := range c.arrivals {
		if c.found[f] < p.certain {
			return true
		}
	}

	return false
}

// judge decides for each expected copy whether it has arrived. Copies arrive in the order of publishing, and consumers
// take them in that order: if an earlier copy is still there, and no consumer could have requeued it, a later one that
// is missing has never arrived.
func (c *targetCopies) judge() {
	left := message.Twins{}
	foreign := map[message.Fingerprint]bool{}
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
		case foreign[f]: // something else has published a twin there
		case left[f] > 0:
			left[f]--
			c.verdicts[p] = yes
		case c.strangers[p.id] > 0 && p.only: // the broker changed it on arrival
			c.strangers[p.id]--
			c.verdicts[p] = yes
		case c.unread != "", c.strange && !p.only:
		case c.untouched, !c.consumers && c.earliest > 0 && c.earliest < p.rank:
			c.verdicts[p] = no
		}
	}
}

// beyond returns how many copies like p's there are in addition to those that have certainly arrived. Without a mark,
// one that is ahead of an earlier, certainly arrived copy does not belong to this record.
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
