package message

import "reflect"

// PropertiesJSON are the properties of a message as JSON; expiration is in ms, as a text, as AMQP has it. What a
// message does not have is left out; what it has although it is zero or empty is written.
type PropertiesJSON struct {
	ContentType     *string `json:"content_type,omitempty"`     // as published
	ContentEncoding *string `json:"content_encoding,omitempty"` // as published
	DeliveryMode    *uint8  `json:"delivery_mode,omitempty"`    // 2 is persistent
	Priority        *uint8  `json:"priority,omitempty"`         // as published
	CorrelationID   *string `json:"correlation_id,omitempty"`   // as published
	ReplyTo         *string `json:"reply_to,omitempty"`         // as published
	Expiration      *string `json:"expiration,omitempty"`       // in ms, as RabbitMQ has it now
	MessageID       *string `json:"message_id,omitempty"`       // as published
	Timestamp       *string `json:"timestamp,omitempty"`        // when it was published, if the publisher says so
	Type            *string `json:"type,omitempty"`             // as published
	UserID          *string `json:"user_id,omitempty"`          // as published
	AppID           *string `json:"app_id,omitempty"`           // as published
	ClusterID       *string `json:"cluster_id,omitempty"`       // as published
	EmptyHeaders    bool    `json:"empty_headers,omitempty"`    // it has a table of headers with nothing in it
}

// AsJSON returns the properties as JSON. Its fields are in the order of Properties.Fields.
func (p *Properties) AsJSON() PropertiesJSON {
	out := PropertiesJSON{EmptyHeaders: p.Zeros.Has(PropHeaders)}
	into := reflect.ValueOf(&out).Elem()
	for i, f := range p.Fields() {
		switch {
		case f.Zero() && !p.Zeros.Has(f.Flag):
		case f.Text != nil:
			into.Field(i).Set(reflect.ValueOf(new(TextJSON(*f.Text))))
		case f.Number != nil:
			into.Field(i).Set(reflect.ValueOf(new(*f.Number)))
		default:
			into.Field(i).Set(reflect.ValueOf(new(timeJSON(*f.Time))))
		}
	}

	return out
}

// Properties converts the output of AsJSON back.
func (j *PropertiesJSON) Properties() (p Properties, err error) {
	if j.EmptyHeaders {
		p.Zeros = PropHeaders
	}

	const never = PropExpiration | PropTimestamp | PropUserID // RabbitMQ refuses empty ones: "" is absent
	from := reflect.ValueOf(j).Elem()
	for i, f := range p.Fields() {
		text, _ := from.Field(i).Interface().(*string)
		number, _ := from.Field(i).Interface().(*uint8)
		switch {
		case number != nil:
			*f.Number = *number
		case text == nil || *text == "" && never.Has(f.Flag):
			continue
		case f.Text != nil:
			if *f.Text, err = ParseText(*text); err != nil {
				return p, err
			}
		default:
			if *f.Time, err = parseTime(*text); err != nil {
				return p, &PropertyError{f.Name, err}
			}
		}

		if f.Zero() {
			p.Zeros |= f.Flag
		}
	}

	return p, nil
}
