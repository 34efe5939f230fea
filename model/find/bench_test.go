package find_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/filter"
	"github.com/dlxtop/dlxtop/model/find"
	"github.com/dlxtop/dlxtop/model/message"
)

// BenchmarkMatch is the work on one dead-lettered message of 1 KiB that does not have the text.
func BenchmarkMatch(b *testing.B) {
	death := func(queue, reason string) model.Table {
		return model.Table{
			"queue": queue, "reason": reason, "count": int64(3), "exchange": "retry", "routing-keys": []any{"orders"},
			"time": time.Unix(1_800_000_000, 0),
		}
	}
	body := `{"id":121,"email":"user121@example.com","text":"message 121 of many"}`
	m := message.Message{
		RoutingKey: "orders.failed", Exchange: "failed", Headers: model.Table{
			"x-first-death-queue": "orders", "x-first-death-reason": "rejected", "x-first-death-exchange": "shop",
			"x-exception-message": "TimeoutError: user 121 did not answer",
			"x-death":             []any{death("orders.retry", "expired"), death("orders", "rejected")},
		},
		Properties: message.Properties{MessageID: fmt.Sprintf("0f3c9a00-%08d", 121), ContentType: "application/json"},
		Body:       []byte(body + strings.Repeat(" ", 1024-len(body))),
	}
	condition := must.Get(filter.Parse("order-4711"))(b)
	for b.Loop() {
		_, ok := find.Match(condition, model.QueueRef{}, &m)
		must.That(b, !ok, "found")
	}
}
