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

// progressFeed carries accounts from the executor's goroutine to Update. Its channel holds one: only the newest account
// matters, so a new one replaces one that was not fetched, and the executor never waits for the screen.
type progressFeed struct {
	mu     sync.Mutex
	latest chan plan.Account
	closed bool
}

func NewProgressFeed() *progressFeed { return &progressFeed{latest: make(chan plan.Account, 1)} }

// Put leaves an account for the screen. It never blocks; after close it does nothing.
func (f *progressFeed) Put(a plan.Account) {
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

func (f *progressFeed) Close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.closed {
		f.closed = true
		close(f.latest)
	}
}

// Next waits for the next account: one command for each, until the feed is closed.
func (f *progressFeed) Next(id Request) tea.Cmd {
	return func() tea.Msg {
		a, open := <-f.latest
		if !open {
			return nil
		}
		return ProgressMsg{id, a}
	}
}
