package ui

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/charmbracelet/bubbles/key"
	tea "github.com/charmbracelet/bubbletea"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/filter"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/ui/term"
)

const (
	actionTimeout = 30 * time.Second // of a command, and of what opens a URL
	actionOutput  = 64 << 10         // bytes of what a command says that are kept
)

// pressed is a key as Bubble Tea names it, from what a person calls it.
func pressed(name string) string {
	if len(name) > 1 {
		name = strings.ReplaceAll(name, "-", "+")
	}
	return name
}

// actionKey is the binding of an action.
func actionKey(a *filter.Action) key.Binding {
	return term.Binding(a.Key, model.Printable(a.Name), pressed(a.Key))
}

// runCommand runs an action's command without a shell and without the terminal, and tells the last line that it says.
func runCommand(ctx context.Context, a *filter.Action, m *message.Message) tea.Msg {
	name := model.Printable(a.Name)
	words, err := a.Command(m)
	if err != nil {
		return noticeMsg{text: name + ": not run: " + err.Error(), bad: true}
	}
	said := &lastOutput{}
	program := exec.CommandContext(ctx, words[0], words[1:]...)
	if ext := strings.ToLower(filepath.Ext(program.Path)); runtime.GOOS == "windows" && (ext == ".bat" || ext == ".cmd") {
		return noticeMsg{text: name + ": not run: it is a batch file, whose arguments cmd reads as commands", bad: true}
	}
	program.Stdout, program.Stderr, program.WaitDelay = said, said, time.Second
	err = program.Run()
	text := said.line()
	switch {
	case ctx.Err() != nil:
		return noticeMsg{text: fmt.Sprintf("%s: stopped after %s", name, actionTimeout), bad: true}
	case errors.Is(err, exec.ErrWaitDelay): // it left something running that has its output
	case err != nil:
		return noticeMsg{text: strings.TrimRight(name+": "+model.Printable(err.Error())+": "+text, ": "), bad: true}
	}
	if text == "" {
		text = "done"
	}
	return noticeMsg{text: name + ": " + text}
}

// openURL opens an action's URL where there is a desktop, and always copies and shows it: over SSH the desktop is
// elsewhere.
func openURL(
	ctx context.Context, a *filter.Action, m *message.Message, clipboard io.Writer,
	open func(ctx context.Context, url string) error,
) tea.Msg {
	name := model.Printable(a.Name)
	url, err := a.URL(m)
	if err != nil {
		return noticeMsg{text: name + ": not opened: " + err.Error(), bad: true}
	}
	done := "copied"
	if msg, ok := copyText(clipboard, "the url", url).(noticeMsg); ok && msg.bad {
		done = msg.text
	}
	if open == nil {
		open = openOnDesktop
	}
	switch err := open(ctx, url); {
	case err == nil:
		done = "opened and " + done
	case !errors.Is(err, errNoDesktop):
		done += ", not opened (" + model.Printable(err.Error()) + ")"
	}
	return noticeMsg{text: name + ": " + done + ": " + url}
}

var errNoDesktop = errors.New("there is no desktop here")

// openOnDesktop has the desktop open a URL, which begins with http. No shell sees it.
func openOnDesktop(ctx context.Context, url string) error {
	opener := []string{"xdg-open", url}
	switch {
	case os.Getenv("SSH_CONNECTION") != "":
		return errNoDesktop
	case runtime.GOOS == "darwin":
		opener = []string{"open", url}
	case runtime.GOOS == "windows":
		opener = []string{"rundll32", "url.dll,FileProtocolHandler", url}
	case os.Getenv("DISPLAY") == "" && os.Getenv("WAYLAND_DISPLAY") == "":
		return errNoDesktop
	}
	program := exec.CommandContext(ctx, opener[0], opener[1:]...)
	program.WaitDelay = time.Second
	err := program.Run()
	if errors.Is(err, exec.ErrWaitDelay) || errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return nil // it is the browser itself, or waits for it
	}
	return err
}

// lastOutput keeps the end of what a command says.
type lastOutput struct{ text []byte }

func (o *lastOutput) Write(p []byte) (int, error) {
	o.text = append(o.text, p...)
	o.text = o.text[max(0, len(o.text)-actionOutput):]
	return len(p), nil
}

func (o *lastOutput) line() string {
	text := bytes.TrimSpace(o.text)
	return model.Printable(string(text[bytes.LastIndexByte(text, '\n')+1:]))
}
