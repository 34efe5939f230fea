package messages

import (
	"cmp"
	"context"
	"slices"
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/filter"
	"github.com/dlxtop/dlxtop/model/find"
	"github.com/dlxtop/dlxtop/ui/press"
	"github.com/dlxtop/dlxtop/ui/shell"
	"github.com/dlxtop/dlxtop/ui/term"
)

// The bounds of a search.
const (
	findBefore   = 8       // characters before the match, in the list
	findsMost    = 1_000   // messages that are found
	searchesMost = 100_000 // messages of each queue
)

// FindScreen shows what is found in all queues that can be read without harm, while they are read.
type FindScreen struct {
	shell.Listing[int, *FindRow]
	Want   find.Want
	Only   OfCause           // the cause shown when a message is opened in its queue; zero: all
	Others func() []term.Key // further ones, after the one that opens a message

	searchRun
	head []string // above the list, as prepared
}

// searchRun is a search and how far it came.
type searchRun struct {
	Request  shell.Request // 0: it has not begun
	stop     context.CancelFunc
	progress find.Progress
	Ended    bool
	stopped  bool // by a key
	Missed   []find.Reason
	costly   bool  // a queue was not read only because of a look's cost
	err      error // ended it
	Rows     []*FindRow
}

// FindRow is a hit as a row of the table. It is made outside Update.
type FindRow struct {
	number int // in the order in which they were found
	find.Hit
	queue, key, id, where        string // printable
	before, found, after, folded string
}

// findNewsMsg brings what was found since.
type findNewsMsg struct {
	request  shell.Request
	search   *find.Search
	rows     []*FindRow
	progress find.Progress
	more     bool
}

// prepared is a search that can run.
type prepared struct {
	search  *find.Search
	skipped []find.Reason
}

func NewFindScreen(e *shell.Env, text string, sought *filter.Filter) shell.Screen {
	return NewSearchScreen(e, "find "+model.Printable(text), find.Want{Filter: sought, Hits: findsMost})
}

// NewSearchScreen shows the results of a want, and reads only the queues that it is narrowed to.
func NewSearchScreen(e *shell.Env, title string, want find.Want) *FindScreen {
	want.Limit = searchesMost
	want.ReadOnly = e.ReadOnly

	ofCause := want.Has != nil // then the place of the match says nothing
	third := "IN: 14 flex 1 max 24 sorts muted"
	if ofCause {
		third = "MESSAGE ID: 14 flex 1 max 36 drop 3 sorts muted"
	}

	number := func(r *FindRow) int { return r.number }
	none := func() []term.Key { return nil }
	s := &FindScreen{Want: want, Others: none, Listing: shell.NewListing(e, title, number, term.By(number),
		func(r *FindRow) []string { return []string{r.queue, r.key, r.id, r.where, r.folded} },
		func(r *FindRow) []any {
			if ofCause {
				return r.cells(e, r.id)
			}
			return r.cells(e, r.where)
		},

		term.Columns(`
			QUEUE:       20 flex 2 max 40 middle sorts
			#:            7 right sorts
			AGE:          8 drop 2 right sorts
			ROUTING KEY: 14 flex 1 max 28 drop 1 middle sorts
			`+third+`
			TEXT:        20 flex 4
		`))}
	s.Own = s.keys
	return s
}

func (r *FindRow) cells(e *shell.Env, third string) []any {
	age := "?"
	if at, known := r.Published.Get(); known {
		age = shell.Age(max(e.Shown.Sub(at), 0))
	}

	return []any{
		r.queue,
		r.Position,
		term.Muted.Span(age).By(-float64(r.Published.Or(e.Shown).UnixMilli())),
		r.key,
		third,
		r.folded,
	}
}

// Close ends the search: the root calls it when the screen is closed.
func (s *FindScreen) Close() {
	if s.stop != nil {
		s.stop()
	}
}

func (s *FindScreen) searching() bool { return s.Request != 0 && !s.Ended }

func (s *FindScreen) keys() []term.Key {
	row, ok := s.Table.Current()

	keys := append([]term.Key{
		term.On(press.Open, "the messages of its queue, with the cursor on it", func() tea.Cmd {
			return shell.Push(NewScreenAt(s.Env, &row.Hit, s.Only, nil))
		}).As("message").When(ok),
	}, s.Others()...)

	return append(keys,
		term.On(press.Back, "stop the search", func() {
			s.stopped = true
			s.Close()
		}).As("stop").When(s.searching() && !s.stopped && s.Filter.Text() == ""),
		term.On(press.Insist, "search the queues where a look has a cost, too", func() tea.Cmd {
			s.Want.Costly = true
			return s.Begin(true)
		}).As("search the others, too").When(s.Ended && s.costly),
		term.On(press.Peek, "search again", func() tea.Cmd { return s.Begin(false) }).As("search again").When(s.Ended))
}

