package cli_test

import (
	"bytes"
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dlxtop/dlxtop/cli"
	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
)

// resumeContract is the JSON of a resume.
type resumeContract struct {
	accountContract
	Resume struct {
		Resumes      int64 `json:"resumes"`
		Done         int   `json:"done"`
		Acknowledged int   `json:"acknowledged"`
		Unsent       int   `json:"unsent"`
		Undecided    []struct {
			Record    int64  `json:"record"`
			Position  int    `json:"position"`
			MessageID string `json:"message_id"`
			Reason    string `json:"reason"`
		} `json:"undecided"`
	} `json:"resume"`
}

// interrupted runs a command until so many more messages are in a queue, and ends it then.
func (v *vhost) interrupted(queue string, n int, args ...string) result {
	v.t.Helper()
	ctx, cancel := context.WithCancel(v.t.Context())
	defer cancel()
	done := make(chan result)
	before := v.count(queue)
	go func() {
		var out, errs bytes.Buffer
		status := program(strings.NewReader(""), &out, &errs).Run(ctx, v.asJSON(args))
		done <- result{status, out.String(), errs.String()}
	}()
	await(v.t, "it is in its middle", func() bool { return v.count(queue) >= before+n })
	cancel()
	return <-done
}

// TestResume: what ended early is gone on with: the same selection, by the places that the messages had in the queue
// when it began, and the undo of both parts brings back each message once.
func TestResume(t *testing.T) {
	v := newVHost(t)
	v.declare("failed", nil)
	v.declare("worker", nil)
	v.fill("failed", 160) // at 20 a second a machine that stands still for seconds does not come to the end
	r := v.interrupted(
		"worker",
		5,
		"replay",
		"failed",
		"--to",
		"queue:worker",
		"--rate",
		"20/s",
		"--filter",
		"position <= 120",
		"--yes",
	)
	first := decode[accountContract](t, r)
	must.That(t, first.JournalID != 0 && *first.Moved >= 5 && *first.Moved < 120 &&
		strings.Contains(r.stderr, fmt.Sprintf("`dlxtop journal resume %d` continues it", first.JournalID)), "%+v", r)
	resume := []string{"journal", "resume", fmt.Sprint(first.JournalID)}
	dry := decode[resumeContract](t, v.run(append(resume, "--dry-run")...))
	assert.That(t, dry.Resume.Resumes == first.JournalID && *dry.Planned == 120-*first.Moved &&
		v.count("worker") == *first.Moved, "a dry run: %+v", dry)
	v.fill("failed", 7) // which is not its business
	r = v.run(append(resume, "--yes")...)
	second := decode[resumeContract](t, r)
	must.That(t, r.status == cli.ExitDone && *second.Moved == 120-*first.Moved && second.JournalID == first.JournalID+1 &&
		v.count("worker") == 120 && v.count("failed") == 47, "%+v", r)
	if r := v.run(append(resume, "--yes")...); r.status != cli.ExitRefused ||
		!strings.Contains(r.stderr, "there is nothing to resume") {
		t.Errorf("%+v", r)
	}
	table := v.run("journal", "-o", "table", "-n", "2")
	shown := []string{fmt.Sprintf("replay, on %d", first.JournalID), fmt.Sprintf("resumed as %d", second.JournalID)}
	for _, want := range shown {
		assert.That(t, strings.Contains(table.out, want), "%q is not in %s", want, table.out)
	}
	for _, id := range []int64{second.JournalID, first.JournalID} {
		if r := v.run("journal", "undo", fmt.Sprint(id), "--yes"); r.status != cli.ExitDone {
			t.Errorf("%+v", r)
		}
	}
	seen := map[string]int{}
	for _, d := range v.take("failed") {
		seen[d.MessageId]++
	}
	for i := range 160 {
		if id := fmt.Sprintf("m-%d", i+1); seen[id] != 1 && i >= 7 || seen[id] != 2 && i < 7 {
			t.Errorf("%s is there %d times", id, seen[id])
		}
	}
	assert.That(t, v.count("worker") == 0, "the worker has some of them still")
}

// TestResumeOfAnEarlyDrop goes on with chosen messages only.
func TestResumeOfAnEarlyDrop(t *testing.T) {
	v := newVHost(t)
	v.declare("failed", nil)
	v.declare("worker", nil)
	v.fill("failed", 150)
	r := v.interrupted("worker", 3, "move", "failed", "--to", "queue:worker", "--rate", "20/s", "--limit", "120", "--yes")
	first := decode[accountContract](t, r)
	must.That(t, *first.Moved >= 3 && *first.Moved < 120, "%+v", r)
	if r := v.run("journal", "resume", fmt.Sprint(first.JournalID), "--yes", "-o", "table"); r.status != cli.ExitDone ||
		v.count("worker") != 120 ||
		v.count("failed") != 30 {
		t.Errorf("%d, %d left: %+v", v.count("worker"), v.count("failed"), r)
	}
}

// TestResumeIsRefused: nothing is looked at for what cannot be resumed.
func TestResumeIsRefused(t *testing.T) {
	v := newVHost(t)
	v.declare("failed", nil)
	v.fill("failed", 2)
	done := decode[accountContract](t, v.run("drop", "failed", "--yes"))
	id := fmt.Sprint(done.JournalID)
	for _, test := range []struct {
		args   []string
		status int
		words  string
	}{
		{[]string{"999999", "--yes"}, cli.ExitUsage, "no record 999999"},
		{[]string{id, "--yes"}, cli.ExitRefused, "came to its end: there is nothing to resume"},
		{[]string{id}, cli.ExitUsage, "no terminal to ask on"},
		{[]string{id, "--undecided", "perhaps", "--yes"}, cli.ExitUsage, "it is publish or leave"},
		{[]string{id, "--yes", "--read-only"}, cli.ExitConnect, "read-only"},
		{[]string{id, "--yes", "--no-journal"}, cli.ExitUsage, ""},
	} {
		r := v.run(append([]string{"journal", "resume"}, test.args...)...)
		assert.That(t, r.status == test.status && strings.Contains(r.stderr, test.words) && r.out == "",
			"%v: %+v", test.args, r)
	}
	undone := v.run("journal", "undo", id, "--yes")
	must.That(t, undone.status == cli.ExitDone, "%v", undone)
	if r := v.run("journal", "resume", id, "--yes"); r.status != cli.ExitRefused ||
		!strings.Contains(r.stderr, "was undone") {
		t.Errorf("%+v", r)
	}
}

// TestResumeOfAnImport goes on with a file.
func TestResumeOfAnImport(t *testing.T) {
	v := newVHost(t)
	v.declare("from", nil)
	v.declare("to", nil)
	const n = 3000
	v.fill("from", n)
	path := filepath.Join(t.TempDir(), "messages.jsonl")
	if r := v.run("export", "from", path); r.status != cli.ExitDone {
		t.Fatal(r)
	}
	r := v.interrupted("to", 1, "import", path, "--to", "queue:to", "--yes")
	first := decode[accountContract](t, r)
	if *first.Moved == n {
		t.Log("it was over before it was interrupted")
		return
	}
	if r := v.run("journal", "resume", fmt.Sprint(first.JournalID), "--yes"); r.status != cli.ExitDone ||
		v.count("to") != n {
		t.Errorf("%d are there: %+v", v.count("to"), r)
	}
	seen := map[string]bool{}
	for _, d := range v.take("to") {
		seen[d.MessageId] = true
	}
	assert.Equal(t, len(seen), n, "different ones")
}
