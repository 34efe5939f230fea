package main

import (
	"bytes"
	"context"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/dlxtop/dlxtop/cli"
)

// An alarm of the broker is told before a replay starts and while it waits, on the screen and on the command line.
func TestAlarm(t *testing.T) {
	newSystem(t)
	control := func(command ...string) {
		t.Helper()
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if _, err := node.Control(ctx, command...); err != nil {
			t.Fatal(err)
		}
	}
	const limit, noLimit = "0.000001", "0.9"
	t.Cleanup(func() { control("set_vm_memory_high_watermark", noLimit) })
	screen := open(t, "--url", node.AMQP()+"%2f", "--api", node.API())
	screen.waitForPoll("ucenter@user")
	if strings.Contains(screen.text(), "alarm") {
		t.Errorf("an alarm is shown that there is not:\n%s", screen.text())
	}
	control("set_vm_memory_high_watermark", limit)
	screen.waitFor("✗ memory alarm")
	screen.press("4")
	screen.waitFor("memory-alarm", "RabbitMQ blocks every connection")

	command := exec.Command(binary, "replay", "ucenter@user@failed", "--limit", "1", "--to", "queue:ucenter@user",
		"--yes", "-o", "json",
		"--url", node.AMQP()+"%2f", "--api", node.API())
	command.Env = append(cleanEnvironment(), "HOME="+t.TempDir())
	var out, errs safeBuffer
	command.Stdout, command.Stderr = &out, &errs
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	stuck := time.AfterFunc(2*patience, func() { _ = command.Process.Kill() })
	defer stuck.Stop()
	for deadline := time.Now().Add(patience); !strings.Contains(errs.String(),
		"waits at 0 of 1: the broker blocks publishers"); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("it does not say why it waits: %s", errs.String())
		}
	}
	// In the dashboard: one message, replayed by hand.
	screen.press("3\t")
	screen.waitFor("FAILED QUEUE", "ucenter@user@failed")
	screen.press("/ucenter@user@failed\r\r")
	screen.waitFor("peek:", "Story", "republished")
	screen.press("r")
	screen.waitFor("Replay 1 message", "memory alarm on", "RabbitMQ blocks publishers")
	screen.press("\r")
	screen.waitFor("waits", "the broker blocks publishers")

	control("set_vm_memory_high_watermark", noLimit)
	screen.waitFor("What happened", "1 message moved")
	if err := command.Wait(); err != nil || command.ProcessState.ExitCode() != cli.ExitDone {
		t.Errorf("%v: %s", err, errs.String())
	}
	if n := strings.Count(errs.String(), "waits at 0 of 1: the broker blocks publishers"); n != 1 ||
		!strings.Contains(errs.String(), "warning: memory alarm on") || strings.Contains(errs.String(), "\x1b") {
		t.Errorf("standard error has\n%s", errs.String())
	}
	if !strings.Contains(out.String(), `"moved": 1`) {
		t.Errorf("standard output has %s", out.String())
	}
	screen.press("\r")
	screen.waitUntil("the alarm is over", func() bool { return !strings.Contains(screen.text(), "alarm") })
	screen.press("qq")
	screen.waitForEnd(cli.ExitDone)
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
