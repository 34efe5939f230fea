package cli_test

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/creack/pty"

	"github.com/dlxtop/dlxtop/cli"
	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
)

// TestGoingToContexts: from the dashboard one goes to the context that it names; the caution of the command line goes
// along. One that cannot be opened leaves the dashboard where it was, on connections that still work.
func TestGoingToContexts(t *testing.T) {
	first, second := newNamedVHost(t, "contexts-1"), newNamedVHost(t, "contexts-2")
	dir := t.TempDir()
	must.Do(t, os.Mkdir(filepath.Join(dir, "dlxtop"), 0o700))
	file := fmt.Sprintf(`
		[contexts.one]
		url = %q
		api = %q
		[contexts.two]
		url = %q
		api = %[2]q
		[contexts.away]
		url = %[4]q`, first.url(), node.API(), second.url(), "amqp://"+nobody(t))
	must.Do(t, os.WriteFile(filepath.Join(dir, "dlxtop", "config.toml"), []byte(file), 0o600))
	master, tty, err := pty.Open()
	must.Do(t, err)
	defer master.Close()
	defer tty.Close()
	p := program(tty, tty, tty)
	p.Env = func(name string) string {
		if name == "XDG_CONFIG_HOME" {
			return dir
		}
		return ""
	}
	visits := []struct{ goes, vhost, trouble string }{
		{"away", "contexts-1", ""},
		{"no such", "contexts-1", "still one, not away: "},
		{"two", "contexts-1", "there is no context no such"},
		{"", "contexts-2", ""},
	}
	at := 0
	p.Dashboard = func(ctx context.Context, d cli.Dashboard) (string, error) {
		if at == len(visits) {
			t.Error("the dashboard came back after it was left")
			return "", nil
		}
		visit := visits[at]
		at++
		if d.Connection.VHost != visit.vhost || !d.Connection.ReadOnly || !d.Connection.NoJournal {
			t.Errorf("dashboard %d is on vhost %q, read only %v, without a journal %v", at, d.Connection.VHost,
				d.Connection.ReadOnly, d.Connection.NoJournal)
		}
		assert.That(t, strings.Contains(d.Trouble, visit.trouble) && (visit.trouble != "" || d.Trouble == ""),
			"dashboard %d has the trouble %q, want %q", at, d.Trouble, visit.trouble)
		assert.List(t, d.Contexts, []string{"away", "one", "two"}, "the contexts")
		if _, err := d.Source.Snapshot(ctx); err != nil {
			t.Errorf("dashboard %d cannot read the broker: %v", at, err)
		}
		if err := d.Broker.Check(ctx, visit.vhost); err != nil {
			t.Errorf("dashboard %d cannot reach the broker: %v", at, err)
		}
		return visit.goes, nil
	}
	args := []string{"--context", "one", "--read-only", "--no-journal"}
	status := p.Run(t.Context(), args)
	assert.That(t, status == cli.ExitDone && at == len(visits), "exit status %d after %d dashboards", status, at)
	tty.Close()
	said, _ := io.ReadAll(master)
	taken := regexp.MustCompile("[^\\r\\n]*\\r\x1b\\[K")
	left := taken.ReplaceAllString(string(said), "")
	assert.That(t, left == "" && strings.Contains(string(said), "connecting to two"),
		"%q is left on the terminal of %q", left, said)
}
