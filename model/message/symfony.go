package message

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/serial"
)

// Symfony's classes of stamps that a first try does not have, as headers and bodies name them: the count of retries;
// the last error; and that it went to the failure transport: a worker would drop a message with that stamp for good at
// its next failure (SendFailedMessageToFailureTransportListener).
const (
	stampClass        = `Symfony\Component\Messenger\Stamp\`
	symfonyRedelivery = stampClass + "RedeliveryStamp"
	symfonyError      = stampClass + "ErrorDetailsStamp"
	symfonyFailed     = stampClass + "SentToFailureTransportStamp"
)

// symfonyStamp begins the headers in which Symfony's JSON serializer writes one stamp each.
const symfonyStamp = "X-Message-Stamp-"

// symfonyBodies are the beginnings of bodies that Symfony's PHP serializer writes: an envelope with escaped quotes and
// backslashes, in base64 when it is not UTF-8.
var symfonyBodies = bodiesOf("Symfony Messenger")

type symfonyStamps struct {
	kind, message string    // of the last error
	class         string    // of the message
	failed        string    // the transport that it failed in
	retries       int64     // the highest count in a stamp
	resent        time.Time // when the worker resent it, by its last RedeliveryStamp; zero when unknown
	stale         []string
	body          *symfonyBody // set when the stamps are in the body
}

// symfony reads Symfony's stamps: each class in its own header, as JSON, or all of them in the body. It is false for
// messages that Symfony did not write.
func (m *Message) symfony() (s symfonyStamps, ok bool) {
	if body, inBody := readSymfonyBody(m.Body); inBody && len(m.Body) >= m.BodyBytes {
		s.body = body
		if message := body.envelope.Member("message"); message != nil && message.Kind == serial.Object {
			s.class = message.Text
		}
	} else if hasPrefix(m.Headers, symfonyStamp) {
		s.class, _ = m.Headers.Text("type")
	} else {
		return s, false
	}

	var redeliveries []struct {
		RetryCount    int64       `json:"retryCount"`
		RedeliveredAt symfonyTime `json:"redeliveredAt"`
	}

	if s.stamp(m, symfonyRedelivery, &redeliveries) {
		for _, r := range redeliveries {
			s.retries = max(s.retries, r.RetryCount)
			s.resent = time.Time(r.RedeliveredAt)
		}
	}

	var errors []struct {
		ExceptionClass   string `json:"exceptionClass"`
		ExceptionMessage string `json:"exceptionMessage"`
	}

	if s.stamp(m, symfonyError, &errors) && len(errors) > 0 {
		last := errors[len(errors)-1]
		s.kind = last.ExceptionClass
		s.message = last.ExceptionMessage
	}

	var failed []struct {
		Name string `json:"originalReceiverName"`
	}
	if s.stamp(m, symfonyFailed, &failed) && len(failed) > 0 {
		s.failed = failed[len(failed)-1].Name
	}

	return s, true
}

// stamped returns the stamps of a message whose framework has stamps.
func (k *framework) stamped(m *Message) (symfonyStamps, bool) {
	if !k.Stamps {
		return symfonyStamps{}, false
	}
	return m.symfony()
}

// stamp reads the stamps of a class into a list, from the JSON in their header or from the body as JSON.
func (s *symfonyStamps) stamp(m *Message, class string, into any) bool {
	var text string
	if s.body != nil {
		stamps := s.body.envelope.Member("stamps").Member(class)
		if stamps == nil || len(stamps.Members) == 0 {
			return false
		}
		list, _ := (&serial.Value{Kind: serial.List, Members: stamps.Members}).JSON(math.MaxInt)
		text = string(list)
	} else if v, there := m.Headers[symfonyStamp+class]; !there {
		return false
	} else if text, _ = model.AsText(v); len(text) > MaxEnvelope {
		text = ""
	}

	s.stale = append(s.stale, class)
	return json.Unmarshal([]byte(text), into) == nil
}

// resetSymfony removes the stamps that a first try does not have.
func (r *resetter) resetSymfony() {
	s, ok := r.now().symfony()
	if !ok || len(s.stale) == 0 {
		return
	}
	var classes []string
	for _, class := range s.stale {
		if class != symfonyRedelivery || !r.wish.KeepTries {
			classes = append(classes, class)
		}
	}

	if s.body != nil {
		body, written := s.body.without(classes)
		if !written {
			if s.retries > 0 { // its values refer to each other by number
				r.note(CounterKept, "", "RedeliveryStamp", s.retries)
			}
			return
		}

		if len(classes) > 0 {
			r.setBody(body)
		}
	}

	for _, class := range s.stale {
		name := strings.TrimPrefix(class, stampClass)
		header := ""
		if s.body == nil {
			header = symfonyStamp + class
		}

		kind, was := ErrorRemoved, int64(0)
		switch {
		case class == symfonyFailed:
			kind = MarkRemoved
		case class == symfonyRedelivery && r.wish.KeepTries:
			kind, was = CounterKept, s.retries
		case class == symfonyRedelivery && s.retries > 0:
			kind, was = CounterReset, s.retries
		}

		r.note(kind, header, name, was)
		if s.body == nil && kind != CounterKept {
			r.set(header, nil, false)
		}
	}
}

// symfonyBody is the envelope in a body as Symfony's PHP serializer writes it.
type symfonyBody struct {
	serialized []byte // with escapes removed
	envelope   *serial.Value
	refers     bool
	base64     bool
}

func readSymfonyBody(body []byte) (*symfonyBody, bool) {
	begins, _ := symfonyBodies()
	if !beginsWithOne(body, begins) || len(body) > MaxEnvelope {
		return nil, false
	}
	s := &symfonyBody{base64: body[0] == 'T'}
	if s.base64 {
		var err error
		if body, err = base64.StdEncoding.AppendDecode(nil, body); err != nil {
			return nil, false
		}
	}

	s.serialized = []byte(stripSlashes.Replace(string(body)))
	s.envelope, s.refers = serial.PHP(s.serialized)
	return s, s.envelope != nil && s.envelope.Kind == serial.Object && s.envelope.Text != ""
}

// without returns the body without the stamps of some classes; false when that cannot be written.
func (s *symfonyBody) without(classes []string) ([]byte, bool) {
	stamps := s.envelope.Member("stamps")
	if stamps == nil || len(stamps.Members) == 0 || s.refers {
		return nil, false
	}
	from := stamps.Members[0].From
	to := stamps.Members[len(stamps.Members)-1].To
	var kept []byte
	n := 0
	for _, m := range stamps.Members {
		same := func(class string) bool { return strings.EqualFold(class, m.Name) } // PHP ignores the case of classes
		if !slices.ContainsFunc(classes, same) {
			kept = append(kept, s.serialized[m.From:m.To]...)
			n++
		}
	}

	head := bytes.TrimRight(s.serialized[:from-len(":{")], "0123456789")
	out := addSlashes.Replace(fmt.Sprintf("%s%d:{%s%s", head, n, kept, s.serialized[to:]))
	if s.base64 {
		out = base64.StdEncoding.EncodeToString([]byte(out))
	}

	return []byte(out), true
}

// PHP's stripslashes and addslashes.
var (
	stripSlashes = strings.NewReplacer(`\0`, "\x00", `\\`, `\`, `\`, "")
	addSlashes   = strings.NewReplacer("\x00", `\0`, `\`, `\\`, `"`, `\"`, `'`, `\'`)
)

