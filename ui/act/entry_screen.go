package act

import (
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

// entryScreen shows one message of a record, as the journal keeps it.
type entryScreen struct {
	env         *shell.Env
	record      plan.Record
	row         EntryRow
	request     shell.Request // the reading under way; 0: none
	message     *message.Message
	err         error
	read        bool
	bodies      shell.Bodies
	raw, folded bool
	lines       []string
	width       int // that lines are laid for; 0: not laid
	top, room   int
}

// entryMsg brings the message; nil: the journal does not keep it.
type entryMsg struct {
	request shell.Request
	message *message.Message
	err     error
}

func (r RecordScreen) openEntry(row EntryRow) (shell.Screen, tea.Cmd) {
	return r, shell.Push(entryScreen{
		env: r.env, record: r.record, row: row, request: r.env.NewRequest(),
		bodies: shell.Bodies{Read: r.env.Reads(r.record.From)},
	})
}

func (s entryScreen) Init() tea.Cmd {
	id, e, r, position := s.request, s.env, s.record.ID, s.row.Position
	return e.Command(journalPatience, func(ctx context.Context) tea.Msg {
		msg := entryMsg{request: id}
		msg.err = e.Journal.Entries(ctx, r, func(entry *plan.Entry) error {
			if entry.Position != position {
				return nil
			}
			msg.message = entry.Message
			return errEnough
		})
		if errors.Is(msg.err, errEnough) {
			msg.err = nil
		}
		return msg
	})
}

func (s entryScreen) Title() string { return "#" + model.Count(int64(s.row.Position)) }

func (s entryScreen) Typing() bool { return false }

func (s entryScreen) Keys() []key.Binding {
	if s.message == nil {
		return nil
	}
	raw, fold := s.env.Keys.Raw, s.env.Keys.Fold
	if s.raw {
		raw = term.Describe(raw, "read body")
	}
	if s.folded {
		fold = term.Describe(fold, "unfold the body")
	}
	return []key.Binding{raw, fold, term.Describe(s.env.Keys.Down, "scroll")}
}

func (s entryScreen) Update(msg tea.Msg) (shell.Screen, tea.Cmd) {
	switch msg := msg.(type) {
	case entryMsg:
		if msg.request == s.request {
			s.read, s.message, s.err, s.width = true, msg.message, msg.err, 0
		}
	case tea.KeyMsg:
		k := s.env.Keys
		switch {
		case term.Is(msg, k.Raw):
			s.raw, s.width = !s.raw, 0
		case term.Is(msg, k.Fold):
			s.folded, s.width = !s.folded, 0
		default:
			s.top = shell.Scrolled(k, msg, s.top, len(s.lines), s.room)
		}
	}
	return s, nil
}

// Prepare lays the message.
func (s entryScreen) Prepare(width, height int) (shell.Screen, tea.Cmd) {
	if s.room = height - 1; s.width == width {
		return s, nil
	}
	s.width = width
	st, inner := s.env.Styles, width-4
	s.lines = shell.Toned(st.Text, fmt.Sprintf("%s, by the %s %d of %s", s.row.state, s.record.Operation, s.record.ID,
		model.Printable(s.record.From.String())), inner)
	s.lines = append(append(s.lines, shell.Toned(st.Muted, s.row.changed, inner)...), "")
	switch m := s.message; {
	case s.err != nil:
		s.lines = append(s.lines, shell.Toned(st.Danger, shell.ReadableError(s.err), inner)...)
	case !s.read:
		s.lines = append(s.lines, st.Muted.Render("reading …"))
	case m == nil:
		s.lines = append(s.lines, shell.Toned(st.Text, "The journal has no body of it: a message that was moved is where it "+
			"was sent to. With journal = \"full\" in the context, the next ones are kept whole.", inner)...)
	default:
		for _, n := range append(shell.PropertyLines(m), shell.TreeLines(m.Headers)...) {
			for i, line := range term.Wrap(n.Name+"  "+n.Value, inner) {
				if rest, ok := strings.CutPrefix(line, n.Name); ok && i == 0 {
					line = st.Accent.Render(n.Name) + rest
				}
				s.lines = append(s.lines, line)
			}
		}
		s.lines = append(append(s.lines, ""), s.bodies.Lines(st, m, inner, s.raw, s.folded)...)
	}
	s.top = min(s.top, max(len(s.lines)-s.room, 0))
	return s, nil
}

func (s entryScreen) View(width, height int) string {
	title := s.Title() + "  " + s.row.Id
	if s.message != nil {
		title += "  " + message.Size(int64(s.message.BodyBytes)) + "B"
	}
	lines := []string{term.Partition(s.env.Styles, title, "", width)}
	for _, line := range s.lines[min(s.top, len(s.lines)):] {
		lines = append(lines, "  "+line)
	}
	return term.Block(lines, width, height)
}
