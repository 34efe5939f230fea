package causes

import (
	"github.com/charmbracelet/bubbles/key"
	tea "github.com/charmbracelet/bubbletea"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/cause"
	"github.com/dlxtop/dlxtop/ui/messages"
	"github.com/dlxtop/dlxtop/ui/shell"
	"github.com/dlxtop/dlxtop/ui/term"
)

// failedScreen shows what failed: the causes of the messages in all failed queues, or in those of one flow, and on a
// key the queues. It reads while it is seen, and only then.
type failedScreen struct {
	env     *shell.Env
	worker  model.QueueRef // of the one flow; zero: of all
	latest  shell.TopologyMsg
	queues  failedQueues
	causes  causesList
	reading *Reading   // changed in Update and Prepare only
	listed  bool       // the queues are seen, not the causes
	sorting bool       // what was agreed to is read: then the causes are sorted
	noting  *causeNote // a note is typed; nil: none is
}

func NewFailedScreen(e *shell.Env, worker model.QueueRef) shell.Screen {
	return failedScreen{
		env: e, worker: worker, queues: newFailedQueues(e), causes: newCausesList(e), reading: NewReading(e),
	}
}

// seen is the list that is seen.
func (f *failedScreen) seen() shell.List {
	if f.listed {
		return &f.queues.Listing
	}
	return &f.causes.Listing
}

func (f failedScreen) Title() string { return f.seen().Title() }

func (f failedScreen) Typing() bool { return f.reading.Asks || f.noting != nil || f.seen().Typing() }

func (f failedScreen) Rests() {}

func (f failedScreen) Clicked() bool { return f.seen().Clicked() }

func (f failedScreen) Columns() (titles, hidden []string) { return f.seen().Columns() }

func (f failedScreen) Listed(width, height int) string { return f.seen().Listed(width, height) }

// Keys are those of the list that is seen.
func (f failedScreen) Keys() []key.Binding {
	k := f.env.Keys
	var own []key.Binding
	if f.listed {
		if _, ok := f.queues.Table.Current(); ok {
			own = append(own, term.Describe(k.Open, "messages"))
		}
		return f.queues.Bindings(append(own, term.Describe(k.Failed, "causes"))...)
	}
	switch {
	case f.noting != nil:
		return []key.Binding{k.Accept, k.Cancel}
	case f.reading.Asks:
		return []key.Binding{term.Describe(k.Confirm, "read them"), k.Cancel}
	}
	_, current := f.causes.Table.Current()
	if current {
		own = append(own, term.Describe(k.Open, "messages"))
	}
	own = append(own, term.Describe(k.Failed, "queues"))
	if len(f.reading.Costly()) > 0 {
		own = append(own, term.Describe(k.Insist, "read"))
	}
	if current {
		own = append(append(own, messages.CauseKeys(k)...), k.Resolve, k.Ignore, k.Note)
	}
	if f.reading.More() > 0 {
		own = append(own, term.Describe(k.More, "read more"))
	}
	return f.causes.Bindings(append(own, k.Peek)...)
}

func (f failedScreen) Update(msg tea.Msg) (shell.Screen, tea.Cmd) {
	switch msg := msg.(type) {
	case shell.TopologyMsg:
		f.latest = msg
		rows := FailedRows(msg, f.worker)
		f.queues.polled(rows)
		f.reading.Polled(msg.Topology, rows)
	case ReadMsg:
		if f.reading.Answered(msg) {
			if f.sorting && !f.reading.asked() {
				f.sorting = false
				f.causes.sort(f.reading)
			}
			f.causes.set(f.reading)
			if f.reading.own {
				f.causes.Table.Regain()
			}
			return f, f.env.Marks.Take(msg.Marks)
		}
	case shell.HideMsg:
		f.queues.Handle(msg)
		f.causes.Handle(msg)
	case shell.ClickMsg:
		f.seen().Handle(msg)
	case shell.RestMsg: // what was read of the queues stays
		f.latest = shell.TopologyMsg{}
		f.queues.Table.Rest()
	case tea.KeyMsg:
		if f.listed {
			return f.queueKey(msg)
		}
		return f.causeKey(msg)
	}
	return f, nil
}

// queueKey takes a key while the queues are seen.
func (f failedScreen) queueKey(msg tea.KeyMsg) (shell.Screen, tea.Cmd) {
	if f.queues.Handle(msg) {
		return f, nil
	}
	k := f.env.Keys
	r, ok := f.queues.Table.Current()
	switch {
	case term.Is(msg, k.Failed):
		f.listed = false
	case ok && term.Is(msg, k.Open):
		return f, shell.Push(messages.NewScreen(f.env, r.Queue))
	}
	return f, nil
}

