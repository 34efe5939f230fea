package broker

import (
	"bytes"

	amqp "github.com/rabbitmq/amqp091-go"

	"dlxtop/model"
)

// messageOf is a delivery as the model knows it, without a position. It shares the delivery's body.
func messageOf(d *amqp.Delivery) model.Message {
	m := withoutFingerprint(d)
	m.Fingerprint = model.FingerprintOf(&m)
	return m
}

// withoutFingerprint is messageOf for who does not need the fingerprint, which takes its time with large bodies.
func withoutFingerprint(d *amqp.Delivery) model.Message {
	m := model.Message{
		Exchange:    d.Exchange,
		RoutingKey:  d.RoutingKey,
		Redelivered: d.Redelivered,
		Properties: model.Properties{
			ContentType: d.ContentType, ContentEncoding: d.ContentEncoding, DeliveryMode: d.DeliveryMode, Priority: d.Priority,
			CorrelationID: d.CorrelationId, ReplyTo: d.ReplyTo, Expiration: d.Expiration, MessageID: d.MessageId,
			Timestamp: d.Timestamp, Type: d.Type, UserID: d.UserId, AppID: d.AppId,
		},
		Headers:   tableOf(d.Headers),
		Body:      d.Body,
		BodyBytes: len(d.Body),
	}
	m.Deaths, m.DeathsError = model.ParseDeaths(m.Headers)
	return m
}

// cut keeps the first bytes of a body, and lets go of the rest. 0 keeps all.
func cut(m *model.Message, keep int) {
	if keep > 0 && len(m.Body) > keep {
		m.Body = bytes.Clone(m.Body[:keep])
	}
}

// tableOf is a table as the model knows it; nil when there is nothing in it.
func tableOf(t amqp.Table) model.Table {
	if len(t) == 0 {
		return nil
	}
	out := make(model.Table, len(t))
	for key, v := range t {
		out[key] = valueOf(v)
	}
	return out
}

func valueOf(v any) any {
	switch v := v.(type) {
	case amqp.Table:
		if t := tableOf(v); t != nil {
			return t
		}
		return model.Table{}
	case amqp.Decimal:
		return model.Decimal(v)
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = valueOf(v[i])
		}
		return out
	}
	return v
}

// publishingOf is what amqp091-go publishes. Header values of types that AMQP does not have stay as they are: it refuses them.
func publishingOf(p *model.Publishing) amqp.Publishing {
	q := &p.Properties
	return amqp.Publishing{
		Headers:     wireTable(p.Headers),
		ContentType: q.ContentType, ContentEncoding: q.ContentEncoding, DeliveryMode: q.DeliveryMode, Priority: q.Priority,
		CorrelationId: q.CorrelationID, ReplyTo: q.ReplyTo, Expiration: q.Expiration, MessageId: q.MessageID,
		Timestamp: q.Timestamp, Type: q.Type, UserId: q.UserID, AppId: q.AppID,
		Body: p.Body,
	}
}

func wireTable(t model.Table) amqp.Table {
	if t == nil {
		return nil
	}
	out := make(amqp.Table, len(t))
	for key, v := range t {
		out[key] = wireValue(v)
	}
	return out
}

func wireValue(v any) any {
	switch v := v.(type) {
	case model.Table:
		return wireTable(v)
	case model.Decimal:
		return amqp.Decimal(v)
	case int:
		return int64(v) // amqp091-go would cut it to 32 bits
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = wireValue(v[i])
		}
		return out
	}
	return v
}

// returnedAs is a returned publishing as a message, to be compared with what was published.
func returnedAs(r *amqp.Return) model.Message {
	return model.Message{
		Exchange:   r.Exchange,
		RoutingKey: r.RoutingKey,
		Properties: model.Properties{
			ContentType: r.ContentType, ContentEncoding: r.ContentEncoding, DeliveryMode: r.DeliveryMode, Priority: r.Priority,
			CorrelationID: r.CorrelationId, ReplyTo: r.ReplyTo, Expiration: r.Expiration, MessageID: r.MessageId,
			Timestamp: r.Timestamp, Type: r.Type, UserID: r.UserId, AppID: r.AppId,
		},
		Headers: tableOf(r.Headers),
		Body:    r.Body,
	}
}
