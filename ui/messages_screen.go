package ui

import (
	"context"
	"runtime/debug"
	"time"

	"github.com/charmbracelet/bubbles/key"
	tea "github.com/charmbracelet/bubbletea"

	"dlxtop/model"
)

// What a look at a queue asks for.
const (
	peekFirst  = 500     // messages, until more are asked for
	peekFactor = 10      // times as many with each "more"
	peekMost   = 200_000 // messages: their rows are in memory, all else of them is on disk
	peekGrace  = 5 * time.Second
)

// messagesScreen shows the messages of one queue. It looks once when it is opened and then only when asked to: looking costs.
// What the queue holds now comes from the polls.
type messagesScreen struct {
	env      *env
	queue    model.QueueRef
	topology *model.Topology
	looks    *looks
	head     model.Sight // what the polls saw of the message at the head
	goneAt   time.Time   // when a poll no longer found the queue; zero: it is there

	limit   int
	asked   bool
	peek    request         // the look in flight; 0: none
	planned model.PeekPlan  // of the look in flight
	refused model.PeekPlan  // the plan that was refused, when the last one was
	failed  error           // of the last look
	peeked  model.Peeked    // of the last look that worked
	found   []model.Finding // what only these messages tell
	waits   *model.Waits    // when they leave; nil: not by expiry
	rows    []*messageRow
	used    model.Opt[int64] // the highest delivery count among them, with this look
	taken   int              // messages that actions took out of the queue since
	settled time.Time        // when the last action ended
	unclear string           // why the table may show messages that are gone; "" when it does not

	table   table[messageID, *messageRow]
	filter  messageFilter
	detail  messageDetail
	zoomed  bool // the detail has the whole screen
	split   *bool
	copying bool // y was pressed: the next key says what

	dialog  planDialog
	saving  exportDialog
	editing messageEdit
}

// peekedMsg is the answer to a look.
type peekedMsg struct {
	request request
	queue   model.QueueRef
	peeked  model.Peeked
	waits   *model.Waits
	found   []model.Finding
	rows    []*messageRow
	most    int64 // the highest delivery count among them
	err     error
}

func newMessagesScreen(e *env, queue model.QueueRef) screen {
	return messagesScreen{
		env: e, queue: queue, limit: peekFirst,
		table: newMessageTable(e), filter: newMessageFilter(e), detail: newMessageDetail(),
		split: new(bool),
	}
}

func (s messagesScreen) Init() tea.Cmd { return nil }

func (s messagesScreen) Title() string { return model.Printable(s.queue.String()) }

func (s messagesScreen) Typing() bool {
	return s.filter.field.typing || s.copying || s.dialog.open() || s.saving.open || s.editing.open()
}

func (s messagesScreen) Update(msg tea.Msg) (screen, tea.Cmd) {
	switch msg := msg.(type) {
	case topologyMsg:
		return s.polled(msg)
	case peekedMsg:
		if msg.request != s.peek {
			return s, nil
		}
		return s.looked(msg)
	case filteredMsg:
		if s.filter.answered(msg, s.rows) {
			s.table.narrow(s.filter.match())
		}
		return s, nil
	case exportedMsg:
		return s.updateSaving(msg)
	case wholeMsg, writtenMsg, closedMsg, savedMsg:
		return s.updateEdit(msg)
	case tea.KeyMsg:
		return s.handleKey(msg)
	}
	if s.dialog.open() {
		return s.updateDialog(msg)
	}
	return s, nil
}

// polled takes a poll: it says what the queue holds now. The first one is what a look can be planned with.
func (s messagesScreen) polled(msg topologyMsg) (screen, tea.Cmd) {
	s.topology, s.looks = msg.topology, msg.looks
	if q, ok := s.topology.Queue(s.queue); ok {
		s.goneAt, s.head = time.Time{}, msg.sight(s.queue, q, s.env.now())
	} else if s.goneAt.IsZero() {
		s.goneAt = s.env.now()
	}
	if s.asked {
		cmd := s.dialog.polled(s.topology)
		return s, cmd
	}
	return s.look(false)
}

