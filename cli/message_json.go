package cli

import (
	"encoding/base64"

	"dlxtop/model"
)

// The JSON of one message, as peek writes it.
type (
	messageJSON struct {
		Position     int            `json:"position"`
		MessageID    string         `json:"message_id,omitempty"`
		Exchange     string         `json:"exchange"`
		RoutingKey   string         `json:"routing_key"`
		Redelivered  bool           `json:"redelivered"`
		Properties   propertiesJSON `json:"properties"`
		Headers      map[string]any `json:"headers"`
		Body         string         `json:"body"`
		BodyEncoding string         `json:"body_encoding"`
		BodyBytes    int            `json:"body_bytes"`
		Deaths       []deathJSON    `json:"deaths"`
		Failure      *failureJSON   `json:"failure,omitempty"`
	}
	propertiesJSON struct {
		ContentType     string `json:"content_type,omitempty"`
		ContentEncoding string `json:"content_encoding,omitempty"`
		DeliveryMode    uint8  `json:"delivery_mode,omitempty"`
		Priority        uint8  `json:"priority,omitempty"`
		CorrelationID   string `json:"correlation_id,omitempty"`
		ReplyTo         string `json:"reply_to,omitempty"`
		Expiration      string `json:"expiration,omitempty"`
		MessageID       string `json:"message_id,omitempty"`
		Timestamp       string `json:"timestamp,omitempty"`
		Type            string `json:"type,omitempty"`
		UserID          string `json:"user_id,omitempty"`
		AppID           string `json:"app_id,omitempty"`
	}
	deathJSON struct {
		Queue              string       `json:"queue"`
		Reason             model.Reason `json:"reason"`
		Count              int64        `json:"count,omitempty"`
		Exchange           string       `json:"exchange"`
		RoutingKeys        []string     `json:"routing_keys"`
		Time               string       `json:"time,omitempty"`
		OriginalExpiration string       `json:"original_expiration,omitempty"`
	}
	failureJSON struct {
		Kind    string `json:"kind,omitempty"`
		Message string `json:"message,omitempty"`
	}
)

func messageOf(m *model.Message) messageJSON {
	p := m.Properties
	out := messageJSON{
		Position: m.Position, MessageID: p.MessageID, Exchange: m.Exchange, RoutingKey: m.RoutingKey, Redelivered: m.Redelivered,
		Properties: propertiesJSON{
			p.ContentType, p.ContentEncoding, p.DeliveryMode, p.Priority, p.CorrelationID, p.ReplyTo, p.Expiration,
			p.MessageID, milliseconds(p.Timestamp), p.Type, p.UserID, p.AppID,
		},
		Headers: headersJSON(m.Headers), BodyBytes: m.BodyBytes, Deaths: []deathJSON{},
	}
	out.Body, out.BodyEncoding = string(m.Body), model.BodyEncoding(m.Body)
	if out.BodyEncoding == "base64" {
		out.Body = base64.StdEncoding.EncodeToString(m.Body)
	}
	for _, d := range m.Deaths {
		keys := d.RoutingKeys
		if keys == nil {
			keys = []string{}
		}
		out.Deaths = append(out.Deaths, deathJSON{d.Queue, d.Reason, d.Count, d.Exchange, keys, milliseconds(d.Time), d.OriginalExpiration})
	}
	if f, ok := m.Failure(); ok {
		out.Failure = &failureJSON{f.Kind, f.Message}
	}
	return out
}
