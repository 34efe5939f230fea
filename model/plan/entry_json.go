package plan

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"github.com/dlxtop/dlxtop/model/message"
)

// EntryJSON is an entry as the journal's file and `dlxtop journal show -o json` have it.
type EntryJSON struct {
	Position    int                  `json:"position"`
	Copies      string               `json:"copies,omitempty"` // 16 hexadecimal digits each
	MessageID   string               `json:"message_id,omitempty"`
	Fingerprint string               `json:"fingerprint"`
	Exchange    string               `json:"exchange"`
	RoutingKey  string               `json:"routing_key"`
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
	Fingerprint string         `json:"fingerprint"`
	Exchange    string         `json:"exchange"`
	RoutingKey  string         `json:"routing_key"`
	Reached     []string       `json:"reached,omitempty"`
	Expiration  string         `json:"former_expiration,omitempty"`
	UserID      string         `json:"former_user_id,omitempty"`
	Zeros       uint16         `json:"former_zeros,omitempty"`
	Headers     map[string]any `json:"former_headers,omitempty"`
	Added       []string       `json:"added_headers,omitempty"`
	Changed     []string       `json:"changed,omitempty"`
	Removed     []string       `json:"removed_headers,omitempty"`
}

// JSON is the entry as JSON has it.
func (e *Entry) JSON() EntryJSON {
	out := EntryJSON{
		Position: e.Position, MessageID: message.TextJSON(e.MessageID), Fingerprint: e.Fingerprint.String(),
		Exchange: message.TextJSON(e.Address.Exchange), RoutingKey: message.TextJSON(e.Address.RoutingKey),
		Stays: e.Stays, Undoes: e.Undoes, Outcome: e.Outcome, Reason: e.Reason, Undone: e.Undone, Damaged: e.Damaged,
	}
	for _, c := range e.Copies {
		out.Copies += fmt.Sprintf("%016x", uint64(c))
	}
	if m := e.Message; m != nil {
		// What only describes the message would have to be worked out, and is in its headers and body anyway.
		whole := message.MessageJSON{
			Position: m.Position, Exchange: message.TextJSON(m.Exchange), RoutingKey: message.TextJSON(m.RoutingKey),
			Redelivered: m.Redelivered, Properties: m.Properties.AsJSON(), Headers: message.HeadersJSON(m.Headers),
			BodyBytes: m.BodyBytes, Deaths: []message.DeathJSON{},
		}
		whole.Body, whole.BodyEncoding = message.EncodeBody(m.Body)
		out.Message = &whole
	}
	if s := e.Sent; s != nil {
		out.Sent = &sentJSON{
			s.Fingerprint.String(), message.TextJSON(s.To.Exchange), message.TextJSON(s.To.RoutingKey), textsJSON(s.Reached),
			message.TextJSON(s.Former.Expiration), message.TextJSON(s.Former.UserID), uint16(s.Former.Zeros),
			message.HeadersJSON(s.Former.Headers), textsJSON(s.Former.Added), s.Changed, textsJSON(s.Removed),
		}
	}
	return out
}

// ParseEntry reads what JSON wrote. Outcome, Reason and Undone are not part of it: they come later.
func ParseEntry(text []byte) (Entry, error) {
	var in EntryJSON
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	if err := decoder.Decode(&in); err != nil {
		return Entry{}, message.JSONError(err)
	}
	e := Entry{Position: in.Position, Undoes: in.Undoes, Stays: in.Stays}
	var err error
	e.Copies, err = ParseCopies(in.Copies)
	read := func(from string, to *string) {
		if err == nil {
			*to, err = message.ParseText(from)
		}
	}
	read(in.MessageID, &e.MessageID)
	read(in.Exchange, &e.Address.Exchange)
	read(in.RoutingKey, &e.Address.RoutingKey)
	if err == nil {
		e.Fingerprint, err = parseFingerprint(in.Fingerprint)
	}
	if in.Message != nil && err == nil {
		var m message.Message
		m, err = in.Message.Message()
		e.Message = &m
	}
	if s := in.Sent; s != nil && err == nil {
		e.Sent = &Sent{Changed: s.Changed, Former: Former{Zeros: message.PropertySet(s.Zeros)}}
		read(s.Exchange, &e.Sent.To.Exchange)
		read(s.RoutingKey, &e.Sent.To.RoutingKey)
		read(s.Expiration, &e.Sent.Former.Expiration)
		read(s.UserID, &e.Sent.Former.UserID)
		for _, texts := range []struct {
			from []string
			to   *[]string
		}{{s.Reached, &e.Sent.Reached}, {s.Added, &e.Sent.Former.Added}, {s.Removed, &e.Sent.Removed}} {
			for _, text := range texts.from {
				*texts.to = append(*texts.to, "")
				read(text, &(*texts.to)[len(*texts.to)-1])
			}
		}
		if err == nil {
			e.Sent.Fingerprint, err = parseFingerprint(s.Fingerprint)
		}
		if err == nil {
			e.Sent.Former.Headers, err = message.ParseHeaders(s.Headers)
		}
	}
	if err == nil && e.Sent == nil && !e.Stays && (e.Message == nil || e.Undoes != 0) {
		err = errors.New("it holds neither the message nor where it was sent")
	}
	return e, err
}

// ParseCopies reads the copies of an entry as JSON has them.
func ParseCopies(text string) (copies []Copy, err error) {
	const digits = 16
	for ; len(text) >= digits && err == nil; text = text[digits:] {
		var n uint64
		n, err = strconv.ParseUint(text[:digits], 16, 64)
		copies = append(copies, Copy(n))
	}
	return copies, err
}

func parseFingerprint(text string) (f message.Fingerprint, err error) {
	err = f.UnmarshalText([]byte(text))
	return f, err
}

func textsJSON(texts []string) []string {
	out := make([]string, len(texts))
	for i := range texts {
		out[i] = message.TextJSON(texts[i])
	}
	return out
}
