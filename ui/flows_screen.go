package ui

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/charmbracelet/bubbles/key"
	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/x/ansi"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/ui/picture"
	"github.com/dlxtop/dlxtop/ui/term"
)

// flowsScreen is the home: one row for each flow, and why the one at the cursor is as it is.
type flowsScreen struct {
	env    *env
	list   term.List[model.QueueRef, flowRow]
	latest topologyMsg
	moving movingFlow // the flow at the cursor
	drawn  bool       // its picture is on the screen
	beside int        // columns of the list that the flow at the cursor stands beside; 0: it stands below
	detail []string   // of the flow at the cursor, as prepared
}

func newFlowsScreen(e *env) screen {
	rows := term.NewTable(e.kit(), func(r flowRow) model.QueueRef { return r.flow.Worker.Queue }, worst, flowColumns(e)...)
	return flowsScreen{env: e, list: term.NewList(rows, func(r flowRow) []string {
		texts := []string{r.name}
		for _, ref := range r.flow.Queues() {
			texts = append(texts, ref.Name)
		}
		return texts
	})}
}

func flowColumns(e *env) []term.Column[flowRow] {
	s := e.styles
	return []term.Column[flowRow]{
		{Title: "", Width: 1, Cell: func(r flowRow) term.Field { return term.Field{Text: r.mark, Style: s.Mark(r.mark)} }},
		{
			Title: "FLOW", Width: 20, Flex: 4, Max: 44, Middle: true,
			Cell:    func(r flowRow) term.Field { return term.Field{Text: r.name, Style: s.Text} },
			Compare: func(a, b flowRow) int { return cmp.Compare(a.name, b.name) },
		},
		{
			Title: "WAITING", Width: 7, Right: true, Most: true,
			Cell:    func(r flowRow) term.Field { return number(s, r.waiting, s.Waiting) },
			Compare: func(a, b flowRow) int { return compareOpt(a.waiting, b.waiting) },
		},
		{
			Title: "BUFFERS", Width: 11, Flex: 3, Max: 30,
			Cell:    func(r flowRow) term.Field { return term.Field{Text: r.buffers, Style: s.Text} },
			Compare: func(a, b flowRow) int { return cmp.Compare(a.buffers, b.buffers) },
		},
		{
			Title: "NEXT DUE", Width: 10, Drop: 3,
			Cell: func(r flowRow) term.Field { return *r.due },
		},
		{
			Title: "MOVED/s", Width: 7, Right: true, Drop: 1, Most: true,
			Cell:    func(r flowRow) term.Field { return rate(s, r.moved) },
			Compare: func(a, b flowRow) int { return compareOpt(a.moved, b.moved) },
		},
		{
			Title: "CONSUMERS", Width: 9, Right: true,
			Cell: func(r flowRow) term.Field {
				if r.polled {
					return term.Field{Text: "polled", Style: s.Text}
				}
				if r.consumers.Or(1) == 0 {
					return term.Field{Text: "none !", Style: s.Danger}
				}
				return number(s, r.consumers, s.Text)
			},
			Compare: func(a, b flowRow) int { return compareOpt(a.consumers, b.consumers) },
		},
		{
			Title: "IN WORKER", Width: 9, Right: true, Drop: 2, Most: true,
			Cell:    func(r flowRow) term.Field { return readyField(s, r.ready, r.down, s.Text) },
			Compare: func(a, b flowRow) int { return compareOpt(a.ready, b.ready) },
		},
		{
			Title: "FAILED", Width: 6, Right: true, Most: true,
			Cell: func(r flowRow) term.Field {
				if len(r.flow.Failed) == 0 {
					return term.Field{Text: "-", Style: s.Muted}
				}
				return number(s, r.failed, s.Danger)
			},
			Compare: func(a, b flowRow) int { return compareOpt(a.failed, b.failed) },
		},
		{Title: "LAST 5 MIN", Width: trendSteps, Drop: 4, Cell: func(r flowRow) term.Field {
			return term.Field{Text: picture.Sparkline(r.trend), Style: s.Waiting}
		}},
	}
}

func (f flowsScreen) Init() tea.Cmd { return nil }

func (f flowsScreen) Title() string { return "flows" }

func (f flowsScreen) Typing() bool { return f.list.Filter.Typing }

// Keys depend on the flow at the cursor: without a failed queue there is nothing for "failed messages" to open.
func (f flowsScreen) Keys() []key.Binding {
	k := f.env.keys
	var own []key.Binding
	if r, ok := f.list.Table.Current(); ok {
		own = append(own, term.Describe(k.Open, "open the flow"))
		if len(r.flow.Failed) > 0 {
			own = append(own, k.Failed, k.Causes)
		}
	}
	return f.list.Bindings(own...)
}

