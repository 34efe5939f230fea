package wire

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"io"
	"math/rand/v2"
	"testing"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/internal/seed"
	"github.com/dlxtop/dlxtop/model"
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

// streamed are messages as a broker sends them, in all the shapes that there are: each with every table, with bodies
// that are kept and bodies that pass, whole and in pieces, and other frames between them.
func streamed() (stream []byte, all []content) {
	channel := []byte{0, 1}
	method := appendFrame(nil, frameMethod, channel, func(b []byte) []byte { return append(b, "deliver"...) })
	heartbeat := []byte{frameHeartbeat, 0, 0, 0, 0, 0, 0, frameEnd}
	for name, table := range tables() {
		for _, shape := range [][]int{{}, {1}, {1000}, {500, 500}, {50_000}, {65_000}, {70_000}, {131_064, 131_064, 9}} {
			size := 0
			for _, n := range shape {
				size += n
			}
			one := content{body: bytes.Repeat([]byte(name), 1+size/len(name))[:size]}
			header := headerFrame(table)
			binary.BigEndian.PutUint64(header[frameHead+4:], uint64(size))
			one.properties, _ = propertiesOf(bytes.Clone(header))
			all = append(all, one)
			stream = append(append(stream, method...), header...)
			for i, rest := 0, one.body; i < len(shape); i++ {
				if i > 0 {
					stream = append(stream, heartbeat...)
				}
				stream = appendFrame(stream, frameBody, channel, func(b []byte) []byte { return append(b, rest[:shape[i]]...) })
				rest = rest[shape[i]:]
			}
		}
	}
	return stream, all
}

// claimed are the contents that amqp091-go would get of a stream.
func claimed(t *testing.T, in *incoming, stream []byte) (all []content) {
	t.Helper()
	var body []byte
	left := uint64(0)
	for len(stream) > 0 {
		frame := stream[:frameSize(stream)]
		stream = stream[len(frame):]
		switch frame[0] {
		case frameHeader:
			left, body = bodySize(frame), nil
			properties, ok := propertiesOf(frame)
			must.That(t, ok && len(properties) == 2 && left != 0, "a header came through: %.100q", frame)
		case frameBody:
			body = append(body, frame[frameHead:len(frame)-1]...)
			if left -= uint64(len(frame) - frameExtra); left == 0 {
				all = append(all, in.claimed(body))
			}
		}
	}
	return all
}

// TestFramesThatComeInPieces: contents are what they are however they are cut.
func TestFramesThatComeInPieces(t *testing.T) {
	r := seed.Rand(t)
	stream, want := streamed()
	for round := range 20 {
		in := incomingOf(pieces{bytes.NewReader(stream), r})
		var got []byte
		for buffer := make([]byte, 1+r.IntN(10_000)); ; {
			n, err := in.Read(buffer)
			got = append(got, buffer[:n]...)
			if err != nil {
				break
			}
		}
		assert.That(t, round != 0 || len(in.waited) >= len(want)/2, "%d of %d are kept", len(in.waited), len(want))
		all := claimed(t, in, got)
		must.That(t, len(all) == len(want) && len(in.waited) == 0,
			"%d messages, want %d; %d are left", len(all), len(want), len(in.waited))
		for i := range want {
			if !bytes.Equal(all[i].properties, want[i].properties) || !bytes.Equal(all[i].body, want[i].body) {
				t.Fatalf("message %d has %.100q and a body of %d bytes, want %.100q and %d", i, all[i].properties, len(all[i].body),
					want[i].properties, len(want[i].body))
			}
		}
	}
}

// TestFramesThatGoInPieces: what is published is the same however amqp091-go cuts its frames.
func TestFramesThatGoInPieces(t *testing.T) {
	r := seed.Rand(t)
	greeting := "AMQP\x00\x00\x09\x01"
	heartbeat := []byte{frameHeartbeat, 0, 0, 0, 0, 0, 0, frameEnd}
	for range 50 {
		out, rest, want := newOutgoing(), []byte(greeting), []byte(greeting)
		var got []byte
		for _, table := range tables() {
			const before = frameFixed - 2
			header := headerFrame(table)
			body := bytes.Repeat([]byte("b"), r.IntN(3)*r.IntN(60_000))
			binary.BigEndian.PutUint64(header[frameHead+4:], uint64(len(body)))
			whole := header
			if len(body) > 0 {
				whole = appendFrame(whole, frameBody, header[1:3], func(b []byte) []byte { return append(b, body...) })
			}
			out.properties, out.body = header[frameHead+before:len(header)-1], body
			empty := appendFrame(nil, frameHeader, header[1:3], func(b []byte) []byte {
				return append(append(b, header[frameHead:frameHead+4]...), make([]byte, 10)...)
			})
			rest = append(append(append(rest, empty...), heartbeat...), whole...) // the last one as amqp091-go wrote it
			want = append(append(append(want, whole...), heartbeat...), whole...)
			for len(rest) > 0 {
				n := 1 + r.IntN(min(len(rest), 5000))
				got, rest = out.add(got, rest[:n]), rest[n:]
			}
		}
		must.That(t, bytes.Equal(got, want), "what is written depends on how it is cut")
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
		in := incomingOf(bytes.NewReader(stream))
		got := must.Get(io.ReadAll(in))(t)
		for _, one := range in.waited {
			got = append(append(got, one.properties...), one.body...)
		}
		assert.That(t, bytes.Contains(stream, []byte{frameHeader}) || bytes.Equal(got, stream), "%q became %q", stream, got)
		assert.That(t, len(got) >= len(stream)-len(stream)/frameExtra && len(got) <= 20*len(stream)+readAhead,
			"%d bytes became %d", len(stream), len(got))
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
		must.That(b, in.disguised(frame) != nil && len(decodeTable(table, 0)) == 6, "it is damaged")
	}
}
