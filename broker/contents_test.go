package broker

import "testing"

// What was delivered and nobody claimed does not outlive the look: a channel may end with deliveries on their way.
func TestReleaseForgetsWhatNobodyClaimed(t *testing.T) {
	p := newPeer(t)
	for range 2 { // in two frames, which is not kept, and in one
		if _, ok, err := p.channel.Get("q", false); err != nil || !ok {
			t.Fatal(ok, err)
		}
	}
	in := p.wire.in
	if len(in.waited) != 1 {
		t.Fatalf("%d contents wait", len(in.waited))
	}
	new(links).release(&link{wire: p.wire})
	if len(in.waited) != 0 {
		t.Errorf("%d contents wait after the release", len(in.waited))
	}
}

// Each content is claimed once: a second claim must not pass for a message without a body.
func TestContentIsClaimedOnce(t *testing.T) {
	for name, then := range map[string]func(*contents, []byte){
		"claimed":   func(c *contents, ticket []byte) { c.claimed(ticket) },
		"forgotten": func(c *contents, _ []byte) { c.forget() },
	} {
		var c contents
		ticket := c.keep(nil, content{body: []byte("body")})
		then(&c, ticket)
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s, it was claimed again", name)
				}
			}()
			c.claimed(ticket)
		}()
	}
}
