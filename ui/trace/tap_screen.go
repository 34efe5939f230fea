package trace

import (
	"context"
	"slices"
	"time"

	"github.com/charmbracelet/bubbles/key"
	tea "github.com/charmbracelet/bubbletea"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/ports"
	"github.com/dlxtop/dlxtop/model/trace"
	"github.com/dlxtop/dlxtop/ui/shell"
	"github.com/dlxtop/dlxtop/ui/term"
)

// tapStep is how often the screen fetches what has passed.
const tapStep = 100 * time.Millisecond

// tapScreen says what a tap costs, and then shows each message that passes an exchange. The tap ends with the screen.
type tapScreen struct {
	shell.Dialog
	topology *model.Topology
	wants    []trace.TapWant // what can be tapped here: tab goes through them
	want     int
	plan     trace.TapPlan

	passing *tapFeed
	list    term.List[int64, *tapRow]
	rows    []*tapRow // the newest last
	counts  trace.TapCounts
	works   bool // it is bound, and sees what passes
	paused  bool
	began   time.Time
	last    int64 // seen at the last count of the rate
	counted time.Time
	rate    float64
}

type (
	// tapStepMsg fetches what has passed.
	tapStepMsg struct{ request shell.Request }
	// tapOver says that the tap's queue is gone.
	tapOver struct{}
	// tapPlannedMsg brings the bindings of a newer poll.
	tapPlannedMsg struct {
		request shell.Request
		plan    trace.TapPlan
	}
)

// TapFlow opens the tap of the exchanges that a flow's queue dead-letters to.
func TapFlow(e *shell.Env, t *model.Topology, f *model.Flow, queue model.QueueRef) tea.Cmd {
	wants := trace.TapChoices(t, f, queue)
	if len(wants) == 0 {
		return shell.Notice("nothing dead-letters in this flow: there is no exchange to tap", true)
	}
	return shell.Push(newTapScreen(e, wants))
}

// TapExchange is the tap of an exchange, when there is one.
func TapExchange(e *shell.Env, t *model.Topology, exchange model.ExchangeRef) (shell.Screen, bool) {
	wants := trace.TapsOf(t, exchange)
	if len(wants) == 0 {
		return nil, false
	}
	return newTapScreen(e, wants), true
}

func newTapScreen(e *shell.Env, wants []trace.TapWant) shell.Screen {
	rows := term.NewTable(e.Kit(), func(r *tapRow) int64 { return r.number },
		func(a, b *tapRow) int { return int(b.number - a.number) }, tapColumns(e.Styles)...)
	return tapScreen{
		Dialog: shell.NewDialog(e, shell.DialogAsking), wants: wants,
		list: term.NewList(rows, func(r *tapRow) []string {
			return []string{r.from, r.key, r.id, string(r.passed.Reason), r.deaths, r.body, model.Printable(r.passed.Exchange)}
		}),
	}
}

func (s tapScreen) Title() string { return "tap " + s.exchange() }

func (s *tapScreen) exchange() string {
	return model.Printable(model.ExchangeName(s.wants[s.want].Exchanges[0]))
}

func (s tapScreen) Typing() bool { return s.list.Filter.Typing }

func (s tapScreen) Keys() []key.Binding {
	k := s.Env.Keys
	switch s.State {
	case shell.DialogAsking:
		var keys []key.Binding
		if s.ready() {
			keys = append(keys, term.Describe(k.Confirm, "tap"))
		}
		if len(s.wants) > 1 {
			keys = append(keys, term.Describe(k.Target, "other exchange"))
		}
		return append(keys, term.Describe(k.ChooseAll, s.unroutedWords()), k.Back)
	case shell.DialogEnded:
		return s.list.Bindings(term.Describe(k.Confirm, "tap again"))
	}
	pause := "pause the list"
	if s.paused {
		pause = "go on"
	}
	return s.list.Bindings(term.Describe(k.Pause, pause))
}

func (s *tapScreen) unroutedWords() string {
	if s.wants[s.want].Unrouted {
		return "only messages that queues take"
	}
	return "also messages that no queue takes"
}

func (s *tapScreen) forbidden() string {
	if s.Env.ReadOnly {
		return "read-only: a tap declares and binds a queue of its own (set by --read-only, or by read_only of " +
			"the context)"
	}
	return s.plan.Refusal.Words()
}

func (s *tapScreen) ready() bool { return s.topology != nil && s.forbidden() == "" }

