package ui

import (
	"context"
	"errors"
	"runtime/debug"
	"slices"
	"time"

	"github.com/charmbracelet/bubbles/key"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/find"
	"github.com/dlxtop/dlxtop/model/findings"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/model/peek"
	"github.com/dlxtop/dlxtop/model/ports"
	"github.com/dlxtop/dlxtop/model/story"
	"github.com/dlxtop/dlxtop/ui/term"
)

// What a look at a queue asks for.
const (
	peekFirst  = 500           // messages, until more are asked for
	peekFactor = 10            // times as many with each "more"
	peekMost   = peek.MostLook // their rows are in memory, all else of them is on disk
	peekGrace  = 5 * time.Second

	mostHeaderNames = 200 // that are offered to who types an expression
)

// messagesScreen shows the messages of one queue. It looks once when it is opened and then only when asked to: looking
// costs. What the queue holds now comes from the polls.
type messagesScreen struct {
	env      *env
	queue    model.QueueRef
	only     ofCause   // the messages that are shown; zero: all
	then     afterLook // what was asked for with the screen; nil: nothing
	topology *model.Topology
	looks    *looks
	head     story.Sight // what the polls saw of the message at the head
	goneAt   time.Time   // when a poll no longer found the queue; zero: it is there

	sought  *find.Hit // that a search found, and the cursor is to go to; nil: none
	limit   int
	asked   bool
	peek    request            // the look in flight; 0: none
	stop    context.CancelFunc // ends it
	reading request            // of what is seen, from the disk; 0: none is in flight
	planned peek.Plan          // of the look in flight
	refused peek.Plan          // the plan that was refused, when the last one was, also by what it met
	rescued peek.Rescued       // by the last look
	failed  error              // of the last look
	peeked  peek.Peeked        // of the last look that worked
	found   []findings.Finding // what only these messages tell
	waits   *story.Waits       // when they leave; nil: not by expiry
	rows    []*messageRow
	headers map[string]bool  // the names of some, for who types an expression
	used    model.Opt[int64] // the highest delivery count of a message of the queue after this look, where that is limited
	taken   int              // messages that actions took out of the queue since
	settled time.Time        // when the last action ended
	done    int              // of the doings since the start: these are taken in
	unclear string           // why the table may show messages that are gone; "" when it does not

	table     term.Table[messageID, *messageRow]
	filter    messageFilter
	detail    messageDetail
	zoomed    bool             // the detail has the whole screen
	split     bool             // the detail stands below the table
	above     []string         // the lines above the table, as prepared
	offered   []key.Binding    // actions of the configuration
	offeredOf *message.Message // the message that has the fields for them
	copying   bool             // y was pressed: the next key says what

	dialog  planDialog
	saving  exportDialog
	editing messageEdit
	mending queueMend
}

// peekedMsg is the answer to a look.
type peekedMsg struct {
	request request
	queue   model.QueueRef
	peeked  peek.Peeked
	waits   *story.Waits
	found   []findings.Finding
	rows    []*messageRow
	headers map[string]bool // the names of some of its messages' headers
	seen    model.Seen      // the ways of its messages
	dead    int             // of the messages: those with a death or an error of an application
	err     error
}

func newMessagesScreen(e *env, queue model.QueueRef) screen {
	return newCauseScreen(e, queue, ofCause{}, peekFirst, nil)
}

// newCauseScreen shows those messages of a queue that failed for one cause, of at least this number that it reads.
func newCauseScreen(e *env, queue model.QueueRef, only ofCause, limit int, then afterLook) screen {
	return messagesScreen{
		env: e, queue: queue, only: only, done: len(e.doings), limit: max(limit, peekFirst), then: then,
		table: newMessageTable(e), filter: newMessageFilter(e), detail: newMessageDetail(e.reads(queue), &e.keys.ListKeys),
	}
}

func (s messagesScreen) Init() tea.Cmd { return nil }

func (s messagesScreen) Title() string { return model.Printable(s.queue.String()) }

