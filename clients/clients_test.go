//go:build linux

package clients

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/dlxtop/dlxtop/internal/built"
	"github.com/dlxtop/dlxtop/model"
)

// client is an application on a framework, and what to expect of it. Its program is in apps, which describes it.
type client struct {
	name    string
	module  string   // a Go module in apps, which is built
	command []string // otherwise how the program is run, in apps
	extra   []string // of its environment

	workers  []string // the queues that its applications consume
	failed   string   // where its failures end: a queue, or a pattern with * for the fullest one
	retry    string   // the buffer in which they wait before, or, with waits, one in which they wait a short time
	apart    bool     // only the messages tie the failed queue to its worker: no setting of the broker does
	waits    bool     // nothing ends anywhere: failed is a buffer
	failures []string // what dlxtop must read of them, one or the other
	tries    []string // what it must say about them, one after the other
	soon     []string // environment for messages that wait a short time
	to       string   // where its messages should go, when dlxtop must ask
	errors   []string // expected findings of this level: "CODE QUEUE"

	unable func(model.Version) string // why it cannot run on a version of RabbitMQ; nil: it runs on all

	without map[check]string // checks that do not apply, and why

	cases []clientCase
}

// clientCase is something else that an application does, and what dlxtop must do right with it.
type clientCase struct {
	name        string
	environment []string
	check       func(*clientRun) error
}

// check is one thing that dlxtop must do right with an application.
type check string

const (
	flowCheck    check = "flow"
	failureCheck check = "failure"
	triesCheck   check = "tries"
	dueCheck     check = "due"
	errorsCheck  check = "no false error"
	undoCheck    check = "undo"
	replayCheck  check = "replay"
	canaryCheck  check = "canary"
)

// allChecks are those of an application whose messages end nowhere.
func allChecks(why string) map[check]string {
	without := map[check]string{}
	for _, c := range checks {
		without[c] = why
	}
	return without
}

// smallFrames: RabbitMQ 4.1 and newer refuse amqplib before 0.10.7, which offers frames of 4,096 bytes.
func smallFrames(v model.Version) string {
	if v.AtLeast(4, 1) {
		return "its amqplib cannot connect to RabbitMQ 4.1 and newer (frame_max 4096)"
	}
	return ""
}

var checks = []check{flowCheck, failureCheck, triesCheck, dueCheck, errorsCheck, undoCheck, replayCheck, canaryCheck}

