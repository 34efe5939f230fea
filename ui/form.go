package ui

import (
	"context"
	"errors"
	"os"
	"strings"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/muesli/termenv"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/dashboard"
	"github.com/dlxtop/dlxtop/ui/press"
	"github.com/dlxtop/dlxtop/ui/shell"
	"github.com/dlxtop/dlxtop/ui/term"
)

// Ask shows a form on this terminal until its last text was tried with success, or the user leaves it.
func Ask(ctx context.Context, f dashboard.Form) error {
	theme := term.Theme(f.Theme)
	if theme == term.Auto || theme == "" {
		theme = term.ANSI // the background is not known yet
	}

	profile := termenv.EnvColorProfile()
	screen := shell.NewScreenFile(os.Stdin, os.Stdout)
	if f.Plain {
		screen.Filter = new(term.Lines).Rewrite
	}

	own, _ := term.ParseThemes(f.OwnThemes)
	m := newForm(ctx, f)
	m.env.Styles = own.Styles(theme, profile, false)
	m.env.Ascii = !term.UTF8(os.Getenv)
	_, err := tea.NewProgram(m, tea.WithContext(ctx), tea.WithAltScreen(), tea.WithoutSignalHandler(),
		tea.WithOutput(screen)).Run()
	m.env.Work.End()
	if errors.Is(err, tea.ErrProgramKilled) && ctx.Err() != nil || errors.Is(err, tea.ErrInterrupted) {
		return nil // it was asked to end
	}

	return err
}

// form is a form on the screen. The cursor is on a text: enter tries it and those before it.
type form struct {
	dashboard.Form
	env           *shell.Env
	width, height int
	fields        []term.TextField
	at            int
	tried         int // how many texts, from the first one, are right
	wrong         int // the text that is wrong; -1: none is known
	err           error
	request       shell.Request // the try in flight; 0: none
	typed         bool
}

func newForm(ctx context.Context, f dashboard.Form) form {
	m := form{Form: f, wrong: -1, env: newApp(ctx, Options{}).Env}
	for _, text := range f.Texts {
		m.fields = append(m.fields, term.NewTextField(text))
	}
	return m
}

func (m form) Init() tea.Cmd { return nil }

func (m form) Update(msg tea.Msg) (_ tea.Model, cmd tea.Cmd) {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.width, m.height = msg.Width, msg.Height
	case shell.EndedMsg[int]:
		cmd = m.answered(msg)
	case tea.KeyMsg:
		cmd = m.handleKey(msg)
	}

	return m, cmd
}

func (m *form) handleKey(msg tea.KeyMsg) tea.Cmd {
	switch {
	case press.Is(msg, press.ForceQuit), press.Is(msg, press.Cancel), press.Is(msg, press.Quit) && !m.typed && !msg.Paste:
		return tea.Quit
	case m.request != 0:
	case press.Is(msg, press.Accept):
		return m.try()
	case press.Is(msg, press.NextPane), msg.Type == tea.KeyDown:
		m.at = min(m.at+1, len(m.fields)-1)
	case press.Is(msg, press.PrevPane), msg.Type == tea.KeyUp:
		m.at = max(m.at-1, 0)
	case m.fields[m.at].Update(msg):
		m.typed = true
		m.tried = min(m.tried, m.at)
		m.wrong = -1
		m.err = nil
	}

	return nil
}

func (m *form) try() (cmd tea.Cmd) {
	m.wrong = -1
	m.err = nil
	m.typed = true
	try, at := m.Try, m.at

	texts := model.Mapped(m.fields, func(f *term.TextField) string { return f.Text() })

	m.request, cmd = shell.Ask(m.env, 0, func(ctx context.Context) (failed int, err error) { return try(ctx, texts, at) })
	return cmd
}

func (m *form) answered(msg shell.EndedMsg[int]) tea.Cmd {
	if msg.Request != m.request {
		return nil
	}
	m.request = 0
	if failed := msg.Result; msg.Err != nil {
		m.at = failed
		m.tried = min(m.tried, failed)
		m.wrong = failed
		m.err = msg.Err
		return nil
	}

	m.tried = max(m.tried, m.at+1)
	if m.at++; m.at == len(m.fields) {
		m.at--
		return tea.Quit
	}

	return nil
}

func (m form) View() string {
	if m.width == 0 {
		return ""
	}
	l := shell.NewDialogLines(m.width)
	say := func(text string, look term.Style) {
		l.Lines = append(l.Lines, look.Wrap("", text, l.Width)...)
	}
	say(m.Why, term.Text)
	l.Blank()

	for i := range m.fields {
		mark := "  "
		text := m.shown(i, l.Width-shell.LabelWidth-4)
		switch {
		case i == m.wrong:
			mark = term.Danger.Render(term.MarkError) + " "
		case i < m.tried:
			mark = term.Good.Render("✓") + " "
		case i == m.at:
			mark = term.Accent.Render(term.MarkCursor) + " "
		}

		l.Lines = append(l.Lines, mark+term.Muted.Render(term.Pad(m.Names[i], shell.LabelWidth))+text)
	}

	l.Blank()
	switch {
	case m.request != 0:
		say("trying "+m.Names[m.at]+" …", term.Accent)
	case m.err != nil:
		say(term.MarkError+" "+m.Names[m.wrong]+": "+m.err.Error(), term.Danger)
	}

	say(m.Names[m.at]+": "+m.Notes[m.at], term.Muted)
	l.Blank()
	l.Keys(term.Named(press.Describe(press.Confirm, "try"), press.Describe(press.NextPane, "next"),
		press.Describe(press.Cancel, "leave"))...)
	page := m.env.Styles.Dress(l.Page(m.Title, m.width, m.height))
	if m.env.Ascii {
		return term.ASCII(page)
	}

	return page
}

func (m form) shown(i, width int) string {
	f := m.fields[i]
	if i == m.Secret {
		before, behind := f.Around()
		f.SetAround(strings.Repeat("•", len([]rune(before))), strings.Repeat("•", len([]rune(behind))))
	}

	if i == m.at {
		return f.View(width)
	}

	return term.Cut(model.Printable(f.Text()), width)
}
