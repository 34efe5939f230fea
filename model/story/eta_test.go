package story

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/build"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/model/peek"
)

// A task's eta is when its worker runs it. On its way through the levels of a delay it also dates when it comes out of
// each; in other queues it says nothing of that.
func TestEtaDatesTheLevelsOfADelay(t *testing.T) {
	parts := append(build.DelayLevels("celery_delayed_%d", "celery_delayed_delivery", 28),
		build.Exchange("topic", "orders"), build.Queue("orders", build.Consumers(1)),
		build.BindExchange("celery_delayed_delivery", "#.orders", "orders"), build.Bind("orders", "#.orders", "orders"),
		build.Queue("orders.wait", build.DLX(""), build.DeadKey("orders"), build.TTL(60_000)))
	topology := build.TopologyOf("4.3.6", parts...)
	key := func(low string) string { return strings.Repeat("0.", 28-(len(low)+1)/2) + low + ".orders" }
	later := func(d time.Duration) string { return build.Noon.Add(d).Format(time.RFC3339Nano) }
	for _, c := range []struct {
		name string
		in   string
		key  string
		eta  any
		want []string
	}{
		{
			"at its first level", "celery_delayed_2", key("1.0.1"), later(5 * time.Second),
			[]string{"next in 4s", "runs in 5s at the earliest"},
		},
		{
			"at its last level", "celery_delayed_0", key("1.0.1"), later(900 * time.Millisecond),
			[]string{"next in 1s", "runs in 1s at the earliest"},
		},
		{
			"held up on the way", "celery_delayed_2", key("1.0.1"), later(3 * time.Second),
			[]string{"next in 2s", "runs in 3s at the earliest"},
		},
		{
			"a clock that cannot be right", "celery_delayed_2", key("1.0.1"), later(time.Hour),
			[]string{"next in ≤ 4s", "runs in 1h at the earliest"},
		},
		{
			"a key that is elsewhere", "celery_delayed_2", key("1.0.0.1"), later(5 * time.Second),
			[]string{"next in ≤ 4s", "runs in 5s at the earliest"},
		},
		{
			"a key without levels", "celery_delayed_2", "x.orders", later(5 * time.Second),
			[]string{"next expires in ≤ 4s, and stays until a queue takes it", "runs in 5s at the earliest"},
		},
		{"no eta", "celery_delayed_2", key("1.0.1"), nil, []string{"next in ≤ 4s"}},
		{"an eta of no zone", "celery_delayed_2", key("1.0.1"), "2024-05-01T12:00:05", []string{"next in ≤ 4s"}},
		{"an eta that is over", "celery_delayed_2", key("1.0.1"), later(-time.Minute), []string{"next in ≤ 4s"}},
		{
			"in the worker's queue", "orders", key("1.0.1"), later(time.Minute),
			[]string{"next a consumer takes it", "runs in 1m at the earliest"},
		},
		{
			"in another buffer", "orders.wait", "orders", later(time.Hour),
			[]string{"next in ≤ 1m", "runs in 1h at the earliest"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := message.Message{
				Position: 1, RoutingKey: c.key,
				Headers: model.Table{"task": "shop.charge", "id": "1", "root_id": "1", "retries": int32(0), "eta": c.eta},
			}
			var wait *Wait
			peeked := peek.Peeked{Messages: message.MessageList{m}, TakenAt: build.Noon}
			if w := waitsIn(topology, build.Ref(c.in), peeked, Sight{}); w != nil {
				wait = &w.Messages[0]
			}
			var got []string
			for _, e := range Ahead(topology, &m, build.Ref(c.in), wait, build.Noon) {
				got = append(got, string(e.Kind)+" "+e.What+e.Detail)
			}
			assert.NoDiff(t, cmp.Diff(c.want, got))
		})
	}
}
