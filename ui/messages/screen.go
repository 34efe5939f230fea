// Package messages is the screen of a queue's messages, with its panes, its filter and its search, and the search for
// messages in all queues.
package messages

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
	"github.com/dlxtop/dlxtop/ui/act"
	"github.com/dlxtop/dlxtop/ui/shell"
	"github.com/dlxtop/dlxtop/ui/term"
)

// What a look at a queue requests.
const (
	peekFirst  = 500           // messages, until more are requested
	PeekFactor = 10            // times as many with each "more"
	PeekMost   = peek.MostLook // their rows are in memory, everything else of them is on disk
	PeekGrace  = 5 * time.Second

	mostHeaderNames = 200 // offered when an expression is typed
)

// Screen shows the messages of one queue. It looks once when it is opened and then only on request: looking has a cost.
// What the queue holds now comes from the polls.
type Screen struct {
	env      *shell.Env
	Queue    model.QueueRef
	only     OfCause   // the displayed messages; zero: all
	then     afterLook // what to do when they are read; nil: nothing
	Topology *model.Topology
	looks    *shell.Looks
	head     story.Sight // what the polls saw of the message at the head
	goneAt   time.Time   // when a poll no longer found the queue; zero: it is there

	sought  *find.Hit // found by a search, for the cursor to go to; nil: none
	Limit   int
	Asked   bool
	asks    bool               // a look with a cost begins with a key
	unasked bool               // the plan waits for that key
	Peek    shell.Request      // the look in flight; 0: none
	stop    context.CancelFunc // ends it
	reading shell.Request      // of visible rows, from the disk; 0: none is in flight
	planned peek.Plan          // of the look in flight
	Refused peek.Plan          // the plan that was last refused, beforehand or during the look
	rescued peek.Rescued       // by the last look
	Failed  error              // of the last look
	Peeked  peek.Peeked        // of the last successful look
	found   []findings.Finding // findings that only these messages show
	waits   *story.Waits       // when they leave; nil: not by expiry
	Rows    []*shell.MessageRow
	headers map[string]bool     // the names of some, for completing expressions
	used    model.Opt[int64]    // the highest delivery count of a message of the queue after this look, if limited
	Taken   int                 // messages that actions took out of the queue since
	left    []*shell.MessageRow // their rows
	settled time.Time           // when the last action ended
	done    int                 // how many doings since the start are taken in
	unclear string              // why the table may show messages that are gone; "" when it does not

	Table     term.Table[shell.MessageID, *shell.MessageRow]
	filter    messageFilter
	detail    messageDetail
	zoomed    bool             // the detail has the whole screen
	split     bool             // the detail is below the table
	above     []string         // the lines above the table, as prepared
	offered   []key.Binding    // actions of the configuration
	offeredOf *message.Message // the message that has the fields for them
	clicked   bool             // the last click was the second one on a row
	copying   bool             // y was pressed: the next key says what

	Dialog act.PlanDialog
	saving act.ExportDialog
}

// PeekedMsg is the answer to a look.
type PeekedMsg struct {
	request shell.Request
	Queue   model.QueueRef
	Peeked  peek.Peeked
	Waits   *story.Waits
	found   []findings.Finding
	Rows    []*shell.MessageRow
	headers map[string]bool // the names of some of its messages' headers
	Seen    model.Seen      // from its messages
	Dead    int             // its messages with a death or an application's error
	Err     error
}

func NewScreen(e *shell.Env, queue model.QueueRef) shell.Screen {
	s := NewCauseScreen(e, queue, OfCause{}, peekFirst, nil)
	s.asks = true
	return s
}

// NewCauseScreen shows those messages of a queue that failed for one cause, reading at least limit messages.
func NewCauseScreen(e *shell.Env, queue model.QueueRef, only OfCause, limit int, then afterLook) Screen {
	return Screen{
		env: e, Queue: queue, only: only, done: len(e.Doings), Limit: max(limit, peekFirst), then: then,
		Table: shell.NewMessageTable(e), filter: newMessageFilter(e),
		detail: newMessageDetail(e.Reads(queue), &e.Keys.ListKeys),
	}
}

func (s Screen) Title() string { return model.Printable(s.Queue.String()) }

func (s Screen) Typing() bool {
	return s.filter.field.Typing || s.detail.find.Typing || s.copying || s.box() != nil
}

func (s Screen) Update(msg tea.Msg) (shell.Screen, tea.Cmd) {
	switch msg := msg.(type) {
	case shell.TopologyMsg:
		return s.polled(msg)
	case PeekedMsg:
		if msg.request != s.Peek {
			return s, nil
		}
		return s.looked(msg)
	case shell.ReadMsg:
		if msg.Request == s.reading {
			s.reading = 0
			msg.Read.Take()
		}
		return s, nil
	case shell.EndedMsg[[]bool]:
		if s.filter.answered(msg, s.Rows) {
			s.Table.Narrow(s.match())
		}
		return s, nil
	case shell.ClickMsg:
		s.clicked = !s.zoomed && s.detail.focus == paneNone && !s.Typing() && s.Table.Click(msg.X, msg.Y-len(s.above))
		return s, nil
	case tea.KeyMsg:
		return s.handleKey(msg)
	}
	return s.toBox(msg)
}