// causeKey takes a key while the causes are seen.
func (f failedScreen) causeKey(msg tea.KeyMsg) (shell.Screen, tea.Cmd) {
	k := f.env.Keys
	row, current := f.causes.Table.Current()
	asked := f.reading.Asks
	switch {
	case f.noting != nil:
		return f.noteKey(msg)
	case !f.reading.Asks && f.causes.Handle(msg):
	case f.reading.Press(msg):
		f.sorting = f.sorting || asked && term.Is(msg, k.Confirm)
	case term.Is(msg, k.Failed):
		f.listed = true
	case term.Is(msg, k.Peek):
		f.reading.again()
		f.causes.sort(f.reading)
	case current && term.Is(msg, k.Resolve):
		return f, f.env.Marks.Turn(f.latest.Topology, &row.Group, cause.Resolved)
	case current && term.Is(msg, k.Ignore):
		return f, f.env.Marks.Turn(f.latest.Topology, &row.Group, cause.Ignored)
	case current && term.Is(msg, k.Note):
		f.noting = newCauseNote(f.env, row)
	case current && term.Is(msg, k.Open), current && messages.CauseAction(k, msg) != nil:
		return f, f.open(row, msg)
	}
	return f, nil
}

// open opens the messages of a cause, and does what the key does with them.
func (f failedScreen) open(row causeRow, msg tea.KeyMsg) tea.Cmd {
	only, seen := messages.OfCause{Group: &row.Group, Words: row.text}, f.env.Marks.Open(f.latest.Topology, &row.Group)
	var opened shell.Screen
	if len(row.Queues) == 1 {
		ref := row.Queues[0].Of
		opened = messages.NewCauseScreen(f.env, ref, only, f.reading.limitOf(ref), messages.CauseAction(f.env.Keys, msg))
	} else if opened = actOnCause(f.env, row, f.reading.limitOf, msg); opened == nil {
		opened = newCauseMessagesScreen(f.env, row, f.reading.limitOf)
	}
	return tea.Batch(shell.Push(opened), seen)
}

// noteKey takes a key while a note is typed.
func (f failedScreen) noteKey(msg tea.KeyMsg) (shell.Screen, tea.Cmd) {
	k, noting := f.env.Keys, f.noting
	switch {
	case term.Is(msg, k.Accept):
		f.noting = nil
		return f, f.env.Marks.Note(f.latest.Topology, &noting.row.Group, noting.field.Text())
	case term.Is(msg, k.Cancel):
		f.noting = nil
	default:
		next := *noting
		next.field.Update(msg)
		f.noting = &next
	}
	return f, nil
}

// Prepare reads on, and works out what is drawn: what is not seen is not read.
func (f failedScreen) Prepare(width, height int) (shell.Screen, tea.Cmd) {
	if f.latest.Topology == nil || len(f.reading.Order) == 0 {
		return f, nil
	}
	var cmd tea.Cmd
	if !f.listed {
		cmd = f.reading.Next(f.env.Shown)
		f.causes.settle(f.reading, f.env.Shown)
		f.causes.prepare(f.reading, width, height)
	}
	return f, cmd
}

func (f failedScreen) View(width, height int) string {
	switch {
	case len(f.queues.Table.All) == 0:
		return term.Block(f.empty(width), width, height)
	case f.listed:
		return f.queues.view(width, height)
	}
	page := f.causes.view(f.reading, width, height)
	if f.reading.Asks {
		return term.Overlay(f.env.Styles, page, CostDialog(f.env.Styles, f.reading.Costly(), width), width, height)
	}
	if f.noting != nil {
		return term.Overlay(f.env.Styles, page, f.noting.view(f.env.Styles, width), width, height)
	}
	return page
}

func (f failedScreen) empty(width int) []string {
	s := f.env.Styles
	text := "A failed queue is where the failures of a worker end for a person to look at: a parking lot, an error " +
		"queue, a DLQ. " +
		"None of the flows has one, so what their workers reject is lost or comes back for ever. 1 shows the flows."
	if f.worker != (model.QueueRef{}) {
		text = "This flow has no failed queue any more."
	}
	if len(f.latest.Flows) == 0 {
		text = "There are no flows here, so there is nothing whose failures could end in one."
	}
	return append([]string{"", "   " + s.Strong.Render("No failed queues."), ""},
		shell.Indented(term.Style{}, text, width)...)
}
