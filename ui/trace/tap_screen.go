// Package trace holds the tap: the screen that follows messages on their way by copies of those that pass an exchange.
package trace

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/model/trace"
	"github.com/dlxtop/dlxtop/ui/press"
	"github.com/dlxtop/dlxtop/ui/shell"
	"github.com/dlxtop/dlxtop/ui/term"
)

// stepMsg says that what was seen since is to be shown.
type stepMsg struct{ request shell.Request }

// step awaits the next step of what the dialog runs.
func step(d *shell.Dialog) tea.Cmd {
	id := d.Request
	return tea.Tick(100*time.Millisecond, func(time.Time) tea.Msg { return stepMsg{id} })
}

// tapScreen shows what a tap costs, and then each message that passes an exchange. The tap ends with the screen.
type tapScreen struct {
	shell.Dialog
	topology *model.Topology
	wants    []trace.TapWant // what can be tapped here: tab cycles through them
	want     int
	plan     trace.TapPlan

	list shell.Listing[int64, *tapRow]
	tapRun
}

// tapRun is a tap and what it has seen.
type tapRun struct {
	passing *tapFeed
	rows    []*tapRow // newest last
	counts  trace.TapCounts
	works   bool // it is bound, and sees what passes
	paused  bool
	last    int64 // seen at the last count of the rate
	counted time.Time
	rate    float64
}

// tapPlannedMsg brings the bindings of a newer poll.
type tapPlannedMsg struct {
	request shell.Request
	plan    trace.TapPlan
}

// TapFlow opens the tap of the exchanges that a flow's queue dead-letters to.
func TapFlow(e *shell.Env, t *model.Topology, f *model.Flow, queue model.QueueRef) tea.Cmd {
	wants := trace.TapChoices(t, f, queue)
	if len(wants) == 0 {
		return shell.Notice("nothing dead-letters in this flow: there is no exchange to tap", true)
	}
	return shell.Push(newTapScreen(e, wants))
}

func TapExchange(e *shell.Env, t *model.Topology, exchange model.ExchangeRef) shell.Screen {
	return newTapScreen(e, trace.TapsOf(t, exchange))
}

func newTapScreen(e *shell.Env, wants []trace.TapWant) shell.Screen {
	texts := func(r *tapRow) []string {
		return []string{r.from, r.key, r.id, string(r.Reason), r.deaths, r.body, model.Printable(r.Exchange)}
	}
	s := &tapScreen{
		Dialog: shell.NewDialog(e, shell.DialogAsking), wants: wants,
		list: shell.NewListing(e, "tap", func(r *tapRow) int64 { return r.number },
			func(a, b *tapRow) int { return int(b.number - a.number) }, texts,
			func(r *tapRow) []any { return r.cells() },
			term.Columns(`
				TIME:        12 muted
				FROM:        14 flex 4 max 44 middle
				REASON:       9
				WAITED:       9 right strong
				SHOULD:       7 right
				LATE:        15 right
				TRIES:        5 drop 1 right
				ROUTING KEY: 14 flex 2 max 30 drop 2 middle
				ID:          20 flex 1 max 36 drop 4 muted
				SIZE:         5 drop 3 right muted
			`)),
	}
	s.list.Own = s.listKeys
	return s
}

func (s *tapScreen) Title() string { return "tap " + s.exchange() }

func (s *tapScreen) exchange() string {
	return model.ExchangeName(s.wants[s.want].Exchanges[0])
}

func (s *tapScreen) Typing() bool { return s.list.Typing() }

func (s *tapScreen) Keys() []term.Key {
	unrouted := s.wants[s.want].Unrouted
	if s.State == shell.DialogAsking {
		other := fmt.Sprintf("other exchange, %d of %d", s.want+1, len(s.wants))
		return []term.Key{
			term.On(press.Confirm, "watch the messages that pass the exchange", s.run).As("tap").When(s.ready()),
			term.On(press.Target, "the next exchange", s.turnExchange).As(other).When(len(s.wants) > 1),
			term.On(press.ChooseAll, "also messages that no queue takes; again: only those that queues take", func() {
				s.tapUnrouted(!unrouted)
			}).As("also messages that no queue takes").AsIf(unrouted, "only messages that queues take"),
			term.On(press.Cancel, "", shell.Pop),
		}
	}

	return s.list.Keys()
}

