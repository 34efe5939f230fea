package ui

import (
	"cmp"
	"context"
	"strings"
	"time"

	"github.com/charmbracelet/bubbles/key"
	tea "github.com/charmbracelet/bubbletea"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/filter"
	"github.com/dlxtop/dlxtop/model/find"
	"github.com/dlxtop/dlxtop/ui/term"
)

// The bounds of a search.
const (
	findBefore   = 8       // characters before what was found, in the list
	findsMost    = 1_000   // messages that are found
	searchesMost = 100_000 // messages of each queue
)

// findScreen shows what is found in all queues that can be read without harm, while they are read.
type findScreen struct {
	env      *env
	title    string // printable
	want     find.Want
	only     ofCause // that is shown of the queue of a message that is opened; zero: all
	topology *model.Topology

	request  request // the search; 0: it has not begun
	stop     context.CancelFunc
	progress find.Progress
	ended    bool
	stopped  bool // by a key
	missed   []find.Reason
	costly   bool  // a queue was not read only because of what a look costs
	err      error // that ended it

	list term.List[int, *findRow]
	rows []*findRow
}

// findRow is a hit as the table shows it. It is made outside Update.
type findRow struct {
	number                       int // in the order in which they were found
	hit                          find.Hit
	queue, key, id, where        string // printable
	before, found, after, folded string
}

type (
	// findBegunMsg brings a search that can run.
	findBegunMsg struct {
		request request
		search  *find.Search
	}
	// findNewsMsg brings what was found since.
	findNewsMsg struct {
		request  request
		search   *find.Search
		rows     []*findRow
		progress find.Progress
		more     bool
	}
)

func newFindScreen(e *env, text string, sought *filter.Filter) screen {
	return newSearchScreen(e, "find "+model.Printable(text), find.Want{Filter: sought, Hits: findsMost},
		findColumns(e, inPlace))
}

// newSearchScreen shows what is wanted, and reads the queues to which that is narrowed.
func newSearchScreen(e *env, title string, want find.Want, columns []term.Column[*findRow]) findScreen {
	want.Limit, want.ReadOnly = searchesMost, e.readOnly
	rows := term.NewTable(e.kit(), func(r *findRow) int { return r.number },
		func(a, b *findRow) int { return cmp.Compare(a.number, b.number) }, columns...)
	return findScreen{
		env: e, title: title, want: want,
		list: term.NewList(rows, func(r *findRow) []string {
			return []string{r.queue, r.key, r.id, r.where, r.folded}
		}),
	}
}

func (s findScreen) Init() tea.Cmd { return nil }

func (s findScreen) Title() string { return s.title }

func (s findScreen) Typing() bool { return s.list.Filter.Typing }

// Close ends the search: the root calls it when the screen goes.
func (s findScreen) Close() {
	if s.stop != nil {
		s.stop()
	}
}

func (s findScreen) searching() bool { return s.request != 0 && !s.ended }

func (s findScreen) Keys() []key.Binding { return s.bindings() }

// bindings are the keys of what is found, with others behind that which opens a message.
func (s findScreen) bindings(others ...key.Binding) []key.Binding {
	k := s.env.keys
	var keys []key.Binding
	if _, ok := s.list.Table.Current(); ok {
		keys = append(keys, term.Describe(k.Open, "message"))
	}
	keys = append(keys, others...)
	switch {
	case s.searching() && !s.stopped && s.list.Filter.Text() == "":
		keys = append(keys, term.Describe(k.Back, "stop"))
	case s.ended && s.costly:
		keys = append(keys, term.Describe(k.Insist, "search the others, too"))
	}
	if s.ended {
		keys = append(keys, term.Describe(k.Peek, "search again"))
	}
	return s.list.Bindings(keys...)
}

func (s findScreen) Update(msg tea.Msg) (screen, tea.Cmd) {
	switch msg := msg.(type) {
	case topologyMsg:
		s.topology = msg.topology
		if s.request == 0 {
			return s.begin()
		}
	case findBegunMsg:
		if msg.request == s.request {
			return s.run(msg.search)
		}
	case findNewsMsg:
		if msg.request == s.request {
			return s.news(msg)
		}
	case endedMsg[find.Result]:
		if msg.request == s.request {
			s.end(msg)
		}
	case tea.KeyMsg:
		return s.handleKey(msg)
	}
	return s, nil
}

