package link

import (
	"net"
	"strings"
	"testing"

	"github.com/dlxtop/dlxtop/broker/wire"
	"github.com/dlxtop/dlxtop/internal/assert"
)

// A channel may end with deliveries on their way: what was not claimed of them does not outlive the look.
func TestReleaseForgetsWhatWasNotClaimed(t *testing.T) {
	near, far := net.Pipe()
	conn := wire.New(near)
	defer far.Close()
	defer conn.Cut()
	header := "\x02\x00\x01\x00\x00\x00\x0e\x00\x3c" + strings.Repeat("\x00", 12) + "\xce" // without a body
	go func() { _, _ = far.Write([]byte(header)) }()
	if _, err := conn.Read(make([]byte, 100)); err != nil || conn.Unclaimed() != 1 {
		t.Fatalf("%d contents wait: %v", conn.Unclaimed(), err)
	}
	new(links).release(&Link{Wire: conn})
	assert.Equal(t, conn.Unclaimed(), 0, "contents wait after the release")
}
