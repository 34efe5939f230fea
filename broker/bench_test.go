package broker_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"dlxtop/broker"
	"dlxtop/demo"
	"dlxtop/journal"
	"dlxtop/model"
	"dlxtop/model/peek"
	"dlxtop/model/plan"
)

// The benchmarks compare, side by side on the same queues in the same run, with what people use otherwise. Run them
// with
//
//	go test -bench . -benchtime 1x -run '^$' ./broker

const (
	benchMessages  = 20_000
	replayMessages = 50_000
	replayRounds   = 4
)

// fill makes a queue with messages of 1 KiB.
func fill(a *app, suffix string, kind model.QueueType, n int) *model.Queue {
	a.Helper()
	ref := a.queue(suffix, kind)
	messages := numbered(n)
	for i := range messages {
		messages[i].Body = make([]byte, 1024)
		copy(messages[i].Body, messages[i].MessageId)
	}
	a.publish(ref, messages...)
	q := described(ref, kind)
	q.Ready, q.ReadyBytes = model.Some(int64(n)), model.Some(int64(n)*1024)
	return q
}

// speed runs something that handles all messages and tells how many a second.
func speed(what func()) float64 { return speedOf(benchMessages, what) }

func speedOf(n int, what func()) float64 { return float64(n) / took(what).Seconds() }

func took(what func()) time.Duration {
	began := time.Now()
	what()
	return time.Since(began)
}

// best is the best speed of three runs, or of one when that is slow: a short run says more of the machine's other work
// than of itself.
func best(what func()) float64 {
	fastest := speed(what)
	for n := 1; n < 3 && fastest > benchMessages/5; n++ {
		fastest = max(fastest, speed(what))
	}
	return fastest
}

func BenchmarkPeek(b *testing.B) {
	for _, kind := range kinds {
		b.Run(string(kind), func(b *testing.B) {
			for range b.N {
				a, c := newApp(b), client(b)
				q := fill(a, "q", kind, benchMessages)
				plan := planPeek(q, peek.Want{Limit: benchMessages})
				peekAt(b, c, planPeek(q, peek.Want{Limit: 1})) // connects
				ours := best(func() {
					peeked, err := c.Peek(b.Context(), plan)
					if err != nil || peeked.Messages.Len() != benchMessages {
						b.Fatalf("%d messages: %v", peeked.Messages.Len(), err)
					}
					_ = peeked.Messages.Close()
				})
				a.await(q.QueueRef, benchMessages)
				gets := best(func() {
					getLoop(a, q.QueueRef)
					a.await(q.QueueRef, benchMessages)
				})
				web := best(func() { getByAPI(b, node, q.QueueRef) })
				b.ReportMetric(ours, "peek-msg/s")
				b.ReportMetric(gets, "get-msg/s")
				b.ReportMetric(web, "http-msg/s")
				b.ReportMetric(ours/gets, "x-get")
				b.ReportMetric(ours/web, "x-http")
				b.ReportMetric(0, "ns/op")
				a.deleteQueue(q.Name)
			}
		})
	}
}

// getLoop looks at all messages one by one, as many tools do.
func getLoop(a *app, ref model.QueueRef) {
	a.Helper()
	channel := a.open()
	for n := 0; ; n++ {
		_, ok, err := channel.Get(ref.Name, false)
		if err != nil {
			a.Fatal(err)
		}
		if !ok {
			if n != benchMessages {
				a.Fatalf("%d messages", n)
			}
			break
		}
	}
	if err := channel.Close(); err != nil {
		a.Fatal(err)
	}
}

