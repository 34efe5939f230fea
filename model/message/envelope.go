package message

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/dlxtop/dlxtop/model"
)

// Envelope is what a framework made of a message when it failed, opened: the message as it was before. A replay
// publishes Original; peeks, the journal and comparisons (Fingerprint) use the message as it is in the queue.
type Envelope struct {
	Framework string
	Original  Message  // address, properties, headers and body as its worker received them
	Worker    string   // the queue in which it failed; "" when unknown
	Does      string   // what a replay does about it: "unwraps the EasyNetQ envelope"
	Doubts    []string // what may differ from the original, in words
	Problem   string   // why something that looks like an envelope cannot be opened; the message then stays as it is
}

// Envelope opens what a framework wrapped around the message, or wrote into its body, when it failed. It is false for a
// message that is as it was published, and for one without its whole body.
func (m *Message) Envelope() (Envelope, bool) {
	return m.envelope(ResetWish{})
}

func (m *Message) envelope(wish ResetWish) (Envelope, bool) {
	if !m.whole() {
		return Envelope{}, false
	}
	r := reader{m: m}
	_, ofEasyNetQ := easyNetQBodies()
	_, ofDramatiq := dramatiqBodies()
	if r.haveMembers(ofEasyNetQ...) || strings.Contains(m.Properties.Type, EasyNetQType) {
		return m.easyNetQ(), true
	}
	if r.haveMembers(ofDramatiq...) {
		return m.dramatiq(wish)
	}

	return Envelope{}, false
}

// enclosed are the names under which an error handler keeps what failed in a body of its own.
var enclosed = model.WordSet("payload original originalmessage originalbody originalpayload originalevent")

// Enclosed returns the member of a JSON body that may be the JSON which failed, because an error stands beside it, and
// the jq program that takes it out of its text or, as Sneakers writes it, of base64.
func (m *Message) Enclosed() (member, edit string, ok bool) {
	if !slices.ContainsFunc(m.bodyFields(), func(f plainField) bool {
		return len(f.at) == 1 && f.role <= stackRole && !f.vague
	}) {
		return "", "", false
	}

	body := bytes.TrimLeft(m.Body, " \t\r\n")
	for p := range JSONParts(body) {
		var name spelled
		member = p.Name()
		if !name.spell(member) || !enclosed[string(name.text[:name.length])] {
			continue
		}

		raw := body[p.From:p.To]
		opens := ""
		var text string
		if jsonString(raw, &text) {
			opens = " | fromjson"
			raw = []byte(text)
		}
		if decoded, err := base64.StdEncoding.DecodeString(text); err == nil && text != "" {
			opens = " | @base64d | fromjson"
			raw = decoded
		}

		if json.Valid(raw) {
			return member, fmt.Sprintf(".body = (.body[%q]%s)", member, opens), true
		}
	}

	return "", "", false
}

// Opened is a message as a replay publishes it: the original from its envelope, or the message itself when it has none.
type Opened struct {
	*Message
	Envelope *Envelope // nil without an envelope, or with one that cannot be opened
}

// Opening is OpeningWith the default resets.
func Opening(m *Message) Opened { return OpeningWith(m, ResetWish{}) }

// OpeningWith opens a message for a replay that may keep the tries counted in an envelope.
func OpeningWith(m *Message, wish ResetWish) Opened {
	e, ok := m.envelope(wish)
	if !ok || e.Problem != "" {
		return Opened{m, nil}
	}
	envelope := e // most messages have no envelope, and need no memory for one
	return Opened{&envelope.Original, &envelope}
}

// EasyNetQType is in the type property of what EasyNetQ publishes to its error queue.
const EasyNetQType = "EasyNetQ.SystemMessages.Error"

// easyNetQBodies has the members that every EasyNetQ error message has.
var easyNetQBodies = bodiesOf("EasyNetQ")

