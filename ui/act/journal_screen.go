package act

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/charmbracelet/bubbles/key"
	tea "github.com/charmbracelet/bubbletea"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/plan"
	"github.com/dlxtop/dlxtop/ui/shell"
	"github.com/dlxtop/dlxtop/ui/term"
)

const (
	shownRecords    = 500
	journalPatience = 10 * time.Second
)

// JournalScreen lists what was done: who did it, when, to how many messages, and the outcome.
type JournalScreen struct {
	shell.Listing[int64, plan.Record]
	Request shell.Request // the reading in flight; 0: none
	err     error         // of the last reading
	read    bool
}

func NewJournalScreen(e *shell.Env) shell.Screen {
	return JournalScreen{Listing: shell.NewListing(e, "journal", func(r plan.Record) int64 { return r.ID },
		func(a, b plan.Record) int { return cmp.Compare(b.ID, a.ID) }, func(r plan.Record) []string { return r.Texts() },
		journalColumns(e)...)}
}

func journalColumns(e *shell.Env) []term.Column[plan.Record] {
	s := e.Styles
	type column = term.Column[plan.Record]
	return []column{
		column{Title: "#", Width: 5, Right: true, Compare: func(a, b plan.Record) int { return cmp.Compare(a.ID, b.ID) }}.
			Text(&s.Muted, func(r plan.Record) string { return fmt.Sprint(r.ID) }),
		column{Title: "WHEN", Width: 15, Compare: func(a, b plan.Record) int { return a.Began.Compare(b.Began) }}.
			Text(&s.Text, func(r plan.Record) string { return r.Began.Format("Jan 02 15:04:05") }),
		column{
			Title: "WHAT", Width: 11, Compare: func(a, b plan.Record) int { return cmp.Compare(a.Operation, b.Operation) },
		}.Text(&s.Text, func(r plan.Record) string { return r.What() }),
		column{
			Title: "QUEUE", Width: 16, Flex: 3, Max: 40, Middle: true,
			Compare: func(a, b plan.Record) int { return cmp.Compare(a.From.Name, b.From.Name) },
		}.Text(&s.Text, func(r plan.Record) string { return model.Printable(r.From.String()) }),
		{
			Title: "OUTCOME", Width: 16, Flex: 4, Max: 60,
			Cell: func(r plan.Record) term.Field {
				look := s.Text
				if r.Unfinished() || r.Uncertain() > 0 {
					look = s.Warning
				}
				return look.Field(r.ToldSince())
			},
			Compare: func(a, b plan.Record) int { return cmp.Compare(a.Planned, b.Planned) },
		},
		column{Title: "TO", Width: 14, Flex: 2, Max: 40, Middle: true, Drop: 2}.
			Text(&s.Text, func(r plan.Record) string { return model.Printable(r.To) }),
		column{Title: "WHO", Width: 16, Flex: 1, Max: 32, Middle: true, Drop: 1}.
			Text(&s.Muted, func(r plan.Record) string { return model.Printable(r.Who()) }),
	}
}

func (j JournalScreen) Keys() []key.Binding {
	if r, ok := j.Table.Current(); ok {
		own := []key.Binding{term.Describe(j.Env.Keys.Open, "messages"), term.Describe(j.Env.Keys.Undo, "undo this")}
		if r.Resumable() {
			own = append(own, term.Describe(j.Env.Keys.Resume, "resume this"))
		}
		return j.Bindings(own...)
	}
	return j.Bindings()
}

func (j JournalScreen) Update(msg tea.Msg) (_ shell.Screen, cmd tea.Cmd) {
	if j.Handle(msg) {
		return j, nil
	}
	switch msg := msg.(type) {
	case shell.TopologyMsg: // at each poll, to follow running records
		if j.Env.Journal == nil || j.Request != 0 {
			return j, nil
		}
		journal := j.Env.Journal
		j.Request, cmd = shell.Ask(j.Env, journalPatience, func(ctx context.Context) ([]plan.Record, error) {
			return journal.Records(ctx, shownRecords)
		})
	case shell.EndedMsg[[]plan.Record]:
		if msg.Request == j.Request {
			j.Request, j.read, j.err = 0, true, msg.Err
			if msg.Err == nil {
				j.Table.Set(msg.Result)
			}
		}
	case tea.KeyMsg:
		r, ok := j.Table.Current()
		switch {
		case ok && term.Is(msg, j.Env.Keys.Open):
			return j, shell.Push(NewRecordScreen(j.Env, r))
		case ok && term.Is(msg, j.Env.Keys.Undo):
			return j, shell.Push(NewUndoScreen(j.Env, r.ID))
		case ok && r.Resumable() && term.Is(msg, j.Env.Keys.Resume):
			return j, shell.Push(NewResumeScreen(j.Env, r.ID))
		}
	}
	return j, cmd
}

func (j JournalScreen) View(width, height int) string {
	if len(j.Table.All) == 0 || j.err != nil {
		return term.Block(j.empty(width), width, height)
	}
	rows := j.Rows(height, 5)
	return term.Below(j.List.View(width, rows, nil), j.detail(width), width, height)
}

func (j JournalScreen) empty(width int) []string {
	head, text := "Nothing was done yet.",
		"Every replay and drop is recorded here before it is done, with what is needed to undo it."
	switch {
	case j.Env.Journal == nil:
		head, text = "There is no journal.",
			"dlxtop was started with --no-journal: actions are not recorded, and cannot be undone."
	case j.err != nil:
		head, text = "The journal cannot be read.", j.err.Error()
	case !j.read:
		head, text = "", "reading …"
	}
	return shell.EmptyPage(j.Env.Styles, head, text, width)
}

func (j JournalScreen) detail(width int) []string {
	return j.Pane("record", width, func(r plan.Record, l *shell.DialogLines) string {
		told := r.ToldSince()
		if r.Account.Stopped != "" {
			told += ": " + r.Account.Stopped
		}
		say := func(label, text string) { l.Say(label, model.Printable(text), term.Style{}) }
		say("outcome", told)
		say("to", r.To)
		say("after", r.Sequel.Words(j.Env.Shown))
		say("who", r.Who()+", "+r.Began.Format("2006-01-02 15:04:05"))
		say("why", r.Reason)
		if r.Unfinished() {
			say("ended", r.Interrupted())
			for _, words := range r.Certain() {
				say("", words)
			}
			k := j.Env.Keys
			say("next", r.NextStep(k.Resume.Help().Key, k.Undo.Help().Key, k.Open.Help().Key))
		}
		return fmt.Sprintf("%d  %s %s", r.ID, r.What(), model.Printable(r.From.String()))
	})
}

// AwaitUnfinished reports unfinished records when the program starts.
func AwaitUnfinished(e *shell.Env) tea.Cmd {
	if e.Journal == nil {
		return nil
	}
	return e.Command(journalPatience, func(ctx context.Context) tea.Msg {
		unfinished, err := e.Journal.Unfinished(ctx)
		switch {
		case err != nil:
			return shell.NoticeMsg{Text: err.Error() + "; nothing can be replayed or dropped before", Bad: true}
		case len(unfinished) == 0:
			return nil
		}
		words := unfinished[0].Interrupted()
		if n := len(unfinished) - 1; n > 0 {
			words += fmt.Sprintf(", and of %s more", model.Plural(n, "action"))
		}
		journal, resume := e.Keys.Screens[4].Help().Key, e.Keys.Resume.Help().Key
		words += ": " + journal + " shows what is certain, " + resume + " resumes it"
		return shell.NoticeMsg{Text: words, Bad: true}
	})
}
