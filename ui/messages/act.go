package messages

import (
	"context"
	"fmt"
	"slices"

	"github.com/charmbracelet/bubbles/key"
	tea "github.com/charmbracelet/bubbletea"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/cause"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/model/plan"
	"github.com/dlxtop/dlxtop/ui/act"
	"github.com/dlxtop/dlxtop/ui/shell"
	"github.com/dlxtop/dlxtop/ui/term"
)

// updateDialog passes a message to the dialog. When an action ends, what it took out of the queue leaves the table.
func (s Screen) updateDialog(msg tea.Msg) (shell.Screen, tea.Cmd) {
	before := s.Dialog.State
	var cmd tea.Cmd
	s.Dialog, cmd = s.Dialog.Update(msg)
	ended := before == shell.DialogEnded
	switch {
	case s.Dialog.State == shell.DialogEnded && !ended:
		s.settle()
	case s.Dialog.State == shell.DialogClosed && ended && cmd == nil:
		cmd = shell.Notice(s.Dialog.Summary()+s.remaining(), !s.Dialog.Account.Complete())
	}
	return s, cmd
}

type box interface {
	Open() bool
	Keys() []key.Binding
	View(width, height int) string
}

// box is the open dialog; nil: none is.
func (s *Screen) box() box {
	switch {
	case s.Dialog.Open():
		return &s.Dialog
	case s.saving.Open():
		return &s.saving
	}
	return nil
}

func (s Screen) toBox(msg tea.Msg) (_ shell.Screen, cmd tea.Cmd) {
	switch {
	case s.Dialog.Open():
		return s.updateDialog(msg)
	case s.saving.Open():
		s.saving, cmd = s.saving.Update(msg)
	}
	return s, cmd
}

func (s Screen) Busy() bool { return s.Dialog.IsBusy() || s.saving.IsBusy() }

// settle removes from the table what is no longer in the queue: what the account says, and nothing uncertain.
func (s *Screen) settle() {
	a := &s.Dialog.Account
	s.settled = s.env.Now()
	s.Taken += a.Moved + a.Dropped
	delete(s.env.Acting, s.Queue)
	stayed := map[message.Fingerprint]int{}
	told := 0
	for _, p := range a.Problems {
		if p.Outcome != plan.Unsure {
			stayed[p.Fingerprint]++
			told++
		}
	}
	left := a.Moved + a.Dropped + a.Gone
	if left == 0 && a.Unknown == 0 {
		return
	}
	if a.Unknown > 0 || a.Done() < len(s.Dialog.Rows) || told < a.Refused+a.Returned {
		s.unclear = "whether each message is still here is unknown: " + s.env.Keys.Peek.Help().Key +
			" reads the queue again"
		s.env.Did(shell.Doing{Queue: s.Queue, Unclear: true})
		s.done = len(s.env.Doings)
		return
	}
	acted, gone := make(map[shell.MessageID]bool, len(s.Dialog.Rows)), map[message.Fingerprint]int{}
	for _, r := range s.Dialog.Rows {
		if stayed[r.Id.Fingerprint] > 0 {
			stayed[r.Id.Fingerprint]--
			continue
		}
		acted[r.Id] = true
		gone[r.Id.Fingerprint]++
	}
	kept := make([]*shell.MessageRow, 0, len(s.Rows))
	for _, r := range s.Rows {
		if acted[r.Id] {
			s.left = append(s.left, r)
		} else {
			kept = append(kept, r)
		}
	}
	s.env.Did(shell.Doing{Queue: s.Queue, Gone: gone, Record: a.JournalID})
	s.done = len(s.env.Doings)
	s.Rows = kept
	s.Table.Set(kept)
	s.Table.Regain()
}

// catchUp takes in messages that came back to the queue. It is read again if that costs nothing.
func (s Screen) catchUp() (Screen, tea.Cmd) {
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
		return s, nil
	}
	if s.Peeked.Plan.Free {
		return s.look(false, false)
	}
	came := "it was changed by an action"
	if back > 0 {
		came = model.Plural(back, "message") + " came back"
	}
	s.unclear = came + " since this was read: " + s.env.Keys.Peek.Help().Key + " reads the queue again"
	return s, nil
}

// regain lists messages again that came back, behind the others, as in the queue.
func (s *Screen) regain(came map[message.Fingerprint]int) bool {
	back, rest, all := shell.Among(s.left, came,
		func(r *shell.MessageRow) message.Fingerprint { return r.Id.Fingerprint })
	if !all {
		return false
	}
	s.left, s.Taken = rest, s.Taken-len(back)
	s.Rows = append(slices.Clone(s.Rows), back...)
	s.Table.Set(s.Rows)
	s.Table.Regain()
	return true
}

