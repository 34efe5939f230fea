// Package messages is the screen of a queue's messages, with its panes, its filter and its search, and the search for
// messages in all queues.
package messages

import (
	"context"
	"errors"
	"runtime/debug"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/find"
	"github.com/dlxtop/dlxtop/model/findings"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/model/peek"
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
	// PeekGrace is what a look may take beyond its own time, on a busy broker: for its turn, and to give the messages
	// back. The client ends one that waits in vain.
	PeekGrace = time.Minute

	mostHeaderNames = 200 // offered when an expression is typed
)

// Screen shows the messages of one queue: a list, one of its messages in detail, and what is done to them.
type Screen struct {
	env      *shell.Env
	Queue    model.QueueRef
	only     OfCause   // the displayed messages; zero: all
	then     afterLook // what to do when they are read; nil: nothing
	Topology *model.Topology
	sought   *find.Hit // found by a search, for the cursor to go to; nil: none
	above    []string  // the lines above the table, as prepared

	queueLook
	messageList
	detail messageDetail
	messageActions
}

// queueLook is the look at a queue. It begins when the screen is opened and then only on request: looking has a cost.
// What the queue holds now comes from the polls.
type queueLook struct {
	looks   *shell.DueTimes
	head    story.Sight // what the polls saw of the message at the head
	goneAt  time.Time   // when a poll no longer found the queue; zero: it is there
	Limit   int
	Asked   bool
	asks    bool               // a look with a cost begins with a key
	unasked bool               // the plan waits for that key
	Peek    shell.Request      // the look in flight; 0: none
	stop    context.CancelFunc // ends it
	planned peek.Plan          // of the look in flight
	Refused peek.Plan          // the plan that was last refused, beforehand or during the look
	rescued peek.Rescued       // by the last look
	Failed  error              // of the last look
	Peeked  peek.Peeked        // of the last successful look
	used    model.Opt[int64]   // the highest delivery count of a message of the queue after this look, if limited
}

// readMessages is what a look has read.
type readMessages struct {
	Rows    []*shell.MessageRow
	Waits   *story.Waits       // when they leave; nil: not by expiry
	found   []findings.Finding // findings that only these messages show
	headers map[string]bool    // the names of some of their headers, for completing expressions
}

// messageList is what was read, without what actions took out of the queue since.
type messageList struct {
	readMessages
	Table   term.Table[shell.MessageID, *shell.MessageRow]
	filter  messageFilter
	reading shell.Request // of visible rows, from the disk; 0: none is in flight
	clicked bool          // the last click was the second one on a row

	Taken   int                 // messages that actions took out of the queue since
	left    []*shell.MessageRow // their rows
	settled time.Time           // when the last action ended
	done    int                 // how many doings since the start are taken in
	unclear string              // why the table may show messages that are gone; "" when it does not
}

// messageActions are the dialogs, and what else keys do with a message.
type messageActions struct {
	Dialog    act.PlanDialog
	saving    act.ExportDialog
	offered   map[int]bool     // which actions of the configuration have their fields
	offeredOf *message.Message // in this message
	copying   bool             // y was pressed: the next key says what
	narrowing bool             // c was pressed: the next key says by what
}

// PeekedMsg is the answer to a look.
type PeekedMsg struct {
	readMessages
	request shell.Request
	Queue   model.QueueRef
	Peeked  peek.Peeked
	Seen    model.Seen // from its messages
	Dead    int        // its messages with a death or an application's error
	Err     error
}

func NewScreen(e *shell.Env, queue model.QueueRef) shell.Screen {
	return NewCauseScreen(e, queue, OfCause{}, peekFirst, nil).Asking()
}

// NewCauseScreen shows those messages of a queue that failed for one cause, reading at least limit messages.
func NewCauseScreen(e *shell.Env, queue model.QueueRef, only OfCause, limit int, then afterLook) *Screen {
	return &Screen{
		env:         e,
		Queue:       queue,
		only:        only,
		then:        then,
		queueLook:   queueLook{Limit: max(limit, peekFirst)},
		messageList: messageList{Table: shell.NewMessageTable(e), filter: newMessageFilter(e), done: e.Done()},
		detail:      messageDetail{find: term.NewFilterField()},
	}
}