func (s *FindScreen) Update(msg tea.Msg) tea.Cmd {
	cmd := s.Listing.Update(msg)
	switch msg := msg.(type) {
	case shell.TopologyMsg:
		if s.Request == 0 {
			cmd = s.Begin(true)
		}
	case shell.EndedMsg[prepared]:
		if msg.Request == s.Request {
			s.Missed = msg.Result.skipped
			cmd = s.run(msg.Result.search)
		}
	case findNewsMsg:
		if msg.request == s.Request {
			cmd = s.news(msg)
		}
	case shell.EndedMsg[find.Result]:
		if msg.Request == s.Request {
			s.Ended, s.err, s.progress = true, cmp.Or(msg.Err, msg.Result.Failed), msg.Result.Progress
			s.Missed = find.Reasons(msg.Result.NotRead) // its hits come, or came, separately
			s.costly = s.costly || slices.ContainsFunc(s.Missed, func(r find.Reason) bool { return r.Costly })
		}
	}

	return cmd
}

// Begin plans a search outside Update: working out the cost for each of many queues takes time. With kept it searches
// kept messages of queues where a look has a cost.
func (s *FindScreen) Begin(kept bool) (cmd tea.Cmd) {
	s.searchRun = searchRun{}
	s.Table.Set(nil)
	t := s.Latest.Topology
	want := s.Want
	looker := find.Looker(s.Env.Broker)

	if kept {
		looker = find.Sharing{Looker: looker, Cache: &s.Env.Peeks, Costly: want.Costly}
		want.Kept = func(queue model.QueueRef) bool { return s.Env.Peeks.Has(queue, 0) }
	}

	s.Request, cmd = shell.Ask(s.Env, 0, func(context.Context) (prepared, error) {
		queues := find.Queues(t, want)
		return prepared{find.New(looker, queues, want, nil), find.Reasons(find.Skipped(queues))}, nil
	})

	return cmd
}

func (s *FindScreen) run(search *find.Search) tea.Cmd {
	id := s.Request
	cmd, stop := s.Env.Stoppable(func(ctx context.Context) tea.Msg {
		result, err := search.Run(ctx)
		return shell.EndedMsg[find.Result]{Request: id, Result: result, Err: err}
	})

	if s.stop = stop; s.stopped {
		stop()
	}

	return tea.Batch(cmd, findNews(id, search))
}

func findNews(id shell.Request, search *find.Search) tea.Cmd {
	return func() tea.Msg {
		hits, progress, more := search.Next()
		msg := findNewsMsg{request: id, search: search, progress: progress, more: more}
		msg.rows = model.Mapped(hits, newFindRow)
		return msg
	}
}

func newFindRow(h *find.Hit) *FindRow {
	r := &FindRow{
		Hit:   *h,
		queue: h.Queue.Printable(),
		key:   model.Printable(h.RoutingKey),
		id:    model.Printable(h.MessageID),
		where: h.Where(),
	}

	r.before, r.found, r.after = h.Excerpt()
	before := []rune(r.before)
	if len(before) > findBefore {
		before = append([]rune("…"), before[len(before)-findBefore:]...)
	}

	r.folded = strings.TrimLeft(string(before)+r.found+r.after, " ")
	return r
}

func (s *FindScreen) news(msg findNewsMsg) tea.Cmd {
	s.progress = msg.progress
	if len(msg.rows) > 0 {
		first := 0 // rows that left the list keep their numbers
		if n := len(s.Rows); n > 0 {
			first = s.Rows[n-1].number + 1
		}
		for i, r := range msg.rows {
			r.number = first + i
		}
		s.Rows = append(s.Rows, msg.rows...)
		s.Table.Set(s.Rows)
	}

	if !msg.more {
		return nil
	}

	return findNews(s.Request, msg.search)
}

const findPane = 6 // lines below the list for the message under the cursor

func (s *FindScreen) Prepare(width, height int) tea.Cmd {
	s.head = []string{s.headLine(width)}
	if s.Only.Group != nil {
		s.head = append(s.head, term.Strong.Render(term.Cut(" cause: "+s.Only.Words, width-1)))
	}
	s.head = append(s.head, s.missedLines(width, max(height/4, 3))...)
	s.Above = len(s.head)
	return nil
}

func (s *FindScreen) View(width, height int) string {
	head := s.head[:len(s.head):len(s.head)]
	most := max(height/3, findPane)
	rows := s.Share(height-len(head), height-len(head)-len(s.pane(width, most)))
	list := s.List.View(width, rows, []string{"", "   " + term.Muted.Render(s.Emptiness())})
	pane := s.pane(width, most) // it determines which rows are visible
	return term.Block(append(append(head, strings.Split(list, "\n")...), pane...), width, height)
}

