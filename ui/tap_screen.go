package ui

import (
	"context"
	"fmt"
	"slices"
	"strings"
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

func tapColumns(s *Styles) []column[*tapRow] {
	late := func(r *tapRow) Style {
		if r.passed.IsLate() {
			return s.Warning
		}
		return s.Text
	}
	return []column[*tapRow]{
		{title: "TIME", width: 12, cell: func(r *tapRow) field { return field{r.passed.Time.Local().Format("15:04:05.000"), s.Muted} }},
		{title: "FROM", width: 14, max: 44, flex: 4, middle: true, cell: func(r *tapRow) field {
			switch {
			case r.passed.Unclear != "":
				return field{markWarning + " " + r.from, s.Warning}
			case r.passed.From == "":
				return field{r.from, s.Muted}
			}
			return field{r.from, s.Text}
		}},
		{title: "REASON", width: 9, cell: func(r *tapRow) field { return field{model.Printable(string(r.passed.Reason)), s.Text} }},
		{title: "WAITED", width: 9, right: true, cell: func(r *tapRow) field { return field{r.passed.WaitedWords(), s.Strong} }},
		{title: "SHOULD", width: 7, right: true, cell: func(r *tapRow) field { return field{r.passed.ShouldWords(), s.Text} }},
		{title: "LATE", width: 15, right: true, cell: func(r *tapRow) field {
			words := r.passed.LateWords()
			if r.passed.IsLate() {
				words = markWarning + " " + words
			}
			return field{words, late(r)}
		}},
		{title: "TRIES", width: 5, right: true, drop: 1, cell: func(r *tapRow) field { return field{r.passed.Tries.String(), s.Text} }},
		{title: "ROUTING KEY", width: 14, max: 30, flex: 2, middle: true, drop: 2, cell: func(r *tapRow) field { return field{r.key, s.Text} }},
		{title: "ID", width: 20, max: 36, flex: 1, drop: 4, cell: func(r *tapRow) field { return field{r.id, s.Muted} }},
		{title: "SIZE", width: 5, right: true, drop: 3, cell: func(r *tapRow) field { return field{model.Size(int64(r.passed.Message.BodyBytes)), s.Muted} }},
	}
}

const tapPane = 6 // lines about the message at the cursor

func (s tapScreen) View(width, height int) string {
	if s.state == dialogAsking {
		outer := min(dialogWidth, width-4)
		l := &dialogLines{styles: s.env.styles, width: outer - 4}
		s.ask(l)
		return overlay(block(nil, width, height), framed(s.env.styles, "Tap "+s.exchange(), l.lines, outer), width, height)
	}
	lines := []string{s.head(width)}
	if s.state == dialogEnded {
		words := "the tap has ended"
		if s.err != nil {
			words = model.Printable(s.err.Error())
		}
		for _, part := range wrap(words, width-6) {
			lines = append(lines, " "+s.env.styles.Danger.Render(markError+" "+part))
		}
	}
	rest := height - len(lines)
	pane := min(tapPane, rest/3)
	rows := rest - pane
	lines = append(lines, strings.Split(s.list.view(width, rows, s.nothing(width)), "\n")...)
	lines = append(lines, s.about(width)...)
	return block(lines, width, height)
}

// ask shows what a tap does before it does it.
func (s *tapScreen) ask(l *dialogLines) {
	styles := l.styles
	want := &s.wants[s.want]
	l.say("sees", "each message that passes "+s.exchange()+", from where, and how long it waited", styles.Strong)
	if len(want.Exchanges) > 1 {
		var fronts []string
		for _, x := range want.Exchanges[1:] {
			fronts = append(fronts, model.Printable(x))
		}
		l.say("and", "what enters by "+strings.Join(fronts, ", ")+": so the waits are measured", styles.Text)
	} else {
		l.say("", "how long they waited is as they tell: measured only with the exchange in front", styles.Muted)
	}
	for i, words := range s.plan.Costs {
		label := ""
		if i == 0 {
			label = "costs"
		}
		l.say(label, markInfo+" "+words, styles.Text)
	}
	for _, words := range s.plan.Notes {
		l.say("", markInfo+" "+words, styles.Muted)
	}
	l.blank()
	keys := ""
	if refusal := s.forbidden(); refusal != "" {
		l.say("", markError+" not possible: "+refusal, styles.Danger)
		l.blank()
	} else if s.topology != nil {
		keys = hint(styles, "enter", "tap")
	}
	if len(s.wants) > 1 {
		keys += hint(styles, "tab", fmt.Sprintf("other exchange, %d of %d", s.want+1, len(s.wants)))
	}
	l.hints(keys + hint(styles, "esc", "back"))
	l.hints(hint(styles, "*", s.unroutedWords()))
}

// head says what is tapped, and how the tap does.
func (s *tapScreen) head(width int) string {
	styles := s.env.styles
	var names []string
	for _, x := range s.wants[s.want].Exchanges {
		names = append(names, model.Printable(x))
	}
	left := " " + styles.Strong.Render(strings.Join(names, " + "))
	switch {
	case s.state == dialogEnded:
		left += "   " + styles.Danger.Render("ended")
	case !s.works:
		left += "   " + styles.Muted.Render("starting …")
	case s.paused:
		left += "   " + styles.Warning.Render("list paused, the tap goes on")
	}
	right := fmt.Sprintf("%s seen  %.1f/s", model.Count(s.counts.Seen), s.rate)
	if missed := s.counts.MissedWords(); missed != "" {
		right += "  " + styles.Warning.Render(markWarning+" "+missed)
	} else {
		right += "  none missed"
	}
	if s.counts.Seen > tapShows {
		right += styles.Muted.Render("  the last " + model.Count(tapShows) + " shown")
	}
	return spread(left, right+" ", width)
}

// nothing stands in the place of the list while it is empty.
func (s *tapScreen) nothing(width int) []string {
	words := "nothing has passed yet"
	if !s.works {
		words = "making the tap's queue …"
	}
	if s.state == dialogEnded {
		words = "nothing has passed"
	}
	return []string{"", "   " + s.env.styles.Muted.Render(words)}
}

// about tells of the message at the cursor.
func (s *tapScreen) about(width int) []string {
	styles := s.env.styles
	r, ok := s.list.table.current()
	if !ok {
		return s.list.aimless("message", width)
	}
	p := &r.passed
	lines := []string{partition(styles, r.id, s.list.table.position(), width)}
	here := tapSentence(p)
	add := func(label, words string, look Style) {
		for i, part := range wrap(words, width-16) {
			if i == 2 || i == 1 && words != here {
				return
			}
			lines = append(lines, "   "+styles.Muted.Render(fit(label, 10, false, false))+look.Render(part))
			label = ""
		}
	}
	look := styles.Text
	if p.IsLate() {
		look = styles.Warning
	}
	add("here", here, look)
	add("through", model.Printable(model.ExchangeName(p.Exchange))+", key "+printableKey(p.RoutingKey), styles.Text)
	add("deaths", r.deaths, styles.Text)
	add("body", r.body, styles.Muted)
	return lines
}

// tapSentence says how a message came, and whether in time.
func tapSentence(p *model.Passed) string {
	if p.Unclear != "" {
		return "where it comes from cannot be told: " + model.Printable(p.Unclear)
	}
	if p.From == "" {
		return "published"
	}
	words := fmt.Sprintf("%s from %s", model.Printable(string(p.Reason)), model.Printable(p.From))
	waited, known := p.Waited.Get()
	if !known {
		return words + "; how long it waited is unknown: nobody saw it enter, and it has no time of its own that can be"
	}
	words += " after " + model.ShortDuration(waited.Round(time.Millisecond))
	switch p.Known {
	case model.WaitPublisher:
		words += " by its publisher's clock"
	case model.WaitDied:
		words += " since its death before"
	}
	if should, known := p.Should.Get(); known {
		words += " against " + model.ShortDuration(should)
	}
	if behind := p.Behind.Or(0).Round(time.Millisecond); behind > 0 {
		words += ", " + model.ShortDuration(behind) + " of it behind others in front of it"
	}
	return words
}
