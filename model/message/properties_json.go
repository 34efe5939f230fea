package message

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

// fields are where the values are, in the order of Properties.Fields: a text or a number.
func (j *PropertiesJSON) fields() [13]struct {
	text   **string
	number **uint8
} {
	return [...]struct {
		text   **string
		number **uint8
	}{
		{&j.ContentType, nil},
		{&j.ContentEncoding, nil},
		{nil, &j.DeliveryMode},
		{nil, &j.Priority},
		{&j.CorrelationID, nil},
		{&j.ReplyTo, nil},
		{&j.Expiration, nil},
		{&j.MessageID, nil},
		{&j.Timestamp, nil},
		{&j.Type, nil},
		{&j.UserID, nil},
		{&j.AppID, nil},
		{&j.ClusterID, nil},
	}
}

// AsJSON are the properties as JSON.
func (p *Properties) AsJSON() PropertiesJSON {
	out := PropertiesJSON{EmptyHeaders: p.Zeros.Has(PropHeaders)}
	into := out.fields()
	for i, f := range p.Fields() {
		switch {
		case f.Zero() && !p.Zeros.Has(f.Flag):
		case f.Text != nil:
			*into[i].text = new(TextJSON(*f.Text))
		case f.Number != nil:
			*into[i].number = new(*f.Number)
		default:
			*into[i].text = new(timeJSON(*f.Time))
		}
	}
	return out
}

// Properties reads what AsJSON wrote.
func (j *PropertiesJSON) Properties() (p Properties, err error) {
	if j.EmptyHeaders {
		p.Zeros = PropHeaders
	}
	const never = PropExpiration | PropTimestamp | PropUserID // RabbitMQ takes none that is empty: "" is absent
	from := j.fields()
	for i, f := range p.Fields() {
		switch {
		case f.Number != nil && *from[i].number != nil:
			*f.Number = **from[i].number
		case from[i].text == nil || *from[i].text == nil || **from[i].text == "" && never.Has(f.Flag):
			continue
		case f.Text != nil:
			if *f.Text, err = ParseText(**from[i].text); err != nil {
				return p, err
			}
		default:
			if *f.Time, err = parseTime(**from[i].text); err != nil {
				return p, &PropertyError{f.Name, err}
			}
		}
		if f.Zero() {
			p.Zeros |= f.Flag
		}
	}
	return p, nil
}
