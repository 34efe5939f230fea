package ui

import (
	"context"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/dlxtop/dlxtop/model"
)

const countTimeout = 10 * time.Second

// The two ways to count between polls. A passive declare costs the broker next to nothing; totals are told of all
// queues at once.
var (
	declarePace = pace{least: 250 * time.Millisecond, most: 10 * time.Second, share: 4}
	totalsPace  = pace{least: 250 * time.Millisecond, most: 30 * time.Second, share: 10}
)

// counter counts the queues that a screen shows, again and again, for as long as the screen is seen. An error makes it
// slower, and is told in words: what is shown then comes from the polls.
type counter struct {
	pace     pace
	ask      func(ctx context.Context, queues []model.QueueRef) (map[model.QueueRef]model.QueueCounts, error)
	inFlight request // 0: none
	timer    request // the wait for the next one; 0: none
	err      error   // of the last count
	failures int     // in a row
	every    time.Duration
}

// watching is a screen that wants queues to be counted while it is seen.
type watching interface {
	// watched are the queues to count: by a passive declare, and by totals.
	watched() (declare, totals []model.QueueRef)
}

// countedMsg brings counts to the screen that is seen.
type countedMsg struct {
	request request
	lane    int
	took    time.Duration
	counts  model.Counts
	err     error
	every   time.Duration // from one count to the next, as it is now
}

// countDueMsg says that the wait before a count is over.
type countDueMsg struct{ timer request }

func newCounters(o Options) [2]counter {
	declare := counter{
		pace: declarePace,
		ask: func(ctx context.Context, queues []model.QueueRef) (map[model.QueueRef]model.QueueCounts, error) {
			return o.Broker.Count(ctx, queues)
		},
	}
	totals := counter{pace: totalsPace, ask: func(ctx context.Context,
		_ []model.QueueRef,
	) (map[model.QueueRef]model.QueueCounts, error) {
		return o.Source.Counts(ctx)
	}}
	return [2]counter{declare, totals}
}

// count starts the counts that are wanted now and are not under way or waited for.
func (a *app) count() tea.Cmd {
	if a.poller.paused || a.latest.topology == nil {
		return nil
	}
	screen, ok := a.top().(watching)
	if !ok {
		return nil
	}
	var queues [2][]model.QueueRef
	if queues[0], queues[1] = screen.watched(); a.env.broker == nil {
		queues[0] = nil // there are polls and totals only
	}
	var cmds []tea.Cmd
	for lane := range a.counters {
		if c := &a.counters[lane]; c.inFlight == 0 && c.timer == 0 && len(queues[lane]) > 0 {
			cmds = append(cmds, c.read(a.env, lane, queues[lane]))
		}
	}
	return tea.Batch(cmds...)
}

func (c *counter) read(e *env, lane int, queues []model.QueueRef) tea.Cmd {
	c.inFlight = e.newRequest()
	id, ask := c.inFlight, c.ask
	return e.command(countTimeout, func(ctx context.Context) tea.Msg {
		began, at := time.Now(), e.now()
		counts, err := ask(ctx, queues)
		msg := countedMsg{request: id, lane: lane, took: time.Since(began), err: err}
		msg.counts = model.Counts{At: at, Took: msg.took, Queues: make(map[model.QueueRef]model.QueueCounts, len(queues))}
		for _, ref := range queues {
			if q, ok := counts[ref]; ok {
				msg.counts.Queues[ref] = q
			}
		}
		return msg
	})
}

// counted takes an answer, gives it to the screens of the tab that is seen, and waits for the next one.
func (a app) counted(msg countedMsg) (tea.Model, tea.Cmd) {
	c := &a.counters[msg.lane]
	if msg.request != c.inFlight {
		return a, nil
	}
	c.inFlight, c.err = 0, msg.err
	c.every = c.pace.every(msg.took)
	pause := max(c.every-msg.took, 0)
	if msg.err != nil {
		c.failures++
		pause = min(retryFirst<<min(c.failures-1, 4), retryMost)
	} else {
		c.failures = 0
	}
	msg.every = c.every
	c.timer = a.env.newRequest()
	id := c.timer
	shown := a.tabs[a.tab].send(msg)
	return a, tea.Batch(shown, tea.Tick(pause, func(time.Time) tea.Msg { return countDueMsg{id} }))
}

// countDue ends the wait for a count: the next one starts when somebody looks.
func (a app) countDue(msg countDueMsg) app {
	for lane := range a.counters {
		if c := &a.counters[lane]; c.timer == msg.timer {
			c.timer = 0
		}
	}
	return a
}
