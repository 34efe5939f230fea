package cases

import (
	"slices"
	"strings"
	"testing"
	"time"

	rabbithole "github.com/michaelklishin/rabbit-hole/v2"
	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/dial"
	"github.com/dlxtop/dlxtop/internal/manage"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/mgmt"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/findings"
)

// Endless redelivery and standstills of consumers.
func TestStandstills(t *testing.T) {
	playScripts(t, "testdata/standstills.toml",
		situation{
			Name: "a consumer of a lower priority that never gets anything", From: "rabbitmq.com/docs/consumer-priority",
			Parts: "queue w dlx= key=failed\nqueue failed",

			traffic: func(w *world) {
				done := make(chan error, 3) // room for all
				dial.Work(w, w.node.AMQP()+w.vhost, "w", 0, func(d amqp.Delivery) { done <- d.Ack(false) })
				second := w.open()
				must.Get(second.Consume("w", "", false, false, false, false, amqp.Table{"x-priority": int32(-1)}))(w)

				for _, id := range []string{"1", "2", "3"} {
					w.publish("", "w", id)
				}
				must.Await(w, "the first consumer has acknowledged all", func() bool { return len(done) == cap(done) })
			},
			Silent: []string{"requeue-loop", "no-acknowledgements", "worker-without-consumers"},
		},
	)
}

// An application polls a failed queue and rejects what comes back to it.
func TestPolledFailedQueue(t *testing.T) {
	play(t, situation{
		Name: "basic.get and reject", From: "a policy for all queues",
		Parts: `
			exchange fanout dlx
			queue w
			queue dead
			bind dlx dead
			policy all .* 0 dead-letter-exchange=dlx
		`,
		traffic: func(w *world) {
			w.work("w", rejects)
			w.publish("", "w", "m")
			w.depth("dead", 1)

			channel := w.open()
			go func() {
				for pace := time.Tick(100 * time.Millisecond); w.Context().Err() == nil; <-pace {
					d, ok, err := channel.Get("dead", false)
					if err != nil {
						return
					}
					if ok {
						_ = d.Reject(false) // an error when the test has ended
					}
				}
			}()
		},
		Says: []string{"error dead-letters-return dead"},
	})
}

// Loops that one poll does not show are found by `dlxtop findings`, in the 20 s that it watches at most: by one call
// where a consumer stays, and by one of several where it is there only for moments.
func TestSlowLoops(t *testing.T) {
	parts := `
		queue mail dlx= key=mail_error consumers=1
		queue mail_error
	`

	repair := func(w *world) { // some are processed, and then one that is not
		w.work("mail_error", acks)
		for _, id := range []string{"1", "2", "3", "4", "5"} {
			w.publish("", "mail_error", id)
			w.awaitSeen("mail_error", id, 1)
		}

		w.leave("mail_error")
		w.publish("", "mail_error", "bad")
	}

	finds := func(w *world) (out string) {
		_, out, errs := w.dlxtop("findings", "--vhost", w.vhost)
		return out + errs
	}

	crash := func(w *world) {
		before := len(w.seen())
		w.work("mail_error", after(time.Second, holds))
		must.Await(w, "it gets the message", func() bool { return len(w.seen()) > before })
		w.leave("mail_error") // disconnects at once, and waits
	}

	const loop = "/mail_error  (requeue-loop)"
	play(t,
		situation{
			Name: "a consumer that gives one back every two seconds", From: "a repair job", Parts: parts,
			check: func(w *world) {
				repair(w)
				w.work("mail_error", after(2*time.Second, requeues))
				w.awaitSeen("mail_error", "bad", 8)
				assert.Contains(w, finds(w), loop)
			},
		},
		situation{
			Name: "a consumer that crashes, and is started again", From: "a repair job", Parts: parts,
			check: func(w *world) {
				repair(w)
				for range 5 {
					crash(w)
				}

				found := make(chan bool, 1) // room for the one result
				go func() {
					for w.Context().Err() == nil && len(found) == 0 {
						if strings.Contains(finds(w), loop) { // not where the first poll saw nobody
							found <- true
						}
					}
				}()

				must.Await(w, "dlxtop findings names the loop", func() bool { crash(w); return len(found) > 0 })
			},
		},
	)
}

// shovel carries a queue to the destination of a definition, in any vhost.
func (w *world) shovel(from model.QueueRef, vhost string, to rabbithole.ShovelDefinition) {
	w.Helper()
	to.SourceURI, to.SourceQueue = rabbithole.URISet{"amqp:///" + from.VHost}, from.Name
	to.DestinationURI = rabbithole.URISet{"amqp:///" + vhost}
	n := manage.Of(w, w.node.API())
	n.Done(n.DeclareShovel(from.VHost, from.Name, to))
}

// Shovels that bring failed messages back to their worker, or away from it.
func TestShovels(t *testing.T) {
	play(t,
		situation{
			Name: "from a queue behind a dead-letter exchange", From: "smallrye-reactive-messaging #2181 (d03)",
			Parts: `
				exchange topic in
				exchange direct dlx
				queue w dlx=dlx key=w.dead
				queue w.dead
				bind in order.# w
				bind dlx w.dead w.dead
				queue v dlx=dlx key=v.dead
				queue v.dead
				queue archive
				bind in invoice.# v
				bind dlx v.dead v.dead
			`,

			traffic: func(w *world) {
				back := rabbithole.ShovelDefinition{DestinationExchange: "in", DestinationExchangeKey: "order.again"}
				w.shovel(model.QueueRef{VHost: w.vhost, Name: "w.dead"}, w.vhost, back)
				away := rabbithole.ShovelDefinition{DestinationQueue: "archive"}
				w.shovel(model.QueueRef{VHost: w.vhost, Name: "v.dead"}, w.vhost, away)

				w.work("w", slowly(rejects))
				w.work("v", rejects)
				w.publish("in", "order.new", "o")
				w.publish("in", "invoice.new", "i")

				w.awaitSeen("w", "o", 5)
				w.depth("archive", 1)
			},
			Says:   []string{"error shovel-loop w.dead: carries w.dead to w"},
			Silent: []string{"shovel-loop v.dead"},
		},
		situation{
			Name: "a circle of shovels over two vhosts", From: "rabbitmq-federation #96 (d02)",
			Parts: `
				queue w dlx= key=w.failed
				queue w.failed
			`,
			traffic: func(w *world) {
				attic := model.QueueRef{VHost: manage.VHost(w, w.node.API(), w.vhost+"-attic"), Name: "attic"}
				must.Get(dial.Channel(w, w.node.AMQP()+attic.VHost).QueueDeclare(attic.Name, true, false, false, false, nil))(w)
				w.shovel(model.QueueRef{VHost: w.vhost, Name: "w.failed"}, attic.VHost,
					rabbithole.ShovelDefinition{DestinationQueue: attic.Name})
				w.shovel(attic, w.vhost, rabbithole.ShovelDefinition{DestinationQueue: "w"})

				w.work("w", slowly(rejects))
				w.publish("", "w", "m")
				w.awaitSeen("w", "m", 5)
			},
			check: func(w *world) {
				everywhere := must.Get(mgmt.New(mgmt.Options{URL: w.node.API(), Timeout: patience}))(w)
				w.Cleanup(everywhere.Close)
				must.Await(w, "the circle is found", func() bool {
					t := model.NewTopology(must.Get(everywhere.Snapshot(w.Context()))(w))
					return slices.ContainsFunc(findings.Of(t), func(f findings.Finding) bool {
						return line(&f) == "error shovel-loop w.failed" && f.VHost == w.vhost
					})
				})
			},
		},
	)
}
