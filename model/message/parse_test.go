package message

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/model/build"
)

// Properties as they are, headers of every type nested, any bytes in any text: what is written is what is read.
func TestMessageSurvivesJSON(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := Message{
			Exchange: build.AnyText(t, "exchange"), RoutingKey: build.AnyText(t, "routing key"), Headers: build.AnyTable(t, 3),
			Body: rapid.SliceOf(rapid.Byte()).Draw(t, "body"),
			Properties: Properties{
				ContentType: build.AnyText(t, "content type"), ContentEncoding: build.AnyText(t, "encoding"),
				DeliveryMode: rapid.Uint8().Draw(t, "mode"),
				Priority:     rapid.Uint8().Draw(t, "priority"), CorrelationID: build.AnyText(t, "correlation"),
				ReplyTo:    build.AnyText(t, "reply"),
				Expiration: build.AnyText(t, "expiration"), MessageID: build.AnyText(t, "id"),
				Type: build.AnyText(t, "type"), UserID: build.AnyText(t, "user"),
				AppID: build.AnyText(t, "app"), Timestamp: time.Unix(rapid.Int64().Draw(t, "timestamp"), 0),
			},
		}
		m.BodyBytes = len(m.Body)
		text, err := json.Marshal(m.JSON())
		must.Do(t, err)
		got, err := ParseMessage(text)
		must.That(t, err == nil, "%v: %s", err, text)
		must.That(t, got.Fingerprint == FingerprintOf(&m), "%+v became %+v through %s", m, got, text)
	})
}

// A line that a person wrote need not count the bytes of its body.
func TestParseMessageWithoutSize(t *testing.T) {
	for text, want := range map[string]string{
		`{"body":"x"}`: "x", `{"body":"/w==","body_encoding":"base64"}`: "\xff", `{"routing_key":"k"}`: "",
		`{"body":"x","body_bytes":null}`: "x",
	} {
		m, err := ParseMessage([]byte(text))
		assert.That(t, err == nil && string(m.Body) == want && m.BodyBytes == len(want),
			"%s: %q, %d bytes, %v", text, m.Body, m.BodyBytes, err)
	}
}

func TestParseMessageRefuses(t *testing.T) {
	for text, want := range map[string]string{
		``:                            "middle of a message",
		`{"body":"x","body_by`:        "middle of a message",
		`[]`:                          "not an object",
		`nonsense`:                    "not JSON",
		`{"body_bytes":0} {}`:         "more than one",
		`{"body":"x","body_bytes":0}`: "it was cut",
		`{"body":"x","body_bytes":2}`: "it was cut",
		`{"body_encoding":"latin"}`:   "not an encoding",
		`{"body":"%","body_encoding":"base64","body_bytes":1}`:                 "not base64",
		`{"headers":{"a":{"$type":"int8","value":300}}}`:                       "header a: 300 is not a value of type int8",
		`{"headers":{"a":{"$type":"int99","value":300}}}`:                      "not an AMQP type",
		`{"headers":{"a":{"$type":"bytes","value":7}}}`:                        "7 is not a value of type bytes",
		`{"headers":{"a":{"$type":"raw","value":{"letter":"FF","bytes":""}}}}`: "not a value of type raw",
		`{"headers":{"a":{"$type":"raw","value":{"letter":"F","bytes":"%"}}}}`: "not a value of type raw",
		`{"headers":{"a":{"$type":"repeated","value":"a"}}}`:                   "a is not a value of type repeated",
		`{"headers":{"a":99999999999999999999}}`:                               "not an int64",
		`{"properties":{"timestamp":"yesterday"}}`:                             "not a time",
		`{"headers":{"a":{"$type":"decimal","value":{"scale":"none"}}}}`:       "not a value of type decimal",
	} {
		_, err := ParseMessage([]byte(text))
		assert.That(t, err != nil && strings.Contains(err.Error(), want), "%s: %v instead of %s", text, err, want)
	}
}