func (s findScreen) handleKey(msg tea.KeyMsg) (screen, tea.Cmd) {
	k := s.env.keys
	switch {
	case s.list.Handle(msg):
	case term.Is(msg, k.Back) && s.searching() && !s.stopped:
		s.stopped = true
		if s.stop != nil {
			s.stop()
		}
	case term.Is(msg, k.Peek) && s.ended:
		return s.begin()
	case term.Is(msg, k.Insist) && s.ended && s.costly:
		s.want.Costly = true
		return s.begin()
	case term.Is(msg, k.Open):
		if row, ok := s.list.Table.Current(); ok {
			return s, push(newMessagesScreenAt(s.env, &row.hit, s.only, nil))
		}
	}
	return s, nil
}

// begin plans a search outside Update: what a look at each queue costs takes its time with many of them.
func (s findScreen) begin() (screen, tea.Cmd) {
	s.request, s.ended, s.stopped, s.err, s.missed, s.costly = s.env.newRequest(), false, false, nil, nil, false
	s.rows, s.progress, s.stop = nil, find.Progress{}, nil
	s.list.Table.Set(nil)
	id, t, want, looker := s.request, s.topology, s.want, find.Looker(s.env.broker)
	return s, s.env.command(0, func(context.Context) tea.Msg {
		return findBegunMsg{id, find.New(looker, find.Queues(t, want), want, nil)}
	})
}

func (s findScreen) run(search *find.Search) (screen, tea.Cmd) {
	id := s.request
	cmd, stop := s.env.stoppable(func(ctx context.Context) tea.Msg {
		result, err := search.Run(ctx)
		return endedMsg[find.Result]{id, result, err}
	})
	if s.stop = stop; s.stopped {
		stop()
	}
	return s, tea.Batch(cmd, findNews(id, search))
}

// findNews waits for what is found next.
func findNews(id request, search *find.Search) tea.Cmd {
	return func() tea.Msg {
		hits, progress, more := search.Next()
		msg := findNewsMsg{request: id, search: search, progress: progress, more: more}
		for i := range hits {
			msg.rows = append(msg.rows, newFindRow(&hits[i]))
		}
		return msg
	}
}

func newFindRow(h *find.Hit) *findRow {
	r := &findRow{
		hit: *h, queue: model.Printable(h.Queue.String()), key: model.Printable(h.RoutingKey),
		id: model.Printable(h.MessageID), where: h.Where(),
	}
	r.before, r.found, r.after = h.Excerpt()
	before := []rune(r.before)
	if len(before) > findBefore {
		before = append([]rune("…"), before[len(before)-findBefore:]...)
	}
	r.folded = strings.TrimLeft(string(before)+r.found+r.after, " ")
	return r
}

func (s findScreen) news(msg findNewsMsg) (screen, tea.Cmd) {
	s.progress = msg.progress
	if len(msg.rows) > 0 {
		first := 0 // those that left the list keep their numbers
		if n := len(s.rows); n > 0 {
			first = s.rows[n-1].number + 1
		}
		for i, r := range msg.rows {
			r.number = first + i
		}
		s.rows = append(s.rows, msg.rows...)
		s.list.Table.Set(s.rows)
	}
	if !msg.more {
		return s, nil
	}
	return s, findNews(s.request, msg.search)
}

// end takes in how the search ended. What it found comes, or came, by itself.
func (s *findScreen) end(msg endedMsg[find.Result]) {
	s.ended, s.err, s.progress = true, cmp.Or(msg.err, msg.result.Failed), msg.result.Progress
	s.missed = find.Reasons(msg.result.NotRead)
	for i := range s.missed {
		s.costly = s.costly || s.missed[i].Costly
	}
}

// published is when a message was published, as a table shows it.
func (r *findRow) published(now time.Time) string {
	at, known := r.hit.Published.Get()
	if !known {
		return "?"
	}
	return age(max(now.Sub(at), 0))
}
