package messages

import (
	"context"
	"fmt"
	"slices"

	"github.com/charmbracelet/bubbles/key"
	tea "github.com/charmbracelet/bubbletea"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/cause"
	"github.com/dlxtop/dlxtop/model/filter"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/model/plan"
	"github.com/dlxtop/dlxtop/ui/act"
	"github.com/dlxtop/dlxtop/ui/press"
	"github.com/dlxtop/dlxtop/ui/shell"
	"github.com/dlxtop/dlxtop/ui/term"
)

// updateDialog passes a message to the dialog. When an action ends, what it took out of the queue leaves the table.
func (s *Screen) updateDialog(msg tea.Msg) (cmd tea.Cmd) {
	ended := s.Dialog.State == shell.DialogEnded
	cmd = s.Dialog.Update(msg)
	switch {
	case s.Dialog.State == shell.DialogEnded && !ended:
		s.settle()
	case s.Dialog.State == shell.DialogClosed && ended && cmd == nil:
		cmd = shell.Notice(s.Dialog.Summary()+s.remaining(), !s.Dialog.Account.Complete())
	}

	return cmd
}

type box interface {
	Open() bool
	Keys() []term.Key
	View(width, height int) string
}

// box returns the open dialog; nil: none is.
func (a *messageActions) box() box {
	switch {
	case a.Dialog.Open():
		return &a.Dialog
	case a.saving.Open():
		return &a.saving
	}

	return nil
}

func (s *Screen) toBox(msg tea.Msg) tea.Cmd {
	switch {
	case s.Dialog.Open():
		return s.updateDialog(msg)
	case s.saving.Open():
		return s.saving.Update(msg)
	}

	return nil
}

func (a messageActions) Busy() bool { return a.Dialog.IsBusy() || a.saving.IsBusy() }

// HowFar returns how far the action has come.
func (a *messageActions) HowFar() shell.Run { return a.Dialog.HowFar() }

// settle removes from the table what is no longer in the queue.
func (s *Screen) settle() {
	d := &s.Dialog
	s.settled = s.env.Now()
	s.Taken += d.Account.Moved + d.Account.Dropped
	if d.Unclear {
		s.unclear = "whether each message is still here is unknown: " + press.Peek.Help().Key +
			" reads the queue again"
	}
	if d.Unclear || len(d.Gone) > 0 {
		s.done = s.env.Done()
	}

	if len(d.Gone) == 0 {
		return
	}

	gone := make(map[shell.MessageID]bool, len(d.Gone))
	for _, r := range d.Gone {
		gone[r.Id] = true
	}

	kept := make([]*shell.MessageRow, 0, len(s.Rows))
	for _, r := range s.Rows {
		if gone[r.Id] {
			s.left = append(s.left, r)
		} else {
			kept = append(kept, r)
		}
	}

	s.Rows = kept
	s.Table.Set(kept)
	s.Table.Regain()
}

// catchUp adds messages that came back to the queue. It is read again if that costs nothing.
func (s *Screen) catchUp() tea.Cmd {
	changed, back := false, 0
	for _, d := range s.env.Since(&s.done) {
		if d.Queue != s.Queue || !d.Unclear || !d.At.After(s.Peeked.TakenAt) {
			continue
		}
		s.settled = d.At
		if s.Peeked.Plan.Free || !s.regain(d.Came) {
			changed, back = true, back+d.Back
		}
	}

	if !changed || s.Peeked.TakenAt.IsZero() {
		return nil
	}
	if s.Peeked.Plan.Free {
		return s.look(false, false)
	}
	came := "it was changed by an action"
	if back > 0 {
		came = model.Sayf("%v message(s) came back", back)
	}

	s.unclear = came + " since this was read: " + press.Peek.Help().Key + " reads the queue again"
	return nil
}

// regain lists messages again that came back, behind the others, as in the queue: an undo brings them to its end.
func (s *Screen) regain(came message.Twins) bool {
	back, rest, all := shell.Among(s.left, came,
		func(r *shell.MessageRow) message.Fingerprint { return r.Id.Fingerprint })
	if !all {
		return false
	}
	s.left, s.Taken = rest, s.Taken-len(back)
	s.Rows = append(slices.Clone(s.Rows), back...)
	shell.Renumber(s.Rows)
	s.Table.Set(s.Rows)
	s.Table.Regain()
	return true
}

// Subject returns what an action on some of the messages is about.
func (s *Screen) Subject(rows []*shell.MessageRow, words string) act.Subject {
	return act.Subject{
		Topology: s.Topology,
		Queue:    s.Queue,
		Rows:     rows,
		Words:    words,
		Others:   s.Others(),
	}
}

