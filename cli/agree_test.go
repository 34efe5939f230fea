package cli_test

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/creack/pty"
	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/dlxtop/dlxtop/cli"
	"github.com/dlxtop/dlxtop/cli/config"
	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/built"
	"github.com/dlxtop/dlxtop/internal/dial"
	"github.com/dlxtop/dlxtop/internal/manage"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/mgmt"
	"github.com/dlxtop/dlxtop/model"
)

// talk is a command line that runs on a terminal, and answers one question after the other.
type talk struct {
	t      *testing.T
	shown  built.Buffer
	done   chan int // one status, when all that was written is in shown
	answer func(string)
}

func startTalk(t *testing.T, args ...string) *talk {
	t.Helper()
	return talkIn(t.Context(), t, nil, args...)
}

func talkIn(ctx context.Context, t *testing.T, env map[string]string, args ...string) *talk {
	t.Helper()
	master, tty := openPTY(t)
	must.Do(t, pty.Setsize(master, &pty.Winsize{Rows: 24, Cols: 80}))
	k := &talk{t: t, done: make(chan int, 1)}
	k.answer = func(text string) {
		must.Get(master.Write([]byte(text + "\n")))(t)
	}
	var reading sync.WaitGroup
	reading.Go(func() { _, _ = io.Copy(&k.shown, master) }) // EIO is its end
	p := program(tty, tty, tty)
	p.Env = func(name string) string { return env[name] }

	go func() {
		status := p.Run(ctx, words(args))
		tty.Close()
		reading.Wait()
		k.done <- status
	}()

	return k
}

// ends waits for the end of the command, with this status.
func (k *talk) ends(status int) {
	k.t.Helper()
	assert.Equal(k.t, <-k.done, status, "exit status: %s", k.shown.String())
}

// asked waits until a question was asked this many times.
func (k *talk) asked(question string, times int) {
	k.t.Helper()
	defer func() { assert.That(k.t, !k.t.Failed(), "this is shown: %s", k.shown.String()) }()
	must.Await(k.t, question, func() bool { return strings.Count(k.shown.String(), question) >= times })
}

func (v *vhost) on(args ...string) []string {
	return append(words(args), "--url", v.url(), "--api", node.API())
}

func (v *vhost) exchange(name, kind string) {
	v.t.Helper()
	must.Do(v.t, v.channel.ExchangeDeclare(name, kind, true, false, false, false, nil))
}

func (v *vhost) bind(queue, key, exchange string) {
	v.t.Helper()
	must.Do(v.t, v.channel.QueueBind(queue, key, exchange, false, nil))
}

// boundWorker declares an exchange that leads to a worker, a queue with failed messages, and a queue without a binding.
func (v *vhost) boundWorker(kind string, failed int) {
	v.t.Helper()
	v.queues("failed", "worker", "audit")
	v.exchange("master", kind)
	v.bind("worker", "k", "master")
	v.fill("failed", failed)
}

// Nothing is published before the change was shown and agreed to.
func TestBoundBetweenQuestionAndYes(t *testing.T) {
	v := newVHost(t)
	v.boundWorker("direct", 3)
	args := v.on("replay failed --to exchange:master/k")
	const question = "replay 3 messages of"
	for _, test := range []struct {
		answer                string
		status, failed, moved int
	}{{"n", cli.ExitRefused, 3, 0}, {"y", cli.ExitDone, 0, 3}} {
		k := startTalk(t, args...)
		k.asked(question, 1)
		v.bind("audit", "k", "master")
		k.answer("y")
		k.asked(question, 2)
		want := "changed since you were asked: exchange master, key k now also reaches " + v.name + "/audit"
		assert.Contains(t, k.shown.String(), want, "the change is not shown")
		v.holds("failed", 3).holds("worker", 0).holds("audit", 0)
		k.answer(test.answer)
		k.ends(test.status)
		v.holds("failed", test.failed).holds("worker", test.moved).holds("audit", test.moved)
		must.Do(t, v.channel.QueueUnbind("audit", "k", "master", nil))
	}
}

