package ui

import (
	"context"
	"sync"

	tea "github.com/charmbracelet/bubbletea"

	"dlxtop/model"
)

// progressMsg brings how far a run is; executedMsg brings its end.
type (
	progressMsg struct {
		request request
		account model.Account
	}
	executedMsg struct {
		request request
		account model.Account
		err     error
	}
)

// progressFeed carries accounts from the executor's goroutine to Update. Its channel holds one: only the newest account matters, so
// a new one replaces one that was not fetched, and the executor never waits for the screen.
type progressFeed struct {
	mu     sync.Mutex
	latest chan model.Account
	closed bool
}

func newProgressFeed() *progressFeed { return &progressFeed{latest: make(chan model.Account, 1)} }

// put leaves an account for the screen. It never blocks; after close it does nothing.
func (f *progressFeed) put(a model.Account) {
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

// run starts the plan. From here on no key starts it again.
func (d planDialog) run() (planDialog, tea.Cmd) {
	d.state = dialogRunning
	d.request = d.env.newRequest()
	d.account = model.Account{Operation: d.plan.Operation, From: d.plan.From, Planned: d.plan.Planned}
	ctx, stop := context.WithCancel(context.Background())
	d.stop = stop
	d.feed = newProgressFeed()
	if c := d.plan.Canary; c != nil {
		d.goOn = make(chan struct{}, 1)
		watched := *c
		watched.GoOn = d.goOn
		d.plan.Canary = &watched
	}
	id, plan, broker, feed := d.request, d.plan, d.env.broker, d.feed
	execute := d.env.command(0, func(program context.Context) tea.Msg {
		defer context.AfterFunc(program, stop)()
		defer feed.close()
		account, err := broker.Execute(ctx, plan, feed.put)
		return executedMsg{id, account, err}
	})
	return d, tea.Batch(execute, feed.next(id))
}
