package act

import (
	tea "github.com/charmbracelet/bubbletea"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/action"
	"github.com/dlxtop/dlxtop/ui/press"
	"github.com/dlxtop/dlxtop/ui/shell"
	"github.com/dlxtop/dlxtop/ui/term"
)

// JobsScreen lists what runs in the background, and what ran there since the start, with its account.
type JobsScreen struct {
	shell.Listing[shell.Request, *shell.Job]
}

func NewJobsScreen(e *shell.Env) shell.Screen {
	s := &JobsScreen{}
	number := func(j *shell.Job) shell.Request { return j.Number }
	newest := term.By(func(j *shell.Job) shell.Request { return -j.Number })
	s.Listing = shell.NewListing(e, "jobs", number, newest, func(j *shell.Job) []string { return []string{j.What} },
		s.cells, term.Columns(`
			JOB:     20 flex 2 max 60 middle sorts
			DONE:    18 right
			DONE/s:   8 right drop 1
			LEFT:     8 right
			OUTCOME: 16 flex 2 max 60
		`))
	s.Own = s.keys
	return s
}

func (s *JobsScreen) cells(j *shell.Job) []any {
	rate, left := j.Pace(s.Env.Shown)
	a := &j.Account
	cells := []any{j.What, model.Sayf("%v of %v", a.Done(), a.Planned), "", "", a.Words()}
	if rate > 0 {
		cells[2], cells[3] = model.Some(rate), model.ShortDuration(shell.RoundUp(left))
	}
	switch j.State {
	case shell.DialogRunning:
		cells[4] = "runs"
	case shell.DialogStopping:
		cells[4] = "stops"
	}

	return cells
}

func (s *JobsScreen) keys() []term.Key {
	j, ok := s.Table.Current()
	return []term.Key{
		term.On(press.Open, "the dialog of the job under the cursor", func() tea.Cmd { return shell.Push(j.Page) }).
			As("its dialog").When(ok && j.Screen != nil),
		term.On(press.Stop, "stop the job under the cursor: what is done stays done", func() tea.Cmd {
			return j.Take(tea.KeyMsg{Type: tea.KeyCtrlC})
		}).When(ok && j.State == shell.DialogRunning),
	}
}

// Shows reports whether it shows news about a queue: only those of jobs, which have none.
func (s *JobsScreen) Shows(ref model.QueueRef) bool { return ref == model.QueueRef{} }

func (s *JobsScreen) Prepare(int, int) tea.Cmd {
	s.Table.Set(s.Env.Jobs)
	return nil
}

func (s *JobsScreen) View(width, height int) string {
	if len(s.Table.All) == 0 {
		return term.Block(shell.EmptyPage("No jobs.", press.Background.Help().Key+
			" sends an action that runs to the background, and it is listed here.", width), width, height)
	}

	pane := s.Pane("job", width, func(j *shell.Job, l *shell.DialogLines) string {
		shown := shownAction{Action: &action.Messages{}, summary: j.Account.Words()}
		shown.say(l, &shell.Dialog{Env: s.Env, State: j.State, Account: j.Account, Err: j.Err})
		return j.What
	})
	return term.Below(s.List.View(width, s.Rows(height, 8), nil), pane, width, height)
}
