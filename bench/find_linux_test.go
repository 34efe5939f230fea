package bench

import (
	"bufio"
	"encoding/json"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/built"
	"github.com/dlxtop/dlxtop/internal/must"
)

// BenchmarkFind measures the search through 100,000 messages of 1 KiB by the built command: how many a second, from the
// connection to the last one given back, and when the first hit was written, which is the first message of the queue.
// Beside it an export of the same messages, which must not be much faster, the same piped into jq that looks into the
// bodies, and the web UI's get of the first 10,000, which looks for nothing.
func BenchmarkFind(b *testing.B) {
	for _, kind := range []string{"classic", "quorum"} {
		b.Run(kind, func(b *testing.B) {
			queue := "bench.find." + kind
			fillDead(b, queue, kind)
			for b.Loop() {
				var processor time.Duration // that dlxtop itself took
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
