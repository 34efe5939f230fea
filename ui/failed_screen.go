package ui

import (
	"cmp"
	"slices"

	"github.com/charmbracelet/bubbles/key"
	tea "github.com/charmbracelet/bubbletea"

	"dlxtop/model"
	"dlxtop/ui/term"
)

// failedScreen lists the failed queues of all flows, the fullest first.
type failedScreen struct {
	env    *env
	list   term.List[model.QueueRef, failedRow]
	latest topologyMsg
}

type failedRow struct {
	model.Member
	name      string // printable
	flowName  string // printable; "-" when it belongs to none
	ready     model.Opt[int64]
	consumers model.Opt[int64]
	kind      string
	down      bool // nobody can use it now
	in        model.Opt[float64]
	looks     looksField
}

func newFailedScreen(e *env) screen {
	rows := term.NewTable(e.kit(), func(r failedRow) model.QueueRef { return r.Queue }, fullestFirst,
		failedColumns(e.styles, false)...)
	return failedScreen{env: e, list: term.NewList(rows,
		func(r failedRow) []string { return []string{r.name, r.flowName} })}
}

// fullestFirst puts queues with messages before empty ones, then goes by name: exact counts would make rows change
// places.
func fullestFirst(a, b failedRow) int {
	empty := func(r failedRow) int {
		if r.ready.Or(1) == 0 {
			return 1
		}
		return 0
	}
	return cmp.Or(cmp.Compare(empty(a), empty(b)), cmp.Compare(a.name, b.name))
}

// failedColumns are the columns; limited adds how many looks are left, which only some versions limit.
func failedColumns(s *term.Styles, limited bool) []term.Column[failedRow] {
	columns := []term.Column[failedRow]{
		{
			Title: "FAILED QUEUE", Width: 24, Flex: 3, Max: 52, Middle: true,
			Cell:    func(r failedRow) term.Field { return term.Field{Text: r.name, Style: s.Text} },
			Compare: func(a, b failedRow) int { return cmp.Compare(a.name, b.name) },
		},
		{
			Title: "MESSAGES", Width: 9, Right: true, Most: true,
			Cell:    func(r failedRow) term.Field { return readyField(s, r.ready, r.down, s.Danger) },
			Compare: func(a, b failedRow) int { return compareOpt(a.ready, b.ready) },
		},
		{
			Title: "IN/s", Width: 7, Right: true, Most: true,
			Cell:    func(r failedRow) term.Field { return rate(s, r.in) },
			Compare: func(a, b failedRow) int { return compareOpt(a.in, b.in) },
		},
		{
			Title: "OF FLOW", Width: 16, Flex: 2, Max: 40, Middle: true,
			Cell:    func(r failedRow) term.Field { return term.Field{Text: r.flowName, Style: s.Text} },
			Compare: func(a, b failedRow) int { return cmp.Compare(a.flowName, b.flowName) },
		},
		{
			Title: "CONSUMERS", Width: 9, Right: true, Drop: 1,
			Cell: func(r failedRow) term.Field { return number(s, r.consumers, s.Text) },
		},
		{
			Title: "TYPE", Width: 9, Drop: 2,
			Cell: func(r failedRow) term.Field { return term.Field{Text: r.kind, Style: s.Muted} },
		},
	}
	if limited {
		columns = append(columns, term.Column[failedRow]{
			Title: "LOOKS LEFT", Width: 10, Right: true,
			Cell:    func(r failedRow) term.Field { return r.looks.field(s) },
			Compare: func(a, b failedRow) int { return cmp.Compare(a.looks.left, b.looks.left) },
		})
	}
	return columns
}

func (f failedScreen) Init() tea.Cmd { return nil }

func (f failedScreen) Title() string { return "failed" }

func (f failedScreen) Typing() bool { return f.list.Filter.Typing }

// Keys are those of a list whose rows are failed queues.
func (f failedScreen) Keys() []key.Binding {
	if _, ok := f.list.Table.Current(); ok {
		return f.list.Bindings(term.Describe(f.env.keys.Open, "messages"))
	}
	return f.list.Bindings()
}

func (f failedScreen) Update(msg tea.Msg) (screen, tea.Cmd) {
	switch msg := msg.(type) {
	case topologyMsg:
		f.latest = msg
		rows := failedRows(msg)
		f.list.Table.SetColumns(failedColumns(f.env.styles, slices.ContainsFunc(rows,
			func(r failedRow) bool { return r.looks.counts })))
		f.list.Table.Set(rows)
	case hideMsg:
		if msg.screen == f.Title() {
			f.list.Table.Hide(msg.titles)
		}
	case tea.KeyMsg:
		if f.list.Handle(msg) {
			return f, nil
		}
		if r, ok := f.list.Table.Current(); ok && term.Is(msg, f.env.keys.Open) {
			return f, push(newMessagesScreen(f.env, r.Queue))
		}
	}
	return f, nil
}

// failedRows are the failed queues, each once: one that several flows share is named with the first of them and how
// many more, one that all share by its framework's custom belongs to none.
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
		at[m.Queue] = len(rows)
		rows = append(rows, newFailedRow(m, "-", msg))
	}
	for i := range msg.topology.Snapshot.Queues {
		q := &msg.topology.Snapshot.Queues[i]
		_, listed := at[q.QueueRef]
		if why := msg.looks.failed(msg.topology, q); why != "" && !listed {
			rows = append(rows, newFailedRow(model.Member{Queue: q.QueueRef, Reason: why}, "-", msg))
		}
	}
	return rows
}

func newFailedRow(m model.Member, flowName string, msg topologyMsg) failedRow {
	r := failedRow{
		Member: m, name: model.Printable(m.Queue.String()), flowName: flowName, kind: "?",
		in: msg.moves[m.Queue].In, looks: newLooksField(msg.topology, m.Queue),
	}
	if q, ok := msg.topology.Queue(m.Queue); ok {
		r.ready, r.consumers, r.kind, r.down = q.Ready, q.Consumers, queueRow{Queue: q}.kind(), q.Outage() != model.NoOutage
	}
	return r
}

func (f failedScreen) View(width, height int) string {
	if len(f.list.Table.All) == 0 {
		return f.list.View(width, height, f.empty(width))
	}
	rows := f.list.Rows(height, 3)
	return f.list.View(width, rows, nil) + "\n" + term.Block(f.detail(width), width, height-rows)
}

// detail tells why the queue at the cursor is a failed queue.
func (f failedScreen) detail(width int) []string {
	s := f.env.styles
	r, ok := f.list.Table.Current()
	if !ok {
		return f.list.Aimless("queue", width)
	}
	lines := []string{term.Partition(s, r.name, f.list.Table.Position(), width)}
	for i, line := range term.Wrap(model.Printable(r.Reason), width-16) {
		name := ""
		if i == 0 {
			name = "why here"
		}
		lines = append(lines, "   "+s.Muted.Render(term.Fit(name, 10, false, false))+line)
	}
	return lines
}

func (f failedScreen) empty(width int) []string {
	s := f.env.styles
	lines := []string{"", "   " + s.Strong.Render("No failed queues."), ""}
	text := "A failed queue is where the failures of a worker end for a person to look at: a parking lot, an error " +
		"queue, a DLQ. " +
		"None of the flows has one, so what their workers reject is lost or comes back for ever. 1 shows the flows."
	if len(f.latest.flows) == 0 {
		text = "There are no flows here, so there is nothing whose failures could end in one."
	}
	for _, line := range term.Wrap(text, width-6) {
		lines = append(lines, "   "+line)
	}
	return lines
}
