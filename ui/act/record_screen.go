package act

import (
	"context"
	"errors"
	"fmt"
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/model/plan"
	"github.com/dlxtop/dlxtop/ui/press"
	"github.com/dlxtop/dlxtop/ui/shell"
	"github.com/dlxtop/dlxtop/ui/term"
)

// shownEntries bounds how many entries of a record are held; `dlxtop journal show` has all of them.
const shownEntries = 2000

// RecordScreen lists the messages of one record, with their outcomes.
type RecordScreen struct {
	shell.Listing[int, EntryRow]
	record  plan.Record
	Request shell.Request // the reading in flight; 0: none
	more    bool
	err     error // why the last reading ended early
	read    bool
}

// EntryRow is one message of a record. Only the size of its body is kept.
type EntryRow struct {
	Position           int
	Id, key, to, state string
	changed            string // what was changed in it, in words
	size               string
}

// Entries are the first messages of a record.
type Entries struct {
	Rows []EntryRow
	More bool
}

func NewRecordScreen(e *shell.Env, r plan.Record) shell.Screen {
	position := func(r EntryRow) int { return r.Position }
	texts := func(r EntryRow) []string { return []string{r.Id, r.key, r.to, r.state, r.changed} }

	s := &RecordScreen{record: r, Listing: shell.NewListing(e, fmt.Sprintf("%s %d", r.Operation, r.ID),
		position, term.By(position), texts,
		func(r EntryRow) []any {
			return []any{
				r.Position,
				r.Id,
				r.key,
				r.state,
				r.to,
				r.changed,
				r.size,
			}
		},
		term.Columns(`
			#:            6 right sorts muted
			MESSAGE ID:  16 flex 3 max 60 sorts
			ROUTING KEY: 14 flex 2 max 60 drop 2 sorts
			OUTCOME:     16 flex 4 max 60 sorts
			SENT TO:     14 flex 2 max 60 sorts
			CHANGED:     12 flex 4 max 60 sorts
			KEPT:         5 drop 1 sorts
		`),
	)}
	s.Own = s.keys
	return s
}

func (r *RecordScreen) keys() []term.Key {
	row, ok := r.Table.Current()
	return []term.Key{
		term.On(press.Undo, "undo this action", shell.Opening(NewUndoScreen, r.Env, r.record.ID)).As("undo this"),
		term.On(press.Open, "the message under the cursor", func() tea.Cmd { return r.openEntry(row) }).As("message").
			When(ok),
		term.On(press.Resume, "resume this action, which did not come to its end",
			shell.Opening(NewResumeScreen, r.Env, r.record.ID)).As("resume this").When(r.record.Resumable()),
	}
}

func (r *RecordScreen) Update(msg tea.Msg) tea.Cmd {
	cmd := r.Listing.Update(msg)
	switch msg := msg.(type) {
	case shell.TopologyMsg:
		if r.Request == 0 {
			r.Request, cmd = readEntries(r.Env, r.record)
		}
	case shell.EndedMsg[Entries]:
		if msg.Request != r.Request {
			return nil
		}

		r.Request = 0
		r.read = true
		r.err = msg.Err
		if read := msg.Result; msg.Err == nil || len(read.Rows) > len(r.Table.All) {
			r.more = read.More
			r.Table.Set(read.Rows)
		}
	}

	return cmd
}

var errEnough = errors.New("enough")

func readEntries(e *shell.Env, r plan.Record) (shell.Request, tea.Cmd) {
	return shell.Ask(e, journalPatience, func(ctx context.Context) (read Entries, err error) {
		err = entriesUntil(ctx, e, r.ID, func(entry *plan.Entry) (enough bool) {
			if read.More = len(read.Rows) == shownEntries; !read.More {
				read.Rows = append(read.Rows, newEntryRow(&r, entry))
			}
			return read.More
		})
		return read, err
	})
}

// entriesUntil reads a record's entries until there are enough.
func entriesUntil(ctx context.Context, e *shell.Env, record int64, see func(*plan.Entry) (enough bool)) error {
	err := e.Journal.Entries(ctx, record, func(entry *plan.Entry) error {
		if see(entry) {
			return errEnough
		}
		return nil
	})

	if errors.Is(err, errEnough) {
		return nil
	}
	return err
}

func newEntryRow(r *plan.Record, e *plan.Entry) EntryRow {
	row := EntryRow{
		Position: e.Position,
		Id:       model.Printable(e.MessageID),
		key:      model.Printable(e.Address.RoutingKey),
		state:    model.Printable(r.State(e)),
		size:     "-",
		changed:  model.Printable(strings.Join(r.Changes(e), "; ")),
	}

	if e.Message != nil {
		row.size = message.Size(int64(e.Message.BodyBytes))
	}
	if e.Sent != nil {
		row.to = model.Printable(model.ExchangeName(e.Sent.To.Exchange) + " " + e.Sent.To.RoutingKey)
	}

	return row
}

