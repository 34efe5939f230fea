package act

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/charmbracelet/bubbles/key"
	tea "github.com/charmbracelet/bubbletea"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/model/plan"
	"github.com/dlxtop/dlxtop/ui/shell"
	"github.com/dlxtop/dlxtop/ui/term"
)

// shownEntries bounds what is held of a record; `dlxtop journal show` has all of it.
const shownEntries = 2000

// RecordScreen lists the messages of one record, with what became of each.
type RecordScreen struct {
	env     *shell.Env
	record  plan.Record
	list    term.List[int, EntryRow]
	Request shell.Request // the reading under way; 0: none
	more    bool
	err     error // why the last reading did not come to its end
	read    bool
}

// EntryRow is one message of a record. Of its body only the size is kept.
type EntryRow struct {
	Position           int
	Id, key, to, state string
	changed            string // what was changed in it, in words
	size               string
}

// EntriesMsg brings the messages of a record.
type EntriesMsg struct {
	Request shell.Request
	Rows    []EntryRow
	More    bool
	Err     error
}

func NewRecordScreen(e *shell.Env, r plan.Record) shell.Screen {
	s := e.Styles
	text := func(title string, width, flex, drop int, of func(EntryRow) string) term.Column[EntryRow] {
		return term.Column[EntryRow]{
			Title: title, Width: width, Flex: flex, Max: 60, Drop: drop,
			Cell:    func(r EntryRow) term.Field { return term.Field{Text: of(r), Style: s.Text} },
			Compare: func(a, b EntryRow) int { return cmp.Compare(of(a), of(b)) },
		}
	}
	rows := term.NewTable(
		e.Kit(), func(r EntryRow) int { return r.Position },
		func(a, b EntryRow) int { return cmp.Compare(a.Position, b.Position) },
		term.Column[EntryRow]{
			Title: "#", Width: 6, Right: true,
			Cell:    func(r EntryRow) term.Field { return term.Field{Text: model.Count(int64(r.Position)), Style: s.Muted} },
			Compare: func(a, b EntryRow) int { return cmp.Compare(a.Position, b.Position) },
		},
		text("MESSAGE ID", 16, 3, 0, func(r EntryRow) string { return r.Id }),
		text("ROUTING KEY", 14, 2, 2, func(r EntryRow) string { return r.key }),
		text("OUTCOME", 16, 4, 0, func(r EntryRow) string { return r.state }),
		text("SENT TO", 14, 2, 0, func(r EntryRow) string { return r.to }),
		text("CHANGED", 12, 4, 0, func(r EntryRow) string { return r.changed }),
		text("KEPT", 5, 0, 1, func(r EntryRow) string { return r.size }),
	)
	return RecordScreen{
		env: e, record: r,
		list: term.NewList(rows, func(r EntryRow) []string { return []string{r.Id, r.key, r.to, r.state, r.changed} }),
	}
}

func (r RecordScreen) Title() string { return fmt.Sprintf("%s %d", r.record.Operation, r.record.ID) }

func (r RecordScreen) Typing() bool { return r.list.Filter.Typing }

func (r RecordScreen) Keys() []key.Binding {
	own := []key.Binding{term.Describe(r.env.Keys.Undo, "undo this")}
	if _, ok := r.list.Table.Current(); ok {
		own = append(own, term.Describe(r.env.Keys.Open, "message"))
	}
	if r.record.Resumable() {
		own = append(own, term.Describe(r.env.Keys.Resume, "resume this"))
	}
	return r.list.Bindings(own...)
}

func (r RecordScreen) Update(msg tea.Msg) (shell.Screen, tea.Cmd) {
	switch msg := msg.(type) {
	case shell.TopologyMsg:
		if r.Request != 0 {
			return r, nil
		}
		r.Request = r.env.NewRequest()
		return r, readEntries(r.env, r.Request, r.record)
	case EntriesMsg:
		if msg.Request != r.Request {
			return r, nil
		}
		r.Request, r.read, r.err = 0, true, msg.Err
		if msg.Err == nil || len(msg.Rows) > len(r.list.Table.All) {
			r.more = msg.More
			r.list.Table.Set(msg.Rows)
		}
	case tea.KeyMsg:
		row, ok := r.list.Table.Current()
		switch {
		case r.list.Handle(msg):
		case ok && term.Is(msg, r.env.Keys.Open):
			return r.openEntry(row)
		case term.Is(msg, r.env.Keys.Undo):
			return r, shell.Push(NewUndoScreen(r.env, r.record.ID))
		case r.record.Resumable() && term.Is(msg, r.env.Keys.Resume):
			return r, shell.Push(NewResumeScreen(r.env, r.record.ID))
		}
	}
	return r, nil
}

var errEnough = errors.New("enough")

func readEntries(e *shell.Env, id shell.Request, r plan.Record) tea.Cmd {
	return e.Command(journalPatience, func(ctx context.Context) tea.Msg {
		var rows []EntryRow
		err := e.Journal.Entries(ctx, r.ID, func(entry *plan.Entry) error {
			if len(rows) == shownEntries {
				return errEnough
			}
			rows = append(rows, newEntryRow(&r, entry))
			return nil
		})
		if errors.Is(err, errEnough) {
			return EntriesMsg{id, rows, true, nil}
		}
		return EntriesMsg{id, rows, false, err}
	})
}

func newEntryRow(r *plan.Record, e *plan.Entry) EntryRow {
	row := EntryRow{
		Position: e.Position, Id: model.Printable(e.MessageID), key: model.Printable(e.Address.RoutingKey),
		state: model.Printable(r.State(e)), size: "-",
		changed: model.Printable(strings.Join(r.Changes(e), "; ")),
	}
	if e.Message != nil {
		row.size = message.Size(int64(e.Message.BodyBytes))
	}
	if e.Sent != nil {
		row.to = model.Printable(model.ExchangeName(e.Sent.To.Exchange) + " " + e.Sent.To.RoutingKey)
	}
	return row
}

func (r RecordScreen) View(width, height int) string {
	words := "reading …"
	switch {
	case r.err != nil:
		words = r.err.Error()
	case r.read:
		words = "No message was acted on."
	}
	lines := []string{""}
	for _, line := range term.Wrap(model.Printable(words), width-6) {
		lines = append(lines, "   "+line)
	}
	feet := r.feet(width)
	if len(feet) == 0 {
		return r.list.View(width, height, lines)
	}
	return r.list.View(width, height-len(feet), lines) + "\n" + term.Block(feet, width, len(feet))
}

// feet are the lines below the list: what changed the messages, that there are more, and why these may not be all.
func (r RecordScreen) feet(width int) (feet []string) {
	say := func(words string) {
		feet = append(feet, "   "+r.env.Styles.Muted.Render(term.Cut(words, width-4, "…")))
	}
	if r.record.Edit != "" {
		say("changed by the jq program " + model.Printable(r.record.Edit))
	}
	if r.err != nil && len(r.list.Table.All) > 0 {
		words := term.MarkError + " these may not be all: " + shell.ReadableError(r.err)
		for _, line := range term.Wrap(words, width-6) {
			feet = append(feet, "   "+r.env.Styles.Danger.Render(line))
		}
	}
	if r.more {
		say(fmt.Sprintf("the first %s: `dlxtop journal show %d` has them all", model.Plural(shownEntries, "message"),
			r.record.ID))
	}
	return feet
}

// Reopening implements reopening.
func (s RecordScreen) Reopening() func() shell.Screen {
	e, record := s.env, s.record
	return func() shell.Screen { return NewRecordScreen(e, record) }
}
