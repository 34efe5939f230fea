package mgmt

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"dlxtop/model"
)

// Each finding says that a broker misbehaves in some way: here one really does, and the finding is there; and where it behaves,
// the finding stays silent.

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
	connection, err := amqp.Dial(b.AMQP() + name)
	s.must(err)
	t.Cleanup(func() { connection.Close() })
	s.channel, err = connection.Channel()
	s.must(err)
	s.must(s.channel.Confirm(false))
	s.poll = client(t, Options{URL: b.API(), VHost: name})
	return s
}

func (s *stage) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

func (s *stage) queue(name string, arguments amqp.Table) {
	s.t.Helper()
	_, err := s.channel.QueueDeclare(name, true, false, false, false, arguments)
	s.must(err)
}

func (s *stage) exchange(kind, name string, arguments amqp.Table) {
	s.t.Helper()
	s.must(s.channel.ExchangeDeclare(name, kind, true, false, false, false, arguments))
}

func (s *stage) bind(queue, key, exchange string) {
	s.t.Helper()
	s.must(s.channel.QueueBind(queue, key, exchange, false, nil))
}

func (s *stage) policy(name, pattern, definition string) {
	s.t.Helper()
	s.b.put("policies/"+s.vhost+"/"+name, fmt.Sprintf(`{"pattern":%q,"apply-to":"queues","definition":%s}`, pattern, definition))
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
	c, err := s.channel.PublishWithDeferredConfirmWithContext(ctx, exchange, key, false, false, p)
	s.must(err)
	taken, err := c.WaitContext(ctx)
	s.must(err)
	return taken
}

func (s *stage) depth(queue string) int {
	s.t.Helper()
	q, err := s.channel.QueueDeclarePassive(queue, true, false, false, false, nil)
	s.must(err)
	return q.Messages
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
		s.must(err)
		got = d
		return ok
	})
	return got
}

// finds awaits a finding about a queue, and returns it.
func (s *stage) finds(code, queue string) model.Finding {
	s.t.Helper()
	var found model.Finding
	pollUntil(s.t, s.poll, "the finding "+code+" about "+queue, func(snapshot *model.Snapshot) bool {
		for _, f := range model.NewTopology(snapshot).Findings() {
			if f.Code == code && f.Queue == queue {
				found = f
				return true
			}
		}
		return false
	})
	return found
}

// silent checks that there is no finding of a code, once everything is known about every queue. What was mended a moment ago may
// still be in the statistics: it has to go.
func (s *stage) silent(code string) {
	s.t.Helper()
	pollUntil(s.t, s.poll, "all queues are known, and no finding "+code, func(snapshot *model.Snapshot) bool {
		for i := range snapshot.Queues {
			if q := &snapshot.Queues[i]; q.PolicyDefinition == nil || !q.Consumers.Known() || !q.Ready.Known() {
				return false
			}
		}
		return !slices.ContainsFunc(model.NewTopology(snapshot).Findings(), func(f model.Finding) bool { return f.Code == code })
	})
}

func TestFindingMissingDLX(t *testing.T) {
	s := newStage(t)
	s.queue("a", amqp.Table{"x-message-ttl": int64(50), "x-dead-letter-exchange": "nope"})
	s.queue("dead", nil)
	s.publish("a", nil)
	s.awaitDepth("a", 0)
	s.finds("dlx-missing", "a")
	s.exchange("fanout", "nope", nil)
	s.bind("dead", "", "nope")
	s.publish("a", nil)
	s.awaitDepth("dead", 1) // only the second: the first is lost
	s.silent("dlx-missing")
}

