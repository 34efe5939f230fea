//go:build unix

package ui

import (
	"bytes"
	"context"
	"io"
	"os"
	"reflect"
	"sync/atomic"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/term"
	"github.com/creack/pty"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/ui/shell"
)

// A panic while drawing, handling messages, or asking a broker, ends the program with the terminal restored, and an
// explanation.
func TestPanicsLeaveTheTerminal(t *testing.T) {
	for name, defect := range map[string]func(o *Options, armed *atomic.Bool){
		"Update, which works out what is drawn": func(o *Options, armed *atomic.Bool) {
			now := o.Now
			o.Now = func() time.Time {
				if armed.Load() {
					panic("a defect in what is drawn")
				}
				return now()
			}
		},
		"a command": func(o *Options, armed *atomic.Bool) {
			o.Source = defective{o.Source, armed}
			o.Interval = time.Millisecond
		},
	} {
		t.Run(name, func(t *testing.T) {
			master, tty, err := pty.Open()
			must.Do(t, err)
			defer master.Close()
			var armed atomic.Bool
			written := make(chan []byte, 1) // all of it

			go func() {
				var text []byte
				buffer := make([]byte, 1<<16)
				for {
					n, err := master.Read(buffer)
					if text = append(text, buffer[:n]...); err != nil { // EIO is its end
						break
					}
					if bytes.Contains(text, []byte("ucenter@user")) { // the dashboard has the terminal
						armed.Store(true)
					}
				}

				written <- text
			}()

			must.Do(t, pty.Setsize(tty, &pty.Winsize{Cols: 100, Rows: 30}))
			before := must.Get(term.GetState(tty.Fd()))(t)
			o := failed(3)
			defect(&o, &armed)
			stdout := os.Stdout
			os.Stdout = tty // Bubble Tea reports the panic there
			a := newApp(t.Context(), o)
			screen := shell.NewScreenFile(tty, tty)
			a.Screen = screen
			_, err = run(a, tea.NewProgram(a, tea.WithAltScreen(), tea.WithoutSignalHandler(), tea.WithInput(keyless{tty, t}),
				tea.WithOutput(screen)))
			os.Stdout = stdout
			after, stateErr := term.GetState(tty.Fd())
			tty.Close()
			text := <-written
			assert.Fails(t, err, "dlxtop journal")
			must.Do(t, stateErr)
			assert.That(t, reflect.DeepEqual(before, after), "the terminal was %+v and is %+v (%v)", before, after, stateErr)

			for on, off := range map[string]string{
				ansi.SetModeAltScreenSaveCursor: ansi.ResetModeAltScreenSaveCursor, ansi.HideCursor: ansi.ShowCursor,
			} {
				assert.That(t, bytes.LastIndex(text, []byte(off)) >= bytes.LastIndex(text, []byte(on)), "%q comes after %q in %q",
					on, off, text)
			}
		})
	}
}

// defective is a source that panics.
type defective struct {
	shell.Source
	armed *atomic.Bool
}

func (d defective) Snapshot(ctx context.Context) (*model.Snapshot, error) {
	if d.armed.Load() {
		panic("a defect in what asks the broker")
	}
	return d.Source.Snapshot(ctx)
}

// keyless is a terminal without input. (Bubble Tea 1.3.10 does not wait for its reader of a real file when it ends with
// a panic, which the race detector reports.)
type keyless struct {
	tty *os.File
	t   *testing.T
}

func (k keyless) Read([]byte) (int, error) {
	<-k.t.Context().Done()
	return 0, io.EOF
}
func (k keyless) Write(b []byte) (int, error) { return k.tty.Write(b) }
func (k keyless) Close() error                { return nil }
func (k keyless) Fd() uintptr                 { return k.tty.Fd() }
