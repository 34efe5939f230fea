package message

import (
	"encoding/base64"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/dlxtop/dlxtop/model"
)

// MessageJSON is a message as JSON has it, for scripts and for the clipboard. What is unknown is left out. Header
// values that plain JSON would change are written as {"$type": …, "value": …}.
type MessageJSON struct {
	Position     int            `json:"position"`             // in the queue; 1 is the head
	MessageID    Text           `json:"message_id,omitempty"` // as in the properties
	Exchange     Text           `json:"exchange"`             // it was published to
	RoutingKey   Text           `json:"routing_key"`          // it was published with
	Redelivered  bool           `json:"redelivered"`          // it was delivered before, be it by a look
	Properties   PropertiesJSON `json:"properties"`           // those of AMQP that it has
	Headers      map[string]any `json:"headers"`              // by name; what JSON has no type for is `{"$type", "value"}`
	Body         string         `json:"body"`                 // text, or base64
	BodyEncoding string         `json:"body_encoding"`        // utf-8 or base64
	BodyBytes    int            `json:"body_bytes"`           // how long it is, before base64
	Deaths       []DeathJSON    `json:"deaths"`               // newest first
	Failure      *failureJSON   `json:"failure,omitempty"`    // the error that it carries
	Framework    *frameworkJSON `json:"framework,omitempty"`  // what the framework that published it says
}

type DeathJSON struct {
	Queue              string       `json:"queue"`                         // that it left
	Reason             model.Reason `json:"reason"`                        // expired, rejected, maxlen or delivery_limit
	Count              int64        `json:"count,omitempty"`               // how often, where RabbitMQ says it
	Exchange           string       `json:"exchange"`                      // it had been published to
	RoutingKeys        []string     `json:"routing_keys"`                  // it had been published with
	Time               string       `json:"time,omitempty"`                // the first time
	OriginalExpiration string       `json:"original_expiration,omitempty"` // in ms: RabbitMQ took it off
}

type failureJSON struct {
	Kind    string `json:"kind,omitempty"`    // the type of the error
	Message string `json:"message,omitempty"` // its text
}

type frameworkJSON struct {
	Name    Framework `json:"name"`              // of the framework
	Task    string    `json:"task,omitempty"`    // the job or the class
	Counted *int64    `json:"counted,omitempty"` // retries or tries, as the framework counts them
	Due     string    `json:"due,omitempty"`     // when it is to run
	Expires string    `json:"expires,omitempty"` // until when it may run
}

func (m *Message) frameworkJSON() *frameworkJSON {
	name, ok := m.Framework()
	if !ok {
		return nil
	}
	out := &frameworkJSON{Name: name}
	out.Task, _ = m.Task()
	out.Task = TextJSON(out.Task)
	if n, _, counts := m.Retried(); counts {
		out.Counted = &n
	}

	due, _, _ := m.Eta()
	expires, _ := m.Expires()
	out.Due, out.Expires = JSONTime(due), JSONTime(expires)
	return out
}

func (m *Message) JSON() MessageJSON {
	out := m.headJSON()
	out.Body, out.BodyEncoding = EncodeBody(m.Body)
	return out
}

// PlainJSON is JSON without the body and without what is only derived from headers and body.
func (m *Message) PlainJSON() MessageJSON {
	return MessageJSON{
		Position:    m.Position,
		Exchange:    TextOf(m.Exchange),
		RoutingKey:  TextOf(m.RoutingKey),
		Redelivered: m.Redelivered,
		Properties:  m.Properties.AsJSON(),
		Headers:     HeadersJSON(m.Headers),
		BodyBytes:   m.BodyBytes,
		Deaths:      []DeathJSON{},
	}
}

// headJSON is JSON without the body.
func (m *Message) headJSON() MessageJSON {
	out := m.PlainJSON()
	out.MessageID = TextOf(m.Properties.MessageID)
	for _, d := range m.Deaths {
		keys := d.RoutingKeys
		if keys == nil {
			keys = []string{}
		}
		out.Deaths = append(out.Deaths, DeathJSON{
			d.Queue, d.Reason, d.Count, d.Exchange, keys, JSONTime(d.Time), d.OriginalExpiration,
		})
	}

	if f, ok := m.Failure(); ok {
		out.Failure = &failureJSON{f.Kind, f.Message}
	}

	out.Framework = m.frameworkJSON()
	return out
}

// EncodeBody returns a body as JSON can carry it, UTF-8 as it is and anything else in base64, and the name of the
// encoding.
func EncodeBody(body []byte) (text, encoding string) {
	encoding = bodyEncoding(body)
	if encoding == "base64" {
		return base64.StdEncoding.EncodeToString(body), encoding
	}
	return string(body), encoding
}

// base64Prefix marks a text that is written in base64.
const base64Prefix = "$base64:"

// TextJSON returns a text as JSON can carry it: AMQP's names and short texts may hold any bytes, JSON's only UTF-8.
func TextJSON(s string) string {
	if utf8.ValidString(s) && !strings.HasPrefix(s, base64Prefix) {
		return s
	}
	return base64Prefix + base64.StdEncoding.EncodeToString([]byte(s))
}

// JSONTime returns a time in RFC 3339 with milliseconds; "" when unknown, and "@" with seconds since 1970 in a year
// that RFC 3339 cannot write.
func JSONTime(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return timeJSON(t)
}

// timeJSON is JSONTime for a known time, which may be Go's zero time.
func timeJSON(t time.Time) string {
	if t = t.UTC(); t.Year() < 0 || t.Year() > 9999 {
		return "@" + strconv.FormatInt(t.Unix(), 10)
	}
	return t.Format("2006-01-02T15:04:05.000Z07:00")
}