func TestFindingUnroutableDeadLetters(t *testing.T) {
	s := newStage(t)
	s.exchange("direct", "x", amqp.Table{"alternate-exchange": "spare"})
	s.exchange("topic", "y", nil)
	s.must(s.channel.ExchangeBind("y", "k", "x", false, nil))
	s.queue("a", amqp.Table{"x-message-ttl": int64(50), "x-dead-letter-exchange": "x", "x-dead-letter-routing-key": "k"})
	s.queue("b", amqp.Table{"x-message-ttl": int64(50), "x-dead-letter-exchange": "x", "x-dead-letter-routing-key": "other"})
	s.queue("dead", nil)
	for _, q := range []string{"a", "b"} {
		s.publish(q, nil)
		s.awaitDepth(q, 0)
		s.finds("dead-letter-unroutable", q)
	}
	s.bind("dead", "#", "y")           // a's way, through a binding between exchanges
	s.exchange("fanout", "spare", nil) // b's way, through the alternate exchange
	s.bind("dead", "", "spare")
	s.publish("a", nil)
	s.awaitDepth("dead", 1)
	s.publish("b", nil)
	s.awaitDepth("dead", 2)
	s.silent("dead-letter-unroutable")
}

func TestFindingTTLWithoutDLX(t *testing.T) {
	s := newStage(t)
	s.queue("a", amqp.Table{"x-message-ttl": int64(50)})
	s.queue("dead", nil)
	s.publish("a", nil)
	s.awaitDepth("a", 0)
	s.finds("ttl-without-dlx", "a")
	s.policy("p", "^a$", `{"dead-letter-exchange":"","dead-letter-routing-key":"dead"}`)
	await(t, "the policy sends dead letters on", func() bool { s.publish("a", nil); return s.depth("dead") > 0 })
	s.silent("ttl-without-dlx")
}

func TestFindingLimitWithoutDLX(t *testing.T) {
	s := newStage(t)
	s.queue("a", amqp.Table{"x-max-length": int64(1)})
	s.queue("b", amqp.Table{"x-max-length": int64(1), "x-overflow": "reject-publish"})
	for range 2 {
		s.publish("a", nil)
	}
	s.awaitDepth("a", 1)
	s.finds("limit-without-dlx", "a")
	s.publish("b", nil)
	if s.publish("b", nil) {
		t.Error("reject-publish took a message too many")
	}
	s.must(deleteQueue(s.channel, "a"))
	s.silent("limit-without-dlx")
}

func deleteQueue(channel *amqp.Channel, name string) error {
	_, err := channel.QueueDelete(name, false, false, false)
	return err
}

func TestFindingDeliveryLimitWithoutDLX(t *testing.T) {
	s := newStage(t)
	s.queue("a", amqp.Table{"x-queue-type": "quorum", "x-delivery-limit": int64(1)})
	s.publish("a", nil)
	for range 2 {
		s.must(s.take("a").Reject(true))
	}
	s.awaitDepth("a", 0)
	s.finds("delivery-limit-without-dlx", "a")
	s.must(deleteQueue(s.channel, "a"))
	s.queue("b", amqp.Table{"x-queue-type": "quorum", "x-delivery-limit": int64(1), "x-dead-letter-exchange": "", "x-dead-letter-routing-key": "dead"})
	s.queue("dead", nil)
	s.publish("b", nil)
	for range 2 {
		s.must(s.take("b").Reject(true))
	}
	s.awaitDepth("dead", 1)
	s.silent("delivery-limit-without-dlx")
}

func TestFindingWorkerWithoutConsumers(t *testing.T) {
	s := newStage(t)
	s.queue("w", nil)
	s.queue("w.delay", amqp.Table{"x-message-ttl": int64(50), "x-dead-letter-exchange": "", "x-dead-letter-routing-key": "w"})
	s.publish("w.delay", nil)
	s.awaitDepth("w", 1)
	await(t, "the finding says error, for the message that is stuck", func() bool {
		return s.finds("worker-without-consumers", "w").Level == model.LevelError
	})
	_, err := s.channel.Consume("w", "", true, false, false, false, nil)
	s.must(err)
	pollUntil(t, s.poll, "the consumer is told", func(snapshot *model.Snapshot) bool { return find(t, snapshot, "w").Consumers.Or(0) == 1 })
	s.silent("worker-without-consumers")
}