// look plans a look and starts it, unless the plan is refused.
func (s messagesScreen) look(insist bool) (screen, tea.Cmd) {
	if s.topology == nil || s.peek != 0 {
		return s, nil
	}
	s.asked = true
	plan := s.topology.PlanPeek(s.queue, model.PeekWant{Limit: s.limit, Insist: insist, Delivered: s.used})
	s.refused, s.planned = model.PeekPlan{}, plan
	if !plan.Allowed() {
		s.refused = plan
		return s, nil
	}
	s.peek = s.env.newRequest()
	id, broker, queue, topology := s.peek, s.env.broker, s.queue, s.topology
	head := s.head
	return s, s.env.command(plan.Timeout+peekGrace, func(ctx context.Context) tea.Msg {
		msg := peekedMsg{request: id, queue: queue}
		if msg.peeked, msg.err = broker.Peek(ctx, plan); msg.err == nil {
			msg.found = topology.FindingsIn(queue, msg.peeked.Messages, msg.peeked.TakenAt)
			msg.waits = topology.WaitsIn(queue, msg.peeked, head)
			msg.rows, msg.most, msg.err = messageRows(msg.peeked.Messages, queue)
			byThisClock(msg.rows, topology.Snapshot.Overview.Clock())
		}
		if msg.err != nil && msg.peeked.Messages != nil {
			_ = msg.peeked.Messages.Close()
		}
		return msg
	})
}

// looked takes the answer to a look. What was read before stays when it failed.
func (s messagesScreen) looked(msg peekedMsg) (screen, tea.Cmd) {
	s.peek, s.failed = 0, msg.err
	if msg.err != nil {
		return s, nil
	}
	old := closing(s.peeked.Messages)
	s.peeked, s.found, s.waits, s.rows, s.unclear, s.taken = msg.peeked, msg.found, msg.waits, msg.rows, "", 0
	if s.waits != nil {
		s.peeked.Depth = s.waits.Depth
	}
	s.used = model.Some(msg.most + 1)
	s.table.setColumns(messageColumns(s.env, s.waits))
	var cmd tea.Cmd
	s.filter, cmd = s.filter.apply(s.env, s.rows)
	s.table.match = s.filter.match()
	s.table.set(s.rows)
	return s, tea.Batch(cmd, old)
}

// more reports whether the queue held more messages than were read.
func (s messagesScreen) more() bool {
	return len(s.rows) > 0 && (int64(s.peeked.Messages.Len()) < s.peeked.Depth.Or(0) || s.peeked.Stopped != "") && s.limit < peekMost
}

// nextLimit is how many messages "more" asks for.
func (s messagesScreen) nextLimit() int { return min(s.limit*peekFactor, peekMost) }

// moreWords are how many messages that are, as far as is known.
func (s messagesScreen) moreWords() string {
	if limit := int64(s.nextLimit()); limit < s.peeked.Depth.Or(limit+1) {
		return model.Count(limit)
	}
	return "all " + model.Count(s.peeked.Depth.Or(0))
}

// Close lets go of what was read.
func (s messagesScreen) Close() {
	if s.peeked.Messages != nil {
		_ = s.peeked.Messages.Close()
	}
}

// closing lets go of what was read before.
func closing(messages model.Messages) tea.Cmd {
	if messages == nil {
		return nil
	}
	return func() tea.Msg {
		_ = messages.Close()
		debug.FreeOSMemory()
		return nil
	}
}

func (s messagesScreen) Keys() []key.Binding {
	k := s.env.keys
	switch {
	case s.dialog.open():
		return s.dialog.keys()
	case s.saving.open:
		return s.saving.keys()
	case s.editing.open():
		return s.editing.keys()
	case s.copying:
		return []key.Binding{k.CopyBody, k.CopyHeaders, k.CopyID, k.CopyJSON, k.Cancel}
	case s.filter.field.typing:
		return []key.Binding{k.Accept, k.Abandon}
	}
	var keys []key.Binding
	if s.refused.Override != "" {
		keys = append(keys, describe(k.Insist, "look anyway"))
	}
	if len(s.rows) > 0 {
		keys = append(keys, k.Replay, k.Drop)
		if s.zoomed || s.detail.focus != paneNone {
			keys = append(keys, k.Move, k.Edit, k.NextPane, k.PrevPane, k.Earlier, k.Later, k.Copy, describe(k.Back, "messages"), describe(k.Quit, "messages"))
			if !s.zoomed {
				keys = append(keys, k.Open)
			}
			return append(keys, k.Peek)
		}
		keys = append(keys, k.Open, k.Move, k.Edit, k.ReplayAll, k.DropAll, k.Choose, k.Filter, k.Copy, k.Range, k.ChooseAll)
		if s.env.files != nil {
			keys = append(keys, k.Export)
		}
		if *s.split {
			keys = append(keys, k.NextPane, k.PrevPane)
		}
		if s.filter.field.text() != "" {
			keys = append(keys, describe(k.Back, "clear the filter"))
		} else if len(s.table.chosen) > 0 {
			keys = append(keys, describe(k.Back, "clear the selection"))
		}
		keys = append(keys, describe(k.Sort, "sort"), describe(k.Reverse, "reverse"))
		if s.more() {
			keys = append(keys, describe(k.More, "read "+s.moreWords()))
		}
	}
	return append(keys, k.Peek)
}