// polled takes in a poll: it shows what the queue holds now. A look can be planned from the first one on.
func (s Screen) polled(msg shell.TopologyMsg) (shell.Screen, tea.Cmd) {
	s.Topology, s.looks = msg.Topology, msg.Looks
	if q, ok := s.Topology.Queue(s.Queue); ok {
		s.goneAt, s.head = time.Time{}, msg.Sight(s.Queue, q, s.env.Now())
	} else if s.goneAt.IsZero() {
		s.goneAt = s.env.Now()
	}
	if s.Asked {
		cmd := s.Dialog.Polled(s.Topology)
		return s, cmd
	}
	kept := s.env.Kept.Has(s.Queue, s.Limit)
	if plan := s.plan(false); s.asks && plan.Allowed() && plan.Uses() && !kept {
		s.Asked, s.unasked, s.planned = true, true, plan
		return s, nil
	}
	return s.look(false, kept)
}

func (s Screen) plan(insist bool) peek.Plan {
	return peek.For(s.Topology, s.Queue, peek.Want{
		Limit: s.Limit, Insist: insist, Delivered: s.used, ReadOnly: s.env.ReadOnly,
	})
}

// look plans a look and starts it, unless the plan is refused. kept uses the queue's kept look.
func (s Screen) look(insist, kept bool) (Screen, tea.Cmd) {
	if s.Topology == nil || s.Peek != 0 {
		return s, nil
	}
	s.Asked, s.unasked = true, false
	plan := s.plan(insist)
	s.Refused, s.planned = peek.Plan{}, plan
	if !plan.Allowed() && !kept {
		s.Refused = plan
		return s, nil
	}
	s.Peek = s.env.NewRequest()
	id, looker, queue, topology := s.Peek, ports.Looker(s.env.Broker), s.Queue, s.Topology
	head, before, only := s.head, s.looks.At(s.Queue), s.only
	cmd, stop := s.env.Stoppable(func(ctx context.Context) tea.Msg {
		ctx, cancel := context.WithTimeout(ctx, plan.Timeout+PeekGrace)
		defer cancel()
		msg := PeekedMsg{request: id, Queue: queue}
		if kept {
			msg.Peeked, kept, msg.Err = s.env.Kept.Lend(queue, plan.Limit)
		}
		if !kept && msg.Err == nil {
			if msg.Peeked, msg.Err = looker.Peek(ctx, plan); msg.Err == nil {
				msg.Peeked = s.env.Kept.Keep(msg.Peeked)
			}
		}
		if msg.Err == nil {
			msg.Err = msg.Read(topology, head, before, only)
		}
		if msg.Err != nil && msg.Peeked.Messages != nil {
			_ = msg.Peeked.Messages.Close()
		}
		return msg
	})
	s.stop = stop
	return s, cmd
}

// Read works out what the screen shows of the messages of a look. It reads each of them once. before is what an earlier
// look knew; nil without one.
func (m *PeekedMsg) Read(t *model.Topology, head story.Sight, before *story.Waits, only OfCause) (err error) {
	found := findings.ReadingOf(t, m.Queue, m.Peeked.TakenAt, nil)
	waiting := story.WaitingIn(t, m.Queue, m.Peeked, head)
	waiting.After(before)
	others := make([]bool, m.Peeked.Messages.Len())
	m.headers = map[string]bool{}
	m.Rows, err = shell.MessageRows(m.Peeked.Messages, m.Queue, t.IsBuffer(m.Queue), func(i int, one *message.Message) {
		found.See(one)
		waiting.See(i, one)
		others[i] = !only.Has(m.Queue, one)
		for name := range one.Headers {
			if len(m.headers) < mostHeaderNames {
				m.headers[name] = true
			}
		}
		if _, failed := one.Failure(); failed {
			m.Dead++
		}
	})
	m.found, m.Waits, m.Seen = found.Found(), waiting.Waits(), found.Seen()
	clock := t.Snapshot.Overview.Clock()
	for i, r := range m.Rows {
		r.Other = others[i]
		if !r.Since.IsZero() {
			r.Since = clock.Local(r.Since) // this machine's time
		}
	}
	return err
}

