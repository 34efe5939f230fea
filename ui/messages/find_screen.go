package messages

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
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/model/peek"
	"github.com/dlxtop/dlxtop/ui/shell"
	"github.com/dlxtop/dlxtop/ui/term"
)

// The bounds of a search.
const (
	findBefore   = 8       // characters before what was found, in the list
	findsMost    = 1_000   // messages that are found
	searchesMost = 100_000 // messages of each queue
)

// FindScreen shows what is found in all queues that can be read without harm, while they are read.
type FindScreen struct {
	Env      *shell.Env
	title    string // printable
	Want     find.Want
	Only     OfCause // that is shown of the queue of a message that is opened; zero: all
	Topology *model.Topology

	Request  shell.Request // the search; 0: it has not begun
	stop     context.CancelFunc
	progress find.Progress
	Ended    bool
	stopped  bool // by a key
	Missed   []find.Reason
	costly   bool  // a queue was not read only because of what a look costs
	err      error // that ended it

	List term.List[int, *FindRow]
	Rows []*FindRow
}

// FindRow is a hit as the table shows it. It is made outside Update.
type FindRow struct {
	number                       int // in the order in which they were found
	Hit                          find.Hit
	queue, key, id, where        string // printable
	before, found, after, folded string
}

type (
	// findBegunMsg brings a search that can run.
	findBegunMsg struct {
		request shell.Request
		search  *find.Search
		skipped []find.Reason
	}
	// findNewsMsg brings what was found since.
	findNewsMsg struct {
		request  shell.Request
		search   *find.Search
		rows     []*FindRow
		progress find.Progress
		more     bool
	}
)

func NewFindScreen(e *shell.Env, text string, sought *filter.Filter) shell.Screen {
	return NewSearchScreen(e, "find "+model.Printable(text), find.Want{Filter: sought, Hits: findsMost},
		FindColumns(e, inPlace))
}

// NewSearchScreen shows what is wanted, and reads the queues to which that is narrowed.
func NewSearchScreen(e *shell.Env, title string, want find.Want, columns []term.Column[*FindRow]) FindScreen {
	want.Limit, want.ReadOnly = searchesMost, e.ReadOnly
	rows := term.NewTable(e.Kit(), func(r *FindRow) int { return r.number },
		func(a, b *FindRow) int { return cmp.Compare(a.number, b.number) }, columns...)
	return FindScreen{
		Env: e, title: title, Want: want,
		List: term.NewList(rows, func(r *FindRow) []string {
			return []string{r.queue, r.key, r.id, r.where, r.folded}
		}),
	}
}

func (s FindScreen) Title() string { return s.title }

func (s FindScreen) Typing() bool { return s.List.Filter.Typing }

// Close ends the search: the root calls it when the screen goes.
func (s FindScreen) Close() {
	if s.stop != nil {
		s.stop()
	}
}

func (s FindScreen) searching() bool { return s.Request != 0 && !s.Ended }

func (s FindScreen) Keys() []key.Binding { return s.Bindings() }

// Bindings are the keys of what is found, with others behind that which opens a message.
func (s FindScreen) Bindings(others ...key.Binding) []key.Binding {
	k := s.Env.Keys
	var keys []key.Binding
	if _, ok := s.List.Table.Current(); ok {
		keys = append(keys, term.Describe(k.Open, "message"))
	}
	keys = append(keys, others...)
	switch {
	case s.searching() && !s.stopped && s.List.Filter.Text() == "":
		keys = append(keys, term.Describe(k.Back, "stop"))
	case s.Ended && s.costly:
		keys = append(keys, term.Describe(k.Insist, "search the others, too"))
	}
	if s.Ended {
		keys = append(keys, term.Describe(k.Peek, "search again"))
	}
	return s.List.Bindings(keys...)
}

func (s FindScreen) Update(msg tea.Msg) (shell.Screen, tea.Cmd) {
	switch msg := msg.(type) {
	case shell.TopologyMsg:
		s.Topology = msg.Topology
		if s.Request == 0 {
			return s.Begin(true)
		}
	case findBegunMsg:
		if msg.request == s.Request {
			s.Missed = msg.skipped
			return s.run(msg.search)
		}
	case findNewsMsg:
		if msg.request == s.Request {
			return s.news(msg)
		}
	case shell.EndedMsg[find.Result]:
		if msg.Request == s.Request {
			s.end(msg)
		}
	case tea.KeyMsg:
		return s.handleKey(msg)
	}
	return s, nil
}

