package ui

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

// env is what every screen needs and none changes: who to ask, how things look, which keys there are, what time it is.
// The root makes one and hands it to each screen's constructor. What changes with time (the topology, the history)
// comes in messages instead: the root sends a screen the latest topologyMsg when it is pushed, before Init, and again
// after each poll.
type env struct {
	broker     Broker // quiet looks give way to it
	reread     plan.Reread
	source     ports.Source
	journal    ports.Records // nil: nothing is kept
	editor     string        // the command that edits a file; "" is one that is usually there
	files      ports.Files   // nil: nothing is exported
	styles     *term.Styles
	keys       *keyMap
	now        func() time.Time
	dotStep    time.Duration // between two cells of a dot
	shown      time.Time     // when Update was called last: what is drawn is as of then. For Update and View only
	filters    filter.Saved
	actions    []filter.Action
	schemas    body.Schemas                                // the protobuf types of bodies
	opener     func(ctx context.Context, url string) error // nil: that of the desktop
	programs   []string                                    // jq programs of before, the newest last. For Update only
	title      string                                      // the context's name or the broker's address
	contexts   []string                                    // that one can go to
	keeper     *keeper                                     // of what is remembered from start to start
	marks      *causeMarks
	reason     string                  // of the last action in production. For Update only
	doings     []doing                 // of actions since the start. For Update only
	together   []int64                 // the records of the last action, where it was on several queues. For Update only
	acting     map[model.QueueRef]bool // the queues of which an action takes messages now. For Update only
	index      ports.Index             // nil: what is read of failed queues is not kept
	quiet      *quietLooks
	mouse      bool // clicks and the wheel mean something
	readOnly   bool
	production bool
	theme      term.Theme
	profile    termenv.Profile // how many colours the terminal has
	light      bool            // it has a light background
	asking     bool            // for that: nothing is drawn before the answer, or backgroundWait
	ascii      bool            // it takes no UTF-8
	clipboard  io.Writer       // takes OSC 52 sequences; nil: standard output

	screen *screenFile // nil: not on a terminal of its own
	parent int         // the process that started this one; 0 is nobody's matter

	work     *work
	requests *atomic.Int64
	polled   atomic.Pointer[model.Topology] // the newest; for rereading, which remembers what it had seen
}

// kit is what a component of a screen needs.
func (e *env) kit() term.Kit { return term.Kit{Styles: e.styles, Keys: &e.keys.ListKeys} }

// reads is how bodies in a queue are read.
func (e *env) reads(queue model.QueueRef) func(*message.Message) body.View {
	return func(m *message.Message) body.View { return e.schemas.Read(queue, m) }
}

// newRequest numbers a command: no two requests of the program are equal, so that a screen knows late answers.
func (e *env) newRequest() request { return request(e.requests.Add(1)) }

// command runs f outside Update. Its context ends at the timeout (0: none) and when the program ends; the program
// waits for f before it returns.
func (e *env) command(timeout time.Duration, f func(ctx context.Context) tea.Msg) tea.Cmd {
	return func() tea.Msg {
		ctx, done, ok := e.work.begin(timeout)
		if !ok {
			return nil
		}
		defer done()
		e.work.active.Add(1)
		defer e.work.active.Add(-1)
		return f(ctx)
	}
}

// standby is command for what may wait as long as the program runs: nothing is under way meanwhile.
func (e *env) standby(f func(ctx context.Context) tea.Msg) tea.Cmd {
	return func() tea.Msg {
		ctx, done, ok := e.work.begin(0)
		if !ok {
			return nil
		}
		defer done()
		return f(ctx)
	}
}

// stoppable runs f outside Update. Its context ends when stop is called, and when the program ends.
func (e *env) stoppable(f func(ctx context.Context) tea.Msg) (cmd tea.Cmd, stop context.CancelFunc) {
	ctx, stop := context.WithCancel(context.Background())
	return e.command(0, func(program context.Context) tea.Msg {
		defer context.AfterFunc(program, stop)()
		defer stop()
		return f(ctx)
	}), stop
}

// work owns what runs outside Update.
type work struct {
	ctx    context.Context
	cancel context.CancelFunc

	mu      sync.Mutex
	ended   bool
	running sync.WaitGroup
	active  atomic.Int64 // of what runs, without what is on standby
}

func newWork(ctx context.Context) *work {
	ctx, cancel := context.WithCancel(ctx)
	return &work{ctx: ctx, cancel: cancel}
}

func (w *work) begin(timeout time.Duration) (ctx context.Context, done func(), ok bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ended {
		return nil, nil, false
	}
	w.running.Add(1)
	ctx, cancel := w.ctx, context.CancelFunc(func() {})
	if timeout > 0 {
		ctx, cancel = context.WithTimeout(w.ctx, timeout)
	}
	return ctx, func() { cancel(); w.running.Done() }, true
}

// end cancels everything that runs, lets nothing start any more, and waits until all has returned.
func (w *work) end() {
	w.mu.Lock()
	w.ended = true
	w.mu.Unlock()
	w.cancel()
	w.running.Wait()
}
