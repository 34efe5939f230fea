package message

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/internal/seed"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/build"
)

// sameMessage compares messages without the stored hash.
var sameMessage = cmpopts.IgnoreUnexported(Message{})

func fingerprinted() Message {
	return Message{
		Exchange: "x", RoutingKey: "k", Body: []byte("body"),
		Properties: Properties{
			MessageID: "id", ContentType: "text/plain", DeliveryMode: 2, Timestamp: time.Unix(1_700_000_000, 0),
		},
		Headers: model.Table{
			"a": int32(1), "b": "two", "nested": model.Table{"x-delivery-count": int64(1)}, "list": []any{"l", nil},
		},
	}
}

func TestFingerprintIgnoresWhatALookChanges(t *testing.T) {
	m := fingerprinted()
	before := FingerprintOf(&m)
	m.Position = 7
	m.Redelivered = true
	m.BodyBytes = 99
	m.Headers["x-delivery-count"], m.Headers["x-acquired-count"] = int64(3), int64(4)
	m.Properties.Timestamp = m.Properties.Timestamp.UTC()
	assert.That(t, FingerprintOf(&m) == before, "it changed")
	empty := Message{Headers: model.Table{}}
	absent := Message{}
	assert.That(t, FingerprintOf(&empty) == FingerprintOf(&absent), "no headers are not the same as no headers")
}

func TestFingerprintsOfDifferentMessagesDiffer(t *testing.T) {
	m := fingerprinted()
	m.BodyBytes = len(m.Body)
	text := string(must.Get(json.Marshal(m.JSON()))(t))
	seen := map[Fingerprint]string{FingerprintOf(&m): "unchanged"}
	for _, c := range must.Cases[struct{ Name, From, To string }](t, "testdata/different_messages.toml") {
		must.Contains(t, text, c.From)
		m := must.Get(ParseMessage([]byte(strings.Replace(text, c.From, c.To, 1))))(t)
		f := FingerprintOf(&m)
		other, ok := seen[f]
		assert.That(t, !ok, "%s is the same as %s", c.Name, other)
		seen[f] = c.Name
		assert.That(t, f == FingerprintOf(&m), "%s: not the same twice", c.Name)
	}

	assert.That(t, len(FingerprintOf(&m).String()) == 32, "not 32 digits")
}

// bodySizes are sizes of small bodies, and of those that are hashed separately.
var bodySizes = []int{0, 1, smallBody - 1, smallBody, smallBody + 1, 4 * smallBody, 1 << 20}

// asRead returns the message that a queue delivers after p is published into it, in memory of its own.
func asRead(p *Publishing) *Message {
	return &Message{
		Position: 7, Redelivered: true, Exchange: p.Exchange, RoutingKey: p.RoutingKey, Properties: p.Properties,
		Headers: p.Headers, Body: bytes.Clone(p.Body), BodyBytes: len(p.Body),
	}
}

func randomBody(r *rand.Rand, size int) []byte {
	body := make([]byte, size)
	for i := range body {
		body[i] = byte(r.Uint32())
	}
	return body
}

// The fingerprint predicted for a copy is the one that it has when it is read from its queue, whatever was done with
// the body since the original was identified; the original keeps its own.
func TestFingerprintOfACopy(t *testing.T) {
	r := seed.Rand(t)
	for change, bodyOf := range map[string]func(m *Message) []byte{
		"the same":        func(m *Message) []byte { return m.Body },
		"an equal one":    func(m *Message) []byte { return bytes.Clone(m.Body) },
		"changed":         func(m *Message) []byte { return append([]byte{1}, m.Body...)[:len(m.Body)] },
		"longer":          func(m *Message) []byte { return append(slices.Clip(m.Body), 'x') },
		"its beginning":   func(m *Message) []byte { return m.Body[:len(m.Body)/2] },
		"its end":         func(m *Message) []byte { return m.Body[len(m.Body)/2:] },
		"large":           func(*Message) []byte { return randomBody(r, smallBody+1) },
		"none":            func(*Message) []byte { return nil },
		"replaced inside": func(m *Message) []byte { m.Body = randomBody(r, len(m.Body)); return m.Body },
		"dropped":         func(m *Message) []byte { m.DropBody(); return m.Body },
	} {
		for _, size := range bodySizes {
			m := fingerprinted()
			m.Body = randomBody(r, size)
			m.Identify()
			assert.That(t, m.Fingerprint == FingerprintOf(&m), "%s, %d bytes: identified as another than it is", change, size)
			p := Publishing{Address: model.Address{RoutingKey: "worker"}, Properties: m.Properties, Headers: m.Headers}
			p.Properties.Expiration = "1000"
			p.Body = bodyOf(&m)
			assert.That(t, m.FingerprintOfCopy(&p) == FingerprintOf(asRead(&p)),
				"%s, %d bytes: another than that of the copy in its queue", change, size)

			p.Address = model.Address{Exchange: m.Exchange, RoutingKey: m.RoutingKey}
			p.Properties = m.Properties
			assert.Equal(t, bytes.Equal(p.Body, m.Body), m.FingerprintOfCopy(&p) == FingerprintOf(&m),
				"%s, %d bytes: the same", change, size)
		}
	}
}

