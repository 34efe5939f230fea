package message

import (
	"testing"
	"time"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/build"
)

func TestOrigin(t *testing.T) {
	at := func(s int) time.Time { return build.Noon.Add(time.Duration(s) * time.Second) }
	for _, c := range []struct {
		name   string
		m      Message
		want   model.Address
		reason string // part of it
	}{
		{
			"never dead-lettered",
			Message{Exchange: "master", RoutingKey: "user.create"},
			model.Address{Exchange: "master", RoutingKey: "user.create"},
			"published last",
		},
		{
			"one death",
			Message{
				Exchange: "dlx", RoutingKey: "dlx.key",
				Deaths: []Death{{Queue: "buffer", Exchange: "out", RoutingKeys: []string{"out.key", "cc"}, Time: at(0)}},
			},
			model.Address{Exchange: "out", RoutingKey: "out.key"},
			"first death, in buffer",
		},
		{
			"the earliest first death, not the last entry",
			Message{Deaths: []Death{
				{Queue: "work", Exchange: "master", RoutingKeys: []string{"a"}, Time: at(0)},
				{Queue: "retry", Exchange: "retry", RoutingKeys: []string{"b"}, Time: at(30)},
			}},
			model.Address{Exchange: "master", RoutingKey: "a"},
			"in work",
		},
		{
			"the last entry of equals",
			Message{Deaths: []Death{
				{Queue: "retry", Exchange: "retry", RoutingKeys: []string{"b"}, Time: at(0)},
				{Queue: "work", Exchange: "master", RoutingKeys: []string{"a"}, Time: at(0)},
			}},
			model.Address{Exchange: "master", RoutingKey: "a"},
			"in work",
		},
		{
			"x-first-death of equals",
			Message{
				Headers: model.Table{
					"x-first-death-queue": "work", "x-first-death-reason": "rejected",
					"x-first-death-exchange": "master",
				},
				Deaths: []Death{
					{Queue: "work", Reason: model.Rejected, Exchange: "master", RoutingKeys: []string{"a"}, Time: at(0)},
					{Queue: "retry", Reason: model.Expired, Exchange: "retry", RoutingKeys: []string{"b"}, Time: at(0)},
				},
			},
			model.Address{Exchange: "master", RoutingKey: "a"},
			"in work",
		},
		{
			"no times",
			Message{Deaths: []Death{
				{Queue: "retry", Exchange: "retry", RoutingKeys: []string{"b"}},
				{Queue: "work", Exchange: "", RoutingKeys: []string{"work"}},
			}},
			model.Address{Exchange: "", RoutingKey: "work"},
			"in work",
		},
		{
			"a death without keys",
			Message{RoutingKey: "k", Deaths: []Death{{Queue: "work", Exchange: "master", Time: at(0)}}},
			model.Address{Exchange: "master", RoutingKey: "k"},
			"does not have the key",
		},
		{
			"republished by a worker: x-death begins there",
			Message{
				Exchange: "master.failed", RoutingKey: "ucenter@user@failed",
				Headers: model.Table{"x-orig-routing-key": "user.create"},
				Deaths: []Death{{
					Queue: "ucenter@user@retry", Exchange: "master.retry",
					RoutingKeys: []string{"ucenter@user"}, Time: at(30),
				}},
			},
			model.Address{Exchange: "master.retry", RoutingKey: "ucenter@user"},
			"x-orig-routing-key has the key user.create",
		},
		{
			"a key without an exchange is no address",
			Message{Exchange: "master.failed", RoutingKey: "failed", Headers: model.Table{"x-orig-routing-key": "user.create"}},
			model.Address{Exchange: "master.failed", RoutingKey: "failed"},
			"its first exchange is unknown",
		},
		{
			"Spring",
			Message{Exchange: "DLX", RoutingKey: "orders", Headers: model.Table{
				"x-original-exchange":   "orders",
				"x-original-routingKey": "new",
			}},
			model.Address{Exchange: "orders", RoutingKey: "new"},
			"Spring AMQP wrote it",
		},
		{
			"Rascal",
			Message{Headers: model.Table{"rascal": model.Table{"originalExchange": "e", "originalRoutingKey": "k"}}},
			model.Address{Exchange: "e", RoutingKey: "k"},
			"Rascal wrote it",
		},
		{
			"EasyNetQ",
			Message{Body: []byte(`{"RoutingKey":"k","Exchange":"e","Queue":"q","Exception":"x","Message":"{}"}`)},
			model.Address{Exchange: "e", RoutingKey: "k"},
			"EasyNetQ wrote it",
		},
		{
			"a body that only looks like it",
			Message{Exchange: "x", Body: []byte(`{"RoutingKey":"k","Exchange":"e"}`)},
			model.Address{Exchange: "x", RoutingKey: ""},
			"published last",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			assert.Equal(t, c.m.Origin(), c.want, "origin")
			assert.Contains(t, c.m.OriginReason(), c.reason, "reason")
		})
	}
}
