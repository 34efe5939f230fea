package ui

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/model/plan"
	"github.com/dlxtop/dlxtop/model/resume"
	"github.com/dlxtop/dlxtop/ui/act"
	"github.com/dlxtop/dlxtop/ui/shell"
)

// TestDialogsFitTheSmallestTerminal: where a question has more lines than 80 x 24 has room for, what has changed, the
// choice, the field and the keys stay, and a mark says that lines are missing.
func TestDialogsFitTheSmallestTerminal(t *testing.T) {
	const width, height = 80, 19 // of the screen, without what stands above and below it
	o, _, _ := failedOptions(47)
	e := newApp(t.Context(), o).env
	e.Production = true
	warnings := slices.Repeat([]plan.Warning{{Says: strings.Repeat("a.long.name.of.a.queue.", 4) + ": brought back"}}, 8)
	changed := []plan.Change{{Says: "it would act on 47 messages instead of 46"}}

	p := act.PlanDialog{Dialog: shell.NewDialog(e, shell.DialogAsking), Operation: plan.Replay, Queue: ref(failedQueue)}
	p.Rows, p.Modes = make([]*shell.MessageRow, 47), make([]act.ReplayTarget, 2)
	p.Plan = plan.Plan{Operation: plan.Replay, From: ref(failedQueue), Warnings: warnings, Strips: []string{"x-death"}}
	p.ChangedAt, p.Changes = e.Now(), changed

	u := act.NewUndoScreen(e, 1).(act.FollowUpScreen)
	u.State, u.ChangedAt, u.Changes = shell.DialogAsking, e.Now(), changed
	undo := plan.UndoPlan{Record: plan.Record{ID: 1, Operation: plan.Replay}, Back: ref(failedQueue), Warnings: warnings}
	for i := range 8 {
		undo.Takes = append(undo.Takes, plan.Plan{
			From: ref(fmt.Sprint("taken.from.", i)), Planned: 3, Undoing: &plan.Undoing{},
		})
	}
	u.Is = act.Undoing{Id: 1, Undo: undo}

	r := act.NewResumeScreen(e, 1).(act.FollowUpScreen)
	r.State = shell.DialogAsking
	rest := resume.Plan{Record: plan.Record{ID: 1, Operation: plan.Replay, From: ref(failedQueue), Planned: 500}}
	rest.Rest.Planned, rest.Rest.Warnings = 500, warnings
	for i := range 4 {
		why := strings.Repeat("nobody can say it ", 9)
		rest.Undecided = append(rest.Undecided, resume.Undecided{Position: i, Why: why})
	}
	r.Is = act.Resuming{Id: 1, Rest: rest}

	for name, test := range map[string]struct {
		view string
		want []string
	}{
		"a replay": {p.View(width, height), []string{
			"this has changed while you looked at it", "changed   ", "to replay 47 messages of", "> ", "tab", "esc back",
		}},
		"an undo": {u.View(width, height), []string{
			"this has changed while you looked at it", "changed   ", "to bring 24 messages back to", "> ", "esc back",
		}},
		"a resume": {r.View(width, height), []string{
			"undecided 0", "these     stay as they are", "type 500:", "> ", "tab other choice", "esc back",
		}},
	} {
		lines := strings.Split(ansi.Strip(test.view), "\n")
		assert.That(t, len(lines) <= height, "%s has %d lines", name, len(lines))
		for _, want := range append(test.want, "…", "╰") {
			assert.Contains(t, ansi.Strip(test.view), want, "%s has no", name)
		}
	}
}
