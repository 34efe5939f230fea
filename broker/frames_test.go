package broker

import (
	"bufio"
	"bytes"
	"io"
	"math/rand/v2"
	"testing"

	"dlxtop/internal/seed"
	"dlxtop/model"
)

// pieces is a reader that returns little at a time.
type pieces struct {
	from   io.Reader
	random *rand.Rand
}

func (p pieces) Read(b []byte) (int, error) {
	return p.from.Read(b[:min(len(b), 1+p.random.IntN(5000))])
}

func incomingOf(from io.Reader) *incoming {
	return newIncoming(bufio.NewReaderSize(from, readAhead))
}

// TestFramesInPieces: frames are what they are however they are cut, on both sides.
func TestFramesInPieces(t *testing.T) {
	r := seed.Rand(t)
	greeting := "AMQP\x00\x00\x09\x01"
	heartbeat := []byte{frameHeartbeat, 0, 0, 0, 0, 0, 0, frameEnd}
	plain := []byte(greeting)
	for range 50 {
		out, rest := newOutgoing(), []byte(greeting)
		var got []byte
		plain = plain[:len(greeting)]
		for _, table := range tables() {
			whole := headerFrame(table)
			const before = frameFixed - 2
			out.properties = whole[frameHead+before : len(whole)-1]
			empty := appendFrame(nil, frameHeader, whole[1:3], func(b []byte) []byte {
				return append(append(b, whole[frameHead:frameHead+before]...), 0, 0)
			})
			rest = append(append(append(rest, empty...), heartbeat...), whole...)
			plain = append(append(append(plain, whole...), heartbeat...), whole...)
			for len(rest) > 0 {
				n := 1 + r.IntN(min(len(rest), 5000))
				got, rest = out.add(got, rest[:n]), rest[n:]
			}
		}
		if !bytes.Equal(got, plain) {
			t.Fatal("what is written depends on how it is cut")
		}
	}
	plain = plain[len(greeting):]
	whole, err := io.ReadAll(incomingOf(bytes.NewReader(plain)))
	if err != nil || bytes.Equal(whole, plain) {
		t.Fatal("nothing was disguised", err)
	}
	for range 50 {
		in := incomingOf(pieces{bytes.NewReader(plain), r})
		var got []byte
		for buffer := make([]byte, 1+r.IntN(10_000)); ; {
			n, err := in.Read(buffer)
			got = append(got, buffer[:n]...)
			if err != nil {
				break
			}
		}
		if !bytes.Equal(got, whole) {
			t.Fatal("what is read depends on how it comes")
		}
	}
}

// FuzzFrames reads any bytes as those of a broker: nothing is lost of what is no AMQP, and a length that is not so
// takes no memory.
func FuzzFrames(f *testing.F) {
	for _, table := range tables() {
		f.Add(headerFrame(table))
	}
	f.Add([]byte("HTTP/1.1 400 Bad Request"))
	f.Add([]byte{frameHeader, 0, 1, 0, 0xff, 0xff, 0xff, 0, 60})
	f.Add([]byte{frameMethod, 0, 1, 0xff, 0xff, 0xff, 0xff, 0, 60})
	f.Fuzz(func(t *testing.T, stream []byte) {
		got, err := io.ReadAll(incomingOf(bytes.NewReader(stream)))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Contains(stream, []byte{frameHeader}) && !bytes.Equal(got, stream) {
			t.Errorf("%q became %q", stream, got)
		}
		if len(got) < len(stream)-len(stream)/frameExtra || len(got) > 20*len(stream)+readAhead {
			t.Errorf("%d bytes became %d", len(stream), len(got))
		}
		_ = newOutgoing().add(nil, append([]byte("AMQP\x00\x00\x09\x01"), stream...))
	})
}

// BenchmarkHeaders is what the headers of a message that died twice cost, from the wire to the model.
func BenchmarkHeaders(b *testing.B) {
	death := model.Table{
		"count": int64(3), "reason": "rejected", "queue": "orders", "exchange": "shop",
		"routing-keys": []any{"orders.new"}, "time": decodeSimple('T', make([]byte, 8)),
	}
	table := encodeTable(nil, model.Table{
		"x-death": []any{death, death}, "x-first-death-queue": "orders", "x-first-death-reason": "rejected",
		"x-first-death-exchange": "shop", "tenant": "a", "try": int32(3),
	})
	frame, in := headerFrame(table), incomingOf(nil)
	b.ReportAllocs()
	for b.Loop() {
		if in.disguised(frame) == nil || len(decodeTable(table, 0)) != 6 {
			b.Fatal("it is damaged")
		}
	}
}
