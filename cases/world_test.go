package cases

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	rabbithole "github.com/michaelklishin/rabbit-hole/v2"
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
	"github.com/dlxtop/dlxtop/internal/shared"
	"github.com/dlxtop/dlxtop/journal"
	"github.com/dlxtop/dlxtop/mgmt"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/build"
	"github.com/dlxtop/dlxtop/model/findings"
	"github.com/dlxtop/dlxtop/model/mend"
)

// patience bounds every wait, on a busy machine.
const patience = time.Minute

// Statistics come every second instead of every five.
const settings = "collect_statistics_interval = 1000"

var (
	testNode = shared.Node{Options: demo.Options{
		Settings: settings, Plugins: []string{"rabbitmq_shovel", "rabbitmq_shovel_management"},
	}}
	played atomic.Int64 // situations, for the names of their vhosts
)

func TestMain(m *testing.M) { os.Exit(testNode.Run(m)) }

// world is a vhost with the queues and the workers of one situation.
type world struct {
	*testing.T
	node    *demo.Node
	vhost   string
	channel *amqp.Channel // in confirm mode
	source  *mgmt.Client
	home    string

	workers map[string]func() // by queue: ends it
	sync.Mutex
	got []string // what workers got, as "QUEUE ID", in order
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{T: t, node: testNode.Get(t), home: t.TempDir(), workers: map[string]func(){}}
	w.vhost = manage.VHost(t, w.node.API(), fmt.Sprintf("case-%d", played.Add(1)))
	w.channel = w.open()
	w.source = must.Get(mgmt.New(mgmt.Options{URL: w.node.API(), VHost: w.vhost, Timeout: patience}))(t)
	t.Cleanup(w.source.Close)
	t.Cleanup(w.stop)

	return w
}

func (w *world) open() *amqp.Channel {
	w.Helper()
	return dial.Channel(w, w.node.AMQP()+w.vhost)
}

func (w *world) declare(parts string, more ...build.Part) {
	w.Helper()
	s := build.Broker(w.node.Version(), append([]build.Part{build.Text(parts)}, more...)...)
	for _, p := range s.Policies {
		manage.Of(w, w.node.API()).SetPolicy(p.Operator, rabbithole.Policy{
			Vhost: w.vhost, Name: p.Name, Pattern: p.Pattern, ApplyTo: p.ApplyTo, Priority: int(p.Priority),
			Definition: rabbithole.PolicyDefinition(p.Definition),
		})
	}

	for _, x := range s.Exchanges {
		if x.Name != "" {
			must.Do(w, w.channel.ExchangeDeclare(x.Name, x.Type, true, false, x.Internal, false, amqp.Table(x.Arguments)))
		}
	}

	for i := range s.Queues {
		w.declareQueue(&s.Queues[i])
	}

	for _, b := range s.Bindings {
		bind := w.channel.QueueBind
		if b.ToExchange {
			bind = w.channel.ExchangeBind
		}
		must.Do(w, bind(b.Destination, b.RoutingKey, b.Source, false, amqp.Table(b.Arguments)))
	}

	for _, q := range s.Queues {
		if q.Consumers.Or(0) > 0 {
			w.work(q.Name, acks)
		}
	}
}

func (w *world) declareQueue(q *model.Queue) {
	w.Helper()
	must.That(w, q.Policy == "", "%s: a policy is a part of its own (build.UserPolicy)", q.Name)
	if q.Type != model.Classic {
		q.Arguments["x-queue-type"] = string(q.Type)
	}
	must.Get(w.channel.QueueDeclare(q.Name, q.Durable, q.AutoDelete, false, false, amqp.Table(q.Arguments)))(w)
}

type action func(channel *amqp.Channel, d amqp.Delivery) error

func holds(*amqp.Channel, amqp.Delivery) error        { return nil }
func acks(_ *amqp.Channel, d amqp.Delivery) error     { return d.Ack(false) }
func rejects(_ *amqp.Channel, d amqp.Delivery) error  { return d.Reject(false) }
func requeues(_ *amqp.Channel, d amqp.Delivery) error { return d.Nack(false, true) }
func returns(_ *amqp.Channel, d amqp.Delivery) error  { return d.Reject(true) } // counts on each version

