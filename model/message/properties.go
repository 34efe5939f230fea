package message

import (
	"strconv"
	"time"

	"github.com/dlxtop/dlxtop/model"
)

// Properties are the basic properties of AMQP 0-9-1 without the headers. A zero field is absent unless Zeros has it: to
// a quorum queue of 4.0 and later, priority 0 and no priority differ.
type Properties struct {
	ContentType     string
	ContentEncoding string
	DeliveryMode    uint8 // 1 transient, 2 persistent
	Priority        uint8
	CorrelationID   string
	ReplyTo         string
	Expiration      string // milliseconds, as text: that is how AMQP carries it
	MessageID       string
	Timestamp       time.Time // to the second
	Type            string
	UserID          string
	AppID           string
	ClusterID       string      // from AMQP 0-8; RabbitMQ passes it on
	Zeros           PropertySet // what was sent although it is zero, including an empty table of headers
}

// PropertySet is a set of properties, as the flags in AMQP's content header.
type PropertySet uint16

// The properties, in the order of the content header.
const (
	PropContentType PropertySet = 1 << (15 - iota)
	PropContentEncoding
	PropHeaders
	PropDeliveryMode
	PropPriority
	PropCorrelationID
	PropReplyTo
	PropExpiration
	PropMessageID
	PropTimestamp
	PropType
	PropUserID
	PropAppID
	PropClusterID
)

// Has reports whether the set contains all of other.
func (s PropertySet) Has(other PropertySet) bool { return s&other == other }

// Property is one property, with its value in Text, Number or Time.
type Property struct {
	Name   string // as JSON has it
	Flag   PropertySet
	Text   *string
	Number *uint8
	Time   *time.Time
}

// Fields returns the properties except the headers, in AMQP's order.
func (p *Properties) Fields() [13]Property {
	return [...]Property{
		{"content_type", PropContentType, &p.ContentType, nil, nil},
		{"content_encoding", PropContentEncoding, &p.ContentEncoding, nil, nil},
		{"delivery_mode", PropDeliveryMode, nil, &p.DeliveryMode, nil},
		{"priority", PropPriority, nil, &p.Priority, nil},
		{"correlation_id", PropCorrelationID, &p.CorrelationID, nil, nil},
		{"reply_to", PropReplyTo, &p.ReplyTo, nil, nil},
		{"expiration", PropExpiration, &p.Expiration, nil, nil},
		{"message_id", PropMessageID, &p.MessageID, nil, nil},
		{"timestamp", PropTimestamp, nil, nil, &p.Timestamp},
		{"type", PropType, &p.Type, nil, nil},
		{"user_id", PropUserID, &p.UserID, nil, nil},
		{"app_id", PropAppID, &p.AppID, nil, nil},
		{"cluster_id", PropClusterID, &p.ClusterID, nil, nil},
	}
}

func (f *Property) Zero() bool {
	switch {
	case f.Text != nil:
		return *f.Text == ""
	case f.Number != nil:
		return *f.Number == 0
	}

	return f.Time.IsZero()
}

// Shown returns a property as text: "" when it is absent, two quotes when it is present and empty.
func (p *Properties) Shown(f *Property) string {
	switch {
	case f.Zero() && !p.Zeros.Has(f.Flag):
		return ""
	case f.Text != nil:
		return model.Quoted(*f.Text)
	case f.Number != nil:
		return strconv.Itoa(int(*f.Number))
	}

	return timeJSON(*f.Time)
}

func (p *Properties) Clear(set PropertySet) {
	for _, f := range p.Fields() {
		if !set.Has(f.Flag) {
			continue
		}
		switch {
		case f.Text != nil:
			*f.Text = ""
		case f.Number != nil:
			*f.Number = 0
		default:
			*f.Time = time.Time{}
		}
	}

	p.Zeros &^= set
}

// HasForeignUser reports whether user_id is set and differs from user: RabbitMQ refuses that (406).
func (p *Properties) HasForeignUser(user string) bool {
	return p.UserID != user && (p.UserID != "" || p.Zeros.Has(PropUserID))
}

// Persistent reports whether the message survives a restart in a durable queue.
func (p Properties) Persistent() bool { return p.DeliveryMode == 2 }
