package shell

import (
	"cmp"
	"context"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/charmbracelet/bubbles/key"
	tea "github.com/charmbracelet/bubbletea"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/plan"
	"github.com/dlxtop/dlxtop/ui/term"
)

const (
	TypedAbove  = 100         // messages: above that their number has to be typed
	ChangeGuard = time.Second // enter does nothing for so long after a shown plan has changed

	ReadOnlyWords = "read-only: nothing is changed here (set by --read-only, or by read_only of the context)"
)

type dialogState int

// The states. An action runs once: only asking leads to running, and only one key press leads there.
const (
	DialogClosed   dialogState = iota
	DialogChoosing             // the queue to move to is being chosen
	DialogPlanning             // the plan is being worked out
	DialogAsking               // the plan is shown, and nothing has happened
	DialogChecking             // it was agreed to, and the plan is made again: nothing has happened
	DialogRunning
	DialogStopping // it was asked to stop
	DialogEnded    // the account is shown
)

// Dialog is what all actions have in common: each is planned, asked about, run, stopped and told of. Who embeds it adds
// the plan, says in an offer what is asked, and draws it.
type Dialog struct {
	Env     *Env
	State   dialogState
	Request Request // the plan or the run that is awaited
	Insist  bool    // override a refusal, where possible
	Consent Consent
	stop    context.CancelFunc // ends what is under way; nil: nothing was
	feed    *progressFeed[plan.Account]
	Account plan.Account // of what runs, or has run
	Err     error        // why there is no plan, or how the run ended

	Promised  *plan.Promise // of the plan that was read before the one that is shown was refused; nil: of none
	Changes   []plan.Change // between the plan that was read and the one that is shown
	ChangedAt time.Time     // when it became another one; zero: it did not
	Unchecked error         // why the topology could not be read again when the plan was agreed to
}

func NewDialog(e *Env, state dialogState) Dialog {
	return Dialog{Env: e, State: state, Consent: NewConsent()}
}

// Offer is what a person is asked to agree to, as the plan is now.
type Offer struct {
	Does     string // what enter does, for the footer
	Refusal  string // why it must not be; "" when it may
	Insists  string // what the key that insists does, for the footer; "" when nothing can be overridden
	Override string // the same behind the key, as a sentence
	Number   int    // has to be typed; 0 when a plain enter agrees
	prompt   string // the sentence that asks for it
	Turns    string // what tab does; "" when there is nothing to turn to
	Choice   string // what is chosen by it, where that is shown
	Again    string // what enter does when it has ended; "": it closes
	Not      string // what a refusal says that it is; "" is not possible
}

// Insist offers to go on in spite of a refusal, where a person may.
func (o *Offer) Insist(e *Env, r model.Refusal) {
	if r.Refused() && r.Overridable() {
		o.Insists, o.Override = e.Keys.Insist.Help().Desc, "insists: "+model.Printable(r.Override())
	}
}

// press is what a key means to who embeds a dialog.
type press int

// The presses. What is not listed concerns the dialog alone, or nobody.
const (
	pressedElse press = iota
	PressedBack
	PressedAgree
	PressedTurn
	PressedInsist
	PressedAgain
)

func (d *Dialog) Open() bool { return d.State != DialogClosed }

// ready reports whether enter agrees. What has just changed nobody can have read.
func (d *Dialog) ready(o *Offer) bool {
	return d.State == DialogAsking && o.Refusal == "" && d.Consent.Given(o) && !d.Unread()
}

// Unread reports whether the plan has become another one a moment ago.
func (d *Dialog) Unread() bool {
	return !d.ChangedAt.IsZero() && d.Env.Shown.Sub(d.ChangedAt) < ChangeGuard
}

// Changed compares what two plans promise, and reports whether the new one has to be read: what is different is shown
// with it. What is possible again is compared with what was read before it was refused: the broker's API may not know a
// queue for a moment, and a plan without it promises nothing.
func (d *Dialog) Changed(was, is plan.Promise) bool {
	changes := was.Changes(&is)
	if len(changes) == 0 && reflect.DeepEqual(was.Refusal, is.Refusal) {
		return false
	}
	d.ChangedAt = d.Env.Shown
	switch {
	case !was.Refusal.Refused():
		d.Promised = &was
	case is.Refusal.Refused():
	case d.Promised != nil:
		if changes = d.Promised.Changes(&is); len(changes) == 0 {
			d.ChangedAt = time.Time{} // it is as it was read
		}
	case len(was.Ways) == 0:
		changes = nil
	}
	d.Changes = changes
	return true
}

// TypingIn reports whether every key belongs to the dialog: none may lead away while a number is typed, or something
// runs.
func (d *Dialog) TypingIn(o *Offer) bool {
	switch d.State {
	case DialogAsking, DialogPlanning:
		return d.Consent.Asked || o.Refusal == "" && o.Number > 0
	case DialogChecking, DialogRunning, DialogStopping:
		return true
	}
	return false
}