// easyNetQ opens EasyNetQ's error message: a JSON object with the body as text, the properties, and where it was
// received.
func (m *Message) easyNetQ() Envelope {
	e := Envelope{Framework: "EasyNetQ", Does: "unwraps the EasyNetQ envelope"}
	fail := func(problem string) Envelope {
		return Envelope{Framework: e.Framework, Problem: "its body looks like an EasyNetQ envelope, but " + problem}
	}

	var raw map[string]json.RawMessage
	if err := json.Unmarshal(m.Body, &raw); err != nil {
		return fail("is not JSON")
	}
	o := &e.Original
	for _, field := range []struct {
		name string
		into *string
	}{{"Exchange", &o.Exchange}, {"RoutingKey", &o.RoutingKey}} {
		if !jsonString(raw[field.name], field.into) {
			return fail("has no " + field.name)
		}
	}

	jsonString(raw["Queue"], &e.Worker) // the oldest versions do not write it
	var body string
	if !jsonString(raw["Message"], &body) {
		return fail("has no Message that is a text")
	}

	// EasyNetQ converts the body to text: bytes that are not UTF-8 are lost, and this character replaces them.
	if strings.ContainsRune(body, utf8.RuneError) {
		return fail("its Message was not text: EasyNetQ has lost bytes of it")
	}
	var properties map[string]json.RawMessage
	if json.Unmarshal(raw["BasicProperties"], &properties) != nil || properties == nil {
		return fail("has no BasicProperties")
	}
	var ok bool
	if o.Properties, ok = easyNetQProperties(properties); !ok {
		return fail("has a property that AMQP does not have")
	}
	if o.Headers, ok = easyNetQHeaders(properties["Headers"]); !ok {
		return fail("has Headers that are not a table")
	}
	for _, name := range slices.Sorted(maps.Keys(o.Headers)) {
		switch o.Headers[name].(type) {
		case model.Table, []any:
			if !IsBrokerHeader(name) {
				e.Doubts = append(e.Doubts,
					model.Sayf("EasyNetQ writes texts inside of a nested header in base64: %v may differ from "+
						"what it was", name))
			}
		}
	}

	o.Body, o.BodyBytes = []byte(body), len(body)
	return e
}

func easyNetQProperties(raw map[string]json.RawMessage) (p Properties, ok bool) {
	var expiration string
	var timestamp float64
	for name, into := range map[string]any{
		"ContentType": &p.ContentType, "ContentEncoding": &p.ContentEncoding, "DeliveryMode": &p.DeliveryMode,
		"Priority":      &p.Priority,
		"CorrelationId": &p.CorrelationID, "ReplyTo": &p.ReplyTo, "MessageId": &p.MessageID, "Timestamp": &timestamp,
		"Type": &p.Type, "UserId": &p.UserID, "AppId": &p.AppID, "Expiration": &expiration,
	} {
		var present *bool // older versions write every property, with a flag whether it was present
		if v, told := raw[name+"Present"]; told && json.Unmarshal(v, &present) == nil && present != nil && !*present {
			continue
		}
		if v, told := raw[name]; told && json.Unmarshal(v, into) != nil {
			return p, false
		}
	}

	if timestamp != 0 {
		p.Timestamp = time.Unix(int64(timestamp), 0).UTC()
	}

	p.Expiration, ok = milliSpan(expiration)
	return p, ok
}

// timeSpan is .NET's [days.]hours:minutes:seconds[.fraction].
var timeSpan = regexp.MustCompile(`^(?:(\d{1,8})\.)?(\d{1,2}):(\d{1,2}):(\d{1,2})(?:\.(\d{1,7}))?$`)

// milliSpan reads an expiration, which may be absent: milliseconds, or the time span of later versions. It is false for
// values that RabbitMQ would refuse.
func milliSpan(s string) (ms string, ok bool) {
	if part := timeSpan.FindStringSubmatch(s); part != nil {
		number := func(i int) (n int64) {
			n, _ = strconv.ParseInt(part[i], 10, 64) // a missing part is 0
			return n
		}
		part[5] = (part[5] + "000")[:3]
		s = strconv.FormatInt((((number(1)*24+number(2))*60+number(3))*60+number(4))*1000+number(5), 10)
	}

	if _, ok := ParseExpiration(s); !ok && s != "" {
		return "", false
	}

	return s, true
}

// easyNetQHeaders reads headers as .NET wrote them: integers become long, as when EasyNetQ's own tool republishes them.
func easyNetQHeaders(raw json.RawMessage) (model.Table, bool) {
	if len(raw) == 0 {
		return nil, true
	}
	var headers map[string]any
	if Decode(raw, &headers) != nil {
		return nil, false
	}
	delete(headers, "$type") // the dictionary's type, as Newtonsoft writes it
	if len(headers) == 0 {
		return nil, true
	}
	table, _ := amqpValue(headers).(model.Table)
	return table, true
}

func amqpValue(v any) any {
	switch v := v.(type) {
	case json.Number:
		if n, err := v.Int64(); err == nil {
			return n
		}
		f, _ := v.Float64()
		return f
	case []any:
		for i := range v {
			v[i] = amqpValue(v[i])
		}
		return v
	case map[string]any:
		if kind, ok := v["$type"].(string); ok && strings.HasPrefix(kind, "System.Byte[]") {
			var b []byte
			if text, ok := v["$value"].(string); ok && json.Unmarshal([]byte(`"`+text+`"`), &b) == nil {
				return b
			}
		}

		if values, ok := v["$values"].([]any); ok {
			return amqpValue(values)
		}
		t := make(model.Table, len(v))
		for key, e := range v {
			t[key] = amqpValue(e)
		}

		return t
	}

	return v
}

func jsonString(raw json.RawMessage, into *string) bool {
	var s *string
	if json.Unmarshal(raw, &s) != nil || s == nil {
		return false
	}
	*into = *s
	return true
}