func (f flowsScreen) Update(msg tea.Msg) (screen, tea.Cmd) {
	switch msg := msg.(type) {
	case topologyMsg:
		f.latest = msg
		cmd, now := f.moving.moved(msg), f.env.now()
		rows := make([]flowRow, len(msg.flows))
		for i := range msg.flows {
			rows[i] = f.rowOf(&msg.flows[i], &msg, now)
		}
		f.list.Table.Set(rows)
		return f, cmd
	case countedMsg:
		f.latest.topology = msg.topology
		before := f.moving.picture
		cmd := f.moving.moved(msg)
		if f.moving.picture != before {
			f.recount(msg)
		}
		return f, cmd
	case dotStepMsg:
		cmd := f.moving.moved(msg)
		return f, cmd
	case hideMsg:
		if msg.screen == f.Title() {
			f.list.Table.Hide(msg.titles)
		}
	case tea.KeyMsg:
		return f.handleKey(msg)
	}
	return f, nil
}

// rowOf is the row of a flow: that of the picture knows what the picture does.
func (f *flowsScreen) rowOf(flow *model.Flow, poll *topologyMsg, now time.Time) flowRow {
	if f.moving.flow != nil && flow.Worker.Queue == f.moving.worker {
		own := f.moving.live.into(*poll, now)
		poll = &own
	}
	return newFlowRow(flow, poll, now)
}

// recount brings the rows of the flows that have queues of the picture up to what is counted.
func (f *flowsScreen) recount(msg countedMsg) {
	rows, poll, now := slices.Clone(f.list.Table.All), f.latest, f.env.now()
	for i := range rows {
		flow := rows[i].flow
		if flow.Worker.Queue == f.moving.worker || slices.ContainsFunc(flow.Failed, func(m model.Member) bool {
			_, counted := msg.counts.Queues[m.Queue]
			return counted
		}) {
			rows[i] = f.rowOf(flow, &poll, now)
		}
	}
	f.list.Table.Set(rows)
}

// Rest implements resting.
func (f flowsScreen) Rest() screen {
	f.latest, f.moving, f.drawn = topologyMsg{}, movingFlow{}, false
	f.list.Table.Rest()
	return f
}

func (f flowsScreen) handleKey(msg tea.KeyMsg) (screen, tea.Cmd) {
	k := f.env.keys
	if f.list.Handle(msg) {
		return f, nil
	}
	r, ok := f.list.Table.Current()
	if !ok {
		return f, nil
	}
	switch {
	case term.Is(msg, k.Open):
		return f, push(newFlowScreen(f.env, r.flow.Worker.Queue))
	case term.Is(msg, k.Failed):
		if ref, ok := deepestFailed(f.latest.topology, r.flow); ok {
			return f, push(newMessagesScreen(f.env, ref))
		}
		return f, func() tea.Msg { return noticeMsg{text: "this flow has no failed queue"} }
	case term.Is(msg, k.Causes) && len(r.flow.Failed) > 0:
		return f, push(newFailedScreen(f.env, r.flow.Worker.Queue))
	}
	return f, nil
}

// deepestFailed is the failed queue of a flow that holds most.
func deepestFailed(t *model.Topology, flow *model.Flow) (ref model.QueueRef, ok bool) {
	most := int64(-1)
	for _, m := range flow.Failed {
		if n := readyOf(t, m.Queue).Or(0); n > most {
			ref, most, ok = m.Queue, n, true
		}
	}
	return ref, ok
}

const (
	sideBySide  = 160 // columns from which on the picture stands beside the list
	leastList   = 80  // columns of the list beside it: it has those that show all of it
	leastFlow   = 64  // columns of the flow beside the list
	mostPicture = 120 // columns of the picture beside it: more room is the list's
)

// listSize is the room of the list. The flow at the cursor has what is left: below it, or beside it.
func (f flowsScreen) listSize(width, height int) (columns, rows int) {
	if f.beside > 0 {
		return f.beside, f.list.Rows(height, 0)
	}
	return width, f.list.Rows(height, min(height/2, 13))
}

// Prepare works out when the next messages of the flows that are seen are due, and draws the flow at the cursor.
func (f flowsScreen) Prepare(width, height int) (screen, tea.Cmd) {
	now := f.env.shown
	if f.beside = max(width-1-mostPicture, leastList, f.list.Table.Need(height)); width < sideBySide ||
		width-1-f.beside < leastFlow {
		f.beside = 0
	}
	columns, rows := f.listSize(width, height)
	for _, r := range f.list.Seen(rows) {
		*r.due = dueField(f.env.styles, r.poll.soonest(r.flow, now), now)
	}
	cmd := f.follow()
	if f.beside > 0 {
		f.detail = f.about(width-columns-1, height)
	} else {
		f.detail = f.about(width, height-rows)
	}
	return f, cmd
}

