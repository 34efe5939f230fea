package ui

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
	"github.com/dlxtop/dlxtop/ui/term"
)

// shownEntries bounds what is held of a record; `dlxtop journal show` has all of it.
const shownEntries = 2000

// recordScreen lists the messages of one record, with what became of each.
type recordScreen struct {
	env     *env
	record  plan.Record
	list    term.List[int, entryRow]
	request request // the reading under way; 0: none
	more    bool
	err     error // why the last reading did not come to its end
	read    bool
}

// entryRow is one message of a record. Of its body only the size is kept.
type entryRow struct {
	position           int
	id, key, to, state string
	changed            string // what was changed in it, in words
	size               string
}

// entriesMsg brings the messages of a record.
type entriesMsg struct {
	request request
	rows    []entryRow
	more    bool
	err     error
}

func newRecordScreen(e *env, r plan.Record) screen {
	s := e.styles
	text := func(title string, width, flex, drop int, of func(entryRow) string) term.Column[entryRow] {
		return term.Column[entryRow]{
			Title: title, Width: width, Flex: flex, Max: 60, Drop: drop,
			Cell:    func(r entryRow) term.Field { return term.Field{Text: of(r), Style: s.Text} },
			Compare: func(a, b entryRow) int { return cmp.Compare(of(a), of(b)) },
		}
	}
	rows := term.NewTable(
		e.kit(), func(r entryRow) int { return r.position },
		func(a, b entryRow) int { return cmp.Compare(a.position, b.position) },
		term.Column[entryRow]{
			Title: "#", Width: 6, Right: true,
			Cell:    func(r entryRow) term.Field { return term.Field{Text: model.Count(int64(r.position)), Style: s.Muted} },
			Compare: func(a, b entryRow) int { return cmp.Compare(a.position, b.position) },
		},
		text("MESSAGE ID", 16, 3, 0, func(r entryRow) string { return r.id }),
		text("ROUTING KEY", 14, 2, 2, func(r entryRow) string { return r.key }),
		text("OUTCOME", 16, 4, 0, func(r entryRow) string { return r.state }),
		text("SENT TO", 14, 2, 0, func(r entryRow) string { return r.to }),
		text("CHANGED", 12, 4, 0, func(r entryRow) string { return r.changed }),
		text("KEPT", 5, 0, 1, func(r entryRow) string { return r.size }),
	)
	return recordScreen{
		env: e, record: r,
		list: term.NewList(rows, func(r entryRow) []string { return []string{r.id, r.key, r.to, r.state, r.changed} }),
	}
}

func (r recordScreen) Init() tea.Cmd { return nil }

func (r recordScreen) Title() string { return fmt.Sprintf("%s %d", r.record.Operation, r.record.ID) }

func (r recordScreen) Typing() bool { return r.list.Filter.Typing }

func (r recordScreen) Keys() []key.Binding {
	own := []key.Binding{term.Describe(r.env.keys.Undo, "undo this")}
	if r.record.Resumable() {
		own = append(own, term.Describe(r.env.keys.Resume, "resume this"))
	}
	return r.list.Bindings(own...)
}

func (r recordScreen) Update(msg tea.Msg) (screen, tea.Cmd) {
	switch msg := msg.(type) {
	case topologyMsg:
		if r.request != 0 {
			return r, nil
		}
		r.request = r.env.newRequest()
		return r, readEntries(r.env, r.request, r.record)
	case entriesMsg:
		if msg.request != r.request {
			return r, nil
		}
		r.request, r.read, r.err = 0, true, msg.err
		if msg.err == nil || len(msg.rows) > len(r.list.Table.All) {
			r.more = msg.more
			r.list.Table.Set(msg.rows)
		}
	case tea.KeyMsg:
		switch {
		case r.list.Handle(msg):
		case term.Is(msg, r.env.keys.Undo):
			return r, push(newUndoScreen(r.env, r.record.ID))
		case r.record.Resumable() && term.Is(msg, r.env.keys.Resume):
			return r, push(newResumeScreen(r.env, r.record.ID))
		}
	}
	return r, nil
}

var errEnough = errors.New("enough")

func readEntries(e *env, id request, r plan.Record) tea.Cmd {
	return e.command(journalPatience, func(ctx context.Context) tea.Msg {
		var rows []entryRow
		err := e.journal.Entries(ctx, r.ID, func(entry *plan.Entry) error {
			if len(rows) == shownEntries {
				return errEnough
			}
			rows = append(rows, newEntryRow(&r, entry))
			return nil
		})
		if errors.Is(err, errEnough) {
			return entriesMsg{id, rows, true, nil}
		}
		return entriesMsg{id, rows, false, err}
	})
}

func newEntryRow(r *plan.Record, e *plan.Entry) entryRow {
	row := entryRow{
		position: e.Position, id: model.Printable(e.MessageID), key: model.Printable(e.Address.RoutingKey),
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

func (r recordScreen) View(width, height int) string {
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
func (r recordScreen) feet(width int) (feet []string) {
	say := func(words string) {
		feet = append(feet, "   "+r.env.styles.Muted.Render(term.Cut(words, width-4, "…")))
	}
	if r.record.Edit != "" {
		say("changed by the jq program " + model.Printable(r.record.Edit))
	}
	if r.err != nil && len(r.list.Table.All) > 0 {
		words := term.MarkError + " these may not be all: " + readableError(r.err)
		for _, line := range term.Wrap(words, width-6) {
			feet = append(feet, "   "+r.env.styles.Danger.Render(line))
		}
	}
	if r.more {
		say(fmt.Sprintf("the first %s: `dlxtop journal show %d` has them all", model.Plural(shownEntries, "message"),
			r.record.ID))
	}
	return feet
}

// Reopening implements reopening.
func (s recordScreen) Reopening() func() screen {
	e, record := s.env, s.record
	return func() screen { return newRecordScreen(e, record) }
}
