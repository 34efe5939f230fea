package causes

import (
	"cmp"
	"context"
	"slices"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/cause"
	"github.com/dlxtop/dlxtop/ui/messages"
	"github.com/dlxtop/dlxtop/ui/press"
	"github.com/dlxtop/dlxtop/ui/shell"
	"github.com/dlxtop/dlxtop/ui/term"
)

// failedScreen shows what failed: the causes of the messages in all failed queues, or in those of one flow, and on a
// key the queues. It reads only while it is visible.
type failedScreen struct {
	*Reading                  // only changed in Update and Prepare, as the lists are
	shell.List                // the visible one
	worker     model.QueueRef // of the one flow; zero: of all
	latest     shell.TopologyMsg
	queues     shell.Listing[model.QueueRef, failedRow]
	causes     *causesList
	onQueues   bool       // the queues are shown, not the causes
	sorting    bool       // reading continues after the user agreed: then the causes are sorted
	noting     *causeNote // a note being typed; nil: none
}

func NewFailedScreen(e *shell.Env, worker model.QueueRef) shell.Screen {
	reading := NewReading(e)
	reading.all = worker == (model.QueueRef{})
	f := &failedScreen{Reading: reading, worker: worker, queues: newFailedQueues(e), causes: newCausesList(e)}
	f.causes.Own, f.queues.Own = f.causeKeys, f.queueKeys
	f.turn(false)
	return f
}

func (f *failedScreen) Title() string {
	if f.worker == (model.QueueRef{}) {
		return f.List.Title()
	}

	return f.List.Title() + " of " + f.worker.Printable()
}

// turn shows the queues, or the causes.
func (f *failedScreen) turn(queues bool) {
	f.onQueues, f.List = queues, &f.causes.Listing
	if queues {
		f.List = &f.queues
	}
}

func (f *failedScreen) Typing() bool { return f.Asking() || f.noting != nil || f.List.Typing() }

func (f *failedScreen) Rests() {}

func (f *failedScreen) Keys() []term.Key {
	switch {
	case f.noting != nil:
		return []term.Key{term.On(press.Accept, "", f.keepNote), term.On(press.Cancel, "", func() { f.noting = nil })}
	case f.Asking():
		return f.Reading.Keys()
	}

	return f.List.Keys()
}

func (f *failedScreen) causeKeys() []term.Key {
	row, current := f.causes.Table.Current()
	is := oneCause{f.Env, row.OfCause, f.limitOf}
	open := func(wish messages.Wish) tea.Cmd { return f.open(is, &wish) }
	of := append(messages.CauseKeys(f.Env, open),
		is.resolve(&f.latest),
		term.On(press.Ignore, "ignore it; again: do not ignore it", func() tea.Cmd {
			return f.Env.Marks.Turn(f.latest.Topology, row.Group, cause.Ignored)
		}),
		term.On(press.Note, "a note of one line", func() {
			f.noting = &causeNote{row, term.NewTextField(f.Env.Marks.States.Of(row.ID).Note)}
		}))

	for i := range of {
		of[i] = of[i].When(current)
	}

	keys := slices.Concat([]term.Key{
		term.On(press.Open, "the messages that failed for this cause, in all its queues", func() tea.Cmd {
			return f.open(is, nil)
		}).As("messages").When(current),
		term.On(press.Failed, "the failed queues; there, the causes again", func() { f.turn(true) }).As("queues"),
	}, f.Reading.Keys(), of)

	limited := len(f.of((*Queue).counts)) > 0
	keys = append(keys,
		term.On(press.Looks, "when looks begin that use up a delivery limit", func() { f.asks, f.asked = asksConsent, nil }).
			When(limited),
		term.On(press.Copy, "before anything was read: copy the command that makes looks free", f.copyCommands).
			As("copy the command").When(len(f.of((*Queue).endangers)) > 0 && !current))

	keys = append(keys, f.consents()...)
	return append(keys, term.On(press.Peek, "read the queues again", func() {
		f.rereadFree()
		f.causes.sort(f.Reading)
	}))
}

func (f *failedScreen) queueKeys() []term.Key {
	r, ok := f.queues.Table.Current()
	return []term.Key{
		term.On(press.Open, "open what is under the cursor", shell.Opening(messages.NewScreen, f.Env, r.Member.Queue)).
			As("messages").When(ok),
		term.On(press.Failed, "the causes again", func() { f.turn(false) }).As("causes"),
	}
}

