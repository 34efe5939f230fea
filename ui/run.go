package ui

import (
	"context"
	"errors"
	"io"
	"os"
	"time"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/muesli/termenv"

	"github.com/dlxtop/dlxtop/model/ports"
	"github.com/dlxtop/dlxtop/ui/shell"
	"github.com/dlxtop/dlxtop/ui/term"
)

// What outlives the dashboard, and what acts for it.
type (
	Kept   = shell.Kept
	Broker = shell.Broker
)

// Options say what the dashboard shows and how it may act.
type Options struct {
	ports.Looks // CheckTheme takes OwnThemes, CheckActionKey the keys of Actions
	Source      ports.Source
	Broker      Broker
	Journal     ports.Records // nil: what is done is not kept, and there is no undo
	Files       ports.Files   // nil: nothing can be exported
	Editor      string        // the command that edits a file, as VISUAL or EDITOR have it; "" is vi or nano
	Title       string        // the context's name or the broker's host:port, for the header; never a password
	VHost       string        // "" is all of them
	Interval    time.Duration // between the end of a poll and the next one; 0 is 2 s
	ReadOnly    bool
	Production  bool
	Kept        Kept             // nil: choices and commands are lost with the program
	Marks       Kept             // nil: what is said of causes is lost with the program
	Index       ports.Index      // nil: each start reads the failed queues before it shows their causes
	Contexts    []string         // brokers that one can go to from here, by their names
	Trouble     string           // why it could not go to one; "" when it did not try
	Now         func() time.Time // nil: time.Now

	dotStep time.Duration // between two cells of a dot; 0 is picture.DotStep. For tests, which hold dots
}

// Themes are the names that Options.Theme may have.
func Themes() []string {
	var names []string
	for _, t := range term.Themes() {
		names = append(names, string(t))
	}
	return names
}

// CheckTheme refuses the colours of a theme, or its name, in one sentence.
func CheckTheme(name string, colours map[string]string) error {
	_, err := term.ParseThemes(map[string]map[string]string{name: colours})
	return err
}

// Run shows the dashboard on this terminal until the user quits or ctx ends, and restores the terminal. It returns when
// everything that it started has returned. next is the context that the user wants to go to; "" when they quit.
//
// Signals are the caller's, who ends ctx: Bubble Tea 1.3.10's own handler waits for ever for a program that ctx has
// just ended.
func Run(ctx context.Context, o Options) (next string, err error) {
	a, screen := newApp(ctx, o), shell.NewScreenFile(os.Stdin, os.Stdout)
	a.env.Screen, a.env.Parent = screen, os.Getppid()
	a.env.Profile = termenv.EnvColorProfile()
	dress(a.env, a.env.Theme)
	a.env.Ascii = !term.UTF8(os.Getenv)
	if o.Plain {
		screen.Filter = new(term.Lines).Take
	}
	// The fewer, the more colours.
	a.env.Asking = canAsk && !o.Plain && a.env.Theme == term.Auto && a.env.Profile < termenv.ANSI
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

// framesPerSecond is the most that Bubble Tea draws. By default it is 60, and a key waits for its frame for 17 ms.
const framesPerSecond = 120

func run(a app, program *tea.Program) (next string, err error) {
	ended := func() {}
	if a.env.Screen != nil {
		ended = watchSignals(program, a.env.Screen)
	}
	last, err := program.Run()
	ended()
	a.env.Work.End()
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

// suspendMsg asks for the terminal to be given to the shell. continuedMsg tells that the shell had it and has continued
// the program: SIGSTOP cannot be seen coming. resumedMsg tells that the terminal is ours again.
type (
	suspendMsg   struct{}
	continuedMsg struct{}
	resumedMsg   struct{}
)

// suspension is the time in which the shell has the terminal, as a command that Bubble Tea runs on it.
type suspension struct {
	screen *shell.ScreenFile
	over   bool // already: the terminal is only to be taken again
}

func (s *suspension) SetStdin(io.Reader)  {}
func (s *suspension) SetStdout(io.Writer) {}
func (s *suspension) SetStderr(io.Writer) {}

// suspend gives the terminal to the shell until it continues the program.
func (a app) suspend(over bool) (app, tea.Cmd) {
	if !suspendable || a.env.Screen == nil {
		return a, nil
	}
	return a, tea.Exec(&suspension{a.env.Screen, over}, a.withMouse(func(error) tea.Msg { return resumedMsg{} }))
}

// suspendByKey does so where nothing is under way that a broker would not wait for: it closes connections that are
// silent.
func (a app) suspendByKey() (app, tea.Cmd) {
	if isBusy(a.top()) {
		a.notice = shell.NoticeMsg{Bad: true, Text: "not suspended: what runs here would lose its connection; wait for " +
			"its end, or stop it with " + a.env.Keys.ForceQuit.Help().Key}
		return a, nil
	}
	return a.suspend(false)
}
