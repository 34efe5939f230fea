package cli_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dlxtop/dlxtop/cli"
	"github.com/dlxtop/dlxtop/cli/config"
	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/model/peek"
	"github.com/dlxtop/dlxtop/model/plan"
)

// runProgram runs a command of a program that a test has changed.
func (v *vhost) runProgram(change func(*cli.Program), args ...string) result {
	v.t.Helper()
	var out, errs bytes.Buffer
	p := program(strings.NewReader(""), &out, &errs)
	change(p)
	status := p.Run(v.t.Context(), v.asJSON(args))
	return result{status, out.String(), errs.String()}
}

// cut is a broker of which a look shows the first message alone.
type cut struct{ cli.Broker }

// Read implements cli.Broker.
func (c cut) Read(
	ctx context.Context, look peek.Plan, each func(*message.Message) error,
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

// TestExportOfAPart: a file that has its name is complete. A stream says on standard error, and with its exit status,
// that there is more.
func TestExportOfAPart(t *testing.T) {
	v := newVHost(t)
	v.declare("q", nil)
	v.fill("q", 3)
	cutting := func(p *cli.Program) {
		open := p.Broker
		p.Broker = func(c config.Connection, j cli.Journal, reread plan.Reread) (cli.Broker, error) {
			b, err := open(c, j, reread)
			return cut{b}, err
		}
	}
	dir := t.TempDir()
	r := v.runProgram(cutting, "export", "q", filepath.Join(dir, "messages.jsonl"))
	assert.That(t, r.status != cli.ExitDone &&
		strings.Contains(r.stderr, "no file was written: the queue's leader changed"), "%+v", r)
	left, err := os.ReadDir(dir)
	assert.That(t, err == nil && len(left) == 0, "left behind: %v %v", left, err)
	r = v.runProgram(cutting, "export", "q", "-")
	assert.That(t, r.status == cli.ExitRefused && strings.Count(r.out, "\n") == 1 &&
		strings.Contains(r.stderr, "there are more: the queue's leader changed"), "%+v", r)
}

// rewritten are files of which the second reading comes to another end than the first.
type rewritten struct {
	cli.Files
	content string // of the second reading
	reads   int
}

// Read implements cli.Files.
func (c *rewritten) Read(ctx context.Context, path string, each func(*message.Message) error) error {
	if c.reads++; c.reads == 2 {
		if err := os.WriteFile(path, []byte(c.content), 0o600); err != nil {
			return err
		}
	}
	return c.Files.Read(ctx, path, each)
}

// TestImportOfAFileThatChanges: what was agreed to is a number of messages. A file that has more or fewer of them when
// it is imported is no success, and nothing beyond the number is published.
func TestImportOfAFileThatChanges(t *testing.T) {
	line := "{\"properties\":{\"message_id\":\"m\"}}\n"
	for _, test := range []struct {
		name     string
		is, most int // messages: in the second reading, in the queue at most
	}{{"longer", 5, 3}, {"shorter", 1, 1}} {
		t.Run(test.name, func(t *testing.T) {
			v := newVHost(t)
			v.declare("to", nil)
			path := filepath.Join(t.TempDir(), "messages.jsonl")
			must.Do(t, os.WriteFile(path, []byte(strings.Repeat(line, 3)), 0o600))
			r := v.runProgram(func(p *cli.Program) {
				p.Files = &rewritten{Files: p.Files, content: strings.Repeat(line, test.is)}
			}, "import", path, "--to", "queue:to", "--yes")
			assert.That(t, r.status != cli.ExitDone &&
				strings.Contains(r.stderr, "the file has changed since it was read first"), "%+v", r)
			n := v.count("to")
			assert.That(t, n <= test.most, "%d are there", n)
		})
	}
}

// TestImportOfNoFile: a pipe can be read once, and an import reads twice.
// What RabbitMQ would end the connection for is found before anything is sent, with its line.
func TestImportFindsWhatEndsConnections(t *testing.T) {
	t.Parallel()
	v := newVHost(t)
	v.declare("to", nil)
	path := filepath.Join(t.TempDir(), "messages.jsonl")
	long := strings.Repeat("k", 300)
	for _, bad := range []string{
		`{"properties":{"expiration":"1s"}}`, `{"properties":{"expiration":"-5"}}`, `{"properties":{"type":"` + long + `"}}`,
		`{"headers":{"` + long + `":1}}`, `{"headers":{"x":"` + strings.Repeat("x", 140_000) + `"}}`,
		`{"properties":{"delivery_mode":9}}`,
	} {
		if strings.Contains(bad, "delivery_mode") && !strings.HasPrefix(node.Version(), "3.") {
			continue // it takes that
		}
		text := "{\"body\":\"good\"}\n" + bad + "\n"
		must.Do(t, os.WriteFile(path, []byte(text), 0o600))
		r := v.run("import", path, "--to", "queue:to", "--yes")
		if r.status != cli.ExitUsage || !strings.Contains(r.stderr, ", line 2: ") || v.count("to") != 0 {
			t.Errorf("%.60s: %d messages are there: %+v", bad, v.count("to"), r)
		}
	}
}

func TestImportOfNoFile(t *testing.T) {
	for _, path := range []string{os.DevNull, t.TempDir()} {
		r := run(t, "import", path, "--to", "queue:to", "--yes")
		assert.That(t, r.status == cli.ExitUsage && strings.Contains(r.stderr, "write it into one first"), "%s: %+v", path, r)
	}
}