// A move, an undo, an import and a resume are planned again, too.
func TestChangedBetweenQuestionAndYes(t *testing.T) {
	v := newVHost(t, "failed", "there")
	v.declare("elsewhere", nil) // a separate queue: the policy of "there" stays in its statistics for some seconds
	v.fill("failed", 2)
	dropped := decode[accountContract](t, v.run("drop failed --limit 1 --yes"))
	file := filepath.Join(t.TempDir(), "messages")
	v.run("export failed", file).ends(t, cli.ExitDone)
	v.queues("source", "rest")
	v.fill("source", 60)

	early := decode[accountContract](t, v.interrupted("rest", 2, "move source --to queue:rest --rate 5/s --yes"))
	for i, test := range []struct {
		question string
		args     []string
		limited  string
	}{
		{"move 1 message of", v.on("move failed --to queue:there"), "there"},
		{"bring 1 message back to", v.on("journal undo", fmt.Sprint(dropped.JournalID)), "failed"},
		{"import 1 message into", v.on("import", file, "--to", "queue:elsewhere"), "elsewhere"},
		{"go on with the move", v.on("journal resume", fmt.Sprint(early.JournalID)), "rest"},
	} {
		name := fmt.Sprint("cap", i)
		k := startTalk(t, test.args...)
		k.asked(test.question, 1)
		must.Await(t, "the queue has statistics, which are older than the policy", func() bool {
			return v.policyOf(test.limited) == ""
		})
		n := manage.Of(t, node.API())
		n.Policy(v.name, name, "^"+test.limited+"$", amqp.Table{"max-length": 0})

		if test.limited == "failed" {
			v.publish("", "failed", amqp.Publishing{Body: []byte("x")}) // the policy has dropped what was there
		}

		k.answer("y")
		k.asked("the plan is no longer valid: "+v.name+"/"+test.limited+" keeps at most 0 messages (policy cap", 1)
		k.ends(cli.ExitRefused)
		n.Done(n.DeletePolicy(v.name, name))
	}
}

// policyOf returns the policy of a queue by its statistics, "?" before there are any: until then the API reports the
// policy at once, and the first statistics may be older.
func (v *vhost) policyOf(queue string) string {
	v.t.Helper()
	source := must.Get(mgmt.New(mgmt.Options{URL: node.API(), VHost: v.name, Timeout: patience}))(v.t)
	defer source.Close()
	snapshot := must.Get(source.Snapshot(v.t.Context()))(v.t)
	q, ok := model.NewTopology(snapshot).Queue(model.QueueRef{VHost: v.name, Name: queue})
	if !ok || !q.Consumers.Known() {
		return "?"
	}

	return q.Policy
}

// A replay that takes longer than the consumer timeout of its queue, which a policy set where it can, moves all.
func TestSlowReplayWithinATimeoutByPolicy(t *testing.T) {
	t.Parallel()
	v := newVHost(t, "worker")
	v.declare("failed", amqp.Table{"x-queue-type": "quorum"})
	v.fill("failed", 24)
	if behaviour().TimeoutByQueue {
		manage.Of(t, node.API()).Policy(v.name, "short", "^failed$", amqp.Table{"consumer-timeout": 3000})
		must.Await(t, "the policy", func() bool { return v.policyOf("failed") == "short" })
	}

	v.run("replay failed --to queue:worker --rate 3/s --yes").ends(t, cli.ExitDone)
	v.holds("failed", 0).holds("worker", 24)
}

// With --yes a change is refused, and named.
func TestChangedWhereNoQuestionIsPossible(t *testing.T) {
	v := newVHost(t)
	v.boundWorker("direct", 3)
	r := v.runProgram(func(p *cli.Program) {
		source := p.Source
		p.Source = func(c config.Connection) (cli.Source, error) {
			s, err := source(c)
			readings := 0
			return &watched{Source: s, after: func() {
				if readings++; readings == 1 {
					v.bind("audit", "k", "master")
				}
			}}, err
		}
	}, "replay failed --to exchange:master/k --yes")

	r.ends(t, cli.ExitRefused, "key k now also reaches "+v.name+"/audit; nothing was changed")
	assert.Equal(t, r.out, "")
	v.holds("failed", 3).holds("worker", 0).holds("audit", 0)
}

