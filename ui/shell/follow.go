package shell

import (
	"context"
	"sync"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/action"
	"github.com/dlxtop/dlxtop/model/plan"
)

// followed is a replay that is watched after its end, whether its dialog is open or not.
type followed struct {
	plan   plan.Following
	sequel plan.Sequel
	feed   *progressFeed[plan.Sequel]
	stop   context.CancelFunc
	ended  <-chan struct{}
}

type (
	// FollowMsg asks the root to watch whether a replay worked.
	FollowMsg struct{ Following plan.Following }
	// SequelMsg brings the root the replay's sequel so far.
	SequelMsg struct {
		of     *followed
		sequel plan.Sequel
	}
)

// Following asks for what was done to be followed; nil: there is nothing to follow.
func Following(done action.Action, t *model.Topology, a *plan.Account) tea.Cmd {
	f, ok := done.Follow(t, a)
	if !ok {
		return nil
	}
	return func() tea.Msg { return FollowMsg{f} }
}

func (e *Env) Follow(msg FollowMsg) tea.Cmd {
	ctx, stop := context.WithCancel(context.Background())
	f := followed{plan: msg.Following, feed: NewProgressFeed[plan.Sequel](), stop: stop, ended: ctx.Done()}
	mark := f.plan.Released.Mark
	if before := e.followed[mark]; before != nil { // the replay that this one resumes
		before.stop()
	}

	model.Put(&e.followed, mark, &f)
	run := e.standby(0, func(program context.Context) tea.Msg {
		defer context.AfterFunc(program, stop)()
		defer stop()
		defer f.feed.Close()
		if _, err := e.Broker.Follow(ctx, f.plan, f.feed.Put); err != nil {
			return NoticeMsg{Text: "whether the replay worked is not known: " + err.Error(), Bad: true}
		}
		return nil
	})

	return tea.Batch(run, f.next())
}

func (f *followed) next() tea.Cmd {
	return f.feed.Next(func(s plan.Sequel) tea.Msg { return SequelMsg{f, s} })
}

// Followed handles the sequel of a replay. When messages come back, it returns a notice, whatever screen is open.
func (e *Env) Followed(msg SequelMsg) tea.Cmd {
	f := msg.of
	f.sequel = msg.sequel
	if f.sequel.Over && !f.sequel.Worked() {
		return Notice("the replay of "+f.plan.Queue.Printable()+": "+f.sequel.Words(e.Shown), true)
	}
	return f.next()
}

// Sequel returns what is known of a replay after its end; nil: nothing yet.
func (e *Env) Sequel(mark string) *plan.Sequel {
	f, ok := e.followed[mark]
	if !ok || mark == "" || f.sequel.Sent == 0 {
		return nil
	}
	return &f.sequel
}

// Watched returns the queue of a replay that is still watched; ok is false without one.
func (e *Env) Watched() (queue model.QueueRef, ok bool) {
	for _, f := range e.followed {
		select {
		case <-f.ended:
		default:
			if !f.sequel.Over {
				return f.plan.Queue, true
			}
		}
	}

	return queue, false
}

// Unfollow stops watching the replay of an undone record: what comes back then was brought back.
func (e *Env) Unfollow(record int64) {
	for _, f := range e.followed {
		if f.plan.Record == record {
			f.stop()
		}
	}
}

type ProgressMsg struct {
	request Request
	Account plan.Account
}

// progressFeed passes accounts and sequels from the executor's goroutine to Update. Its channel holds one: only the
// newest matters, so a new one replaces one that was not fetched, and the executor never waits for the screen.
type progressFeed[T any] struct {
	sync.Mutex
	latest chan T
	closed bool
}

func NewProgressFeed[T any]() *progressFeed[T] { return &progressFeed[T]{latest: make(chan T, 1)} }

// Put leaves one for the screen. It never blocks; after close it does nothing.
func (f *progressFeed[T]) Put(a T) {
	f.Lock()
	defer f.Unlock()
	if f.closed {
		return
	}
	select {
	case <-f.latest:
	default:
	}

	f.latest <- a // there is room: nothing else puts, and the previous one is gone
}

func (f *progressFeed[T]) Close() {
	f.Lock()
	defer f.Unlock()
	if !f.closed {
		f.closed = true
		close(f.latest)
	}
}

// Next waits for the next one: one command for each, until the feed is closed.
func (f *progressFeed[T]) Next(bring func(T) tea.Msg) tea.Cmd {
	return func() tea.Msg {
		a, open := <-f.latest
		if !open {
			return nil
		}
		return bring(a)
	}
}
