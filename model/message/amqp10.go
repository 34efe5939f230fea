package message

import (
	"strings"
	"time"

	"github.com/dlxtop/dlxtop/model"
)

// DeliveryTimeHeader holds the time before which RabbitMQ must not deliver a message: model.Behaviour.DelaysByHeader.
const DeliveryTimeHeader = "x-opt-delivery-time"

// FromAMQP10 reports whether a message shows that RabbitMQ 4 converted it for AMQP 0-9-1: a body that is not data, an
// id that is not text, or an annotation. A converted message with a plain body may show nothing.
func (m *Message) FromAMQP10() bool {
	if m.Properties.Type == "amqp-1.0" {
		return true
	}
	for key := range m.Headers {
		if key == "x-message-id" || key == "x-correlation-id" || strings.HasPrefix(key, "x-opt-") {
			return true
		}
	}

	return false
}

// DeliveryTime returns the time that DeliveryTimeHeader gives, in milliseconds since 1970.
func DeliveryTime(headers model.Table) (time.Time, bool) {
	ms, ok := headers.Integer(DeliveryTimeHeader)
	if !ok || ms <= model.FirstTime.UnixMilli() {
		return time.Time{}, false
	}
	return time.UnixMilli(min(ms, model.LastTime.UnixMilli())), true
}
