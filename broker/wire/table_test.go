package wire

import (
	"bytes"
	"encoding/binary"
	"reflect"
	"strings"
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/dlxtop/dlxtop/broker/spool"
	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/message"
)

// tables are beginnings for the fuzzer, and tests of their own: what RabbitMQ delivers, and what only a broken
// broker could.
func tables() map[string][]byte {
	nested := []byte("\x01aV")
	for range 40 {
		nested = append(binary.BigEndian.AppendUint32([]byte("\x01tF"), uint32(len(nested))), nested...)
	}
	all := model.Table{
		"nil": nil, "bool": true, "int8": int8(-1), "uint8": uint8(1), "int16": int16(-2), "uint16": uint16(2),
		"int32": int32(-3), "uint32": uint32(3),
		"int64": int64(-4), "uint64": uint64(1 << 63), "float32": float32(1.5), "float64": 2.5,
		"decimal": model.Decimal{Scale: 2, Value: -5},
		"text":    "text", "bytes": []byte{0xff}, "time": time.Unix(-1, 0),
		"list": []any{"a", int64(1), []any(nil)}, "table": model.Table{"": model.Table{}},
		"more": model.Repeated{"a", "b", int32(1)}, "raw": model.RawValue{Type: 'F', Bytes: []byte{0, 0, 0, 0}},
	}
	return map[string][]byte{
		"every type":           encodeTable(nil, all),
		"nothing":              {},
		"nested":               nested,
		"too many":             bytes.Repeat([]byte("\x00V"), 8193),
		"a name twice":         []byte("\x01kt\x01\x01kt\x02"),
		"a name without value": []byte("\x01k"),
		"a name cut off":       []byte("\x01kV\x05k"),
		"an unknown type":      []byte("\x01a?\x01b\x01bV"),
		"a length too long":    []byte("\x01aS\x00\x00\x00\x05text\x01bV"),
		"a length of 4 GB":     []byte("\x01aF\xff\xff\xff\xff"),
		"a list cut off":       []byte("\x01aA\x00\x00\x00\x03tI\x00\x01bV"),
		"a list with half":     []byte("\x01aA\x00\x00\x00\x01I"),
		"larger than a frame":  encodeTable(nil, model.Table{"n": strings.Repeat("x", 200_000)}),
	}
}

// FuzzHeaders hands any bytes as headers to amqp091-go: it takes all of them, what is kept of them is what
// decodeTable reads, and what can be published again arrives as it was.
func FuzzHeaders(f *testing.F) {
	for _, table := range tables() {
		f.Add(table)
	}
	far := newPeer(f)
	f.Fuzz(func(t *testing.T, table []byte) {
		want := decodeTable(table, 0)
		far.next = table
		d, ok, err := far.channel.Get("q", true)
		must.That(t, err == nil && ok, "%v %v", ok, err)
		m := far.wire.Message(&d)
		p := message.Properties{
			ContentType: "text", MessageID: "id", DeliveryMode: 2, Zeros: message.PropContentEncoding,
		}
		if len(table) == 0 {
			p.Zeros |= message.PropHeaders
		}
		assert.That(t, string(m.Body) == "halfhalf" && m.BodyBytes == 8 && m.Properties == p, "%+v", m.Properties)
		alone := message.Message{Headers: want}
		assert.That(t, message.FingerprintOf(&(message.Message{Headers: m.Headers})) == message.FingerprintOf(&alone),
			"read %v, want %v", m.Headers, want)
		for _, again := range []message.Message{spooled(t, m), written(t, m)} {
			again = message.Message{Headers: again.Headers}
			assert.That(t, message.FingerprintOf(&again) == message.FingerprintOf(&alone),
				"kept %v, want %v", again.Headers, want)
		}
		far.publishes(t, m.Headers)
	})
}

// spooled is a message as a spool keeps it.
func spooled(t *testing.T, m message.Message) message.Message {
	t.Helper()
	kept := spool.New(spool.Memory)
	must.Do(t, kept.Add(&m))
	again, err := kept.At(0, 0)
	assert.Succeeds(t, err)
	return again
}

// written is a message as a file or the journal has it.
func written(t *testing.T, m message.Message) message.Message {
	t.Helper()
	line, err := model.JSONLine(m.JSON())
	must.Do(t, err)
	again, err := message.ParseMessage(line)
	assert.Succeeds(t, err)
	return again
}

// publish is the content header that a message is published with.
func (p *peer) publish(t *testing.T, out *message.Publishing) []byte {
	t.Helper()
	rest := p.wire.Carry(out, smallestFrame)
	must.Do(t, p.channel.Publish("e", "k", false, false, amqp.Publishing{Body: rest}))
	return <-p.published
}

// publishes proves that headers arrive as they are, or are refused.
func (p *peer) publishes(t *testing.T, headers model.Table) {
	t.Helper()
	out := message.Publishing{Headers: headers}
	if CheckHeader(&out, 131072) != nil {
		return
	}
	size, err := tableSize(headers)
	encoded := encodeTable(nil, headers)
	assert.That(t, err == nil && size == len(encoded), "%d bytes are %d: %v", size, len(encoded), err)
	again := decodeTable(encoded, 0)
	assert.That(t, bytes.Equal(encodeTable(nil, again), encoded), "%v becomes %v", headers, again)
	payload := p.publish(t, &out)
	properties, ok := propertiesIn(payload)
	_, published := decodeProperties(properties)
	got := encodeTable(nil, published)
	assert.That(t, ok && bytes.Equal(got, encoded), "published %q, want %q", got, encoded)
}

// TestPropertiesAreWrittenAsTheLibraryDoes: with each combination of properties, a content header is what amqp091-go
// makes of them.
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
	encoded := tables()["every type"]
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
	for _, again := range []message.Message{spooled(t, m), written(t, m)} {
		assert.That(t, bytes.Equal(encodeTable(nil, again.Headers), encoded), "%v", again.Headers)
	}
}
