package model

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// anyValue draws a header value of any AMQP type, nested.
func anyValue(depth int) *rapid.Generator[any] {
	return rapid.Custom(func(t *rapid.T) any {
		kinds := 16
		if depth == 0 {
			kinds = 14
		}
		switch rapid.IntRange(0, kinds-1).Draw(t, "kind") {
		case 0:
			return nil
		case 1:
			return rapid.Bool().Draw(t, "bool")
		case 2:
			return rapid.Int8().Draw(t, "int8")
		case 3:
			return rapid.Uint8().Draw(t, "uint8")
		case 4:
			return rapid.Int16().Draw(t, "int16")
		case 5:
			return rapid.Uint16().Draw(t, "uint16")
		case 6:
			return rapid.Int32().Draw(t, "int32")
		case 7:
			return rapid.Uint32().Draw(t, "uint32")
		case 8:
			return rapid.Int64().Draw(t, "int64")
		case 9:
			return rapid.Uint64().Draw(t, "uint64")
		case 10:
			return math.Float32frombits(rapid.Uint32().Draw(t, "float32"))
		case 11:
			return math.Float64frombits(rapid.Uint64().Draw(t, "float64"))
		case 12:
			return anyText(t, "text")
		case 13:
			switch rapid.IntRange(0, 2).Draw(t, "other") {
			case 0:
				return rapid.SliceOf(rapid.Byte()).Draw(t, "bytes")
			case 1:
				return time.Unix(rapid.Int64().Draw(t, "time"), 0)
			}
			return Decimal{rapid.Uint8().Draw(t, "scale"), rapid.Int32().Draw(t, "decimal")}
		case 14:
			return rapid.SliceOfN(anyValue(depth-1), 0, 4).Draw(t, "list")
		}
		return anyTable(t, depth-1)
	})
}

func anyText(t *rapid.T, label string) string {
	switch rapid.IntRange(0, 3).Draw(t, label+" kind") {
	case 0:
		return string(rapid.SliceOf(rapid.Byte()).Draw(t, label))
	case 1:
		return rapid.SampledFrom([]string{"$type", "$base64:", "$base64:eA==", "value", "x-death", "", "@12"}).Draw(t, label)
	}
	return rapid.String().Draw(t, label)
}

func anyTable(t *rapid.T, depth int) Table {
	table := Table{}
	for range rapid.IntRange(0, 5).Draw(t, "size") {
		table[anyText(t, "key")] = anyValue(depth).Draw(t, "value")
	}
	return table
}

// Properties as they are, headers of every type nested, any bytes in any text: what is written is what is read.
func TestMessageSurvivesJSON(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := Message{
			Exchange: anyText(t, "exchange"), RoutingKey: anyText(t, "routing key"), Headers: anyTable(t, 3),
			Body: rapid.SliceOf(rapid.Byte()).Draw(t, "body"),
			Properties: Properties{
				ContentType: anyText(t, "content type"), ContentEncoding: anyText(t, "encoding"), DeliveryMode: rapid.Uint8().Draw(t, "mode"),
				Priority: rapid.Uint8().Draw(t, "priority"), CorrelationID: anyText(t, "correlation"), ReplyTo: anyText(t, "reply"),
				Expiration: anyText(t, "expiration"), MessageID: anyText(t, "id"), Type: anyText(t, "type"), UserID: anyText(t, "user"),
				AppID: anyText(t, "app"), Timestamp: time.Unix(rapid.Int64().Draw(t, "timestamp"), 0),
			},
		}
		m.BodyBytes = len(m.Body)
		text, err := json.Marshal(m.JSON())
		if err != nil {
			t.Fatal(err)
		}
		got, err := ParseMessage(text)
		if err != nil {
			t.Fatalf("%v: %s", err, text)
		}
		if want := FingerprintOf(&m); got.Fingerprint != want {
			t.Fatalf("%+v became %+v through %s", m, got, text)
		}
	})
}

func TestParseMessageRefuses(t *testing.T) {
	for text, want := range map[string]string{
		``:                          "middle of a message",
		`{"body":"x","body_by`:      "middle of a message",
		`[]`:                        "wrong type",
		`nonsense`:                  "no JSON",
		`{"body_bytes":0} {}`:       "more than one",
		`{"body":"x"}`:              "it was cut",
		`{"body_encoding":"latin"}`: "no encoding",
		`{"body":"%","body_encoding":"base64","body_bytes":1}`:           "no base64",
		`{"headers":{"a":{"$type":"int8","value":300}}}`:                 "header a: 300 is no int8",
		`{"headers":{"a":{"$type":"int99","value":300}}}`:                "no type of AMQP",
		`{"headers":{"a":{"$type":"bytes","value":7}}}`:                  "7 is no bytes",
		`{"headers":{"a":99999999999999999999}}`:                         "no int64",
		`{"properties":{"timestamp":"yesterday"}}`:                       "no time",
		`{"headers":{"a":{"$type":"decimal","value":{"scale":"none"}}}}`: "no decimal",
	} {
		if _, err := ParseMessage([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v instead of %s", text, err, want)
		}
	}
}
