package bench

import (
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/dlxtop/dlxtop/demo"
	"github.com/dlxtop/dlxtop/internal/built"
	"github.com/dlxtop/dlxtop/internal/must"
)

const (
	largeTurn = 12 * time.Second // for watching each screen
	// largeRun is how long Flows is watched. The broker alone is watched for a part of it before and after. Several polls
	// happen in that time.
	largeRun   = 5 * time.Minute
	largeAlone = largeRun / 5
)

type definitions struct {
	VHosts      []any `json:"vhosts,omitempty"`
	Permissions []any `json:"permissions,omitempty"`
	Exchanges   []any `json:"exchanges"`
	Queues      []any `json:"queues"`
	Bindings    []any `json:"bindings"`
}

type fields map[string]any

func (d *definitions) vhost(name string) {
	d.VHosts = append(d.VHosts, fields{"name": name})
	d.Permissions = append(d.Permissions, fields{
		"user": "guest", "vhost": name, "configure": ".*", "write": ".*", "read": ".*",
	})
}

func (d *definitions) exchange(vhost, name, kind string) {
	d.Exchanges = append(d.Exchanges, fields{
		"vhost": vhost, "name": name, "type": kind, "durable": true, "auto_delete": false, "internal": false,
		"arguments": fields{},
	})
}

func (d *definitions) queue(vhost, name string, arguments fields) {
	d.Queues = append(d.Queues, fields{
		"vhost": vhost, "name": name, "durable": true, "auto_delete": false, "arguments": arguments,
	})
}

func (d *definitions) bind(vhost, exchange, key, queue string) {
	d.Bindings = append(d.Bindings, fields{
		"vhost": vhost, "source": exchange, "destination": queue, "destination_type": "queue", "routing_key": key,
		"arguments": fields{},
	})
}

// orderly returns the definitions of 3,000 flows, each with a worker, its retry buffer and its failed queue.
func orderly() (d definitions, flow string) {
	for _, name := range []string{"master", "retry", "failed"} {
		d.exchange("/", name, "topic")
	}

	for i := range 3000 {
		name := fmt.Sprintf("service-%04d", i)
		d.queue("/", name, fields{"x-dead-letter-exchange": "failed", "x-dead-letter-routing-key": name})
		d.queue("/", name+".retry", fields{
			"x-dead-letter-exchange": "master", "x-dead-letter-routing-key": name, "x-message-ttl": 30_000,
		})
		d.queue("/", name+".failed", fields{})
		d.bind("/", "master", name, name)
		d.bind("/", "retry", name, name+".retry")
		d.bind("/", "failed", name, name+".failed")
	}

	return d, "service-1500"
}

// tangled returns definitions of 10,000 queues and 30,000 bindings in 200 vhosts, with dead letters going anywhere.
func tangled() (d definitions, flow string) {
	random := rand.New(rand.NewPCG(1, 2))
	for v := range 200 {
		vhost := fmt.Sprintf("vhost-%03d", v)
		d.vhost(vhost)
		exchange := func() string { return fmt.Sprintf("exchange-%d", random.IntN(10)) }
		for i := range 10 {
			d.exchange(vhost, fmt.Sprintf("exchange-%d", i), []string{"direct", "topic", "fanout"}[i%3])
		}

		for i := range 50 {
			arguments := fields{}
			if random.IntN(2) == 0 {
				arguments["x-dead-letter-exchange"] = exchange()
			}
			if random.IntN(3) == 0 {
				arguments["x-message-ttl"] = 60_000 + random.IntN(60_000)
			}

			d.queue(vhost, fmt.Sprintf("queue-%02d", i), arguments)
			for range 3 {
				key := fmt.Sprintf("key.%d", random.IntN(30))
				d.bind(vhost, exchange(), key, fmt.Sprintf("queue-%02d", i))
			}
		}
	}

	return d, ""
}

// BenchmarkLarge measures the dashboard's cost on large brokers, screen by screen: the share of one core that dlxtop
// uses, and the broker beyond its idle use; the memory of dlxtop; and the time to the first flow.
func BenchmarkLarge(b *testing.B) {
	for _, topology := range []struct {
		name string
		make func() (definitions, string)
	}{{"3000Flows", orderly}, {"Tangled", tangled}} {
		b.Run(topology.name, func(b *testing.B) {
			for b.Loop() {
				d, flow := topology.make()
				measureLarge(b, d, flow)
			}
			b.ReportMetric(0, "ns/op")
		})
	}
}

