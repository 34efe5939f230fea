package shell

import (
	"cmp"
	"context"
	"reflect"
	"strconv"
	"strings"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/action"
	"github.com/dlxtop/dlxtop/model/plan"
	"github.com/dlxtop/dlxtop/ui/press"
	"github.com/dlxtop/dlxtop/ui/term"
)

const (
	TypedAbove  = 100         // messages: above that their number has to be typed
	ChangeGuard = time.Second // how long enter does nothing after a displayed plan has changed

	ReadOnlyWords = "read-only: nothing is changed here (set by --read-only, or by read_only of the context)"
)

type dialogState int

// The states. An action runs once: only asking leads to running, and only through one key press.
const (
	DialogClosed   dialogState = iota
	DialogChoosing             // what there is no plan without is being chosen or typed: the target queue, a change
	DialogPlanning             // the plan is being made
	DialogAsking               // the plan is shown, and nothing has happened
	DialogChecking             // the user agreed, and the plan is made again: nothing has happened
	DialogRunning
	DialogStopping // it was asked to stop
	DialogEnded    // the account is shown
)

// Dialog is what all actions share: each is planned, asked about, run, stopped and reported. The embedding screen adds
// the plan, describes in an offer what is asked, and draws it.
type Dialog struct {
	Env     *Env
	State   dialogState
	Request Request // of the plan or the run that is awaited
	Insist  bool    // override a refusal, where possible
	Consent Consent
	stop    context.CancelFunc // ends the running command; may be nil
	feed    *progressFeed[plan.Account]
	began   time.Time // the run
	window  Window
	Account plan.Account // of the current or last run
	Err     error        // why there is no plan, or how the run ended

	Promised  *plan.Promise // of the plan that was read before the displayed one was refused; nil without one
	Changes   []plan.Change // between the plan that was read and the displayed one
	ChangedAt time.Time     // when the plan, or the state of a canary, last changed; zero: it did not
	Unchecked error         // why the topology could not be reread when the user agreed
}

func NewDialog(e *Env, state dialogState) Dialog {
	return Dialog{Env: e, State: state, Consent: NewConsent()}
}

// Offer is what a user is asked to agree to, by the current plan.
type Offer struct {
	Does     string // what enter does, for the footer
	Refusal  string // why it is refused; "" when it is allowed
	Insists  string // what the key for insisting does, for the footer; "" when nothing can be overridden
	Override string // the same beside the key, as a sentence
	Number   int    // must be typed; 0 when a plain enter agrees
	prompt   string // the sentence that asks for it
	Turns    string // what tab does; "" without alternatives
	Choice   string // the current alternative, if it is shown
}

// Insist offers to continue in spite of a refusal, if it is overridable.
func (o *Offer) Insist(r model.Refusal) {
	if r.Refused() && r.Overridable() {
		o.Insists, o.Override = press.Insist.Help().Desc, "insists: "+r.Override()
	}
}

// Answers are what keys of a dialog do in the screen that embeds it.
type Answers struct{ Agree, Turn, Insist, Back func() tea.Cmd }

func (d *Dialog) Open() bool { return d.State != DialogClosed }

// ready reports whether enter agrees. A plan that has just changed cannot have been read.
func (d *Dialog) ready(o *Offer) bool {
	return d.State == DialogAsking && o.Refusal == "" && d.Consent.Given(o) && !d.Unread()
}

// Unread reports whether what is shown changed a moment ago.
func (d *Dialog) Unread() bool {
	return !d.ChangedAt.IsZero() && d.Env.Shown.Sub(d.ChangedAt) < ChangeGuard
}

// Changed compares the promises of two plans, and reports whether the new one must be read: the differences are shown
// with it. A plan that is possible again is compared with the one that was read before the refusal: the broker's API
// may not know a queue for a moment, and a plan without it promises nothing.
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

// TypingIn reports whether the dialog gets every key: none may leave it while a number is typed, or something runs.
func (d *Dialog) TypingIn(o *Offer) bool {
	switch d.State {
	case DialogAsking, DialogPlanning:
		return d.Consent.Asked || o.Refusal == "" && o.Number > 0
	case DialogChecking, DialogRunning, DialogStopping:
		return true
	}

	return false
}

// IsBusy reports whether ctrl-c stops the run instead of the program.
func (d *Dialog) IsBusy() bool { return d.State == DialogRunning }