func TestFindingRejectsLost(t *testing.T) {
	s := newStage(t)
	s.queue("w", nil)
	s.queue("w.delay", amqp.Table{"x-message-ttl": int64(50), "x-dead-letter-exchange": "", "x-dead-letter-routing-key": "w"})
	s.publish("w.delay", nil)
	s.must(s.take("w").Reject(false))
	s.awaitDepth("w", 0)
	s.finds("rejects-lost", "w")
	s.queue("w.failed", nil)
	s.policy("p", "^w$", `{"dead-letter-exchange":"","dead-letter-routing-key":"w.failed"}`)
	pollUntil(t, s.poll, "the policy is told", func(snapshot *model.Snapshot) bool { return find(t, snapshot, "w").Policy == "p" })
	s.publish("w.delay", nil)
	s.must(s.take("w").Reject(false))
	s.awaitDepth("w.failed", 1)
	s.silent("rejects-lost")
}

func TestFindingBufferWithConsumers(t *testing.T) {
	s := newStage(t)
	s.queue("w", nil)
	s.queue("w.delay", amqp.Table{"x-message-ttl": int64(600000), "x-dead-letter-exchange": "", "x-dead-letter-routing-key": "w"})
	s.silent("buffer-with-consumers")
	deliveries, err := s.channel.Consume("w.delay", "impatient", true, false, false, false, nil)
	s.must(err)
	s.publish("w.delay", nil)
	<-deliveries // ten minutes early
	s.finds("buffer-with-consumers", "w.delay")
}

// A worker that publishes its failures to a retry buffer, with the headers they came with, and gives up by the count.
func TestFindingUncountedRetries(t *testing.T) {
	s := newStage(t)
	s.queue("w", nil)
	s.queue("w.retry", amqp.Table{"x-message-ttl": int64(20), "x-dead-letter-exchange": "", "x-dead-letter-routing-key": "w"})
	s.publish("w.retry", nil)
	var count int64
	for range 3 {
		d := s.take("w")
		deaths := d.Headers["x-death"].([]any)
		count = deaths[0].(amqp.Table)["count"].(int64)
		s.must(d.Ack(false))
		s.publish("w.retry", d.Headers)
	}
	version := model.ParseVersion(s.b.Version())
	if counted := count == 3; counted != model.BehaviourOf(version).CountsRepublishedDeaths {
		t.Fatalf("RabbitMQ %s: the count after three rounds is %d", version, count)
	}
	if count == 3 {
		s.silent("republished-deaths-uncounted")
	} else {
		s.finds("republished-deaths-uncounted", "w.retry")
	}
}

func TestFindingSkippedPolicy(t *testing.T) {
	s := newStage(t)
	s.policy("mixed", ".*", `{"delivery-limit":5,"message-ttl":50,"dead-letter-exchange":"","dead-letter-routing-key":"dead"}`)
	s.queue("classic", nil)
	s.queue("quorum", amqp.Table{"x-queue-type": "quorum"})
	s.queue("dead", amqp.Table{"x-queue-type": "stream"})
	s.publish("classic", nil)
	s.publish("quorum", nil)
	s.awaitDepth("quorum", 0)
	if s.depth("classic") != 1 {
		t.Error("the policy's TTL holds for the classic queue, though the policy has a key for quorum queues")
	}
	if f := s.finds("policy-skipped", "classic"); f.Level != model.LevelError {
		t.Errorf("without its dead-letter exchange it is a loss, but the level is %s", f.Level)
	}
	s.policy("mixed", ".*", `{"message-ttl":50,"dead-letter-exchange":"","dead-letter-routing-key":"nowhere"}`)
	s.must(s.take("classic").Ack(false)) // a TTL holds for what comes after it
	pollUntil(t, s.poll, "the policy is told", func(snapshot *model.Snapshot) bool { return find(t, snapshot, "classic").Policy == "mixed" })
	s.publish("classic", nil)
	s.awaitDepth("classic", 0)
	s.must(deleteQueue(s.channel, "dead"))
	s.silent("policy-skipped")
}

