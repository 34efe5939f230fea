package message

import "github.com/dlxtop/dlxtop/model"

// Counted returns how often a delivered message was returned before. A quorum queue writes that into x-delivery-count,
// newer ones also into x-acquired-count. On a message that was never delivered the publisher wrote the header (4.0.5);
// if both wrote it, both are there (3.10.8), the broker's last.
func (m *Message) Counted() int64 { return m.highest(DeliveryCounters...) }

// Delivered returns the part of Counted that counts towards a delivery limit from 4.3 on: failed deliveries, including
// those in an earlier quorum queue that dead-lettered the message.
func (m *Message) Delivered() int64 { return m.highest("x-delivery-count") }

func (m *Message) highest(keys ...string) (n int64) {
	if !m.Redelivered {
		return 0
	}
	for _, key := range keys {
		value := m.Headers[key]
		if values, several := value.(model.Repeated); several {
			value = values[len(values)-1]
		}
		count, _ := model.AsInteger(value)
		n = max(n, count)
	}

	return n
}
