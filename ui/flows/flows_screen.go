// Package flows is the screens of flows: the list of them, one as a picture that moves, and the findings.
package flows

import (
	"slices"
	"strings"
	"time"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/x/ansi"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/polls"
	"github.com/dlxtop/dlxtop/ui/causes"
	"github.com/dlxtop/dlxtop/ui/messages"
	"github.com/dlxtop/dlxtop/ui/picture"
	"github.com/dlxtop/dlxtop/ui/press"
	"github.com/dlxtop/dlxtop/ui/shell"
	"github.com/dlxtop/dlxtop/ui/term"
)

// flowsScreen is the home screen: one row for each flow, and why the one at the cursor is as it is.
type flowsScreen struct {
	shell.Listing[model.QueueRef, shell.FlowRow]
	moving movingFlow // the flow at the cursor
	drawn  bool       // its picture is on the screen
	beside int        // columns of the list with the flow at the cursor beside it; 0: the flow is below
	detail []string   // about the flow at the cursor, as prepared
}

func NewFlowsScreen(e *shell.Env) shell.Screen {
	worker := func(r shell.FlowRow) model.QueueRef { return r.Flow.Worker.Queue }
	texts := func(r shell.FlowRow) []string {
		texts := []string{r.Name}
		for _, ref := range r.Flow.Queues() {
			texts = append(texts, ref.Name)
		}
		return texts
	}

	f := &flowsScreen{Listing: shell.NewListing(e, "flows", worker, shell.Worst, texts,
		func(r shell.FlowRow) []any { return flowCells(r) },
		term.Columns(`
			:           1
			FLOW:      20 flex 4 max 44 middle sorts
			WAITING:    7 right most waiting
			BUFFERS:   11 flex 3 max 30 sorts
			NEXT DUE:  10 drop 3
			MOVED/s:    7 drop 1 right most
			CONSUMERS:  9 right sorts
			IN WORKER:  9 drop 2 right most
			FAILED:     6 right most
			LAST 5 MIN: 12 drop 4 waiting
		`))}
	f.Hides, f.Own, f.Polled = true, f.keys, f.rows
	return f
}

func flowCells(r shell.FlowRow) []any {
	consumers := term.Number(r.Consumers, term.Text)
	switch {
	case r.Polled:
		consumers.Text, consumers.Style = "polled", term.Text
	case r.Consumers.Or(1) == 0:
		consumers.Text, consumers.Style = "none !", term.Danger
	}

	failed := term.Number(r.Failed, term.Danger)
	if len(r.Flow.Failed) == 0 {
		failed = term.Muted.Span("-")
	}

	return []any{
		term.StyleOf(r.Mark).Span(r.Mark),
		r.Name,
		r.Waiting,
		r.Buffers,
		*r.Due,
		r.Moved,
		consumers,
		shell.ReadyField(r.Ready, r.Down, term.Text),
		failed,
		picture.Sparkline(r.Trend),
	}
}

func (f *flowsScreen) keys() []term.Key {
	r, ok := f.Table.Current()
	open := func(screen func(*shell.Env, model.QueueRef) shell.Screen) func() tea.Cmd {
		return func() tea.Cmd { return shell.Push(screen(f.Env, r.Flow.Worker.Queue)) }
	}
	why := noFailed(r.Flow)
	return []term.Key{
		term.On(press.Open, "open what is under the cursor", open(NewFlowScreen)).As("open the flow").When(ok),
		shell.Unless(why, term.On(press.Failed, "the failed messages of this flow", func() tea.Cmd {
			return shell.Push(messages.NewScreen(f.Env, deepestFailed(f.Latest.Topology, r.Flow)))
		})).When(ok),
		shell.Unless(why, term.On(press.Causes, "what failed in this flow, and why", open(causes.NewFailedScreen))).When(ok),
	}
}

func (f *flowsScreen) Update(msg tea.Msg) (cmd tea.Cmd) {
	switch msg := msg.(type) {
	case shell.RestMsg:
		f.moving, f.drawn = movingFlow{}, false
	case shell.TopologyMsg, dotStepMsg:
		cmd = f.moving.moved(msg)
	case shell.CountedMsg:
		f.Latest.Topology = msg.Topology
		before := f.moving.picture
		cmd = f.moving.moved(msg)
		if f.moving.picture != before {
			f.recount(msg)
		}
	}

	return tea.Batch(cmd, f.Listing.Update(msg))
}

func (f *flowsScreen) rows(msg shell.TopologyMsg) []shell.FlowRow {
	now := f.Env.Now()
	return model.Mapped(msg.Flows, func(flow *model.Flow) shell.FlowRow { return f.rowOf(flow, &msg, now) })
}

// rowOf returns the row of a flow: the one in the picture agrees with the picture.
func (f *flowsScreen) rowOf(flow *model.Flow, poll *shell.TopologyMsg, now time.Time) shell.FlowRow {
	if f.moving.Flow != nil && flow.Worker.Queue == f.moving.Worker {
		own := f.moving.into(*poll, now)
		poll = &own
	}

	return shell.NewFlowRow(flow, poll, now)
}

