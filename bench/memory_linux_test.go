package bench

import (
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/built"
	"github.com/dlxtop/dlxtop/internal/dial"
	"github.com/dlxtop/dlxtop/internal/must"
)

const (
	manyMessages = 100_000
	mostMemory   = 150 // MB of a process that has peeked so many of 1 KiB
)

// BenchmarkMemory measures what 100,000 peeked messages of 1 KiB take, which died twice and tell their failure: in the
// dashboard, with a filter that looks into all of them, and in the commands that read them all.
func BenchmarkMemory(b *testing.B) {
	for _, kind := range []string{"classic", "quorum"} {
		b.Run(kind, func(b *testing.B) {
			queue := "bench." + kind
			fillDead(b, queue, kind)
			for b.Loop() {
				screen := built.Open(b, built.ToNode()...)
				screen.WaitFor("No flows here")
				start := memoryOf(b, screen.Command.Process.Pid, "VmRSS")
				screen.Press("2")
				screen.WaitFor(queue)
				screen.Press("\r")
				screen.WaitFor("500 of 100,000 read")
				screen.Press("M")
				screen.WaitFor("5,000 of 100,000 read")
				screen.Press("M")
				screen.WaitFor("50,000 of 100,000 read")
				asked := time.Now()
				screen.Press("M")
				screen.WaitFor("bench." + kind + "   100,000 messages")
				took := time.Since(asked)
				screen.Press("/message 99999 of")
				asked = time.Now()
				screen.WaitFor("match 1 of 1 in 100,000")
				filtered := time.Since(asked)
				screen.Press("\x1b")
				screen.WaitFor("R replay all shown")
				peak, settled := memoryOf(b, screen.Command.Process.Pid, "VmHWM"), memoryOf(b, screen.Command.Process.Pid, "VmRSS")
				screen.Press("\x03")
				screen.WaitForEnd(0)
				b.Logf("dashboard: %.0f MB at its start, %.0f at most, %.0f then; a look took %s, a filter %s", start,
					peak, settled, took, filtered)
				b.ReportMetric(start, "MB/start")
				b.ReportMetric(peak, "MB/dashboard-peak")
				b.ReportMetric(settled, "MB/dashboard")
				b.ReportMetric(took.Seconds(), "s/look")
				b.ReportMetric(filtered.Seconds(), "s/filter")
				commands := map[string][]string{
					"MB/peek-json":  {"peek", queue, "-n", strconv.Itoa(manyMessages), "-o", "json"},
					"MB/peek-table": {"peek", queue, "-n", strconv.Itoa(manyMessages), "-o", "table"},
					"MB/export":     {"export", queue, "-"},
				}
				most := peak
				for name, args := range commands {
					used := commandMemory(b, args...)
					b.ReportMetric(used, name)
					b.Logf("%.0f %s", used, name)
					most = max(most, used)
				}
				assert.That(b, most <= mostMemory, "%.0f MB: %d is the most", most, mostMemory)
			}
			b.ReportMetric(0, "ns/op")
		})
	}
}

// fillDead makes a queue with messages of 1 KiB as a broker dead-letters them, each with an error of its own.
func fillDead(b *testing.B, queue, kind string) {
	connection, err := dial.AMQP(built.Node.AMQP())
	must.Do(b, err)
	defer connection.Close()
	channel, err := connection.Channel()
	if err == nil {
		_, err = channel.QueueDeclare(queue, true, false, false, false, amqp.Table{"x-queue-type": kind})
	}
	if err == nil {
		err = channel.Confirm(false)
	}
	must.Do(b, err)
	b.Cleanup(func() {
		if connection, err := dial.AMQP(built.Node.AMQP()); err == nil {
			defer connection.Close()
			if channel, err := connection.Channel(); err == nil {
				_, _ = channel.QueueDelete(queue, false, false, false)
			}
		}
	})
	began := time.Now().Add(-24 * time.Hour).Truncate(time.Second)
	var last *amqp.DeferredConfirmation
	for i := range manyMessages {
		body := fmt.Sprintf(`{"id":%d,"email":"user%d@example.com","text":"message %d of many"}`, i, i, i)
		last, err = channel.PublishWithDeferredConfirm("", queue, false, false, amqp.Publishing{
			MessageId: fmt.Sprintf("0f3c9a00-%08d", i), ContentType: "application/json", DeliveryMode: 2, Timestamp: began,
			Headers: amqp.Table{
				"x-first-death-queue": "orders", "x-first-death-reason": "rejected", "x-first-death-exchange": "shop",
				"x-exception-message": fmt.Sprintf("TimeoutError: user %d did not answer", i),
				"x-death": []any{
					amqp.Table{
						"queue": "orders.retry", "reason": "expired", "count": int64(3), "exchange": "retry",
						"routing-keys": []any{"orders"}, "time": began.Add(time.Duration(i) * time.Second),
					},
					amqp.Table{
						"queue": "orders", "reason": "rejected", "count": int64(3), "exchange": "shop",
						"routing-keys": []any{"order.created"}, "time": began.Add(time.Duration(i) * time.Second),
					},
				},
			},
			Body: append([]byte(body), strings.Repeat(" ", 1024-len(body))...),
		})
		must.Do(b, err)
	}
	last.Wait()
	for deadline := time.Now().Add(built.Patience); ; time.Sleep(20 * time.Millisecond) {
		q, err := channel.QueueDeclarePassive(queue, true, false, false, false, nil)
		must.That(b, err == nil && !time.Now().After(deadline), "%d messages: %v", q.Messages, err)
		if q.Messages == manyMessages {
			return
		}
	}
}

// memoryOf is a figure of a process in MB, as Linux names it: VmHWM is the highest that VmRSS has been.
func memoryOf(b *testing.B, pid int, name string) float64 {
	b.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	match := regexp.MustCompile(name + `:\s+(\d+) kB`).FindSubmatch(status)
	must.That(b, err == nil && match != nil, "no %s of process %d: %v", name, pid, err)
	n, _ := strconv.ParseFloat(string(match[1]), 64)
	return n * 1024 / 1e6
}

// commandMemory runs a command and tells the most memory that it took, in MB.
func commandMemory(b *testing.B, args ...string) float64 {
	b.Helper()
	command := built.Command(b, args...)
	var complaints strings.Builder
	command.Stderr = &complaints
	err := command.Run()
	must.That(b, err == nil, "%s: %v\n%s", args[0], err, complaints.String())
	usage, ok := command.ProcessState.SysUsage().(*syscall.Rusage)
	if !ok {
		return 0
	}
	return float64(usage.Maxrss) * 1024 / 1e6
}
