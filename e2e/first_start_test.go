package e2e

import (
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dlxtop/dlxtop/cli"
	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/built"
	"github.com/dlxtop/dlxtop/internal/must"
)

// Without a broker on this machine, a first start asks for one, tries each answer, and saves a context. The password is
// seen nowhere but in that.
func TestFirstStartAsks(t *testing.T) {
	if there, err := net.Dial("tcp", "localhost:5672"); err == nil {
		there.Close()
		t.Skip("this machine has a broker where dlxtop looks for one")
	}
	amqp, api := must.Get(url.Parse(built.Node.AMQP()))(t), must.Get(url.Parse(built.Node.API()))(t)
	password, _ := amqp.User.Password()
	screen := built.Open(t)
	answer := func(text string, words ...string) {
		t.Helper()
		screen.Press("\x15" + text + "\r") // ctrl-u clears the field
		screen.WaitFor(words...)
		assert.That(t, !strings.Contains(screen.Text(), "s3cret"), "the password is shown:\n%s", screen.Text())
	}
	screen.WaitFor("Which RabbitMQ?", "No broker is configured", "▸ host")
	answer("localhost:1", "✗ host: nothing listens on localhost:1")
	answer(amqp.Host, "✓ host", "▸ user")
	answer(amqp.User.Username(), "✓ user", "▸ password")
	answer("s3cret", "✗ password:")
	answer(password, "✓ password", "▸ API")
	answer("http://localhost:1", "✗ API: RabbitMQ answers")
	answer("http://"+api.Host, "✓ API", "▸ save as")
	answer("two words", "✗ save as: the name of a context has letters")
	answer("here", "1 Flows", " here ")
	screen.WaitForPoll("1 Flows")
	screen.Press("q")
	screen.WaitForEnd(cli.ExitDone)

	home := ""
	for _, entry := range screen.Command.Env {
		if value, ok := strings.CutPrefix(entry, "HOME="); ok {
			home = value
		}
	}
	path := filepath.Join(home, ".config", "dlxtop", "config.toml")
	assert.Contains(t, string(must.Get(os.ReadFile(path))(t)), "[contexts.here]\nurl = \"amqp://", path)
	mode := must.Get(os.Stat(path))(t).Mode().Perm()
	assert.That(t, mode == 0o600, "%s has the mode %o", path, mode)

	for _, leave := range []string{"\x1b", "q"} {
		screen = built.Open(t)
		screen.WaitFor("Which RabbitMQ?")
		screen.Press(leave)
		screen.WaitForEnd(cli.ExitConnect)
		assert.Contains(t, screen.Text(), "no broker is configured", "after leaving")
	}
}
