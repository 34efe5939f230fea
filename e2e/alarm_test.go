package e2e

import (
	"bytes"
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/dlxtop/dlxtop/cli"
	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/built"
	"github.com/dlxtop/dlxtop/internal/must"
)

// An alarm of the broker is told before a replay starts and while it waits, on the screen and on the command line.
func TestAlarm(t *testing.T) {
	built.Scenario(t)
	control := func(command ...string) {
		t.Helper()
		ctx, cancel := context.WithTimeout(context.Background(), built.Patience)
		defer cancel()
		must.Get(built.Node.Control(ctx, command...))(t)
	}
	const limit, noLimit = "0.000001", "0.9"
	t.Cleanup(func() { control("set_vm_memory_high_watermark", noLimit) })
	screen := built.Open(t, built.ToNode()...)
	screen.WaitForPoll("ucenter@user")
	if strings.Contains(screen.Text(), "alarm") {
		t.Errorf("an alarm is shown that there is not:\n%s", screen.Text())
	}
	control("set_vm_memory_high_watermark", limit)
	screen.WaitFor("✗ memory alarm")
	screen.Press("4")
	screen.WaitFor("memory-alarm", "RabbitMQ blocks every connection")

	command := built.Command(t, "replay", "ucenter@user@failed", "--limit", "1", "--to", "queue:ucenter@user", "--yes",
		"-o", "json")
	var out, errs safeBuffer
	command.Stdout, command.Stderr = &out, &errs
	must.Do(t, command.Start())
	stuck := time.AfterFunc(2*built.Patience, func() { _ = command.Process.Kill() })
	defer stuck.Stop()
	for deadline := time.Now().Add(built.Patience); !strings.Contains(errs.String(),
		"waits at 0 of 1: the broker blocks publishers"); time.Sleep(10 * time.Millisecond) {
		must.That(t, !time.Now().After(deadline), "it does not say why it waits: %s", errs.String())
	}
	// In the dashboard: one message, replayed by hand.
	screen.Press("3f")
	screen.WaitFor("FAILED QUEUE", "ucenter@user@failed")
	screen.Press("/ucenter@user@failed\r\r")
	screen.WaitFor("peek:", "Story", "republished")
	screen.Press("r")
	screen.WaitFor("Replay 1 message", "memory alarm on", "RabbitMQ blocks publishers")
	screen.Press("\r")
	screen.WaitFor("waits", "the broker blocks publishers")

	control("set_vm_memory_high_watermark", noLimit)
	screen.WaitFor("What happened", "1 message moved")
	err := command.Wait()
	assert.That(t, err == nil && command.ProcessState.ExitCode() == cli.ExitDone, "%v: %s", err, errs.String())
	if n := strings.Count(errs.String(), "waits at 0 of 1: the broker blocks publishers"); n != 1 ||
		!strings.Contains(errs.String(), "warning: memory alarm on") || strings.Contains(errs.String(), "\x1b") {
		t.Errorf("standard error has\n%s", errs.String())
	}
	assert.Contains(t, out.String(), `"moved": 1`, "standard output")
	screen.Press("\r")
	screen.WaitUntil("the alarm is over", func() bool { return !strings.Contains(screen.Text(), "alarm") })
	screen.Press("qq")
	screen.WaitForEnd(cli.ExitDone)
}

// safeBuffer is written by one goroutine and read by another. It embeds no buffer: os/exec would fill that by ReadFrom,
// past the lock.
type safeBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *safeBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *safeBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}
