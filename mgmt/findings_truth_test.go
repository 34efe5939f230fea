package mgmt

import (
	"fmt"
	"reflect"
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
	"github.com/dlxtop/dlxtop/model/build"
	"github.com/dlxtop/dlxtop/model/findings"
)

// Each finding says that a broker misbehaves in some way: here one really does, and the finding is there; when it
// behaves, the finding is silent. Those that need no more than the lines of stage.play are in testdata/truths.toml.
var truths = map[string]func(t *testing.T, s *stage){
	// A worker that publishes its failures to a retry buffer, with their original headers, and gives up by the count.
	"UncountedRetries": func(t *testing.T, s *stage) {
		s.declare("queue w\nbuffer w.retry w 20")
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
			assert.Contains(t, f.Evidence, "acknowledged 0.0/s")
		}
		s.silent("requeue-loop", "works.classic", "works.quorum", "restarted.classic", "restarted.quorum")
	},
	// A worker that crashes on a message of a failed queue is mostly disconnected when it is counted.
	"CrashOnAFailedQueue": func(t *testing.T, s *stage) {
		s.declare("queue w dlx= key=w.failed\nqueue w.failed")
		s.publish("w.failed", nil)
		s.play("work w")
		end := make(chan bool)
		ended := make(chan error, 1) // room for the one result
		go func() { ended <- s.crash("w.failed", end) }()
		s.finds("requeue-loop", "w.failed")
		close(end)
		must.Do(t, <-ended)
		s.silent("requeue-loop")
	},
	"ShovelLoop": func(t *testing.T, s *stage) {
		s.declare("queue w dlx= key=w.failed\nqueue w.failed")
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

		s.play("errs shovel-loop w.failed") // once it is known who consumes w
		n.Done(n.DeleteShovel(s.vhost, "back"))
		s.silent("shovel-loop")
	},
	// A worker that an application polls is not one without consumers, whether it finds messages or none.
	"Poller": func(t *testing.T, s *stage) {
		s.declare("queue polled\nbuffer buffer polled 50")
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
		assert.Contains(t, f.Evidence, "0 consumers, basic.get ")
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

	must.Run(t, "testdata/truths.toml", func(t *testing.T, test struct{ Name, Steps string }) {
		s := newStage(t)
		for line := range strings.Lines(test.Steps) {
			s.play(line)
		}
	})
}

// play is one line of a case: what happens, to which queue, and how many it then holds; or an object of build.Text. A
// line may depend on a behaviour of the broker.
func (s *stage) play(line string) {
	s.t.Helper()
	words := strings.Fields(line)
	name := words[1]

	switch words[0] {
	case "publish":
		must.That(s.t, s.publish(name, nil), "refused by %s", name)
	case "refused":
		must.That(s.t, !s.publish(name, nil), "%s took a message too many", name)
	case "holds":
		must.Await(s.t, line, func() bool {
			depth := 0
			for queue := range strings.SplitSeq(name, "+") {
				depth += s.depth(queue)
			}
			return fmt.Sprint(depth) == words[2]
		})

	case "take":
		s.take(name)
	case "accept":
		must.Do(s.t, s.take(name).Ack(false))
	case "reject":
		must.Do(s.t, s.take(name).Reject(false))
	case "requeue":
		must.Do(s.t, s.take(name).Reject(true))
	case "return":
		must.Do(s.t, s.take(name).Nack(false, true))
	case "consume":
		must.Get(s.channel.Consume(name, name, true, false, false, false, nil))(s.t)
	case "cancel":
		must.Do(s.t, s.channel.Cancel(name, false))
	case "work":
		s.consume(name, 1, func(d amqp.Delivery) { _ = d.Ack(false) })
	case "delete":
		must.Do(s.t, deleteQueue(s.channel, name))
	case "gone":
		pollUntil(s.t, s.poll, line, func(snapshot *model.Snapshot) bool {
			return !slices.ContainsFunc(snapshot.Queues, func(q model.Queue) bool { return q.Name == name })
		})

	case "told":
		s.told(name, words[2])
	case "finds":
		s.finds(name, words[2])
	case "errs":
		must.Await(s.t, line, func() bool { return s.finds(name, words[2]).Level == findings.LevelError })
	case "silent":
		s.silent(name)
	case "if", "unless":
		behaviour := reflect.ValueOf(model.BehaviourOf(model.ParseVersion(s.b.Version())))
		if behaviour.FieldByName(name).Bool() == (words[0] == "if") {
			s.play(strings.Join(words[2:], " "))
		}
	default:
		s.declare(line)
	}
}

// declare makes the objects of a text.
func (s *stage) declare(text string) {
	s.t.Helper()
	var now model.Snapshot
	build.Text(text)(&now)

	for _, x := range now.Exchanges {
		s.exchange(x.Type, x.Name, amqp.Table(x.Arguments))
	}
	for _, q := range now.Queues {
		q.Arguments["x-queue-type"] = string(q.Type)
		s.queue(q.Name, amqp.Table(q.Arguments))
	}
	for _, b := range now.Bindings {
		bind := s.channel.QueueBind
		if b.ToExchange {
			bind = s.channel.ExchangeBind
		}
		must.Do(s.t, bind(b.Destination, b.RoutingKey, b.Source, false, nil))
	}
	for _, p := range now.Policies {
		s.b.api().SetPolicy(false, rabbithole.Policy{
			Vhost: s.vhost, Name: p.Name, Pattern: p.Pattern, ApplyTo: "queues", Priority: int(p.Priority),
			Definition: rabbithole.PolicyDefinition(p.Definition),
		})
	}
}

func deleteQueue(channel *amqp.Channel, name string) error {
	_, err := channel.QueueDelete(name, false, false, false)
	return err
}

// told waits until a queue's policy is reported.
func (s *stage) told(queue, policy string) {
	s.t.Helper()
	pollUntil(s.t, s.poll, "the policy is reported",
		func(snapshot *model.Snapshot) bool { return find(s.t, snapshot, queue).Policy == policy })
}

// consume passes each message of a queue to do, on its own channel, until end is called.
func (s *stage) consume(queue string, prefetch int, do func(amqp.Delivery)) (end func()) {
	s.t.Helper()
	return dial.Work(s.t, s.b.AMQP()+s.vhost, queue, prefetch, do)
}
