package mgmt

import (
	"slices"
	"testing"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/findings"
)

func TestFindingSkippedPolicy(t *testing.T) {
	s := newStage(t)
	s.policy("mixed", ".*", `{"delivery-limit":5,"message-ttl":50,"dead-letter-exchange":"","dead-letter-routing-key":"dead"}`)
	s.queue("classic", nil)
	s.queue("quorum", amqp.Table{"x-queue-type": "quorum"})
	s.queue("dead", amqp.Table{"x-queue-type": "stream"})
	s.publish("classic", nil)
	s.publish("quorum", nil)
	s.awaitDepth("quorum", 0)
	assert.That(t, s.depth("classic") == 1,
		"the policy's TTL holds for the classic queue, though the policy has a key for quorum queues")
	if f := s.finds("policy-skipped", "classic"); f.Level != findings.LevelError {
		t.Errorf("without its dead-letter exchange it is a loss, but the level is %s", f.Level)
	}
	s.policy("mixed", ".*", `{"message-ttl":50,"dead-letter-exchange":"","dead-letter-routing-key":"nowhere"}`)
	must.Do(s.t, s.take("classic").Ack(false)) // a TTL holds for what comes after it
	pollUntil(t, s.poll, "the policy is told",
		func(snapshot *model.Snapshot) bool { return find(t, snapshot, "classic").Policy == "mixed" })
	s.publish("classic", nil)
	s.awaitDepth("classic", 0)
	must.Do(s.t, deleteQueue(s.channel, "dead"))
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
	must.Do(s.t, deleteQueue(s.channel, "a"))
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
		"x-queue-type": "quorum", "x-message-ttl": int64(50), "x-dead-letter-exchange": "",
		"x-dead-letter-routing-key": "later",
		"x-dead-letter-strategy":    "at-least-once",
	}
	s.queue("falls", strategy)
	s.publish("falls", nil)
	s.awaitDepth("falls", 0) // lost, in spite of the strategy
	s.finds("at-least-once-falls-back", "falls")
	must.Do(s.t, deleteQueue(s.channel, "falls"))
	strategy["x-overflow"] = "reject-publish"
	s.queue("keeps", strategy)
	s.publish("keeps", nil)
	s.finds("dead-letters-held", "keeps")
	s.silent("at-least-once-falls-back")
	must.Do(s.t, deleteQueue(s.channel, "keeps"))
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
	must.Do(s.t, s.take("a").Reject(true))
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
	leased := func(ms int64) {
		s.queue("w.delay", amqp.Table{
			"x-message-ttl": ms, "x-expires": ms, "x-dead-letter-exchange": "", "x-dead-letter-routing-key": "w",
		})
	}
	leased(3_600_000)
	s.finds("buffer-expires", "w.delay") // however slowly it is read
	must.Do(s.t, deleteQueue(s.channel, "w.delay"))
	leased(1500)
	s.publish("w.delay", nil)
	pollUntil(t, s.poll, "the buffer is deleted", func(snapshot *model.Snapshot) bool {
		return !slices.ContainsFunc(snapshot.Queues, func(q model.Queue) bool { return q.Name == "w.delay" })
	})
	s.silent("buffer-expires")
}

func TestFindingTargetDropsHead(t *testing.T) {
	s := newStage(t)
	s.queue("w", amqp.Table{"x-max-length": int64(2)})
	s.queue("w.delay", amqp.Table{
		"x-message-ttl": int64(50), "x-dead-letter-exchange": "",
		"x-dead-letter-routing-key": "w",
	})
	for range 5 {
		s.publish("w.delay", nil)
	}
	s.awaitDepth("w.delay", 0)
	s.awaitDepth("w", 2) // three are lost
	s.finds("target-drops-head", "w")
	must.Do(s.t, deleteQueue(s.channel, "w"))
	s.queue("w", nil)
	s.silent("target-drops-head")
}

func TestFindingForgetfulFailedQueue(t *testing.T) {
	s := newStage(t)
	s.queue("w", amqp.Table{"x-dead-letter-exchange": "", "x-dead-letter-routing-key": "w.failed"})
	s.queue("w.failed", amqp.Table{"x-message-ttl": int64(50)})
	s.publish("w", nil)
	must.Do(s.t, s.take("w").Reject(false))
	s.awaitDepth("w", 0)
	s.awaitDepth("w.failed", 0)
	s.finds("failed-queue-forgets", "w.failed")
	must.Do(s.t, deleteQueue(s.channel, "w.failed"))
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
	must.Do(s.t, deleteQueue(s.channel, "b"))
	s.queue("b", amqp.Table{"x-dead-letter-exchange": "", "x-dead-letter-routing-key": "a"}) // a worker that rejects
	s.publish("a", nil)
	for range 3 {
		must.Do(s.t, s.take("b").Reject(false)) // round and round: a rejection keeps it alive
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
	must.Do(s.t, s.take("w").Reject(false))
	s.awaitDepth("w.failed", 1)
	s.silent("rejected-loop")
}
