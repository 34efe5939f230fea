package cli_test

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/dlxtop/dlxtop/cli"
	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/manage"
	"github.com/dlxtop/dlxtop/internal/must"
)

// Plans are written, changed, shown and applied, while the broker changes.
func TestPlansInFiles(t *testing.T) {
	t.Parallel()
	type expected struct {
		Name  string
		Steps []struct {
			Do, Run string
			Status  int
			Says    []string
			Holds   map[string]int
		}
	}
	must.Run(t, "testdata/plans.toml", func(t *testing.T, test expected) {
		v := newVHost(t)
		v.boundWorker("direct", 3)
		file := strings.NewReplacer("@", t.TempDir()+string(filepath.Separator))

		for _, step := range test.Steps {
			if step.Do != "" {
				v.change(strings.Split(file.Replace(step.Do), " "))
			} else {
				v.run(file.Replace(step.Run)).ends(t, step.Status, step.Says...)
			}

			for queue, n := range step.Holds {
				v.holds(queue, n)
			}
		}
	})
}

// change changes the broker, or a file.
func (v *vhost) change(words []string) {
	v.t.Helper()
	switch words[0] {
	case "fill":
		v.publish("", words[1], amqp.Publishing{MessageId: words[2], Body: []byte(words[2])})
	case "take":
		d, _, err := v.channel.Get(words[1], true)
		must.Do(v.t, err)
		v.publish("", "audit", amqp.Publishing{MessageId: d.MessageId})
	case "bind":
		v.bind(words[1], words[2], words[3])
	case "delete":
		_, err := v.channel.QueueDelete(words[1], false, false, false)
		must.Do(v.t, err)

	case "policy":
		n := manage.Of(v.t, node.API())
		n.Policy(v.name, "new", "^"+words[1]+"$", amqp.Table{words[2]: words[3]})
		must.Await(v.t, "the policy", func() bool { return v.policyOf(words[1]) == "new" })
	case "consume":
		v.consume(words[1], func(amqp.Delivery) {})
		must.Await(v.t, "the consumer", func() bool { return strings.Contains(v.run("flows").out, `"consumers": 1`) })

	case "edit":
		text := string(must.Get(os.ReadFile(words[1]))(v.t))
		was := strings.ReplaceAll(words[3], ":_", ": ")
		assert.Contains(v.t, text, was)
		must.Do(v.t, os.WriteFile(words[2], []byte(strings.Replace(text, was, words[4], 1)), 0o600))
	default:
		v.t.Fatalf("no such change: %v", words)
	}
}

// A plan that is applied twice at once moves each message once.
func TestPlanAppliedTwiceAtOnce(t *testing.T) {
	v := newVHost(t, "failed", "worker")
	v.fill("failed", 200)
	file := filepath.Join(t.TempDir(), "plan")
	v.run("replay failed --to queue:worker --plan-out", file).ends(t, cli.ExitDone)

	var both sync.WaitGroup
	moved := make([]int, 2)
	for i := range moved {
		both.Go(func() {
			if r := v.run("apply", file, "--yes"); r.out != "" {
				moved[i] = *decode[accountContract](t, r).Moved
			}
		})
	}

	both.Wait()
	assert.Equal(t, moved[0]+moved[1], 200)
	v.holds("failed", 0).holds("worker", 200)
}
