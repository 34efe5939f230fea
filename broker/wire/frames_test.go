package wire

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/internal/seed"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/message"
)

// pieces is a reader that returns a few bytes at a time.
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

// sent is a message without its address.
type sent struct{ properties, body []byte }

// streamed returns messages as a broker sends them, in all variants: each with every table, with bodies whole and in
// pieces, and other frames between them.
func streamed(t *testing.T) (stream []byte, all []sent) {
	channel := []byte{0, 1}
	method := appendFrame(nil, frameMethod, channel, func(b []byte) []byte { return append(b, "deliver"...) })
	heartbeat := []byte{frameHeartbeat, 0, 0, 0, 0, 0, 0, frameEnd}
	for name, table := range tables(t) {
		for _, shape := range [][]int{{}, {1}, {1000}, {500, 500}, {50_000}, {65_000}, {70_000}, {131_064, 131_064, 9}} {
			size := 0
			for _, n := range shape {
				size += n
			}

			one := sent{body: bytes.Repeat([]byte(name), 1+size/len(name))[:size]}
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

// received returns the contents that amqp091-go would get from a stream.
func received(t *testing.T, stream []byte) (all []sent) {
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
			must.That(t, ok, "a header came through: %.100q", frame)
			must.Equal(t, len(properties), 2)
			must.That(t, left != 0, "a header came through: %.100q", frame)
		case frameBody:
			body = append(body, frame[frameHead:len(frame)-1]...)
			if left -= uint64(len(frame) - frameExtra); left == 0 {
				n := lengthSize + binary.BigEndian.Uint32(body)
				all = append(all, sent{body[lengthSize:n], body[n:]})
			}
		}
	}

	return all
}

// Contents do not depend on how the stream is cut.
func TestFramesThatComeInPieces(t *testing.T) {
	r := seed.Rand(t)
	stream, want := streamed(t)
	for range 20 {
		in := incomingOf(pieces{bytes.NewReader(stream), r})
		var got []byte
		for buffer := make([]byte, 1+r.IntN(10_000)); ; {
			n, err := in.Read(buffer)
			got = append(got, buffer[:n]...)
			if err != nil {
				break
			}
		}

		all := received(t, got)
		must.Equal(t, len(all), len(want), "messages; %d are counted", in.came.Load())
		must.Equal(t, in.came.Load(), int64(len(want)))
		for i := range want {
			must.That(t, bytes.Equal(all[i].properties, want[i].properties), "message %d has %.100q, want %.100q", i,
				all[i].properties, want[i].properties)
			must.That(t, bytes.Equal(all[i].body, want[i].body), "message %d has a body of %d bytes, want %d", i,
				len(all[i].body), len(want[i].body))
		}
	}
}

// What is published does not depend on how amqp091-go cuts its frames.
func TestFramesThatGoInPieces(t *testing.T) {
	r := seed.Rand(t)
	greeting := "AMQP\x00\x00\x09\x01"
	heartbeat := []byte{frameHeartbeat, 0, 0, 0, 0, 0, 0, frameEnd}
	for range 50 {
		out := newOutgoing()
		rest := []byte(greeting)
		want := []byte(greeting)
		var got []byte
		for _, table := range tables(t) {
			const before = frameFixed - 2
			header := headerFrame(table)
			body := bytes.Repeat([]byte("b"), r.IntN(3)*r.IntN(60_000))
			binary.BigEndian.PutUint64(header[frameHead+4:], uint64(len(body)))
			whole := header
			if len(body) > 0 {
				whole = appendFrame(whole, frameBody, header[1:3], func(b []byte) []byte { return append(b, body...) })
			}

			out.properties = header[frameHead+before : len(header)-1]
			bare := append(appendHeader(nil, header, uint64(len(body))), whole[len(header):]...)
			rest = append(append(append(rest, bare...), heartbeat...), whole...) // the last one as amqp091-go wrote it
			want = append(append(append(want, whole...), heartbeat...), whole...)
			for len(rest) > 0 {
				n := 1 + r.IntN(min(len(rest), 5000))
				got, rest = out.add(got, rest[:n]), rest[n:]
			}
		}

		must.That(t, bytes.Equal(got, want), "what is written depends on how it is cut")
	}
}

// FuzzFrames reads any bytes as a broker's: nothing is lost of what is not AMQP, and a wrong length allocates nothing.
func FuzzFrames(f *testing.F) {
	for _, table := range tables(f) {
		f.Add(headerFrame(table))
	}

	f.Add([]byte("HTTP/1.1 400 Bad Request"))
	f.Add([]byte{frameHeader, 0, 1, 0, 0xff, 0xff, 0xff, 0, 60})
	f.Add([]byte{frameMethod, 0, 1, 0xff, 0xff, 0xff, 0xff, 0, 60})
	f.Fuzz(func(t *testing.T, stream []byte) {
		in := incomingOf(bytes.NewReader(stream))
		got := must.Get(io.ReadAll(in))(t)
		assert.That(t, bytes.Contains(stream, []byte{frameHeader}) || bytes.Equal(got, stream), "%q became %q", stream, got)
		assert.That(t, len(got) >= len(stream)-len(stream)/frameExtra && len(got) <= 20*len(stream)+readAhead,
			"%d bytes became %d", len(stream), len(got))
		_ = newOutgoing().add(nil, append([]byte("AMQP\x00\x00\x09\x01"), stream...))
	})
}

// BenchmarkHeaders measures the headers of a message that died twice, from the wire to the model.
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
		must.That(b, in.disguised(frame) != nil, "it is damaged")
		must.Equal(b, len(decodeTable(table, 0)), 6, "it is damaged")
	}
}