var clients = []client{
	{
		name: "Watermill", module: "watermill",
		workers: []string{"wm_orders"}, failed: "wm_poison", apart: true,
		failures: []string{"carrier api: 503 service unavailable"},
		without: map[check]string{
			triesCheck: "it tries again in memory, which leaves no trace",
			dueCheck:   "nothing waits in a queue",
		},
	},
	{
		name: "Machinery", module: "machinery", soon: []string{"SOON=1"},
		workers: []string{"machinery_tasks"}, failed: "delay.23????.*", waits: true,
		retry: "delay.1????.*",
		without: map[check]string{
			failureCheck: "it writes no error into a task",
			triesCheck:   "it counts down from a number that the task does not keep",
		},
	},
	{
		name: "Rascal", command: []string{"node", "node/rascal.js"},
		workers: []string{"registration:user:save", "registration:user:delete"}, failed: "dead_letters:registration",
		retry: "delay:5s", failures: []string{"connect ETIMEDOUT db:5432", "invalid user id"},
		tries: []string{"", "", "", "3", "3", "3"}, // messages rejected at once come first
	},
	{
		name: "golevelup/nestjs-rabbitmq", command: []string{"node", "node/golevelup.js"},
		workers: []string{"shop.order"}, failed: "shop.order.dlq", failures: []string{"rejected"},
		without: map[check]string{triesCheck: "it tries once", dueCheck: "nothing waits in a queue"},
		cases:   []clientCase{{"a handler that requeues for ever", []string{"LOOP=1"}, checkLoop}},
	},
	symfony("Symfony Messenger in PHP's format"), symfony("Symfony Messenger in JSON", "JSON=1"),
	{
		name: "php-amqplib", command: []string{"php", "php/amqplib.php"},
		workers: []string{"billing.invoice"}, failed: "billing.parking", retry: "billing.invoice.wait", apart: true,
		failures: []string{"SQLSTATE[40001] deadlock found"}, tries: []string{"3"},
	},
	{
		name: "Celery", command: []string{"/usr/bin/python3", "python/celery_app.py"},
		workers: []string{"orders"}, failed: "orders.dead", tries: []string{"3"},
		without: map[check]string{
			failureCheck: "it writes no error into a task",
			dueCheck:     "its worker holds what waits",
		},
		cases: []clientCase{
			{"a task that kills its worker (acks_late)", []string{"CRASH=1"}, checkLoop},
			{"tasks that have expired", []string{"EXPIRES=30", "RETRIES=0"}, checkExpired},
		},
	},
	{
		name: "Celery with native delay", command: []string{"trixie-python3", "python/celery_app.py"},
		extra:   []string{"QUORUM=1", "DELAY=4"}, // one level: RabbitMQ 3.10 loses second retries in two (celery.md)
		workers: []string{"orders"}, failed: "orders.dead", retry: "celery_delayed_2", tries: []string{"3"},
		without: map[check]string{failureCheck: "it writes no error into a task"},
	},
	{
		name: "pika", command: []string{"/usr/bin/python3", "python/pika_app.py"},
		workers: []string{"RetryQueue"}, failed: "FailedQueue", retry: "test-delay", failures: []string{"rejected"},
		without: map[check]string{triesCheck: "it tries once"},
	},
	{
		name: "Bunny", command: []string{"ruby", "ruby/bunny.rb"},
		workers: []string{"souls.heaven"}, failed: "souls.limbo", retry: "souls.life", failures: []string{"rejected"},
		without: map[check]string{triesCheck: "it tries once"},
		cases:   []clientCase{{"exclusive queues", []string{"EXCLUSIVE=1"}, checkExclusive}},
	},
	{
		name: "BunnyBus", command: []string{"node", "node/bunnybus.js"}, unable: smallFrames,
		workers: []string{"bb.orders"}, failed: "bb.orders_error", apart: true,
		failures: []string{"has no customer", "message passed retry limit of 2"},
		tries:    []string{"", "", "", "", "", ""},
		without: map[check]string{
			triesCheck: "it counts what came after the first try, and of a rejection nothing",
			dueCheck:   "nothing waits in a queue",
		},
		cases: []clientCase{{"a message whose key alone says what it is", []string{"KEY=1"}, checkKey}},
	},
	{
		name: "rabbit-queue", command: []string{"node", "node/rabbitqueue.js"},
		workers: []string{"rq_jobs"}, failed: "rq_jobs_dlq", apart: true, failures: []string{"card declined: 4002"},
		without: map[check]string{
			triesCheck: "it tries again in memory, which leaves no trace",
			dueCheck:   "nothing waits in a queue",
		},
	},
	{
		name: "Peanar", command: []string{"node", "node/peanar.js"}, unable: smallFrames,
		workers: []string{"pn.mail"}, failed: "pn.mail.error", retry: "pn.mail.retry", apart: true,
		failures: []string{"is full"},
		without:  map[check]string{triesCheck: "the failure is a new message, without a count"},
		cases:    []clientCase{{"a retry queue that is declared just before each rejection", nil, checkNoErrors}},
	},
	{
		name: "Moleculer", command: []string{"node", "node/moleculer.js"},
		without: allChecks("nothing is dead-lettered, by design"),
		cases:   []clientCase{{"queues with a TTL and without dead lettering", nil, checkNoErrors}},
	},
	{
		name: "RabbitMQ's Java client",
		command: []string{
			"java", "-cp", "/usr/share/java/amqp-client.jar:/usr/share/java/slf4j-api.jar:/usr/share/java/slf4j-nop.jar",
			"java/Ladder.java",
		},
		workers: []string{"jv.orders"}, failed: "jv.parking", retry: "jv.orders.wait", apart: true, to: "queue:jv.orders",
		failures: []string{"IllegalStateException stock service: 503"}, tries: []string{"3"},
	},
	anyEvent("AnyEvent::RabbitMQ"), anyEvent("AnyEvent::RabbitMQ, a text counts", "TEXT=1"),
	{
		name: "amqp-tools", command: []string{"bash", "shell/amqptools.sh"},
		workers: []string{"ct.jobs"}, failed: "ct.jobs.err", apart: true, to: "queue:ct.jobs",
		without: map[check]string{
			failureCheck: "it writes no headers",
			triesCheck:   "it writes no headers",
			dueCheck:     "nothing waits in a queue",
		},
		cases: []clientCase{{"amqp-consume, whose command fails", []string{"CONSUME=1"}, checkLoop}},
	},
	{
		name: "Qpid Proton, AMQP 1.0", command: []string{"/usr/bin/python3", "python/proton_app.py"},
		workers: []string{"qp.jobs"}, failed: "qp.dead", failures: []string{"rejected"},
		without: map[check]string{triesCheck: "it tries once", dueCheck: "nothing waits in a queue"},
		unable: func(v model.Version) string {
			if v.AtLeast(4, 0) {
				return ""
			}
			return "RabbitMQ 3 takes AMQP 1.0 with a plugin only"
		},
	},
}

