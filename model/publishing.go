package model

import (
	"fmt"
	"slices"
	"strings"
)

// Publishing is a message as a replay publishes it.
type Publishing struct {
	Address
	Properties Properties
	Headers    Table
	Body       []byte
	Reaches    []QueueRef // the queues that receive it
}

// isBrokerHeader reports whether a header tells the past of a message, or sends it to more queues than the plan says.
// Kept, x-death can lose the message at its next expiry on 3.x (a cycle), and misleads a worker that counts its tries;
// CC and BCC would deliver it a second time to queues that had it already.
func isBrokerHeader(key string) bool {
	return key == "CC" || key == "BCC" || slices.Contains(deliveryCounters, key) || isDeathHeader(key)
}

// isDeathHeader reports whether a header is part of the death history.
func isDeathHeader(key string) bool {
	return key == "x-death" || strings.HasPrefix(key, "x-first-death-") || strings.HasPrefix(key, "x-last-death-")
}

// strips reports whether a header is removed.
func (p *Plan) strips(key string) bool {
	return isBrokerHeader(key) && !(p.KeepDeaths && isDeathHeader(key))
}

// opening is what the plan publishes of m, before anything is stripped: a replay opens an envelope, a move does not.
func (p *Plan) opening(m *Message) opened {
	if p.Operation == Move {
		return opened{m, nil}
	}
	o := opening(m)
	if e := p.Edited; e != nil {
		edited := *o.Message
		edited.Properties, edited.Headers, edited.Body, edited.BodyBytes = e.Properties, e.Headers, e.Body, len(e.Body)
		o.Message = &edited
	}
	return o
}

// noteChanges notes what is removed from a message, header names, and "expiration" and "user_id" for the properties, and what is kept of its
// death history. Everything else is kept byte for byte. Of a message in an envelope it is what the original loses.
func (p *Plan) noteChanges(m *Message, strips, keeps map[string]bool) {
	if p.Operation != Move {
		m = opening(m).Message
	}
	for key := range m.Headers {
		switch {
		case p.strips(key):
			strips[key] = true
		case isDeathHeader(key):
			keeps[key] = true
		}
	}
	if m.Properties.Expiration != "" && (p.Edited == nil || p.Edited.Properties.Expiration == "") {
		strips["expiration"] = true
	}
	if e := p.Edited; e != nil && e.Properties.UserID != "" && e.Properties.UserID != p.User {
		strips["user_id"] = true
	}
	if m.Properties.UserID != "" && m.Properties.UserID != p.User {
		strips["user_id"] = true
	}
}

// Adds are the headers that the plan adds.
func (p *Plan) Adds() []string {
	if p.Mark {
		return []string{ReplayHeader}
	}
	return nil
}

// Publishing is what acting on m publishes, or an error in one sentence when the plan does not allow it: the message
// then stays where it is.
func (p *Plan) Publishing(m *Message) (Publishing, error) {
	if p.Undoing != nil {
		return p.Undoing.publishing(m)
	}
	o := p.opening(m)
	way := p.Target.wayOf(m, o)
	if way.Problem != "" {
		return Publishing{}, fmt.Errorf("%s", way.Problem)
	}
	for _, q := range way.Reaches {
		if !slices.ContainsFunc(p.Recipients, func(r Recipient) bool { return r.Queue == q }) {
			return Publishing{}, fmt.Errorf("it would also reach %s, which the plan does not name", q)
		}
	}
	out := p.publishing(o.Message, way)
	if p.Mark {
		if p.Edited != nil {
			m = opening(m).Message // an edit shows no mark, and takes none off
		} else {
			m = o.Message
		}
		out.mark(m, p.MarkName)
	}
	return out, nil
}

// publishing is what is published of a message that was opened, without a mark.
func (p *Plan) publishing(m *Message, way Way) Publishing {
	out := Publishing{Address: way.Address, Properties: m.Properties, Body: m.Body, Reaches: way.Reaches}
	if p.Edited == nil { // else it was asked for
		out.Properties.Expiration = ""
	}
	if m.Properties.UserID != p.User {
		out.Properties.UserID = ""
	}
	for key, v := range m.Headers {
		if p.strips(key) {
			continue
		}
		if out.Headers == nil {
			out.Headers = make(Table, len(m.Headers))
		}
		out.Headers[key] = v
	}
	return out
}
