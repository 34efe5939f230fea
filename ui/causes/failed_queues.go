package causes

import (
	"cmp"
	"slices"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/ui/shell"
	"github.com/dlxtop/dlxtop/ui/term"
)

// failedQueues lists failed queues, those with messages first.
type failedQueues struct {
	shell.Listing[model.QueueRef, failedRow]
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
	looks     shell.LooksField
}

func newFailedQueues(e *shell.Env) failedQueues {
	q := failedQueues{shell.NewListing(e, "failed", func(r failedRow) model.QueueRef { return r.Queue }, fullestFirst,
		func(r failedRow) []string { return []string{r.name, r.flowName} }, failedColumns(e.Styles, false)...)}
	q.Hides = true
	return q
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
	type column = term.Column[failedRow]
	columns := []column{
		column{Title: "FAILED QUEUE", Width: 24, Flex: 3, Max: 52, Middle: true}.
			Name(&s.Text, func(r failedRow) string { return r.name }),
		{
			Title: "MESSAGES", Width: 9, Right: true, Most: true,
			Cell:    func(r failedRow) term.Field { return shell.ReadyField(s, r.ready, r.down, s.Danger) },
			Compare: func(a, b failedRow) int { return shell.CompareOpt(a.ready, b.ready) },
		},
		shell.Rates(column{Title: "IN/s", Width: 7, Right: true, Most: true}, s,
			func(r failedRow) model.Opt[float64] { return r.in }),
		column{Title: "OF FLOW", Width: 16, Flex: 2, Max: 40, Middle: true}.
			Name(&s.Text, func(r failedRow) string { return r.flowName }),
		{
			Title: "CONSUMERS", Width: 9, Right: true, Drop: 1,
			Cell: func(r failedRow) term.Field { return shell.NumberField(s, r.consumers, s.Text) },
		},
		column{Title: "TYPE", Width: 9, Drop: 2}.Text(&s.Muted, func(r failedRow) string { return r.kind }),
	}
	if limited {
		columns = append(columns, term.Column[failedRow]{
			Title: "LOOKS LEFT", Width: 10, Right: true,
			Cell:    func(r failedRow) term.Field { return r.looks.Field(s) },
			Compare: func(a, b failedRow) int { return cmp.Compare(a.looks.Left, b.looks.Left) },
		})
	}
	return columns
}

// polled takes a poll: rows are the failed queues by now.
func (f *failedQueues) polled(rows []failedRow) {
	f.Table.SetColumns(failedColumns(f.Env.Styles, slices.ContainsFunc(rows,
		func(r failedRow) bool { return r.looks.Counts })))
	f.Table.Set(rows)
}

// FailedRows are the failed queues, those of one worker's flow when it is given: one that several flows share is named
// with the first of them and how many more, one that all share by its framework's custom belongs to none.
func FailedRows(msg shell.TopologyMsg, worker model.QueueRef) []failedRow {
	var rows []failedRow
	for _, ref := range FailedRefs(msg, worker) {
		rows = append(rows, failedRowOf(ref, msg))
	}
	return rows
}

// FailedRefs are the failed queues by topology and names, and those in which a look found failures; of one worker's
// flow when it is given.
func FailedRefs(msg shell.TopologyMsg, worker model.QueueRef) []model.QueueRef {
	if worker != (model.QueueRef{}) {
		var refs []model.QueueRef
		if flow, ok := msg.Topology.FlowOf(worker); ok {
			for _, m := range flow.Failed {
				refs = append(refs, m.Queue)
			}
		}
		return refs
	}
	refs := msg.Topology.FailedQueues()
	for i := range msg.Topology.Snapshot.Queues {
		q := &msg.Topology.Snapshot.Queues[i]
		if msg.Looks.Failed(msg.Topology, q) != "" && !slices.Contains(refs, q.QueueRef) {
			refs = append(refs, q.QueueRef)
		}
	}
	return refs
}

// failedRowOf finds out why a queue is a failed queue, and of which flow.
func failedRowOf(ref model.QueueRef, msg shell.TopologyMsg) failedRow {
	var row failedRow
	flows := 0
	for _, flow := range msg.Topology.FlowsOf(ref) {
		for _, m := range flow.Failed {
			if m.Queue != ref {
				continue
			}
			if flows++; flows == 1 {
				row = newFailedRow(m, model.Printable(flow.Worker.Queue.String()), msg)
			}
		}
	}
	if flows > 1 {
		row.flowName += " and " + model.Count(int64(flows-1)) + " more"
	}
	if flows > 0 {
		return row
	}
	for _, m := range msg.Topology.FailedWithoutFlow() {
		if m.Queue == ref {
			return newFailedRow(m, "-", msg)
		}
	}
	why := ""
	if q, ok := msg.Topology.Queue(ref); ok {
		why = msg.Looks.Failed(msg.Topology, q)
	}
	return newFailedRow(model.Member{Queue: ref, Reason: why}, "-", msg)
}

func newFailedRow(m model.Member, flowName string, msg shell.TopologyMsg) failedRow {
	r := failedRow{
		Member: m, name: model.Printable(m.Queue.String()), flowName: flowName, kind: "?",
		in: msg.Moves[m.Queue].In, looks: shell.NewLooksField(msg.Topology, m.Queue),
	}
	if q, ok := msg.Topology.Queue(m.Queue); ok {
		r.ready, r.consumers, r.kind, r.down = q.Ready, q.Consumers, queueRow{Queue: q}.kind(), q.Outage() != model.NoOutage
	}
	return r
}

func (f *failedQueues) view(width, height int) string {
	rows := f.Rows(height, 3)
	return term.Below(f.List.View(width, rows, nil), f.detail(width), width, height)
}

// detail tells why the queue at the cursor is a failed queue.
func (f *failedQueues) detail(width int) []string {
	s := f.Env.Styles
	r, ok := f.Table.Current()
	if !ok {
		return f.Aimless("queue", width)
	}
	l := shell.NewPaneLines(s, width)
	l.Say("why here", model.Printable(r.Reason), term.Style{})
	return append([]string{term.Partition(s, r.name, f.Table.Position(), width)}, l.Indented()...)
}
