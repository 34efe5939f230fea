package broker_test

import (
	"io"
	"net"
	"net/url"
	"testing"
	"time"

	"github.com/dlxtop/dlxtop/internal/must"
)

// longWay is a TCP proxy to the node that delivers everything some time later, in both directions, and does not limit
// how much is under way. It returns the URL that leads through it.
func longWay(t testing.TB, address string, eachWay time.Duration) string {
	t.Helper()
	u := must.Get(url.Parse(address))(t)
	listener := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	t.Cleanup(func() { listener.Close() })
	host := u.Host
	go func() {
		for {
			near, err := listener.Accept()
			if err != nil {
				return
			}
			far, err := net.Dial("tcp", host)
			if err != nil {
				near.Close()
				return
			}
			go carry(far, near, eachWay)
			go carry(near, far, eachWay)
		}
	}()
	u.Host = listener.Addr().String()
	return u.String()
}

// carry copies what comes to where it goes, each piece so much later.
func carry(to, from net.Conn, later time.Duration) {
	type piece struct {
		due   time.Time
		bytes []byte
	}
	pieces := make(chan piece, 1<<16) // what is under way: it must not hold the sender back
	go func() {
		defer close(pieces)
		for {
			buffer := make([]byte, 16<<10)
			n, err := from.Read(buffer)
			if n > 0 {
				pieces <- piece{time.Now().Add(later), buffer[:n]}
			}
			if err != nil {
				return
			}
		}
	}()
	defer to.Close()
	defer from.Close()
	for p := range pieces {
		time.Sleep(time.Until(p.due))
		if _, err := to.Write(p.bytes); err != nil {
			_, _ = io.Copy(io.Discard, from)
			return
		}
	}
}