// Others returns what else is in the queue. Later arrivals are counted with each plan: polls are late, and would take
// messages for new that an action has just taken out.
func (s *Screen) Others() act.OtherMessages {
	o := act.OtherMessages{Frozen: plan.Frozen{At: s.Peeked.TakenAt}}
	depth, known := s.Peeked.Depth.Get()
	if !known {
		return o
	}
	held := depth - int64(s.Taken)
	o.Frozen.Depth = model.Some(held)
	if now, newer := s.newerCount(); newer {
		held = min(held, now)
	}

	o.Unread = max(held-int64(len(s.Rows)), 0)
	return o
}

func (s *Screen) edit() tea.Cmd {
	if rows, _ := s.aimed(); len(rows) > 1 && !s.env.ReadOnly {
		return shell.Notice(model.Sayf("%v message(s) are selected, and one is edited at a time: esc clears the selection",
			len(rows)), true)
	}

	return s.change(s.aimed, noneAimed, func(about act.Subject) tea.Cmd {
		about.Words = "the edited message"
		return s.Dialog.BeginEdit(s.env, about)
	})
}

// mendMany asks for the program that changes the selection, or all that are shown.
func (s *Screen) mendMany() tea.Cmd {
	return s.change(s.selected, "there is nothing to edit", func(about act.Subject) tea.Cmd {
		s.Dialog.BeginMend(s.env, about)
		return nil
	})
}

func (s *Screen) change(choose choice, none string, does func(act.Subject) tea.Cmd) tea.Cmd {
	if s.env.ReadOnly {
		return shell.Notice(shell.ReadOnlyWords, true)
	}
	return s.with(choose, none, does)
}

func (s *Screen) export() tea.Cmd {
	if s.env.Files == nil {
		return nil
	}

	return s.with(s.selected, "there is nothing to export", func(about act.Subject) tea.Cmd {
		s.saving = act.ExportDialog{
			Dialog: shell.NewDialog(s.env, shell.DialogAsking), Parts: []act.ExportPart{{Rows: about.Rows}},
			Words: about.Words, Path: term.NewTextField(message.FileName(s.Queue, s.env.Now())),
		}
		return nil
	})
}

// offer finds the actions for which the message under the cursor has the fields.
func (s *Screen) offer() {
	row, ok := s.Table.Current()
	if !ok || row.Whole() == nil {
		s.offered, s.offeredOf = nil, nil
		return
	}

	if s.offeredOf == row.Whole() {
		return
	}
	s.offered, s.offeredOf = map[int]bool{}, row.Whole()
	for i := range s.env.Actions {
		s.offered[i] = s.env.Actions[i].Offered(s.offeredOf)
	}
}

// custom returns the actions of the configuration.
func (s *Screen) custom() []term.Key {
	keys := make([]term.Key, len(s.env.Actions))
	for i := range s.env.Actions {
		a := &s.env.Actions[i]
		run := func() tea.Cmd { return s.runAction(a) }
		keys[i] = term.On(act.ActionKey(a), "", run).Shown(s.offered[i])
	}

	return keys
}

func (s *Screen) runAction(a *filter.Action) tea.Cmd {
	row, ok := s.Table.Current()
	if !ok {
		return shell.Notice(noneAimed, true)
	}

	clipboard := s.env.ToClipboard()
	open := s.env.Opener
	return s.env.Command(act.ActionTimeout, func(ctx context.Context) tea.Msg {
		m := shell.Parts(nil, row).Whole
		if a.IsURL() {
			return act.OpenURL(ctx, a, m, clipboard, open)
		}
		return act.RunCommand(ctx, a, m)
	})
}

// copies returns the keys that say what to copy.
func (s *Screen) copies() []term.Key {
	copies := func(b key.Binding, does string, of func(*message.Message) (what, text string)) term.Key {
		return term.On(b, does, func() tea.Cmd { return s.copy(of) })
	}

	return append([]term.Key{
		copies(press.CopyBody, "the body", shell.BodyToCopy),
		copies(press.CopyHeaders, "the headers", shell.HeadersToCopy),
		copies(press.CopyID, "the message id", func(m *message.Message) (what, text string) {
			return "the id " + m.Properties.MessageID, m.Properties.MessageID
		}),
		copies(press.CopyJSON, "all of it as JSON", func(m *message.Message) (what, text string) {
			return "the message as JSON", shell.MessageJSON(m)
		}),
	}, term.Named(press.Cancel)...)
}

func (s *Screen) copy(of func(*message.Message) (what, text string)) tea.Cmd {
	row, ok := s.Table.Current()
	if !ok {
		return nil
	}

	out := s.env.ToClipboard()
	return s.env.Command(0, func(context.Context) tea.Msg {
		what, text := of(shell.Parts(nil, row).Whole)
		if what == "the id " {
			return shell.NoticeMsg{Text: "this message has no id", Bad: true}
		}
		return shell.CopyText(out, what, text)
	})
}

