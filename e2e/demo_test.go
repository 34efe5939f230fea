package e2e

import (
	"bufio"
	"bytes"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/dlxtop/dlxtop/cli"
	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/built"
	"github.com/dlxtop/dlxtop/internal/dial"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/internal/size"
)

// TestDemo: the dashboard of the demo shows the flows of every scenario, and nothing is left when it is closed.
func TestDemo(t *testing.T) {
	screen := built.Open(t, "demo")
	screen.WaitFor("RetryQueue", "worker-queue", "retry.worker-queue", "ucenter@user", "ucenter@enterprise",
		"user-monitor", "example.delay.heaven")
	screen.Press("q")
	screen.WaitForEnd(cli.ExitDone)
}

// TestDemoWithoutDashboard prints where it is, and an interrupt is its normal end.
func TestDemoWithoutDashboard(t *testing.T) {
	size.Long(t)
	command := exec.Command(built.Program, "demo", "--no-ui", "--scenario", "pubsub")
	command.Env = built.Environment()
	var errs bytes.Buffer
	command.Stderr = &errs
	out, err := command.StdoutPipe()
	must.Do(t, err)
	must.Do(t, command.Start())
	stuck := time.AfterFunc(2*built.Patience, func() { _ = command.Process.Kill() })
	defer stuck.Stop()
	lines := bufio.NewScanner(out)
	told := map[string]string{}
	for len(told) < 2 && lines.Scan() {
		name, value, _ := strings.Cut(lines.Text(), " ")
		told[name] = strings.TrimSpace(value)
	}
	amqpURL, api := told["AMQP"], told["API"]
	connection, err := dial.AMQP(amqpURL)
	must.That(t, err == nil, "%v with %v: %s", err, told, errs.String())
	connection.Close()
	flows := exec.Command(built.Program, "flows", "--url", amqpURL, "--api", api)
	flows.Env = built.Environment()
	text, err := flows.CombinedOutput()
	assert.That(t, err == nil && bytes.HasPrefix(text, []byte("{")), "flows: %v %s", err, text)
	must.Do(t, command.Process.Signal(os.Interrupt))
	rest, _ := io.ReadAll(out)
	if err := command.Wait(); err != nil || len(rest) > 0 {
		t.Errorf("it ended with %v: %s%s", err, rest, errs.String())
	}
	if connection, err := dial.AMQP(amqpURL); err == nil {
		connection.Close()
		t.Errorf("the broker at %s is still there", amqpURL)
	}
}
