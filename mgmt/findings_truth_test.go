package mgmt

import (
	"slices"
	"strings"
	"testing"
	"time"

	rabbithole "github.com/michaelklishin/rabbit-hole/v2"
	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/dial"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/findings"
)

// Each finding says that a broker misbehaves in some way: here one really does, and the finding is there; when it
// behaves, the finding is silent.
var truths = map[string]func(t *testing.T, s *stage){
	"MissingDLX": func(t *testing.T, s *stage) {
		s.queue("a", amqp.Table{"x-message-ttl": int64(50), "x-dead-letter-exchange": "nope"})
		s.queue("dead", nil)
		s.publishUntil("a", "a", 0)
		s.finds("dlx-missing", "a")
		s.exchange("fanout", "nope", nil)
		s.bind("dead", "", "nope")
		s.publishUntil("a", "dead", 1) // only the second: the first is lost
		s.silent("dlx-missing")
	},
	"UnroutableDeadLetters": func(t *testing.T, s *stage) {
		s.exchange("direct", "x", amqp.Table{"alternate-exchange": "spare"})
		s.exchange("topic", "y", nil)
		must.Do(s.t, s.channel.ExchangeBind("y", "k", "x", false, nil))
		s.queue("a", amqp.Table{"x-message-ttl": int64(50), "x-dead-letter-exchange": "x", "x-dead-letter-routing-key": "k"})
		s.queue("b", amqp.Table{
			"x-message-ttl": int64(50), "x-dead-letter-exchange": "x", "x-dead-letter-routing-key": "other",
		})
		s.queue("dead", nil)
		for _, q := range []string{"a", "b"} {
			s.publishUntil(q, q, 0)
			s.finds("dead-letter-unroutable", q)
		}
		s.bind("dead", "#", "y")           // a's way, through a binding between exchanges
		s.exchange("fanout", "spare", nil) // b's way, through the alternate exchange
		s.bind("dead", "", "spare")
		s.publishUntil("a", "dead", 1)
		s.publishUntil("b", "dead", 2)
		s.silent("dead-letter-unroutable")
	},
	"TTLWithoutDLX": func(t *testing.T, s *stage) {
		s.queue("a", amqp.Table{"x-message-ttl": int64(50)})
		s.queue("dead", nil)
		s.publishUntil("a", "a", 0)
		s.finds("ttl-without-dlx", "a")
		s.policy("p", "^a$", `{"dead-letter-exchange":"","dead-letter-routing-key":"dead"}`)
		must.Await(t, "the policy sends dead letters on", func() bool { s.publish("a", nil); return s.depth("dead") > 0 })
		s.silent("ttl-without-dlx")
	},
	"LimitWithoutDLX": func(t *testing.T, s *stage) {
		s.queue("a", amqp.Table{"x-max-length": int64(1)})
		s.queue("b", amqp.Table{"x-max-length": int64(1), "x-overflow": "reject-publish"})
		for range 2 {
			s.publish("a", nil)
		}
		s.awaitDepth("a", 1)
		s.finds("limit-without-dlx", "a")
		s.publish("b", nil)
		assert.That(t, !s.publish("b", nil), "reject-publish took a message too many")
		must.Do(s.t, deleteQueue(s.channel, "a"))
		s.silent("limit-without-dlx")
	},
	"DeliveryLimitWithoutDLX": func(t *testing.T, s *stage) {
		s.queue("a", amqp.Table{"x-queue-type": "quorum", "x-delivery-limit": int64(1)})
		s.publish("a", nil)
		for range 2 {
			must.Do(s.t, s.take("a").Reject(true))
		}
		s.awaitDepth("a", 0)
		s.finds("delivery-limit-without-dlx", "a")
		must.Do(s.t, deleteQueue(s.channel, "a"))
		s.queue("b", amqp.Table{
			"x-queue-type": "quorum", "x-delivery-limit": int64(1), "x-dead-letter-exchange": "",
			"x-dead-letter-routing-key": "dead",
		})
		s.queue("dead", nil)
		s.publish("b", nil)
		for range 2 {
			must.Do(s.t, s.take("b").Reject(true))
		}
		s.awaitDepth("dead", 1)
		s.silent("delivery-limit-without-dlx")
	},
	"DeliveryCountCarried": func(t *testing.T, s *stage) {
		carries := model.BehaviourOf(model.ParseVersion(s.b.Version())).CarriesDeliveryCount
		for failed, limit := range map[string]int64{"same": 1, "higher": 2} {
			work := "work-" + failed
			s.queue(failed, amqp.Table{"x-queue-type": "quorum", "x-delivery-limit": limit})
			s.queue(work, amqp.Table{
				"x-queue-type": "quorum", "x-delivery-limit": int64(1), "x-dead-letter-exchange": "",
				"x-dead-letter-routing-key": failed,
			})
			s.publish(work, nil)
			for range 2 {
				must.Do(s.t, s.take(work).Reject(true))
			}
			s.awaitDepth(failed, 1)
			must.Do(s.t, s.take(failed).Nack(false, true))
			if failed == "same" && carries {
				s.awaitDepth(failed, 0) // lost
			} else {
				must.Do(s.t, s.take(failed).Ack(false)) // it came back
			}
		}
		if !carries {
			s.silent("delivery-count-carried")
			return
		}
		s.finds("delivery-count-carried", "same")
		must.Do(s.t, deleteQueue(s.channel, "same"))
		s.silent("delivery-count-carried")
	},
	"WorkerWithoutConsumers": func(t *testing.T, s *stage) {
		s.queue("w", nil)
		s.queue("w.delay", buffer(50, "w"))
		s.publishUntil("w.delay", "w", 1)
		must.Await(t, "the finding says error, for the message that is stuck", func() bool {
			return s.finds("worker-without-consumers", "w").Level == findings.LevelError
		})
		must.Get(s.channel.Consume("w", "", true, false, false, false, nil))(s.t)
		pollUntil(t, s.poll, "the consumer is reported",
			func(snapshot *model.Snapshot) bool { return find(t, snapshot, "w").Consumers.Or(0) == 1 })
		s.silent("worker-without-consumers")
	},
	"RejectsLost": func(t *testing.T, s *stage) {
		s.queue("w", nil)
		s.queue("w.delay", buffer(50, "w"))
		s.publish("w.delay", nil)
		must.Do(s.t, s.take("w").Reject(false))
		s.awaitDepth("w", 0)
		s.finds("rejects-lost", "w")
		s.queue("w.failed", nil)
		s.policy("p", "^w$", `{"dead-letter-exchange":"","dead-letter-routing-key":"w.failed"}`)
		s.told("w", "p")
		s.publish("w.delay", nil)
		must.Do(s.t, s.take("w").Reject(false))
		s.awaitDepth("w.failed", 1)
		s.silent("rejects-lost")
	},
	"BufferWithConsumers": func(t *testing.T, s *stage) {
		s.queue("w", nil)
		s.queue("w.delay", buffer(600000, "w"))
		s.silent("buffer-with-consumers")
		deliveries := must.Get(s.channel.Consume("w.delay", "impatient", true, false, false, false, nil))(s.t)
		s.publish("w.delay", nil)
		<-deliveries // ten minutes early
		s.finds("buffer-with-consumers", "w.delay")
	},
	// A worker that publishes its failures to a retry buffer, with their original headers, and gives up by the count.
	"UncountedRetries": func(t *testing.T, s *stage) {
		s.queue("w", nil)
		s.queue("w.retry", buffer(20, "w"))
		s.publish("w.retry", nil)
		var count int64
		for range 3 {
			d := s.take("w")
			deaths := d.Headers["x-death"].([]any)
			count = deaths[0].(amqp.Table)["count"].(int64)
			must.Do(s.t, d.Ack(false))
			s.publish("w.retry", d.Headers)
		}
		version := model.ParseVersion(s.b.Version())
		must.Equal(t, count == 3, model.BehaviourOf(version).CountsRepublishedDeaths,
			"RabbitMQ %s: the count after three rounds is %d", version, count)
		if count == 3 {
			s.silent("republished-deaths-uncounted")
		} else {
			s.finds("republished-deaths-uncounted", "w.retry")
		}
	},
	"SkippedPolicy": func(t *testing.T, s *stage) {
		s.policy("mixed", ".*", `{"delivery-limit":5,"message-ttl":50,"dead-letter-exchange":"",`+
			`"dead-letter-routing-key":"dead"}`)
		s.queue("classic", nil)
		s.queue("quorum", amqp.Table{"x-queue-type": "quorum"})
		s.queue("dead", amqp.Table{"x-queue-type": "stream"})
		s.publish("classic", nil)
		s.publishUntil("quorum", "quorum", 0)
		assert.That(t, s.depth("classic") == 1,
			"the policy's TTL holds for the classic queue, though the policy has a key for quorum queues")
		if f := s.finds("policy-skipped", "classic"); f.Level != findings.LevelError {
			t.Errorf("without its dead-letter exchange it is a loss, but the level is %s", f.Level)
		}
		s.policy("mixed", ".*", `{"message-ttl":50,"dead-letter-exchange":"","dead-letter-routing-key":"nowhere"}`)
		must.Do(s.t, s.take("classic").Ack(false)) // a TTL only applies to later messages
		s.told("classic", "mixed")
		s.publishUntil("classic", "classic", 0)
		must.Do(s.t, deleteQueue(s.channel, "dead"))
		s.silent("policy-skipped")
	},
	"ShadowedPolicy": func(t *testing.T, s *stage) {
		s.policy("p", "^a$", `{"dead-letter-exchange":"x2"}`)
		for _, x := range []string{"x1", "x2"} {
			s.exchange("fanout", x, nil)
			s.queue("dead."+x, nil)
			s.bind("dead."+x, "", x)
		}
		s.queue("a", amqp.Table{"x-message-ttl": int64(50), "x-dead-letter-exchange": "x1"})
		s.publishUntil("a", "dead.x1", 1)
		s.finds("argument-shadows-policy", "a")
		must.Do(s.t, deleteQueue(s.channel, "a"))
		s.queue("a", amqp.Table{"x-message-ttl": int64(50)})
		s.publishUntil("a", "dead.x2", 1)
		s.silent("argument-shadows-policy")
	},
	"KeyWithoutDLX": func(t *testing.T, s *stage) {
		s.policy("p", "^a$", `{"message-ttl":50,"dead-letter-routing-key":"dead"}`)
		s.queue("a", nil)
		s.queue("dead", nil)
		s.publishUntil("a", "a", 0)
		s.finds("key-without-dlx", "a")
		s.policy("p", "^a$", `{"message-ttl":50,"dead-letter-routing-key":"dead","dead-letter-exchange":""}`)
		pollUntil(t, s.poll, "the policy is reported", func(snapshot *model.Snapshot) bool {
			_, ok := find(t, snapshot, "a").PolicyDefinition["dead-letter-exchange"]
			return ok
		})
		s.publishUntil("a", "dead", 1)
		s.silent("key-without-dlx")
	},
	"AtLeastOnce": func(t *testing.T, s *stage) {
		strategy := amqp.Table{
			"x-queue-type": "quorum", "x-message-ttl": int64(50), "x-dead-letter-exchange": "",
			"x-dead-letter-routing-key": "later", "x-dead-letter-strategy": "at-least-once",
		}
		s.queue("falls", strategy)
		s.publishUntil("falls", "falls", 0) // lost, in spite of the strategy
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
		s.publishUntil("keeps", "later", 1)
		s.silent("dead-letters-held")
	},
	"NegativeDeliveryLimit": func(t *testing.T, s *stage) {
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
	},
	"LeasedBuffer": func(t *testing.T, s *stage) {
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
	},
	"TargetDropsHead": func(t *testing.T, s *stage) {
		s.queue("w", amqp.Table{"x-max-length": int64(2)})
		s.queue("w.delay", buffer(50, "w"))
		for range 5 {
			s.publish("w.delay", nil)
		}
		s.awaitDepth("w.delay", 0)
		s.awaitDepth("w", 2) // three are lost
		s.finds("target-drops-head", "w")
		must.Do(s.t, deleteQueue(s.channel, "w"))
		s.queue("w", nil)
		s.silent("target-drops-head")
	},
	"ForgetfulFailedQueue": func(t *testing.T, s *stage) {
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
	},
	"CutCycle": func(t *testing.T, s *stage) {
		s.queue("a", buffer(30, "b"))
		s.queue("b", buffer(30, "a"))
		s.publish("a", nil)
		must.Await(t, "the message is gone after one round", func() bool { return s.depth("a")+s.depth("b") == 0 })
		s.finds("cycle-cut", "a")
		must.Do(s.t, deleteQueue(s.channel, "b"))
		s.queue("b", amqp.Table{"x-dead-letter-exchange": "", "x-dead-letter-routing-key": "a"}) // a worker that rejects
		s.publish("a", nil)
		for range 3 {
			must.Do(s.t, s.take("b").Reject(false)) // in circles: a rejection keeps it alive
		}
		s.take("b")
		s.silent("cycle-cut")
		s.finds("rejected-loop", "b")
	},
	"RejectedLoopIsSilentWithoutALoop": func(t *testing.T, s *stage) {
		s.queue("w", amqp.Table{"x-dead-letter-exchange": "", "x-dead-letter-routing-key": "w.failed"})
		s.queue("w.failed", nil)
		s.publish("w", nil)
		must.Do(s.t, s.take("w").Reject(false))
		s.awaitDepth("w.failed", 1)
		s.silent("rejected-loop")
	},
	// A worker that requeues everything is a loop; one that works, one that was restarted while holding many, and one that
	// holds its messages are not.
	"RequeueLoop": func(t *testing.T, s *stage) {
		for _, kind := range []string{"classic", "quorum"} {
			for _, queue := range []string{"loop.", "works.", "restarted."} {
				arguments := amqp.Table{"x-queue-type": kind}
				if kind == "quorum" {
					arguments["x-delivery-limit"] = int64(100_000)
				}
				s.queue(queue+kind, arguments)
				for range 40 {
					s.publish(queue+kind, nil)
				}
			}
			s.consume("loop."+kind, 1, func(d amqp.Delivery) {
				time.Sleep(20 * time.Millisecond)
				_ = d.Nack(false, true)
			})
			s.consume("works."+kind, 1, func(d amqp.Delivery) {
				time.Sleep(20 * time.Millisecond)
				_ = d.Ack(false)
			})
			held := make(chan bool, 100)
			hold := func(amqp.Delivery) { held <- true }
			end := s.consume("restarted."+kind, 100, hold)
			for range 40 {
				<-held
			}
			end()
			s.consume("restarted."+kind, 100, hold)
		}
		for _, kind := range []string{"classic", "quorum"} {
			// The count of consumers may be reported later than the rates (4.0.5).
			f := s.finds("requeue-loop", "loop."+kind)
			assert.That(t, strings.Contains(f.Evidence, "acknowledged 0.0/s"), "%+v", f)
		}
		s.silent("requeue-loop", "works.classic", "works.quorum", "restarted.classic", "restarted.quorum")
	},
	// A worker that crashes on a message of a failed queue is mostly disconnected when it is counted.
	"CrashOnAFailedQueue": func(t *testing.T, s *stage) {
		s.queue("w", amqp.Table{"x-dead-letter-exchange": "", "x-dead-letter-routing-key": "w.failed"})
		s.queue("w.failed", nil)
		s.publish("w.failed", nil)
		s.consume("w", 1, func(d amqp.Delivery) { _ = d.Ack(false) })
		end := make(chan bool)
		ended := make(chan error, 1) // room for the one result
		go func() { ended <- s.crash("w.failed", end) }()
		s.finds("requeue-loop", "w.failed")
		close(end)
		must.Do(t, <-ended)
		s.silent("requeue-loop")
	},
	"ShovelLoop": func(t *testing.T, s *stage) {
		s.queue("w", amqp.Table{"x-dead-letter-exchange": "", "x-dead-letter-routing-key": "w.failed"})
		s.queue("w.failed", nil)
		s.consume("w", 1, func(d amqp.Delivery) {
			time.Sleep(20 * time.Millisecond)
			_ = d.Reject(false)
		})
		s.publish("w", nil)
		uri := rabbithole.URISet{"amqp:///" + s.vhost}
		n := s.b.api()
		n.Done(n.DeclareShovel(s.vhost, "back", rabbithole.ShovelDefinition{
			SourceURI: uri, SourceQueue: "w.failed", DestinationURI: uri, DestinationQueue: "w",
		}))

		must.Await(t, "the loop is an error once it is known who consumes w", func() bool {
			return s.finds("shovel-loop", "w.failed").Level == findings.LevelError
		})
		n.Done(n.DeleteShovel(s.vhost, "back"))
		s.silent("shovel-loop")
	},
	// A worker that an application polls is not one without consumers, whether it finds messages or none.
	"Poller": func(t *testing.T, s *stage) {
		s.queue("polled", nil)
		s.queue("buffer", buffer(50, "polled"))
		s.finds("worker-without-consumers", "polled")
		stop, stopped := make(chan bool), make(chan bool)
		go func() {
			defer close(stopped)
			tick := time.NewTicker(100 * time.Millisecond)
			defer tick.Stop()
			for {
				select {
				case <-stop:
					return
				case <-tick.C:
					_, _, _ = s.channel.Get("polled", true)
				}
			}
		}()
		f := s.finds("poller", "polled")
		s.silent("worker-without-consumers")
		close(stop)
		<-stopped
		assert.That(t, strings.Contains(f.Evidence, "0 consumers, basic.get "), "%+v", f)
		s.finds("worker-without-consumers", "polled")
	},
}

