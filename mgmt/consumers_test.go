package mgmt

import (
	"testing"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/model"
)

// TestOwnConsumersDoNotCount: while dlxtop looks at a failed queue or a buffer, each keeps its role.
func TestOwnConsumersDoNotCount(t *testing.T) {
	s := newStage(t)
	s.queue("stock", nil)
	s.queue("stock.failed", nil)
	s.queue("mail", nil)
	s.queue("mail.later", amqp.Table{
		"x-message-ttl": int64(3_600_000), "x-dead-letter-exchange": "", "x-dead-letter-routing-key": "mail",
	})
	// Messages with a TTL of their own wait in it: neither its name nor a setting says so.
	s.queue("letters", amqp.Table{"x-dead-letter-exchange": "", "x-dead-letter-routing-key": "mail"})
	s.publish("letters", nil)
	s.publish("letters", nil)
	must.Do(s.t, s.channel.Qos(1, 0, false))
	consume := func(queue, tag string) {
		must.Get(s.channel.Consume(queue, tag, false, false, false, false, nil))(s.t)
	}
	told := func(queue string) (n int64) {
		var element queueElement
		must.Do(s.t, s.poll.getObject(t.Context(), "queues/"+s.vhost+"/"+queue, nil, &element))
		return element.Consumers.value
	}
	roles := func(queue string) (role model.Role, consumers model.Opt[int64]) {
		s.t.Helper()
		ref := model.QueueRef{VHost: s.vhost, Name: queue}
		topology := model.NewTopology(poll(t, s.poll))
		q, ok := topology.Queue(ref)
		must.That(t, ok, "there is no %s", queue)
		for _, f := range topology.FlowsOf(ref) {
			role = f.Role(ref)
		}
		return role, q.Consumers
	}
	want := map[string]model.Role{
		"stock.failed": model.FailedRole, "mail.later": model.DelayedBuffer, "letters": model.DelayedBuffer,
	}
	consumed := func(by string, times int64) {
		for queue := range want {
			consume(queue, by+queue)
		}
		consume("mail", "worker "+by)
		for queue := range want {
			await(t, "the statistics know who consumes "+queue, func() bool { return told(queue) == times })
		}
	}
	consumed(model.ConsumerTag, 1)
	for queue, role := range want {
		if r, n := roles(queue); r != role || n != model.Some[int64](0) {
			t.Errorf("while dlxtop reads it, %s is %q with %v consumers", queue, r, n)
		}
	}
	consumed("archiver ", 2)
	for _, queue := range []string{"stock.failed", "mail.later"} {
		if _, n := roles(queue); n != model.Some[int64](1) {
			t.Errorf("beside another one, %s has %v consumers", queue, n)
		}
	}
}