func (s tapScreen) Update(msg tea.Msg) (shell.Screen, tea.Cmd) {
	switch msg := msg.(type) {
	case shell.TopologyMsg:
		s.topology = msg.Topology
		switch s.State {
		case shell.DialogAsking:
			s.plan = trace.PlanTap(s.topology, s.wants[s.want])
		case shell.DialogRunning:
			return s, s.follow()
		}
	case tapPlannedMsg:
		if msg.request == s.Request {
			s.plan = msg.plan
		}
	case tapStepMsg:
		if msg.request == s.Request {
			return s.step()
		}
	case shell.EndedMsg[tapOver]:
		if s.Ended(msg.Request, msg.Err) {
			s.fetch()
		}
	case tea.KeyMsg:
		return s.handleKey(msg)
	}
	return s, nil
}

func (s tapScreen) handleKey(msg tea.KeyMsg) (shell.Screen, tea.Cmd) {
	k := s.Env.Keys
	if s.State == shell.DialogAsking {
		switch {
		case term.Is(msg, k.Confirm) && s.ready():
			return s.run()
		case term.Is(msg, k.Target) && len(s.wants) > 1:
			unrouted := s.wants[s.want].Unrouted
			s.want = (s.want + 1) % len(s.wants)
			s.wants = slices.Clone(s.wants)
			s.wants[s.want].Unrouted = unrouted
		case term.Is(msg, k.ChooseAll):
			s.wants = slices.Clone(s.wants)
			s.wants[s.want].Unrouted = !s.wants[s.want].Unrouted
		case term.Is(msg, k.Back):
			return s, shell.Pop
		default:
			return s, nil
		}
		if s.topology != nil {
			s.plan = trace.PlanTap(s.topology, s.wants[s.want])
		}
		return s, nil
	}
	switch {
	case s.list.Handle(msg):
	case term.Is(msg, k.Pause) && s.State == shell.DialogRunning:
		s.paused = !s.paused
		s.fetch()
	case term.Is(msg, k.Confirm) && s.State == shell.DialogEnded && s.ready():
		return s.run()
	}
	return s, nil
}

// run starts the tap.
func (s tapScreen) run() (shell.Screen, tea.Cmd) {
	s.plan = trace.PlanTap(s.topology, s.wants[s.want])
	if s.plan.Refusal.Refused() {
		s.State = shell.DialogAsking
		return s, nil
	}
	s.Err, s.works, s.paused = nil, false, false
	s.began, s.counted, s.last, s.rate, s.counts = s.Env.Now(), s.Env.Now(), 0, 0, trace.TapCounts{}
	s.rows = nil
	s.list.Table.Set(nil)
	s.passing = newTapFeed(s.plan.VHost, s.topology)
	plan, feed, tapper := s.plan, s.passing, ports.Tapper(s.Env.Broker)
	tap := shell.Running(&s.Dialog, func(ctx context.Context) (tapOver, error) {
		return tapOver{}, tapper.Tap(ctx, plan, feed.plans, feed.see, feed.tell)
	})
	return s, tea.Batch(tap, s.next())
}

func (s *tapScreen) next() tea.Cmd {
	id := s.Request
	return tea.Tick(tapStep, func(time.Time) tea.Msg { return tapStepMsg{id} })
}

func (s tapScreen) step() (shell.Screen, tea.Cmd) {
	if s.State != shell.DialogRunning {
		return s, nil
	}
	s.fetch()
	return s, s.next()
}

// fetch takes what has passed. The cursor stays on its message, unless it is on the newest: then it stays there.
func (s *tapScreen) fetch() {
	rows, counts, works := s.passing.fetch(s.paused)
	s.counts, s.works = counts, works
	if now := s.Env.Now(); now.Sub(s.counted) >= time.Second {
		s.rate = float64(counts.Seen-s.last) / now.Sub(s.counted).Seconds()
		s.counted, s.last = now, counts.Seen
	}
	if len(rows) == 0 {
		return
	}
	s.rows = append(s.rows, rows...)
	if most := tapShows; len(s.rows) > most {
		s.rows = slices.Clone(s.rows[len(s.rows)-most:])
	}
	newest := s.list.Table.Index == 0
	s.list.Table.Set(s.rows)
	if newest {
		s.list.Table.MoveTo(0)
	}
}

// follow plans the tap again from a newer poll, outside Update.
func (s *tapScreen) follow() tea.Cmd {
	id, t, want, plan, feed := s.Request, s.topology, s.wants[s.want], s.plan, s.passing
	return s.Env.Command(0, func(context.Context) tea.Msg {
		next := trace.PlanTap(t, want)
		changed := !next.Refusal.Refused() && !slices.EqualFunc(next.Bindings, plan.Bindings, trace.TapBinding.Same)
		feed.follow(t, next, changed)
		if !changed {
			return nil
		}
		return tapPlannedMsg{id, next}
	})
}
