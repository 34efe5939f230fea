package ui

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/charmbracelet/bubbles/key"
	tea "github.com/charmbracelet/bubbletea"

	"dlxtop/model"
)

// shownEntries bounds what is held of a record; `dlxtop journal show` has all of it.
const shownEntries = 2000

// recordScreen lists the messages of one record, with what became of each.
type recordScreen struct {
	env     *env
	record  model.Record
	list    list[int, entryRow]
	request request
	more    bool
	err     error
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

func newRecordScreen(e *env, r model.Record) screen {
	s := e.styles
	text := func(title string, width, flex int, of func(entryRow) string) column[entryRow] {
		return column[entryRow]{
			title: title, width: width, flex: flex, max: 60, cell: func(r entryRow) field { return field{of(r), s.Text} },
			compare: func(a, b entryRow) int { return cmp.Compare(of(a), of(b)) },
		}
	}
	rows := newTable(
		e, func(r entryRow) int { return r.position }, func(a, b entryRow) int { return cmp.Compare(a.position, b.position) },
		column[entryRow]{
			title: "#", width: 6, right: true, cell: func(r entryRow) field { return field{model.Count(int64(r.position)), s.Muted} },
			compare: func(a, b entryRow) int { return cmp.Compare(a.position, b.position) },
		},
		text("MESSAGE ID", 16, 3, func(r entryRow) string { return r.id }),
		text("ROUTING KEY", 14, 2, func(r entryRow) string { return r.key }),
		text("OUTCOME", 16, 4, func(r entryRow) string { return r.state }),
		text("SENT TO", 14, 2, func(r entryRow) string { return r.to }),
		text("CHANGED", 12, 4, func(r entryRow) string { return r.changed }),
		text("KEPT", 5, 0, func(r entryRow) string { return r.size }),
	)
	return recordScreen{env: e, record: r, list: newList(e, rows, func(r entryRow) []string { return []string{r.id, r.key, r.to, r.state, r.changed} })}
}

func (r recordScreen) Init() tea.Cmd { return nil }

func (r recordScreen) Title() string { return fmt.Sprintf("%s %d", r.record.Operation, r.record.ID) }

func (r recordScreen) Typing() bool { return r.list.filter.typing }

func (r recordScreen) Keys() []key.Binding {
	return r.list.bindings(describe(r.env.keys.Undo, "undo this"))
}

func (r recordScreen) Update(msg tea.Msg) (screen, tea.Cmd) {
	switch msg := msg.(type) {
	case topologyMsg:
		r.request = r.env.newRequest()
		return r, readEntries(r.env, r.request, r.record)
	case entriesMsg:
		if msg.request == r.request {
			r.read, r.err, r.more = true, msg.err, msg.more
			r.list.table.set(msg.rows)
		}
	case tea.KeyMsg:
		if !r.list.handle(msg) && is(msg, r.env.keys.Undo) {
			return r, push(newUndoScreen(r.env, r.record.ID))
		}
	}
	return r, nil
}

var errEnough = errors.New("enough")

func readEntries(e *env, id request, r model.Record) tea.Cmd {
	return e.command(journalPatience, func(ctx context.Context) tea.Msg {
		var rows []entryRow
		err := e.journal.Entries(ctx, r.ID, func(entry *model.Entry) error {
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

func newEntryRow(r *model.Record, e *model.Entry) entryRow {
	row := entryRow{
		position: e.Position, id: model.Printable(e.MessageID), key: model.Printable(e.Address.RoutingKey), state: model.Printable(r.State(e)), size: "-",
		changed: model.Printable(strings.Join(r.Changes(e), "; ")),
	}
	if e.Message != nil {
		row.size = model.Size(int64(e.Message.BodyBytes))
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
	for _, line := range wrap(model.Printable(words), width-6) {
		lines = append(lines, "   "+line)
	}
	if r.more {
		foot := fmt.Sprintf("the first %s: `dlxtop journal show %d` has them all", model.Plural(shownEntries, "message"), r.record.ID)
		return r.list.view(width, height-1, lines) + "\n" + block([]string{"   " + r.env.styles.Muted.Render(foot)}, width, 1)
	}
	return r.list.view(width, height, lines)
}