// Asking asks before a look that has a cost.
func (s *Screen) Asking() *Screen {
	s.asks = true
	return s
}

func (s *Screen) Shows(ref model.QueueRef) bool { return s.Queue == ref }

func (s *Screen) Title() string { return s.Queue.Printable() }

func (s *Screen) Typing() bool {
	return s.filter.Typing || s.detail.find.Typing || s.copying || s.narrowing || s.box() != nil
}

func (s *Screen) Update(msg tea.Msg) (cmd tea.Cmd) {
	switch msg := msg.(type) {
	case shell.TopologyMsg:
		cmd = s.polled(msg)
	case PeekedMsg:
		if msg.request == s.Peek {
			cmd = s.looked(msg)
		}
	case shell.ReadMsg:
		if msg.Request == s.reading {
			s.reading = 0
			msg.Read.Take()
		}

	case shell.EndedMsg[[]bool]:
		if s.filter.answered(msg, s.Rows) {
			s.Table.Narrow(s.match())
		}
	case shell.ClickMsg:
		s.clicked = !s.detail.inFocus() && !s.Typing() && s.Table.Click(msg.X, msg.Y-len(s.above))
	case tea.KeyMsg:
		cmd = s.pressed(msg)
	default:
		cmd = s.toBox(msg)
	}

	return cmd
}

// polled applies a poll: it shows what the queue holds now. A look can be planned from the first one on.
func (s *Screen) polled(msg shell.TopologyMsg) tea.Cmd {
	s.Topology, s.looks = msg.Topology, msg.Looks
	if q, ok := s.Topology.Queue(s.Queue); ok {
		s.goneAt, s.head = time.Time{}, msg.Seen().Sight(s.Queue, q, s.env.Now())
	} else if s.goneAt.IsZero() {
		s.goneAt = s.env.Now()
	}

	if s.Asked {
		return s.Dialog.Polled(s.Topology)
	}

	kept := s.env.Peeks.Has(s.Queue, s.Limit)
	plan := s.plan(false)
	if _, begins := s.consent().Begins(plan); s.asks && plan.Allowed() && plan.Uses() && !kept && !begins {
		s.Asked = true
		s.unasked = true
		s.planned = plan
		return nil
	}

	return s.look(false, kept)
}

// consent returns what the user has agreed to about looks at the queue that use up its delivery limit.
func (s *Screen) consent() peek.Consent {
	return s.env.LookConsent(s.Topology.Snapshot.Overview.ClusterName)
}

func (s *Screen) plan(insist bool) peek.Plan {
	return peek.For(s.Topology, s.Queue, peek.Want{
		Limit:     s.Limit,
		Insist:    insist,
		Delivered: s.used,
		ReadOnly:  s.env.ReadOnly,
		Whole:     true,
	})
}

