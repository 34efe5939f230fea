package shell

import (
	"context"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/muesli/termenv"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/action"
	"github.com/dlxtop/dlxtop/model/cause"
	"github.com/dlxtop/dlxtop/model/dashboard"
	"github.com/dlxtop/dlxtop/model/mend"
	"github.com/dlxtop/dlxtop/model/peek"
	"github.com/dlxtop/dlxtop/model/plan"
	"github.com/dlxtop/dlxtop/model/resume"
	"github.com/dlxtop/dlxtop/model/turns"
	"github.com/dlxtop/dlxtop/ui/term"
)

// Env is what every screen needs and none changes: what changes is in Memory, and only the root sets the time and the
// colours. The root makes one and passes it to each screen's constructor. Data that changes with time (the topology,
// the history) comes in messages: the root sends a screen the latest TopologyMsg when it is pushed, and again
// after each poll.
type Env struct {
	Options
	Connection
	Terminal
	Memory

	Marks    *causeMarks
	Work     *work
	Requests *atomic.Int64
}

// Options are what the dashboard shows and how it may act.
type Options struct {
	dashboard.Appearance // checked by ui.CheckTheme (OwnThemes) and ui.CheckActionKey (the keys of Actions)

	Source      Source
	Broker      Broker        // in Env for what the user requests: background peeks give way to it
	Journal     Records       // nil: actions are not recorded, and there is no undo
	Files       Files         // nil: nothing can be exported
	JQ          mend.Runner   // runs the jq programs that edit messages
	Editor      string        // the command that edits a file, as in VISUAL or EDITOR; "" is vi or nano
	Title       string        // the context's name or the broker's host:port, for the header; never a password
	VHost       string        // "" is all of them
	Interval    time.Duration // between the end of a poll and the next one; 0 is 2 s
	ReadOnly    bool
	Production  bool
	Consent     peek.Consent     // to looks that use up delivery limits; "" asks, and what was chosen earlier counts
	Preferences Preferences      // nil: choices and commands are lost with the program
	Marks       Preferences      // nil: marks of causes are lost with the program
	Index       cause.Index      // nil: each start reads the failed queues before it shows their causes
	Store       peek.Store       // nil: peeks of earlier starts and other programs are made again
	Contexts    []string         // brokers that the user can switch to, by name
	Trouble     string           // why switching to one failed; "" otherwise
	Now         func() time.Time // nil: time.Now
	DotStep     time.Duration    // between two cells of a dot; 0 is picture.DotStep. Tests hold dots
}

// Connection is the access to the broker.
type Connection struct {
	Quiet      Broker // for peeks that Background runs
	Background *turns.Background
	Peeks      peek.Cache
	Reread     plan.Reread
	Polled     atomic.Pointer[model.Topology] // the newest; for rereading, which remembers what was seen before
}

// Terminal is how things look, the keys, and the time.
type Terminal struct {
	Styles    term.Styles
	Theme     term.Theme
	OwnThemes term.OwnThemes
	Profile   termenv.Profile // the number of colours of the terminal
	Light     bool            // it has a light background
	Asking    bool            // waiting for the answer about the background: nothing is drawn before it, or backgroundWait
	Ascii     bool            // it does not support UTF-8
	Shown     time.Time       // when Update was last called: frames show this time
	Clipboard io.Writer       // receives OSC 52 sequences; nil: standard output
	Screen    *ScreenFile     // nil: not on its own terminal
	Parent    int             // the parent process; 0: it is not checked

	Opener func(ctx context.Context, url string) error // nil: the desktop\'s
}

// Memory is what was done and said since the start, and before. Screens change it by its methods, in Update.
type Memory struct {
	Commands Past          // of the palette
	Programs Past          // jq programs
	keeping  chan struct{} // closed when the last change of choices is written; nil: there was none
	kept     KeptChoices   // of earlier starts
	recalled bool          // they are known, as far as they can be
	// by cluster, since the start: what looks may cost, and whether the user was asked
	consents  map[string]peek.Consent
	askedOnce map[string]bool
	reason    string               // of the last action in production
	doings    []Doing              // of actions since the start
	appeared  []appearance         // queues that are new
	followed  map[string]*followed // replays, by mark
	together  []int64              // the records of the last action, if it was on several queues
	acting    model.QueueSet       // the queues of which an action takes messages now
	met       map[cause.ID]bool    // causes that were read
	News      []News               // not seen yet
	Jobs      []*Job
}

