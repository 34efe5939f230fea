package cli_test

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/creack/pty"
	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/dlxtop/dlxtop/broker"
	"github.com/dlxtop/dlxtop/cli"
	"github.com/dlxtop/dlxtop/cli/config"
	"github.com/dlxtop/dlxtop/demo"
	"github.com/dlxtop/dlxtop/export"
	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/depth"
	"github.com/dlxtop/dlxtop/internal/dial"
	"github.com/dlxtop/dlxtop/internal/manage"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/journal"
	"github.com/dlxtop/dlxtop/mgmt"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/mend"
)

// journalPath is the journal for all tests in this package.
var journalPath string

// node is the broker for all tests in this package; each test has its own vhost on it.
var node *demo.Node

func TestMain(m *testing.M) {
	os.Exit(testMain(m))
}

func testMain(m *testing.M) int {
	flag.Parse()
	if flag.Lookup("test.list").Value.String() != "" || flag.Lookup("test.fuzz").Value.String() != "" {
		return m.Run() // each process of a fuzz run would start its own broker, and parsers need none
	}
	dir, err := os.MkdirTemp("", "dlxtop-cli-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}

	defer os.RemoveAll(dir)
	journalPath = filepath.Join(dir, "journal.db")
	if node, err = demo.Start(context.Background(), demo.Options{}); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}

	defer node.Stop()
	return m.Run()
}

// patience bounds every wait of a test on a busy machine.
const patience = 2 * time.Minute

func behaviour() model.Behaviour { return model.BehaviourOf(model.ParseVersion(node.Version())) }

// program is dlxtop as wired by main.go, with the test's streams.
func program(in io.Reader, out, errs io.Writer) *cli.Program {
	var p *cli.Program
	p = &cli.Program{
		In: in, Out: out, Err: errs, Env: func(string) string { return "" },
		Source: func(c config.Connection) (cli.Source, error) {
			return mgmt.New(mgmt.Options{
				URL: c.API, Others: c.APIHosts, User: c.User, Password: c.Password, VHost: c.VHost, Roles: c.Roles,
				Renamed: c.Renamed,
				TLS:     c.APITLS, Timeout: patience,
			})
		},
		Broker: func(c config.Connection, j cli.Journal, reads cli.Rereads) (cli.Broker, error) {
			o := broker.Options{
				URL: c.AMQP, Others: c.Hosts, TLS: c.TLS, Timeout: patience, Full: c.FullJournal,
				Looks: journal.NewPeekLedger(journalPath), Turns: journal.NewTurns(c.Command),
				Reread: reads.Topology, Totals: reads.Totals, JQ: mend.InProcess{},
				Cluster: reads.Cluster,
			}

			if j != nil {
				o.Journal = j.(broker.Recorder)
			}
			if p.Store != nil {
				o.Store = p.Store(c).(broker.PeekStore)
			}

			return broker.New(o)
		},
		Files:   export.Files{},
		JQ:      mend.InProcess{},
		Journal: func(string) cli.Journal { return journal.New(journal.Options{Path: journalPath}) },
	}

	return p
}

type result struct {
	status      int
	out, stderr string
	args        []string
}

// slow is what a command says where it waits for statistics, or where AMQP is slow and it does not need that.
var slow = regexp.MustCompile(`^(waiting for at most 20s: RabbitMQ has no statistics yet of .*\n)?` +
	`(not checked that AMQP leads to the same cluster: \S+ did not answer within 3s\n)?$`)

// quiet reports whether a run printed only its output.
func (r result) quiet() bool { return slow.MatchString(r.stderr) }

// ends wants a run to end with a status, and these words on standard error.
func (r result) ends(t *testing.T, status int, says ...string) result {
	t.Helper()
	assert.That(t, r.status == status, "%q: exit status %d, want %d: %s%s", r.args, r.status, status, r.out, r.stderr)
	return r.says(t, says...)
}

// says wants these words on standard error, shows on standard output.
func (r result) says(t *testing.T, words ...string) result  { return r.has(t, r.stderr, words) }
func (r result) shows(t *testing.T, words ...string) result { return r.has(t, r.out, words) }

func (r result) has(t *testing.T, text string, words []string) result {
	t.Helper()
	for _, w := range words {
		assert.Contains(t, text, w, "%q", r.args)
	}
	return r
}

// refuses wants a run to end with a status and one sentence with these words instead of an output.
func (r result) refuses(t *testing.T, status int, words ...string) {
	t.Helper()
	assert.Equal(t, r.ends(t, status).out, "", "%q", r.args)
	checkSentence(t, r.stderr, words...)
}

// account wants these counts of an action: planned, moved, dropped, refused, returned, unknown.
func (r result) account(t *testing.T, counts string) accountContract {
	t.Helper()
	account := decode[accountContract](t, r)
	assert.Equal(t, account.counts(), counts, "%q: %s%s", r.args, r.out, r.stderr)
	return account
}

// words returns the arguments of a command line, whose first text may hold several: "replay failed --to", to.
func words(line []string) []string {
	if len(line) == 0 {
		return nil
	}
	return append(strings.Fields(line[0]), line[1:]...)
}

// run runs a command line that names its broker itself.
func run(t *testing.T, args ...string) result {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	r := runChanged(ctx, func(*cli.Program) {}, args...)
	must.That(t, ctx.Err() == nil, "%v took too long: %s", args, r.stderr)
	return r
}

func runChanged(ctx context.Context, change func(*cli.Program), line ...string) result {
	return runWords(ctx, change, words(line))
}

// runWords takes each word as it is, the first one, too.
func runWords(ctx context.Context, change func(*cli.Program), args []string) result {
	var out, errs bytes.Buffer
	p := program(strings.NewReader(""), &out, &errs)
	change(p)
	status := p.Run(ctx, args)
	return result{status, out.String(), errs.String(), args}
}

