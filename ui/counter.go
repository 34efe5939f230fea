package ui

import (
	"context"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/dlxtop/dlxtop/model"
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

// countDueMsg says that the wait before a count is over.
type countDueMsg struct{ timer request }

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