// slowly returns an action after a pause, for endless cycles.
func slowly(do action) action { return after(20*time.Millisecond, do) }

func after(pause time.Duration, do action) action {
	return func(channel *amqp.Channel, d amqp.Delivery) error {
		time.Sleep(pause)
		return do(channel, d)
	}
}

// republishes publishes the message unchanged but for further headers, and acknowledges it, like workers that retry by
// themselves.
func republishes(exchange, key string, headers amqp.Table) action {
	return func(channel *amqp.Channel, d amqp.Delivery) error {
		again := amqp.Table{}
		maps.Copy(again, d.Headers)
		maps.Copy(again, headers)
		err := channel.Publish(exchange, key, false, false, amqp.Publishing{
			Headers: again, MessageId: d.MessageId, Body: d.Body, DeliveryMode: amqp.Persistent,
		})
		if err != nil {
			return err
		}
		return d.Ack(false)
	}
}

// work starts a worker of a queue, in place of the previous one.
func (w *world) work(queue string, do action) {
	w.Helper()
	w.leave(queue)
	w.workers[queue] = dial.Work(w, w.node.AMQP()+w.vhost, queue, 1, func(d amqp.Delivery) {
		w.Lock()
		w.got = append(w.got, queue+" "+d.MessageId)
		w.Unlock()
		_ = do(d.Acknowledger.(*amqp.Channel), d) // an error when its channel was closed
	})
}

// leave ends the worker of a queue.
func (w *world) leave(queue string) {
	if end := w.workers[queue]; end != nil {
		end()
		delete(w.workers, queue)
	}
}

func (w *world) gone(queue string) {
	w.Helper()
	w.leave(queue)
	must.Get(w.channel.QueueDelete(queue, false, false, false))(w)
}

func (w *world) stop() {
	for queue := range w.workers {
		w.leave(queue)
	}
}

// seen returns what workers have got so far, as "QUEUE ID", in order.
func (w *world) seen() []string {
	w.Lock()
	defer w.Unlock()
	return slices.Clone(w.got)
}

func (w *world) awaitSeen(queue, id string, n int) {
	w.Helper()
	must.Await(w, fmt.Sprintf("%s gets %s %d times", queue, id, n), func() bool {
		times := 0
		for _, line := range w.seen() {
			if line == queue+" "+id {
				times++
			}
		}
		return times >= n
	})
}

// publish publishes a message and waits until the broker confirms or refuses it.
func (w *world) publish(exchange, key, id string, change ...func(*amqp.Publishing)) (taken bool) {
	w.Helper()
	p := amqp.Publishing{MessageId: id, Body: []byte("{}"), DeliveryMode: amqp.Persistent}
	for _, c := range change {
		c(&p)
	}
	return dial.Send(w, w.channel, exchange, key, p)
}

func (w *world) depth(queue string, want int) {
	w.Helper()
	must.Await(w, fmt.Sprintf("%d messages in %s", want, queue),
		func() bool { return depth.Of(w, w.channel, queue) == want })
}

// topology returns what a poll shows, once statistics are complete for every queue and count the workers that there
// are.
func (w *world) topology() (t *model.Topology, known bool) {
	w.Helper()
	snapshot := must.Get(w.source.Snapshot(w.Context()))(w)
	for _, q := range snapshot.Queues {
		if w.workers[q.Name] != nil && q.Consumers == model.Some[int64](0) {
			return nil, false
		}
		if q.PolicyDefinition == nil || !q.Consumers.Known() || !q.Ready.Known() && q.Type != model.Stream {
			return nil, false
		}
	}

	return model.NewTopology(snapshot), true
}

