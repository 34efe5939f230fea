package shell

import (
	"sync"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/dlxtop/dlxtop/model/plan"
)

// ProgressMsg brings how far a run is.
type ProgressMsg struct {
	request Request
	Account plan.Account
}

// progressFeed carries accounts and sequels from the executor's goroutine to Update. Its channel holds one: only the
// newest matters, so a new one replaces one that was not fetched, and the executor never waits for the screen.
type progressFeed[T any] struct {
	mu     sync.Mutex
	latest chan T
	closed bool
}

func NewProgressFeed[T any]() *progressFeed[T] { return &progressFeed[T]{latest: make(chan T, 1)} }

// Put leaves one for the screen. It never blocks; after close it does nothing.
func (f *progressFeed[T]) Put(a T) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return
	}
	select {
	case <-f.latest:
	default:
	}
	f.latest <- a // there is room: nobody else puts, and what was there is gone
}

func (f *progressFeed[T]) Close() {
	f.mu.Lock()
	defer f.mu.Unlock()
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
