package ui

import (
	"context"
	"fmt"
	"strings"

	"github.com/charmbracelet/bubbles/key"
	tea "github.com/charmbracelet/bubbletea"

	"dlxtop/model"
)

// undoScreen shows how an action would be taken back, does it, and tells what came of it.
type undoScreen struct {
	env      *env
	id       int64 // of the record; 0 is the last action on this broker
	topology *model.Topology
	state    dialogState
	insist   bool
	plan     model.UndoPlan
	name     textField // what is typed, when the queue's name is asked for
	request  request
	stop     context.CancelFunc
	feed     *progressFeed
	account  model.Account
	err      error
}

// undoPlannedMsg brings the plan of an undo.
type undoPlannedMsg struct {
	request request
	plan    model.UndoPlan
	err     error
}

func newUndoScreen(e *env, id int64) screen {
	return undoScreen{env: e, id: id, state: dialogPlanning, name: newTextField("")}
}

// undo opens the undo of the last action.
func (a app) undo() (tea.Model, tea.Cmd) {
	if a.env.journal == nil {
		a.notice = noticeMsg{text: "there is no journal to undo from: dlxtop was started with --no-journal", bad: true}
		return a, nil
	}
	if _, open := a.top().(undoScreen); open {
		return a, nil
	}
	return a.push(newUndoScreen(a.env, 0))
}

func (u undoScreen) Init() tea.Cmd { return nil }

func (u undoScreen) Title() string { return "undo" }

// Typing keeps every key here: none of them may lead away while something is asked or runs.
func (u undoScreen) Typing() bool { return u.state == dialogAsking && u.typed() || u.Busy() }

// Busy reports whether ctrl-c stops the undo instead of the program.
func (u undoScreen) Busy() bool { return u.state == dialogRunning }

func (u *undoScreen) typed() bool {
	n := u.plan.Planned()
	return u.forbidden() == "" && (n > typedAbove || n > 1 && u.env.production)
}

func (u *undoScreen) ready() bool {
	return u.state == dialogAsking && u.forbidden() == "" && (!u.typed() || u.name.text() == u.plan.Back.Name)
}

func (u *undoScreen) forbidden() string {
	switch {
	case u.err != nil:
		return u.err.Error()
	case u.env.readOnly:
		return readOnlyWords
	}
	return u.plan.Refusal
}

func (u undoScreen) Keys() []key.Binding {
	k := u.env.keys
	switch u.state {
	case dialogAsking:
		if u.ready() {
			return []key.Binding{describe(k.Confirm, "bring back"), k.Cancel}
		}
		if u.canInsist() {
			return []key.Binding{k.Insist, k.Cancel}
		}
	case dialogRunning:
		return []key.Binding{describe(k.Cancel, "stop"), describe(k.ForceQuit, "stop")}
	case dialogEnded:
		return []key.Binding{describe(k.Confirm, "close"), describe(k.Cancel, "close")}
	}
	return []key.Binding{k.Cancel}
}

// canInsist: what is refused for another reason than the queue's or the record's state can be insisted on.
func (u *undoScreen) canInsist() bool {
	return u.err == nil && !u.env.readOnly && !u.insist && strings.Contains(u.plan.Refusal, "insist")
}

func (u undoScreen) Update(msg tea.Msg) (screen, tea.Cmd) {
	switch msg := msg.(type) {
	case topologyMsg:
		if first := u.topology == nil; first {
			u.topology = msg.topology
			return u.replan()
		}
	case undoPlannedMsg:
		if msg.request == u.request && u.state == dialogPlanning {
			u.plan, u.err, u.state = msg.plan, msg.err, dialogAsking
		}
	case progressMsg:
		if msg.request == u.request && u.state != dialogEnded {
			u.account = msg.account
			return u, u.feed.next(u.request)
		}
	case executedMsg:
		if msg.request == u.request && u.state != dialogEnded {
			u.stop()
			u.account, u.err, u.state = msg.account, msg.err, dialogEnded
		}
	case tea.KeyMsg:
		return u.handleKey(msg)
	}
	return u, nil
}

