// Package built runs the built program in a terminal and on its own broker, for tests that use it as users do.
package built

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/dlxtop/dlxtop/demo"
	"github.com/dlxtop/dlxtop/internal/dial"
	"github.com/dlxtop/dlxtop/internal/must"
)

var (
	Program string     // the path of dlxtop
	Node    *demo.Node // the broker of a package's tests
)

// Main builds dlxtop, with the race detector if the tests have it, starts a broker, and runs tests with them.
func Main(m *testing.M, flags ...string) (status int) {
	if signal.Ignored(syscall.SIGHUP) { // by nohup: programs that tests start would ignore it too, unless it is caught
		signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP)
	}

	dir, err := os.MkdirTemp("", "dlxtop-built-")
	if err == nil {
		defer os.RemoveAll(dir)
		Program = filepath.Join(dir, "dlxtop")
		if detectsRaces() {
			flags = append(flags, "-race")
		}
		err = Build(Program, flags...)
	}

	if err == nil {
		Node, err = demo.Start(context.Background(), demo.Options{})
	}

	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}

	defer Node.Stop()
	return m.Run()
}

func detectsRaces() bool {
	info, ok := debug.ReadBuildInfo()
	return ok && slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"})
}

// Build builds dlxtop into a file.
func Build(program string, flags ...string) error {
	args := append(append([]string{"build", "-o", program}, flags...), "github.com/dlxtop/dlxtop")
	if out, err := exec.Command("go", args...).CombinedOutput(); err != nil {
		return fmt.Errorf("build dlxtop: %w\n%s", err, out)
	}
	return nil
}

// In returns a command that runs dlxtop with a home, not yet started.
func In(home string, args ...string) *exec.Cmd {
	command := exec.Command(Program, args...)
	command.Env = append(Environment(), "HOME="+home)
	return command
}

// Command returns a command that runs dlxtop on the node with its own home, not yet started.
func Command(t testing.TB, args ...string) *exec.Cmd {
	t.Helper()
	return In(t.TempDir(), ToNode(args...)...)
}

// Run runs a command to its end, and returns its exit status and output. It kills a command that does not end.
func Run(t testing.TB, command *exec.Cmd) (status int, out, errs string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	command.Stdout, command.Stderr = &stdout, &stderr
	Begin(t, command)
	_ = command.Wait() // the exit status says it
	return command.ProcessState.ExitCode(), stdout.String(), stderr.String()
}

// Begin starts a command, and kills it when it has not ended in time, or with the test.
func Begin(t testing.TB, command *exec.Cmd) {
	t.Helper()
	must.Do(t, command.Start())
	stuck := time.AfterFunc(2*Patience, func() { _ = command.Process.Kill() })
	t.Cleanup(func() {
		stuck.Stop()
		_ = command.Process.Kill() // an error when it has ended
	})
}

// ToNode adds the arguments that connect dlxtop to the node.
func ToNode(args ...string) []string {
	return append(args, "--url", Node.AMQP()+"%2f", "--api", Node.API())
}

// Scenario declares the pubsub scenario without its applications, until the test ends: only dlxtop moves messages.
func Scenario(t testing.TB) (queues []string) {
	t.Helper()
	scenario := must.Get(demo.ScenarioNamed("pubsub"))(t)
	must.Do(t, scenario.Declare(t.Context(), Node.AMQP()))
	t.Cleanup(func() { // so that the next test does not find messages that this one left
		channel := dial.Channel(t, Node.AMQP())
		for _, queue := range scenario.Queues() {
			must.Get(channel.QueueDelete(queue, false, false, false))(t)
		}
	})

	return scenario.Queues()
}

// Buffer is written by one goroutine and read by another. It embeds no bytes.Buffer: os/exec would call its ReadFrom,
// which does not take the lock.
type Buffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write implements io.Writer.
func (b *Buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

// String returns what was written so far.
func (b *Buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}
