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

// JournalScreen lists what was done: who, when, to how many, with what outcome.
type JournalScreen struct {
	env     *shell.Env
	list    term.List[int64, plan.Record]
	Request shell.Request // the reading under way; 0: none
	err     error         // of the last reading
	read    bool
}

// RecordsMsg brings the newest records.
type RecordsMsg struct {
	Request shell.Request
	Records []plan.Record
	err     error
}

func NewJournalScreen(e *shell.Env) shell.Screen {
	rows := term.NewTable(e.Kit(), func(r plan.Record) int64 { return r.ID },
		func(a, b plan.Record) int { return cmp.Compare(b.ID, a.ID) }, journalColumns(e)...)
	return JournalScreen{env: e, list: term.NewList(rows, func(r plan.Record) []string {
		return r.Texts()
	})}
}

func journalColumns(e *shell.Env) []term.Column[plan.Record] {
	s := e.Styles
	return []term.Column[plan.Record]{
		{
			Title: "#", Width: 5, Right: true,
			Cell:    func(r plan.Record) term.Field { return term.Field{Text: fmt.Sprint(r.ID), Style: s.Muted} },
			Compare: func(a, b plan.Record) int { return cmp.Compare(a.ID, b.ID) },
		},
		{
			Title: "WHEN", Width: 15, Cell: func(r plan.Record) term.Field {
				return term.Field{Text: r.Began.Format("Jan 02 15:04:05"), Style: s.Text}
			},
			Compare: func(a, b plan.Record) int { return a.Began.Compare(b.Began) },
		},
		{
			Title: "WHAT", Width: 11, Cell: func(r plan.Record) term.Field {
				return term.Field{
					Text:  r.What(),
					Style: s.Text,
				}
			},
			Compare: func(a, b plan.Record) int { return cmp.Compare(a.Operation, b.Operation) },
		},
		{
			Title: "QUEUE", Width: 16, Flex: 3, Max: 40, Middle: true,
			Cell: func(r plan.Record) term.Field {
				return term.Field{Text: model.Printable(r.From.String()), Style: s.Text}
			},
			Compare: func(a, b plan.Record) int { return cmp.Compare(a.From.Name, b.From.Name) },
		},
		{
			Title: "OUTCOME", Width: 16, Flex: 4, Max: 60,
			Cell: func(r plan.Record) term.Field {
				look := s.Text
				if r.Unfinished() || r.Uncertain() > 0 {
					look = s.Warning
				}
				return term.Field{Text: r.ToldSince(), Style: look}
			},
			Compare: func(a, b plan.Record) int { return cmp.Compare(a.Planned, b.Planned) },
		},
		{
			Title: "TO", Width: 14, Flex: 2, Max: 40, Middle: true, Drop: 2,
			Cell: func(r plan.Record) term.Field { return term.Field{Text: model.Printable(r.To), Style: s.Text} },
		},
		{
			Title: "WHO", Width: 16, Flex: 1, Max: 32, Middle: true, Drop: 1,
			Cell: func(r plan.Record) term.Field { return term.Field{Text: model.Printable(r.Who()), Style: s.Muted} },
		},
	}
}

func (j JournalScreen) Init() tea.Cmd { return nil }

func (j JournalScreen) Title() string { return "journal" }

func (j JournalScreen) Typing() bool { return j.list.Filter.Typing }

// Keys depend on whether there is anything to open or to undo.
func (j JournalScreen) Keys() []key.Binding {
	if r, ok := j.list.Table.Current(); ok {
		own := []key.Binding{term.Describe(j.env.Keys.Open, "messages"), term.Describe(j.env.Keys.Undo, "undo this")}
		if r.Resumable() {
			own = append(own, term.Describe(j.env.Keys.Resume, "resume this"))
		}
		return j.list.Bindings(own...)
	}
	return j.list.Bindings()
}

