package ui

import (
	"context"
	"reflect"
	"time"

	"github.com/charmbracelet/bubbles/key"
	tea "github.com/charmbracelet/bubbletea"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/plan"
	"github.com/dlxtop/dlxtop/ui/term"
)

const (
	typedAbove  = 100         // messages: above that their number has to be typed
	changeGuard = time.Second // enter does nothing for so long after a shown plan has changed

	readOnlyWords = "read-only: nothing is changed here (set by --read-only, or by read_only of the context)"
)

// dialogState is how far an action is.
type dialogState int

// The states. An action runs once: only asking leads to running, and only one key press leads there.
const (
	dialogClosed   dialogState = iota
	dialogChoosing             // the queue to move to is being chosen
	dialogPlanning             // the plan is being worked out
	dialogAsking               // the plan is shown, and nothing has happened
	dialogChecking             // it was agreed to, and the plan is made again: nothing has happened
	dialogRunning
	dialogStopping // it was asked to stop
	dialogEnded    // the account is shown
)

// dialog is what all actions have in common: each is planned, asked about, run, stopped and told of. Who embeds it adds
// the plan, says in an offer what is asked, and draws it.
type dialog struct {
	env     *env
	state   dialogState
	request request // the plan or the run that is awaited
	insist  bool    // override a refusal, where possible
	consent consent
	stop    context.CancelFunc // ends what is under way; nil: nothing was
	feed    *progressFeed
	account plan.Account // of what runs, or has run
	err     error        // why there is no plan, or how the run ended

	promised  *plan.Promise // of the plan that was read before the one that is shown was refused; nil: of none
	changes   []plan.Change // between the plan that was read and the one that is shown
	changedAt time.Time     // when it became another one; zero: it did not
	unchecked error         // why the topology could not be read again when the plan was agreed to
}

func newDialog(e *env, state dialogState) dialog {
	return dialog{env: e, state: state, consent: newConsent()}
}

// offer is what a person is asked to agree to, as the plan is now.
type offer struct {
	does     string // what enter does, for the footer
	refusal  string // why it must not be; "" when it may
	insists  string // what the key that insists does, for the footer; "" when nothing can be overridden
	override string // the same behind the key, as a sentence
	number   int    // has to be typed; 0 when a plain enter agrees
	prompt   string // the sentence that asks for it
	turns    string // what tab does; "" when there is nothing to turn to
	choice   string // what is chosen by it, where that is shown
	again    string // what enter does when it has ended; "": it closes
	not      string // what a refusal says that it is; "" is not possible
}

// insist offers to go on in spite of a refusal, where a person may.
func (o *offer) insist(e *env, r model.Refusing) {
	if r.Refused() && r.Overridable() {
		o.insists, o.override = e.keys.Insist.Help().Desc, "insists: "+model.Printable(r.Override())
	}
}

// press is what a key means to who embeds a dialog.
type press int

// The presses. What is not listed concerns the dialog alone, or nobody.
const (
	pressedElse press = iota
	pressedBack
	pressedAgree
	pressedTurn
	pressedInsist
	pressedAgain
)

// open reports whether there is something to be seen of it.
func (d *dialog) open() bool { return d.state != dialogClosed }

// ready reports whether enter agrees. What has just changed nobody can have read.
func (d *dialog) ready(o *offer) bool {
	return d.state == dialogAsking && o.refusal == "" && d.consent.given(o) && !d.unread()
}

// unread reports whether the plan has become another one a moment ago.
func (d *dialog) unread() bool {
	return !d.changedAt.IsZero() && d.env.shown.Sub(d.changedAt) < changeGuard
}

// changed compares what two plans promise, and reports whether the new one has to be read: what is different is shown
// with it. What is possible again is compared with what was read before it was refused: the broker's API may not know a
// queue for a moment, and a plan without it promises nothing.
func (d *dialog) changed(was, is plan.Promise) bool {
	changes := was.Changes(&is)
	if len(changes) == 0 && reflect.DeepEqual(was.Refusal, is.Refusal) {
		return false
	}
	d.changedAt = d.env.shown
	switch {
	case !was.Refusal.Refused():
		d.promised = &was
	case is.Refusal.Refused():
	case d.promised != nil:
		if changes = d.promised.Changes(&is); len(changes) == 0 {
			d.changedAt = time.Time{} // it is as it was read
		}
	case len(was.Ways) == 0:
		changes = nil
	}
	d.changes = changes
	return true
}

// typing reports whether every key belongs to the dialog: none may lead away while a number is typed, or something
// runs.
func (d *dialog) typing(o *offer) bool {
	switch d.state {
	case dialogAsking, dialogPlanning:
		return d.consent.asked || o.refusal == "" && o.number > 0
	case dialogChecking, dialogRunning, dialogStopping:
		return true
	}
	return false
}

// busy reports whether ctrl-c stops what runs instead of the program.
func (d *dialog) busy() bool { return d.state == dialogRunning }

// keys are the bindings that do something now. more are those that the action adds: behind enter, else at first.
func (d *dialog) keys(o *offer, more ...key.Binding) []key.Binding {
	k := d.env.keys
	switch d.state {
	case dialogAsking:
		var keys []key.Binding
		if d.ready(o) {
			keys = append(keys, term.Describe(k.Confirm, o.does))
		}
		if d.consent.asked {
			return append(keys, k.Cancel)
		}
		if o.turns != "" {
			keys = append(keys, term.Describe(k.Target, o.turns))
		}
		keys = append(keys, more...)
		if o.insists != "" {
			keys = append(keys, term.Describe(k.Insist, o.insists))
		}
		return append(keys, k.Cancel)
	case dialogRunning:
		return append(more, term.Describe(k.Cancel, "stop"), term.Describe(k.ForceQuit, "stop"))
	case dialogStopping:
		return []key.Binding{term.Describe(k.ForceQuit, "quit")}
	case dialogEnded:
		if o.again != "" {
			return append(more, term.Describe(k.Confirm, o.again), term.Describe(k.Cancel, "close"))
		}
		return append(more, term.Describe(k.Confirm, "close"), term.Describe(k.Cancel, "close"))
	}
	return []key.Binding{k.Cancel}
}