func (s *tapScreen) listKeys() []term.Key {
	ended := s.State == shell.DialogEnded
	return []term.Key{
		term.On(press.Confirm, "watch the messages again", s.run).As("tap again").When(ended && s.ready()),
		term.On(press.Pause, "stop the list, or let it go on", func() {
			s.paused = !s.paused
			s.fetch()
		}).As("pause the list").AsIf(s.paused, "go on").When(!ended),
	}
}

func (s *tapScreen) turnExchange() {
	unrouted := s.wants[s.want].Unrouted
	s.want = (s.want + 1) % len(s.wants)
	s.tapUnrouted(unrouted)
}

func (s *tapScreen) tapUnrouted(unrouted bool) {
	s.wants = slices.Clone(s.wants)
	s.wants[s.want].Unrouted = unrouted
	s.replan()
}

func (s *tapScreen) forbidden() string {
	if s.Env.ReadOnly {
		return "read-only: a tap declares and binds a queue of its own (set by --read-only, or by read_only of " +
			"the context)"
	}
	return s.plan.Refusal.Words()
}

func (s *tapScreen) ready() bool { return s.topology != nil && s.forbidden() == "" }

func (s *tapScreen) Update(msg tea.Msg) (cmd tea.Cmd) {
	switch msg := msg.(type) {
	case shell.TopologyMsg:
		s.topology = msg.Topology
		switch s.State {
		case shell.DialogAsking:
			s.replan()
		case shell.DialogRunning:
			cmd = s.follow()
		}
	case tapPlannedMsg:
		if msg.request == s.Request {
			s.plan = msg.plan
		}
	case stepMsg:
		if msg.request == s.Request && s.State == shell.DialogRunning {
			s.fetch()
			cmd = step(&s.Dialog)
		}
	case shell.EndedMsg[struct{}]:
		if s.Ended(msg.Request, msg.Err) {
			s.fetch()
		}

	case tea.KeyMsg:
		if s.State == shell.DialogAsking {
			cmd, _ = term.Press(s.Keys(), msg)
		} else {
			cmd = s.list.Update(msg)
		}
	}

	return cmd
}

func (s *tapScreen) replan() {
	if s.topology != nil {
		s.plan = trace.PlanTap(s.topology, s.wants[s.want])
	}
}

func (s *tapScreen) run() tea.Cmd {
	s.replan()
	if s.plan.Refusal.Refused() {
		s.State = shell.DialogAsking
		return nil
	}

	s.Err = nil
	s.list.Table.Set(nil)
	plan := s.plan
	feed := &tapFeed{plans: make(chan trace.TapPlan, 1), passing: trace.NewPassing(plan.VHost, s.topology)}
	s.tapRun = tapRun{passing: feed, counted: s.Env.Now()}
	broker := s.Env.Broker
	tap := shell.Running(&s.Dialog, func(ctx context.Context) (struct{}, error) {
		return struct{}{}, broker.Tap(ctx, plan, feed.plans, feed.addRow, feed.setCounts)
	})
	return tea.Batch(tap, step(&s.Dialog))
}

// fetch adds the rows that have passed. The cursor stays on its message, but if it is on the newest it stays on that.
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
	was, want := *s, s.wants[s.want]
	return s.Env.Command(0, func(context.Context) tea.Msg {
		next := trace.PlanTap(was.topology, want)
		same := slices.EqualFunc(next.Bindings, was.plan.Bindings, trace.TapBinding.Same)
		changed := !next.Refusal.Refused() && !same
		was.passing.follow(was.topology, next, changed)
		if !changed {
			return nil
		}
		return tapPlannedMsg{was.Request, next}
	})
}

const (
	tapShows   = 10_000 // newest messages kept for the screen
	tapPreview = 160    // characters of a body
)

