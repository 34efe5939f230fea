package ui

import (
	"context"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/ui/shell"
)

// counter counts the queues that a screen shows, again and again, for as long as the screen is seen. An error makes it
// slower, and is told in words: what is shown then comes from the polls.
type counter struct {
	pace     shell.Pace
	ask      func(ctx context.Context, queues []model.QueueRef) (map[model.QueueRef]model.QueueCounts, error)
	inFlight shell.Request // 0: none
	timer    shell.Request // the wait for the next one; 0: none
	err      error         // of the last count
	failures int           // in a row
	every    time.Duration
}

// watching is a screen that wants queues to be counted while it is seen.
type watching interface {
	// Watched are the queues to count: by a passive declare, and by totals.
	Watched() (declare, totals []model.QueueRef)
}

// countDueMsg says that the wait before a count is over.
type countDueMsg struct{ timer shell.Request }

func (c *counter) read(e *shell.Env, lane int, queues []model.QueueRef) tea.Cmd {
	c.inFlight = e.NewRequest()
	id, ask := c.inFlight, c.ask
	return e.Command(shell.CountTimeout, func(ctx context.Context) tea.Msg {
		began, at := time.Now(), e.Now()
		counts, err := ask(ctx, queues)
		msg := shell.CountedMsg{Request: id, Lane: lane, Took: time.Since(began), Err: err}
		msg.Counts = model.Counts{At: at, Took: msg.Took, Queues: make(map[model.QueueRef]model.QueueCounts, len(queues))}
		for _, ref := range queues {
			if q, ok := counts[ref]; ok {
				msg.Counts.Queues[ref] = q
			}
		}
		return msg
	})
}