func symfony(name string, environment ...string) client {
	return client{
		name: name, command: []string{"php", "php/symfony.php"}, extra: environment,
		workers: []string{"messages"}, failed: "failed", retry: "delay_messages_messages_5000_retry", apart: true,
		failures: []string{"SMTP 550 mailbox unavailable for bob"}, tries: []string{"3"},
	}
}

func anyEvent(name string, environment ...string) client {
	return client{
		name: name, command: []string{"perl", "perl/anyevent.pl"}, extra: environment,
		workers: []string{"pl.jobs"}, failed: "pl.jobs.failed", apart: true,
		failures: []string{"DBD::Pg::st execute failed: deadlock detected"}, tries: []string{"3"},
		without: map[check]string{dueCheck: "its worker holds what waits"},
	}
}

func TestMain(m *testing.M) { os.Exit(built.Main(m)) }

// TestSampleOfClients is the part of make clients in every run: one application in Go, one in another language that is
// quickly installed. The others need more on the machine.
func TestSampleOfClients(t *testing.T) {
	var sample []client
	for _, c := range clients {
		if c.name == "Watermill" || c.name == "pika" {
			c.without = maps.Clone(c.without)
			c.without[dueCheck] = "it holds a clock against the screen, beside other tests: make clients has it"
			sample = append(sample, c)
		}
	}

	runClients(t, sample)
}

// runClients runs dlxtop on real applications, and prints what it did right.
func runClients(t *testing.T, some []client) {
	table := &clientsTable{broker: built.Node.Version()}
	t.Cleanup(func() { table.write(t) })
	for c := range model.Each(some) {
		row := table.add(c)
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			program, err := c.program(t)
			if err != nil {
				row.notRun = err.Error()
				t.Fatalf("not run: %v", err)
			}

			row.version = program.version
			if c.unable != nil {
				if row.notRun = c.unable(model.ParseVersion(built.Node.Version())); row.notRun != "" {
					t.Skip("not run: " + row.notRun)
				}
			}

			if c.failed != "" {
				row.check(t, program)
			}

			row.checkCases(t, program)
		})
	}
}