func changedBroker(change func(cli.Broker) cli.Broker) func(*cli.Program) {
	return func(p *cli.Program) {
		open := p.Broker
		p.Broker = func(c config.Connection, j cli.Journal, reads cli.Rereads) (cli.Broker, error) {
			b, err := open(c, j, reads)
			return change(b), err
		}
	}
}

// decode parses a run's output by the contract: no unknown fields, and nothing after the object.
func decode[T any](t *testing.T, r result) T {
	t.Helper()
	var v T
	decoder := json.NewDecoder(strings.NewReader(r.out))
	decoder.DisallowUnknownFields()
	err := decoder.Decode(&v)
	must.That(t, err == nil, "%v in %s (%s)", err, r.out, r.stderr)
	rest, _ := io.ReadAll(decoder.Buffered())
	must.That(t, len(bytes.TrimSpace(rest)) == 0, "after the object there is %q", rest)

	return v
}

// configured writes a configuration file and returns an environment that leads to it.
func configured(t *testing.T, text string) map[string]string {
	t.Helper()
	dir := t.TempDir()
	must.Do(t, os.Mkdir(filepath.Join(dir, "dlxtop"), 0o700))
	must.Do(t, os.WriteFile(filepath.Join(dir, "dlxtop", "config.toml"), []byte(text), 0o600))
	return map[string]string{"XDG_CONFIG_HOME": dir}
}

// behindProxy returns the address of a server before the management API, without credentials: serve answers a request,
// or lets the proxy to the API do so.
func behindProxy(t *testing.T, serve func(proxy http.Handler, w http.ResponseWriter, r *http.Request)) string {
	t.Helper()
	target := must.Get(url.Parse(node.API()))(t)
	target.User = nil
	proxy := httputil.NewSingleHostReverseProxy(target)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { serve(proxy, w, r) }))
	t.Cleanup(server.Close)
	return server.URL
}

func openPTY(t *testing.T) (master, tty *os.File) {
	t.Helper()
	master, tty, err := pty.Open()
	must.Do(t, err)
	t.Cleanup(func() { tty.Close(); master.Close() })
	return master, tty
}

// vhost is a test's virtual host, with a connection to it that does not use dlxtop.
type vhost struct {
	t       *testing.T
	name    string
	channel *amqp.Channel
}

// newVHost returns a vhost with durable classic queues, named after the test.
func newVHost(t *testing.T, queues ...string) *vhost {
	t.Helper()
	return newNamedVHost(t, strings.ReplaceAll(t.Name(), "/", "-"), queues...)
}

func newNamedVHost(t *testing.T, name string, queues ...string) *vhost {
	t.Helper()
	v := &vhost{t: t, name: manage.VHost(t, node.API(), name)}
	v.channel = dial.Channel(t, v.url())
	v.queues(queues...)
	return v
}

func (v *vhost) url() string { return node.AMQP() + url.PathEscape(v.name) }

// run runs a command on the vhost, with JSON output unless -o says otherwise.
func (v *vhost) run(args ...string) result {
	v.t.Helper()
	return run(v.t, v.asJSON(args)...)
}

// asJSON returns a command line on the vhost with JSON output.
func (v *vhost) asJSON(args []string) []string { return v.on(withJSON(args)...) }

func withJSON(args []string) []string {
	args = words(args)
	if args[0] != "export" && args[0] != "snapshot" && !slices.Contains(args, "-o") {
		args = append(args, "-o", "json")
	}
	return args
}

func (v *vhost) declare(name string, arguments amqp.Table) {
	v.t.Helper()
	must.Get(v.channel.QueueDeclare(name, true, false, false, false, arguments))(v.t)
}

// queues makes durable classic queues.
func (v *vhost) queues(names ...string) {
	v.t.Helper()
	for _, name := range names {
		v.declare(name, nil)
	}
}

// publish publishes one message and waits for its confirm.
func (v *vhost) publish(exchange, key string, message amqp.Publishing) {
	v.t.Helper()
	must.That(v.t, dial.Send(v.t, v.channel, exchange, key, message), "the broker did not take a message")
}

// fill publishes messages with the ids m-1, m-2, …
func (v *vhost) fill(queue string, n int) {
	v.t.Helper()
	messages := make([]amqp.Publishing, n)
	for i := range messages {
		messages[i] = amqp.Publishing{MessageId: fmt.Sprintf("m-%d", i+1), Body: fmt.Appendf(nil, `{"n":%d}`, i+1)}
	}
	dial.Publish(v.t, v.channel, queue, messages...)
}

// count returns how many messages are ready in a queue, by a passive declare.
func (v *vhost) count(queue string) int {
	v.t.Helper()
	return depth.Of(v.t, v.channel, queue)
}

// holds waits until a queue has this many ready messages: a look returns what it held shortly after its channel is
// closed.
func (v *vhost) holds(queue string, n int) *vhost {
	v.t.Helper()
	must.Await(v.t, fmt.Sprintf("%s holds %d", queue, n), func() bool { return v.count(queue) == n })
	return v
}

func (v *vhost) counts(queues ...string) map[string]int {
	v.t.Helper()
	counts := map[string]int{}
	for _, q := range queues {
		counts[q] = v.count(q)
	}
	return counts
}

func (v *vhost) take(queue string) []amqp.Delivery {
	v.t.Helper()
	return dial.Drain(v.t, v.channel, queue)
}

func ids(deliveries []amqp.Delivery) string {
	var names []string
	for _, d := range deliveries {
		names = append(names, d.MessageId)
	}
	return strings.Join(names, " ")
}
