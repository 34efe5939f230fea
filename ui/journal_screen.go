package ui

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/charmbracelet/bubbles/key"
	tea "github.com/charmbracelet/bubbletea"

	"dlxtop/model"
)

const (
	shownRecords    = 500
	journalPatience = 10 * time.Second
)

// journalScreen lists what was done: who, when, to how many, with what outcome.
type journalScreen struct {
	env     *env
	list    list[int64, model.Record]
	request request // the reading under way: late answers to older ones are dropped
	err     error   // of the last reading
	read    bool
}

// recordsMsg brings the newest records.
type recordsMsg struct {
	request request
	records []model.Record
	err     error
}

func newJournalScreen(e *env) screen {
	rows := newTable(e, func(r model.Record) int64 { return r.ID }, func(a, b model.Record) int { return cmp.Compare(b.ID, a.ID) }, journalColumns(e)...)
	return journalScreen{env: e, list: newList(e, rows, func(r model.Record) []string {
		return []string{string(r.Operation), r.From.String(), r.To, r.Who(), r.Told()}
	})}
}

func journalColumns(e *env) []column[model.Record] {
	s := e.styles
	return []column[model.Record]{
		{
			title: "#", width: 5, right: true, cell: func(r model.Record) field { return field{fmt.Sprint(r.ID), s.Muted} },
			compare: func(a, b model.Record) int { return cmp.Compare(a.ID, b.ID) },
		},
		{
			title: "WHEN", width: 15, cell: func(r model.Record) field { return field{r.Began.Format("Jan 02 15:04:05"), s.Text} },
			compare: func(a, b model.Record) int { return a.Began.Compare(b.Began) },
		},
		{
			title: "WHAT", width: 11, cell: func(r model.Record) field { return field{recordWhat(&r), s.Text} },
			compare: func(a, b model.Record) int { return cmp.Compare(a.Operation, b.Operation) },
		},
		{
			title: "QUEUE", width: 16, flex: 3, max: 40, middle: true,
			cell:    func(r model.Record) field { return field{model.Printable(r.From.String()), s.Text} },
			compare: func(a, b model.Record) int { return cmp.Compare(a.From.Name, b.From.Name) },
		},
		{
			title: "OUTCOME", width: 16, flex: 4, max: 60,
			cell: func(r model.Record) field {
				look := s.Text
				if r.Unfinished() || r.Uncertain() > 0 {
					look = s.Warning
				}
				return field{recordOutcome(&r), look}
			},
			compare: func(a, b model.Record) int { return cmp.Compare(a.Planned, b.Planned) },
		},
		{title: "TO", width: 14, flex: 2, max: 40, middle: true, drop: 2, cell: func(r model.Record) field { return field{model.Printable(r.To), s.Text} }},
		{title: "WHO", width: 16, flex: 1, max: 32, middle: true, drop: 1, cell: func(r model.Record) field { return field{model.Printable(r.Who()), s.Muted} }},
	}
}

func recordWhat(r *model.Record) string {
	if r.Undoes > 0 {
		return fmt.Sprintf("%s of %d", r.Operation, r.Undoes)
	}
	return string(r.Operation)
}

func recordOutcome(r *model.Record) string {
	words := r.Told()
	if r.Undone > 0 {
		words += fmt.Sprintf("; %d undone", r.Undone)
	}
	return words
}

func (j journalScreen) Init() tea.Cmd { return nil }

func (j journalScreen) Title() string { return "journal" }

func (j journalScreen) Typing() bool { return j.list.filter.typing }

// Keys depend on whether there is anything to open or to undo.
func (j journalScreen) Keys() []key.Binding {
	if _, ok := j.list.table.current(); ok {
		return j.list.bindings(describe(j.env.keys.Open, "messages"), describe(j.env.keys.Undo, "undo this"))
	}
	return j.list.bindings()
}