// Every byte of a body counts, even where it is hashed separately.
func TestFingerprintOfLargeBodies(t *testing.T) {
	r := seed.Rand(t)
	for _, size := range bodySizes[1:] {
		m := fingerprinted()
		m.Body = randomBody(r, size)
		before := FingerprintOf(&m)
		for _, i := range []int{0, r.IntN(size), size - 1} {
			m.Body[i]++
			assert.That(t, FingerprintOf(&m) != before, "byte %d of %d does not count", i, size)
			m.Body[i]--
		}

		assert.That(t, FingerprintOf(&m) == before, "%d bytes: not the same twice", size)
	}
}

// Stored fingerprints stay valid.
func TestSmallBodiesHaveAllInOneHash(t *testing.T) {
	m := fingerprinted()
	m.Body = bytes.Repeat([]byte("b"), smallBody)
	assert.Equal(t, FingerprintOf(&m).String(), "52beab0a973576e0aba1d8d31c6cc458", "it")
}

// Error messages as EasyNetQ writes them: version 3 with every property and a flag whether it was present, version 6
// with Newtonsoft's types, version 8 with only what is present.
const (
	easyNetQ6 = `{"RoutingKey":"#","Exchange":"Mail, Messages","Queue":"Mail, Messages_mailer","Exception":"System.Exception: no","Message":"<xml>ä</xml>\n","DateTime":"2024-05-01T12:00:00Z","BasicProperties":{"ContentType":"application/xml","DeliveryMode":2,"Headers":{"$type":"System.Collections.Generic.Dictionary` + "`" + `2[[System.String],[System.Object]], mscorlib","blob":{"$type":"System.Byte[], mscorlib","$value":"AAH/"},"list":["a",1]},"Expiration":"00:01:30.5000000","Priority":7,"Timestamp":0}}`
)

func TestEasyNetQEnvelope(t *testing.T) {
	for _, test := range []struct {
		name string
		body string
		want Message
	}{
		{"version 3", build.EasyNetQ3, Message{
			Exchange: "Orders:Shop", RoutingKey: "orders.new",
			Properties: Properties{
				DeliveryMode: 2, CorrelationID: "c-1", Expiration: "60000",
				Timestamp: time.Unix(1714564800, 0).UTC(), Type: "Orders:Shop",
			},
			Headers: model.Table{"tenant": "blue", "attempt": int64(2), "ratio": 0.5, "urgent": true, "nothing": nil},
			Body:    []byte(`{"Id":121,"Name":"Zo\u00eb \"Z\" Łuk — 日本 \/","Big":12345678901234567890.10}`),
		}},

		{"version 6", easyNetQ6, Message{
			Exchange: "Mail, Messages", RoutingKey: "#",
			Properties: Properties{ContentType: "application/xml", DeliveryMode: 2, Expiration: "90500", Priority: 7},
			Headers:    model.Table{"blob": []byte{0, 1, 255}, "list": []any{"a", int64(1)}}, Body: []byte("<xml>ä</xml>\n"),
		}},
		{
			"no properties, an empty body",
			`{"Exception":"e","RoutingKey":"","Exchange":"","Queue":"q","Message":"","BasicProperties":{}}`,
			Message{Body: []byte{}},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			m := Message{
				Exchange: "ErrorExchange_x", Body: []byte(test.body), BodyBytes: len(test.body),
				Properties: Properties{Type: "EasyNetQ.SystemMessages.Error:EasyNetQ"},
			}

			e, ok := m.Envelope()
			must.That(t, ok, "%v %v", ok, e.Problem)
			must.Equal(t, e.Problem, "")
			test.want.BodyBytes = len(test.want.Body)
			assert.NoDiff(t, cmp.Diff(test.want, e.Original, sameMessage))
			m.Properties.Type = "" // recognized without it
			again, ok := m.Envelope()
			assert.That(t, ok, "without the type: %v %+v", ok, again)
			assert.NoDiff(t, cmp.Diff(again, e, sameMessage))
		})
	}
}

func TestNoEnvelope(t *testing.T) {
	for _, m := range []Message{
		{},
		{Body: []byte(`{"Exception":"none"}`)},
		{Body: []byte(`{"note":"\"Exception\" \"RoutingKey\"","a":{"Exception":"","RoutingKey":"","Exchange":"","Message":"","BasicProperties":{}}}`)},
		{Body: []byte(build.EasyNetQ3)[:500], BodyBytes: len(build.EasyNetQ3)}, // cut by the peek: the rest is unknown
		{Body: []byte(`{"queue_name":"mail","actor_name":"send","args":[121],"kwargs":{},"options":{},"message_id":"1","message_timestamp":1714564700000}`)},
		{Body: []byte(`{"queue_name":1,"actor_name":"send","options":{"retries":1},"message_id":"1"}`)},
		{Body: []byte(`{"queue_name":"q","actor_name":"send","options":[{"retries":1}],"message_id":"1"}`)},
		{Body: []byte(`["queue_name","actor_name","options","message_id"]`)},
	} {
		e, ok := m.Envelope()
		assert.That(t, !ok, "%s: %+v", m.Body, e)
	}
}

func TestWorkerOfAMessage(t *testing.T) {
	type expected struct {
		Name    string
		Headers model.Table // nil: as the framework writes them
		Deaths  []Death

		Queue     string
		Framework Framework
	}

	for _, test := range must.Cases[expected](t, "testdata/workers.toml") {
		m := Message{Headers: test.Headers, Deaths: test.Deaths}
		if test.Headers == nil {
			m = written(t)[test.Framework]
		}

		queue, framework := m.Worker("vh")
		assert.Equal(t, queue, test.Queue, "%v", test.Name)
		assert.Equal(t, Framework(framework), test.Framework, "%v", test.Name)
	}
}