// getByAPI looks at all messages with the management API, as the web UI does.
func getByAPI(t testing.TB, n *demo.Node, ref model.QueueRef) {
	t.Helper()
	body := fmt.Sprintf(`{"count":%d,"ackmode":"ack_requeue_true","encoding":"auto"}`, benchMessages)
	response, err := http.Post(n.API()+"/api/queues/%2F/"+url.PathEscape(ref.Name)+"/get", "application/json",
		strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	var messages []struct{ Payload string }
	if err := json.NewDecoder(response.Body).Decode(&messages); err != nil || len(messages) != benchMessages {
		t.Fatalf("%d messages: %v", len(messages), err)
	}
}

func BenchmarkReplay(b *testing.B) {
	n, err := demo.Start(b.Context(), demo.Options{Plugins: []string{"rabbitmq_shovel", "rabbitmq_shovel_management"}})
	if err != nil {
		b.Fatal(err)
	}
	defer n.Stop()
	for _, kind := range kinds {
		b.Run(string(kind), func(b *testing.B) {
			for range b.N {
				a, without := newAppOn(b, n), clientOf(b, n)
				j := journal.New(journal.Options{Path: filepath.Join(b.TempDir(), "journal.db")})
				c, err := broker.New(broker.Options{URL: n.AMQP(), Journal: j})
				if err != nil {
					b.Fatal(err)
				}
				from, to := fill(a, "failed", kind, replayMessages), described(a.queue("worker", kind), kind)
				p := replayTo(b, from, to, plan.Selection{})
				p.Planned = replayMessages
				// Taken in turns: what the broker still does for the one before falls on each of them alike.
				var ours, back time.Duration
				for range replayRounds {
					ours += took(func() {
						if account := execute(b, c, p); account.Moved != replayMessages {
							b.Fatalf("%+v", account)
						}
					})
					a.await(to.QueueRef, replayMessages)
					back += took(func() { shovel(a, n, to.QueueRef, from.QueueRef, replayMessages) })
					a.await(from.QueueRef, replayMessages)
				}
				unkept := speedOf(replayMessages, func() { execute(b, without, p) })
				a.await(to.QueueRef, replayMessages)
				dropped := speedOf(replayMessages, func() {
					if account := execute(b, c, dropPlan(b, to, plan.Selection{}, replayMessages)); account.Dropped != replayMessages {
						b.Fatalf("%+v", account)
					}
				})
				c.Close()
				j.Close()
				b.ReportMetric(unkept, "no-journal-msg/s")
				b.ReportMetric(dropped, "drop-msg/s")
				b.ReportMetric(replayRounds*replayMessages/ours.Seconds(), "replay-msg/s")
				b.ReportMetric(replayRounds*replayMessages/back.Seconds(), "shovel-msg/s")
				b.ReportMetric(back.Seconds()/ours.Seconds(), "x-shovel")
				b.ReportMetric(0, "ns/op")
				a.deleteQueue(from.Name)
				a.deleteQueue(to.Name)
			}
		})
	}
}

// BenchmarkReplayOverALongWay replays through a proxy that delivers everything 10 ms later in each direction.
func BenchmarkReplayOverALongWay(b *testing.B) {
	for _, kind := range kinds {
		b.Run(string(kind), func(b *testing.B) {
			for range b.N {
				a := newApp(b)
				j := journal.New(journal.Options{Path: filepath.Join(b.TempDir(), "journal.db")})
				c, err := broker.New(broker.Options{URL: longWay(b, node.AMQP(), 10*time.Millisecond), Journal: j})
				if err != nil {
					b.Fatal(err)
				}
				from, to := fill(a, "failed", kind, replayMessages), described(a.queue("worker", kind), kind)
				plan := replayTo(b, from, to, plan.Selection{})
				plan.Planned = replayMessages
				b.ReportMetric(speedOf(replayMessages, func() {
					if account := execute(b, c, plan); account.Moved != replayMessages {
						b.Fatalf("%+v", account)
					}
				}), "replay-msg/s")
				b.ReportMetric(0, "ns/op")
				c.Close()
				j.Close()
				a.deleteQueue(from.Name)
				a.deleteQueue(to.Name)
			}
		})
	}
}

// shovel moves everything with a dynamic shovel that waits for confirms, as the web UI's "move messages" does.
func shovel(a *app, n *demo.Node, from, to model.QueueRef, messages int) {
	a.Helper()
	address := fmt.Sprintf("%s?heartbeat=30", strings.TrimSuffix(n.AMQP(), "/"))
	value := map[string]any{"value": map[string]any{
		"src-protocol": "amqp091", "src-uri": address, "src-queue": from.Name, "src-delete-after": "queue-length",
		"src-prefetch-count": 1000,
		"dest-protocol":      "amqp091", "dest-uri": address, "dest-queue": to.Name, "ack-mode": "on-confirm",
		"dest-add-forward-headers": false,
	}}
	body, err := json.Marshal(value)
	if err != nil {
		a.Fatal(err)
	}
	request, err := http.NewRequestWithContext(a.Context(), http.MethodPut, n.API()+"/api/parameters/shovel/%2F/bench",
		strings.NewReader(string(body)))
	if err != nil {
		a.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		a.Fatal(err)
	}
	response.Body.Close()
	if response.StatusCode >= 300 {
		a.Fatal(response.Status)
	}
	a.await(to, messages)
}

// BenchmarkActAtDepth acts on one message behind 90,000 others.
func BenchmarkActAtDepth(b *testing.B) {
	for _, kind := range kinds {
		b.Run(string(kind), func(b *testing.B) {
			for range b.N {
				a, c := newApp(b), client(b)
				from, to := described(a.queue("failed", kind), kind), described(a.queue("worker", kind), kind)
				const depth = 90_000
				messages := make([]amqp.Publishing, depth+1)
				for i := range messages {
					messages[i] = amqp.Publishing{MessageId: fmt.Sprint(i), DeliveryMode: 2, Body: make([]byte, 1024)}
				}
				a.publish(from.QueueRef, messages...)
				plan := replayTo(b, from, to, plan.Selection{MessageID: fmt.Sprint(depth)})
				plan.Planned = 1
				account := execute(b, c, plan)
				if account.Moved != 1 {
					b.Fatalf("%+v", account)
				}
				a.await(from.QueueRef, depth)
				b.ReportMetric(account.Elapsed.Seconds(), "s")
				b.ReportMetric(0, "ns/op")
				a.deleteQueue(from.Name)
				a.deleteQueue(to.Name)
			}
		})
	}
}
