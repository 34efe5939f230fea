package ui

import (
	"cmp"

	"github.com/charmbracelet/bubbles/key"
	tea "github.com/charmbracelet/bubbletea"

	"dlxtop/model"
)

// failedScreen lists the failed queues of all flows, the fullest first.
type failedScreen struct {
	env    *env
	list   list[model.QueueRef, failedRow]
	latest topologyMsg
}

type failedRow struct {
	model.Member
	name      string // printable
	flowName  string // printable; "-" when it belongs to none
	ready     model.Opt[int64]
	consumers model.Opt[int64]
	kind      string
	in        model.Opt[float64]
}

func newFailedScreen(e *env) screen {
	rows := newTable(e, func(r failedRow) model.QueueRef { return r.Queue }, fullestFirst, failedColumns(e.styles)...)
	return failedScreen{env: e, list: newList(e, rows, func(r failedRow) []string { return []string{r.name, r.flowName} })}
}

// fullestFirst puts queues with messages before empty ones, then goes by name: exact counts would make rows change places.
func fullestFirst(a, b failedRow) int {
	empty := func(r failedRow) int {
		if r.ready.Or(1) == 0 {
			return 1
		}
		return 0
	}
	return cmp.Or(cmp.Compare(empty(a), empty(b)), cmp.Compare(a.name, b.name))
}

func failedColumns(s *Styles) []column[failedRow] {
	return []column[failedRow]{
		{
			title: "FAILED QUEUE", width: 24, flex: 3, max: 52, middle: true,
			cell:    func(r failedRow) field { return field{r.name, s.Text} },
			compare: func(a, b failedRow) int { return cmp.Compare(a.name, b.name) },
		},
		{
			title: "MESSAGES", width: 9, right: true, most: true,
			cell:    func(r failedRow) field { return number(s, r.ready, s.Danger) },
			compare: func(a, b failedRow) int { return compareOpt(a.ready, b.ready) },
		},
		{
			title: "IN/s", width: 7, right: true, most: true,
			cell:    func(r failedRow) field { return rate(s, r.in) },
			compare: func(a, b failedRow) int { return compareOpt(a.in, b.in) },
		},
		{
			title: "OF FLOW", width: 16, flex: 2, max: 40, middle: true,
			cell:    func(r failedRow) field { return field{r.flowName, s.Text} },
			compare: func(a, b failedRow) int { return cmp.Compare(a.flowName, b.flowName) },
		},
		{title: "CONSUMERS", width: 9, right: true, drop: 1, cell: func(r failedRow) field { return number(s, r.consumers, s.Text) }},
		{title: "TYPE", width: 9, drop: 2, cell: func(r failedRow) field { return field{r.kind, s.Muted} }},
	}
}

func (f failedScreen) Init() tea.Cmd { return nil }

func (f failedScreen) Title() string { return "failed" }

func (f failedScreen) Typing() bool { return f.list.filter.typing }

// Keys are those of a list whose rows are failed queues.
func (f failedScreen) Keys() []key.Binding {
	if _, ok := f.list.table.current(); ok {
		return f.list.bindings(describe(f.env.keys.Open, "messages"))
	}
	return f.list.bindings()
}

func (f failedScreen) Update(msg tea.Msg) (screen, tea.Cmd) {
	switch msg := msg.(type) {
	case topologyMsg:
		f.latest = msg
		f.list.table.set(failedRows(msg))
	case tea.KeyMsg:
		if f.list.handle(msg) {
			return f, nil
		}
		if r, ok := f.list.table.current(); ok && is(msg, f.env.keys.Open) {
			return f, push(newMessagesScreen(f.env, r.Queue))
		}
	}
	return f, nil
}

// failedRows are the failed queues, each once: one that several flows share is named with the first of them and how many more,
// one that all share by its framework's custom belongs to none.
func failedRows(msg topologyMsg) []failedRow {
	at := map[model.QueueRef]int{}
	more := map[model.QueueRef]int{}
	var rows []failedRow
	for i := range msg.flows {
		flow := &msg.flows[i]
		for _, m := range flow.Failed {
			if _, ok := at[m.Queue]; ok {
				more[m.Queue]++
				continue
			}
			at[m.Queue] = len(rows)
			rows = append(rows, newFailedRow(m, model.Printable(flow.Worker.Queue.String()), msg))
		}
	}
	for ref, n := range more {
		rows[at[ref]].flowName += " and " + model.Count(int64(n)) + " more"
	}
	for _, m := range msg.topology.FailedWithoutFlow() {
		rows = append(rows, newFailedRow(m, "-", msg))
	}
	return rows
}

func newFailedRow(m model.Member, flowName string, msg topologyMsg) failedRow {
	r := failedRow{Member: m, name: model.Printable(m.Queue.String()), flowName: flowName, kind: "?", in: msg.moves[m.Queue].In}
	if q, ok := msg.topology.Queue(m.Queue); ok {
		r.ready, r.consumers, r.kind = q.Ready, q.Consumers, queueRow{Queue: q}.kind()
	}
	return r
}

func (f failedScreen) View(width, height int) string {
	if len(f.list.table.all) == 0 {
		return f.list.view(width, height, f.empty(width))
	}
	rows := f.list.rows(height, 3)
	return f.list.view(width, rows, nil) + "\n" + block(f.detail(width), width, height-rows)
}

// detail tells why the queue at the cursor is a failed queue.
func (f failedScreen) detail(width int) []string {
	s := f.env.styles
	r, ok := f.list.table.current()
	if !ok {
		return f.list.aimless("queue", width)
	}
	lines := []string{partition(s, r.name, f.list.table.position(), width)}
	for i, line := range wrap(model.Printable(r.Reason), width-16) {
		name := ""
		if i == 0 {
			name = "why here"
		}
		lines = append(lines, "   "+s.Muted.Render(fit(name, 10, false, false))+line)
	}
	return lines
}

func (f failedScreen) empty(width int) []string {
	s := f.env.styles
	lines := []string{"", "   " + s.Strong.Render("No failed queues."), ""}
	text := "A failed queue is where the failures of a worker end for a person to look at: a parking lot, an error queue, a DLQ. " +
		"None of the flows has one, so what their workers reject is lost or comes back for ever. 1 shows the flows."
	if len(f.latest.flows) == 0 {
		text = "There are no flows here, so there is nothing whose failures could end in one."
	}
	for _, line := range wrap(text, width-6) {
		lines = append(lines, "   "+line)
	}
	return lines
}