func (r *RecordScreen) View(width, height int) string {
	words := "reading …"
	switch {
	case r.err != nil:
		words = r.err.Error()
	case r.read:
		words = "No message was acted on."
	}

	lines := append([]string{""}, shell.Indented(term.Text, words, width)...)
	feet := r.feet(width)
	if len(feet) == 0 {
		return r.List.View(width, height, lines)
	}

	return r.List.View(width, height-len(feet), lines) + "\n" + term.Block(feet, width, len(feet))
}

// feet returns the lines below the list: what changed the messages, that there are more, and why some may be missing.
func (r *RecordScreen) feet(width int) (feet []string) {
	say := func(words string) {
		feet = append(feet, "   "+term.Muted.Render(term.Cut(words, width-4)))
	}
	if r.record.Edit != "" {
		say("changed by the jq program " + model.Printable(r.record.Edit))
	}

	if r.err != nil && len(r.Table.All) > 0 {
		words := term.MarkError + " these may not be all: " + shell.ReadableError(r.err)
		feet = append(feet, shell.Indented(term.Danger, words, width)...)
	}

	if r.more {
		say(model.Sayf("the first %v message(s): `dlxtop journal show %d` has them all", shownEntries, r.record.ID))
	}

	return feet
}

func (s *RecordScreen) Reopening() func() shell.Screen {
	e, record := s.Env, s.record
	return func() shell.Screen { return NewRecordScreen(e, record) }
}

// entryScreen shows one message of a record, as the journal keeps it.
type entryScreen struct {
	env         *shell.Env
	record      plan.Record
	row         EntryRow
	request     shell.Request
	message     *message.Message // nil: not read yet, or the journal does not keep it
	err         error
	read        bool
	bodies      shell.Bodies
	raw, folded bool
	text        shell.Scroll
}

func (r *RecordScreen) openEntry(row EntryRow) tea.Cmd {
	return shell.Push(&entryScreen{env: r.Env, record: r.record, row: row})
}

func (s *entryScreen) ask() (cmd tea.Cmd) {
	e, of, at := s.env, s.record.ID, s.row.Position
	s.request, cmd = shell.Ask(e, journalPatience, func(ctx context.Context) (m *message.Message, err error) {
		err = entriesUntil(ctx, e, of, func(entry *plan.Entry) (found bool) {
			if found = entry.Position == at; found {
				m = entry.Message
			}
			return found
		})
		return m, err
	})

	return cmd
}

func (s *entryScreen) Title() string { return "#" + model.Count(s.row.Position) }

func (s *entryScreen) Typing() bool { return false }

func (s *entryScreen) Keys() []term.Key {
	if s.message == nil {
		return nil
	}
	body := shell.BodyKeys(&s.raw, &s.folded, func() { s.text.Lines = nil })
	return append(body, term.Named(press.Describe(press.Down, "scroll"))...)
}

func (s *entryScreen) Update(msg tea.Msg) (cmd tea.Cmd) {
	switch msg := msg.(type) {
	case shell.TopologyMsg:
		if s.request == 0 {
			cmd = s.ask()
		}
	case shell.EndedMsg[*message.Message]:
		if msg.Request == s.request {
			s.read = true
			s.message = msg.Result
			s.err = msg.Err
			s.text.Lines = nil
		}
	case tea.KeyMsg:
		s.text.Key(msg)
		cmd, _ = term.Press(s.Keys(), msg)
	}

	return cmd
}

func (s *entryScreen) Prepare(width, height int) tea.Cmd {
	s.text.Prepare(width-4, height-1, s.lay)
	return nil
}

func (s *entryScreen) lay(width int) []string {
	head := model.Sayf("%s, by the %s %d of %s", s.row.state, s.record.Operation, s.record.ID, s.record.From)
	lines := append(term.Text.Wrap("", head, width), term.Muted.Wrap("", s.row.changed, width)...)
	lines = append(lines, "")

	m := s.message
	switch {
	case s.err != nil:
		return append(lines, term.Danger.Wrap("", shell.ReadableError(s.err), width)...)
	case !s.read:
		return append(lines, term.Muted.Render("reading …"))
	case m == nil:
		return append(lines, term.Text.Wrap("", "The journal has no body of it: a message that was moved is where it was "+
			"sent to. With journal = \"full\" in the context, the next ones are kept whole.", width)...)
	default:
		lines = append(lines, shell.NamedLines(append(shell.PropertyLines(m), shell.TreeLines(m.Headers)...), width)...)
		return append(append(lines, ""), s.bodies.Lines(m, width, s.raw, s.folded)...)
	}
}

func (s *entryScreen) View(width, height int) string {
	title := s.Title() + "  " + s.row.Id
	if s.message != nil {
		title += "  " + message.Size(int64(s.message.BodyBytes)) + "B"
	}

	lines := []string{term.Partition(title, "", width)}
	for _, line := range s.text.Seen() {
		lines = append(lines, "  "+line)
	}

	return term.Block(lines, width, height)
}