// PHPSerialized returns a body written by PHP's serialize, or wrapped by Symfony, as JSON made from its structure.
// whole is false when the JSON lacks a part of it.
func PHPSerialized(body []byte) (text []byte, whole, ok bool) {
	if len(body) > MaxEnvelope {
		return nil, false, false
	}
	s, ok := readSymfonyBody(body)
	if !ok {
		v, _ := serial.PHP(bytes.TrimSpace(body))
		if v == nil {
			return nil, false, false
		}
		s = &symfonyBody{envelope: v}
	}

	text, whole = s.envelope.JSON(maxSerialText)
	return text, whole, true
}

// maxSerialText is the maximum size of a serialized body's text, in bytes.
const maxSerialText = 512 << 10

// SentAgain returns the time range in which the message was resent for another try, by the worker's clock. Symfony's
// RedeliveryStamp, which records it, has whole seconds.
func (m *Message) SentAgain() (from, to time.Time, ok bool) {
	for k := range m.rows() {
		s, stamped := k.stamped(m)
		if stamped && s.resent.After(model.FirstTime) && s.resent.Before(model.LastTime) {
			from = s.resent.Truncate(time.Second)
			return from, from.Add(time.Second), true
		}
	}

	return from, to, false
}

// symfonyTime is a time as Symfony's serializers write it into JSON: a text (DateTimeNormalizer), or without that an
// object of a DateTime's getters; or a DateTime of PHP's serialize. Anything else is the zero time without an error, as
// the other stamps are worth reading. So is a time zone given only by name, except UTC: the offset of a name is not
// known everywhere.
type symfonyTime time.Time

// UnmarshalJSON never fails.
func (t *symfonyTime) UnmarshalJSON(text []byte) error {
	var written string
	var parts struct {
		Class     string `json:"$class"`
		Date      string `json:"date"`
		Timezone  any    `json:"timezone"`
		Timestamp int64  `json:"timestamp"`
	}

	var at time.Time

	switch {
	case json.Unmarshal(text, &written) == nil:
		at, _ = time.Parse(time.RFC3339Nano, written)
	case json.Unmarshal(text, &parts) != nil:
	case parts.Class == "DateTimeImmutable" || parts.Class == "DateTime":
		zone, _ := parts.Timezone.(string)
		if zone == "UTC" || zone == "Z" || zone == "GMT" {
			zone = "+00:00"
		}
		at, _ = time.Parse("2006-01-02 15:04:05.999999 -07:00", parts.Date+" "+zone)
	case parts.Timestamp != 0:
		at = time.Unix(parts.Timestamp, 0)
	}

	*t = symfonyTime(at)
	return nil
}
