package bench

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/built"
	"github.com/dlxtop/dlxtop/internal/depth"
	"github.com/dlxtop/dlxtop/internal/dial"
	"github.com/dlxtop/dlxtop/internal/must"
)

const (
	benchFailedQueues = 200
	mostCausesTime    = 10 * time.Second
)

// BenchmarkCauses measures how long the built command takes, from start to end and with the index on, to group 100,000
// messages of 200 failed queues by cause: with 50 causes, and with texts that all differ.
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

				err = json.Unmarshal(out, &found)
				must.Do(b, err)
				must.Equal(b, found.Read, manyMessages, "read")
				memory := peakMemory(command)
				b.ReportMetric(took.Seconds(), "s/causes")
				b.ReportMetric(memory, "MB/causes")
				b.ReportMetric(float64(len(found.Causes)), "causes")
				b.Logf("%d causes of %d messages in %s, %.0f MB", len(found.Causes), found.Read, took, memory)
				assert.That(b, took <= mostCausesTime, "%s and %.0f MB: %s and %d MB are the most", took, memory, mostCausesTime,
					mostMemory)
				assert.That(b, memory <= mostMemory, "%s and %.0f MB: %s and %d MB are the most", took, memory, mostCausesTime,
					mostMemory)
			}

			b.ReportMetric(0, "ns/op")
		})
	}
}

// wordOf spells a number in letters, because digits would be folded when causes are grouped.
func wordOf(n int) string {
	word := []byte("zz")
	for range 6 {
		word = append(word, "bcdfghjklm"[n%10])
		n /= 10
	}

	return string(word)
}

// fillCauses declares failed queues whose names begin with the prefix and fills them with messages of 1 KiB.
func fillCauses(b *testing.B, prefix string, text func(i int) string) {
	b.Helper()
	channel := dial.Channel(b, built.Node.AMQP())
	queue := func(i int) string { return fmt.Sprintf("%s%d.failed", prefix, i%benchFailedQueues) }
	for i := range benchFailedQueues {
		dial.Queue(b, channel, queue(i), nil)
	}

	var last *amqp.DeferredConfirmation
	body := []byte(strings.Repeat("x", 1024))
	for i := range manyMessages {
		last = must.Get(channel.PublishWithDeferredConfirm("", queue(i), false, false, amqp.Publishing{
			MessageId: fmt.Sprintf("0f3c9a00-%08d", i), Headers: amqp.Table{"x-error": text(i)}, Body: body,
		}))(b)
	}

	last.Wait()
}

// BenchmarkFind measures the built command's search through 100,000 messages of 1 KiB: messages per second from the
// connection to the last message returned, and when the first hit, the first message of the queue, was written. For
// comparison it runs an export of the same messages, which must not be much faster, the same export piped into jq that
// searches the bodies, and the web UI's get of the first 10,000, which searches nothing.
func BenchmarkFind(b *testing.B) {
	for _, kind := range []string{"classic", "quorum"} {
		b.Run(kind, func(b *testing.B) {
			queue := "bench.find." + kind
			fillDead(b, queue, kind)
			for b.Loop() {
				var processor time.Duration // of dlxtop itself
				run := func(text string) (read int, took, first time.Duration) {
					command := built.Command(b, "find", text, "--queues", queue, "--read-costly", "-n", "1000", "-o", "json")
					out := must.Get(command.StdoutPipe())(b)
					began := time.Now()
					must.Do(b, command.Start())
					var end struct {
						Read    int `json:"read"`
						Elapsed int `json:"elapsed_ms"`
					}

					lines := bufio.NewScanner(out)
					for n := 0; lines.Scan(); n++ {
						if n == 0 {
							first = time.Since(began)
						}
						must.Do(b, json.Unmarshal(lines.Bytes(), &end))
					}

					must.Do(b, command.Wait())
					processor = command.ProcessState.UserTime() + command.ProcessState.SystemTime()
					return end.Read, time.Duration(end.Elapsed) * time.Millisecond, first
				}

				read, took, first := run("message 0 of")
				must.Equal(b, read, manyMessages, "read")
				speed := float64(read) / took.Seconds()
				began := time.Now()
				export := built.Command(b, "export", queue, "-")
				must.Do(b, export.Run())
				exported := float64(read) / time.Since(began).Seconds()
				assert.That(b, speed >= exported/2, "%.0f messages a second are found, %.0f exported", speed, exported)
				b.ReportMetric(exported, "export-msg/s")
				export = exec.Command("sh", "-c", `"$@" | jq -c 'select(.body | contains("message 0 of"))' | grep -c .`, "sh")
				export.Args = append(append(export.Args, built.Program), built.ToNode("export", queue, "-")...)
				began = time.Now()

				if out, err := export.Output(); err != nil || strings.TrimSpace(string(out)) != "1" {
					b.Logf("without jq: %v %s", err, out)
				} else {
					b.ReportMetric(float64(read)/time.Since(began).Seconds(), "export-jq-msg/s")
				}

				began = time.Now()
				getByAPI(b, built.Node, queue, mostGot)
				b.ReportMetric(mostGot/time.Since(began).Seconds(), "web-get-msg/s")
				b.ReportMetric(float64(processor.Microseconds())/float64(read), "us-processor/msg")
				b.ReportMetric(speed, "msg/s")
				b.ReportMetric(float64(first.Milliseconds()), "ms/first-hit")
			}

			b.ReportMetric(0, "ns/op")
		})
	}
}

