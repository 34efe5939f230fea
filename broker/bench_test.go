package broker_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/dlxtop/dlxtop/broker"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/plan"
)

// The benchmarks here measure the engine where a whole command does not show it; benchmarks of commands, compared with
// what people use otherwise, are in bench (BenchmarkCommands).

const replayMessages = 50_000

// fill declares a queue with messages of 1 KiB.
func fill(a *app, suffix string, kind model.QueueType, n int) *model.Queue {
	a.Helper()
	messages := sized(n, 1024)
	for i := range messages {
		copy(messages[i].Body, messages[i].MessageId)
	}

	q := a.filled(suffix, kind, messages...)
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
				j := openJournal(b, journalPath(b))
				way, address := newCable(b, 0)
				way.latency = 10 * time.Millisecond
				way.jitter = time.Microsecond
				c := must.Get(broker.New(broker.Options{URL: address, Journal: j}))(b)
				from := fill(a, "failed", kind, replayMessages)
				to := a.queue("worker", kind)
				made := replayTo(b, from, to, plan.Selection{})
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
				from, to := a.moving(kind, sized(depth+1, 1024)...)
				made := replayTo(b, from, to, plan.Selection{MessageID: fmt.Sprint(depth + 1)})
				account := execute(b, c, made)
				must.That(b, account.Moved == 1, "%+v", account)
				a.await(from, depth)
				b.ReportMetric(account.Elapsed.Seconds(), "s")
				b.ReportMetric(0, "ns/op")
				a.deleteQueue(from.Name)
				a.deleteQueue(to.Name)
			}
		})
	}
}