// Subject is what an action on some of the messages is about.
func (s Screen) Subject(rows []*shell.MessageRow, words string) act.Subject {
	return act.Subject{Topology: s.Topology, Queue: s.Queue, Rows: rows, Words: words, Others: s.Others()}
}

// Others are what else is in the queue. Later arrivals are counted with each plan: polls are late, and would take
// messages for new that an action has just taken out.
func (s Screen) Others() act.OtherMessages {
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

func (s Screen) edit() (shell.Screen, tea.Cmd) {
	rows, _ := s.aimed()
	switch {
	case s.env.ReadOnly:
		return s, shell.Notice(shell.ReadOnlyWords, true)
	case s.Topology == nil || len(rows) == 0:
		return s, shell.Notice("no message is under the cursor: move it onto one first", true)
	case len(rows) > 1:
		return s, shell.Notice(model.Plural(len(rows), "message")+
			" are selected, and one is edited at a time: esc clears the selection", true)
	case s.Peek != 0:
		return s, shell.Notice("the queue is being read again: try again in a moment", true)
	}
	var cmd tea.Cmd
	s.Dialog, cmd = act.NewEditDialog(s.env, s.Subject(rows, "the edited message"))
	return s, cmd
}

// mendMany asks for the program that changes the selection, or all that are shown.
func (s Screen) mendMany() (shell.Screen, tea.Cmd) {
	rows, words := s.selected()
	switch why := s.unready(); {
	case s.env.ReadOnly:
		return s, shell.Notice(shell.ReadOnlyWords, true)
	case why != "":
		return s, shell.Notice(why, true)
	case s.Topology == nil || len(rows) == 0:
		return s, shell.Notice("there is nothing to edit", true)
	}
	s.Dialog = act.NewMendDialog(s.env, s.Subject(rows, words))
	return s, nil
}

func (s Screen) export() (shell.Screen, tea.Cmd) {
	rows, words := s.selected()
	switch why := s.unready(); {
	case s.env.Files == nil || s.Topology == nil:
		return s, nil
	case why != "":
		return s, shell.Notice(why, true)
	case len(rows) == 0:
		return s, shell.Notice("there is nothing to export", true)
	}
	s.saving = act.ExportDialog{
		Dialog: shell.NewDialog(s.env, shell.DialogAsking), Parts: []act.ExportPart{{Rows: rows}}, Words: words,
		Path: term.NewTextField(message.FileName(s.Queue, s.env.Now())),
	}
	return s, nil
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
	s.offered, s.offeredOf = nil, row.Whole()
	for i := range s.env.Actions {
		if a := &s.env.Actions[i]; a.Offered(s.offeredOf) {
			s.offered = append(s.offered, act.ActionKey(a))
		}
	}
}

func (s Screen) custom(msg tea.KeyMsg) (cmd tea.Cmd, taken bool) {
	for i := range s.env.Actions {
		a := &s.env.Actions[i]
		if !term.Is(msg, act.ActionKey(a)) {
			continue
		}
		row, ok := s.Table.Current()
		if !ok {
			return shell.Notice("no message is under the cursor: move it onto one first", true), true
		}
		clipboard, open := s.env.ToClipboard(), s.env.Opener
		return s.env.Command(act.ActionTimeout, func(ctx context.Context) tea.Msg {
			m := shell.Parts(nil, row).Whole
			if a.IsURL() {
				return act.OpenURL(ctx, a, m, clipboard, open)
			}
			return act.RunCommand(ctx, a, m)
		}), true
	}
	return nil, false
}

// copyKey handles the key that says what to copy; any other key copies nothing.
func (s Screen) copyKey(msg tea.KeyMsg) (shell.Screen, tea.Cmd) {
	s.copying = false
	row, ok := s.Table.Current()
	if !ok {
		return s, nil
	}
	k, out := s.env.Keys, s.env.ToClipboard()
	return s, s.env.Command(0, func(context.Context) tea.Msg {
		m := shell.Parts(nil, row).Whole
		what, text := "the message as JSON", ""
		switch id := m.Properties.MessageID; {
		case term.Is(msg, k.CopyBody):
			what, text = shell.BodyToCopy(m)
		case term.Is(msg, k.CopyHeaders):
			what, text = shell.HeadersToCopy(m)
		case term.Is(msg, k.CopyJSON):
			text = shell.MessageJSON(m)
		case !term.Is(msg, k.CopyID):
			return nil
		case id == "":
			return shell.NoticeMsg{Text: "this message has no id", Bad: true}
		default:
			what, text = "the id "+id, id
		}
		return shell.CopyText(out, what, text)
	})
}

func (s Screen) compare() (shell.Screen, tea.Cmd) {
	chosen := s.Table.Selection()
	if len(chosen) != 2 {
		return s, shell.Notice(fmt.Sprintf("%s selected: %s selects the two to compare",
			model.Plural(len(chosen), "message"), s.env.Keys.Choose.Help().Key), true)
	}
	return s, shell.Push(act.NewCompareScreen(s.env, s.Queue, chosen[0], chosen[1]))
}

// NewCauseExport asks for the path to which the messages of a cause in several queues are written.
func NewCauseExport(e *shell.Env, queues []Screen, words string) act.ExportDialog {
	d := act.ExportDialog{Dialog: shell.NewDialog(e, shell.DialogAsking), Words: words, Path: term.NewTextField(".")}
	names := map[string]bool{}
	for i := range queues {
		q := &queues[i]
		if len(q.Table.Shown) == 0 {
			continue
		}
		named, name := q.Queue, message.FileName(q.Queue, e.Now())
		for n := 2; names[name]; n++ { // for a queue in another virtual host
			named.Name = fmt.Sprintf("%s-%d", q.Queue.Name, n)
			name = message.FileName(named, e.Now())
		}
		names[name] = true
		d.Parts = append(d.Parts, act.ExportPart{Name: name, Rows: q.Table.Shown})
	}
	return d
}

// OfCause is the one cause whose messages are shown; zero: all are.
type OfCause struct {
	*cause.Group        // nil: all
	Words        string // printable
}

func (c OfCause) Has(in model.QueueRef, m *message.Message) bool {
	return c.Group == nil || cause.Is(in, m, c.ID)
}

// match is the condition of the table: the cause, and the filter. nil shows all.
func (s Screen) match() func(*shell.MessageRow) bool {
	filter := s.filter.match()
	if s.only.Group == nil {
		return filter
	}
	return func(r *shell.MessageRow) bool { return !r.Other && (filter == nil || filter(r)) }
}

// remaining says what came into the queue since it was read, or that an action has left no message of the cause in it;
// "" when neither is known.
func (s Screen) remaining() string {
	if arrived := plan.ArrivedWords(s.Dialog.Others.Arrived); arrived != "" {
		return "; " + arrived + ": " + s.env.Keys.Peek.Help().Key + " reads the queue again"
	}
	if s.only.Group == nil || len(s.Table.Shown) > 0 || s.filter.field.Text() != "" || s.unclear != "" {
		return ""
	}
	words := "; none of this cause is left here"
	if s.env.Marks.States.Of(s.only.ID).State == cause.Resolved {
		return words // the key would undo that
	}
	return words + ": " + s.env.Keys.Resolve.Help().Key + " marks it as resolved"
}

type afterLook func(Screen) (shell.Screen, tea.Cmd)

// CauseKeys are the keys that act on all messages of a cause.
func CauseKeys(k *shell.KeyMap) []key.Binding {
	return []key.Binding{k.Replay, k.Drop, k.Move, k.Mend, k.Export}
}

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

// WishOf is what a key does with all messages of a cause.
func WishOf(k *shell.KeyMap, msg tea.KeyMsg) (w Wish, ok bool) {
	switch {
	case key.Matches(msg, k.Replay, k.ReplayAll):
		return Wish{Operation: plan.Replay}, true
	case key.Matches(msg, k.Drop, k.DropAll):
		return Wish{Operation: plan.Drop}, true
	case term.Is(msg, k.Move):
		return Wish{Operation: plan.Move, Asks: AsksQueue}, true
	case term.Is(msg, k.Mend):
		return Wish{Operation: plan.Replay, Asks: AsksProgram}, true
	case term.Is(msg, k.Export):
		return Wish{Asks: AsksPath}, true
	}
	return w, false
}

// CauseAction is what a key does with all messages of a cause in one queue; nil: nothing.
func CauseAction(k *shell.KeyMap, msg tea.KeyMsg) afterLook {
	w, ok := WishOf(k, msg)
	if !ok {
		return nil
	}
	return func(s Screen) (shell.Screen, tea.Cmd) {
		switch {
		case w.Asks == AsksPath:
			return s.export()
		case len(s.Table.Shown) == 0:
			return s, shell.Notice("no message of this cause is in the queue any more", true)
		case w.Asks == AsksProgram:
			return s.mendMany()
		}
		return s.act(w.Operation, s.AllShown)
	}
}

// RowAction is what a key does with the selection, or the message under the cursor; nil: nothing.
func RowAction(k *shell.KeyMap, msg tea.KeyMsg) afterLook {
	if !key.Matches(msg, k.Replay, k.Drop, k.Move) {
		return nil
	}
	w, _ := WishOf(k, msg)
	return func(s Screen) (shell.Screen, tea.Cmd) { return s.act(w.Operation, s.aimed) }
}