// tapRow is one message that passed, as a row of the table. It is made outside Update.
type tapRow struct {
	number       int64
	trace.Passed        // without body and headers
	from         string // printable
	key          string
	id           string
	deaths       string
	body         string
}

// tapFeed passes messages from the tap's goroutine to Update. It holds the newest of what the screen has not fetched
// yet.
type tapFeed struct {
	plans chan trace.TapPlan // at most one, the newest

	sync.Mutex
	passing *trace.Passing
	waiting []*tapRow
	number  int64
	counts  trace.TapCounts
	works   bool
}

func (f *tapFeed) addRow(m *message.Message, at time.Time) {
	row := &tapRow{
		key: model.Printable(m.RoutingKey), id: model.Printable(m.Properties.MessageID),
		deaths: model.Printable(m.DeathSummary()), body: m.BodyPreview(tapPreview),
	}

	f.Lock()
	defer f.Unlock()
	f.number++
	row.number, row.Passed = f.number, f.passing.See(m, at)
	m.Body, m.Headers, m.Deaths = nil, nil, nil // a screen of messages must not hold their bodies

	p := &row.Passed
	switch {
	case p.Unclear != "":
		row.from = "unknown"
	case p.From == "":
		row.from = "published"
	default:
		row.from = model.Printable(p.From)
	}

	if len(f.waiting) >= tapShows {
		f.waiting = append(f.waiting[:0], f.waiting[tapShows/10:]...)
	}

	f.waiting = append(f.waiting, row)
}

func (f *tapFeed) setCounts(counts trace.TapCounts) {
	f.Lock()
	defer f.Unlock()
	f.counts, f.works = counts, true
}

// follow applies a newer poll: its settings, and its bindings if they changed.
func (f *tapFeed) follow(t *model.Topology, plan trace.TapPlan, changed bool) {
	f.Lock()
	f.passing.Follow(t)
	f.Unlock()
	if !changed {
		return
	}
	select {
	case <-f.plans:
	default:
	}

	select {
	case f.plans <- plan:
	default: // another poll's plan came first, which is as good
	}
}

// fetch returns what has come since the last time; keep leaves the messages for later.
func (f *tapFeed) fetch(keep bool) (rows []*tapRow, counts trace.TapCounts, works bool) {
	f.Lock()
	defer f.Unlock()
	if !keep {
		rows, f.waiting = f.waiting, nil
	}
	return rows, f.counts, f.works
}

func (r *tapRow) cells() []any {
	from := term.Text.Span(r.from)
	switch {
	case r.Unclear != "":
		from = term.Warning.Span(term.MarkWarning + " " + r.from)
	case r.From == "":
		from = term.Muted.Span(r.from)
	}

	late := term.Text.Span(r.LateWords())
	if r.IsLate() {
		late = term.Warning.Span(term.MarkWarning + " " + r.LateWords())
	}

	return []any{
		r.Time.Local().Format("15:04:05.000"),
		from,
		model.Printable(string(r.Reason)),
		r.WaitedWords(),
		r.ShouldWords(),
		late,
		r.Tries.String(),
		r.key,
		r.id,
		message.Size(int64(r.Message.BodyBytes)),
	}
}

const tapPane = 6 // lines about the message at the cursor

func (s *tapScreen) View(width, height int) string {
	if s.State == shell.DialogAsking {
		l := shell.NewDialogLines(width)
		s.ask(l)
		return s.Env.Overlay(term.Block(nil, width, height), l.Box("Tap "+s.exchange()), width, height)
	}

	lines := []string{s.head(width)}
	if s.State == shell.DialogEnded {
		words := "the tap has ended"
		if s.Err != nil {
			words = model.Printable(s.Err.Error())
		}
		for _, part := range term.Wrap(words, width-6) {
			lines = append(lines, " "+term.Danger.Render(term.MarkError+" "+part))
		}
	}

	rest := height - len(lines)
	pane := min(tapPane, rest/3)
	rows := s.list.Share(rest, rest-pane)
	lines = append(lines, strings.Split(s.list.View(width, rows, s.nothing()), "\n")...)
	lines = append(lines, s.about(width)...)
	return term.Block(lines, width, height)
}