func (j JournalScreen) Update(msg tea.Msg) (shell.Screen, tea.Cmd) {
	switch msg := msg.(type) {
	case shell.TopologyMsg: // each poll, so that what runs is seen to run
		if j.env.Journal == nil || j.Request != 0 {
			return j, nil
		}
		j.Request = j.env.NewRequest()
		return j, readRecords(j.env, j.Request)
	case RecordsMsg:
		if msg.Request == j.Request {
			j.Request, j.read, j.err = 0, true, msg.err
			if msg.err == nil {
				j.list.Table.Set(msg.Records)
			}
		}
	case tea.KeyMsg:
		if j.list.Handle(msg) {
			return j, nil
		}
		r, ok := j.list.Table.Current()
		switch {
		case ok && term.Is(msg, j.env.Keys.Open):
			return j, shell.Push(NewRecordScreen(j.env, r))
		case ok && term.Is(msg, j.env.Keys.Undo):
			return j, shell.Push(NewUndoScreen(j.env, r.ID))
		case ok && r.Resumable() && term.Is(msg, j.env.Keys.Resume):
			return j, shell.Push(NewResumeScreen(j.env, r.ID))
		}
	}
	return j, nil
}

func readRecords(e *shell.Env, id shell.Request) tea.Cmd {
	return e.Command(journalPatience, func(ctx context.Context) tea.Msg {
		records, err := e.Journal.Records(ctx, shownRecords)
		return RecordsMsg{id, records, err}
	})
}

func (j JournalScreen) View(width, height int) string {
	if len(j.list.Table.All) == 0 || j.err != nil {
		return term.Block(j.empty(width), width, height)
	}
	rows := j.list.Rows(height, 5)
	return term.Below(j.list.View(width, rows, nil), j.detail(width), width, height)
}

func (j JournalScreen) empty(width int) []string {
	s := j.env.Styles
	head, text := "Nothing was done yet.",
		"Every replay and drop is recorded here before it is done, with what is needed to undo it."
	switch {
	case j.env.Journal == nil:
		head, text = "There is no journal.",
			"dlxtop was started with --no-journal: actions are not recorded, and cannot be undone."
	case j.err != nil:
		head, text = "The journal cannot be read.", j.err.Error()
	case !j.read:
		head, text = "", "reading …"
	}
	lines := []string{"", "   " + s.Strong.Render(head), ""}
	for _, line := range term.Wrap(model.Printable(text), width-6) {
		lines = append(lines, "   "+line)
	}
	return lines
}

// detail has the record at the cursor in full.
func (j JournalScreen) detail(width int) []string {
	s := j.env.Styles
	r, ok := j.list.Table.Current()
	if !ok {
		return j.list.Aimless("record", width)
	}
	lines := []string{term.Partition(s, fmt.Sprintf("%d  %s %s", r.ID, r.What(),
		model.Printable(r.From.String())), j.list.Table.Position(), width)}
	told := r.ToldSince()
	if r.Account.Stopped != "" {
		told += ": " + r.Account.Stopped
	}
	type line struct{ name, text string }
	said := []line{
		{"outcome", told},
		{"to", r.To},
		{"after", r.Sequel.Words(j.env.Shown)},
		{"who", r.Who() + ", " + r.Began.Format("2006-01-02 15:04:05")},
		{"why", r.Reason},
	}
	if r.Unfinished() {
		said = append(said, line{"ended", r.Interrupted()})
		for _, words := range r.Certain() {
			said = append(said, line{"", words})
		}
		k := j.env.Keys
		said = append(said, line{"next", r.NextStep(k.Resume.Help().Key, k.Undo.Help().Key, k.Open.Help().Key)})
	}
	for _, p := range said {
		for i, line := range term.Wrap(model.Printable(p.text), width-16) {
			name := ""
			if i == 0 {
				name = p.name
			}
			if line != "" {
				lines = append(lines, "   "+s.Muted.Render(term.Fit(name, 10, false, false))+line)
			}
		}
	}
	return lines
}

// AwaitUnfinished tells of what did not end, when the program starts.
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

// Click implements clickable.
func (j JournalScreen) Click(x, y int) (shell.Screen, bool) {
	again := j.list.Table.Click(x, y)
	return j, again
}