// A Conn is cut when its reader is stuck, so that everything waiting for an answer ends.
func TestConnThatIsNotReadFromIsCut(t *testing.T) {
	near, far := net.Pipe()
	defer far.Close()
	w := newConn(near, time.Second)
	go func() { _, _ = far.Write([]byte("an answer")) }()
	must.Get(w.Read(make([]byte, 9)))(t)

	// The reader does not return.
	_ = far.SetReadDeadline(time.Now().Add(time.Minute))
	_, err := far.Read(make([]byte, 1))
	assert.That(t, errors.Is(err, io.EOF), "the other side saw %v", err)
	_, err = w.Write([]byte("x"))
	assert.That(t, errors.Is(err, net.ErrClosed), "a write returned %v", err)
}

// A Conn that receives nothing but is being read stays open.
func TestConnThatIsReadFromStays(t *testing.T) {
	near, far := net.Pipe()
	defer far.Close()
	w := newConn(near, 200*time.Millisecond)
	defer w.Cut()
	read := make(chan error, 1)
	go func() {
		_, err := w.Read(make([]byte, 1))
		read <- err
	}()

	select {
	case err := <-read:
		t.Fatalf("it was cut: %v", err)
	case <-time.After(600 * time.Millisecond):
	}

	go func() { _, _ = far.Write([]byte("x")) }()
	assert.Succeeds(t, <-read)
}

// peer is the far end of a Conn. It speaks just enough AMQP to deliver any headers to amqp091-go, and to receive what
// it publishes: a broker would refuse most of them.
type peer struct {
	testing.TB
	conn    net.Conn
	reader  *bufio.Reader
	wire    *Conn
	channel *amqp.Channel

	next      []byte // the table of the next delivered message
	gets      int
	published chan []byte // content headers
}

func newPeer(t testing.TB) *peer {
	near, far := net.Pipe()
	p := &peer{TB: t, conn: far, reader: bufio.NewReader(far), published: make(chan []byte, 1)}
	p.wire = newConn(near, time.Minute)
	go p.serve()
	connection, err := amqp.Open(p.wire, amqp.Config{
		SASL: []amqp.Authentication{&amqp.PlainAuth{}}, Vhost: "/", Locale: "en_US", FrameSize: 131072,
	})
	must.Do(t, err)

	t.Cleanup(func() {
		_ = connection.CloseDeadline(time.Now().Add(time.Second))
		far.Close()
	})

	p.channel, err = connection.Channel()
	must.Do(t, err)

	return p
}

func (p *peer) method(channel uint16, id uint32, arguments string) []byte {
	return appendFrame(nil, frameMethod, binary.BigEndian.AppendUint16(nil, channel), func(b []byte) []byte {
		return append(binary.BigEndian.AppendUint32(b, id), arguments...)
	})
}

