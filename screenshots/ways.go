//go:build pictures

package screenshots

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/creack/pty"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/built"
	"github.com/dlxtop/dlxtop/internal/must"
)

// script is what is in scenes.toml.
type script struct {
	Scenes []way `toml:"scene"`
	Ways   []way `toml:"way"`
	Acts   []act `toml:"act"`
}

// stop is a screen or a dialog: keys lead there from the stop before, and it is reached when the screen shows a text.
type stop struct {
	Name        string // of its picture; "": none
	Keys, Until string
}

// way is a walk through the program: it starts the program and visits screens and dialogs one after the other.
type way struct {
	Name, Size    string // no size: as many as the pictures are for
	Before, After []errand
	Stops         []stop
	Watch         time.Duration // wait before a picture is taken
}

type errand struct {
	Arguments string        // separated by blanks
	Killed    time.Duration // this long after its start; 0: never
}

// act is a step of the tour: it waits until the screen shows a text, stays, and then presses keys, which the line
// below the screen shows with their purpose.
type act struct {
	Until      string
	Stay       time.Duration
	Keys, Says string
}

const large = "120x36"

var (
	looks     = map[string]look{"dark": dark, "light": light, "ansi": dark, "mono": dark}
	namedKeys = map[string]string{"<enter>": "\r", "<esc>": "\x1b", "<down>": "\x1b[B", "<ctrl-r>": "\x12"}
	singleKey = regexp.MustCompile(`<[a-z-]+>|.`)
)

// program returns a command that runs dlxtop on the node with its own home, also on a terminal.
func program(home string, arguments ...string) *exec.Cmd {
	command := exec.Command("env", append([]string{"HOME=" + home, built.Program}, built.ToNode(arguments...)...)...)
	command.Env = built.Environment()
	return command
}

// open runs dlxtop until it shows the flows, in the left top of its terminal.
func open(t *testing.T, home, theme, size string) *built.Terminal {
	terminal := built.Start(t, program(home, "--theme", theme))
	width, height := measure(size)
	must.Do(t, pty.Setsize(terminal.PTY, &pty.Winsize{Cols: uint16(width), Rows: uint16(height)}))
	return terminal.WaitFor("ucenter@user")
}

// measure reads a size: "80x24".
func measure(size string) (width, height int) {
	fmt.Sscanf(size, "%dx%d", &width, &height)
	return width, height
}

// press presses keys as a person does: an escape and a key right after it would be read as another key.
func press(terminal *built.Terminal, keys string) {
	for _, key := range singleKey.FindAllString(keys, -1) {
		terminal.Press(cmp.Or(namedKeys[key], key))
		if key == "<esc>" {
			time.Sleep(400 * time.Millisecond)
		}
		time.Sleep(60 * time.Millisecond)
	}
}

// settled returns the screen once the program has drawn all of it.
func settled(terminal *built.Terminal) string {
	for before := ""; ; time.Sleep(15 * time.Millisecond) {
		now := terminal.Rendered()
		if now == before {
			return now
		}
		before = now
	}
}

func save(t *testing.T, path, theme, size string, frames ...frame) {
	width, height := measure(size)
	picture := looks[theme].draw(width, height, frames...)
	must.Do(t, os.WriteFile(path, []byte(picture), 0o644))
}

func (e errand) run(t *testing.T, home string) {
	command := program(home, strings.Fields(e.Arguments)...)
	if e.Killed > 0 {
		time.AfterFunc(e.Killed, func() { command.Process.Kill() })
	}
	status, out, errs := built.Run(t, command)
	assert.That(t, status == 0 || e.Killed > 0, "%s: %d\n%s%s", e.Arguments, status, out, errs)
}

// walk goes through all stops in one run of the program and makes a picture of each that has a name.
func (w way) walk(t *testing.T, theme, size, path string) {
	home := t.TempDir()
	for _, errand := range w.Before {
		errand.run(t, home)
	}

	t.Cleanup(func() { // after a failure, too
		for _, errand := range w.After {
			errand.run(t, home)
		}
	})

	terminal := open(t, home, theme, size)
	for _, stop := range w.Stops {
		press(terminal, stop.Keys)
		for end := time.Now().Add(30 * time.Second); !strings.Contains(terminal.Text(), stop.Until); {
			if time.Now().After(end) { // a person shall see the picture all the same
				t.Errorf("%s: %q is not on it:\n%s", stop.Name, stop.Until, terminal.Text())
				break
			}
			time.Sleep(50 * time.Millisecond)
		}

		if stop.Name != "" {
			time.Sleep(w.Watch)
			save(t, fmt.Sprintf(path, stop.Name), theme, size, frame{text: settled(terminal)})
		}
	}
}

// makeTour runs the program through the acts, and records its screen with a line below it.
func makeTour(t *testing.T, acts []act) {
	terminal := open(t, t.TempDir(), "dark", large)
	says := "dlxtop: the delayed, retry and failed queues of RabbitMQ"
	lines := make(chan string) // read before the keys of an act are pressed
	ctx, stop := context.WithCancel(t.Context())
	var frames []frame
	var recorder sync.WaitGroup

	recorder.Go(func() {
		for ctx.Err() == nil {
			begun := time.Now()
			text := settled(terminal) + fmt.Sprintf("\n\x1b[1;7;36m %-119s", says)
			if len(frames) == 0 || frames[len(frames)-1].text != text {
				frames = append(frames, frame{text: text})
			}

			select {
			case says = <-lines:
			case <-time.After(100 * time.Millisecond):
			}
			frames[len(frames)-1].stands += time.Since(begun)
		}
	})

	for _, act := range acts {
		terminal.WaitFor(act.Until)
		time.Sleep(act.Stay)
		if act.Says != "" {
			lines <- act.Says
		}
		press(terminal, act.Keys)
	}

	stop()
	recorder.Wait()
	save(t, "tour.svg", "dark", "120x37", frames...)
}
