//go:build prometheus

package cli_test

import (
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/dlxtop/dlxtop/cli"
	"github.com/dlxtop/dlxtop/internal/dial"
	"github.com/dlxtop/dlxtop/internal/must"
)

// A real Prometheus takes what alerts writes, and fires and resolves by what metrics tells: `make prometheus`.
func TestPrometheusFiresAndResolves(t *testing.T) {
	v := newVHost(t, "w.failed")
	v.declare("w", amqp.Table{"x-dead-letter-exchange": "", "x-dead-letter-routing-key": "w.failed"})
	dir, port, own := t.TempDir(), dial.Unused(t), dial.Unused(t)
	runWords(t.Context(), remembering(t), v.on("alerts", dir)).ends(t, cli.ExitDone, "wrote")
	soon := regexp.MustCompile(`(for|scrape_interval): \d+[ms]`)
	for _, name := range []string{"dlxtop.rules.yml", "prometheus.yml"} {
		path := filepath.Join(dir, name)
		text := soon.ReplaceAllString(string(must.Get(os.ReadFile(path))(t)), "$1: 1s")
		must.Do(t, os.WriteFile(path, []byte(strings.ReplaceAll(text, "127.0.0.1:9419", port)), 0o600))
		said, err := exec.Command("promtool", map[bool][]string{
			true: {"check", "rules", path}, false: {"check", "config", path},
		}[name == "dlxtop.rules.yml"]...).CombinedOutput()
		must.That(t, err == nil, "promtool: %s", said)
	}
	config := must.Get(os.OpenFile(filepath.Join(dir, "prometheus.yml"), os.O_APPEND|os.O_WRONLY, 0))(t)
	must.Get(config.WriteString("global: {evaluation_interval: 1s}\n"))(t)
	must.Do(t, config.Close())

	w := &alarmed{}
	w.start(t, remembering(t), v.on("metrics", "--listen", port, "--interval", "1s")...)
	defer w.end()
	server := exec.Command("prometheus", "--config.file", filepath.Join(dir, "prometheus.yml"), "--storage.tsdb.path",
		filepath.Join(dir, "data"), "--web.listen-address", own)
	must.Do(t, server.Start())
	defer func() { _, _ = server.Process.Kill(), server.Wait() }()

	firing := func(want bool) {
		must.Await(t, "DlxtopFailedMessages fires or resolves", func() bool {
			answer, err := http.Get("http://" + own + "/api/v1/alerts")
			if err != nil {
				return false
			}
			defer answer.Body.Close()

			var told struct {
				Status string
				Data   struct {
					Alerts []struct {
						State  string
						Labels map[string]string
					}
				}
			}
			if json.NewDecoder(answer.Body).Decode(&told) != nil { // it is still starting
				return false
			}

			fires := false
			for _, a := range told.Data.Alerts {
				fires = fires || a.State == "firing" && a.Labels["alertname"] == "DlxtopFailedMessages" && a.Labels["flow"] == "w"
			}
			return told.Status == "success" && fires == want
		})
	}
	v.fill("w.failed", 1)
	firing(true)
	v.take("w.failed")
	firing(false)
}
