package cli_test

import (
	"bytes"
	"context"
	"net"
	"os"
	"path/filepath"
	"testing"

	"github.com/creack/pty"

	"github.com/dlxtop/dlxtop/cli"
	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
)

// Who has saved contexts is told of them, and not asked; nor is who named a broker.
func TestOnlyAFirstStartAsks(t *testing.T) {
	master, tty, err := pty.Open()
	must.Do(t, err)
	defer master.Close()
	defer tty.Close()
	home := t.TempDir()
	start := func(args ...string) (asked bool, said string) {
		var errs bytes.Buffer
		p := program(tty, tty, &errs)
		p.Env = func(name string) string { return map[string]string{"XDG_CONFIG_HOME": home, "TERM": "xterm"}[name] }
		p.Ask = func(context.Context, cli.Form) error { asked = true; return nil }
		p.Dashboard = func(context.Context, cli.Dashboard) (string, error) { return "", nil }
		p.Run(t.Context(), args)
		return asked, errs.String()
	}
	asked, said := start("--url", "amqp://localhost:1")
	assert.That(t, !asked, "it asks though there is a URL, and says %s", said)
	must.Do(t, os.Mkdir(filepath.Join(home, "dlxtop"), 0o700))
	path := filepath.Join(home, "dlxtop", "config.toml")
	must.Do(t, os.WriteFile(path, []byte("[contexts.a]\nurl = \"amqp://h\"\n"), 0o600))
	if there, err := net.Dial("tcp", "localhost:5672"); err == nil {
		there.Close()
		t.Skip("this machine has a broker where dlxtop looks for one")
	}
	asked, said = start()
	assert.That(t, !asked, "it asks though there is a context")
	assert.Contains(t, said, "`dlxtop --context NAME` opens one that is saved: a", "with a context")
}
