package broker_test

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/dlxtop/dlxtop/broker"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/journal"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/plan"
)

// The benchmarks here measure the engine where a whole command does not show it; benchmarks of commands, compared with
// what people use otherwise, are in bench (BenchmarkCommands).

const replayMessages = 50_000

// fill declares a queue with messages of 1 KiB.
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

// speedOf runs something that handles n messages, and returns messages per second.
func speedOf(n int, what func()) float64 {
	began := time.Now()
	what()
	return float64(n) / time.Since(began).Seconds()
}

// BenchmarkReplayOverALongWay replays through a proxy that adds 10 ms in each direction.
func BenchmarkReplayOverALongWay(b *testing.B) {
	for _, kind := range kinds {
		b.Run(string(kind), func(b *testing.B) {
			for range b.N {
				a := newApp(b)
				j := journal.New(journal.Options{Path: filepath.Join(b.TempDir(), "journal.db")})
				way, address := newCable(b, 0)
				way.latency, way.jitter = 10*time.Millisecond, time.Microsecond
				c := must.Get(broker.New(broker.Options{URL: address, Journal: j}))(b)
				from, to := fill(a, "failed", kind, replayMessages), described(a.queue("worker", kind), kind)
				made := replayTo(b, from, to, plan.Selection{})
				made.Planned = replayMessages
				b.ReportMetric(speedOf(replayMessages, func() {
					account := execute(b, c, made)
					must.That(b, account.Moved == replayMessages, "%+v", account)
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

// BenchmarkActAtDepth acts on one message behind 90,000 others.
func BenchmarkActAtDepth(b *testing.B) {
	for _, kind := range kinds {
		b.Run(string(kind), func(b *testing.B) {
			for range b.N {
				a, c := newApp(b), client(b)
				const depth = 90_000
				messages := make([]amqp.Publishing, depth+1)
				for i := range messages {
					messages[i] = amqp.Publishing{MessageId: fmt.Sprint(i), DeliveryMode: 2, Body: make([]byte, 1024)}
				}
				from, to := a.moving(kind, messages...)
				made := replayTo(b, from, to, plan.Selection{MessageID: fmt.Sprint(depth)})
				made.Planned = 1
				account := execute(b, c, made)
				must.That(b, account.Moved == 1, "%+v", account)
				a.await(from.QueueRef, depth)
				b.ReportMetric(account.Elapsed.Seconds(), "s")
				b.ReportMetric(0, "ns/op")
				a.deleteQueue(from.Name)
				a.deleteQueue(to.Name)
			}
		})
	}
}
