package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"

	"github.com/charmbracelet/x/vt"
	"github.com/creack/pty"

	"github.com/dlxtop/dlxtop/demo"
	"github.com/dlxtop/dlxtop/screenshots/paint"
)

// terminal is a pseudo-terminal with a program in it and an emulator that holds its screen.
type terminal struct {
	file    *os.File
	program *exec.Cmd
	look    paint.Look
	ended   chan struct{} // closed when the program's output has ended

	mu       sync.Mutex // held while the program's output changes the screen, so that no reader sees half a change
	emulator *vt.Emulator
	changed  time.Time
}

// openDashboard runs dlxtop until it shows the flows.
func openDashboard(
	ctx context.Context, node *demo.Node, l paint.Look, s size, arguments ...string,
) (*terminal, error) {
	arguments = append([]string{"--url", node.AMQP(), "--api", node.API()}, arguments...)
	program := exec.CommandContext(ctx, "bin/dlxtop", arguments...)
	program.Env = append(os.Environ(), "TERM=xterm-256color", "COLORTERM=truecolor")
	file, err := pty.StartWithSize(program, &pty.Winsize{Rows: uint16(s.height), Cols: uint16(s.width)})
	if err != nil {
		return nil, err
	}
	t := &terminal{
		file:     file,
		program:  program,
		look:     l,
		ended:    make(chan struct{}),
		emulator: vt.NewEmulator(s.width, s.height),
	}

	t.emulator.SetDefaultBackgroundColor(l.Paper)
	t.emulator.SetDefaultForegroundColor(l.Ink)

	go func() {
		defer close(t.ended)
		io.Copy(output{t}, file)
	}()

	go io.Copy(file, t.emulator) // the emulator's answers to the program's queries; ends when the emulator is closed

	if err := t.await(ctx, "ucenter@user"); err != nil {
		t.close()
		return nil, err
	}

	return t, nil
}

type output struct{ *terminal }

func (o output) Write(text []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.changed = time.Now()
	return o.emulator.Write(text)
}

// await waits until the screen shows a text, and returns an error with the screen after 30 s.
func (t *terminal) await(ctx context.Context, text string) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	look := time.NewTicker(50 * time.Millisecond)
	defer look.Stop()

	for !strings.Contains(t.text(), text) {
		select {
		case <-look.C:
		case <-t.ended:
			return fmt.Errorf("the program ended before %q was on the screen:\n%s", text, t.text())
		case <-ctx.Done():
			return fmt.Errorf("%q is not on the screen: %w:\n%s", text, ctx.Err(), t.text())
		}
	}

	return nil
}

// press presses one key.
func (t *terminal) press(key string) {
	io.WriteString(t.file, key)
	time.Sleep(20 * time.Millisecond) // or an escape and the next key would be read as one
}

// goTo presses the keys that lead to a stop, and waits until it is reached.
func (t *terminal) goTo(ctx context.Context, s stop) error {
	for _, key := range s.Keys {
		t.press(key)
		if key == escape { // with the next key right after it, it would be read as another key
			pause(ctx, 400*time.Millisecond)
		}
	}

	return t.await(ctx, s.Until)
}

// screen returns the screen once the program has drawn all of it: when no output has come for a moment, or after half a
// second of constant output.
func (t *terminal) screen() paint.Screen {
	for deadline := time.Now().Add(500 * time.Millisecond); time.Now().Before(deadline); {
		t.mu.Lock()
		quiet := time.Since(t.changed) > 15*time.Millisecond
		t.mu.Unlock()
		if quiet {
			break
		}
		time.Sleep(5 * time.Millisecond)
	}

	t.mu.Lock()
	defer t.mu.Unlock()
	return t.look.Screen(t.emulator)
}

func (t *terminal) text() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.emulator.String()
}

func (t *terminal) close() {
	t.press("\x03")
	t.program.Wait()
	t.file.Close()
	<-t.ended
	t.emulator.Close()
}