func TestFindingShadowedPolicy(t *testing.T) {
	s := newStage(t)
	s.policy("p", "^a$", `{"dead-letter-exchange":"x2"}`)
	for _, x := range []string{"x1", "x2"} {
		s.exchange("fanout", x, nil)
		s.queue("dead."+x, nil)
		s.bind("dead."+x, "", x)
	}
	s.queue("a", amqp.Table{"x-message-ttl": int64(50), "x-dead-letter-exchange": "x1"})
	s.publish("a", nil)
	s.awaitDepth("dead.x1", 1)
	s.finds("argument-shadows-policy", "a")
	s.must(deleteQueue(s.channel, "a"))
	s.queue("a", amqp.Table{"x-message-ttl": int64(50)})
	s.publish("a", nil)
	s.awaitDepth("dead.x2", 1)
	s.silent("argument-shadows-policy")
}

func TestFindingKeyWithoutDLX(t *testing.T) {
	s := newStage(t)
	s.policy("p", "^a$", `{"message-ttl":50,"dead-letter-routing-key":"dead"}`)
	s.queue("a", nil)
	s.queue("dead", nil)
	s.publish("a", nil)
	s.awaitDepth("a", 0)
	s.finds("key-without-dlx", "a")
	s.policy("p", "^a$", `{"message-ttl":50,"dead-letter-routing-key":"dead","dead-letter-exchange":""}`)
	pollUntil(t, s.poll, "the policy is told", func(snapshot *model.Snapshot) bool {
		_, ok := find(t, snapshot, "a").PolicyDefinition["dead-letter-exchange"]
		return ok
	})
	s.publish("a", nil)
	s.awaitDepth("dead", 1)
	s.silent("key-without-dlx")
}

func TestFindingAtLeastOnce(t *testing.T) {
	s := newStage(t)
	strategy := amqp.Table{
		"x-queue-type": "quorum", "x-message-ttl": int64(50), "x-dead-letter-exchange": "", "x-dead-letter-routing-key": "later",
		"x-dead-letter-strategy": "at-least-once",
	}
	s.queue("falls", strategy)
	s.publish("falls", nil)
	s.awaitDepth("falls", 0) // lost, in spite of the strategy
	s.finds("at-least-once-falls-back", "falls")
	s.must(deleteQueue(s.channel, "falls"))
	strategy["x-overflow"] = "reject-publish"
	s.queue("keeps", strategy)
	s.publish("keeps", nil)
	s.finds("dead-letters-held", "keeps")
	s.silent("at-least-once-falls-back")
	s.must(deleteQueue(s.channel, "keeps"))
	s.queue("later", nil)
	s.queue("keeps", strategy)
	s.publish("keeps", nil)
	s.awaitDepth("later", 1)
	s.silent("dead-letters-held")
}

func TestFindingNegativeDeliveryLimit(t *testing.T) {
	s := newStage(t)
	s.queue("a", amqp.Table{"x-queue-type": "quorum", "x-delivery-limit": int64(-1)})
	s.publish("a", nil)
	s.must(s.take("a").Reject(true))
	if version := model.ParseVersion(s.b.Version()); model.BehaviourOf(version).NegativeDeliveryLimitDrops {
		s.awaitDepth("a", 0)
		s.finds("delivery-limit-negative", "a")
	} else {
		s.awaitDepth("a", 1)
		s.silent("delivery-limit-negative")
	}
}

func TestFindingLeasedBuffer(t *testing.T) {
	s := newStage(t)
	s.queue("w", nil)
	s.queue("w.delay", amqp.Table{"x-message-ttl": int64(1500), "x-expires": int64(1500), "x-dead-letter-exchange": "", "x-dead-letter-routing-key": "w"})
	s.finds("buffer-expires", "w.delay")
	s.publish("w.delay", nil)
	pollUntil(t, s.poll, "the buffer is deleted", func(snapshot *model.Snapshot) bool {
		return !slices.ContainsFunc(snapshot.Queues, func(q model.Queue) bool { return q.Name == "w.delay" })
	})
	s.silent("buffer-expires")
}