// follow makes the picture that of the flow at the cursor.
func (f *flowsScreen) follow() tea.Cmd {
	r, ok := f.list.Table.Current()
	if !ok || f.moving.env != nil && r.flow.Worker.Queue == f.moving.worker {
		return nil
	}
	f.moving = newMovingFlow(f.env, r.flow.Worker.Queue)
	return f.moving.moved(f.latest)
}

// watched are the queues of the picture, while it is seen.
func (f flowsScreen) watched() (declare, totals []model.QueueRef) {
	if !f.drawn {
		return nil, nil
	}
	return f.moving.watched()
}

func (f flowsScreen) View(width, height int) string {
	if len(f.list.Table.All) == 0 {
		return f.list.View(width, height, f.empty(width))
	}
	columns, rows := f.listSize(width, height)
	list := f.list.View(columns, rows, nil)
	if f.beside == 0 {
		return term.Below(list, f.detail, width, height)
	}
	return term.Beside(f.env.styles, term.Block(strings.Split(list, "\n"), columns, height),
		term.Block(f.detail, width-columns-1, height))
}

// about is the flow at the cursor: its picture, what is wrong with it, and, with room to spare, its queues with the
// reasons for their parts. Without room for the picture it is these.
func (f *flowsScreen) about(width, height int) []string {
	s := f.env.styles
	r, ok := f.list.Table.Current()
	f.drawn = false
	if !ok {
		return f.list.Aimless("flow", width)
	}
	lines := []string{term.Partition(s, r.name, f.list.Table.Position(), width)}
	found := findingLines(s, r.findings, width)
	if f.moving.seen() {
		if sc := f.moving.scene(width, height-len(lines)-1); sc.Canvas.Height+len(lines)+1 <= height {
			f.drawn = true
			lines = append(lines, f.moving.dots.Draw(sc).Render(s, 0, sc.Canvas.Height)...)
		}
	}
	for blank(lines[len(lines)-1]) {
		lines = lines[:len(lines)-1]
	}
	if len(found) > 0 && f.drawn && len(lines)+1+len(found) <= height {
		lines = append(lines, "")
	}
	lines = append(lines, found...)
	parts := flowParts(s, f.latest.topology, r.flow)
	for _, full := range []bool{true, false} {
		if more := partLines(s, parts, width, full); len(lines)+1+len(more) <= height || !full && !f.drawn {
			lines = append(append(lines, ""), more...)
			break
		}
	}
	if len(lines) > height {
		lines = append(lines[:max(height-1, 0)], "   "+s.Muted.Render("… more: enter opens the flow, 4 has all findings"))
	}
	return lines
}

// blank reports whether nothing is seen of a line.
func blank(line string) bool { return strings.TrimSpace(ansi.Strip(line)) == "" }

// empty says what was looked at, what a flow is, and where to see some.
func (f flowsScreen) empty(width int) []string {
	s := f.env.styles
	var queues, exchanges int
	where := "every vhost that this user may see"
	if t := f.latest.topology; t != nil {
		queues, exchanges = len(t.Snapshot.Queues), len(t.Snapshot.Exchanges)
		if len(t.Snapshot.VHosts) == 1 {
			where = "vhost " + model.Printable(t.Snapshot.VHosts[0])
		}
	}
	lines := []string{"", "   " + s.Strong.Render("No flows here."), ""}
	for _, text := range []string{
		fmt.Sprintf("Looked at %s and %s in %s.", model.Plural(queues, "queue"), model.Plural(exchanges, "exchange"), where),
		"",
		"A flow is a worker's queue with the buffers whose messages expire into it through a dead-letter exchange, " +
			"and the queues " +
			"where its failures end.",
		"",
		"2 shows all queues.",
		"To see flows without a broker of your own, run: dlxtop demo",
	} {
		if text == "" {
			lines = append(lines, "")
		}
		for _, line := range term.Wrap(text, width-6) {
			lines = append(lines, "   "+line)
		}
	}
	return lines
}

// Columns implements columned.
func (f flowsScreen) Columns() (titles, hidden []string) { return f.list.Table.Hideable() }

// List implements columned.
func (f flowsScreen) List(width, height int) string { return f.list.View(width, height, nil) }

// Click implements clickable.
func (f flowsScreen) Click(x, y int) (screen, bool) {
	again := f.list.Table.Click(x, y)
	return f, again
}