func measureLarge(b *testing.B, d definitions, flow string) {
	n := must.Get(demo.Start(b.Context(), demo.Options{}))(b)
	defer n.Stop()
	importAll(b, n, d)
	broker := brokerProcess(b, n)
	watch(b, broker, largeTurn) // lets it finish its work after the import
	alone := watch(b, broker, largeAlone)
	answers := answerTime(b, n)
	flows := flowsTime(b, n)

	rows := []string{
		fmt.Sprintf("| %s queues, RabbitMQ %s | dlxtop | broker, more than alone | memory | age |",
			fmt.Sprint(len(d.Queues)), n.Version()), "|---|---|---|---|---|",
	}

	command := exec.Command(built.Program, "--url", n.AMQP(), "--api", n.API())

	if flow != "" {
		command.Args[2] += "%2f"
	}

	began := time.Now()
	screen := built.Start(b, command)
	screen.WaitFor("FLOW")
	must.Await(b, "the first flow", func() bool { return firstFlow.MatchString(screen.Text()) })
	first := time.Since(began)

	pid := command.Process.Pid
	for _, at := range []struct{ name, keys, shows string }{
		{"Flows", "1", "FLOW"},
		{"Queues", "2", "QUEUE"},
		{"Failed", "3", ""},
		{"Findings", "4", ""},
		{"Journal", "5", ""},
		{"a flow", "1/" + flow + "\r\r", ""},
	} {
		screen.Press(at.keys).WaitFor(at.shows)
		time.Sleep(2 * time.Second) // the first frames of a screen cost more than staying on it
		shares := watchTwo(b, pid, broker, largeTurn)
		age := headerAge.FindString(screen.Text())
		rows = append(rows, fmt.Sprintf("| %s | %.1f %% | %+.1f %% | %.0f MB | %s |", at.name, 100*shares[0],
			100*(shares[1]-alone), memoryOf(b, pid, "VmRSS"), age))
		b.ReportMetric(100*shares[0], strings.ReplaceAll(at.name, " ", "-")+"-%")
	}

	screen.Press("\x1b\x1b1").WaitFor("FLOW")
	shares := watchTwo(b, pid, broker, largeRun)
	resident := memoryOf(b, pid, "VmRSS")
	screen.Press("\x03").WaitForEnd(0)
	alone = (alone + watch(b, broker, largeAlone)) / 2
	rows = append(rows, fmt.Sprintf("| Flows for %v | %.1f %% | %+.1f %% | %.0f MB | |", largeRun, 100*shares[0],
		100*(shares[1]-alone), resident))
	b.ReportMetric(100*(shares[1]-alone), "broker-%")

	b.Logf("\n%s\nthe broker alone: %.1f %%; its answers take %v together, the first flow stood on the screen after "+
		"%v (%.2f times), and `dlxtop flows` took %v (%.2f times)", strings.Join(rows, "\n"), 100*alone,
		answers.Round(time.Millisecond), first.Round(time.Millisecond), first.Seconds()/answers.Seconds(),
		flows.Round(time.Millisecond), flows.Seconds()/answers.Seconds())
}

var (
	firstFlow = regexp.MustCompile(`(?m)^ ▸ \S`)
	headerAge = regexp.MustCompile(`live \S+|(\d+m )?\S+ old`)
)

// importAll imports definitions, as an operator does from a file.
func importAll(b *testing.B, n *demo.Node, d definitions) {
	b.Helper()
	body := must.Get(json.Marshal(d))(b)
	file := filepath.Join(b.TempDir(), "definitions.json")
	must.Do(b, os.WriteFile(file, body, 0o644))
	said, err := n.Control(b.Context(), "import_definitions", file)
	must.That(b, err == nil, "%v\n%s", err, said)
}

// flowsTime returns how long `dlxtop flows -o json` takes, from start to end.
func flowsTime(b *testing.B, n *demo.Node) time.Duration {
	b.Helper()
	command := built.In(b.TempDir(), "flows", "-o", "json", "--url", n.AMQP(), "--api", n.API())
	began := time.Now()
	runs(b, command)
	return time.Since(began)
}

// answerTime returns how long the requests for dlxtop's first screen take, one after the other.
func answerTime(b *testing.B, n *demo.Node) time.Duration {
	b.Helper()
	began := time.Now()
	for _, path := range []string{"overview", "queues", "exchanges", "bindings", "policies", "operator-policies"} {
		response := must.Get(http.Get(n.API() + "/api/" + path))(b)
		must.Get(io.Copy(io.Discard, response.Body))(b)
		response.Body.Close()
	}
	return time.Since(began)
}
