//go:build linux

package clients

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/built"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/model"
)

const sent = 6

// check checks what dlxtop does right with a client.
func (row *clientsRow) check(t *testing.T, program *clientProgram) {
	row.judge(t, dueCheck, func() error { return checkDue(newClientRun(t, row.client, program)) })
	r := newClientRun(t, row.client, program)
	worker := r.work(false)
	r.do("send", strconv.Itoa(sent))
	var seen []error
	if r.Retry != "" && !r.Waits {
		must.Await(t, "a message waits in "+r.Retry, func() bool { return r.depth(r.Retry) > 0 })
		seen = append(seen, r.checkFlows(r.Retry, model.RetryBuffer))
	}

	must.Await(t, "all have failed", func() bool {
		var all int
		r.failed, all = r.resolve(r.client.Failed)
		return all == sent
	})

	r.messages = r.depth(r.failed)
	end := model.FailedRole

	if r.Waits {
		end = model.RetryBuffer
	}

	seen = append(seen, r.checkFlows(r.failed, end))
	row.judge(t, flowCheck, func() error { return errors.Join(seen...) })
	row.judge(t, failureCheck, r.checkFailure)
	row.judge(t, triesCheck, r.checkTries)
	row.judge(t, errorsCheck, r.checkErrors)
	worker.stop()
	r.tried = worker.times("FAILED")
	row.judge(t, undoCheck, r.checkUndo)
	failing := r.checkCanaryStops()
	worker = r.work(true)
	row.judge(t, replayCheck, func() error { return r.checkReplay(worker) })
	row.judge(t, canaryCheck, func() error { return errors.Join(failing, r.checkCanary(worker)) })
	worker.stop()
}

// judge records the result of a check: an error is a no, with its cause.
func (row *clientsRow) judge(t *testing.T, c check, judge func() error) {
	t.Helper()
	if row.client.Without[c] != "" {
		return
	}
	err := judge()
	row.verdicts[c] = verdict{judged: true, why: err}
	assert.That(t, err == nil, "%s: no: %v", c, err)
}

type finding struct{ Level, Code, Queue, Message string }

// findings does not use answer: the exit status says whether one is an error.
func (r *clientRun) findings() ([]finding, error) {
	r.t.Helper()
	var found struct{ Findings []finding }
	err := json.Unmarshal([]byte(r.dlxtop("findings", "-o", "json").out), &found)
	return found.Findings, err
}

// checkErrors reads the findings while the worker fails: the only errors are expected ones.
func (r *clientRun) checkErrors() error {
	found, err := r.findings()
	if err != nil {
		return err
	}
	for _, f := range found {
		if f.Level == "error" && !slices.Contains(r.Errors, f.Code+" "+f.Queue) {
			err = errors.Join(err, fmt.Errorf("%s %s: %s", f.Code, f.Queue, f.Message))
		}
	}

	return err
}

// checkFlows waits until each worker is known as one, and some flow has a queue in this role: the statistics of the
// broker's API are up to 11 s late.
func (r *clientRun) checkFlows(queue string, role model.Role) error {
	r.t.Helper()
	return eventually(func() error { return r.seesFlows(queue, role) })
}

func (r *clientRun) seesFlows(queue string, role model.Role) error {
	r.t.Helper()
	seen, err := answer[flowsSeen](r, "flows")
	if err != nil {
		return err
	}
	workers := map[string]bool{}
	roles := map[string]model.Role{}
	for _, f := range seen.Flows {
		workers[f.Worker.Queue] = true
		for _, b := range f.Buffers {
			for _, queue := range append(b.Levels, b.Queue) {
				roles[queue] = model.RetryBuffer
			}
		}

		for _, q := range f.Failed {
			roles[q.Queue] = model.FailedRole
		}
	}

	for _, q := range seen.Alone {
		if r.Apart {
			roles[q.Queue] = model.FailedRole
		}
	}

	for _, worker := range r.Workers {
		if !workers[worker] && !(r.Apart && r.Retry == "") {
			return fmt.Errorf("%s is not seen as a worker", worker)
		}
	}

	if roles[queue] != role {
		return fmt.Errorf("%s is seen as %q instead of %q", queue, roles[queue], role)
	}

	return nil
}

type peekedMessage struct {
	Exchange   string          `json:"exchange"`
	RoutingKey string          `json:"routing_key"`
	Headers    json.RawMessage `json:"headers"`
	Properties json.RawMessage `json:"properties"`
	Body       string          `json:"body"`
	Failure    struct{ Kind, Message string }
}

func (r *clientRun) peek() ([]peekedMessage, error) {
	r.t.Helper()
	seen, err := answer[struct{ Messages []peekedMessage }](r, "peek", r.failed)
	if err == nil && len(seen.Messages) != r.messages {
		err = fmt.Errorf("peek shows %d messages of %d", len(seen.Messages), r.messages)
	}
	return seen.Messages, err
}

