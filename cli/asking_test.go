package cli_test

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/creack/pty"

	"github.com/dlxtop/dlxtop/cli"
	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
)

// terminal runs a command line on a terminal and types an answer when the question is there.
func terminal(
	t *testing.T, env map[string]string, question, answer string, args ...string,
) (status int, screen string) {
	t.Helper()
	master, tty, err := pty.Open()
	must.Do(t, err)
	must.Do(t, pty.Setsize(master, &pty.Winsize{Rows: 24, Cols: 80}))
	defer tty.Close()
	defer master.Close()
	var shown lockedBuffer
	go func() { // ends when both ends are closed
		buffer := make([]byte, 4096)
		for {
			n, err := master.Read(buffer)
			shown.Write(buffer[:n])
			if err != nil {
				return
			}
		}
	}()
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	p := program(tty, tty, tty)
	p.Env = func(name string) string { return env[name] }
	done := make(chan int, 1) // one status
	go func() { done <- p.Run(ctx, args) }()
	must.Await(t, question, func() bool { return strings.Contains(shown.String(), question) })
	if answer == "interrupt" {
		interrupt()
	} else if _, err := master.Write([]byte(answer + "\n")); err != nil {
		t.Fatal(err)
	}
	status = <-done
	return status, shown.String()
}

type lockedBuffer struct {
	mu sync.Mutex
	bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.Buffer.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.Buffer.String()
}

func TestAsking(t *testing.T) {
	v := newVHost(t, "failed")
	v.fill("failed", 3)
	on := func(args ...string) []string { return append(args, "--url", v.url(), "--api", node.API()) }
	for _, test := range []struct {
		name, question, answer string
		args                   []string
		status, left           int
	}{
		{"no", "drop 1 message of", "n", on("drop", "failed", "--limit", "1"), cli.ExitRefused, 3},
		{"nothing", "[y/N]", "", on("drop", "failed", "--limit", "1"), cli.ExitRefused, 3},
		{"interrupt", "[y/N]", "interrupt", on("drop", "failed", "--limit", "1"), cli.ExitInterrupted, 3},
		{"yes", "[y/N]", "y", on("drop", "failed", "--limit", "1"), cli.ExitDone, 2},
	} {
		status, screen := terminal(t, nil, test.question, test.answer, test.args...)
		assert.That(t, status == test.status, "%s: exit status %d: %s", test.name, status, screen)
		assert.Equal(t, v.count("failed"), test.left, "%s", test.name)
	}
	v.fill("failed", 110)
	for _, test := range []struct {
		answer       string
		status, left int
	}{{"y", cli.ExitRefused, 112}, {"112", cli.ExitDone, 0}} {
		status, screen := terminal(t, nil, "to go on, type 112:", test.answer, on("drop", "failed")...)
		if n := v.count("failed"); status != test.status || n != test.left {
			t.Errorf("%s: exit status %d and %d messages left: %s", test.answer, status, n, screen)
		}
	}
}

// TestProduction: on a production system one message is enough to be asked for its number, and then why; read-only
// means it. The reason is in the journal, and is found there.
func TestProduction(t *testing.T) {
	v := newVHost(t, "failed")
	v.fill("failed", 1)
	env := configured(t, fmt.Sprintf("[contexts.prod]\nurl = %q\napi = %q\nproduction = true\n[contexts.look]\nurl = "+
		"%q\napi = %q\nread_only = true\n",
		v.url(), node.API(), v.url(), node.API()))
	status, screen := terminal(t, env, "type 1:", "yes", "drop", "failed", "--context", "prod")
	assert.That(t, status == cli.ExitRefused && v.count("failed") == 1, "exit status %d: %s", status, screen)
	if status, screen := terminal(t, env, "read-only", "", "drop", "failed", "--context",
		"look"); status != cli.ExitConnect || v.count("failed") != 1 {
		t.Errorf("exit status %d: %s", status, screen)
	}
	if status, screen := terminal(t, env, "type 1:", "1\n ", "drop", "failed", "--context",
		"prod"); status != cli.ExitRefused || v.count("failed") != 1 {
		t.Errorf("exit status %d: %s", status, screen)
	}
	if status, screen := terminal(t, env, "type 1:", "1\nINC-4711, bad address", "drop", "failed", "--context",
		"prod"); status != cli.ExitDone || v.count("failed") != 0 {
		t.Errorf("exit status %d: %s", status, screen)
	}
	v.fill("failed", 1)
	v.run("drop", "failed", "--yes", "--reason", "by hand")
	for search, want := range map[string]string{"inc-4711": "INC-4711, bad address", "BY HAND": "by hand"} {
		r := v.run("journal", "--search", search, "-o", "json")
		assert.That(t, strings.Contains(r.out, fmt.Sprintf("%q", want)) && strings.Count(r.out, `"operation"`) == 1,
			"%s finds %s%s", search, r.out, r.stderr)
	}
}
