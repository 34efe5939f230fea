package cli_test

import (
	"bytes"
	"context"
	"io"
	"strings"
	"testing"

	"github.com/creack/pty"

	"github.com/dlxtop/dlxtop/cli"
	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
)

// onTerminal runs a command line on a terminal, and returns all that it wrote there.
func onTerminal(t *testing.T, env map[string]string, args ...string) string {
	t.Helper()
	master, tty, err := pty.Open()
	must.Do(t, err)
	defer master.Close()
	shown := make(chan []byte, 1) // all of it
	go func() {
		text, _ := io.ReadAll(master) // EIO is its end
		shown <- text
	}()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	p := program(tty, tty, tty)
	p.Env = func(name string) string { return env[name] }
	p.Run(ctx, args)
	tty.Close()
	return string(<-shown)
}

// TestDumbTerminal: what understands no escape sequences gets none, from no command.
func TestDumbTerminal(t *testing.T) {
	v := newVHost(t)
	v.declarePubsub()
	dumb := map[string]string{"TERM": "dumb", "DLXTOP_URL": v.url(), "DLXTOP_API": node.API()}
	const queue = "ucenter@user@failed"
	for _, args := range [][]string{
		{"flows"},
		{"peek", queue},
		{"findings"},
		{"drop", queue, "--limit", "1", "--yes"},
		{"replay", queue, "--limit", "1", "--yes"},
		{"export", queue, "-"},
		{"journal"},
		{"--help"},
		{},
	} {
		screen := onTerminal(t, dumb, args...)
		assert.That(t, !strings.Contains(screen, "\x1b"), "%v wrote %q", args, screen)
		assert.That(t, len(args) > 0 || strings.Contains(screen, "TERM=dumb"), "the dashboard said %q", screen)
	}
	smart := map[string]string{"TERM": "xterm", "DLXTOP_URL": v.url(), "DLXTOP_API": node.API()}
	assert.Contains(t, onTerminal(t, smart, "drop", queue, "--limit", "1", "--yes"), "\x1b[K",
		"no progress is shown on a terminal")
}

// TestCompletion: a shell gets names as they are, and none that it could not hand back or that would act on the
// terminal.
func TestCompletion(t *testing.T) {
	v := newVHost(t)
	flood := strings.Repeat("\u1100", 9)
	for _, name := range []string{
		"plain", "Grüße 世界", "gpj.\u202eexe", "two\nlines", "tab\there", "-n",
		flood, "end ",
	} {
		v.declare(name, nil)
	}
	var out, errs bytes.Buffer
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	args := []string{"__complete", "peek", "--url", v.url(), "--api", node.API(), ""}
	status := program(strings.NewReader(""), &out, &errs).Run(ctx, args)
	must.That(t, status == cli.ExitDone, "exit status %d: %s", status, errs.String())
	names, _, _ := strings.Cut(out.String(), ":") // what follows is for the shell
	assert.That(t, names == "Grüße 世界\nplain\ntwolines\n", "%q", out.String())
}
