package shell

import (
	"context"
	"io"
	"sync"
	"sync/atomic"
	"time"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/muesli/termenv"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/body"
	"github.com/dlxtop/dlxtop/model/filter"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/model/plan"
	"github.com/dlxtop/dlxtop/model/ports"
	"github.com/dlxtop/dlxtop/ui/term"
)

// Env is what every screen needs and none changes. The root makes one and passes it to each screen's constructor. Data
// that changes with time (the topology, the history) comes in messages: the root sends a screen the latest TopologyMsg
// when it is pushed, before Init, and again after each poll.
type Env struct {
	Connection
	Terminal
	Memory

	Work     *work
	Requests *atomic.Int64
}

// Connection is the access to the broker, and what is allowed there.
type Connection struct {
	Broker     Broker // quiet looks give way to it
	Quiet      *QuietLooks
	Kept       KeptLooks
	Source     ports.Source
	Reread     plan.Reread
	Polled     atomic.Pointer[model.Topology] // the newest; for rereading, which remembers what was seen before
	Journal    ports.Records                  // nil: nothing is recorded
	Index      ports.Index                    // nil: what is read of failed queues is not stored
	Files      ports.Files                    // nil: there is no export
	Title      string                         // the context's name or the broker's address
	Contexts   []string                       // that the user can switch to
	ReadOnly   bool
	Production bool
	Filters    filter.Saved
	Actions    []filter.Action
	Schemas    body.Schemas // the protobuf types of bodies
}

// Terminal is how things look, the keys, and the time.
type Terminal struct {
	Styles    *term.Styles
	Keys      *KeyMap
	Theme     term.Theme
	OwnThemes term.OwnThemes
	Profile   termenv.Profile // the number of colours of the terminal
	Light     bool            // it has a light background
	Asking    bool            // waiting for the answer about the background: nothing is drawn before it, or backgroundWait
	Ascii     bool            // it does not support UTF-8
	Mouse     bool            // clicks and the wheel are used
	Now       func() time.Time
	Shown     time.Time                                   // when Update was last called: frames show this time
	DotStep   time.Duration                               // the time between two cells of a dot
	Editor    string                                      // the command that edits a file; "" is a usual one
	Opener    func(ctx context.Context, url string) error // nil: the desktop's
	Clipboard io.Writer                                   // receives OSC 52 sequences; nil: standard output
	Screen    *ScreenFile                                 // nil: not on its own terminal
	Parent    int                                         // the parent process; 0: it is not checked
}

// Memory is what was done and said since the start, and before. Its slices and maps are only used in Update.
type Memory struct {
	Choices  Kept          // stores what is remembered between starts; nil: nothing is
	kept     chan struct{} // closed when the last change of Choices is written; nil: there was none
	Marks    *causeMarks
	Programs []string                // earlier jq programs, newest last
	reason   string                  // of the last action in production
	Doings   []Doing                 // of actions since the start
	followed map[string]*followed    // replays, by mark
	Together []int64                 // the records of the last action, if it was on several queues
	Acting   map[model.QueueRef]bool // the queues of which an action takes messages now
}

func (e *Env) Kit() term.Kit { return term.Kit{Styles: e.Styles, Keys: &e.Keys.ListKeys} }

func (e *Env) Reads(queue model.QueueRef) func(*message.Message) body.View {
	return func(m *message.Message) body.View { return e.Schemas.Read(queue, m) }
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
	ctx, stop := context.WithCancel(context.Background())
	return e.Command(0, func(program context.Context) tea.Msg {
		defer context.AfterFunc(program, stop)()
		defer stop()
		return f(ctx)
	}), stop
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

	mu      sync.Mutex
	ended   bool
	running sync.WaitGroup
	Active  atomic.Int64 // the number of running commands, without those on standby
}

func NewWork(ctx context.Context) *work {
	ctx, cancel := context.WithCancel(ctx)
	return &work{Ctx: ctx, cancel: cancel}
}

func (w *work) Begin(timeout time.Duration) (ctx context.Context, done func(), ok bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
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
	w.mu.Lock()
	w.ended = true
	w.mu.Unlock()
	w.cancel()
	w.running.Wait()
}