func (s *tapScreen) ask(l *shell.DialogLines) {
	want := &s.wants[s.want]
	l.Say("sees", "what passes "+s.exchange()+": from where, and how long it waited", term.Strong)
	if len(want.Exchanges) > 1 {
		fronts := model.Printable(strings.Join(want.Exchanges[1:], ", "))
		l.Say("and", "what enters by "+fronts+", so that waits are measured")
	} else {
		l.Say("", "waits come from the messages' own times; only a tap on the exchange in front measures "+
			"them", term.Muted)
	}

	label := "costs"
	for _, words := range s.plan.Costs {
		l.Say(label, term.MarkInfo+" "+words)
		label = ""
	}

	for _, words := range s.plan.Notes {
		l.Say("", term.MarkInfo+" "+words, term.Muted)
	}

	l.Blank()
	if refusal := s.forbidden(); refusal != "" {
		l.Fail("not possible: " + refusal)
		l.Blank()
	}

	l.Keys(s.Keys()...)
}

// head says what is tapped, and how the tap does.
func (s *tapScreen) head(width int) string {
	left := " " + term.Strong.Render(model.Printable(strings.Join(s.wants[s.want].Exchanges, " + ")))
	switch {
	case s.State == shell.DialogEnded:
		left += "   " + term.Danger.Render("ended")
	case !s.works:
		left += "   " + term.Muted.Render("starting …")
	case s.paused:
		left += "   " + term.Warning.Render("list paused, the tap goes on")
	}

	right := model.Sayf("%v seen  %.1f/s", s.counts.Seen, s.rate)
	if missed := s.counts.MissedWords(); missed != "" {
		right += "  " + term.Warning.Render(term.MarkWarning+" "+missed)
	} else {
		right += "  none missed"
	}

	if s.counts.Seen > tapShows {
		right += term.Muted.Render(model.Sayf("  the last %v shown", tapShows))
	}

	return term.Spread(left, right+" ", width)
}

func (s *tapScreen) nothing() []string {
	words := "nothing has passed yet"
	if !s.works {
		words = "making the tap's queue …"
	}
	if s.State == shell.DialogEnded {
		words = "nothing has passed"
	}

	return []string{"", "   " + term.Muted.Render(words)}
}

func (s *tapScreen) about(width int) []string {
	return s.list.Pane("message", width, func(r *tapRow, l *shell.DialogLines) (name string) {
		p, look := &r.Passed, term.Text
		if p.IsLate() {
			look = term.Warning
		}
		l.SayFirst(2, "here", tapSentence(p), look)
		l.SayFirst(1, "through", model.ExchangeName(p.Exchange)+", key "+model.PrintableKey(p.RoutingKey),
			term.Text)
		l.SayFirst(1, "deaths", r.deaths, term.Text)
		l.SayFirst(1, "body", r.body, term.Muted)
		return r.id
	})
}

// tapSentence says how a message came, and whether in time.
func tapSentence(p *trace.Passed) string {
	if p.Unclear != "" {
		return "where it comes from is unknown: " + model.Printable(p.Unclear)
	}
	if p.From == "" {
		return "published"
	}
	words := model.Sayf("%v from %v", string(p.Reason), p.From)
	waited, known := p.Waited.Get()
	if !known {
		return words + "; how long it waited is unknown: dlxtop did not see it enter, and it has no time of its own"
	}
	words += " after " + model.ShortDuration(waited.Round(time.Millisecond))
	switch p.Known {
	case trace.WaitPublisher:
		words += " by its publisher's clock"
	case trace.WaitDied:
		words += " since its death before"
	}

	if should, known := p.Should.Get(); known {
		words += ", TTL " + model.ShortDuration(should)
	}
	if behind := p.Behind.Or(0).Round(time.Millisecond); behind > 0 {
		words += model.Sayf(", %s of it behind others", behind)
	}

	return words
}
