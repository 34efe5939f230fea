package ui

import (
	"context"
	"slices"
	"time"

	"github.com/charmbracelet/bubbles/key"
	tea "github.com/charmbracelet/bubbletea"

	"dlxtop/model"
)

// tapStep is how often the screen fetches what has passed.
const tapStep = 100 * time.Millisecond

// tapScreen says what a tap costs, and then shows each message that passes an exchange. The tap ends with the screen.
type tapScreen struct {
	env      *env
	topology *model.Topology
	wants    []model.TapWant // what can be tapped here: tab goes through them
	want     int
	plan     model.TapPlan
	state    dialogState

	request request // the tap
	stop    context.CancelFunc
	feed    *tapFeed
	list    list[int64, *tapRow]
	rows    []*tapRow // the newest last
	counts  model.TapCounts
	works   bool // it is bound, and sees what passes
	paused  bool
	began   time.Time
	last    int64 // seen at the last count of the rate
	counted time.Time
	rate    float64
	err     error // why it ended by itself
}

type (
	// tapStepMsg fetches what has passed.
	tapStepMsg struct{ request request }
	// tapEndedMsg tells that the tap's queue is gone.
	tapEndedMsg struct{ request request }
	// tapPlannedMsg brings the bindings of a newer poll.
	tapPlannedMsg struct {
		request request
		plan    model.TapPlan
	}
)

func newTapScreen(e *env, wants []model.TapWant) screen {
	rows := newTable(e, func(r *tapRow) int64 { return r.number }, func(a, b *tapRow) int { return int(b.number - a.number) }, tapColumns(e.styles)...)
	return tapScreen{
		env: e, wants: wants, state: dialogAsking,
		list: newList(e, rows, func(r *tapRow) []string {
			return []string{r.from, r.key, r.id, string(r.passed.Reason), r.deaths, r.body, model.Printable(r.passed.Exchange)}
		}),
	}
}

func (s tapScreen) Init() tea.Cmd { return nil }

func (s tapScreen) Title() string { return "tap " + s.exchange() }

func (s *tapScreen) exchange() string {
	return model.Printable(model.ExchangeName(s.wants[s.want].Exchanges[0]))
}

func (s tapScreen) Typing() bool { return s.list.filter.typing }

// Close ends the tap: the root calls it when the screen goes.
func (s tapScreen) Close() {
	if s.stop != nil {
		s.stop()
	}
}

func (s tapScreen) Keys() []key.Binding {
	k := s.env.keys
	switch s.state {
	case dialogAsking:
		var keys []key.Binding
		if s.ready() {
			keys = append(keys, describe(k.Confirm, "tap"))
		}
		if len(s.wants) > 1 {
			keys = append(keys, describe(k.Target, "other exchange"))
		}
		return append(keys, describe(k.ChooseAll, s.unroutedWords()), k.Back)
	case dialogEnded:
		return s.list.bindings(describe(k.Confirm, "tap again"))
	}
	pause := "pause the list"
	if s.paused {
		pause = "go on"
	}
	return s.list.bindings(describe(k.Pause, pause))
}

func (s *tapScreen) unroutedWords() string {
	if s.wants[s.want].Unrouted {
		return "only what queues take"
	}
	return "also what no queue takes"
}

func (s *tapScreen) forbidden() string {
	if s.env.readOnly {
		return "this is read-only, and a tap declares a queue of its own and binds it. It is so by --read-only, or by read_only of the context"
	}
	return s.plan.Refusal
}

func (s *tapScreen) ready() bool { return s.topology != nil && s.forbidden() == "" }

func (s tapScreen) Update(msg tea.Msg) (screen, tea.Cmd) {
	switch msg := msg.(type) {
	case topologyMsg:
		s.topology = msg.topology
		switch s.state {
		case dialogAsking:
			s.plan = s.topology.PlanTap(s.wants[s.want])
		case dialogRunning:
			return s, s.follow()
		}
	case tapPlannedMsg:
		if msg.request == s.request {
			s.plan = msg.plan
		}
	case tapStepMsg:
		if msg.request == s.request {
			return s.step()
		}
	case tapEndedMsg:
		if msg.request == s.request {
			s.fetch()
			s.state, s.stop = dialogEnded, nil
		}
	case tea.KeyMsg:
		return s.handleKey(msg)
	}
	return s, nil
}