func (w *world) dlxtop(args ...string) (status int, out, errs string) {
	w.Helper()
	path := filepath.Join(w.home, journal.File)
	var stdout, stderr bytes.Buffer
	program := cli.Program{
		In: strings.NewReader(""), Out: &stdout, Err: &stderr, Env: func(string) string { return "" },
		Source: func(c config.Connection) (cli.Source, error) {
			return mgmt.New(mgmt.Options{
				URL: c.API, User: c.User, Password: c.Password, VHost: c.VHost, Roles: c.Roles, TLS: c.APITLS, Timeout: patience,
			})
		},
		Broker: func(c config.Connection, j cli.Journal, reads cli.Rereads) (cli.Broker, error) {
			o := broker.Options{
				URL: c.AMQP, Timeout: patience, Looks: journal.NewPeekLedger(path), Turns: journal.NewTurns(c.Command),
				Reread: reads.Topology, Totals: reads.Totals, JQ: mend.InProcess{},
			}
			if j != nil {
				o.Journal = j.(broker.Recorder)
			}
			return broker.New(o)
		},
		Files:   export.Files{},
		JQ:      mend.InProcess{},
		Journal: func(string) cli.Journal { return journal.New(journal.Options{Path: path}) },
	}

	ctx, cancel := context.WithTimeout(w.Context(), patience)
	defer cancel()
	status = program.Run(ctx, append(args, "--url", w.node.AMQP()+w.vhost, "--api", w.node.API()))
	return status, stdout.String(), stderr.String()
}

// situation is one that a user has reported: what there is, what happens, and what dlxtop must say about it.
type situation struct {
	Name     string
	From     string            // the public report; "": only its script says what must be
	When     string            // "FACT" or "not FACT", of model.Behaviour; "": on every version
	Parts    string            // as build.Text takes them
	more     []build.Part      // what has no text
	Script   string            // steps that happen before traffic
	Messages map[string]string // what is not as in other messages of the script, by ID: JSON of an export
	traffic  func(*world)      // nil: none
	Says     []string          // "LEVEL CODE QUEUE", and after ": " words of its sentences. Other errors are false ones
	Silent   []string          // "CODE", or "CODE QUEUE"
	Replays  []replay
	Flows    []string     // which flows there are; nil: not checked
	check    func(*world) // what has no field above
}

// replay is what `dlxtop replay` must do with a queue. Before messages are sent, workers acknowledge what they get.
type replay struct {
	Queue string
	To    string   // as --to takes it; "" is auto
	Reach string   // the queues of the dry run, separated by spaces; "refused"
	Warns string   // words that the dry run must say
	Got   []string // what workers get afterwards, as "QUEUE ID", sorted; nil: it is only a dry run
}

// play plays situations, each in its own vhost, all at once: they mostly wait for the broker.
func play(t *testing.T, situations ...situation) {
	t.Helper()
	t.Parallel()
	for _, s := range situations {
		t.Run(s.Name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			if !s.isOf(model.BehaviourOf(model.ParseVersion(w.node.Version()))) {
				t.Skip("not on RabbitMQ " + w.node.Version())
			}

			w.declare(s.Parts, s.more...)
			w.follow(&s)
			if s.traffic != nil {
				s.traffic(w)
			}

			if s.From != "" {
				w.judge(&s)
			}
			for _, r := range s.Replays {
				w.replay(r)
			}
			if s.Flows != nil {
				w.flows(s.Flows)
			}
			if s.check != nil {
				s.check(w)
			}
		})
	}
}

// isOf reports whether a situation is one of a version.
func (s *situation) isOf(b model.Behaviour) bool {
	fact, isNot := strings.CutPrefix(s.When, "not ")
	return s.When == "" || reflect.ValueOf(b).FieldByName(fact).Bool() != isNot
}

// flows checks which flows there are.
func (w *world) flows(want []string) {
	w.Helper()
	topology, known := w.topology()
	must.That(w, known, "statistics of all queues")
	assert.Same(w, want, build.Told(topology.Flows()))
}