func (u undoScreen) handleKey(msg tea.KeyMsg) (screen, tea.Cmd) {
	k := u.env.keys
	switch u.state {
	case dialogRunning:
		if is(msg, k.Cancel) || is(msg, k.ForceQuit) {
			u.state = dialogStopping
			u.stop()
		}
	case dialogStopping:
	case dialogAsking:
		switch {
		case is(msg, k.Cancel):
			return u, pop
		case is(msg, k.Confirm) && u.ready():
			return u.run()
		case is(msg, k.Insist) && u.canInsist():
			u.insist = true
			return u.replan()
		case u.typed():
			u.name.update(msg)
		}
	default:
		if is(msg, k.Cancel) || u.state == dialogEnded && is(msg, k.Confirm) {
			return u, pop
		}
	}
	return u, nil
}

// replan makes the plan: it reads the journal, and looks into the queue when it is not certain what is there.
func (u undoScreen) replan() (screen, tea.Cmd) {
	u.state, u.request = dialogPlanning, u.env.newRequest()
	e, id, t, request, insist := u.env, u.id, u.topology, u.request, u.insist
	return u, e.command(0, func(ctx context.Context) tea.Msg {
		plan, err := planUndo(ctx, e, t, id, insist)
		return undoPlannedMsg{request, plan, err}
	})
}

func planUndo(ctx context.Context, e *env, t *model.Topology, id int64, insist bool) (model.UndoPlan, error) {
	record, err := recordToUndo(ctx, e, id)
	if err != nil {
		return model.UndoPlan{}, err
	}
	want := model.UndoWant{Record: record, User: e.broker.User(), Broker: e.broker.Address(), Insist: insist, Entries: e.entries(ctx, record.ID)}
	plan, err := t.PlanUndo(want)
	if err != nil || plan.Uncertain == 0 {
		return plan, err
	}
	there := map[model.Fingerprint]int{}
	stopped, err := e.broker.Read(ctx, t.PlanPeek(record.From, model.PeekWant{Insist: insist, ForAction: true}), func(m *model.Message) error {
		there[m.Fingerprint]++
		return nil
	})
	if err != nil || stopped != "" {
		return plan, nil // which says that nobody could look
	}
	want.There = there
	return t.PlanUndo(want)
}

// recordToUndo is the record with this number; 0 is the last one on this broker of which something can be taken back.
func recordToUndo(ctx context.Context, e *env, id int64) (model.Record, error) {
	if id > 0 {
		return e.journal.Record(ctx, id)
	}
	records, err := e.journal.Records(ctx, shownRecords)
	if err != nil {
		return model.Record{}, err
	}
	for _, r := range records {
		done := r.Account.Moved + r.Account.Dropped + r.Uncertain()
		if r.Operation != model.Undo && r.Operation != model.Import && r.Broker == e.broker.Address() && done > r.Undone {
			return r, nil
		}
	}
	return model.Record{}, fmt.Errorf("nothing was done on this broker that could be undone")
}

// entries reads the entries of a record.
func (e *env) entries(ctx context.Context, id int64) func(func(*model.Entry) error) error {
	return func(each func(*model.Entry) error) error { return e.journal.Entries(ctx, id, each) }
}

// run starts the undo. From here on no key starts it again.
func (u undoScreen) run() (screen, tea.Cmd) {
	u.state, u.request = dialogRunning, u.env.newRequest()
	u.account = model.Account{Operation: model.Undo, From: u.plan.Back, Planned: u.plan.Planned()}
	ctx, stop := context.WithCancel(context.Background())
	u.stop, u.feed = stop, newProgressFeed()
	e, id, plan, feed := u.env, u.request, u.plan, u.feed
	execute := e.command(0, func(program context.Context) tea.Msg {
		defer context.AfterFunc(program, stop)()
		defer feed.close()
		account, err := e.broker.Undo(ctx, plan, e.entries(ctx, plan.Record.ID), feed.put)
		return executedMsg{id, account, err}
	})
	return u, tea.Batch(execute, feed.next(id))
}