func (f *failedScreen) Update(msg tea.Msg) (cmd tea.Cmd) {
	switch msg := msg.(type) {
	case shell.TopologyMsg:
		f.latest = msg
		refs := FailedRefs(msg, f.worker)
		rows := model.Mapped(refs, func(ref *model.QueueRef) failedRow { return failedRowOf(*ref, msg) })

		f.queues.Table.SetColumns(failedColumns(slices.ContainsFunc(rows,
			func(r failedRow) bool { return r.looks.Counts })))
		f.queues.Table.Set(rows)

		rested := f.topology == nil
		f.Polled(msg.Topology, refs)
		if rested { // a look that was answered meanwhile could not name the workers
			f.causes.set(f.Reading)
		}
	case ReadMsg:
		if f.Answered(msg) {
			if f.sorting && !slices.ContainsFunc(f.Order, func(q *Queue) bool { return q.Wanted }) {
				f.sorting = false
				f.causes.sort(f.Reading)
			}

			f.causes.set(f.Reading)
			if f.own {
				f.causes.Table.Regain()
			}
			cmd = f.Env.Marks.Take(msg.Marks)
		}
	case shell.HideMsg:
		f.queues.Update(msg)
		f.causes.Update(msg)
	case shell.ClickMsg:
		f.List.Update(msg)
	case shell.RestMsg: // what was read of the queues stays
		f.latest = shell.TopologyMsg{}
		f.queues.Table.Rest()
		f.rest()
	case tea.KeyMsg:
		cmd = f.pressed(msg)
	}

	return cmd
}

func (f *failedScreen) pressed(msg tea.KeyMsg) tea.Cmd {
	asked, keys := f.Asking(), f.Keys()
	f.causes.aimed = f.causes.aimed || !f.onQueues
	switch {
	case f.noting != nil && !term.Offers(keys, msg):
		f.noting.field.Update(msg)
		return nil
	case f.noting == nil && !asked:
		return f.List.Update(msg)
	}

	cmd, _ := term.Press(keys, msg)
	f.sorting = f.sorting || asked && !f.Asking()
	return cmd
}

// copyCommands copies the commands that make looks free.
func (f *failedScreen) copyCommands() tea.Cmd {
	commands := f.commands()
	if commands == "" {
		return nil
	}
	out := f.Env.ToClipboard()
	return f.Env.Command(0, func(context.Context) tea.Msg { return shell.CopyText(out, "the command", commands) })
}

// open opens the messages of a cause, or what acts on all of them.
func (f *failedScreen) open(is oneCause, wish *messages.Wish) tea.Cmd {
	seen := f.Env.Marks.Open(f.latest.Topology, is.Group)
	var opened shell.Screen
	switch {
	case len(is.Queues) == 1:
		opened = is.open(is.Queues[0].Of, wish).Asking()
	case wish != nil:
		opened = actOnCause(is, *wish)
	default:
		opened = newCauseMessagesScreen(is)
	}

	return tea.Batch(shell.Push(opened), seen)
}

func (f *failedScreen) keepNote() tea.Cmd {
	noting := f.noting
	f.noting = nil
	return f.Env.Marks.Note(f.latest.Topology, noting.row.Group, noting.field.Text())
}

// Prepare reads on, and works out what is drawn: queues that are not visible are not read.
func (f *failedScreen) Prepare(width, height int) tea.Cmd {
	if f.latest.Topology == nil || len(f.Order) == 0 {
		return nil
	}
	var cmd tea.Cmd
	if !f.onQueues {
		cmd = f.Next(f.Env.Shown)
		f.AskOnce()
		f.causes.settle(f.Reading, f.Env.Shown)
		f.causes.prepare(f.Reading, width, height)
	}

	return cmd
}

func (f *failedScreen) View(width, height int) string {
	switch {
	case len(f.queues.Table.All) == 0:
		return term.Block(f.empty(width), width, height)
	case f.onQueues:
		rows := f.queues.Rows(height, 3)
		pane := f.queues.Pane("queue", width, func(r failedRow, l *shell.DialogLines) string {
			l.Say("why here", r.Reason)
			return r.name
		})
		return term.Below(f.queues.List.View(width, rows, nil), pane, width, height)
	}

	page := f.causes.view(f.Reading, width, height)
	if f.Asking() {
		return f.Env.Overlay(page, f.Dialog(width), width, height)
	}
	if f.noting != nil {
		return f.Env.Overlay(page, f.noting.view(width, f.Keys()), width, height)
	}

	return page
}

