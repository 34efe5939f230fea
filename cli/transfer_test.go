package cli_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/dlxtop/dlxtop/cli"
	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/journal"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/model/peek"
)

func (v *vhost) runProgram(change func(*cli.Program), args ...string) result {
	return runChanged(v.t.Context(), change, v.asJSON(args)...)
}

func journalAt(path string) func(*cli.Program) {
	return func(p *cli.Program) {
		p.Journal = func(string) cli.Journal { return journal.New(journal.Options{Path: path}) }
	}
}

// cut is a broker whose looks show only the first message.
type cut struct{ cli.Broker }

func (c cut) Read(
	ctx context.Context, look peek.Plan, each message.Visit,
) (peek.Read, error) {
	first := true
	read, err := c.Broker.Read(ctx, look, func(m *message.Message) error {
		if !first {
			return nil
		}
		first = false
		return each(m)
	})

	read.Stopped = "the queue's leader changed"
	return read, err
}

// A file with its final name is complete. A stream says on standard error, and with its exit status, that there is
// more.
func TestExportOfAPart(t *testing.T) {
	v := newVHost(t, "q")
	v.fill("q", 3)
	cutting := changedBroker(func(b cli.Broker) cli.Broker { return cut{b} })
	dir := t.TempDir()
	r := v.runProgram(cutting, "export q", filepath.Join(dir, "messages.jsonl"))
	r.ends(t, cli.ExitRefused, "no file was written: the queue's leader changed")
	left, err := os.ReadDir(dir)
	must.Do(t, err)
	assert.Equal(t, len(left), 0, "left behind: %v %v", left, err)
	r = v.runProgram(cutting, "export q -").ends(t, cli.ExitRefused, "there are more: the queue's leader changed")
	assert.That(t, strings.Count(r.out, "\n") == 1, "%+v", r)
}

// rewritten are files that change once they were read.
type rewritten struct {
	cli.Files
	content string
}

func (c *rewritten) Read(ctx context.Context, path string, each message.Visit) error {
	return errors.Join(c.Files.Read(ctx, path, each), os.WriteFile(path, []byte(c.content), 0o600))
}

// The agreement was to a number of messages. A file with more or fewer of them when it is imported is not a success,
// and nothing beyond the number is published.
func TestImportOfAFileThatChanges(t *testing.T) {
	line := "{\"properties\":{\"message_id\":\"m\"}}\n"
	for _, test := range []struct {
		name     string
		is, most int // messages: in the second reading, in the queue at most
	}{{"longer", 5, 3}, {"shorter", 1, 1}} {
		t.Run(test.name, func(t *testing.T) {
			v := newVHost(t, "to")
			path := filepath.Join(t.TempDir(), "messages.jsonl")
			must.Do(t, os.WriteFile(path, []byte(strings.Repeat(line, 3)), 0o600))
			r := v.runProgram(func(p *cli.Program) {
				p.Files = &rewritten{Files: p.Files, content: strings.Repeat(line, test.is)}
			}, "import", path, "--to", "queue:to", "--yes")
			assert.That(t, r.status != cli.ExitDone, "%+v", r)
			assert.Contains(t, r.stderr, "the file has changed since it was read first")
			n := v.count("to")
			assert.That(t, n <= test.most, "%d are there", n)
		})
	}
}

// A pipe can be read once, but an import reads twice. Messages for which RabbitMQ would close the connection are found
// before anything is sent, with their line.
func TestImportFindsWhatEndsConnections(t *testing.T) {
	t.Parallel()
	v := newVHost(t, "to")
	path := filepath.Join(t.TempDir(), "messages.jsonl")
	long := strings.Repeat("k", 300)
	for _, bad := range []string{
		`{"properties":{"expiration":"1s"}}`, `{"properties":{"expiration":"-5"}}`, `{"properties":{"type":"` + long + `"}}`,
		`{"headers":{"` + long + `":1}}`, `{"headers":{"x":"` + strings.Repeat("x", 140_000) + `"}}`,
		`{"properties":{"delivery_mode":9}}`,
	} {
		if strings.Contains(bad, "delivery_mode") && !strings.HasPrefix(node.Version(), "3.") {
			continue // it accepts that
		}
		text := "{\"body\":\"good\"}\n" + bad + "\n"
		must.Do(t, os.WriteFile(path, []byte(text), 0o600))
		v.run("import", path, "--to", "queue:to", "--yes").ends(t, cli.ExitUsage, ", line 2: ")
		v.holds("to", 0)
	}
}

