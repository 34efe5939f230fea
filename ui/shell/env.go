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

// Env is what every screen needs and none changes: who to ask, how things look, which keys there are, what time it is.
// The root makes one and hands it to each screen's constructor. What changes with time (the topology, the history)
// comes in messages instead: the root sends a screen the latest topologyMsg when it is pushed, before Init, and again
// after each poll.
type Env struct {
	Broker     Broker // quiet looks give way to it
	Reread     plan.Reread
	Source     ports.Source
	Journal    ports.Records // nil: nothing is kept
	Editor     string        // the command that edits a file; "" is one that is usually there
	Files      ports.Files   // nil: nothing is exported
	Styles     *term.Styles
	Keys       *KeyMap
	Now        func() time.Time
	DotStep    time.Duration // between two cells of a dot
	Shown      time.Time     // when Update was called last: what is drawn is as of then. For Update and View only
	Filters    filter.Saved
	Actions    []filter.Action
	Schemas    body.Schemas                                // the protobuf types of bodies
	Opener     func(ctx context.Context, url string) error // nil: that of the desktop
	Programs   []string                                    // jq programs of before, the newest last. For Update only
	Title      string                                      // the context's name or the broker's address
	Contexts   []string                                    // that one can go to
	Keeper     *Keeper                                     // of what is remembered from start to start
	Marks      *causeMarks
	reason     string                  // of the last action in production. For Update only
	Doings     []Doing                 // of actions since the start. For Update only
	Together   []int64                 // the records of the last action, where it was on several queues. For Update only
	Acting     map[model.QueueRef]bool // the queues of which an action takes messages now. For Update only
	Index      ports.Index             // nil: what is read of failed queues is not kept
	Quiet      *QuietLooks
	Mouse      bool // clicks and the wheel mean something
	ReadOnly   bool
	Production bool
	Theme      term.Theme
	Profile    termenv.Profile // how many colours the terminal has
	Light      bool            // it has a light background
	Asking     bool            // for that: nothing is drawn before the answer, or backgroundWait
	Ascii      bool            // it takes no UTF-8
	Clipboard  io.Writer       // takes OSC 52 sequences; nil: standard output

	Screen *ScreenFile // nil: not on a terminal of its own
	Parent int         // the process that started this one; 0 is nobody's matter

	Work     *work
	Requests *atomic.Int64
	Polled   atomic.Pointer[model.Topology] // the newest; for rereading, which remembers what it had seen
}

// Kit is what a component of a screen needs.
func (e *Env) Kit() term.Kit { return term.Kit{Styles: e.Styles, Keys: &e.Keys.ListKeys} }

// Reads is how bodies in a queue are read.
func (e *Env) Reads(queue model.QueueRef) func(*message.Message) body.View {
	return func(m *message.Message) body.View { return e.Schemas.Read(queue, m) }
}

// NewRequest numbers a command: no two requests of the program are equal, so that a screen knows late answers.
func (e *Env) NewRequest() Request { return Request(e.Requests.Add(1)) }

// Command runs f outside Update. Its context ends at the timeout (0: none) and when the program ends; the program
// waits for f before it returns.
func (e *Env) Command(timeout time.Duration, f func(ctx context.Context) tea.Msg) tea.Cmd {
	return func() tea.Msg {
		ctx, done, ok := e.Work.Begin(timeout)
		if !ok {
			return nil
		}
		defer done()
		e.Work.Active.Add(1)
		defer e.Work.Active.Add(-1)
		return f(ctx)
	}
}

// standby is command for what may wait as long as the program runs: nothing is under way meanwhile.
func (e *Env) standby(f func(ctx context.Context) tea.Msg) tea.Cmd {
	return func() tea.Msg {
		ctx, done, ok := e.Work.Begin(0)
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

// work owns what runs outside Update.
type work struct {
	Ctx    context.Context
	cancel context.CancelFunc

	mu      sync.Mutex
	ended   bool
	running sync.WaitGroup
	Active  atomic.Int64 // of what runs, without what is on standby
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

// End cancels everything that runs, lets nothing start any more, and waits until all has returned.
func (w *work) End() {
	w.mu.Lock()
	w.ended = true
	w.mu.Unlock()
	w.cancel()
	w.running.Wait()
}