// recount updates the rows of flows that share counted queues with the picture.
func (f *flowsScreen) recount(msg shell.CountedMsg) {
	rows := slices.Clone(f.Table.All)
	poll := f.Latest
	now := f.Env.Now()
	for i := range rows {
		flow := rows[i].Flow
		if flow.Worker.Queue == f.moving.Worker || slices.ContainsFunc(flow.Failed, func(m model.Member) bool {
			_, counted := msg.Counts.Queues[m.Queue]
			return counted
		}) {
			rows[i] = f.rowOf(flow, &poll, now)
		}
	}

	f.Table.Set(rows)
}

// deepestFailed returns the failed queue of a flow with the most messages.
func deepestFailed(t *model.Topology, flow *model.Flow) (ref model.QueueRef) {
	most := int64(-1)
	for _, m := range flow.Failed {
		if n := polls.ReadyOf(t, m.Queue).Or(0); n > most {
			ref, most = m.Queue, n
		}
	}

	return ref
}

const (
	sideBySide  = 160 // columns from which the picture is beside the list
	leastList   = 80  // columns of the list beside it, with the essential columns
	leastFlow   = 64  // columns of the flow beside the list
	mostPicture = 120 // columns of the picture beside it: more room goes to the list
)

// listSize returns the room of the list. The flow at the cursor has the rest: below it, or beside it.
func (f *flowsScreen) listSize(width, height int) (columns, rows int) {
	if f.beside > 0 {
		return f.beside, f.Rows(height, 0)
	}
	return width, f.Rows(height, min(height/2, 13))
}

// Prepare works out when the next messages of the visible flows are due, and draws the flow at the cursor.
func (f *flowsScreen) Prepare(width, height int) tea.Cmd {
	now := f.Env.Shown
	if f.beside = max(width-1-mostPicture, leastList, f.Table.Need(height)); width < sideBySide ||
		width-1-f.beside < leastFlow {
		f.beside = 0
	}

	columns, rows := f.listSize(width, height)
	for _, r := range f.Seen(rows) {
		*r.Due = shell.DueField(r.Poll.Seen().Soonest(r.Flow, now), now)
	}

	var cmd tea.Cmd
	if r, ok := f.Table.Current(); ok && (f.moving.env == nil || r.Flow.Worker.Queue != f.moving.Worker) {
		f.moving = newMovingFlow(f.Env, r.Flow.Worker.Queue)
		cmd = f.moving.moved(f.Latest)
	}

	if f.beside > 0 {
		f.detail = f.about(width-columns-1, height)
	} else {
		f.detail = f.about(width, height-rows)
	}

	return cmd
}

// Watched returns the queues of the picture, while it is visible.
func (f *flowsScreen) Watched() (declare, totals []model.QueueRef) {
	if !f.drawn {
		return nil, nil
	}
	return f.moving.Watched()
}

func (f *flowsScreen) View(width, height int) string {
	if len(f.Table.All) == 0 {
		return f.List.View(width, height, f.empty(width))
	}
	columns, rows := f.listSize(width, height)
	list := f.List.View(columns, rows, nil)
	if f.beside == 0 {
		return term.Below(list, f.detail, width, height)
	}

	return term.Beside(term.Block(strings.Split(list, "\n"), columns, height),
		term.Block(f.detail, width-columns-1, height))
}

// about returns the flow at the cursor: its picture, what is wrong with it, and, if there is room, its queues with the
// reasons for their parts. Without room for the picture it is only these.
func (f *flowsScreen) about(width, height int) []string {
	r, ok := f.Table.Current()
	f.drawn = false
	if !ok {
		return f.Aimless("flow", width)
	}
	lines := []string{term.Partition(r.Name, f.Table.Position(), width)}
	found := shell.FindingLines(r.Findings, width)
	if f.moving.seen() {
		if sc := f.moving.scene(width, height-len(lines)-1); sc.Canvas.Height+len(lines)+1 <= height {
			f.drawn = true
			lines = append(lines, f.moving.dots.Draw(sc).Render(0, sc.Canvas.Height)...)
		}
	}

	for strings.TrimSpace(ansi.Strip(lines[len(lines)-1])) == "" {
		lines = lines[:len(lines)-1]
	}
	if len(found) > 0 && f.drawn && len(lines)+1+len(found) <= height {
		lines = append(lines, "")
	}

	lines = append(lines, found...)
	parts := flowParts(f.Latest.Topology, r.Flow)
	for _, full := range []bool{true, false} {
		if more := partLines(parts, width, full); len(lines)+1+len(more) <= height || !full && !f.drawn {
			lines = append(append(lines, ""), more...)
			break
		}
	}

	if len(lines) > height {
		lines = append(lines[:max(height-1, 0)], "   "+term.Muted.Render("… more: enter opens the flow, 4 has all findings"))
	}

	return lines
}

func (f *flowsScreen) empty(width int) []string {
	var queues, exchanges int
	where := "every vhost that this user may see"
	if t := f.Latest.Topology; t != nil {
		queues = len(t.Snapshot.Queues)
		exchanges = len(t.Snapshot.Exchanges)
		if len(t.Snapshot.VHosts) == 1 {
			where = "vhost " + model.Printable(t.Snapshot.VHosts[0])
		}
	}

	lines := []string{"", "   " + term.Strong.Render("No flows here."), ""}
	for _, text := range []string{
		model.Sayf("Looked at %v queue(s) and %v exchange(s) in %s.", queues, exchanges, where),
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
		lines = append(lines, shell.Indented(term.Text, text, width)...)
	}

	return lines
}