// NewCauseExport asks for the path to which the messages of a cause in several queues are written.
func NewCauseExport(e *shell.Env, queues []act.Subject, words string) act.ExportDialog {
	d := act.ExportDialog{Dialog: shell.NewDialog(e, shell.DialogAsking), Words: words, Path: term.NewTextField(".")}
	names := map[string]bool{}
	for q := range model.Each(queues) {
		if len(q.Rows) == 0 {
			continue
		}
		named := q.Queue
		name := message.FileName(q.Queue, e.Now())
		for n := 2; names[name]; n++ { // for a queue in another virtual host
			named.Name = fmt.Sprintf("%s-%d", q.Queue.Name, n)
			name = message.FileName(named, e.Now())
		}

		names[name] = true
		d.Parts = append(d.Parts, act.ExportPart{Name: name, Rows: q.Rows})
	}

	return d
}

// OfCause is the one cause whose messages are shown; zero: all are.
type OfCause struct {
	*cause.Group        // nil: all
	Words        string // printable
}

func (c OfCause) Has(in model.QueueRef, m *message.Message) bool {
	return c.Group == nil || cause.MatchesID(in, m, c.ID)
}

// match returns the condition of the table: the cause, and the filter. nil shows all.
func (s *Screen) match() func(*shell.MessageRow) bool {
	matches := s.filter.match()
	if s.only.Group == nil {
		return matches
	}
	return func(r *shell.MessageRow) bool { return !r.Other && (matches == nil || matches(r)) }
}

// remaining says what came into the queue since it was read, or that an action has left no message of the cause in it;
// "" when neither is known.
func (s *Screen) remaining() string {
	if arrived := plan.ArrivedWords(s.Dialog.Others.Arrived); arrived != "" {
		return "; " + arrived + ": " + press.Peek.Help().Key + " reads the queue again"
	}
	if s.only.Group == nil || len(s.Table.Shown) > 0 || s.filter.Text() != "" || s.unclear != "" {
		return ""
	}
	words := "; none of this cause is left here"
	if s.env.Marks.States.Of(s.only.ID).State == cause.Resolved {
		return words // the key would undo that
	}

	return words + ": " + press.Resolve.Help().Key + " marks it as resolved"
}

type afterLook func(*Screen) tea.Cmd

// Wish is what to do with messages of a cause.
type Wish struct {
	Operation plan.Operation // "": write a copy
	Asks      asks
}

type asks int // what must be known before there is a plan

const (
	AsksNothing asks = iota
	AsksQueue
	AsksProgram
	AsksPath
)

// CauseKeys returns the keys that act on all messages of a cause.
func CauseKeys(e *shell.Env, do func(Wish) tea.Cmd) []term.Key {
	on := func(b key.Binding, does string, w Wish) term.Key {
		return term.On(b, does, func() tea.Cmd {
			if w.Asks == AsksPath && e.Files == nil {
				return nil
			}
			return do(w)
		})
	}

	return []term.Key{
		on(press.Replay, "replay them all", Wish{Operation: plan.Replay}),
		on(press.Drop, "drop them all", Wish{Operation: plan.Drop}),
		on(press.Move, "move them all to a queue of choice", Wish{Operation: plan.Move, Asks: AsksQueue}),
		on(press.Mend, "change them all by one jq program, then replay them", Wish{plan.Replay, AsksProgram}),
		on(press.Export, "export them all to a file", Wish{Asks: AsksPath}),
		on(press.ReplayAll, "", Wish{Operation: plan.Replay}).Shown(false),
		on(press.DropAll, "", Wish{Operation: plan.Drop}).Shown(false),
	}
}

// OnAll does it with all messages of a cause in one queue.
func (w Wish) OnAll(s *Screen) tea.Cmd {
	switch {
	case w.Asks == AsksPath:
		return s.export()
	case len(s.Table.Shown) == 0:
		return shell.Notice("no message of this cause is in the queue any more", true)
	case w.Asks == AsksProgram:
		return s.mendMany()
	}

	return s.act(w.Operation, s.AllShown)
}

// OnRow does it with the selection, or the message under the cursor.
func OnRow(operation plan.Operation) afterLook {
	return func(s *Screen) tea.Cmd { return s.act(operation, s.aimed) }
}

// OtherKeys returns the keys of the detail of a message, those that say what to copy, those of the filter, and
// those that choose messages like one.
func OtherKeys(e *shell.Env) (detail, copies, typed, chosen []term.Key) {
	s := NewCauseScreen(e, model.QueueRef{}, OfCause{}, 0, nil)
	s.detail.zoomed = true
	return s.paneKeys(), s.copies(), s.filter.keys(), s.choosing()
}
