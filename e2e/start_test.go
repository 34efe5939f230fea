package e2e

import (
	"io"
	"os/exec"
	"strings"
	"testing"

	"github.com/creack/pty"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/built"
	"github.com/dlxtop/dlxtop/internal/must"
)

// Commands that draw nothing ask the terminal nothing: one that does not answer would hold each of them for 5 s, and
// one that answers late would type its answer into the shell.
func TestCommandsAskTheTerminalNothing(t *testing.T) {
	for _, args := range []string{"version", "--version", "--help", "version -o json", "help flows", "nonsense"} {
		for _, variable := range []string{"DLXTOP=", "NO_COLOR=1", "CI=", "CI=1"} {
			command := exec.Command(built.Program, strings.Fields(args)...)
			command.Env = append(built.Environment(), "TERM=xterm-256color", variable)
			terminal := must.Get(pty.Start(command))(t)
			said, _ := io.ReadAll(terminal) // EIO: the program has ended
			_ = command.Wait()
			_ = terminal.Close()
			assert.That(t, len(said) > 0 && !strings.Contains(string(said), "\x1b"),
				"dlxtop %s with %s wrote %q", args, variable, said)
		}
	}
}
