package ui

import (
	"cmp"
	"fmt"

	"github.com/charmbracelet/bubbles/key"
	tea "github.com/charmbracelet/bubbletea"

	"dlxtop/model"
	"dlxtop/ui/picture"
	"dlxtop/ui/term"
)

// flowsScreen is the home: one row for each flow, and why the one at the cursor is as it is.
type flowsScreen struct {
	env    *env
	list   term.List[model.QueueRef, flowRow]
	latest topologyMsg
	below  []string // of the flow at the cursor, as prepared
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
			Title: "FLOW", Width: 14, Flex: 4, Max: 44, Middle: true,
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
			own = append(own, k.Failed)
		}
	}
	return f.list.Bindings(own...)
}

func (f flowsScreen) Update(msg tea.Msg) (screen, tea.Cmd) {
	switch msg := msg.(type) {
	case topologyMsg:
		f.latest = msg
		now := f.env.now()
		rows := make([]flowRow, len(msg.flows))
		for i := range msg.flows {
			rows[i] = newFlowRow(&msg.flows[i], msg, now)
		}
		f.list.Table.Set(rows)
	case tea.KeyMsg:
		return f.handleKey(msg)
	}
	return f, nil
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

// rows are the lines of the list.
func (f *flowsScreen) rows(height int) int { return f.list.Rows(height, min(height/2, 13)) }

// Prepare works out when the next messages of the flows that are seen are due, and tells of the one at the cursor.
func (f flowsScreen) Prepare(width, height int) (screen, tea.Cmd) {
	now := f.env.shown
	for _, r := range f.list.Seen(f.rows(height)) {
		*r.due = dueField(f.env.styles, r.poll.soonest(r.flow, now), now)
	}
	f.below = f.detail(width, height-f.rows(height))
	return f, nil
}

func (f flowsScreen) View(width, height int) string {
	if len(f.list.Table.All) == 0 {
		return f.list.View(width, height, f.empty(width))
	}
	rows := f.rows(height)
	return f.list.View(width, rows, nil) + "\n" + term.Block(f.below, width, height-rows)
}

// detail says why the flow at the cursor is as it is: its findings, and its queues with the reasons for their parts.
func (f flowsScreen) detail(width, height int) []string {
	s := f.env.styles
	r, ok := f.list.Table.Current()
	if !ok {
		return f.list.Aimless("flow", width)
	}
	lines := append([]string{term.Partition(s, r.name, f.list.Table.Position(), width)},
		findingLines(s, r.findings, width)...)
	if len(lines) > 1 {
		lines = append(lines, "")
	}
	parts := flowParts(s, f.latest.topology, r.flow)
	if full := partLines(s, parts, width, true); len(lines)+len(full) <= height {
		return append(lines, full...)
	}
	lines = append(lines, partLines(s, parts, width, false)...)
	if len(lines) > height {
		lines = append(lines[:height-1], "   "+s.Muted.Render("… more: enter opens the flow, 4 has all findings"))
	}
	return lines
}

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
