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
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/model"
)

// client is an application on a framework, and what to expect of it. Its program is in apps, which describes it.
type client struct {
	Name    string
	Module  string   // a Go module in apps, which is built
	Command []string // otherwise how the program is run, in apps
	Extra   []string // of its environment

	Workers  []string // the queues that its applications consume
	Failed   string   // where its failures end: a queue, or a pattern with * for the fullest one
	Retry    string   // the buffer in which they wait before, or, with waits, one in which they wait a short time
	Apart    bool     // only the messages tie the failed queue to its worker: no setting of the broker does
	Waits    bool     // nothing ends anywhere: failed is a buffer
	Failures []string // what dlxtop must read of them, one or the other
	Tries    []string // what it must say about them, one after the other
	Soon     []string // environment for messages that wait a short time
	To       string   // where its messages should go, when dlxtop must ask
	Errors   []string // expected findings of this level: "CODE QUEUE"

	Unable                   string // why it cannot run on some versions of RabbitMQ
	UnableFrom, UnableBefore []int  // these versions

	Without map[check]string // checks that do not apply, and why

	Cases []clientCase
}

// clientCase is something else that an application does, and what dlxtop must do right with it.
type clientCase struct {
	Name        string
	Environment []string
	Check       string // of caseChecks
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

var checks = []check{flowCheck, failureCheck, triesCheck, dueCheck, errorsCheck, undoCheck, replayCheck, canaryCheck}

// allClients returns those of the file, each with checks that there are.
func allClients(t *testing.T) []client {
	t.Helper()
	all := must.Cases[client](t, "testdata/clients.toml")
	for _, c := range all {
		for name := range c.Without {
			must.That(t, slices.Contains(checks, name), "%s: there is no check %s", c.Name, name)
		}
		for _, other := range c.Cases {
			must.That(t, caseChecks[other.Check] != nil, "%s: there is no check %s", c.Name, other.Check)
		}
	}

	return all
}

// unableOn says why a client cannot run on a version of RabbitMQ, "" where it can.
func (c *client) unableOn(v model.Version) string {
	since, before := c.UnableFrom, c.UnableBefore
	if since != nil && v.AtLeast(since[0], since[1]) || before != nil && !v.AtLeast(before[0], before[1]) {
		return c.Unable
	}
	return ""
}

func TestMain(m *testing.M) { os.Exit(built.Main(m)) }

// TestSampleOfClients is the part of make clients in every run: one application in Go, one in another language that is
// quickly installed. The others need more on the machine.
func TestSampleOfClients(t *testing.T) {
	var sample []client
	for _, c := range allClients(t) {
		if c.Name == "Watermill" || c.Name == "pika" {
			c.Without = maps.Clone(c.Without)
			c.Without[dueCheck] = "it holds a clock against the screen, beside other tests: make clients has it"
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
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			program, err := c.program(t)
			if err != nil {
				row.notRun = err.Error()
				t.Fatalf("not run: %v", err)
			}

			row.version = program.version
			if row.notRun = c.unableOn(model.ParseVersion(built.Node.Version())); row.notRun != "" {
				t.Skip("not run: " + row.notRun)
			}

			if c.Failed != "" {
				row.check(t, program)
			}

			row.checkCases(t, program)
		})
	}
}

func (c *client) program(t *testing.T) (*clientProgram, error) {
	p := &clientProgram{t: t, command: c.Command, environment: append(built.Environment(), c.Extra...)}
	if c.Module != "" {
		binary := filepath.Join(t.TempDir(), c.Module)
		build := exec.Command("go", "build", "-o", binary, ".")
		build.Dir = filepath.Join("apps", c.Module)
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
	row := &clientsRow{client: c, verdicts: map[check]verdict{}, cases: make([]verdict, len(c.Cases))}
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
		name := row.client.Name
		if row.version != "" {
			name += " (" + row.version + ")"
		}

		fmt.Fprintf(&out, "| %s |", name)
		for _, c := range checks {
			v := row.verdicts[c]
			cell := v.cell()
			if row.client.Without[c] != "" {
				cell = "not applicable"
			} else if v.why != nil {
				causes = append(causes, fmt.Sprintf("%s, %s: %v", row.client.Name, c, v.why))
			}

			fmt.Fprintf(&out, " %s |", cell)
		}

		out.WriteString("\n")
		if row.notRun != "" {
			causes = append(causes, row.client.Name+": not run: "+row.notRun)
		}
	}

	if slices.ContainsFunc(table.rows, func(row *clientsRow) bool { return len(row.cases) > 0 }) {
		out.WriteString("\n| framework | what | right |\n|---|---|---|\n")
	}

	for _, row := range table.rows {
		for i, c := range row.client.Cases {
			v := row.cases[i]
			fmt.Fprintf(&out, "| %s | %s | %s |\n", row.client.Name, c.Name, v.cell())
			if v.why != nil {
				causes = append(causes, fmt.Sprintf("%s, %s: %v", row.client.Name, c.Name, v.why))
			}
		}
	}

	for _, cause := range causes {
		out.WriteString("\n" + cause)
	}

	t.Log(out.String())
}
