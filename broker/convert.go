package broker

import (
	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/message"
)

// message is a delivery as the model knows it, without a position, and without a fingerprint, which takes its time with
// large bodies. It claims the delivery's content.
func (w *wire) message(d *amqp.Delivery) message.Message {
	m := message.Message{Exchange: d.Exchange, RoutingKey: d.RoutingKey, Redelivered: d.Redelivered}
	m.Properties, m.Headers, m.Body = w.in.claim(d.Body)
	m.BodyBytes = len(m.Body)
	m.Deaths, m.DeathsError = message.ParseDeaths(m.Headers)
	return m
}

// wireTable are the arguments of a binding as amqp091-go takes them: the same table, unless there are values in it that
// only the model knows.
func wireTable(t model.Table) amqp.Table {
	plain := true
	for _, v := range t {
		switch v.(type) {
		case model.Table, model.Decimal, int, []any:
			plain = false
		}
	}
	if plain {
		return amqp.Table(t)
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

// returned is a returned publishing as a message, to be compared with what was published. It claims its content.
func (w *wire) returned(r *amqp.Return) message.Message {
	m := message.Message{Exchange: r.Exchange, RoutingKey: r.RoutingKey}
	m.Properties, m.Headers, m.Body = w.in.claim(r.Body)
	return m
}
