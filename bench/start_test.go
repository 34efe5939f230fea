package bench

import (
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	rabbithole "github.com/michaelklishin/rabbit-hole/v2"

	"github.com/dlxtop/dlxtop/demo"
	"github.com/dlxtop/dlxtop/internal/built"
	"github.com/dlxtop/dlxtop/internal/manage"
	"github.com/dlxtop/dlxtop/internal/must"
)

// TestMain builds dlxtop and starts a broker only when a benchmark or a test of this package is asked for, not in a run
// of all tests.
func TestMain(m *testing.M) {
	flag.Parse()
	if flag.Lookup("test.bench").Value.String()+flag.Lookup("test.run").Value.String() == "" {
		os.Exit(0)
	}
	os.Exit(built.Main(m, "-trimpath"))
}

// BenchmarkStart measures the time from the start of the program until the screen shows the first flow, with a broker
// on this machine.
func BenchmarkStart(b *testing.B) {
	built.Scenario(b)
	var took time.Duration
	rounds := 0
	for b.Loop() {
		for range 10 {
			start := time.Now()
			screen := built.Open(b, built.ToNode()...).WaitFor("ucenter@user", "retry 30s")
			took += time.Since(start)
			rounds++
			screen.Press("\x03").WaitForEnd(0)
		}
	}

	b.ReportMetric(float64(took.Milliseconds())/float64(rounds), "ms/start")
	b.ReportMetric(0, "ns/op") // the loop also waits for the program to end
	if info, err := os.Stat(built.Program); err == nil {
		b.ReportMetric(float64(info.Size())/(1<<20), "MiB/binary")
	}
}

// The tools that people use instead of dlxtop.

// shovel moves everything with a dynamic shovel that waits for confirms. Its settings are those of the web UI's "Move
// messages", whose address amqp:///VHOST is a connection inside the broker. It ends when all messages have arrived.
func (c *bench) shovel(from, to, address string) {
	c.Helper()
	c.shovels++ // a shovel that ends with its last message may remain a while longer
	n := manage.Of(c, c.node.API())
	n.Done(n.DeclareShovel("/", fmt.Sprint("bench-", c.shovels), rabbithole.ShovelDefinition{
		SourceProtocol:      "amqp091",
		SourceURI:           rabbithole.URISet{address},
		SourceQueue:         from,
		SourceDeleteAfter:   "queue-length",
		SourcePrefetchCount: 1000,
		DestinationProtocol: "amqp091",
		DestinationURI:      rabbithole.URISet{address},
		DestinationQueue:    to,
		AckMode:             "on-confirm",
	}))

	c.await(to)
}

// getLoop gets the first messages one by one, as many tools do.
func (c *bench) getLoop(messages int) {
	c.Helper()
	for range messages {
		_, ok, err := c.channel.Get(benchFailed, false)
		must.Do(c, err)
		must.That(c, ok, "no message")
	}
}

// getByAPI gets the first messages with the management API, as the web UI does.
func getByAPI(b *testing.B, n *demo.Node, queue string, messages int) {
	b.Helper()
	body := fmt.Sprintf(`{"count":%d,"ackmode":"ack_requeue_true","encoding":"auto"}`, messages)
	response, err := http.Post(n.API()+"/api/queues/%2F/"+queue+"/get", "application/json", strings.NewReader(body))
	must.Do(b, err)
	defer response.Body.Close()
	var got []struct{ Payload string }
	err = json.NewDecoder(response.Body).Decode(&got)
	must.Do(b, err)
	must.Equal(b, len(got), messages, "messages")
}
