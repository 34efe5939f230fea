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
	switch key {
	case "x-death", "x-delivery-count", "x-acquired-count", "CC", "BCC":
		return true
	}
	return strings.HasPrefix(key, "x-first-death-") || strings.HasPrefix(key, "x-last-death-")
}

// Strips lists what a replay by this user removes from a message: header names, and "expiration" and "user_id" for the
// properties. Everything else is kept byte for byte. Of a message in an envelope it is what the original loses.
func (m *Message) Strips(user string) []string {
	m = opening(m).Message
	var strips []string
	for key := range m.Headers {
		if isBrokerHeader(key) {
			strips = append(strips, key)
		}
	}
	slices.Sort(strips)
	if m.Properties.Expiration != "" {
		strips = append(strips, "expiration")
	}
	if m.Properties.UserID != "" && m.Properties.UserID != user {
		strips = append(strips, "user_id")
	}
	return strips
}

// Publishing is what a replay of m publishes, or an error in one sentence when the plan does not allow it: the message
// then stays where it is.
func (p *Plan) Publishing(m *Message) (Publishing, error) {
	if p.Undoing != nil {
		return p.Undoing.publishing(m)
	}
	o := opening(m)
	way := p.Target.wayOf(m, o)
	if way.Problem != "" {
		return Publishing{}, fmt.Errorf("%s", way.Problem)
	}
	for _, q := range way.Reaches {
		if !slices.ContainsFunc(p.Recipients, func(r Recipient) bool { return r.Queue == q }) {
			return Publishing{}, fmt.Errorf("it would also reach %s, which the plan does not name", q)
		}
	}
	m = o.Message
	out := Publishing{Address: way.Address, Properties: m.Properties, Body: m.Body, Reaches: way.Reaches}
	out.Properties.Expiration = ""
	if m.Properties.UserID != p.User {
		out.Properties.UserID = ""
	}
	for key, v := range m.Headers {
		if isBrokerHeader(key) {
			continue
		}
		if out.Headers == nil {
			out.Headers = make(Table, len(m.Headers))
		}
		out.Headers[key] = v
	}
	if p.Mark {
		out.mark(m)
	}
	return out, nil
}