func TestImportOfNoFile(t *testing.T) {
	for _, path := range []string{os.DevNull, t.TempDir()} {
		run(t, "import", path, "--to", "queue:to", "--yes").ends(t, cli.ExitUsage, "write it into one first")
	}
}

// A file without messages is refused at its beginning, before all of it was read.
func TestImportOfTenGigabytesOfNothing(t *testing.T) {
	v := newVHost(t, "q")
	path := filepath.Join(t.TempDir(), "sparse")
	for _, test := range []struct {
		begins, words string
		most          uint64 // of memory
	}{
		{"", "line 1: it is not JSON", 16 << 20},
		{"{", "line 1: it is longer than 256 MiB", 1 << 30},
	} {
		must.Do(t, os.WriteFile(path, []byte(test.begins), 0o600))
		must.Do(t, os.Truncate(path, 10<<30))
		var r result
		peak := heapDuring(func() { r = v.run("import", path, "--to", "queue:q", "--yes") })
		assert.Equal(t, r.status, cli.ExitUsage, "%+v", r)
		assert.Contains(t, r.stderr, test.words)
		assert.Contains(t, r.stderr, "nothing was imported")
		assert.That(t, peak <= test.most, "%q: %d MB", test.begins, peak>>20)
	}
}

// mendable fills a queue with messages that a program can mend, one that needs nothing, and one that it fails on.
func (v *vhost) mendable(queue string, n int) {
	v.t.Helper()
	for i := range n {
		v.publish("", queue, amqp.Publishing{
			MessageId: fmt.Sprintf("m-%d", i+1), Priority: 4, Timestamp: time.Unix(1_700_000_000, 0),
			Headers: amqp.Table{"tries": int32(i), "at": time.Unix(1_600_000_000, 0), "raw": []byte{0xff, 1}},
			Body:    fmt.Appendf(nil, "{ \"id\": %d.0, \"n\": \"%d\",\n \"tags\": [1,  2] }", i, i),
		})
	}

	v.publish("", queue, amqp.Publishing{MessageId: "whole", Body: []byte(`{"n":7}`)})
	v.publish("", queue, amqp.Publishing{MessageId: "broken", Body: []byte(`{"n":"seven"}`)})
}

const mending = `if .body.n | type == "string" then .body.n |= tonumber | .headers.tries = 7 else . end`

// wholes returns everything in each message, for comparison.
func wholes(deliveries []amqp.Delivery) (all []string) {
	for _, d := range deliveries {
		headers := maps.Clone(d.Headers)
		delete(headers, "dlxtop-replay")
		all = append(all, fmt.Sprintf("%q %q %#v %d %v", d.MessageId, d.Body, headers, d.Priority, d.Timestamp.Unix()))
	}
	slices.Sort(all)
	return all
}

