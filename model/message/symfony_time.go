package message

import (
	"encoding/json"
	"time"

	"github.com/dlxtop/dlxtop/model"
)

// SentAgain is between when and when the message was sent again for another try, by the clock of the worker that did.
// What its framework wrote down is to the second: Symfony's RedeliveryStamp.
func (m *Message) SentAgain() (from, to time.Time, ok bool) {
	for k := range m.rows() {
		if s, stamped := k.stamped(m); stamped && s.resent.After(model.FirstTime) && s.resent.Before(model.LastTime) {
			from = s.resent.Truncate(time.Second)
			return from, from.Add(time.Second), true
		}
	}
	return from, to, false
}

// symfonyTime is a time as Symfony's serializers write it into JSON: as a text (DateTimeNormalizer), or, without that,
// as an object of what the methods of a DateTime return. Anything else is the zero time, and no error.
type symfonyTime time.Time

// UnmarshalJSON never fails: the other stamps are worth reading.
func (t *symfonyTime) UnmarshalJSON(text []byte) error {
	var written string
	var parts struct {
		Timestamp int64 `json:"timestamp"`
	}
	switch {
	case json.Unmarshal(text, &written) == nil:
		at, _ := time.Parse(time.RFC3339Nano, written)
		*t = symfonyTime(at)
	case json.Unmarshal(text, &parts) == nil && parts.Timestamp != 0:
		*t = symfonyTime(time.Unix(parts.Timestamp, 0))
	}
	return nil
}

// time is a DateTime of PHP's serialize; zero when it is none, and in a time zone that only a name says, but for UTC:
// the offset of a name is not known everywhere.
func (v *phpValue) time() time.Time {
	if v == nil || !v.object || v.text != "DateTimeImmutable" && v.text != "DateTime" {
		return time.Time{}
	}
	zone := v.scalarOf("timezone")
	if zone == "UTC" || zone == "Z" || zone == "GMT" {
		zone = "+00:00"
	}
	at, err := time.Parse("2006-01-02 15:04:05.999999 -07:00", v.scalarOf("date")+" "+zone)
	if err != nil {
		return time.Time{}
	}
	return at
}
