package broker_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/dlxtop/dlxtop/broker"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/journal"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/build"
	"github.com/dlxtop/dlxtop/model/plan"
)

// job is what a process of the tests' program does instead of running tests.
type job struct {
	Do                string // which of jobs
	URL, API, Version string // of the broker
	Kind              model.QueueType
	From, To          string // queues
	Journal           string // its path
	Operation         plan.Operation
	Record            int64
	Looks             *looker
}

// jobVariable has a job as JSON.
const jobVariable = "DLXTOP_TEST_JOB"

func workOn(text string) (status int) {
	var o job
	err := json.Unmarshal([]byte(text), &o)
	if err == nil {
		err = map[string]func(job) error{
			"peek": peeker, "look": lookAgainAndAgain, "act": victim, "resume": resumer, "undo": undoer,
		}[o.Do](o)
	}

	if err != nil {
		fmt.Println("error:", err)
		return 1
	}

	return 0
}

func (o job) queues() []*model.Queue {
	named := func(name string) *model.Queue { return described(build.Ref(name), o.Kind) }
	return []*model.Queue{named(o.From), named(o.To)}
}

func (o job) client() (*broker.Client, *journal.Journal, error) {
	j := journal.New(journal.Options{Path: o.Journal})
	c, err := broker.New(broker.Options{URL: o.URL, Journal: j})
	return c, j, err
}

// process returns a process for a job on the tests' broker, not yet started.
func process(t testing.TB, o job) *exec.Cmd {
	t.Helper()
	o.API = node.API()
	if o.Version == "" {
		o.Version = node.Version()
	}

	command := exec.Command(os.Args[0])
	command.Env = append(os.Environ(), jobVariable+"="+string(must.Get(json.Marshal(o))(t)))
	command.Stderr = os.Stderr
	return command
}

// started starts a process, waits until it says its first word, and returns what else it says. tell is called when it
// runs.
func started(t testing.TB, command *exec.Cmd, word string, tell ...func()) *bufio.Scanner {
	t.Helper()
	out := must.Get(command.StdoutPipe())(t)
	must.Do(t, command.Start())
	for _, f := range tell {
		f()
	}

	lines := bufio.NewScanner(out)
	must.That(t, lines.Scan(), "%v", lines.Text())
	must.Equal(t, lines.Text(), word)
	return lines
}

// runVictim runs a victim, and kills it some time after it began. said is its output at the end, "" when it was killed
// before.
func runVictim(
	t *testing.T, moment time.Duration, command *exec.Cmd, tell ...func(),
) (ran time.Duration, said string) {
	t.Helper()
	lines := started(t, command, "begins", tell...)
	began := time.Now()
	killer := time.AfterFunc(moment, func() { _ = command.Process.Kill() })
	if lines.Scan() {
		said = lines.Text()
	}

	ran = time.Since(began)
	killer.Stop()
	_ = command.Wait()
	return ran, said
}
