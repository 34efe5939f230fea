package act

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"time"

	"github.com/charmbracelet/bubbles/key"
	tea "github.com/charmbracelet/bubbletea"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/filter"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/ui/press"
	"github.com/dlxtop/dlxtop/ui/shell"
)

const (
	ActionTimeout = 30 * time.Second // of a command, and of the opener of a URL
	actionOutput  = 64 << 10         // bytes of a command's output that are kept
)

// Pressed is Bubble Tea's name for a key, from its usual name.
func Pressed(name string) string {
	if len(name) > 1 {
		name = strings.ReplaceAll(name, "-", "+")
	}
	return name
}

func ActionKey(a *filter.Action) key.Binding {
	return press.Binding(model.Printable(a.Name), Pressed(a.Key))
}

// RunCommand runs an action's command by sh, without the terminal, and shows the last line of its output. The message
// is in its environment, and as JSON on its standard input.
func RunCommand(ctx context.Context, a *filter.Action, m *message.Message) tea.Msg {
	name := a.Name
	var input bytes.Buffer
	failed := func(words string) tea.Msg { return shell.NoticeMsg{Text: name + ": " + words, Bad: true} }
	if err := m.WriteJSON(&input, bytes.NewReader(m.Body), "", ""); err != nil {
		return failed("not run: " + err.Error())
	}

	said := &lastOutput{}
	program := exec.CommandContext(ctx, "sh", "-c", a.Command)
	program.Env = filter.Environment(os.Environ(), m)
	program.Stdin = &input
	program.Stdout = said
	program.Stderr = said
	program.WaitDelay = time.Second
	err := program.Run()
	text := said.line()

	switch {
	case ctx.Err() != nil:
		return failed("stopped after " + ActionTimeout.String())
	case errors.Is(err, exec.ErrWaitDelay): // it left a process running that has its output
	case err != nil:
		return failed(strings.TrimRight(err.Error()+": "+text, ": "))
	}

	return shell.NoticeMsg{Text: name + ": " + cmp.Or(text, "done")}
}

// OpenURL opens an action's URL on a desktop, and always copies and shows it: over SSH the desktop is elsewhere.
func OpenURL(
	ctx context.Context, a *filter.Action, m *message.Message, clipboard io.Writer,
	open func(ctx context.Context, url string) error,
) tea.Msg {
	name := a.Name
	url, err := a.URL(m)
	if err != nil {
		return shell.NoticeMsg{Text: name + ": not opened: " + err.Error(), Bad: true}
	}
	done := "copied"
	if msg, ok := shell.CopyText(clipboard, "the url", url).(shell.NoticeMsg); ok && msg.Bad {
		done = msg.Text
	}
	if open == nil {
		open = openOnDesktop
	}

	switch err := open(ctx, url); {
	case err == nil:
		done = "opened and " + done
	case !errors.Is(err, ErrNoDesktop):
		done += ", not opened (" + err.Error() + ")"
	}

	return shell.NoticeMsg{Text: name + ": " + done + ": " + url}
}

var ErrNoDesktop = errors.New("there is no desktop here")

// openOnDesktop makes the desktop open a URL, which begins with http. No shell sees it.
func openOnDesktop(ctx context.Context, url string) error {
	opener := []string{"xdg-open", url}
	switch {
	case os.Getenv("SSH_CONNECTION") != "":
		return ErrNoDesktop
	case runtime.GOOS == "darwin":
		opener = []string{"open", url}
	case runtime.GOOS == "windows":
		opener = []string{"rundll32", "url.dll,FileProtocolHandler", url}
	case os.Getenv("DISPLAY") == "" && os.Getenv("WAYLAND_DISPLAY") == "":
		return ErrNoDesktop
	}

	program := exec.CommandContext(ctx, opener[0], opener[1:]...)
	program.WaitDelay = time.Second
	err := program.Run()
	if errors.Is(err, exec.ErrWaitDelay) || errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return nil // it is the browser itself, or waits for it
	}

	return err
}

// lastOutput keeps the end of a command's output.
type lastOutput struct{ text []byte }

func (o *lastOutput) Write(p []byte) (int, error) {
	o.text = append(o.text, p...)
	o.text = o.text[max(0, len(o.text)-actionOutput):]
	return len(p), nil
}

func (o *lastOutput) line() string {
	text := bytes.TrimSpace(o.text)
	return string(text[bytes.LastIndexByte(text, '\n')+1:])
}
