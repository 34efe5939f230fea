package flows

import (
	"github.com/charmbracelet/bubbles/key"
	tea "github.com/charmbracelet/bubbletea"

	"github.com/dlxtop/dlxtop/docs"
	"github.com/dlxtop/dlxtop/ui/shell"
	"github.com/dlxtop/dlxtop/ui/term"
)

// explainScreen is the page of a finding. From it one goes on to what the finding is about.
type explainScreen struct {
	env   *shell.Env
	code  string
	opens func() shell.Screen // nil: nothing
	what  string              // that is
	text  shell.Scroll
}

func newExplainScreen(e *shell.Env, code string, opens func() shell.Screen, what string) shell.Screen {
	return explainScreen{env: e, code: code, opens: opens, what: what}
}

func (x explainScreen) Update(msg tea.Msg) (shell.Screen, tea.Cmd) {
	if msg, ok := msg.(tea.KeyMsg); ok {
		if x.opens != nil && term.Is(msg, x.env.Keys.Open) {
			return x, shell.Push(x.opens())
		}
		x.text.Key(x.env.Keys, msg)
	}
	return x, nil
}

// Prepare lays the page out for this size.
func (x explainScreen) Prepare(width, height int) (shell.Screen, tea.Cmd) {
	x.text.Prepare(min(width-6, 100), height-1, func(width int) []string { return docs.Finding(x.code, width) })
	return x, nil
}

func (x explainScreen) Title() string { return x.code }

func (x explainScreen) Typing() bool { return false }

func (x explainScreen) Keys() []key.Binding {
	if x.opens == nil {
		return nil
	}
	return []key.Binding{term.Describe(x.env.Keys.Open, x.what)}
}

func (x explainScreen) View(width, height int) string {
	lines := []string{""}
	for _, line := range x.text.Seen() {
		lines = append(lines, "   "+x.env.Styles.Text.Render(line))
	}
	return term.Block(lines, width, height)
}