// serve answers until the connection ends.
func (p *peer) serve() {
	if _, err := io.ReadFull(p.reader, make([]byte, 8)); err != nil {
		return
	}
	answer := p.method(0, 10<<16|10, "\x00\x09\x00\x00\x00\x00\x00\x00\x00\x05PLAIN\x00\x00\x00\x05en_US")
	for {
		if len(answer) > 0 {
			if _, err := p.conn.Write(answer); err != nil {
				return
			}
		}

		head := make([]byte, frameHead)
		if _, err := io.ReadFull(p.reader, head); err != nil {
			return
		}
		payload := make([]byte, binary.BigEndian.Uint32(head[3:])+1)
		if _, err := io.ReadFull(p.reader, payload); err != nil {
			return
		}
		answer = nil
		if head[0] == frameHeader {
			p.published <- payload[:len(payload)-1]
		}
		if head[0] != frameMethod {
			continue
		}

		switch binary.BigEndian.Uint32(payload) {
		case 10<<16 | 11: // start-ok: tune
			answer = p.method(0, 10<<16|30, "\x00\x08\x00\x02\x00\x00\x00\x00")
		case 10<<16 | 40:
			answer = p.method(0, 10<<16|41, "\x00")
		case 10<<16 | 50:
			answer = p.method(0, 10<<16|51, "")
		case 20<<16 | 10:
			answer = p.method(1, 20<<16|11, "\x00\x00\x00\x00")
		case 60<<16 | 70: // get: a message with all possible properties around the table, and a body in one frame or two
			answer = p.method(1, 60<<16|71, "\x00\x00\x00\x00\x00\x00\x00\x01\x00\x01e\x01k\x00\x00\x00\x00")
			answer = append(answer, headerFrame(p.next)...)
			halves := [][]byte{[]byte("half"), []byte("half")}
			if p.gets++; p.gets%2 == 0 {
				halves = [][]byte{[]byte("halfhalf")}
			}
			for _, half := range halves {
				answer = appendFrame(answer, frameBody, []byte{0, 1}, func(b []byte) []byte { return append(b, half...) })
			}
		}
	}
}

// headerFrame returns a content header frame with a table, for a message with a body of 8 bytes.
func headerFrame(table []byte) []byte {
	return appendFrame(nil, frameHeader, []byte{0, 1}, func(b []byte) []byte {
		// Content type and encoding, headers, delivery mode, message id.
		b = append(b, 0, 60, 0, 0, 0, 0, 0, 0, 0, 0, 0, 8, 0xF0, 0x80)
		b = append(b, "\x04text\x00"...)
		b = append(binary.BigEndian.AppendUint32(b, uint32(len(table))), table...)
		return append(b, "\x02\x02id"...)
	})
}

// tables are seeds for the fuzzer, and test cases: what RabbitMQ delivers, and what only a broken broker could.
func tables(t testing.TB) map[string][]byte {
	nested := []byte("\x01aV")
	for range 40 {
		nested = append(binary.BigEndian.AppendUint32([]byte("\x01tF"), uint32(len(nested))), nested...)
	}

	all := must.Get(message.ParseMessage(must.Get(os.ReadFile("../testdata/every_type.json"))(t)))(t)
	return map[string][]byte{
		"every type": encodeTable(nil, all.Headers), "nothing": {}, "nested": nested,
		"too many":     bytes.Repeat([]byte("\x00V"), 8193),
		"a name twice": []byte("\x01kt\x01\x01kt\x02"), "a name without value": []byte("\x01k"),
		"a name cut off": []byte("\x01kV\x05k"), "an unknown type": []byte("\x01a?\x01b\x01bV"),
		"a length too long":   []byte("\x01aS\x00\x00\x00\x05text\x01bV"),
		"a length of 4 GB":    []byte("\x01aF\xff\xff\xff\xff"),
		"a list cut off":      []byte("\x01aA\x00\x00\x00\x03tI\x00\x01bV"),
		"a list with half":    []byte("\x01aA\x00\x00\x00\x01I"),
		"larger than a frame": encodeTable(nil, model.Table{"n": strings.Repeat("x", 200_000)}),
	}
}

// FuzzHeaders passes any bytes as headers to amqp091-go: it accepts them all, what is kept is what decodeTable reads,
// and anything that can be republished arrives unchanged.
func FuzzHeaders(f *testing.F) {
	for _, table := range tables(f) {
		f.Add(table)
	}

	far := newPeer(f)
	f.Fuzz(func(t *testing.T, table []byte) {
		want := decodeTable(table, 0)
		far.next = table
		d, ok, err := far.channel.Get("q", true)
		must.Do(t, err)
		must.That(t, ok, "nothing to get")
		m := far.wire.Message(&d)
		p := message.Properties{ContentType: "text", MessageID: "id", DeliveryMode: 2, Zeros: message.PropContentEncoding}
		if len(table) == 0 {
			p.Zeros |= message.PropHeaders
		}

		assert.Equal(t, string(m.Body), "halfhalf", "%+v", m.Properties)
		assert.Equal(t, m.BodyBytes, 8)
		assert.Equal(t, m.Properties, p)
		alone := message.Message{Headers: want}
		assert.That(t, message.FingerprintOf(&(message.Message{Headers: m.Headers})) == message.FingerprintOf(&alone),
			"read %v, want %v", m.Headers, want)
		for _, again := range []message.Message{read(t, m), written(t, m)} {
			again = message.Message{Headers: again.Headers}
			assert.That(t, message.FingerprintOf(&again) == message.FingerprintOf(&alone),
				"kept %v, want %v", again.Headers, want)
		}

		far.publishes(t, m.Headers)
	})
}

