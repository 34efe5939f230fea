package message

import "github.com/dlxtop/dlxtop/model"

// Counted is how often a delivered message has come back before. A quorum queue tells that in x-delivery-count, and
// newer ones in x-acquired-count. On a message that was never delivered such a header is what its publisher wrote
// (4.0.5); written twice, both are there (3.10.8), and the higher one counts.
func (m *Message) Counted() int64 { return m.highest(DeliveryCounters...) }

// Delivered is the part of it that counts towards a delivery limit from 4.3 on: failed deliveries, also those in an
// earlier quorum queue that dead-lettered it.
func (m *Message) Delivered() int64 { return m.highest("x-delivery-count") }

func (m *Message) highest(keys ...string) (n int64) {
	if !m.Redelivered {
		return 0
	}
	for _, key := range keys {
		values, several := m.Headers[key].(model.Repeated)
		if !several {
			values = model.Repeated{m.Headers[key]}
		}
		for _, v := range values {
			count, _ := model.AsInteger(v)
			n = max(n, count)
		}
	}
	return n
}