func TestFindingTargetDropsHead(t *testing.T) {
	s := newStage(t)
	s.queue("w", amqp.Table{"x-max-length": int64(2)})
	s.queue("w.delay", amqp.Table{"x-message-ttl": int64(50), "x-dead-letter-exchange": "", "x-dead-letter-routing-key": "w"})
	for range 5 {
		s.publish("w.delay", nil)
	}
	s.awaitDepth("w.delay", 0)
	s.awaitDepth("w", 2) // three are lost
	s.finds("target-drops-head", "w")
	s.must(deleteQueue(s.channel, "w"))
	s.queue("w", nil)
	s.silent("target-drops-head")
}

func TestFindingForgetfulFailedQueue(t *testing.T) {
	s := newStage(t)
	s.queue("w", amqp.Table{"x-dead-letter-exchange": "", "x-dead-letter-routing-key": "w.failed"})
	s.queue("w.failed", amqp.Table{"x-message-ttl": int64(50)})
	s.publish("w", nil)
	s.must(s.take("w").Reject(false))
	s.awaitDepth("w", 0)
	s.awaitDepth("w.failed", 0)
	s.finds("failed-queue-forgets", "w.failed")
	s.must(deleteQueue(s.channel, "w.failed"))
	s.queue("w.failed", nil)
	s.silent("failed-queue-forgets")
}

func TestFindingCutCycle(t *testing.T) {
	s := newStage(t)
	to := func(q string) amqp.Table {
		return amqp.Table{"x-message-ttl": int64(30), "x-dead-letter-exchange": "", "x-dead-letter-routing-key": q}
	}
	s.queue("a", to("b"))
	s.queue("b", to("a"))
	s.publish("a", nil)
	await(t, "the message is gone after one round", func() bool { return s.depth("a")+s.depth("b") == 0 })
	s.finds("cycle-cut", "a")
	s.must(deleteQueue(s.channel, "b"))
	s.queue("b", amqp.Table{"x-dead-letter-exchange": "", "x-dead-letter-routing-key": "a"}) // a worker that rejects
	s.publish("a", nil)
	for range 3 {
		s.must(s.take("b").Reject(false)) // round and round: a rejection keeps it alive
	}
	s.take("b")
	s.silent("cycle-cut")
	s.finds("rejected-loop", "b")
}

func TestFindingRejectedLoopIsSilentWithoutALoop(t *testing.T) {
	s := newStage(t)
	s.queue("w", amqp.Table{"x-dead-letter-exchange": "", "x-dead-letter-routing-key": "w.failed"})
	s.queue("w.failed", nil)
	s.publish("w", nil)
	s.must(s.take("w").Reject(false))
	s.awaitDepth("w.failed", 1)
	s.silent("rejected-loop")
}

func TestFindingLosingNow(t *testing.T) {
	s := newStage(t)
	s.queue("full", amqp.Table{"x-max-length": int64(1), "x-overflow": "reject-publish"})
	s.queue("open", nil)
	for _, to := range []string{"full", "open"} {
		s.queue("to."+to, amqp.Table{"x-message-ttl": int64(200), "x-dead-letter-exchange": "", "x-dead-letter-routing-key": to})
	}
	s.publish("full", nil) // from now on it refuses
	known := func(snapshot *model.Snapshot) bool {
		return !slices.ContainsFunc(snapshot.Queues, func(q model.Queue) bool { return !q.Ready.Known() || q.PolicyDefinition == nil || !q.Consumers.Known() })
	}
	before := pollUntil(t, s.poll, "all queues are known", func(snapshot *model.Snapshot) bool {
		return known(snapshot) && find(t, snapshot, "full").Published.Or(0) == 1 && find(t, snapshot, "full").Ready.Or(0) == 1
	})
	for range 20 {
		s.publish("to.full", nil)
		s.publish("to.open", nil)
	}
	s.awaitDepth("open", 20)
	s.awaitDepth("to.full", 0)
	if n := s.depth("full"); n != 1 {
		t.Fatalf("the full queue has %d messages", n)
	}
	var found []model.Finding
	pollUntil(t, s.poll, "the statistics have it, over a long enough time", func(after *model.Snapshot) bool {
		if !known(after) || find(t, after, "open").Ready.Or(0) != 20 || find(t, after, "to.full").Published.Or(0) != 20 {
			return false
		}
		over := after.TakenAt.Sub(before.TakenAt)
		found = model.NewTopology(after).LosingNow(model.MovesBetween(before, after), over)
		return over > 11*time.Second
	})
	if len(found) != 1 || found[0].Queue != "to.full" || !strings.Contains(found[0].Message, "20 messages") {
		t.Errorf("20 messages were lost behind to.full, none behind to.open; found: %+v", found)
	}
}

