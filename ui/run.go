package ui

import (
	"context"
	"errors"
	"io"
	"os"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/muesli/termenv"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/ui/shell"
	"github.com/dlxtop/dlxtop/ui/term"
)

// Options are what the dashboard shows and how it may act.
type Options shell.Options

// Themes returns the possible values of Options.Theme.
func Themes() []string {
	return model.Mapped(term.Themes(), func(t *term.Theme) string { return string(*t) })
}

// CheckTheme refuses a theme's colours, or its name, with one sentence.
func CheckTheme(name string, colours map[string]string) error {
	_, err := term.ParseThemes(map[string]map[string]string{name: colours})
	return err
}

// Run shows the dashboard on this terminal until the user quits or ctx ends, and restores the terminal. It returns when
// everything that it started has returned. next is the context to switch to; "" when the user quits.
//
// The caller handles signals, and ends ctx: Bubble Tea 1.3.10's own handler waits for ever for a program that ctx has
// just ended.
func Run(ctx context.Context, o Options) (next string, err error) {
	a := newApp(ctx, o)
	screen := shell.NewScreenFile(os.Stdin, os.Stdout)
	a.Screen, a.Parent = screen, os.Getppid()
	a.Profile = termenv.EnvColorProfile()
	dress(a.Env, a.Theme)
	a.Ascii = !term.UTF8(os.Getenv)
	if o.Plain {
		screen.Filter = new(term.Lines).Rewrite
	}

	chooses := !o.Plain && a.Theme == term.Auto
	coloured := a.Profile < termenv.ANSI // the lower the profile, the more colours
	a.Asking = canAsk && chooses && coloured
	var program *tea.Program
	keys := &keyboard{File: os.Stdin, background: func(light bool) { program.Send(backgroundMsg{true, light}) }}
	options := []tea.ProgramOption{
		tea.WithContext(ctx), tea.WithAltScreen(), tea.WithoutSignalHandler(), tea.WithInput(keys), tea.WithOutput(screen),
		tea.WithFPS(framesPerSecond),
	}

	if o.Mouse {
		options = append(options, tea.WithMouseCellMotion())
	}

	program = tea.NewProgram(a, options...)
	return run(a, program)
}

// framesPerSecond is Bubble Tea's maximum. By default it is 60, and a key waits 17 ms for its frame.
const framesPerSecond = 120

func run(a app, program *tea.Program) (next string, err error) {
	ended := func() {}
	if a.Screen != nil {
		ended = watchSignals(program, a.Screen)
	}

	last, err := program.Run()
	ended()
	a.Work.End()
	if errors.Is(err, tea.ErrProgramPanic) {
		return "", errors.New("a defect in dlxtop ended the dashboard; `dlxtop journal` has what was done")
	}
	if errors.Is(err, tea.ErrProgramKilled) && errors.Is(err, context.Canceled) || errors.Is(err, tea.ErrInterrupted) {
		return "", nil // it was asked to end
	}
	if a, ok := last.(app); ok && err == nil {
		next = a.next
	}

	return next, err
}

// suspendMsg asks to give the terminal to the shell. continuedMsg says that the shell had it and has continued the
// program: SIGSTOP cannot be seen coming. resumedMsg says that the terminal is ours again.
type (
	suspendMsg   struct{}
	continuedMsg struct{}
	resumedMsg   struct{}
)

// suspension is the time in which the shell has the terminal, as a command that Bubble Tea runs on it.
type suspension struct {
	screen *shell.ScreenFile
	over   bool // already: the terminal only has to be taken back
}

func (s *suspension) SetStdin(io.Reader)  {}
func (s *suspension) SetStdout(io.Writer) {}
func (s *suspension) SetStderr(io.Writer) {}

// suspend gives the terminal to the shell until it continues the program.
func (a *app) suspend(over bool) tea.Cmd {
	if !suspendable || a.Screen == nil {
		return nil
	}
	return tea.Exec(&suspension{a.Screen, over}, a.withMouse(func(error) tea.Msg { return resumedMsg{} }))
}

// suspendByKey does so unless something is in flight that a broker would not wait for: it closes silent connections.
func (a *app) suspendByKey() tea.Cmd {
	if runs := a.running(); runs != "" {
		return a.refuse("not suspended: " + runs + " would lose the connection; wait for the end, or stop it")
	}
	return a.suspend(false)
}
