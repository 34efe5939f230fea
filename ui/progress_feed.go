package ui

import (
	"sync"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/dlxtop/dlxtop/model/plan"
)

// progressMsg brings how far a run is.
type progressMsg struct {
	request request
	account plan.Account
}

// progressFeed carries accounts from the executor's goroutine to Update. Its channel holds one: only the newest account
// matters, so a new one replaces one that was not fetched, and the executor never waits for the screen.
type progressFeed struct {
	mu     sync.Mutex
	latest chan plan.Account
	closed bool
}

func newProgressFeed() *progressFeed { return &progressFeed{latest: make(chan plan.Account, 1)} }

// put leaves an account for the screen. It never blocks; after close it does nothing.
func (f *progressFeed) put(a plan.Account) {
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

func (f *progressFeed) close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.closed {
		f.closed = true
		close(f.latest)
	}
}

// next waits for the next account: one command for each, until the feed is closed.
func (f *progressFeed) next(id request) tea.Cmd {
	return func() tea.Msg {
		a, open := <-f.latest
		if !open {
			return nil
		}
		return progressMsg{id, a}
	}
}