func TestFindingBlockedHead(t *testing.T) {
	s := newStage(t)
	s.queue("w", nil)
	for _, buffer := range []string{"rising", "falling"} {
		s.queue(buffer, amqp.Table{"x-dead-letter-exchange": "", "x-dead-letter-routing-key": "w"})
	}
	published := time.Now().Truncate(time.Second)
	publish := func(queue string, position int, expiration string) model.Message {
		s.confirmed("", queue, amqp.Publishing{Expiration: expiration, Timestamp: published})
		return model.Message{Position: position, Properties: model.Properties{Expiration: expiration, Timestamp: published}}
	}
	publish("rising", 1, "100")
	publish("rising", 2, "200")
	messages := []model.Message{publish("falling", 1, "600000"), publish("falling", 2, "200"), publish("falling", 3, "100")}
	s.awaitDepth("rising", 0)
	if n := s.depth("falling"); n != 3 {
		t.Fatalf("%d messages wait behind the long TTL, though the head holds all", n)
	}
	topology := model.NewTopology(pollUntil(t, s.poll, "the buffers are known", func(snapshot *model.Snapshot) bool { return find(t, snapshot, "falling").Consumers.Known() }))
	falling := model.QueueRef{VHost: s.vhost, Name: "falling"}
	now := time.Now().Add(time.Second) // timestamps are whole seconds
	found := topology.FindingsIn(falling, messages, now)
	if len(found) != 1 || found[0].Code != "head-of-line-blocked" || !strings.Contains(found[0].Message, "2 messages") {
		t.Errorf("two messages wait for the first: %+v", found)
	}
	if found := topology.FindingsIn(falling, messages[2:], now); len(found) != 0 {
		t.Errorf("nothing is before the last one: %+v", found)
	}
}

// received is a message as a look would have it, as far as these findings go.
func received(d amqp.Delivery) model.Message {
	headers := model.Table{}
	for key, v := range d.Headers {
		headers[key] = v
	}
	return model.Message{Position: 1, Headers: headers}
}

func TestFindingNearDeliveryLimit(t *testing.T) {
	s := newStage(t)
	s.queue("a", amqp.Table{"x-queue-type": "quorum", "x-delivery-limit": int64(3)})
	s.publish("a", nil)
	ref := model.QueueRef{VHost: s.vhost, Name: "a"}
	topology := model.NewTopology(pollUntil(t, s.poll, "the queue is known", func(snapshot *model.Snapshot) bool { return find(t, snapshot, "a").Consumers.Known() }))
	for round := range 4 {
		d := s.take("a")
		found := topology.FindingsIn(ref, []model.Message{received(d)}, time.Now())
		if near := round >= 1; near != (len(found) == 1) {
			t.Errorf("after %d returns of 3: %+v", round, found)
		}
		s.must(d.Reject(true))
	}
	s.awaitDepth("a", 0) // one more, and it was lost
}

func TestFindingCopies(t *testing.T) {
	s := newStage(t)
	s.queue("a", nil)
	s.queue("b", nil)
	s.publish("a", amqp.Table{"CC": []any{"b"}})
	s.publish("a", nil)
	s.awaitDepth("b", 1) // the copy
	ref := model.QueueRef{VHost: s.vhost, Name: "a"}
	topology := model.NewTopology(poll(t, s.poll))
	if found := topology.FindingsIn(ref, []model.Message{received(s.take("a"))}, time.Now()); len(found) != 1 || found[0].Code != "copies" {
		t.Errorf("a message with CC: %+v", found)
	}
	if found := topology.FindingsIn(ref, []model.Message{received(s.take("a"))}, time.Now()); len(found) != 0 {
		t.Errorf("a message without: %+v", found)
	}
}