func (r *clientRun) checkFailure() error {
	messages, err := r.peek()
	if err != nil {
		return err
	}
	for _, m := range messages {
		if said := m.Failure.Kind + " " + m.Failure.Message; !slices.ContainsFunc(r.Failures, func(f string) bool {
			return strings.Contains(said, f)
		}) {
			return fmt.Errorf("a failure is read as %q", said)
		}
	}

	return nil
}

// triesCell is where the story of a message says how often its worker has had it.
var triesCell = regexp.MustCompile(`(?m)^ tries +(.*?) *│`)

// checkTries reads from the dashboard how often the worker has had each message.
func (r *clientRun) checkTries() error {
	screen := r.openQueue(r.failed)
	for i := range r.messages {
		chosen := regexp.MustCompile(fmt.Sprintf(`▸ +%d `, i+1))
		screen.WaitUntil(fmt.Sprintf("message %d is shown", i+1), func() bool {
			text := screen.Text()
			return chosen.MatchString(text) && strings.Contains(text, " next ")
		})

		said := ""
		if cell := triesCell.FindStringSubmatch(screen.Text()); cell != nil {
			said = cell[1]
		}
		if said != r.Tries[i%len(r.Tries)] {
			return fmt.Errorf("the story of a message says %q tries instead of %s", said, r.Tries[i%len(r.Tries)])
		}
		screen.Press("j")
	}

	return nil
}

// matching is the filter's line when something matches.
var matching = regexp.MustCompile(`(?m)^ / .* [1-9]\d* of \d+\s*$`)

func (r *clientRun) openQueue(queue string) *built.Terminal {
	r.t.Helper()
	screen := built.Open(r.t, "--url", r.url(), "--api", built.Node.API())
	screen.WaitForPoll()
	screen.Press("2/" + queue + "\r")
	screen.WaitUntil("the queue is found", func() bool {
		screen.Press("\x12")
		time.Sleep(50 * time.Millisecond)
		return matching.MatchString(screen.Text())
	})

	screen.Press("\r")

	return screen
}

// dueCell is the due time of a message in a buffer, after its age: "≤ 5s", "4.2s".
var dueCell = regexp.MustCompile(`(?m)^ +▸ +1 {2,}\S+(?: \S+)? {2,}(≤ )?(\d+(?:\.\d+)?)s {2,}`)

// bound is what the dashboard said about when a message leaves its buffer.
type bound struct {
	cell   string
	exact  bool // not only a bound
	at, by time.Time
}

// checkDue repeatedly reads from the dashboard when a message leaves its buffer, until its worker prints that it has
// it.
func checkDue(r *clientRun) error {
	r.environment = r.Soon
	worker := r.work(false)
	r.do("send", "1")
	sentAt := time.Now()
	var retry string
	must.Await(r.t, "it waits", func() bool {
		var waits int
		retry, waits = r.resolve(r.Retry)
		return waits > 0
	})

	screen := r.openQueue(retry)
	var bounds []bound
	var left time.Time

	end := time.Now().Add(2 * built.Patience)
	for ; left.IsZero() && time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		screen.Press("\x12")
		if cell := dueCell.FindStringSubmatch(screen.Text()); cell != nil {
			seconds, _ := strconv.ParseFloat(cell[2], 64)
			now := time.Now()
			by := now.Add(time.Duration(seconds * float64(time.Second)))
			bounds = append(bounds, bound{cell[1] + cell[2] + "s", cell[1] == "", now, by})
		}

		if len(bounds) == 0 && time.Since(sentAt) > 15*time.Second { // it left before the dashboard was open
			r.do("send", "1")
			sentAt = time.Now()
		}

		for _, line := range worker.said() {
			if len(bounds) > 0 && line.at.After(bounds[0].at) {
				left = line.at
				break
			}
		}
	}

	if left.IsZero() {
		return errors.New("the dashboard never said when")
	}

	return judgeDue(bounds, left)
}

// What is shown is rounded up to seconds, and is drawn a moment before it is read. An exact time is exact to a second,
// like publishers' timestamps.
const (
	drawnLate = 1500 * time.Millisecond
	exactTo   = time.Second
)

// judgeDue compares what was shown with when the message left.
func judgeDue(bounds []bound, left time.Time) error {
	best := bounds[0]
	for _, b := range bounds {
		switch {
		case b.at.After(left):
			return nil
		case left.Sub(b.by) > drawnLate, b.exact && b.by.Sub(left) > exactTo+drawnLate:
			return fmt.Errorf("%q was shown %.1f s before it left", b.cell, left.Sub(b.at).Seconds())
		case b.by.Sub(best.by) > drawnLate:
			return fmt.Errorf("%q was shown %.1f s before it left, and %q %.1f s before that", b.cell,
				left.Sub(b.at).Seconds(), best.cell, b.at.Sub(best.at).Seconds())
		}

		if b.by.Before(best.by) {
			best = b
		}
	}

	return nil
}