// Keys returns the keys of the dialog. more are added by its action.
func (d *Dialog) Keys(o *Offer, on Answers, more ...term.Key) []term.Key {
	asking, runs, ended := d.State == DialogAsking, d.State == DialogRunning, d.State == DialogEnded
	back, leave := "back", on.Back
	switch {
	case runs:
		back, leave = "stop", d.stopRun
	case ended:
		back = "close"
	}

	agree := func() tea.Cmd { return d.Consent.Agreed(d.Env, o, d.ready(o), on.Agree) }
	insist := func() tea.Cmd {
		d.Insist = true
		return on.Insist()
	}

	turns := o.Turns != "" && (asking || d.State == DialogPlanning)
	keys := []term.Key{term.On(press.Confirm, "do it", agree).As(o.Does).When(asking).Shown(d.ready(o))}
	if !d.Consent.Asked {
		keys = append(keys, term.On(press.Target,
			"the next target of a replay, at last a queue of choice; the next exchange of a tap", on.Turn).
			As(o.Turns).When(turns).Shown(asking))
		keys = append(append(keys, more...), term.On(press.Insist,
			"go on in spite of a refusal that can be overridden", insist).As(o.Insists).When(asking && o.Insists != ""))
	}

	return append(keys,
		term.On(press.Confirm, "", on.Back).As("close").When(ended && !d.Unread()),
		term.On(press.Quit, "", on.Back).When(ended).Shown(false),
		term.On(press.Cancel, "back, nothing is done; while it runs: stop", leave).As(back).When(d.State != DialogStopping),
		term.On(press.Background, "while it runs: go on in the background, where :jobs lists it", detach).
			As("background").When(runs && d.feed != nil),
		term.On(press.ForceQuit, "", d.stopRun).As("stop").When(runs),
		term.Key{Binding: press.Describe(press.ForceQuit, "quit")}.When(d.State == DialogStopping))
}

func detach() tea.Msg { return PopMsg{Runs: true} }

func (d *Dialog) stopRun() tea.Cmd {
	d.State = DialogStopping
	d.stop()
	return nil
}

// Press handles a key: it fills in what is typed, scrolls, or is one of the dialog's keys.
func (d *Dialog) Press(msg tea.KeyMsg, o *Offer, keys []term.Key) tea.Cmd {
	if d.State == DialogAsking && d.Consent.Explains(msg) || d.window.Scroll(msg) {
		return nil
	}

	cmd, pressed := term.Press(keys, msg)
	if !pressed && d.TypingIn(o) {
		d.Consent.Typed(msg)
	}
	return cmd
}

// Planned is how a plan was made.
type Planned struct {
	Request  Request
	Topology *model.Topology
	Err      error
	Unread   error // why the topology could not be reread
}

type PlannedMsg[P any] struct {
	Planned
	Plan P
}

// Agreed shows an awaited plan, which take takes over, with what is different in its promise if the user saw an earlier
// one. It reports whether the plan runs: the user agreed, and it is what was agreed to.
func (d *Dialog) Agreed(p Planned, take func(), promise func() plan.Promise) bool {
	state := d.State
	if p.Request != d.Request || state != DialogPlanning && state != DialogAsking && state != DialogChecking {
		return false
	}
	d.State = DialogAsking
	if p.Unread != nil {
		d.Unchecked = p.Unread
		return false
	}

	was := promise()
	take()
	d.Err = p.Err
	switch {
	case p.Err != nil:
	case state == DialogPlanning:
		d.ChangedAt, d.Changes, d.Promised, d.Unchecked = time.Time{}, nil, nil, nil
	case !d.Changed(was, promise()):
		return state == DialogChecking
	}

	return false
}

func Planning[P any](
	d *Dialog, t *model.Topology, make func(context.Context, *model.Topology) (P, error),
) tea.Cmd {
	d.Close() // the earlier plan is no longer needed
	return d.await(func(ctx context.Context, id Request) tea.Msg {
		p, err := make(ctx, t)
		return PlannedMsg[P]{Planned{Request: id, Topology: t, Err: err}, p}
	})
}

// await runs f outside Update: from now on, its answer is the awaited one.
func (d *Dialog) await(f func(context.Context, Request) tea.Msg) (cmd tea.Cmd) {
	id := d.Env.NewRequest()
	d.Request = id
	cmd, d.stop = d.Env.Stoppable(func(ctx context.Context) tea.Msg { return f(ctx, id) })
	return cmd
}

// Close ends the running command: the root calls it when the screen is closed. Until the look for a plan returns its
// messages, no other reader sees them.
func (d Dialog) Close() {
	if d.stop != nil {
		d.stop()
	}
}

