package ui

import (
	"context"
	"time"

	"github.com/charmbracelet/bubbles/key"
	tea "github.com/charmbracelet/bubbletea"

	"dlxtop/model"
)

// What a look at a queue asks for.
const (
	peekFirst    = 500     // messages, until more are asked for
	peekFactor   = 4       // times as many with each "more"
	peekKeepBody = 256_000 // bytes of each body that are kept: enough to read, however large it is
	peekGrace    = 5 * time.Second
)

// messagesScreen shows the messages of one queue. It looks once when it is opened and then only when asked to: looking costs.
// What the queue holds now comes from the polls.
type messagesScreen struct {
	env      *env
	queue    model.QueueRef
	topology *model.Topology
	head     model.Sight // what the polls saw of the message at the head
	goneAt   time.Time   // when a poll no longer found the queue; zero: it is there

	limit   int
	asked   bool
	peek    request         // the look in flight; 0: none
	refused model.PeekPlan  // the plan that was refused, when the last one was
	failed  error           // of the last look
	peeked  model.Peeked    // of the last look that worked
	found   []model.Finding // what only these messages tell
	waits   *model.Waits    // when they leave; nil: not by expiry
	rows    []*messageRow
	taken   int       // messages that actions took out of the queue since
	settled time.Time // when the last action ended
	unclear string    // why the table may show messages that are gone; "" when it does not

	table   table[messageID, *messageRow]
	filter  messageFilter
	detail  messageDetail
	zoomed  bool // the detail has the whole screen
	split   *bool
	copying bool // y was pressed: the next key says what

	dialog planDialog
}

// peekedMsg is the answer to a look.
type peekedMsg struct {
	request request
	queue   model.QueueRef
	peeked  model.Peeked
	waits   *model.Waits
	found   []model.Finding
	rows    []*messageRow
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
	return s.filter.field.typing || s.copying || s.dialog.open()
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
	s.topology = msg.topology
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
	plan := s.topology.PlanPeek(s.queue, model.PeekWant{Limit: s.limit, KeepBody: peekKeepBody, Insist: insist})
	s.refused = model.PeekPlan{}
	if !plan.Allowed() {
		s.refused = plan
		return s, nil
	}
	s.peek = s.env.newRequest()
	id, broker, queue, topology := s.peek, s.env.broker, s.queue, s.topology
	head := s.head
	return s, s.env.command(plan.Timeout+peekGrace, func(ctx context.Context) tea.Msg {
		peeked, err := broker.Peek(ctx, plan)
		found := topology.FindingsIn(queue, peeked.Messages, peeked.TakenAt)
		waits := topology.WaitsIn(queue, peeked, head)
		return peekedMsg{request: id, queue: queue, peeked: peeked, waits: waits, found: found, rows: messageRows(peeked.Messages, queue), err: err}
	})
}

// looked takes the answer to a look. What was read before stays when it failed.
func (s messagesScreen) looked(msg peekedMsg) (screen, tea.Cmd) {
	s.peek, s.failed = 0, msg.err
	if msg.err != nil {
		return s, nil
	}
	s.peeked, s.found, s.waits, s.rows, s.unclear, s.taken = msg.peeked, msg.found, msg.waits, msg.rows, "", 0
	if s.waits != nil {
		s.peeked.Depth = s.waits.Depth
	}
	s.table.setColumns(messageColumns(s.env, s.waits))
	var cmd tea.Cmd
	s.filter, cmd = s.filter.apply(s.env, s.rows)
	s.table.match = s.filter.match()
	s.table.set(s.rows)
	return s, cmd
}

// more reports whether the queue held more messages than were read.
func (s messagesScreen) more() bool {
	return len(s.rows) > 0 && (int64(len(s.peeked.Messages)) < s.peeked.Depth.Or(0) || s.peeked.Stopped != "") && s.limit < model.MaxPage
}

func (s messagesScreen) Keys() []key.Binding {
	k := s.env.keys
	switch {
	case s.dialog.open():
		return s.dialog.keys()
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
			keys = append(keys, k.NextPane, k.PrevPane, k.Earlier, k.Later, k.Copy, describe(k.Back, "messages"), describe(k.Quit, "messages"))
			if !s.zoomed {
				keys = append(keys, k.Open)
			}
			return append(keys, k.Peek)
		}
		keys = append(keys, k.Open, k.ReplayAll, k.DropAll, k.Choose, k.Filter, k.Copy, k.Range, k.ChooseAll)
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
			keys = append(keys, k.More)
		}
	}
	return append(keys, k.Peek)
}
