package mgmt

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/findings"
	"github.com/dlxtop/dlxtop/model/message"
)

// copyKeys declares two workers whose failures wait in one buffer that CC leads into, and its dead letters by their
// first key out of it, as Rascal's documentation has it. hold makes the buffer keep what it gets.
func copyKeys(s *stage, hold time.Duration) {
	for _, name := range []string{"delay", "retry"} {
		s.exchange("topic", name, nil)
	}
	s.queue("save", nil)
	s.queue("delete", nil)
	s.queue("delay:5s", amqp.Table{"x-message-ttl": hold.Milliseconds(), "x-dead-letter-exchange": "retry"})
	s.bind("delay:5s", "delay.5s", "delay")
	s.bind("save", "save.#", "retry")
	s.bind("delete", "delete.#", "retry")
}

// retries publishes a failed message as Rascal does.
func (s *stage) retries(key string) {
	s.t.Helper()
	s.confirmed("delay", key, amqp.Publishing{Headers: amqp.Table{"CC": []any{"delay.5s"}}, Body: []byte("m")})
}

// A buffer that messages leave by a key of their own, which no binding shows, is a part of the flows behind it. What
// the broker counts at a worker shows that they arrive.
func TestMessagesThatCCLeadsIntoABuffer(t *testing.T) {
	s := newStage(t)
	copyKeys(s, 50*time.Millisecond)
	f := s.finds("dead-letter-unroutable", "delay:5s")
	assert.That(t, f.Level == findings.LevelWarning && strings.Contains(f.Evidence, "other keys reach delete, save"),
		"nothing has arrived yet: %+v", f)
	for range 3 {
		s.retries("save.created")
		got := s.take("save")
		must.Do(s.t, got.Ack(false))
	}
	s.silent("dead-letter-unroutable")
	topology := model.NewTopology(poll(t, s.poll))
	for _, worker := range []string{"save", "delete"} {
		i := slices.IndexFunc(topology.Flows(), func(f model.Flow) bool { return f.Name == worker })
		if i < 0 || topology.Flows()[i].Role(model.QueueRef{VHost: s.vhost, Name: "delay:5s"}) != model.DelayedBuffer {
			t.Errorf("the buffer is not in the flow of %s: %+v", worker, topology.Flows())
		}
	}
}

// Messages that were looked at, in the buffer or behind it, show where they go, and which will be lost.
func TestMessagesShowTheirWays(t *testing.T) {
	s := newStage(t)
	copyKeys(s, time.Hour)
	s.queue("soon", amqp.Table{"x-message-ttl": int64(50), "x-dead-letter-exchange": "retry"})
	s.bind("soon", "delay.now", "delay")
	s.retries("save.created")
	s.confirmed("delay", "delay.5s", amqp.Publishing{Body: []byte("stray")})
	s.confirmed("delay", "delete.x", amqp.Publishing{Headers: amqp.Table{"CC": []any{"delay.now"}}, Body: []byte("m")})
	topology := model.NewTopology(pollUntil(t, s.poll, "the buffers are known", func(snapshot *model.Snapshot) bool {
		return find(t, snapshot, "delay:5s").Consumers.Known() && find(t, snapshot, "soon").Consumers.Known()
	}))
	look := func(queue string, n int) *findings.Reading {
		reading := findings.ReadingOf(topology, model.QueueRef{VHost: s.vhost, Name: queue}, time.Now(), nil)
		for range n {
			d := s.take(queue)
			m := received(d)
			m.Exchange, m.RoutingKey = d.Exchange, d.RoutingKey
			m.Deaths, m.DeathsError = message.ParseDeaths(modelTable(d.Headers))
			reading.See(&m)
		}
		return reading
	}
	waiting, behind := look("delay:5s", 2), look("delete", 1)
	assert.Equal(t, fmt.Sprint(waiting.Seen().To), fmt.Sprintf("map[%s/delay:5s:[%s/save]]", s.vhost, s.vhost))
	assert.Equal(t, fmt.Sprint(behind.Seen().To), fmt.Sprintf("map[%s/soon:[%s/delete]]", s.vhost, s.vhost))
	lost := slices.DeleteFunc(waiting.Found(),
		func(f findings.Finding) bool { return f.Code != "dead-letter-unroutable" })
	assert.That(t, len(lost) == 1 && lost[0].Level == findings.LevelError &&
		strings.Contains(lost[0].Message, "1 message will be lost"), "one message keeps a key that leads nowhere: %+v", lost)
}

// modelTable is a table of headers with nested tables as the model has them.
func modelTable(t amqp.Table) model.Table {
	out := model.Table{}
	for key, v := range t {
		if list, ok := v.([]any); ok {
			list = slices.Clone(list)
			for i := range list {
				if inner, ok := list[i].(amqp.Table); ok {
					list[i] = modelTable(inner)
				}
			}
			v = list
		}
		out[key] = v
	}
	return out
}