// IsBusy reports whether ctrl-c stops what runs instead of the program.
func (d *Dialog) IsBusy() bool { return d.State == DialogRunning }

// KeysFor are the bindings that do something now. more are those that the action adds: behind enter, else at first.
func (d *Dialog) KeysFor(o *Offer, more ...key.Binding) []key.Binding {
	k := d.Env.Keys
	switch d.State {
	case DialogAsking:
		var keys []key.Binding
		if d.ready(o) {
			keys = append(keys, term.Describe(k.Confirm, o.Does))
		}
		if d.Consent.Asked {
			return append(keys, k.Cancel)
		}
		if o.Turns != "" {
			keys = append(keys, term.Describe(k.Target, o.Turns))
		}
		keys = append(keys, more...)
		if o.Insists != "" {
			keys = append(keys, term.Describe(k.Insist, o.Insists))
		}
		return append(keys, k.Cancel)
	case DialogRunning:
		return append(more, term.Describe(k.Cancel, "stop"), term.Describe(k.ForceQuit, "stop"))
	case DialogStopping:
		return []key.Binding{term.Describe(k.ForceQuit, "quit")}
	case DialogEnded:
		return append(more, term.Describe(k.Confirm, cmp.Or(o.Again, "close")), term.Describe(k.Cancel, "close"))
	}
	return []key.Binding{k.Cancel}
}

// Press takes a key: it stops what runs, fills in the number, and says what else the key means.
func (d *Dialog) Press(msg tea.KeyMsg, o *Offer) press {
	k := d.Env.Keys
	if d.State == DialogAsking && d.Consent.Explains(k, msg) {
		return pressedElse
	}
	cancel, confirm := term.Is(msg, k.Cancel), term.Is(msg, k.Confirm)
	switch {
	case d.State == DialogRunning:
		if cancel || term.Is(msg, k.ForceQuit) {
			d.State = DialogStopping
			d.stop()
		}
	case d.State == DialogStopping:
	case cancel:
		return PressedBack
	case d.State == DialogEnded && confirm && o.Again != "":
		return PressedAgain
	case d.State == DialogEnded && (confirm || term.Is(msg, k.Quit)):
		return PressedBack
	case d.State == DialogAsking && confirm && d.ready(o):
		if d.Consent.Explained(d.Env) {
			return PressedAgree
		}
	case d.State == DialogAsking && confirm:
		d.Consent.Wrong = !d.Consent.Given(o)
	case d.State == DialogAsking && term.Is(msg, k.Target) && o.Turns != "":
		return PressedTurn
	case d.State == DialogAsking && term.Is(msg, k.Insist) && o.Insists != "":
		d.Insist = true
		return PressedInsist
	case d.TypingIn(o):
		d.Consent.Typed(msg)
	}
	return pressedElse
}

type PlannedMsg[P any] struct {
	Request  Request
	Topology *model.Topology
	Plan     P
	Err      error
	Unread   error // why the topology could not be read again
}

func Planning[P any](
	d *Dialog, t *model.Topology, make func(context.Context, *model.Topology) (P, error),
) tea.Cmd {
	d.Close() // nobody waits for the plan before
	return d.await(func(ctx context.Context, id Request) tea.Msg {
		p, err := make(ctx, t)
		return PlannedMsg[P]{Request: id, Topology: t, Plan: p, Err: err}
	})
}

// await runs f outside Update: its answer is the one that is awaited from now on.
func (d *Dialog) await(f func(context.Context, Request) tea.Msg) (cmd tea.Cmd) {
	id := d.Env.NewRequest()
	d.Request = id
	cmd, d.stop = d.Env.Stoppable(func(ctx context.Context) tea.Msg { return f(ctx, id) })
	return cmd
}

// Close ends what is under way: the root calls it when the screen goes. Until a look that a plan is made with gives its
// messages back, nobody else sees them.
func (d Dialog) Close() {
	if d.stop != nil {
		d.stop()
	}
}

// Checking makes a plan again when it was agreed to, from the topology of now: a dialog may stay open for long, and a
// queue can be bound at any moment.
func Checking[P any](d *Dialog, make func(context.Context, *model.Topology) (P, error)) tea.Cmd {
	d.State, d.Unchecked = DialogChecking, nil
	e := d.Env
	return d.await(func(ctx context.Context, id Request) tea.Msg {
		ctx, cancel := context.WithTimeout(ctx, PollTimeout)
		defer cancel()
		t, err := e.Reread(ctx)
		if err != nil {
			return PlannedMsg[P]{Request: id, Unread: err}
		}
		p, err := make(ctx, t)
		return PlannedMsg[P]{Request: id, Topology: t, Plan: p, Err: err}
	})
}

type EndedMsg[R any] struct {
	Request Request
	Result  R
	Err     error
}