// look plans a look and starts it, unless the plan is refused. kept uses the queue's kept look.
func (s *Screen) look(insist, kept bool) tea.Cmd {
	if s.Topology == nil || s.Peek != 0 {
		return nil
	}
	s.Asked, s.unasked = true, false
	plan := s.plan(insist)
	s.Refused, s.planned = peek.Plan{}, plan
	if !plan.Allowed() && !kept {
		s.Refused = plan
		return nil
	}

	s.Peek = s.env.NewRequest()
	of := *s
	before := s.looks.At(s.Queue)

	cmd, stop := s.env.Stoppable(func(ctx context.Context) tea.Msg {
		ctx, cancel := context.WithTimeout(ctx, plan.Timeout+PeekGrace)
		defer cancel()
		msg := PeekedMsg{request: of.Peek, Queue: of.Queue}
		if kept {
			msg.Peeked, kept, msg.Err = of.env.Peeks.Lend(of.Queue, plan.Limit)
		}

		if !kept && msg.Err == nil {
			if msg.Peeked, msg.Err = of.env.Broker.Peek(ctx, plan); msg.Err == nil {
				msg.Peeked = of.env.Peeks.Add(msg.Peeked)
			}
		}

		if msg.Err == nil {
			msg.Err = msg.Read(of.Topology, of.head, before, of.only)
		}
		if msg.Err != nil && msg.Peeked.Messages != nil {
			_ = msg.Peeked.Messages.Close()
		}

		return msg
	})

	s.stop = stop
	return cmd
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

// looked applies the answer to a look. If it failed, what was read before stays.
func (s *Screen) looked(msg PeekedMsg) (cmd tea.Cmd) {
	s.Peek = 0
	s.Failed = msg.Err
	s.rescued = msg.Peeked.Rescued
	if msg.Err != nil {
		var why peek.RefusedLook
		if errors.As(msg.Err, &why) {
			s.Failed, s.Refused = nil, s.planned
			s.Refused.Refusal = why.Refusal()
		}
		return nil
	}

	old := Closing(s.Peeked.Messages)
	s.reading = 0
	s.Peeked = msg.Peeked
	s.readMessages = msg.readMessages
	s.unclear = ""
	s.Taken = 0
	s.left = nil
	if s.Waits != nil {
		if s.Waits.Expired > 0 && s.Peeked.Fewer {
			s.Peeked.Stopped = "" // the waits say why there were fewer
		}
		s.Peeked.Depth = s.Waits.Depth
	}

	if s.used = (model.Opt[int64]{}); msg.Peeked.Plan.Counts {
		s.used = model.Some(msg.Peeked.Highest)
	}

	shell.SetMessageColumns(s.env, &s.Table, s.Waits, s.Topology.IsBuffer(s.Queue))
	cmd = s.filter.apply(s.env, s.Rows, s.around())
	s.Table.Match = s.match()
	s.Table.Set(s.Rows)
	s.Table.Regain()
	then := s.then
	s.then = nil
	switch {
	case s.seek():
		return tea.Batch(cmd, old, shell.Notice("the message that was found is not in the queue any more", true))
	case then != nil:
		return tea.Batch(cmd, old, then(s))
	}

	return tea.Batch(cmd, old)
}

func (s *Screen) readCount(n int) string {
	if s.partly() {
		return model.Count(n) + " read"
	}
	return model.Count(n)
}

// more reports whether more can be read. Where a look costs, it has read all that there was, so that is what came
// since.
func (s *Screen) more() bool {
	if s.Peeked.Plan.Counts {
		now, changed := s.ReadyNow()
		return changed && now > int64(len(s.Rows)) && s.Peeked.Stopped == "" && s.Peeked.Messages.Len() < PeekMost
	}

	return s.partly() && s.Limit < PeekMost
}

func (s *Screen) nextLimit() int { return min(s.Limit*PeekFactor, PeekMost) }

func (s *Screen) moreWords() string {
	if now, _ := s.ReadyNow(); s.Peeked.Plan.Counts {
		return model.Count(now) + ", at a cost"
	}
	if limit := int64(s.nextLimit()); limit < s.Peeked.Depth.Or(limit+1) {
		return model.Count(limit)
	}
	return "the rest"
}

func (s *Screen) Close() {
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

// Reopening implements reopening. The queue is looked at again.
func (s *Screen) Reopening() func() shell.Screen {
	e, queue := s.env, s.Queue
	return func() shell.Screen { return NewScreen(e, queue) }
}

// read reads what is visible: at once if it is in memory, otherwise by a command whose answer is a ReadMsg. Until then
// the detail stays as it was.
func (s *Screen) read(list int, detail bool) tea.Cmd {
	unread := func(rows []*shell.MessageRow) []*shell.MessageRow {
		return model.Without(rows, func(r *shell.MessageRow) bool { return r.Preview != "" })
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
