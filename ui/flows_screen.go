package ui

import (
	"cmp"
	"fmt"

	"github.com/charmbracelet/bubbles/key"
	tea "github.com/charmbracelet/bubbletea"

	"dlxtop/model"
)

// flowsScreen is the home: one row for each flow, and why the one at the cursor is as it is.
type flowsScreen struct {
	env    *env
	list   list[model.QueueRef, flowRow]
	latest topologyMsg
}

func newFlowsScreen(e *env) screen {
	rows := newTable(e, func(r flowRow) model.QueueRef { return r.flow.Worker.Queue }, worst, flowColumns(e)...)
	return flowsScreen{env: e, list: newList(e, rows, func(r flowRow) []string {
		texts := []string{r.name}
		for _, ref := range r.flow.Queues() {
			texts = append(texts, ref.Name)
		}
		return texts
	})}
}

func flowColumns(e *env) []column[flowRow] {
	s := e.styles
	return []column[flowRow]{
		{title: "", width: 1, cell: func(r flowRow) field { return field{r.mark, s.mark(r.mark)} }},
		{
			title: "FLOW", width: 14, flex: 4, max: 44, middle: true,
			cell:    func(r flowRow) field { return field{r.name, s.Text} },
			compare: func(a, b flowRow) int { return cmp.Compare(a.name, b.name) },
		},
		{
			title: "WAITING", width: 7, right: true, most: true,
			cell:    func(r flowRow) field { return number(s, r.waiting, s.Waiting) },
			compare: func(a, b flowRow) int { return compareOpt(a.waiting, b.waiting) },
		},
		{
			title: "BUFFERS", width: 11, flex: 3, max: 30,
			cell:    func(r flowRow) field { return field{r.buffers, s.Text} },
			compare: func(a, b flowRow) int { return cmp.Compare(a.buffers, b.buffers) },
		},
		{title: "NEXT DUE", width: 10, drop: 3, cell: func(r flowRow) field { return dueField(s, r.poll.soonest(r.flow, e.now()), e.now()) }},
		{
			title: "MOVED/s", width: 7, right: true, drop: 1, most: true,
			cell:    func(r flowRow) field { return rate(s, r.moved) },
			compare: func(a, b flowRow) int { return compareOpt(a.moved, b.moved) },
		},
		{
			title: "CONSUMERS", width: 9, right: true,
			cell: func(r flowRow) field {
				if r.consumers.Or(1) == 0 {
					return field{"none !", s.Danger}
				}
				return number(s, r.consumers, s.Text)
			},
			compare: func(a, b flowRow) int { return compareOpt(a.consumers, b.consumers) },
		},
		{
			title: "IN WORKER", width: 9, right: true, drop: 2, most: true,
			cell:    func(r flowRow) field { return number(s, r.ready, s.Text) },
			compare: func(a, b flowRow) int { return compareOpt(a.ready, b.ready) },
		},
		{
			title: "FAILED", width: 6, right: true, most: true,
			cell: func(r flowRow) field {
				if len(r.flow.Failed) == 0 {
					return field{"-", s.Muted}
				}
				return number(s, r.failed, s.Danger)
			},
			compare: func(a, b flowRow) int { return compareOpt(a.failed, b.failed) },
		},
		{title: "LAST 5 MIN", width: trendSteps, drop: 4, cell: func(r flowRow) field {
			return field{sparkline(r.trend), s.Waiting}
		}},
	}
}

func (f flowsScreen) Init() tea.Cmd { return nil }

func (f flowsScreen) Title() string { return "flows" }

func (f flowsScreen) Typing() bool { return f.list.filter.typing }

// Keys depend on the flow at the cursor: without a failed queue there is nothing for "failed messages" to open.
func (f flowsScreen) Keys() []key.Binding {
	k := f.env.keys
	var own []key.Binding
	if r, ok := f.list.table.current(); ok {
		own = append(own, describe(k.Open, "open the flow"))
		if len(r.flow.Failed) > 0 {
			own = append(own, k.Failed)
		}
	}
	return f.list.bindings(own...)
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
		f.list.table.set(rows)
	case tea.KeyMsg:
		return f.handleKey(msg)
	}
	return f, nil
}

func (f flowsScreen) handleKey(msg tea.KeyMsg) (screen, tea.Cmd) {
	k := f.env.keys
	if f.list.handle(msg) {
		return f, nil
	}
	r, ok := f.list.table.current()
	if !ok {
		return f, nil
	}
	switch {
	case is(msg, k.Open):
		return f, push(newFlowScreen(f.env, r.flow.Worker.Queue))
	case is(msg, k.Failed):
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

func (f flowsScreen) View(width, height int) string {
	if len(f.list.table.all) == 0 {
		return f.list.view(width, height, f.empty(width))
	}
	rows := f.list.rows(height, min(height/2, 13))
	return f.list.view(width, rows, nil) + "\n" + block(f.detail(width, height-rows), width, height-rows)
}

// detail says why the flow at the cursor is as it is: its findings, and its queues with the reasons for their parts.
func (f flowsScreen) detail(width, height int) []string {
	s := f.env.styles
	r, ok := f.list.table.current()
	if !ok {
		return f.list.aimless("flow", width)
	}
	lines := append([]string{partition(s, r.name, f.list.table.position(), width)}, findingLines(s, r.findings, width)...)
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
		"A flow is a worker's queue with the buffers whose messages expire into it through a dead-letter exchange, and the queues " +
			"where its failures end.",
		"",
		"2 shows all queues.",
		"To see flows without a broker of your own, run: dlxtop demo",
	} {
		if text == "" {
			lines = append(lines, "")
		}
		for _, line := range wrap(text, width-6) {
			lines = append(lines, "   "+line)
		}
	}
	return lines
}