func (s FindScreen) handleKey(msg tea.KeyMsg) (shell.Screen, tea.Cmd) {
	k := s.Env.Keys
	switch {
	case s.List.Handle(msg):
	case term.Is(msg, k.Back) && s.searching() && !s.stopped:
		s.stopped = true
		if s.stop != nil {
			s.stop()
		}
	case term.Is(msg, k.Peek) && s.Ended:
		return s.Begin(false)
	case term.Is(msg, k.Insist) && s.Ended && s.costly:
		s.Want.Costly = true
		return s.Begin(true)
	case term.Is(msg, k.Open):
		if row, ok := s.List.Table.Current(); ok {
			return s, shell.Push(NewScreenAt(s.Env, &row.Hit, s.Only, nil))
		}
	}
	return s, nil
}

// Begin plans a search outside Update: what a look at each queue costs takes its time with many of them. With kept it
// looks into what is kept of queues where a look has a cost.
func (s FindScreen) Begin(kept bool) (shell.Screen, tea.Cmd) {
	s.Request, s.Ended, s.stopped, s.err, s.Missed, s.costly = s.Env.NewRequest(), false, false, nil, nil, false
	s.Rows, s.progress, s.stop = nil, find.Progress{}, nil
	s.List.Table.Set(nil)
	id, t, want, looker := s.Request, s.Topology, s.Want, find.Looker(s.Env.Broker)
	if kept {
		looker = keptLooker{looker, &s.Env.Kept}
		want.Kept = func(queue model.QueueRef) bool { return s.Env.Kept.Has(queue, 0) }
	}
	return s, s.Env.Command(0, func(context.Context) tea.Msg {
		queues := find.Queues(t, want)
		return findBegunMsg{id, find.New(looker, queues, want, nil), find.Reasons(find.Skipped(queues))}
	})
}

// keptLooker reads what is kept of a queue instead of the queue.
type keptLooker struct {
	find.Looker
	kept *shell.KeptLooks
}

// Read implements find.Looker.
func (l keptLooker) Read(ctx context.Context, p peek.Plan, each func(*message.Message) error) (peek.Read, error) {
	kept, ok, err := l.kept.Lend(p.Queue, 0)
	if !ok && err == nil {
		return l.Looker.Read(ctx, p, each)
	}
	defer kept.Messages.Close()
	if err == nil {
		err = kept.Messages.Range(0, kept.Messages.Len(), 0, each)
	}
	read := peek.Read{Stopped: kept.Stopped}
	if n := kept.Messages.Len(); read.Stopped == "" && int64(n) < kept.Depth.Or(0) {
		read.Stopped = "the first " + model.Plural(n, "message") + " of the queue were read"
	}
	return read, err
}

func (s FindScreen) run(search *find.Search) (shell.Screen, tea.Cmd) {
	id := s.Request
	cmd, stop := s.Env.Stoppable(func(ctx context.Context) tea.Msg {
		result, err := search.Run(ctx)
		return shell.EndedMsg[find.Result]{Request: id, Result: result, Err: err}
	})
	if s.stop = stop; s.stopped {
		stop()
	}
	return s, tea.Batch(cmd, findNews(id, search))
}

// findNews waits for what is found next.
func findNews(id shell.Request, search *find.Search) tea.Cmd {
	return func() tea.Msg {
		hits, progress, more := search.Next()
		msg := findNewsMsg{request: id, search: search, progress: progress, more: more}
		for i := range hits {
			msg.rows = append(msg.rows, newFindRow(&hits[i]))
		}
		return msg
	}
}

func newFindRow(h *find.Hit) *FindRow {
	r := &FindRow{
		Hit: *h, queue: model.Printable(h.Queue.String()), key: model.Printable(h.RoutingKey),
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

func (s FindScreen) news(msg findNewsMsg) (shell.Screen, tea.Cmd) {
	s.progress = msg.progress
	if len(msg.rows) > 0 {
		first := 0 // those that left the list keep their numbers
		if n := len(s.Rows); n > 0 {
			first = s.Rows[n-1].number + 1
		}
		for i, r := range msg.rows {
			r.number = first + i
		}
		s.Rows = append(s.Rows, msg.rows...)
		s.List.Table.Set(s.Rows)
	}
	if !msg.more {
		return s, nil
	}
	return s, findNews(s.Request, msg.search)
}

// end takes in how the search ended. What it found comes, or came, by itself.
func (s *FindScreen) end(msg shell.EndedMsg[find.Result]) {
	s.Ended, s.err, s.progress = true, cmp.Or(msg.Err, msg.Result.Failed), msg.Result.Progress
	s.Missed = find.Reasons(msg.Result.NotRead)
	for i := range s.Missed {
		s.costly = s.costly || s.Missed[i].Costly
	}
}

// published is when a message was published, as a table shows it.
func (r *FindRow) published(now time.Time) string {
	at, known := r.Hit.Published.Get()
	if !known {
		return "?"
	}
	return shell.Age(max(now.Sub(at), 0))
}