func TestReplayEdited(t *testing.T) {
	t.Parallel()
	v := newVHost(t, "failed", "worker", "copy")
	const n = 600
	v.mendable("failed", n)
	v.mendable("copy", n)
	want := wholes(v.take("copy"))

	dry := v.run("replay failed --to queue:worker --edit", mending, "--dry-run", "-o", "json")
	planned := decode[accountContract](t, dry)
	e := planned.Edit
	must.Equal(t, dry.status, cli.ExitDone, "exit status %d: %s%s", dry.status, dry.out, dry.stderr)
	must.That(t, e != nil, "exit status %d: %s%s", dry.status, dry.out, dry.stderr)
	must.Equal(t, e.Changed, n)
	must.Equal(t, e.Unchanged, 1)
	must.Equal(t, e.Failed, 1)
	must.Equal(t, len(planned.Resets), 1)
	must.Equal(t, planned.Resets[0].Name, "tries")
	must.Equal(t, planned.Resets[0].Most, n-1)
	must.Equal(t, len(e.Reasons), 1)
	must.Contains(t, e.Reasons[0].Why, "the jq program failed: ")
	must.Equal(t, len(e.Samples), 5)

	second := e.Samples[1]
	got := strings.Join(second.Differences, "\n")
	lines := "header tries: 0 → 7\n- \"n\": \"1\",\n+ \"n\": 1,"
	assert.Equal(t, second.MessageID, "m-2", "%s:\n%s\nwant\n%s", second.MessageID, got, lines)
	assert.Equal(t, got, lines)
	before := second.Before.Body
	after := second.After.Body
	assert.Equal(t, second.Before.Position, 2, "before %q, after %q", before, after)
	assert.Contains(t, before, `"n": "1",`)
	assert.Equal(t, strings.Replace(before, `"1"`, "1", 1), after)
	v.run("replay failed --to queue:worker --edit", mending, "--dry-run", "-o", "table").says(t,
		"edited: 600 of 602 messages are changed, 1 is published unchanged, 1 stays in the queue", "message 2 (m-2):",
		`  + "n": 1,`, "1 of them stays: the jq program failed")
	v.holds("failed", n+2).holds("worker", 0)

	r := v.run("replay failed --to queue:worker --edit", mending, "--yes", "-o", "json")
	account := r.ends(t, cli.ExitRefused).account(t, fmt.Sprint(n+2, n+1, 0, 1, 0, 0))
	must.That(t, account.Edit != nil, "%s", r.out)
	must.Equal(t, account.Edit.Changed, n)
	d, ok, err := v.channel.Get("worker", false)
	must.Do(t, err)
	assert.That(t, ok, "%v %t %q %#v", err, ok, d.Body, d.Headers)
	assert.Equal(t, string(d.Body), "{ \"id\": 0.0, \"n\": 0,\n \"tags\": [1,  2] }")
	assert.That(t, d.Headers["tries"] == int32(7), "%v %t %q %#v", err, ok, d.Body, d.Headers)
	assert.Equal(t, d.Priority, 4)
	assert.That(t, d.Headers["at"] == time.Unix(1_600_000_000, 0), "%v %t %q %#v", err, ok, d.Body, d.Headers)
	must.Do(t, d.Nack(false, true))
	v.holds("worker", n+1)
	v.run("journal show", fmt.Sprint(account.JournalID), "-o", "table").says(t,
		"changed by the jq program if .body.n").shows(t, "the body (")
	v.run("journal undo", fmt.Sprint(account.JournalID), "--yes").ends(t, cli.ExitDone)
	v.holds("failed", n+2)
	assert.Same(t, want, wholes(v.take("failed")), "what came back")
}

func TestEditIsRefused(t *testing.T) {
	t.Parallel()
	v := newVHost(t, "failed", "worker")
	v.fill("failed", 3)
	v.declare("texts", nil)
	v.publish("", "texts", amqp.Publishing{Body: []byte("no JSON")})
	v.holds("texts", 1)

	for _, test := range must.Cases[struct {
		Edit, Want string
		Status     int
	}](t, "testdata/refused_edits.toml") {
		queue := "failed"
		if test.Want == "the broker takes at most" {
			queue = "texts" // JSON of that size would take more memory than a program gets
			if strings.HasPrefix(node.Version(), "3.") {
				test.Edit = strings.Replace(test.Edit, "17", "129", 1)
			}
		}

		r := v.run("replay", queue, "--to", "queue:worker", "--edit", test.Edit, "--yes").ends(t, test.Status, test.Want)
		assert.Equal(t, r.out, "", "%s", test.Edit)
	}

	v.holds("failed", 3).holds("worker", 0)
	r := v.run("move failed --to queue:worker --edit", `.body.n += 1`, "--yes")
	r.ends(t, cli.ExitDone).account(t, "3 3 0 0 0 0")
	got := v.take("worker")
	must.Equal(t, len(got), 3, "%d messages are there", len(got))
	assert.Equal(t, string(got[0].Body), `{"n":2}`)
}