func (f *failedScreen) empty(width int) []string {
	text := "A failed queue is where the failures of a worker end for a person to look at: a parking lot, an error " +
		"queue, a DLQ. " +
		"None of the flows has one, so what their workers reject is lost or comes back for ever. 1 shows the flows."
	if f.worker != (model.QueueRef{}) {
		text = "This flow has no failed queue any more."
	}
	if len(f.latest.Flows) == 0 {
		text = "There are no flows here, so there is nothing whose failures could end in one."
	}
	if t := f.latest.Topology; t != nil && len(t.Abandoned()) > 0 {
		abandoned := t.Abandoned()
		text = "Nothing consumes " + model.Names(abandoned) + ": if failures end there, say so in the configuration " +
			"([roles], \"failed\")."
	}

	return shell.EmptyPage("No failed queues.", text, width)
}

type failedRow struct {
	model.Member
	queueRow
	flowName string // printable; "-" without a flow
	looks    shell.LooksField
}

func newFailedQueues(e *shell.Env) shell.Listing[model.QueueRef, failedRow] {
	ref := func(r failedRow) model.QueueRef { return r.Member.Queue }
	q := shell.NewListing(e, "failed", ref, fullestFirst,
		func(r failedRow) []string { return []string{r.name, r.flowName} },
		func(r failedRow) []any { return r.cells() }, failedColumns(false))
	q.Hides = true
	return q
}

// fullestFirst puts queues with messages before empty ones, then sorts by name: with exact counts rows would swap
// places.
func fullestFirst(a, b failedRow) int {
	some := func(r failedRow) int64 { return min(r.Ready.Or(1), 1) }
	return cmp.Or(cmp.Compare(some(b), some(a)), cmp.Compare(a.name, b.name))
}

// failedColumns returns the columns; limited adds the remaining looks, which only some versions limit.
func failedColumns(limited bool) []term.Column {
	looks := ""
	if limited {
		looks = "LOOKS LEFT: 10 right sorts"
	}

	return term.Columns(`
		FAILED QUEUE: 24 flex 3 max 52 middle sorts
		MESSAGES:      9 right most
		IN/s:          7 right most
		OF FLOW:      16 flex 2 max 40 middle sorts
		CONSUMERS:     9 drop 1 right
		TYPE:          9 drop 2 muted
	` + looks)
}

func (r failedRow) cells() []any {
	return []any{
		r.name,
		r.readyField(term.Danger),
		r.moves.In,
		r.flowName,
		r.Consumers,
		r.kind(),
		r.looks.Field().By(float64(r.looks.Left)),
	}
}

// FailedRefs returns the failed queues by topology and names, and those in which a look found failures; or those of one
// worker's flow.
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
	for q := range model.Each(msg.Topology.Snapshot.Queues) {
		if msg.Looks.Failed(msg.Topology, q) != "" && !slices.Contains(refs, q.QueueRef) {
			refs = append(refs, q.QueueRef)
		}
	}

	return refs
}

// failedRowOf finds out why a queue is a failed queue, and of which flow: one that several flows share is named with
// the first of them and how many more there are, one that all share by a framework's convention belongs to none.
func failedRowOf(ref model.QueueRef, msg shell.TopologyMsg) failedRow {
	var row failedRow
	flows := 0
	for _, flow := range msg.Topology.FlowsOf(ref) {
		for _, m := range flow.Failed {
			if m.Queue != ref {
				continue
			}
			if flows++; flows == 1 {
				row = newFailedRow(m, flow.Worker.Queue.Printable(), msg)
			}
		}
	}

	if flows > 1 {
		row.flowName += model.Sayf(" and %v more", flows-1)
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
	q, ok := msg.Topology.Queue(m.Queue)
	if !ok {
		q = &model.Queue{}
	}
	row := queueRow{Queue: q, name: m.Queue.Printable(), moves: msg.Moves[m.Queue]}
	return failedRow{m, row, flowName, shell.NewLooksField(msg.Topology, m.Queue)}
}

type causeNote struct {
	row   causeRow
	field term.TextField
}

func (n *causeNote) view(width int, keys []term.Key) string {
	l := shell.NewDialogLines(width)
	l.Say("cause", n.row.Words, term.Strong)
	l.Say("note", "one line, kept beside the journal; an empty one removes it", term.Muted)
	l.Field(&n.field)
	l.Blank()
	l.Keys(keys...)
	return l.Box("Note")
}