// Checking makes a plan again after the user agreed, from the current topology: a dialog may stay open for long, and a
// queue can be bound at any moment.
func Checking[P any](d *Dialog, make func(context.Context, *model.Topology) (P, error)) tea.Cmd {
	d.State, d.Unchecked = DialogChecking, nil
	e := d.Env

	return d.await(func(ctx context.Context, id Request) tea.Msg {
		ctx, cancel := context.WithTimeout(ctx, PollTimeout)
		defer cancel()
		t, err := e.Reread(ctx)
		if err != nil {
			return PlannedMsg[P]{Planned: Planned{Request: id, Unread: err}}
		}
		p, err := make(ctx, t)
		return PlannedMsg[P]{Planned{Request: id, Topology: t, Err: err}, p}
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

// Ended handles the end of the awaited run, and reports whether this is it.
func (d *Dialog) Ended(id Request, err error) bool {
	if id != d.Request || d.State != DialogRunning && d.State != DialogStopping {
		return false
	}
	d.stop()
	d.Err, d.State = err, DialogEnded
	return true
}

// Execute runs what was agreed to, unless another action has begun on the queue since: then it is asked again.
func (d *Dialog) Execute(a action.Action) tea.Cmd {
	outline, feed := a.Outline(), NewProgressFeed[plan.Account]()
	if d.Env.Acting(outline.From) {
		return nil
	}
	d.Env.SetActing(outline.From, true)
	d.began = d.Env.Shown
	d.Account = plan.Account{Operation: outline.Operation, From: outline.From, Planned: outline.Planned}
	d.feed = feed
	broker, reason := d.Env.steady(), d.Env.reason
	cmd := Running(d, func(ctx context.Context) (plan.Account, error) {
		defer feed.Close()
		return a.Do(plan.WithReason(ctx, reason), broker, feed.Put)
	})

	return tea.Batch(cmd, d.progress())
}

func (d *Dialog) progress() tea.Cmd {
	id := d.Request
	return d.feed.Next(func(a plan.Account) tea.Msg { return ProgressMsg{id, a} })
}

// Executing handles how far the run has come, and reports whether this is its end.
func (d *Dialog) Executing(msg tea.Msg) (cmd tea.Cmd, ended bool) {
	switch msg := msg.(type) {
	case ProgressMsg:
		if msg.request == d.Request && (d.State == DialogRunning || d.State == DialogStopping) {
			d.Account = msg.Account
			return d.progress(), false
		}
	case EndedMsg[plan.Account]:
		if ended = d.Ended(msg.Request, msg.Err); ended {
			d.Env.SetActing(d.Account.From, false)
			d.Account = msg.Result
		}
	}

	return nil, ended
}

// Consent is a number of messages that must be typed when a plain enter is too easy. Meanwhile, keys other than digits
// work as usual.
type Consent struct {
	field  term.TextField
	Wrong  bool           // enter was pressed with a wrong number
	reason term.TextField // why it is done, for the journal
	Asked  bool           // the reason is being typed
}

func NewConsent() Consent { return Consent{field: term.NewTextField("")} }

// Careful reports whether this number of messages must be typed to agree.
func (e *Env) Careful(messages int) bool {
	return messages > TypedAbove || messages > 1 && e.Production
}

// Carefully asks for the number of messages if there are many, in a sentence with what is done to how many and where
// they go.
func (o *Offer) Carefully(e *Env, messages int, does string) {
	if !e.Careful(messages) {
		return
	}
	to := "To "
	if e.Production {
		to = "Production: to "
	}
	o.Number, o.prompt = messages, model.Sayf("%s%s, type %v:", to, does, messages)
}

func (c *Consent) Given(o *Offer) bool {
	return o.Number == 0 || strings.ReplaceAll(c.field.Text(), ",", "") == strconv.Itoa(o.Number)
}

// Agreed handles the key that agrees: to an offer that can be agreed to, with the reason.
func (c *Consent) Agreed(e *Env, o *Offer, ready bool, agree func() tea.Cmd) tea.Cmd {
	switch {
	case !ready:
		c.Wrong = !c.Given(o)
	case c.explained(e):
		return agree()
	}

	return nil
}

// explained reports whether the reason was given, if one is needed: in production, with a journal. The first enter asks
// for it, and proposes the last one.
func (c *Consent) explained(e *Env) bool {
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

// Explains handles a key while the reason is typed, and reports whether it did: enter agrees.
func (c *Consent) Explains(msg tea.KeyMsg) bool {
	switch {
	case !c.Asked || press.Is(msg, press.Confirm):
		return false
	case press.Is(msg, press.Cancel):
		c.Asked = false
	default:
		c.reason.Update(msg)
	}

	return true
}

// Typed handles a key: digits, and keys that move and delete in a field.
func (c *Consent) Typed(msg tea.KeyMsg) {
	if strings.Trim(string(msg.Runes), "0123456789,") == "" {
		c.field.Update(msg)
		c.Wrong = false
	}
}

// Say asks for the number, and says when a wrong one was typed. Then it asks for the reason.
func (c *Consent) Say(l *DialogLines, o *Offer) {
	if c.Asked {
		l.Say("", "Why? The journal keeps it with your name.")
		l.Field(&c.reason)
		l.Blank()
		return
	}

	if o.Number == 0 {
		return
	}
	l.Say("", o.prompt)
	l.Field(&c.field)
	want := model.Count(o.Number)
	typed := c.field.Text()
	switch {
	case !c.Wrong || c.Given(o):
		l.Blank()
	case typed == "":
		l.Fail("Nothing was changed: first type " + want + ".")
	default:
		l.Fail("Nothing was changed: you typed " + typed + ", not " + want + ".")
	}
}