func (s messagesScreen) Typing() bool {
	return s.filter.field.Typing || s.detail.find.Typing || s.copying || s.dialog.open() || s.saving.open() ||
		s.editing.open() || s.mending.open()
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
	case readMsg:
		if msg.request == s.reading {
			s.reading = 0
			msg.read.take()
		}
		return s, nil
	case filteredMsg:
		if s.filter.answered(msg, s.rows) {
			s.table.Narrow(s.match())
		}
		return s, nil
	case wholeMsg, writtenMsg, closedMsg, savedMsg:
		return s.updateEdit(msg)
	case tea.KeyMsg:
		return s.handleKey(msg)
	}
	switch {
	case s.dialog.open():
		return s.updateDialog(msg)
	case s.saving.open():
		return s.updateSaving(msg)
	case s.mending.open():
		return s.updateMend(msg)
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
	plan := peek.For(s.topology, s.queue, peek.Want{
		Limit: s.limit, Insist: insist,
		Delivered: s.used, ReadOnly: s.env.readOnly,
	})
	s.refused, s.planned = peek.Plan{}, plan
	if !plan.Allowed() {
		s.refused = plan
		return s, nil
	}
	s.peek = s.env.newRequest()
	id, looker, queue, topology := s.peek, ports.Looker(s.env.broker), s.queue, s.topology
	head, before, only := s.head, s.looks.at(s.queue), s.only
	cmd, stop := s.env.stoppable(func(ctx context.Context) tea.Msg {
		ctx, cancel := context.WithTimeout(ctx, plan.Timeout+peekGrace)
		defer cancel()
		msg := peekedMsg{request: id, queue: queue}
		if msg.peeked, msg.err = looker.Peek(ctx, plan); msg.err == nil {
			msg.err = msg.read(topology, head, before, only)
		}
		if msg.err != nil && msg.peeked.Messages != nil {
			_ = msg.peeked.Messages.Close()
		}
		return msg
	})
	s.stop = stop
	return s, cmd
}

// read works out what the screen shows of the messages of a look. Each of them is read once. before is what an
// earlier look told; nil: there was none.
func (m *peekedMsg) read(t *model.Topology, head story.Sight, before *story.Waits, only ofCause) (err error) {
	found := findings.ReadingOf(t, m.queue, m.peeked.TakenAt, nil)
	waiting := story.WaitingIn(t, m.queue, m.peeked, head)
	waiting.After(before)
	others := make([]bool, m.peeked.Messages.Len())
	m.headers = map[string]bool{}
	m.rows, err = messageRows(m.peeked.Messages, m.queue, t.IsBuffer(m.queue), func(i int, one *message.Message) {
		found.See(one)
		waiting.See(i, one)
		others[i] = !only.has(m.queue, one)
		for name := range one.Headers {
			if len(m.headers) < mostHeaderNames {
				m.headers[name] = true
			}
		}
		if _, failed := one.Failure(); failed {
			m.dead++
		}
	})
	m.found, m.waits, m.seen = found.Found(), waiting.Waits(), found.Seen()
	for i, r := range m.rows {
		r.other = others[i]
	}
	byThisClock(m.rows, t.Snapshot.Overview.Clock())
	return err
}

// looked takes the answer to a look. What was read before stays when it failed.
func (s messagesScreen) looked(msg peekedMsg) (screen, tea.Cmd) {
	s.peek, s.failed, s.rescued = 0, msg.err, msg.peeked.Rescued
	if msg.err != nil {
		var why peek.RefusedLook
		if errors.As(msg.err, &why) {
			s.failed, s.refused = nil, s.planned
			s.refused.Refusal = why.Refusal()
		}
		return s, nil
	}
	old := closing(s.peeked.Messages)
	s.reading = 0
	s.peeked, s.found, s.waits, s.rows, s.headers = msg.peeked, msg.found, msg.waits, msg.rows, msg.headers
	s.unclear, s.taken = "", 0
	if s.waits != nil {
		if s.waits.Expired > 0 && s.peeked.Fewer {
			s.peeked.Stopped = "" // the waits say why there were fewer
		}
		s.peeked.Depth = s.waits.Depth
	}
	if s.used = (model.Opt[int64]{}); msg.peeked.Plan.Counts {
		s.used = model.Some(msg.peeked.Highest)
	}
	s.table.SetColumns(messageColumns(s.env, s.waits, s.topology.IsBuffer(s.queue)))
	var cmd tea.Cmd
	s.filter, cmd = s.filter.apply(s.env, s.rows)
	s.table.Match = s.match()
	s.table.Set(s.rows)
	s.table.Regain()
	then := s.then
	switch s.then = nil; {
	case s.seek():
		return s, tea.Batch(cmd, old, notice("the message that was found is not in the queue any more", true))
	case then != nil:
		next, asked := then(s)
		return next, tea.Batch(cmd, old, asked)
	}
	return s, tea.Batch(cmd, old)
}

// readCount is a number of messages that were read; it says so when there are others.
func (s messagesScreen) readCount(n int) string {
	if s.partly() {
		return model.Count(n) + " read"
	}
	return model.Count(n)
}

// more reports whether a larger look would show more messages.
func (s messagesScreen) more() bool { return s.partly() && s.limit < peekMost }

// nextLimit is how many messages "more" asks for.
func (s messagesScreen) nextLimit() int { return min(s.limit*peekFactor, peekMost) }

