//go:build linux

package clients

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/built"
	"github.com/dlxtop/dlxtop/internal/must"
)

// caseChecks are the checks of further cases, by their names in the file of clients.
var caseChecks = map[string]func(*clientRun) error{
	"exclusive": checkExclusive, "expired": checkExpired, "key": checkKey, "loop": checkLoop, "noErrors": checkNoErrors,
}

// checkCases checks dlxtop on the client's further cases.
func (row *clientsRow) checkCases(t *testing.T, program *clientProgram) {
	for i, c := range row.client.Cases {
		r := newClientRun(t, row.client, program, c.Environment...)
		err := caseChecks[c.Check](r)
		row.cases[i] = verdict{judged: true, why: err}
		assert.That(t, err == nil, "%s: no: %v", c.Name, err)
	}
}

// eventually asks until there is no error, or for so long that it will not happen: then it returns the last error.
func eventually(ask func() error) (err error) {
	for end := time.Now().Add(2 * built.Patience); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		if err = ask(); err == nil {
			return nil
		}
	}

	return err
}

type flowsSeen struct {
	Flows []struct {
		Worker  workerSeen
		Buffers []struct {
			Queue  string
			Levels []string
		}
		Failed []struct{ Queue string }
	}
	Alone []struct{ Queue string } `json:"failed_without_flow"`
}

type workerSeen struct {
	Queue       string
	Redelivered float64 `json:"redelivered_per_second"`
}

// checkLoop lets a worker get its messages again and again: a finding names its queue, and its flow has the rate.
func checkLoop(r *clientRun) error {
	worker := r.work(false)
	defer worker.stop()
	r.do("send", "1")
	queue := r.Workers[0]

	return eventually(func() error {
		found, err := r.findings()
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(found, func(f finding) bool { return f.Code == "requeue-loop" && f.Queue == queue }) {
			return fmt.Errorf("%s was handled %d times, and the findings are %v", queue, len(worker.said()), found)
		}
		if r.Apart { // its queue is in no flow
			return nil
		}
		seen, err := answer[flowsSeen](r, "flows")
		if err != nil {
			return err
		}
		for _, f := range seen.Flows {
			if f.Worker.Queue == queue && f.Worker.Redelivered > 0 {
				return nil
			}
		}

		return fmt.Errorf("the flow of %s has no redeliveries: %+v", queue, seen.Flows)
	})
}

// checkExpired replays expired tasks: a dry run says that the worker will discard them, and it does.
func checkExpired(r *clientRun) error {
	worker := r.work(false)
	r.do("send", strconv.Itoa(sent))
	r.failed = r.client.Failed
	must.Await(r.t, "all have failed", func() bool { return r.depth(r.failed) == sent })
	worker.stop()

	want := fmt.Sprintf("%d Celery messages have expired", sent)
	if err := eventually(func() error {
		planned, err := answer[struct{ Warnings []string }](r, "replay", r.failed, "--dry-run")
		if err == nil && !strings.Contains(strings.Join(planned.Warnings, "\n"), want) {
			err = fmt.Errorf("a dry run warns %q", planned.Warnings)
		}
		return err
	}); err != nil {
		return err
	}

	worker = r.work(true)
	defer worker.stop()
	if _, err := answer[account](r, "replay", r.failed, "--yes"); err != nil {
		return err
	}

	// Messages behind them in the queue are handled after them. They have the same numbers, and one more, the last.
	r.environment = nil
	r.do("send", strconv.Itoa(sent+1))
	if err := worker.processes(sent + 1); err != nil {
		return fmt.Errorf("the tasks were discarded, and those behind them were to be processed: %w", err)
	}

	return nil
}

// checkExclusive lets an application have queues that only its connection may use: they are a flow like any other, a
// look is refused with the reason, and the message arrives.
func checkExclusive(r *clientRun) error {
	const buffer, queue = "souls.own.life", "souls.own.heaven"
	worker := r.work(true)
	defer worker.stop()
	if err := eventually(func() error {
		seen, err := answer[flowsSeen](r, "flows")
		if err != nil {
			return err
		}
		for _, f := range seen.Flows {
			if f.Worker.Queue == queue && len(f.Buffers) == 1 && f.Buffers[0].Queue == buffer {
				return nil
			}
		}

		return fmt.Errorf("the flows are %+v", seen.Flows)
	}); err != nil {
		return err
	}

	refused := r.dlxtop("peek", buffer, "--insist")
	if refused.status == 0 || !strings.Contains(refused.stderr, "exclusive to another connection") {
		return errors.New("a look at it ends with " + strconv.Itoa(refused.status) + ": " + lastLine(refused.stderr))
	}

	return worker.processes(1)
}

// checkKey replays a message whose kind is only in its routing key: its worker must find its handler.
func checkKey(r *clientRun) error {
	worker := r.work(false)
	r.do("send", "1")
	must.Await(r.t, "it has failed", func() bool { return r.depth(r.failed) == 1 })
	worker.stop()
	worker = r.work(true)
	defer worker.stop()
	if _, err := r.replay(); err != nil {
		return err
	}

	return worker.processes(1)
}

// checkNoErrors lets an application run and end: no finding is an error.
func checkNoErrors(r *clientRun) error {
	worker := r.work(r.client.Failed == "")
	defer worker.stop()
	r.do("send", strconv.Itoa(sent))
	if r.client.Failed != "" {
		must.Await(r.t, "all have failed", func() bool { return r.depth(r.failed) == sent })
		must.Await(r.t, "nothing waits", func() bool { return !slices.Contains(r.queues(), r.Retry) })
	} else if err := worker.processes(sent); err != nil {
		return err
	}

	for range 2 {
		if found := r.dlxtop("findings", "-o", "json"); found.status != 0 { // 1: one is an error
			return errors.New("findings: " + found.out + found.stderr)
		}
		worker.stop()
	}

	return nil
}
