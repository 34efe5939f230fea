package plan

import (
	"bytes"
	"testing"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/message"
)

// BenchmarkEntry is what a replay hashes of each message: the message as it was taken, and the copy that is published.
func BenchmarkEntry(b *testing.B) {
	for _, size := range []int{1 << 10, 16 << 10} {
		b.Run(message.Size(int64(size)), func(b *testing.B) {
			m := message.Message{
				RoutingKey: "failed", Properties: message.Properties{MessageID: "m1", DeliveryMode: 2},
				Headers: model.Table{"tenant": "a", "x-death": []any{model.Table{"queue": "worker", "count": int64(1)}}},
				Body:    bytes.Repeat([]byte{'b'}, size), BodyBytes: size,
			}
			p := message.Publishing{
				Address: model.Address{RoutingKey: "worker"}, Properties: m.Properties,
				Headers: model.Table{"tenant": "a"}, Body: m.Body, Reaches: []model.QueueRef{{Name: "worker"}},
			}
			b.ReportAllocs()
			for b.Loop() {
				m.Identify()
				NewEntry(&m, &p, false)
			}
		})
	}
}