// Running starts what was agreed to, outside Update. From here on no key starts it again.
func Running[R any](d *Dialog, run func(context.Context) (R, error)) tea.Cmd {
	d.State = DialogRunning
	return d.await(func(ctx context.Context, id Request) tea.Msg {
		result, err := run(ctx)
		return EndedMsg[R]{id, result, err}
	})
}

// Ended takes the end of the run that is awaited in, and reports whether this is it.
func (d *Dialog) Ended(id Request, err error) bool {
	if id != d.Request || d.State != DialogRunning && d.State != DialogStopping {
		return false
	}
	d.stop()
	d.Err, d.State = err, DialogEnded
	return true
}

// AccountRun runs a plan whose progress is an account.
type AccountRun func(ctx context.Context, progress func(plan.Account)) (plan.Account, error)

// Execute runs what was agreed to. begun is the account before anything has happened.
func (d *Dialog) Execute(begun plan.Account, run AccountRun) tea.Cmd {
	d.Account, d.feed = begun, NewProgressFeed[plan.Account]()
	feed, reason := d.feed, d.Env.reason
	cmd := Running(d, func(ctx context.Context) (plan.Account, error) {
		defer feed.Close()
		return run(plan.WithReason(ctx, reason), feed.Put)
	})
	return tea.Batch(cmd, d.progress())
}

func (d *Dialog) progress() tea.Cmd {
	id := d.Request
	return d.feed.Next(func(a plan.Account) tea.Msg { return ProgressMsg{id, a} })
}

func (d *Dialog) Executing(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case ProgressMsg:
		if msg.request == d.Request && (d.State == DialogRunning || d.State == DialogStopping) {
			d.Account = msg.Account
			return d.progress()
		}
	case EndedMsg[plan.Account]:
		if d.Ended(msg.Request, msg.Err) {
			d.Account = msg.Result
		}
	}
	return nil
}

// Consent is a number of messages that is typed where a plain enter is too easy. Keys that are no digits do meanwhile
// what they do without it.
type Consent struct {
	field  term.TextField
	Wrong  bool           // enter was pressed with another number
	reason term.TextField // why it is done, for the journal
	Asked  bool           // for that: it is typed
}

func NewConsent() Consent { return Consent{field: term.NewTextField("")} }

// Careful reports whether this number of messages is agreed to by typing it.
func (e *Env) Careful(messages int) bool {
	return messages > TypedAbove || messages > 1 && e.Production
}

// Carefully asks for the number of messages, in a sentence that says what is done to how many and where they go.
func (o *Offer) Carefully(e *Env, messages int, does string) {
	to := "To "
	if e.Production {
		to = "Production: to "
	}
	o.Number, o.prompt = messages, to+does+", type "+model.Count(messages)+":"
}

func (c *Consent) Given(o *Offer) bool {
	return o.Number == 0 || strings.ReplaceAll(c.field.Text(), ",", "") == strconv.Itoa(o.Number)
}

// Explained reports whether it was said why, in production, where a journal keeps that: the first enter asks for it.
// What was said last is proposed.
func (c *Consent) Explained(e *Env) bool {
	if !e.Production || e.Journal == nil {
		return true
	}
	if !c.Asked {
		c.Asked, c.reason = true, term.NewTextField(e.reason)
		return false
	}
	text := strings.TrimSpace(c.reason.Text())
	e.reason = cmp.Or(text, e.reason)
	return text != ""
}

// Explains takes a key while the reason is typed, and reports whether it did: enter agrees.
func (c *Consent) Explains(k *KeyMap, msg tea.KeyMsg) bool {
	switch {
	case !c.Asked || term.Is(msg, k.Confirm):
		return false
	case term.Is(msg, k.Cancel):
		c.Asked = false
	default:
		c.reason.Update(msg)
	}
	return true
}

// Typed takes a key: digits, and what moves and deletes in a field.
func (c *Consent) Typed(msg tea.KeyMsg) {
	if strings.Trim(string(msg.Runes), "0123456789,") == "" {
		c.field.Update(msg)
		c.Wrong = false
	}
}

// Say asks for the number, and says when another one was typed. Then it asks for the reason.
func (c *Consent) Say(l *DialogLines, o *Offer) {
	if c.Asked {
		l.Say("", "Why? The journal keeps it with your name.", l.Styles.Text)
		l.Field(&c.reason)
		l.Blank()
		return
	}
	if o.Number == 0 {
		return
	}
	l.Say("", o.prompt, l.Styles.Text)
	l.Field(&c.field)
	want, typed := model.Count(o.Number), c.field.Text()
	switch {
	case !c.Wrong || c.Given(o):
		l.Blank()
	case typed == "":
		l.Say("", term.MarkError+" Nothing was changed: first type "+want+".", l.Styles.Danger)
	default:
		l.Say("", term.MarkError+" Nothing was changed: you typed "+typed+", not "+want+".", l.Styles.Danger)
	}
}