// A canary that comes back stops a replay with changed messages, too, and what was sent is undone.
func TestEditedCanary(t *testing.T) {
	t.Parallel()
	v := newVHost(t, "failed")
	v.declare("worker", amqp.Table{"x-dead-letter-exchange": "", "x-dead-letter-routing-key": "failed"})
	v.fill("failed", 14)
	v.consume("worker", func(d amqp.Delivery) { _ = d.Reject(false) })
	r := v.run("replay failed --to queue:worker --edit", `.body.fixed = true`, "--canary", "--canary-wait",
		"1s", "--yes").ends(t, cli.ExitRefused)
	assert.Equal(t, *r.account(t, "14 1 0 0 0 0").CameBack, 1, "came back")
	v.holds("failed", 14)

	mended := 0
	for _, d := range v.take("failed") {
		if strings.Contains(string(d.Body), "fixed") {
			mended++
		}
	}

	assert.Equal(t, mended, 1, "messages were changed")
}

// The rest is changed by the same program.
func TestResumeOfAnEdit(t *testing.T) {
	t.Parallel()
	v := newVHost(t, "failed", "worker")
	v.fill("failed", 120)
	r := v.interrupted("worker", 3, "replay failed --to queue:worker --rate 20/s --edit",
		`.body.fixed = true`, "--yes")
	first := decode[accountContract](t, r)
	must.That(t, first.JournalID != 0, "%+v", r)
	must.That(t, *first.Moved < 120, "%+v", r)
	r = v.run("journal resume", fmt.Sprint(first.JournalID), "--yes").ends(t, cli.ExitDone)
	assert.Equal(t, *decode[resumeContract](t, r).Moved, 120-*first.Moved, "moved")

	got := v.take("worker")
	for _, d := range got {
		assert.That(t, strings.Contains(string(d.Body), `,"fixed":true}`), "%s was not changed", d.Body)
	}

	assert.Equal(t, len(got), 120, "arrived")
}

// The memory for reading a file does not grow with its size.
func TestImportOfALargeFile(t *testing.T) {
	v := newVHost(t, "to")
	path := filepath.Join(t.TempDir(), "large.jsonl")
	file := must.Get(os.Create(path))(t)
	lines := bufio.NewWriter(file)
	line := `{"properties":{"message_id":"m"},"body_bytes":100000,"headers":{"n":1},"body_encoding":"utf-8","body":"` +
		strings.Repeat("x", 100_000) + "\"}\n"

	const n = 350 // 35 MB: more than the limit
	for range n {
		must.Get(lines.WriteString(line))(t)
	}

	must.Do(t, lines.Flush())
	file.Close()
	var r result
	peak := heapDuring(func() { r = v.run("import", path, "--to", "queue:to", "--dry-run") })
	assert.That(t, peak <= 32<<20, "%d MB", peak>>20)
	assert.That(t, *decode[accountContract](t, r).Planned == n, "%+v", r)
}

// heapDuring returns the maximum growth of the heap in bytes.
func heapDuring(what func()) uint64 {
	heap := func() uint64 {
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapInuse
	}

	// Otherwise garbage counts, too: as much as this percentage of what earlier tests have left in use.
	defer debug.SetGCPercent(debug.SetGCPercent(5))
	runtime.GC()
	before, peak := heap(), uint64(0)
	done := make(chan struct{})
	var watching sync.WaitGroup

	watching.Go(func() {
		ticker := time.NewTicker(5 * time.Millisecond)
		defer ticker.Stop()
		for {
			select {
			case <-done:
				return
			case <-ticker.C:
				peak = max(peak, heap())
			}
		}
	})

	what()
	close(done)
	watching.Wait()

	return max(peak, before) - before
}