func (j journalScreen) Update(msg tea.Msg) (screen, tea.Cmd) {
	switch msg := msg.(type) {
	case topologyMsg: // each poll, so that what runs is seen to run
		if j.env.journal == nil {
			return j, nil
		}
		j.request = j.env.newRequest()
		return j, readRecords(j.env, j.request)
	case recordsMsg:
		if msg.request == j.request {
			j.read, j.err = true, msg.err
			if msg.err == nil {
				j.list.table.set(msg.records)
			}
		}
	case tea.KeyMsg:
		if j.list.handle(msg) {
			return j, nil
		}
		r, ok := j.list.table.current()
		switch {
		case ok && is(msg, j.env.keys.Open):
			return j, push(newRecordScreen(j.env, r))
		case ok && is(msg, j.env.keys.Undo):
			return j, push(newUndoScreen(j.env, r.ID))
		}
	}
	return j, nil
}

func readRecords(e *env, id request) tea.Cmd {
	return e.command(journalPatience, func(ctx context.Context) tea.Msg {
		records, err := e.journal.Records(ctx, shownRecords)
		return recordsMsg{id, records, err}
	})
}

func (j journalScreen) View(width, height int) string {
	if len(j.list.table.all) == 0 || j.err != nil {
		return block(j.empty(width), width, height)
	}
	rows := j.list.rows(height, 5)
	return j.list.view(width, rows, nil) + "\n" + block(j.detail(width), width, height-rows)
}

func (j journalScreen) empty(width int) []string {
	s := j.env.styles
	head, text := "Nothing was done yet.", "Every replay and drop is written down here before it is done, with what is needed to take it back."
	switch {
	case j.env.journal == nil:
		head, text = "There is no journal.", "dlxtop was started with --no-journal: what is done is not kept, and cannot be undone."
	case j.err != nil:
		head, text = "The journal cannot be read.", j.err.Error()
	case !j.read:
		head, text = "", "reading …"
	}
	lines := []string{"", "   " + s.Strong.Render(head), ""}
	for _, line := range wrap(model.Printable(text), width-6) {
		lines = append(lines, "   "+line)
	}
	return lines
}

// detail has the record at the cursor in full.
func (j journalScreen) detail(width int) []string {
	s := j.env.styles
	r, ok := j.list.table.current()
	if !ok {
		return j.list.aimless("record", width)
	}
	lines := []string{partition(s, fmt.Sprintf("%d  %s %s", r.ID, recordWhat(&r), model.Printable(r.From.String())), j.list.table.position(), width)}
	told := recordOutcome(&r)
	if r.To != "" {
		told += ", to " + r.To
	}
	if r.Account.Stopped != "" {
		told += ": " + r.Account.Stopped
	}
	for _, p := range []struct{ name, text string }{
		{"outcome", told}, {"who", r.Who() + ", " + r.Began.Format("2006-01-02 15:04:05")}, {"certain?", strings.Join(r.Explain(), "; ")},
	} {
		for i, line := range wrap(model.Printable(p.text), width-16) {
			name := ""
			if i == 0 {
				name = p.name
			}
			if line != "" {
				lines = append(lines, "   "+s.Muted.Render(fit(name, 10, false, false))+line)
			}
		}
	}
	return lines
}

// tellUnfinished tells of what did not end, when the program starts.
func tellUnfinished(e *env) tea.Cmd {
	if e.journal == nil {
		return nil
	}
	return e.command(journalPatience, func(ctx context.Context) tea.Msg {
		unfinished, err := e.journal.Unfinished(ctx)
		switch {
		case err != nil:
			return noticeMsg{text: err.Error() + "; nothing can be replayed or dropped before", bad: true}
		case len(unfinished) == 0:
			return nil
		}
		words := unfinished[0].Explain()[0]
		if n := len(unfinished) - 1; n > 0 {
			words += fmt.Sprintf(", and of %s more", model.Plural(n, "action"))
		}
		return noticeMsg{text: words + ": " + e.keys.Screens[4].Help().Key + " Journal tells what is certain", bad: true}
	})
}
