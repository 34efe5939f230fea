package ui

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/x/ansi"
	"github.com/muesli/termenv"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/dashboard"
	"github.com/dlxtop/dlxtop/model/peek"
	"github.com/dlxtop/dlxtop/ui/shell"
)

const (
	frameTick     = 100 * time.Millisecond // between two checks whether the screen is complete
	framePatience = 15 * time.Second       // then it is written as far as it is
)

// WriteFrame opens the dashboard without a terminal, waits until the screen has read what it shows, for at most 15 s,
// and writes it. Nothing else is stored. The error is printable: an unknown screen, a broker that does not answer, or a
// file that cannot be written.
func WriteFrame(ctx context.Context, f dashboard.Frame, o Options) error {
	if err := refusePicture(f.Path); err != nil {
		return err
	}
	o.Preferences, o.Consent = nil, cmp.Or(o.Consent, peek.AskEach) // no question can be answered
	a := newApp(ctx, o)
	a.Profile = termenv.TrueColor
	dress(a.Env, a.Theme)
	program := tea.NewProgram(framing{app: a, frame: f}, tea.WithContext(ctx), tea.WithInput(nil), tea.WithoutRenderer(),
		tea.WithoutSignalHandler())
	last, err := program.Run()
	a.Work.End()

	if err != nil {
		return err
	}
	framed := last.(framing)
	if framed.err != nil {
		return framed.err
	}

	return writeFrame(f.Path, framed.View())
}

// framing is the dashboard until its screen is complete.
type framing struct {
	app
	frame  dashboard.Frame
	tries  int
	opened bool
	quiet  int // consecutive checks at which nothing was in flight
	err    error
}

type frameMsg struct{} // a check whether the screen is complete

func frameDue() tea.Cmd { return tea.Tick(frameTick, func(time.Time) tea.Msg { return frameMsg{} }) }

func (f framing) Init() tea.Cmd {
	size := tea.WindowSizeMsg{Width: f.frame.Width, Height: f.frame.Height}
	return tea.Batch(func() tea.Msg { return size }, f.app.Init(), frameDue())
}

func (f framing) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	if _, ok := msg.(frameMsg); ok {
		return f.look()
	}
	cmd := f.give(msg)
	return f, cmd
}

func (f *framing) give(msg tea.Msg) tea.Cmd {
	m, cmd := f.app.Update(msg)
	f.app = m.(app)
	return cmd
}

// look opens the screen as soon as there is a topology, and ends when it has been read.
func (f framing) look() (tea.Model, tea.Cmd) {
	f.tries++
	over := time.Duration(f.tries)*frameTick >= framePatience
	switch {
	case f.width == 0 || f.latest.Topology == nil:
		if over {
			f.err = fmt.Errorf("the broker's queues could not be read within %s", framePatience)
			if why := f.poller.err; why != nil {
				f.err = why
			}
			return f, tea.Quit
		}
	case !f.opened:
		f.opened = true
		if f.frame.Open != "" {
			return f.open()
		}
	case f.Work.Active.Load() > 0:
		f.quiet = 0
	default:
		f.quiet++
	}

	if f.quiet > 1 || over {
		return f, tea.Quit
	}

	return f, frameDue()
}

func (f framing) open() (tea.Model, tea.Cmd) {
	cmds := []tea.Cmd{
		f.give(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune(":")}),
		f.give(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune(f.frame.Open), Paste: true}),
		f.give(tea.KeyMsg{Type: tea.KeyEnter}),
	}

	if f.palette.open {
		f.err = errors.New(cmp.Or(f.palette.wrong, model.Printable(f.frame.Open)+" is not complete: a text has to follow") +
			"; the screens are " + strings.Join(shell.Tabs[:], ", ") + ", 'flow NAME', 'queue NAME' and 'find TEXT'")
		return f, tea.Quit
	}

	return f, tea.Batch(append(cmds, frameDue())...)
}

const snapshotTimeout = 10 * time.Second

func snapshotInto(_ *shell.Env, path string) (effect, error) {
	path, err := shell.Absolute(path)
	return func(a *app) tea.Cmd {
		frame := a.View()
		return a.Command(snapshotTimeout, func(context.Context) tea.Msg {
			if err := writeFrame(path, frame); err != nil {
				return shell.NoticeMsg{Text: err.Error(), Bad: true}
			}
			return shell.NoticeMsg{Text: "this screen is in " + model.Printable(path)}
		})
	}, err
}

// The ending of a file name for colours, and those of pictures, which dlxtop does not draw.
const colourEnding = ".ansi"

var pictureEndings = []string{".png", ".svg", ".gif", ".jpg", ".jpeg", ".pdf"}

// writeFrame writes a frame into a new file, as text. Only its owner can read it: a screen may show messages. The error
// is printable.
func writeFrame(path, frame string) error {
	if err := refusePicture(path); err != nil {
		return err
	}
	shown := model.Printable(path)
	text := plainFrame(frame)
	if strings.EqualFold(filepath.Ext(path), colourEnding) {
		text = frame + ansi.ResetStyle + "\n"
	}

	err := writeNew(path, []byte(text))
	switch {
	case errors.Is(err, fs.ErrExist):
		return fmt.Errorf("not written to %s: the file exists already: name another one", shown)
	case err != nil:
		return model.Errorf("not written to %s: %v", shown, err.Error())
	}

	return nil
}

func refusePicture(path string) error {
	if !slices.Contains(pictureEndings, strings.ToLower(filepath.Ext(path))) {
		return nil
	}
	return model.Errorf("not written to %v: a snapshot is text: name FILE, or FILE%s for text with its colours",
		path, colourEnding)
}

// plainFrame returns a frame without styles, and without blanks at the ends of its lines.
func plainFrame(frame string) string {
	var text strings.Builder
	for line := range strings.Lines(ansi.Strip(frame)) {
		text.WriteString(strings.TrimRight(line, " \r\n") + "\n")
	}
	return text.String()
}

// writeNew writes a file that does not exist yet. An incomplete one is removed.
func writeNew(path string, data []byte) error {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(data)
	if err = cmp.Or(err, file.Close()); err != nil {
		_ = os.Remove(path)
	}

	return err
}