const (
	manyMessages = 100_000
	mostMemory   = 150 // MB of a process that has peeked that many messages of 1 KiB
)

// BenchmarkMemory measures the memory for peeking 100,000 messages of 1 KiB that died twice and carry an error text: in
// the dashboard, with a filter that searches all of them, and in the commands that read them all.
func BenchmarkMemory(b *testing.B) {
	for _, kind := range []string{"classic", "quorum"} {
		b.Run(kind, func(b *testing.B) {
			queue := "bench." + kind
			fillDead(b, queue, kind)
			for b.Loop() {
				screen := built.Open(b, built.ToNode()...).WaitFor("No flows here")
				start := memoryOf(b, screen.Command.Process.Pid, "VmRSS")
				screen.Press("2").WaitFor(queue)
				screen.Press("\r").WaitFor("500 of 100,000 read")
				screen.Press("M").WaitFor("5,000 of 100,000 read")
				screen.Press("M").WaitFor("50,000 of 100,000 read")
				asked := time.Now()
				screen.Press("M").WaitFor("bench." + kind + "   100,000 messages")
				took := time.Since(asked)

				screen.Press("/message 99999 of")
				asked = time.Now()
				screen.WaitFor("match 1 of 1 in 100,000")
				filtered := time.Since(asked)
				screen.Press("\x1b").WaitFor("R replay all shown")
				peak := memoryOf(b, screen.Command.Process.Pid, "VmHWM")
				settled := memoryOf(b, screen.Command.Process.Pid, "VmRSS")
				screen.Press("\x03").WaitForEnd(0)
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

// fillDead declares a queue and fills it with messages of 1 KiB as a broker dead-letters them, each with its own error.
func fillDead(b *testing.B, queue, kind string) {
	channel := dial.Channel(b, built.Node.AMQP())
	dial.Queue(b, channel, queue, amqp.Table{"x-queue-type": kind})
	began := time.Now().Add(-24 * time.Hour).Truncate(time.Second)
	var last *amqp.DeferredConfirmation
	for i := range manyMessages {
		body := fmt.Sprintf(`{"id":%d,"email":"user%d@example.com","text":"message %d of many"}`, i, i, i)
		last = must.Get(channel.PublishWithDeferredConfirm("", queue, false, false, amqp.Publishing{
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
		}))(b)
	}

	last.Wait()
	must.Await(b, "all are there", func() bool { return depth.Of(b, channel, queue) == manyMessages })
}

// memoryOf returns a memory figure of a process in MB, by its name in Linux: VmHWM is the peak of VmRSS.
func memoryOf(b testing.TB, pid int, name string) float64 {
	b.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	match := regexp.MustCompile(name + `:\s+(\d+) kB`).FindSubmatch(status)
	must.Do(b, err)
	must.That(b, match != nil, "no %s of process %d", name, pid)
	n, _ := strconv.ParseFloat(string(match[1]), 64)
	return n * 1024 / 1e6
}

// commandMemory runs a command and returns its peak memory in MB.
func commandMemory(b *testing.B, args ...string) float64 {
	b.Helper()
	command := built.Command(b, args...)
	runs(b, command)
	return peakMemory(command)
}

// peakMemory returns the peak memory of a command that has ended, in MB.
func peakMemory(command *exec.Cmd) float64 {
	return float64(command.ProcessState.SysUsage().(*syscall.Rusage).Maxrss) * 1024 / 1e6
}
