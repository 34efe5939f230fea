package bench

import (
	"encoding/json"
	"fmt"
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
	benchFailedQueues = 200
	mostCausesTime    = 10 * time.Second
)

// BenchmarkCauses measures the causes of 100,000 messages over 200 failed queues, by the built command from its start
// to its end, the index on: with 50 causes, and with texts that all differ.
func BenchmarkCauses(b *testing.B) {
	for _, load := range []struct {
		name  string
		error func(i int) string
	}{
		{"50", func(i int) string {
			return fmt.Sprintf("TimeoutError: %s did not answer in %d ms", wordOf(i%50), i)
		}},
		{"AllDiffer", func(i int) string { return "TimeoutError: " + wordOf(i) + " did not answer" }},
	} {
		b.Run(load.name, func(b *testing.B) {
			prefix := "causes" + load.name + "."
			fillCauses(b, prefix, load.error)
			for b.Loop() {
				command := built.Command(b, "causes", "-o", "json", "--queues", prefix+"*")
				began := time.Now()
				out, err := command.Output()
				took := time.Since(began)
				must.That(b, err == nil, "causes: %v: %s", err, out)
				var found struct {
					Read   int        `json:"read"`
					Causes []struct{} `json:"causes"`
				}
				if err := json.Unmarshal(out, &found); err != nil || found.Read != manyMessages {
					b.Fatalf("%d read: %v", found.Read, err)
				}
				memory := float64(command.ProcessState.SysUsage().(*syscall.Rusage).Maxrss) * 1024 / 1e6
				b.ReportMetric(took.Seconds(), "s/causes")
				b.ReportMetric(memory, "MB/causes")
				b.ReportMetric(float64(len(found.Causes)), "causes")
				b.Logf("%d causes of %d messages in %s, %.0f MB", len(found.Causes), found.Read, took, memory)
				assert.That(b, took <= mostCausesTime && memory <= mostMemory,
					"%s and %.0f MB: %s and %d MB are the most", took, memory, mostCausesTime, mostMemory)
			}
			b.ReportMetric(0, "ns/op")
		})
	}
}

// wordOf is a number as a word, so that it is not folded.
func wordOf(n int) string {
	word := []byte("zz")
	for range 6 {
		word = append(word, "bcdfghjklm"[n%10])
		n /= 10
	}
	return string(word)
}

// fillCauses makes failed queues with messages of 1 KiB; their names begin with the prefix.
func fillCauses(b *testing.B, prefix string, text func(i int) string) {
	b.Helper()
	connection, err := dial.AMQP(built.Node.AMQP())
	must.Do(b, err)
	channel, err := connection.Channel()
	if err == nil {
		err = channel.Confirm(false)
	}
	queue := func(i int) string { return fmt.Sprintf("%s%d.failed", prefix, i%benchFailedQueues) }
	b.Cleanup(func() {
		defer connection.Close()
		for i := range benchFailedQueues {
			_, _ = channel.QueueDelete(queue(i), false, false, false)
		}
	})
	for i := range benchFailedQueues {
		if err == nil {
			_, err = channel.QueueDeclare(queue(i), true, false, false, false, nil)
		}
	}
	var last *amqp.DeferredConfirmation
	body := []byte(strings.Repeat("x", 1024))
	for i := range manyMessages {
		if err == nil {
			last, err = channel.PublishWithDeferredConfirm("", queue(i), false, false, amqp.Publishing{
				MessageId: fmt.Sprintf("0f3c9a00-%08d", i), Headers: amqp.Table{"x-error": text(i)}, Body: body,
			})
		}
	}
	must.Do(b, err)
	last.Wait()
}