// press takes a key: it stops what runs, fills in the number, and says what else the key means.
func (d *dialog) press(msg tea.KeyMsg, o *offer) press {
	k := d.env.keys
	if d.state == dialogAsking && d.consent.explains(k, msg) {
		return pressedElse
	}
	cancel, confirm := term.Is(msg, k.Cancel), term.Is(msg, k.Confirm)
	switch d.state {
	case dialogRunning:
		if cancel || term.Is(msg, k.ForceQuit) {
			d.state = dialogStopping
			d.stop()
		}
		return pressedElse
	case dialogStopping:
		return pressedElse
	}
	switch {
	case cancel:
		return pressedBack
	case d.state == dialogEnded && confirm && o.again != "":
		return pressedAgain
	case d.state == dialogEnded && (confirm || term.Is(msg, k.Quit)):
		return pressedBack
	case d.state == dialogAsking && confirm:
		if d.ready(o) {
			if d.consent.explained(d.env) {
				return pressedAgree
			}
			return pressedElse
		}
		d.consent.wrong = !d.consent.given(o)
	case d.state == dialogAsking && term.Is(msg, k.Target) && o.turns != "":
		return pressedTurn
	case d.state == dialogAsking && term.Is(msg, k.Insist) && o.insists != "":
		d.insist = true
		return pressedInsist
	case d.typing(o):
		d.consent.typed(msg)
	}
	return pressedElse
}

// plannedMsg brings a plan, with the topology that it was made from.
type plannedMsg[P any] struct {
	request  request
	topology *model.Topology
	plan     P
	err      error
	unread   error // why the topology could not be read again
}

// planning makes a plan outside Update.
func planning[P any](
	d *dialog, t *model.Topology, make func(context.Context, *model.Topology) (P, error),
) tea.Cmd {
	d.Close() // nobody waits for the plan before
	d.request = d.env.newRequest()
	id := d.request
	cmd, stop := d.env.stoppable(func(ctx context.Context) tea.Msg {
		p, err := make(ctx, t)
		return plannedMsg[P]{request: id, topology: t, plan: p, err: err}
	})
	d.stop = stop
	return cmd
}

// Close ends what is under way: the root calls it when the screen goes. Until a look that a plan is made with gives its
// messages back, nobody else sees them.
func (d dialog) Close() {
	if d.stop != nil {
		d.stop()
	}
}

// checking makes a plan again when it was agreed to, from the topology of now: a dialog may stay open for long, and a
// queue can be bound at any moment.
func checking[P any](d *dialog, make func(context.Context, *model.Topology) (P, error)) tea.Cmd {
	d.state, d.request, d.unchecked = dialogChecking, d.env.newRequest(), nil
	id, e := d.request, d.env
	cmd, stop := e.stoppable(func(ctx context.Context) tea.Msg {
		ctx, cancel := context.WithTimeout(ctx, pollTimeout)
		defer cancel()
		t, err := e.reread(ctx)
		if err != nil {
			return plannedMsg[P]{request: id, unread: err}
		}
		p, err := make(ctx, t)
		return plannedMsg[P]{request: id, topology: t, plan: p, err: err}
	})
	d.stop = stop
	return cmd
}

// endedMsg brings the end of a run.
type endedMsg[R any] struct {
	request request
	result  R
	err     error
}

// running starts what was agreed to, outside Update. From here on no key starts it again.
func running[R any](d *dialog, run func(context.Context) (R, error)) tea.Cmd {
	d.state, d.request = dialogRunning, d.env.newRequest()
	id := d.request
	cmd, stop := d.env.stoppable(func(ctx context.Context) tea.Msg {
		result, err := run(ctx)
		return endedMsg[R]{id, result, err}
	})
	d.stop = stop
	return cmd
}

// ended takes the end of the run that is awaited in, and reports whether this is it.
func (d *dialog) ended(id request, err error) bool {
	if id != d.request || d.state != dialogRunning && d.state != dialogStopping {
		return false
	}
	d.stop()
	d.err, d.state = err, dialogEnded
	return true
}

// accountRun runs a plan whose progress is an account.
type accountRun func(ctx context.Context, progress func(plan.Account)) (plan.Account, error)

// execute runs what was agreed to. begun is the account before anything has happened.
func (d *dialog) execute(begun plan.Account, run accountRun) tea.Cmd {
	d.account, d.feed = begun, newProgressFeed()
	feed, reason := d.feed, d.env.reason
	cmd := running(d, func(ctx context.Context) (plan.Account, error) {
		defer feed.close()
		return run(plan.WithReason(ctx, reason), feed.put)
	})
	return tea.Batch(cmd, feed.next(d.request))
}

// executing takes how far a plan is that runs, and how it ended.
func (d *dialog) executing(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case progressMsg:
		if msg.request == d.request && (d.state == dialogRunning || d.state == dialogStopping) {
			d.account = msg.account
			return d.feed.next(d.request)
		}
	case endedMsg[plan.Account]:
		if d.ended(msg.request, msg.err) {
			d.account = msg.result
		}
	}
	return nil
}