// Overlay draws a box in the middle of a page of width x height cells. On a plain screen it is alone there.
func (e *Env) Overlay(page, box string, width, height int) string {
	if e.Plain {
		return term.Block(strings.Split(box, "\n"), width, height)
	}
	return term.Overlay(page, box, width, height)
}

// NewRequest numbers a command: requests are unique in the program, so that a screen recognizes late answers.
func (e *Env) NewRequest() Request { return Request(e.Requests.Add(1)) }

// Command runs f outside Update. Its context ends at the timeout (0: none) and when the program ends; the program waits
// for f before it exits.
func (e *Env) Command(timeout time.Duration, f func(ctx context.Context) tea.Msg) tea.Cmd {
	return e.standby(timeout, func(ctx context.Context) tea.Msg {
		e.Work.Active.Add(1)
		defer e.Work.Active.Add(-1)
		return f(ctx)
	})
}

// standby is Command for what may wait as long as the program runs: it does not count as active.
func (e *Env) standby(timeout time.Duration, f func(ctx context.Context) tea.Msg) tea.Cmd {
	return func() tea.Msg {
		ctx, done, ok := e.Work.Begin(timeout)
		if !ok {
			return nil
		}
		defer done()
		return f(ctx)
	}
}

// Stoppable runs f outside Update. Its context ends when stop is called, and when the program ends.
func (e *Env) Stoppable(f func(ctx context.Context) tea.Msg) (cmd tea.Cmd, stop context.CancelFunc) {
	ctx, stop := context.WithCancel(e.Work.Ctx)
	return e.Command(0, func(context.Context) tea.Msg {
		defer stop()
		return f(ctx)
	}), stop
}

// Resuming is what resumes work with.
func (e *Env) Resuming(reads resume.Broker) resume.On {
	on := resume.On{Journal: e.Journal, Broker: reads, ReadOnly: e.ReadOnly}
	if e.Files != nil {
		on.File = e.Files.Read
	}
	return on
}

// steady is the broker that resumes actions by itself.
func (e *Env) steady() action.Broker {
	return &action.Steady{
		Broker: e.Broker, On: e.Resuming(e.Broker), Most: action.MostResumes, Watch: e.Broker,
		Settled: func(ctx context.Context, r *plan.Record) (*model.Topology, error) {
			if err := e.Broker.AwaitGone(ctx, r, e.Source.Connections); err != nil {
				return nil, err
			}
			return e.Reread(ctx)
		},
	}
}

// Ask runs f outside Update, for at most the timeout (0: as long as the program). The answer is an EndedMsg with the
// request.
func Ask[R any](
	e *Env, timeout time.Duration, f func(ctx context.Context) (R, error),
) (id Request, cmd tea.Cmd) {
	id = e.NewRequest()
	return id, e.Command(timeout, func(ctx context.Context) tea.Msg {
		result, err := f(ctx)
		return EndedMsg[R]{id, result, err}
	})
}

// work owns everything that runs outside Update.
type work struct {
	Ctx    context.Context
	cancel context.CancelFunc

	sync.Mutex
	ended   bool
	running sync.WaitGroup
	Waits   atomic.Pointer[model.InUse] // the turn that a command waits for; nil: none
	Active  atomic.Int64                // the number of running commands, without those on standby
}

func NewWork(ctx context.Context) *work {
	w := &work{}
	w.Ctx, w.cancel = context.WithCancel(model.TellWaits(ctx, w.Waits.Store))
	return w
}

func (w *work) Begin(timeout time.Duration) (ctx context.Context, done func(), ok bool) {
	w.Lock()
	defer w.Unlock()
	if w.ended {
		return nil, nil, false
	}
	w.running.Add(1)
	ctx, cancel := w.Ctx, context.CancelFunc(func() {})
	if timeout > 0 {
		ctx, cancel = context.WithTimeout(w.Ctx, timeout)
	}

	return ctx, func() { cancel(); w.running.Done() }, true
}

// End cancels everything that runs, lets nothing new start, and waits until all has returned.
func (w *work) End() {
	w.Lock()
	w.ended = true
	w.Unlock()
	w.cancel()
	w.running.Wait()
}