// moreWords are how many messages that are, as far as is known.
func (s messagesScreen) moreWords() string {
	if limit := int64(s.nextLimit()); limit < s.peeked.Depth.Or(limit+1) {
		return model.Count(limit)
	}
	return "the rest"
}

// Close ends the look, and lets go of what was read.
func (s messagesScreen) Close() {
	if s.stop != nil {
		s.stop()
	}
	s.dialog.Close()
	if s.peeked.Messages != nil {
		_ = s.peeked.Messages.Close()
	}
}

// closing lets go of what was read before.
func closing(messages message.Messages) tea.Cmd {
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
	case s.saving.open():
		return s.saving.keys()
	case s.editing.open():
		return s.editing.keys()
	case s.mending.open():
		return s.mending.keys()
	case s.copying:
		return []key.Binding{k.CopyBody, k.CopyHeaders, k.CopyID, k.CopyJSON, k.Cancel}
	case s.filter.field.Typing:
		return s.filter.keys(k)
	case s.detail.find.Typing:
		return []key.Binding{k.Accept, k.Abandon}
	}
	var keys []key.Binding
	if s.refused.Refusal.Overridable() {
		keys = append(keys, term.Describe(k.Insist, "look anyway"))
	}
	if len(s.rows) > 0 {
		keys = append(keys, k.Replay, k.Drop)
		if s.zoomed || s.detail.focus != paneNone {
			body, rest := s.detail.keys(k), []key.Binding{k.Move, k.Edit, k.NextPane, k.PrevPane, k.Earlier, k.Later, k.Copy}
			if s.detail.focus == paneBody {
				keys = append(append(keys, body...), rest...)
			} else {
				keys = append(append(keys, rest...), body...)
			}
			if keys = append(keys, term.Describe(k.Filter, "search")); s.stepping() {
				keys = append(keys, k.NextMatch, k.PrevMatch)
			}
			keys = append(append(keys, s.offered...), term.Describe(k.Back, "messages"), term.Describe(k.Quit, "messages"))
			switch {
			case s.detail.alone:
				keys = append(keys, term.Describe(k.Open, "all panes"))
			case !s.detail.drawn.narrow || !s.zoomed:
				keys = append(keys, term.Describe(k.Open, "this pane alone"))
			}
			return append(keys, k.Peek)
		}
		if len(s.table.Chosen) == 2 {
			keys = append(keys, k.Compare)
		}
		keys = append(append(keys, k.Open), s.offered...)
		keys = append(keys, k.Move, k.Edit, k.ReplayAll, k.DropAll, k.Choose, k.Filter, k.Mend, k.Copy, k.Range,
			k.ChooseAll)
		if s.env.files != nil {
			keys = append(keys, k.Export)
		}
		if s.split {
			keys = append(keys, k.NextPane, k.PrevPane)
		}
		if s.filter.field.Text() != "" {
			keys = append(keys, k.NextMatch, k.PrevMatch, term.Describe(k.Back, "clear the filter"))
		} else if len(s.table.Chosen) > 0 {
			keys = append(keys, term.Describe(k.Back, "clear the selection"))
		}
		keys = append(keys, term.Describe(k.Sort, "sort"), term.Describe(k.Reverse, "reverse"))
		if s.more() {
			keys = append(keys, term.Describe(k.More, "read "+s.moreWords()))
		}
	}
	if s.only.Group != nil {
		keys = append(keys, k.Resolve)
	}
	return append(keys, k.Peek)
}

// Reopening implements reopening. The queue is looked at again.
func (s messagesScreen) Reopening() func() screen {
	e, queue := s.env, s.queue
	return func() screen { return newMessagesScreen(e, queue) }
}

// read reads what is seen: at once where it is in memory, else by a command whose answer readMsg is. Until then the
// detail stays as it was.
func (s *messagesScreen) read(list int, detail bool) tea.Cmd {
	unread := func(rows []*messageRow) []*messageRow {
		return slices.DeleteFunc(slices.Clone(rows), func(r *messageRow) bool { return r.preview != "" })
	}
	current, ok := s.table.Current()
	if !ok || !detail || current.whole() != nil {
		current = nil
	}
	rows := unread(s.table.Seen(list))
	switch {
	case current == nil && len(rows) == 0, s.reading != 0:
		return nil
	case s.peeked.Messages.InMemory():
		parts(rows, current).take()
		return nil
	}
	if len(rows) > 0 {
		rows = unread(s.table.Around(readAhead))
	}
	s.reading = s.env.newRequest()
	id := s.reading
	return s.env.command(0, func(context.Context) tea.Msg { return readMsg{id, parts(rows, current)} })
}
