package message

import (
	"strings"

	"github.com/dlxtop/dlxtop/model"
)

// Publishing is a message as a replay publishes it.
type Publishing struct {
	model.Address
	Properties Properties
	Headers    model.Table
	Body       []byte
	Reaches    []model.QueueRef // the queues that receive it
}

// HeadJSON is a publishing without its body as JSON.
type HeadJSON struct {
	Exchange   Text           `json:"exchange"`
	RoutingKey Text           `json:"routing_key"`
	Properties PropertiesJSON `json:"properties"`
	Headers    map[string]any `json:"headers"`
}

func (p *Publishing) HeadJSON() HeadJSON {
	return HeadJSON{TextOf(p.Exchange), TextOf(p.RoutingKey), p.Properties.AsJSON(), HeadersJSON(p.Headers)}
}

// Publishing converts back what HeadJSON returned, without a body.
func (h *HeadJSON) Publishing() (p Publishing, err error) {
	p.Exchange = string(h.Exchange)
	p.RoutingKey = string(h.RoutingKey)
	if p.Properties, err = h.Properties.Properties(); err == nil {
		p.Headers, err = ParseHeaders(h.Headers)
	}
	return p, err
}

// IsBrokerHeader reports whether a header records the past of a message, or sends it to more queues than the plan says.
// If x-death were kept, the message could be lost at its next expiry on 3.x (a cycle), and a worker that counts its
// tries would be misled; CC and BCC would deliver it again to queues that already got it.
func IsBrokerHeader(key string) bool {
	return key == "CC" || key == "BCC" || isDeliveryCounter(key) || IsDeathHeader(key)
}

// IsDeathHeader reports whether a header is part of the death history.
func IsDeathHeader(key string) bool {
	return key == "x-death" || strings.HasPrefix(key, "x-first-death-") || strings.HasPrefix(key, "x-last-death-")
}

// WithCC returns the keys of a message: its routing key, and those in its CC header.
func WithCC(key string, headers model.Table) []string {
	keys := []string{key}
	copies, _ := headers["CC"].([]any)
	for _, c := range copies {
		if text, ok := model.AsText(c); ok {
			keys = append(keys, text)
		}
	}

	return keys
}

// ReplayHeaders returns the headers that a replay of m keeps: a headers exchange may match them.
func (m *Message) ReplayHeaders() model.Table {
	whole := true
	for key := range m.Headers {
		whole = whole && !IsBrokerHeader(key)
	}
	if whole {
		return m.Headers
	}
	kept := make(model.Table, len(m.Headers))
	for key, v := range m.Headers {
		if !IsBrokerHeader(key) {
			kept[key] = v
		}
	}

	return kept
}
