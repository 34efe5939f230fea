package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/vt"
	"github.com/creack/pty"
)

// terminal is a pseudo-terminal with a program in it and an emulator that knows what stands on its screen.
type terminal struct {
	emulator *vt.SafeEmulator
	file     *os.File
	program  *exec.Cmd
	ended    chan struct{} // closed when the program's output has ended
}

func openTerminal(ctx context.Context, width, height int, name string, arguments ...string) (*terminal, error) {
	program := exec.CommandContext(ctx, name, arguments...)
	program.Env = append(os.Environ(), "TERM=xterm-256color", "COLORTERM=truecolor")
	file, err := pty.StartWithSize(program, &pty.Winsize{Rows: uint16(height), Cols: uint16(width)})
	if err != nil {
		return nil, err
	}
	t := &terminal{vt.NewSafeEmulator(width, height), file, program, make(chan struct{})}
	go func() {
		defer close(t.ended)
		io.Copy(t.emulator, file)
	}()
	go io.Copy(file, t.emulator) // the emulator's answers to the program's questions; ends when the emulator is closed
	return t, nil
}

// await returns when a text is on the screen, or an error with the screen after 30 s.
func (t *terminal) await(ctx context.Context, text string) error {
	deadline := time.NewTimer(30 * time.Second)
	defer deadline.Stop()
	look := time.NewTicker(50 * time.Millisecond)
	defer look.Stop()
	for !strings.Contains(t.text(), text) {
		select {
		case <-look.C:
		case <-t.ended:
			return fmt.Errorf("the program ended before %q was on the screen:\n%s", text, t.text())
		case <-deadline.C:
			return fmt.Errorf("%q is not on the screen:\n%s", text, t.text())
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

func (t *terminal) press(key string) { io.WriteString(t.file, key) }

// screen is what stands on the screen, with its colours; text is the same without them.
func (t *terminal) screen() string { return t.emulator.Render() }
func (t *terminal) text() string   { return ansi.Strip(t.emulator.Render()) }

// close interrupts the program and waits for it.
func (t *terminal) close() {
	t.press("\x03")
	t.program.Wait()
	t.file.Close()
	<-t.ended
	t.emulator.Close()
}