func (s tapScreen) handleKey(msg tea.KeyMsg) (screen, tea.Cmd) {
	k := s.env.keys
	if s.state == dialogAsking {
		switch {
		case is(msg, k.Confirm) && s.ready():
			return s.run()
		case is(msg, k.Target) && len(s.wants) > 1:
			unrouted := s.wants[s.want].Unrouted
			s.want = (s.want + 1) % len(s.wants)
			s.wants = slices.Clone(s.wants)
			s.wants[s.want].Unrouted = unrouted
		case is(msg, k.ChooseAll):
			s.wants = slices.Clone(s.wants)
			s.wants[s.want].Unrouted = !s.wants[s.want].Unrouted
		default:
			return s, nil
		}
		if s.topology != nil {
			s.plan = s.topology.PlanTap(s.wants[s.want])
		}
		return s, nil
	}
	switch {
	case s.list.handle(msg):
	case is(msg, k.Pause) && s.state == dialogRunning:
		s.paused = !s.paused
		s.fetch()
	case is(msg, k.Confirm) && s.state == dialogEnded && s.ready():
		return s.run()
	}
	return s, nil
}

// run starts the tap.
func (s tapScreen) run() (screen, tea.Cmd) {
	s.plan = s.topology.PlanTap(s.wants[s.want])
	if s.plan.Refusal != "" {
		s.state = dialogAsking
		return s, nil
	}
	s.state, s.request, s.err, s.works, s.paused = dialogRunning, s.env.newRequest(), nil, false, false
	s.began, s.counted, s.last, s.rate, s.counts = s.env.now(), s.env.now(), 0, 0, model.TapCounts{}
	s.rows = nil
	s.list.table.set(nil)
	ctx, stop := context.WithCancel(context.Background())
	s.stop, s.feed = stop, newTapFeed(s.plan.VHost, s.topology)
	id, plan, feed, broker := s.request, s.plan, s.feed, s.env.broker
	tap := s.env.command(0, func(program context.Context) tea.Msg {
		defer context.AfterFunc(program, stop)()
		feed.end(broker.Tap(ctx, plan, feed.plans, feed.see, feed.tell))
		stop()
		return tapEndedMsg{id}
	})
	return s, tea.Batch(tap, s.next())
}

func (s *tapScreen) next() tea.Cmd {
	id := s.request
	return tea.Tick(tapStep, func(time.Time) tea.Msg { return tapStepMsg{id} })
}

func (s tapScreen) step() (screen, tea.Cmd) {
	if s.state != dialogRunning {
		return s, nil
	}
	s.fetch()
	return s, s.next()
}

// fetch takes what has passed. The cursor stays on its message, unless it is on the newest: then it stays there.
func (s *tapScreen) fetch() {
	rows, counts, works, _, err := s.feed.fetch(s.paused)
	s.counts, s.works, s.err = counts, works, err
	if now := s.env.now(); now.Sub(s.counted) >= time.Second {
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
	newest := s.list.table.index == 0
	s.list.table.set(s.rows)
	if newest {
		s.list.table.moveTo(0)
	}
}

// follow plans the tap anew from a newer poll, outside Update.
func (s *tapScreen) follow() tea.Cmd {
	id, t, want, plan, feed := s.request, s.topology, s.wants[s.want], s.plan, s.feed
	return s.env.command(0, func(context.Context) tea.Msg {
		next := t.PlanTap(want)
		changed := next.Refusal == "" && !slices.EqualFunc(next.Bindings, plan.Bindings, model.TapBinding.Same)
		feed.follow(t, next, changed)
		if !changed {
			return nil
		}
		return tapPlannedMsg{id, next}
	})
}

// tap opens the tap of the queue under the cursor.
func (s flowScreen) tap() tea.Cmd {
	wants := s.latest.topology.TapChoices(s.flow, s.cursor)
	if len(wants) == 0 {
		return notice("nothing dead-letters in this flow: there is no exchange to tap", true)
	}
	return push(newTapScreen(s.env, wants))
}

// tapNamed opens the tap of an exchange that was named in the palette.
func (a app) tapNamed(name string) (tea.Model, tea.Cmd) {
	if a.latest.topology == nil {
		a.notice = noticeMsg{text: "the broker has not been read yet", bad: true}
		return a, nil
	}
	if name == "" {
		if flow, ok := a.top().(flowScreen); ok && flow.flow != nil {
			return a, flow.tap()
		}
		a.notice = noticeMsg{text: "name an exchange: tap EXCHANGE", bad: true}
		return a, nil
	}
	var wants []model.TapWant
	exchanges := a.latest.topology.Snapshot.Exchanges
	for i := range exchanges {
		x := exchanges[i].ExchangeRef
		if x.Name == name || x.VHost+"/"+x.Name == name {
			wants = append(wants, a.latest.topology.TapsOf(x)...)
		}
	}
	if len(wants) == 0 {
		a.notice = noticeMsg{text: "there is no exchange " + model.Printable(name), bad: true}
		return a, nil
	}
	return a.push(newTapScreen(a.env, wants))
}
