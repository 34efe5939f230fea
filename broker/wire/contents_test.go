package wire

import (
	"testing"

	"github.com/dlxtop/dlxtop/internal/assert"
)

// Each content is claimed once: a second claim must not pass for a message without a body.
func TestContentIsClaimedOnce(t *testing.T) {
	for name, then := range map[string]func(*Conn, []byte){
		"claimed":   func(w *Conn, ticket []byte) { w.in.claimed(ticket) },
		"forgotten": func(w *Conn, _ []byte) { w.Forget() },
	} {
		w := &Conn{in: &incoming{}}
		ticket := w.in.keep(nil, content{body: []byte("body")})
		then(w, ticket)
		func() {
			defer func() {
				assert.That(t, recover() != nil, "%s, it was claimed again", name)
			}()
			w.in.claimed(ticket)
		}()
	}
}