func (s *FindScreen) headLine(width int) string {
	p := &s.progress
	found := model.Count(len(s.Rows)) + " found"
	if !s.Ended || len(s.Missed) > 0 {
		found = "≥ " + found
	}

	if s.Only.Group != nil && s.Ended && s.costly && len(s.Rows) == 0 {
		found = term.Warning.Render(model.Sayf("%v not read: a look costs, %s reads", s.Only.Messages,
			press.Insist.Help().Key))
	}

	left := " " + term.Title.Render(s.Title()) + "   " + found
	if p.Of > 0 {
		left += term.Muted.Render(model.Sayf("   %v message(s) read in %v of %v queue(s)", p.Read, p.Queues, p.Of))
	}

	right := ""
	switch {
	case s.Ended && s.stopped:
		right = term.Warning.Render("stopped ")
	case s.Ended && s.err != nil:
		right = term.Danger.Render("not complete ")
	case s.Ended:
		right = term.Muted.Render("complete ")
		if len(s.Missed) > 0 {
			right = term.Warning.Render("not all was read ")
		}
	case s.stopped:
		right = term.Warning.Render("stopping … ")
	case p.Rate() > 0:
		right = term.Accent.Render(model.Count(p.Rate()) + "/s … ")
	default:
		right = term.Accent.Render("searching … ")
	}

	return term.Spread(left, right, width)
}

func (s *FindScreen) Emptiness() string {
	switch {
	case s.Latest.Topology == nil:
		return "the broker has not been read yet"
	case !s.Ended:
		return "nothing found yet: failed queues are read first, then buffers, then the others"
	case s.Only.Group != nil && len(s.Missed) > 0:
		return "none of this cause in what was read"
	case s.Only.Group != nil:
		return "none of this cause is left"
	}

	return "nothing found"
}

func (s *FindScreen) pane(width, height int) []string {
	var lines []string
	if r, ok := s.Table.Current(); ok {
		id := ""
		if r.id != "" {
			id = "   " + r.id
		}
		lines = append(lines, term.Partition(r.queue+id, s.Table.Position(), width))
		where := ""
		if s.Only.Group == nil {
			where = term.Muted.Render(r.where + "   ")
		}
		lines = append(lines, "   "+where+r.before+term.Chosen.Render(r.found)+r.after)
	} else {
		lines = append(lines, s.Aimless("message", width)...)
	}

	if s.err != nil {
		lines = append(lines, shell.Indented(term.Danger, term.MarkError+" "+shell.ReadableError(s.err), width)...)
	}

	return lines[:min(len(lines), height)]
}

// missedLines returns what was not read, and why: there may be more than was found.
func (s *FindScreen) missedLines(width, height int) (lines []string) {
	for i := range s.Missed {
		text := "not read: " + model.Printable(s.Missed[i].Words())
		words := term.Wrap(text, width-6)
		if 2*len(s.Missed) > height {
			words = []string{term.Cut(text, width-6)}
		}

		if room := height - len(lines); len(words) > room || len(words) == room && i < len(s.Missed)-1 {
			more := model.Plural(len(s.Missed)-i, "more reason")
			return append(lines[:min(len(lines), height-1)], "   "+term.Warning.Render("not read: "+more))
		}

		for _, part := range words {
			lines = append(lines, "   "+term.Warning.Render(part))
		}
	}

	return lines
}

// NewScreenAt opens the messages of a queue with the cursor on one that was found. It reads enough of the queue to
// include this one, and shows those of a cause. then is done once they are read.
func NewScreenAt(e *shell.Env, hit *find.Hit, only OfCause, then afterLook) shell.Screen {
	s := NewCauseScreen(e, hit.Queue, only, peekFirst, then)
	for s.Limit < hit.Position && s.Limit < PeekMost {
		s.Limit = s.nextLimit()
	}
	s.sought = hit
	return s
}

// seek puts the cursor on the message that was found, if it is still there: of several equal ones, on the one nearest
// to its position.
func (s *Screen) seek() (missing bool) {
	hit := s.sought
	if hit == nil {
		return false
	}
	s.sought = nil
	best := -1
	for i, r := range s.Table.Shown {
		if r.Id.Fingerprint != hit.Fingerprint {
			continue
		}
		if best < 0 || distanceTo(r, hit.Position) < distanceTo(s.Table.Shown[best], hit.Position) {
			best = i
		}
	}

	if best < 0 {
		return true
	}
	s.Table.MoveTo(best)
	return false
}

func distanceTo(r *shell.MessageRow, position int) int {
	return max(int(r.Position)-position, position-int(r.Position))
}