// read decodes a message that was kept encoded as in AMQP.
func read(t *testing.T, m message.Message) (again message.Message) {
	t.Helper()
	var ok bool
	again.Properties, again.Headers, ok = ReadProperties(AppendProperties(nil, &m.Properties, m.Headers))
	assert.That(t, ok, "%+v became %+v", m.Properties, again.Properties)
	assert.Equal(t, again.Properties, m.Properties)
	return again
}

// written returns a message as read back from a file or the journal.
func written(t *testing.T, m message.Message) message.Message {
	t.Helper()
	return must.Get(message.ParseMessage(must.Get(model.JSONLine(m.JSON()))(t)))(t)
}

// publish returns the content header that a message is published with.
func (p *peer) publish(t *testing.T, out *message.Publishing) []byte {
	t.Helper()
	p.wire.Carry(AppendProperties(nil, &out.Properties, out.Headers))
	must.Do(t, p.channel.Publish("e", "k", false, false, amqp.Publishing{Body: out.Body}))
	return <-p.published
}

// publishes proves that headers arrive unchanged, or are refused.
func (p *peer) publishes(t *testing.T, headers model.Table) {
	t.Helper()
	out := message.Publishing{Headers: headers}
	if _, err := checkHeader(&out, 131072); err != nil {
		return
	}
	encoded := encodeTable(nil, headers)
	again := decodeTable(encoded, 0)
	assert.That(t, bytes.Equal(encodeTable(nil, again), encoded), "%v becomes %v", headers, again)
	payload := p.publish(t, &out)
	_, published, ok := ReadProperties(payload[frameFixed-2:])
	got := encodeTable(nil, published)
	assert.That(t, ok, "published %q, want %q", got, encoded)
	assert.That(t, bytes.Equal(got, encoded), "published %q, want %q", got, encoded)
}

// For each combination of properties, a content header is the same as amqp091-go's.
func TestPropertiesAreWrittenAsTheLibraryDoes(t *testing.T) {
	p := newPeer(t)
	texts := [...]string{"text/plain", "gzip", "correlation", "reply", "1000", "id", "type", "guest", "app"}
	for chosen := range 1 << 5 {
		has := func(bit int, s string) string {
			if chosen>>bit&1 == 0 {
				return ""
			}
			return s
		}

		out := message.Publishing{Body: []byte("body"), Properties: message.Properties{
			ContentType: has(0, texts[0]), ContentEncoding: has(1, texts[1]), CorrelationID: has(2, texts[2]),
			ReplyTo: has(3, texts[3]), Expiration: has(4, texts[4]), MessageID: has(0, texts[5]), Type: has(1, texts[6]),
			UserID: has(2, texts[7]), AppID: has(3, texts[8]),
		}}

		var headers amqp.Table

		if chosen&1 == 0 {
			out.Properties.DeliveryMode, out.Properties.Timestamp = 2, time.Unix(1_700_000_000, 0)
		}

		if chosen&2 == 0 {
			out.Properties.Priority = 255
			out.Headers, headers = model.Table{"k": int32(7)}, amqp.Table{"k": int32(7)}
		}

		got := p.publish(t, &out)
		q := &out.Properties
		err := p.channel.Publish("e", "k", false, false, amqp.Publishing{
			Headers: headers, ContentType: q.ContentType, ContentEncoding: q.ContentEncoding, DeliveryMode: q.DeliveryMode,
			Priority: q.Priority, CorrelationId: q.CorrelationID, ReplyTo: q.ReplyTo, Expiration: q.Expiration,
			MessageId: q.MessageID, Timestamp: q.Timestamp, Type: q.Type, UserId: q.UserID, AppId: q.AppID, Body: out.Body,
		})

		must.Do(t, err)
		want := <-p.published
		assert.That(t, bytes.Equal(got, want), "%+v is written %q, want %q", out, got, want)
	}
}

// TestTableOfEveryTypeIsKept compares types, which a fingerprint and an encoding show only in part.
func TestTableOfEveryTypeIsKept(t *testing.T) {
	encoded := tables(t)["every type"]
	table := decodeTable(encoded, 0)

	types := map[string]any{
		"nil": nil, "uint64": uint64(1 << 63), "uint8": uint8(1), "decimal": model.Decimal{Scale: 2, Value: -5},
		"time": time.Unix(-1, 0), "more": model.Repeated{"a", "b", int32(1)}, "table": model.Table{"": model.Table{}},
		"list": []any{"a", int64(1), []any(nil)},
	}

	for name, want := range types {
		assert.That(t, reflect.DeepEqual(table[name], want), "%s is %#v", name, table[name])
	}

	m := message.Message{Headers: table}
	for _, again := range []message.Message{read(t, m), written(t, m)} {
		assert.That(t, bytes.Equal(encodeTable(nil, again.Headers), encoded), "%v", again.Headers)
	}
}
