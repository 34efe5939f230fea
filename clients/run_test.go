//go:build linux

package clients

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os/exec"
	"path"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/dlxtop/dlxtop/internal/built"
	"github.com/dlxtop/dlxtop/internal/manage"
	"github.com/dlxtop/dlxtop/internal/must"
)

type clientProgram struct {
	t           *testing.T
	command     []string
	environment []string
	version     string
}

// run returns a run of the program in one of its modes, not started yet. It ends with the test at the latest, including
// all processes that it started.
func (p *clientProgram) run(environment []string, mode ...string) *exec.Cmd {
	args := append(p.command[1:len(p.command):len(p.command)], mode...)
	run := exec.CommandContext(p.t.Context(), p.command[0], args...)
	run.Dir = "apps"
	run.Env = append(p.environment[:len(p.environment):len(p.environment)], environment...)
	run.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	run.Cancel = func() error { return syscall.Kill(-run.Process.Pid, syscall.SIGKILL) }
	run.WaitDelay = built.Patience
	return run
}

var clientRuns atomic.Int64 // counts them, for the names of their vhosts

// clientRun is an application in its own vhost, with what was sent to it so far.
type clientRun struct {
	*client
	t           *testing.T
	program     *clientProgram
	home        string // dlxtop's
	vhost       string
	failed      string         // the client's, with its real name
	messages    int            // those in there when all have failed
	tried       map[string]int // how often each of them failed until then
	environment []string       // of the program, in addition to that of all runs
	connection  *amqp.Connection
}

func newClientRun(t *testing.T, c *client, program *clientProgram, environment ...string) *clientRun {
	t.Helper()
	r := &clientRun{client: c, t: t, program: program, home: t.TempDir(), failed: c.Failed, environment: environment}
	r.vhost = manage.VHost(t, built.Node.API(), fmt.Sprintf("client-%d", clientRuns.Add(1)))
	r.connection = must.Get(amqp.Dial(r.url()))(t)
	t.Cleanup(func() { r.connection.Close() })
	r.do("setup")
	return r
}

func (r *clientRun) url() string { return built.Node.AMQP() + url.PathEscape(r.vhost) }

func (r *clientRun) do(mode ...string) {
	r.t.Helper()
	run := r.program.run(append(r.environment, "AMQP_URL="+r.url()), mode...)
	out, err := run.CombinedOutput()
	must.That(r.t, err == nil, "%v: %v\n%s", mode, err, out)
}

// depth returns how many messages are ready in a queue, as the broker counts them; none when there is no such queue.
func (r *clientRun) depth(queue string) int {
	r.t.Helper()
	channel := must.Get(r.connection.Channel())(r.t) // its own: an error of the broker closes it
	defer channel.Close()
	q, err := channel.QueueDeclarePassive(queue, false, false, false, false, nil)
	var refused *amqp.Error
	must.That(r.t, err == nil || errors.As(err, &refused) && refused.Code == amqp.NotFound, "%v", err)
	return q.Messages
}

// resolve returns the queue of a pattern with the most messages, and the total number.
func (r *clientRun) resolve(pattern string) (fullest string, messages int) {
	r.t.Helper()
	if !strings.ContainsAny(pattern, "*?") {
		return pattern, r.depth(pattern)
	}
	most := -1
	for _, name := range r.queues() {
		if ok, err := path.Match(pattern, name); err != nil || !ok {
			continue
		}
		n := r.depth(name)
		messages += n
		if n > most {
			fullest, most = name, n
		}
	}

	return fullest, messages
}

func (r *clientRun) queues() []string {
	r.t.Helper()
	columns := url.Values{"columns": {"name"}}
	list := must.Get(manage.Of(r.t, built.Node.API()).ListQueuesWithParametersIn(r.vhost, columns))(r.t)
	names := make([]string, len(list))
	for i := range list {
		names[i] = list[i].Name
	}

	return names
}

// printed is what a worker printed about messages, and when.
type printed struct {
	what, id string // FAILED or PROCESSED, and which message
	at       time.Time
}

type clientWorker struct {
	t    *testing.T
	run  *exec.Cmd
	errs bytes.Buffer
	read chan struct{} // closed when its whole output is read
	sync.Mutex
	lines   []printed
	stopped bool
}

// work starts the worker, whose messages all fail, or all succeed.
func (r *clientRun) work(succeeds bool) *clientWorker {
	r.t.Helper()
	environment := []string{"AMQP_URL=" + r.url()}
	if succeeds {
		environment = append(environment, "OK=1")
	}

	run := r.program.run(append(environment, r.environment...), "work")
	w := &clientWorker{t: r.t, run: run, read: make(chan struct{})}
	w.run.Stderr = &w.errs
	out := must.Get(w.run.StdoutPipe())(r.t)
	must.Do(r.t, w.run.Start())

	go func() {
		defer close(w.read)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			if fields := strings.Fields(lines.Text()); len(fields) == 2 {
				w.Lock()
				w.lines = append(w.lines, printed{fields[0], fields[1], time.Now()})
				w.Unlock()
			}
		}
	}()

	r.t.Cleanup(w.stop)

	return w
}

func (w *clientWorker) stop() {
	if w.stopped {
		return
	}
	w.stopped = true
	_ = syscall.Kill(-w.run.Process.Pid, syscall.SIGTERM)
	slow := time.AfterFunc(15*time.Second, func() { _ = syscall.Kill(-w.run.Process.Pid, syscall.SIGKILL) })
	defer slow.Stop()
	<-w.read
	_ = w.run.Wait() // some end by the signal
	if w.t.Failed() {
		w.t.Logf("the worker printed %v\n%s", w.lines, w.errs.String())
	}
}

func (w *clientWorker) said() []printed {
	w.Lock()
	defer w.Unlock()
	return slices.Clone(w.lines)
}

// times returns the messages of which the worker said this, with how often.
func (w *clientWorker) times(what string) map[string]int {
	times := map[string]int{}
	for _, line := range w.said() {
		if line.what == what {
			times[line.id]++
		}
	}

	return times
}

type ran struct {
	status      int
	out, stderr string
}

func (r *clientRun) dlxtop(args ...string) ran {
	r.t.Helper()
	status, out, errs := built.Run(r.t, built.In(r.home, append(args, "--url", r.url(), "--api", built.Node.API())...))
	return ran{status, out, errs}
}

// answer runs a command that must succeed, and parses its JSON.
func answer[T any](r *clientRun, args ...string) (T, error) {
	r.t.Helper()
	var v T
	done := r.dlxtop(append(args, "-o", "json")...)
	if done.status != 0 {
		return v, errors.New(strings.Join(args, " ") + ": " + lastLine(done.stderr))
	}
	return v, json.Unmarshal([]byte(done.out), &v)
}