func (c *client) program(t *testing.T) (*clientProgram, error) {
	p := &clientProgram{t: t, command: c.command, environment: append(built.Environment(), c.extra...)}
	if c.module != "" {
		binary := filepath.Join(t.TempDir(), c.module)
		build := exec.Command("go", "build", "-o", binary, ".")
		build.Dir = filepath.Join("apps", c.module)
		if out, err := build.CombinedOutput(); err != nil {
			return nil, errors.New("go build: " + lastLine(string(out)))
		}
		p.command = []string{binary}
	}

	p.environment = append(p.environment, "NODE_PATH="+os.Getenv("DLXTOP_CLIENTS_NODE"))
	if _, err := exec.LookPath(p.command[0]); err != nil {
		return nil, errors.New(p.command[0] + " is not installed")
	}
	out, err := p.run(nil, "version").CombinedOutput()
	if err != nil {
		return nil, errors.New(cmp.Or(lastLine(string(out)), err.Error()))
	}
	p.version = strings.TrimSpace(string(out))
	return p, nil
}

func lastLine(text string) string {
	lines := slices.DeleteFunc(strings.Split(text, "\n"), func(l string) bool { return strings.TrimSpace(l) == "" })
	if len(lines) == 0 {
		return ""
	}
	return strings.TrimSpace(lines[len(lines)-1])
}

// verdict is the result of a check; the zero value is for one that was not made.
type verdict struct {
	judged bool
	why    error // of a no
}

func (v verdict) cell() string {
	switch {
	case !v.judged:
		return "not run"
	case v.why != nil:
		return "no"
	}

	return "yes"
}

// clientsRow is what dlxtop did with one client.
type clientsRow struct {
	client   *client
	version  string // of the framework
	notRun   string // why the client was not run
	verdicts map[check]verdict
	cases    []verdict // of the client's cases, in their order
}

type clientsTable struct {
	broker string // its version
	rows   []*clientsRow
}

func (table *clientsTable) add(c *client) *clientsRow {
	row := &clientsRow{client: c, verdicts: map[check]verdict{}, cases: make([]verdict, len(c.cases))}
	table.rows = append(table.rows, row)
	return row
}

// write prints the table in the documentation's form.
func (table *clientsTable) write(t *testing.T) {
	var out strings.Builder
	fmt.Fprintf(&out, "\nRabbitMQ %s\n\n| framework |", table.broker)
	for _, c := range checks {
		fmt.Fprintf(&out, " %s |", c)
	}

	out.WriteString("\n|---|" + strings.Repeat("---|", len(checks)) + "\n")
	var causes []string
	for _, row := range table.rows {
		name := row.client.name
		if row.version != "" {
			name += " (" + row.version + ")"
		}

		fmt.Fprintf(&out, "| %s |", name)
		for _, c := range checks {
			v := row.verdicts[c]
			cell := v.cell()
			if row.client.without[c] != "" {
				cell = "not applicable"
			} else if v.why != nil {
				causes = append(causes, fmt.Sprintf("%s, %s: %v", row.client.name, c, v.why))
			}

			fmt.Fprintf(&out, " %s |", cell)
		}

		out.WriteString("\n")
		if row.notRun != "" {
			causes = append(causes, row.client.name+": not run: "+row.notRun)
		}
	}

	if slices.ContainsFunc(table.rows, func(row *clientsRow) bool { return len(row.cases) > 0 }) {
		out.WriteString("\n| framework | what | right |\n|---|---|---|\n")
	}

	for _, row := range table.rows {
		for i, c := range row.client.cases {
			v := row.cases[i]
			fmt.Fprintf(&out, "| %s | %s | %s |\n", row.client.name, c.name, v.cell())
			if v.why != nil {
				causes = append(causes, fmt.Sprintf("%s, %s: %v", row.client.name, c.name, v.why))
			}
		}
	}

	for _, cause := range causes {
		out.WriteString("\n" + cause)
	}

	t.Log(out.String())
}