// A slow replay ends soon after a binding that leads elsewhere, long before it is complete, and names the queue.
func TestBoundWhileItRuns(t *testing.T) {
	v := newVHost(t)
	const n = 2000
	v.boundWorker("fanout", n)
	ended := make(chan result, 1)
	go func() {
		ended <- v.run("replay failed --to exchange:master/k --rate 20/s --yes")
	}()
	must.Await(t, "it runs for a while", func() bool { return v.count("worker") > 50 })
	v.bind("audit", "", "master")
	r := <-ended
	moved := v.count("worker")
	assert.That(t, moved < n, "it went on to its end: %d moved", moved)
	r.ends(t, cli.ExitRefused, "stopped: exchange master, key k now also reaches "+v.name+"/audit")
	account := decode[accountContract](t, r)
	audit := v.count("audit")
	worker := v.count("worker")
	s := account.Strayed
	must.Equal(t, len(s), 1, "%d are in audit, the account says %s", audit, r.out)
	assert.Equal(t, s[0].Queue, "audit")
	assert.That(t, s[0].Messages >= audit, "%d are in audit, the account says %s", audit, r.out)
	assert.That(t, audit != 0, "%d are in audit, the account says %s", audit, r.out)

	if most := audit + n/10; account.Strayed[0].Messages > most { // what was published between two readings, and no more
		t.Errorf("%d are in audit, and %d may be there", audit, account.Strayed[0].Messages)
	}

	must.Await(t, "the rest is back", func() bool { return v.count("failed")+worker == n })
	v.run("journal -o table").shows(t, fmt.Sprintf("up to %d may also be in %s/audit", account.Strayed[0].Messages,
		v.name))
	v.run("journal undo", fmt.Sprint(account.JournalID), "--yes").says(t, "those stay there")
}

// A canary checks before each stage where the next messages would go.
func TestBoundBetweenStages(t *testing.T) {
	t.Parallel()
	v := newVHost(t)
	v.boundWorker("topic", 20)
	first := true
	v.consume("worker", func(d amqp.Delivery) {
		if first {
			first = false
			v.bind("audit", "#", "master")
		}
		_ = d.Ack(false)
	})

	r := v.run("replay failed --to exchange:master/k --canary --canary-wait 1s --yes")
	r.ends(t, cli.ExitRefused, "exchange master, key k now also reaches "+v.name+"/audit", "untouched: 19  still")
	r.account(t, "20 1 0 0 0 0")
	v.holds("audit", 0)
}

// consume acts as a worker until the test ends.
func (v *vhost) consume(queue string, handle func(amqp.Delivery)) {
	v.t.Helper()
	dial.Work(v.t, v.url(), queue, 0, handle)
}

func TestCanary(t *testing.T) {
	t.Parallel()
	v := newVHost(t, "failed")
	v.declare("worker", amqp.Table{"x-dead-letter-exchange": "", "x-dead-letter-routing-key": "failed"})
	v.fill("failed", 14)
	dry := v.run("replay failed --to queue:worker --canary --dry-run")
	plan := decode[accountContract](t, dry)
	assert.Contains(t, plan.Canary, "1 message first")
	assert.Equal(t, len(plan.Adds), 1, "the plan is %s", dry.out)
	fails := make(chan bool, 1)
	fails <- true

	v.consume("worker", func(d amqp.Delivery) {
		fail := <-fails
		fails <- fail
		if fail {
			_ = d.Reject(false)
		} else {
			_ = d.Ack(false)
		}
	})

	r := v.run("replay failed --to queue:worker --canary --canary-wait 1s --yes")
	account := r.ends(t, cli.ExitRefused, "1 of 1 came back", "untouched: 13  still").account(t, "14 1 0 0 0 0")
	assert.That(t, known(account.CameBack, 1), "%s", r.out)
	<-fails
	fails <- false
	r = v.run("move failed --to queue:worker --canary --canary-wait 1s --yes")
	account = r.ends(t, cli.ExitDone).account(t, "14 14 0 0 0 0")
	assert.Equal(t, *account.CameBack, 0, "%s", r.out)
	assert.Contains(t, account.Canary, "none came back within 1s")
	v.holds("failed", 0)
}

// A delivery alone proves nothing. A worker that requeues every message for ever, and one that keeps it, do not pass.
func TestCanaryWantsAcknowledgements(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name   string
		handle func(amqp.Delivery)
		tells  string
	}{
		{"requeues", func(d amqp.Delivery) { _ = d.Nack(false, true) }, "redelivered"},
		{"keeps", func(amqp.Delivery) {}, "1 unacknowledged"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			v := newVHost(t, "failed", "worker")
			v.fill("failed", 3)
			v.consume("worker", test.handle)
			r := v.run("replay failed --to queue:worker --canary --canary-wait 1s --yes")
			r.ends(t, cli.ExitRefused, "none acknowledged in "+v.name+"/worker", test.tells).account(t, "3 1 0 0 0 0")
			v.holds("failed", 2)
		})
	}
}

