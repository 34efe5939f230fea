package mgmt

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/dlxtop/dlxtop/internal/depth"
	"github.com/dlxtop/dlxtop/internal/dial"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/findings"
)

// stage is a vhost of its own in which a test makes the broker misbehave.
type stage struct {
	t       *testing.T
	b       broker
	vhost   string
	channel *amqp.Channel
	poll    *Client
}

func newStage(t *testing.T) *stage {
	t.Helper()
	t.Parallel() // they wait for the broker's statistics most of the time
	b := realBroker(t)
	name := strings.NewReplacer("/", "-", " ", "-", ",", "").Replace(t.Name())
	s := &stage{t: t, b: b, vhost: b.vhost(name)}
	connection := must.Get(dial.AMQP(b.AMQP() + name))(s.t)
	t.Cleanup(func() { connection.Close() })
	s.channel = must.Get(connection.Channel())(s.t)
	must.Do(s.t, s.channel.Confirm(false))
	s.poll = client(t, Options{URL: b.API(), VHost: name})
	return s
}

func (s *stage) queue(name string, arguments amqp.Table) {
	s.t.Helper()
	must.Get(s.channel.QueueDeclare(name, true, false, false, false, arguments))(s.t)
}

func (s *stage) exchange(kind, name string, arguments amqp.Table) {
	s.t.Helper()
	must.Do(s.t, s.channel.ExchangeDeclare(name, kind, true, false, false, false, arguments))
}

func (s *stage) bind(queue, key, exchange string) {
	s.t.Helper()
	must.Do(s.t, s.channel.QueueBind(queue, key, exchange, false, nil))
}

func (s *stage) policy(name, pattern, definition string) {
	s.t.Helper()
	s.b.put("policies/"+s.vhost+"/"+name, fmt.Sprintf(`{"pattern":%q,"apply-to":"queues","definition":%s}`,
		pattern, definition))
}

// publish puts a message into a queue and reports whether the broker took it.
func (s *stage) publish(queue string, headers amqp.Table) bool {
	s.t.Helper()
	return s.confirmed("", queue, amqp.Publishing{Headers: headers, Body: []byte("m")})
}

func (s *stage) confirmed(exchange, key string, p amqp.Publishing) bool {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	c := must.Get(s.channel.PublishWithDeferredConfirmWithContext(ctx, exchange, key, false, false, p))(s.t)
	taken := must.Get(c.WaitContext(ctx))(s.t)
	return taken
}

func (s *stage) depth(queue string) int {
	s.t.Helper()
	return depth.Of(s.t, s.channel, queue)
}

func (s *stage) awaitDepth(queue string, want int) {
	s.t.Helper()
	await(s.t, fmt.Sprintf("%d messages in %s", want, queue), func() bool { return s.depth(queue) == want })
}

// take takes one message out of a queue, waiting for it.
func (s *stage) take(queue string) amqp.Delivery {
	s.t.Helper()
	var got amqp.Delivery
	await(s.t, "a message in "+queue, func() bool {
		d, ok, err := s.channel.Get(queue, false)
		must.Do(s.t, err)
		got = d
		return ok
	})
	return got
}

// finds awaits a finding about a queue, and returns it.
func (s *stage) finds(code, queue string) findings.Finding {
	s.t.Helper()
	var found findings.Finding
	pollUntil(s.t, s.poll, "the finding "+code+" about "+queue, func(snapshot *model.Snapshot) bool {
		for _, f := range findings.Of(model.NewTopology(snapshot)) {
			if f.Code == code && f.Queue == queue {
				found = f
				return true
			}
		}
		return false
	})
	return found
}

// silent checks that there is no finding of a code, of these queues or of any, once everything is known about every
// queue. What was mended a moment ago may still be in the statistics: it has to go.
func (s *stage) silent(code string, queues ...string) {
	s.t.Helper()
	pollUntil(s.t, s.poll, "all queues are known, and no finding "+code, func(snapshot *model.Snapshot) bool {
		for i := range snapshot.Queues {
			if q := &snapshot.Queues[i]; q.PolicyDefinition == nil || !q.Consumers.Known() || !q.Ready.Known() {
				return false
			}
		}
		return !slices.ContainsFunc(findings.Of(model.NewTopology(snapshot)),
			func(f findings.Finding) bool {
				return f.Code == code && (len(queues) == 0 || slices.Contains(queues, f.Queue))
			})
	})
}
