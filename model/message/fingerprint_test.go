package message

import (
	"testing"
	"time"

	"dlxtop/model"
)

func fingerprinted() Message {
	return Message{
		Exchange: "x", RoutingKey: "k", Body: []byte("body"),
		Properties: Properties{
			MessageID: "id", ContentType: "text/plain", DeliveryMode: 2,
			Timestamp: time.Unix(1_700_000_000, 0),
		},
		Headers: model.Table{
			"a": int32(1), "b": "two", "nested": model.Table{"x-delivery-count": int64(1)},
			"list": []any{"l", nil},
		},
	}
}

func TestFingerprintIgnoresWhatALookChanges(t *testing.T) {
	m := fingerprinted()
	before := FingerprintOf(&m)
	m.Position, m.Redelivered, m.BodyBytes = 7, true, 99
	m.Headers["x-delivery-count"], m.Headers["x-acquired-count"] = int64(3), int64(4)
	m.Properties.Timestamp = m.Properties.Timestamp.UTC()
	if FingerprintOf(&m) != before {
		t.Error("it changed")
	}
	empty, absent := Message{Headers: model.Table{}}, Message{}
	if FingerprintOf(&empty) != FingerprintOf(&absent) {
		t.Error("no headers are not the same as no headers")
	}
}

func TestFingerprintTellsMessagesApart(t *testing.T) {
	changes := map[string]func(*Message){
		"exchange":          func(m *Message) { m.Exchange = "y" },
		"routing key":       func(m *Message) { m.RoutingKey = "l" },
		"split":             func(m *Message) { m.Exchange, m.RoutingKey = "xk", "" },
		"body":              func(m *Message) { m.Body = []byte("Body") },
		"no body":           func(m *Message) { m.Body = nil },
		"id":                func(m *Message) { m.Properties.MessageID = "ie" },
		"other property":    func(m *Message) { m.Properties.MessageID, m.Properties.CorrelationID = "", "id" },
		"expiration":        func(m *Message) { m.Properties.Expiration = "1000" },
		"delivery mode":     func(m *Message) { m.Properties.DeliveryMode = 1 },
		"priority":          func(m *Message) { m.Properties.Priority = 1 },
		"timestamp":         func(m *Message) { m.Properties.Timestamp = time.Unix(1_700_000_001, 0) },
		"no timestamp":      func(m *Message) { m.Properties.Timestamp = time.Time{} },
		"header's type":     func(m *Message) { m.Headers["a"] = int64(1) },
		"header's value":    func(m *Message) { m.Headers["a"] = int32(2) },
		"header is bytes":   func(m *Message) { m.Headers["b"] = []byte("two") },
		"header more":       func(m *Message) { m.Headers["c"] = nil },
		"header less":       func(m *Message) { delete(m.Headers, "b") },
		"header is a float": func(m *Message) { m.Headers["a"] = float32(1) },
		"nested":            func(m *Message) { m.Headers["nested"] = model.Table{"x-delivery-count": int64(2)} },
		"list":              func(m *Message) { m.Headers["list"] = []any{"l"} },
		"decimal":           func(m *Message) { m.Headers["a"] = model.Decimal{Scale: 1, Value: 2} },
		"another decimal":   func(m *Message) { m.Headers["a"] = model.Decimal{Scale: 2, Value: 1} },
		"a death":           func(m *Message) { m.Headers["x-death"] = []any{model.Table{"queue": "q"}} },
	}
	m := fingerprinted()
	seen := map[Fingerprint]string{FingerprintOf(&m): "unchanged"}
	for name, change := range changes {
		m := fingerprinted()
		change(&m)
		f := FingerprintOf(&m)
		if other, ok := seen[f]; ok {
			t.Errorf("%s is the same as %s", name, other)
		}
		seen[f] = name
		if f != FingerprintOf(&m) {
			t.Errorf("%s: not the same twice", name)
		}
	}
	if len(FingerprintOf(&m).String()) != 32 {
		t.Error("not 32 digits")
	}
}
