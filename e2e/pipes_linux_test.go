package e2e

import (
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/dlxtop/dlxtop/cli"
	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/built"
	"github.com/dlxtop/dlxtop/internal/depth"
	"github.com/dlxtop/dlxtop/internal/must"
)

// command is dlxtop on the node, with a journal of its own.
func command(t *testing.T, before []string, args ...string) *exec.Cmd {
	t.Helper()
	args = append(append(before, built.Program), built.ToNode(args...)...)
	command := exec.Command(args[0], args[1:]...)
	command.Env = append(built.Environment(), "XDG_STATE_HOME="+t.TempDir())
	return command
}

// A pipe whose reader is gone, as that of `| head`, ends no dlxtop that holds messages: it gives them back.
func TestPipeThatNobodyReads(t *testing.T) {
	const n = 20_000
	channel := confirming(t)
	failed := declared(t, channel, "pipe.failed")
	publishNumbered(t, channel, failed, n)
	for _, args := range [][]string{
		{"find", "body", "--queues", failed}, {"export", failed, "-"}, {"peek", failed, "-n", "20000"},
	} {
		command := command(t, nil, args...)
		var errs strings.Builder
		command.Stderr = &errs
		reading, writing, err := os.Pipe()
		must.Do(t, err)
		command.Stdout = writing
		must.Do(t, command.Start())
		writing.Close()
		if _, err := reading.Read(make([]byte, 100)); err != nil {
			t.Errorf("%v writes nothing: %v", args, err)
		}
		reading.Close()
		_ = command.Wait()
		assert.That(t, command.ProcessState.ExitCode() == cli.ExitPipe && !strings.Contains(errs.String(), "pipe"),
			"%v: %v\n%s", args, command.ProcessState, errs.String())
		assert.Equal(t, depth.Of(t, channel, failed), n, "%v leaves", args)
	}
}

// What nohup starts goes on when the terminal hangs up.
func TestHangUpThatIsIgnored(t *testing.T) {
	const n = 20
	channel := confirming(t)
	failed, worker := declared(t, channel, "nohup.failed"), declared(t, channel, "nohup.worker")
	publishNumbered(t, channel, failed, n)
	command := command(t, []string{"sh", "-c", `trap '' HUP; exec "$0" "$@"`},
		"replay", failed, "--to", "queue:"+worker, "--rate", "10/s", "--yes")
	var said strings.Builder
	command.Stdout, command.Stderr = &said, &said
	must.Do(t, command.Start())
	for deadline := time.Now().Add(built.Patience); depth.Of(t, channel, worker) == 0; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			_ = command.Process.Kill()
			t.Fatal("nothing is replayed")
		}
	}
	must.Do(t, command.Process.Signal(syscall.SIGHUP))
	err := command.Wait()
	assert.That(t, err == nil && depth.Of(t, channel, worker) == n, "%v\n%s", err, said.String())
}