// Messages that the program cannot change stay, as announced: they are not a canary that did not arrive, not even as
// the first message or one of the ten.
func TestCanaryOfAnEdit(t *testing.T) {
	t.Parallel()
	v := newVHost(t, "failed", "worker")
	v.fill("failed", 20)
	v.consume("worker", func(d amqp.Delivery) { _ = d.Ack(false) })
	program := `if .body.n == 1 or .body.n == 5 then error("no") else .body.n += 1 end`
	r := v.run("replay failed --to queue:worker --edit", program, "--canary", "--canary-wait", "1s", "--yes")
	r.ends(t, cli.ExitRefused).account(t, "20 18 0 2 0 0")
	v.holds("failed", 2)
	assert.Equal(t, ids(v.take("failed")), "m-1 m-5", "left")
}

// terminal runs a command line on a terminal and types an answer to the question. What is shown there is its output.
func terminal(t *testing.T, env map[string]string, question, answer string, args ...string) result {
	t.Helper()
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	k := talkIn(ctx, t, env, args...)
	must.Await(t, question, func() bool { return strings.Contains(k.shown.String(), question) })
	if answer == "interrupt" {
		interrupt()
	} else {
		k.answer(answer)
	}

	return result{status: <-k.done, out: k.shown.String(), args: append(args, answer)}
}

func TestAsking(t *testing.T) {
	v := newVHost(t, "failed")
	v.fill("failed", 3)
	for _, test := range []struct {
		question, answer string
		args             []string
		status, left     int
	}{
		{"drop 1 message of", "n", v.on("drop failed --limit 1"), cli.ExitRefused, 3},
		{"[y/N]", "", v.on("drop failed --limit 1"), cli.ExitRefused, 3},
		{"[y/N]", "interrupt", v.on("drop failed --limit 1"), cli.ExitInterrupted, 3},
		{"[y/N]", "y", v.on("drop failed --limit 1"), cli.ExitDone, 2},
	} {
		terminal(t, nil, test.question, test.answer, test.args...).ends(t, test.status)
		v.holds("failed", test.left)
	}

	v.fill("failed", 110)
	for _, test := range []struct {
		answer       string
		status, left int
	}{{"y", cli.ExitRefused, 112}, {"112", cli.ExitDone, 0}} {
		terminal(t, nil, "to go on, type 112:", test.answer, v.on("drop failed")...).ends(t, test.status)
		v.holds("failed", test.left)
	}
}

// On a production system even one message is confirmed by its number, followed by the reason; read-only is strict. The
// reason is in the journal, and can be found there.
func TestProduction(t *testing.T) {
	v := newVHost(t, "failed")
	v.fill("failed", 1)
	env := configured(t, fmt.Sprintf("[contexts.prod]\nurl = %q\napi = %q\nproduction = true\n[contexts.look]\nurl = "+
		"%q\napi = %q\nread_only = true\n", v.url(), node.API(), v.url(), node.API()))
	for _, test := range []struct {
		question, answer, context string
		status, left              int
	}{
		{"type 1:", "yes", "prod", cli.ExitRefused, 1},
		{"read-only", "", "look", cli.ExitConnect, 1},
		{"type 1:", "1\n ", "prod", cli.ExitRefused, 1},
		{"type 1:", "1\nINC-4711, bad address", "prod", cli.ExitDone, 0},
	} {
		terminal(t, env, test.question, test.answer, "drop failed --context", test.context).ends(t, test.status)
		v.holds("failed", test.left)
	}

	v.fill("failed", 1)
	v.run("drop failed --yes --reason", "by hand")
	for search, want := range map[string]string{"inc-4711": "INC-4711, bad address", "BY HAND": "by hand"} {
		r := v.run("journal --search", search, "-o", "json")
		assert.Contains(t, r.out, fmt.Sprintf("%q", want), "%v", search)
		assert.Equal(t, strings.Count(r.out, `"operation"`), 1, "%s finds %s%s", search, r.out, r.stderr)
	}
}