// checkUndo replays everything while no worker runs, and undoes it: each message is as it was.
func (r *clientRun) checkUndo() error {
	before, err := r.peek()
	if err != nil {
		return err
	}
	done, err := r.replay()
	if err != nil {
		return err
	}
	if _, err := answer[account](r, "journal", "undo", strconv.FormatInt(done.JournalID, 10), "--yes"); err != nil {
		return err
	}
	after, err := r.peek()
	if err != nil {
		return err
	}

	return same(before, after)
}

// same compares messages as their applications wrote them, in any order. How they came into the queue differs, and an
// undo leaves CC out (docs/journal.md).
func same(before, after []peekedMessage) error {
	var failed error
	written := func(messages []peekedMessage) (all []string) {
		for _, m := range messages {
			var headers map[string]any
			if err := json.Unmarshal(m.Headers, &headers); len(m.Headers) > 0 && err != nil {
				failed = fmt.Errorf("headers %s: %w", m.Headers, err)
			}
			delete(headers, "CC")
			all = append(all, fmt.Sprintf("%v %s %s", headers, m.Properties, m.Body))
		}

		slices.Sort(all)
		return all
	}

	was, is := written(before), written(after)

	if failed != nil {
		return failed
	}
	if !slices.Equal(was, is) {
		return fmt.Errorf("the messages came back as\n%s\ninstead of\n%s", strings.Join(is, "\n"), strings.Join(was, "\n"))
	}

	return nil
}

type account struct {
	Planned, Moved int
	JournalID      int64 `json:"journal_id"`
	CameBack       int   `json:"came_back"`
}

func (r *clientRun) replaying(more ...string) []string {
	args := append([]string{"replay", r.failed, "--yes"}, more...)
	if r.To != "" {
		args = append(args, "--to", r.To)
	}
	return args
}

func (r *clientRun) replay(more ...string) (account, error) {
	r.t.Helper()
	return answer[account](r, r.replaying(more...)...)
}

// checkReplay replays half of the messages: the worker must say of each that it processed it, once.
func (r *clientRun) checkReplay(worker *clientWorker) error {
	done, err := r.replay("--limit", strconv.Itoa(r.messages/2))
	if err != nil {
		return err
	}
	if done.Moved != r.messages/2 {
		return fmt.Errorf("%d messages were moved", done.Moved)
	}

	return worker.processes(r.messages / 2)
}

// checkCanary replays the rest with a canary.
func (r *clientRun) checkCanary(worker *clientWorker) error {
	left := r.depth(r.failed)
	done, err := r.replay("--canary", "--canary-wait", "1s")
	if err != nil {
		return err
	}
	if done.Moved != left {
		return fmt.Errorf("%d of %d messages were moved", done.Moved, left)
	}

	return worker.processes(r.messages)
}

// checkCanaryStops replays with a canary while the worker still fails: it must stop at the first message, whose tries
// begin again. It must watch for longer than all retries take. A message in a buffer has not failed for good, and does
// not come back there.
func (r *clientRun) checkCanaryStops() error {
	if r.Waits {
		return nil
	}
	worker := r.work(false)
	defer worker.stop()
	done := r.dlxtop(r.replaying("--canary", "--canary-wait", "20s", "-o", "json")...)
	var a account
	if err := json.Unmarshal([]byte(done.out), &a); err != nil {
		return fmt.Errorf("a canary for a worker that fails: %s", lastLine(done.stderr))
	}
	must.Await(r.t, "all have failed again", func() bool { return r.depth(r.failed) == r.messages })
	if done.status != 1 || a.Moved != 1 {
		return fmt.Errorf("with a worker that fails, a canary moved %d of %d messages", a.Moved, r.messages)
	}
	for id, times := range worker.times("FAILED") {
		if times != r.tried[id] {
			return fmt.Errorf("message %s failed %d times when it was sent, and %d times when it was replayed", id,
				r.tried[id], times)
		}
	}

	return nil
}

// processes waits until the worker has said that it processed this many messages.
func (w *clientWorker) processes(n int) error {
	end := time.Now().Add(built.Patience)
	times := w.times("PROCESSED")
	for len(times) < n && time.Now().Before(end) {
		time.Sleep(20 * time.Millisecond)
		times = w.times("PROCESSED")
	}

	if len(times) != n {
		return fmt.Errorf("the worker processed %d of %d messages", len(times), n)
	}
	for _, id := range slices.Sorted(maps.Keys(times)) {
		if times[id] != 1 {
			return fmt.Errorf("the worker processed message %s %d times", id, times[id])
		}
	}

	return nil
}
