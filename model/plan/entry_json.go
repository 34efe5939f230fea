package plan

import (
	"errors"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/message"
)

// EntryJSON is an entry as the journal's file and `dlxtop journal show -o json` have it.
type EntryJSON struct {
	Position    int                  `json:"position"`
	MessageID   message.Text         `json:"message_id,omitempty"`
	Fingerprint message.Fingerprint  `json:"fingerprint"`
	Exchange    message.Text         `json:"exchange"`
	RoutingKey  message.Text         `json:"routing_key"`
	Message     *message.MessageJSON `json:"message,omitempty"`
	Sent        *sentJSON            `json:"sent,omitempty"`
	Stays       bool                 `json:"stays,omitempty"` // it was never to be sent
	Undoes      int                  `json:"undoes,omitempty"`
	Outcome     Outcome              `json:"outcome,omitempty"`
	Reason      string               `json:"reason,omitempty"`
	Undone      bool                 `json:"undone,omitempty"`
	Damaged     string               `json:"damaged,omitempty"` // why it cannot be read; then nothing else is known
}

type sentJSON struct {
	Fingerprint message.Fingerprint `json:"fingerprint"`
	Exchange    message.Text        `json:"exchange"`
	RoutingKey  message.Text        `json:"routing_key"`
	Reached     []message.Text      `json:"reached,omitempty"`
	Expiration  message.Text        `json:"former_expiration,omitempty"`
	UserID      message.Text        `json:"former_user_id,omitempty"`
	Zeros       message.PropertySet `json:"former_zeros,omitempty"`
	Headers     map[string]any      `json:"former_headers,omitempty"`
	Added       []message.Text      `json:"added_headers,omitempty"`
	Changed     []string            `json:"changed,omitempty"`
	Removed     []message.Text      `json:"removed_headers,omitempty"`
}

func (e *Entry) JSON() EntryJSON {
	out := EntryJSON{
		Position:    e.Position,
		MessageID:   message.TextOf(e.MessageID),
		Fingerprint: e.Fingerprint,
		Exchange:    message.TextOf(e.Address.Exchange),
		RoutingKey:  message.TextOf(e.Address.RoutingKey),
		Stays:       e.Stays,
		Undoes:      e.Undoes,
		Outcome:     e.Outcome,
		Reason:      e.Reason,
		Undone:      e.Undone,
		Damaged:     e.Damaged,
	}

	if m := e.Message; m != nil {
		whole := m.PlainJSON()
		whole.Body, whole.BodyEncoding = message.EncodeBody(m.Body)
		out.Message = &whole
	}

	if s := e.Sent; s != nil {
		f := &s.Former
		out.Sent = &sentJSON{
			s.Fingerprint, message.TextOf(s.To.Exchange), message.TextOf(s.To.RoutingKey), textsOf(s.Reached),
			message.TextOf(f.Expiration), message.TextOf(f.UserID), f.Zeros, message.HeadersJSON(f.Headers),
			textsOf(f.Added), s.Changed, textsOf(s.Removed),
		}
	}

	return out
}

// ParseEntry reads the output of JSON. It has no Outcome, Reason and Undone: those come later.
func ParseEntry(text []byte) (e Entry, err error) {
	var in EntryJSON
	var none message.Fingerprint
	if err := message.Decode(text, &in); err != nil {
		return Entry{Position: in.Position}, err
	}
	e = Entry{
		Position:    in.Position,
		MessageID:   string(in.MessageID),
		Fingerprint: in.Fingerprint,
		Undoes:      in.Undoes,
		Stays:       in.Stays,
		Address:     model.Address{Exchange: string(in.Exchange), RoutingKey: string(in.RoutingKey)},
	}

	if in.Message != nil && err == nil {
		var m message.Message
		m, err = in.Message.Message()
		e.Message = &m
	}

	if s := in.Sent; s != nil && err == nil {
		e.Sent = &Sent{
			Fingerprint: s.Fingerprint,
			To:          model.Address{Exchange: string(s.Exchange), RoutingKey: string(s.RoutingKey)},
			Reached:     textsIn(s.Reached),
			Changed:     s.Changed,
			Removed:     textsIn(s.Removed),
			Former: Former{
				Expiration: string(s.Expiration), UserID: string(s.UserID), Zeros: s.Zeros, Added: textsIn(s.Added),
			},
		}

		e.Sent.Former.Headers, err = message.ParseHeaders(s.Headers)
	}

	switch {
	case err != nil:
	case in.Fingerprint == none || in.Sent != nil && in.Sent.Fingerprint == none:
		err = errors.New("it has no fingerprint")
	case e.Sent == nil && !e.Stays && (e.Message == nil || e.Undoes != 0):
		err = errors.New("it holds neither the message nor where it was sent")
	}

	return e, err
}

func textsOf(texts []string) (out []message.Text) {
	for _, text := range texts {
		out = append(out, message.TextOf(text))
	}
	return out
}

func textsIn(texts []message.Text) (out []string) {
	for _, text := range texts {
		out = append(out, string(text))
	}
	return out
}