// judge waits until the findings are those of the situation: recent events may not be in statistics yet.
func (w *world) judge(s *situation) {
	w.Helper()
	var found []findings.Finding
	var wrong []string
	defer func() {
		if w.Failed() {
			w.Log(strings.Join(wrong, "\n"))
			for _, f := range found {
				w.Logf("%s: %s [%s] -> %s", line(&f), f.Message, f.Evidence, f.Remedy)
			}
		}
	}()

	must.Await(w, "the findings are those of "+s.From, func() bool {
		topology, known := w.topology()
		if !known {
			wrong = []string{"statistics do not yet have all of every queue"}
			return false
		}

		found = findings.Of(topology)
		wrong = s.wrong(found)
		return len(wrong) == 0
	})
}

func line(f *findings.Finding) string { return fmt.Sprintf("%s %s %s", f.Level, f.Code, f.Queue) }

// wrong lists missing findings, and forbidden ones.
func (s *situation) wrong(found []findings.Finding) (wrong []string) {
	for _, want := range s.Says {
		head, words, _ := strings.Cut(want, ": ")
		if !slices.ContainsFunc(found, func(f findings.Finding) bool {
			return line(&f) == head && strings.Contains(f.Message+"\n"+f.Evidence+"\n"+f.Remedy, words)
		}) {
			wrong = append(wrong, "missing: "+want)
		}
	}

	for f := range model.Each(found) {
		if f.Level == findings.LevelError && !slices.ContainsFunc(s.Says, func(want string) bool {
			head, _, _ := strings.Cut(want, ": ")
			return head == line(f)
		}) {
			wrong = append(wrong, "a false error: "+line(f))
		}

		if slices.Contains(s.Silent, f.Code) || slices.Contains(s.Silent, f.Code+" "+f.Queue) {
			wrong = append(wrong, "must be silent: "+line(f))
		}
	}

	return wrong
}

func (w *world) replay(r replay) {
	w.Helper()
	args := []string{"replay", r.Queue, "-o", "json"}
	if r.To != "" {
		args = append(args, "--to", r.To)
	}

	status, out, errs := w.dlxtop(append(args, "--dry-run")...)
	var dry struct{ Recipients, Warnings []string }
	reach := "refused"
	if status == 0 {
		must.Do(w, json.Unmarshal([]byte(out), &dry))
		reach = strings.Join(dry.Recipients, " ")
	}

	assert.Equal(w, reach, r.Reach, "%v reaches %s, not %s, and warns %q: %s", args, reach, r.Reach, dry.Warnings, errs)
	assert.Contains(w, errs+strings.Join(dry.Warnings, "\n"), r.Warns)
	if r.Got == nil {
		return
	}
	for queue := range w.workers {
		w.work(queue, acks)
	}

	before := len(w.seen())
	w.runs(0, append(args, "--yes")...)
	must.Await(w, fmt.Sprintf("workers get %d messages", len(r.Got)),
		func() bool { return len(w.seen()) >= before+len(r.Got) })
	assert.List(w, slices.Sorted(slices.Values(w.seen()[before:])), r.Got, "%v: workers got", args)
}

// The systems of the demo work: with their traffic there is no error in any of them, except for a queue that is
// neglected on purpose.
func TestScenariosOfTheDemo(t *testing.T) {
	var situations []situation
	stuck := map[string][]string{"lifecycle": {"error worker-without-consumers example.delay.heaven: stuck in it"}}
	for _, scenario := range demo.Scenarios() {
		situations = append(situations, situation{
			Name: scenario.Name, From: "the demo", Says: stuck[scenario.Name],
			traffic: func(w *world) {
				ctx, cancel := context.WithCancel(w.Context())
				ended := make(chan error, 1) // room for the one result
				go func() { ended <- scenario.Run(ctx, w.node.AMQP()+w.vhost) }()
				w.Cleanup(func() {
					cancel()
					assert.Succeeds(w, <-ended)
				})

				must.Await(w, "all its queues are there", func() bool {
					t, known := w.topology()
					return known && len(t.Snapshot.Queues) >= len(scenario.Queues())
				})
			},
		})
	}

	play(t, situations...)
}