// crash consumes a message and disconnects without an answer, again and again.
func (s *stage) crash(queue string, end chan bool) error {
	for {
		connection, err := dial.AMQP(s.b.AMQP() + s.vhost)
		if err != nil {
			return err
		}
		channel, err := connection.Channel()
		if err != nil {
			return err
		}
		deliveries, err := channel.Consume(queue, "", false, false, false, false, nil)
		if err != nil {
			return err
		}
		<-deliveries
		select {
		case <-end:
			return connection.Close()
		case <-time.After(50 * time.Millisecond):
		}

		if err := connection.Close(); err != nil {
			return err
		}
		select {
		case <-end:
			return nil
		case <-time.After(300 * time.Millisecond):
		}
	}
}

func TestFinding(t *testing.T) {
	t.Parallel()
	for name, truth := range truths {
		t.Run(name, func(t *testing.T) { truth(t, newStage(t)) })
	}
}

func deleteQueue(channel *amqp.Channel, name string) error {
	_, err := channel.QueueDelete(name, false, false, false)
	return err
}

// publishUntil publishes a message to one queue, and waits until another one, or the same, has this depth.
func (s *stage) publishUntil(to, queue string, depth int) {
	s.t.Helper()
	s.publish(to, nil)
	s.awaitDepth(queue, depth)
}

// told waits until a queue's policy is reported.
func (s *stage) told(queue, policy string) {
	s.t.Helper()
	pollUntil(s.t, s.poll, "the policy is reported",
		func(snapshot *model.Snapshot) bool { return find(s.t, snapshot, queue).Policy == policy })
}

// buffer are the arguments of a queue whose messages go to another one after a time in milliseconds.
func buffer(ttl int64, to string) amqp.Table {
	return amqp.Table{"x-message-ttl": ttl, "x-dead-letter-exchange": "", "x-dead-letter-routing-key": to}
}

// consume passes each message of a queue to do, on its own channel, until end is called.
func (s *stage) consume(queue string, prefetch int, do func(amqp.Delivery)) (end func()) {
	s.t.Helper()
	return dial.Work(s.t, s.b.AMQP()+s.vhost, queue, prefetch, do)
}