// looked takes in the answer to a look. If it failed, what was read before stays.
func (s Screen) looked(msg PeekedMsg) (shell.Screen, tea.Cmd) {
	s.Peek, s.Failed, s.rescued = 0, msg.Err, msg.Peeked.Rescued
	if msg.Err != nil {
		var why peek.RefusedLook
		if errors.As(msg.Err, &why) {
			s.Failed, s.Refused = nil, s.planned
			s.Refused.Refusal = why.Refusal()
		}
		return s, nil
	}
	old := Closing(s.Peeked.Messages)
	s.reading = 0
	s.Peeked, s.found, s.waits, s.Rows, s.headers = msg.Peeked, msg.found, msg.Waits, msg.Rows, msg.headers
	s.unclear, s.Taken, s.left = "", 0, nil
	if s.waits != nil {
		if s.waits.Expired > 0 && s.Peeked.Fewer {
			s.Peeked.Stopped = "" // the waits say why there were fewer
		}
		s.Peeked.Depth = s.waits.Depth
	}
	if s.used = (model.Opt[int64]{}); msg.Peeked.Plan.Counts {
		s.used = model.Some(msg.Peeked.Highest)
	}
	s.Table.SetColumns(shell.MessageColumns(s.env, s.waits, s.Topology.IsBuffer(s.Queue)))
	var cmd tea.Cmd
	s.filter, cmd = s.filter.apply(s.env, s.Rows)
	s.Table.Match = s.match()
	s.Table.Set(s.Rows)
	s.Table.Regain()
	then := s.then
	switch s.then = nil; {
	case s.seek():
		return s, tea.Batch(cmd, old, shell.Notice("the message that was found is not in the queue any more", true))
	case then != nil:
		next, asked := then(s)
		return next, tea.Batch(cmd, old, asked)
	}
	return s, tea.Batch(cmd, old)
}

func (s Screen) readCount(n int) string {
	if s.partly() {
		return model.Count(n) + " read"
	}
	return model.Count(n)
}

func (s Screen) more() bool     { return s.partly() && s.Limit < PeekMost }
func (s Screen) nextLimit() int { return min(s.Limit*PeekFactor, PeekMost) }

func (s Screen) moreWords() string {
	if limit := int64(s.nextLimit()); limit < s.Peeked.Depth.Or(limit+1) {
		return model.Count(limit)
	}
	return "the rest"
}

func (s Screen) Close() {
	if s.stop != nil {
		s.stop()
	}
	s.Dialog.Close()
	if s.Peeked.Messages != nil {
		_ = s.Peeked.Messages.Close()
	}
}

func Closing(messages message.Messages) tea.Cmd {
	if messages == nil {
		return nil
	}
	return func() tea.Msg {
		_ = messages.Close()
		debug.FreeOSMemory()
		return nil
	}
}

func (s Screen) Keys() []key.Binding {
	k := s.env.Keys
	if b := s.box(); b != nil {
		return b.Keys()
	}
	switch {
	case s.copying:
		return []key.Binding{k.CopyBody, k.CopyHeaders, k.CopyID, k.CopyJSON, k.Cancel}
	case s.filter.field.Typing:
		return s.filter.keys(k)
	case s.detail.find.Typing:
		return []key.Binding{k.Accept, k.Abandon}
	}
	var keys []key.Binding
	switch {
	case s.Refused.Refusal.Overridable():
		keys = append(keys, term.Describe(k.Insist, "look anyway"))
	case s.unasked:
		keys = append(keys, term.Describe(k.Insist, "read"))
	}
	if len(s.Rows) > 0 {
		keys = append(keys, k.Replay, k.Drop)
		if s.zoomed || s.detail.focus != paneNone {
			body := k.Body(s.detail.raw, s.detail.folded)
			rest := []key.Binding{k.Move, k.Edit, k.NextPane, k.PrevPane, k.Earlier, k.Later, k.Copy}
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
		if len(s.Table.Chosen) == 2 {
			keys = append(keys, k.Compare)
		}
		keys = append(append(keys, k.Open), s.offered...)
		keys = append(keys, k.Move, k.Edit, k.ReplayAll, k.DropAll, k.Choose, k.Filter, k.Mend, k.Copy, k.Range,
			k.ChooseAll)
		if s.env.Files != nil {
			keys = append(keys, k.Export)
		}
		if s.split {
			keys = append(keys, k.NextPane, k.PrevPane)
		}
		if s.filter.field.Text() != "" {
			keys = append(keys, k.NextMatch, k.PrevMatch, term.Describe(k.Back, "clear the filter"))
		} else if len(s.Table.Chosen) > 0 {
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
func (s Screen) Reopening() func() shell.Screen {
	e, queue := s.env, s.Queue
	return func() shell.Screen { return NewScreen(e, queue) }
}

// read reads what is visible: at once if it is in memory, otherwise by a command whose answer is a ReadMsg. Until then
// the detail stays as it was.
func (s *Screen) read(list int, detail bool) tea.Cmd {
	unread := func(rows []*shell.MessageRow) []*shell.MessageRow {
		return slices.DeleteFunc(slices.Clone(rows), func(r *shell.MessageRow) bool { return r.Preview != "" })
	}
	current, ok := s.Table.Current()
	if !ok || !detail || current.Whole() != nil {
		current = nil
	}
	rows := unread(s.Table.Seen(list))
	switch {
	case current == nil && len(rows) == 0, s.reading != 0:
		return nil
	case s.Peeked.Messages.InMemory():
		shell.Parts(rows, current).Take()
		return nil
	}
	if len(rows) > 0 {
		rows = unread(s.Table.Around(shell.ReadAhead))
	}
	s.reading = s.env.NewRequest()
	id := s.reading
	return s.env.Command(0, func(context.Context) tea.Msg {
		return shell.ReadMsg{Request: id, Read: shell.Parts(rows, current)}
	})
}
