package model

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
)

// EntryJSON is an entry as the journal's file and `dlxtop journal show -o json` have it.
type EntryJSON struct {
	Position    int          `json:"position"`
	MessageID   string       `json:"message_id,omitempty"`
	Fingerprint string       `json:"fingerprint"`
	Exchange    string       `json:"exchange"`
	RoutingKey  string       `json:"routing_key"`
	Message     *MessageJSON `json:"message,omitempty"`
	Sent        *sentJSON    `json:"sent,omitempty"`
	Undoes      int          `json:"undoes,omitempty"`
	Outcome     Outcome      `json:"outcome,omitempty"`
	Reason      string       `json:"reason,omitempty"`
	Undone      bool         `json:"undone,omitempty"`
}

type sentJSON struct {
	Fingerprint string         `json:"fingerprint"`
	Exchange    string         `json:"exchange"`
	RoutingKey  string         `json:"routing_key"`
	Reached     []string       `json:"reached,omitempty"`
	Expiration  string         `json:"former_expiration,omitempty"`
	UserID      string         `json:"former_user_id,omitempty"`
	Headers     map[string]any `json:"former_headers,omitempty"`
	Added       []string       `json:"added_headers,omitempty"`
	Changed     []string       `json:"changed,omitempty"`
	Removed     []string       `json:"removed_headers,omitempty"`
}

// JSON is the entry as JSON has it.
func (e *Entry) JSON() EntryJSON {
	out := EntryJSON{
		Position: e.Position, MessageID: textJSON(e.MessageID), Fingerprint: e.Fingerprint.String(),
		Exchange: textJSON(e.Address.Exchange), RoutingKey: textJSON(e.Address.RoutingKey),
		Undoes: e.Undoes, Outcome: e.Outcome, Reason: e.Reason, Undone: e.Undone,
	}
	if m := e.Message; m != nil {
		// What only describes the message would have to be worked out, and is in its headers and body anyway.
		whole := MessageJSON{
			Position: m.Position, Exchange: textJSON(m.Exchange), RoutingKey: textJSON(m.RoutingKey), Redelivered: m.Redelivered,
			Properties: m.Properties.json(), Headers: headersJSON(m.Headers), BodyBytes: m.BodyBytes, Deaths: []deathJSON{},
		}
		whole.Body, whole.BodyEncoding = bodyJSON(m.Body)
		out.Message = &whole
	}
	if s := e.Sent; s != nil {
		out.Sent = &sentJSON{
			s.Fingerprint.String(), textJSON(s.To.Exchange), textJSON(s.To.RoutingKey), textsJSON(s.Reached),
			textJSON(s.Former.Expiration), textJSON(s.Former.UserID), headersJSON(s.Former.Headers), textsJSON(s.Former.Added), s.Changed, textsJSON(s.Removed),
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
		return Entry{}, jsonError(err)
	}
	e := Entry{Position: in.Position, Undoes: in.Undoes}
	var err error
	read := func(from string, to *string) {
		if err == nil {
			*to, err = parseText(from)
		}
	}
	read(in.MessageID, &e.MessageID)
	read(in.Exchange, &e.Address.Exchange)
	read(in.RoutingKey, &e.Address.RoutingKey)
	if err == nil {
		e.Fingerprint, err = parseFingerprint(in.Fingerprint)
	}
	if in.Message != nil && err == nil {
		var m Message
		m, err = in.Message.Message()
		e.Message = &m
	}
	if s := in.Sent; s != nil && err == nil {
		e.Sent = &Sent{Reached: make([]string, len(s.Reached)), Former: Former{Added: make([]string, len(s.Added))}, Changed: s.Changed}
		if len(s.Removed) > 0 {
			e.Sent.Removed = make([]string, len(s.Removed))
		}
		read(s.Exchange, &e.Sent.To.Exchange)
		read(s.RoutingKey, &e.Sent.To.RoutingKey)
		read(s.Expiration, &e.Sent.Former.Expiration)
		read(s.UserID, &e.Sent.Former.UserID)
		for i := range s.Reached {
			read(s.Reached[i], &e.Sent.Reached[i])
		}
		for i := range s.Added {
			read(s.Added[i], &e.Sent.Former.Added[i])
		}
		for i := range s.Removed {
			read(s.Removed[i], &e.Sent.Removed[i])
		}
		if err == nil {
			e.Sent.Fingerprint, err = parseFingerprint(s.Fingerprint)
		}
		if err == nil {
			e.Sent.Former.Headers, err = parseHeaders(s.Headers)
		}
	}
	return e, err
}

func parseFingerprint(text string) (f Fingerprint, err error) {
	if b, err := hex.DecodeString(text); err != nil || copy(f[:], b) != len(f) || len(b) != len(f) {
		return f, fmt.Errorf("%s is no fingerprint", quoted(Printable(text)))
	}
	return f, nil
}

func textsJSON(texts []string) []string {
	out := make([]string, len(texts))
	for i := range texts {
		out[i] = textJSON(texts[i])
	}
	return out
}
