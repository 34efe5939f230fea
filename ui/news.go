package ui

import (
	"context"
	"io"
	"os"
	"slices"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/polls"
	"github.com/dlxtop/dlxtop/ui/causes"
	"github.com/dlxtop/dlxtop/ui/shell"
)

// followJobs notes how far the jobs came, and tells of their end. One that has ended belongs to the tab where it was
// opened.
func (a *app) followJobs() {
	for _, j := range a.Jobs {
		if j.Screen == nil {
			continue
		}

		ran := j.Runs()
		j.Run = j.Screen.(shell.Runner).HowFar()
		opened := a.tabOf(j.Number) >= 0

		switch {
		case j.Runs():
		case opened:
			j.Screen = nil
		case ran:
			a.Tell("job ended", model.QueueRef{}, j.Words())
		}
	}
}

// tabOf returns the tab on which a page is open; -1: none.
func (a *app) tabOf(page shell.Request) int {
	return slices.IndexFunc(a.tabs[:], func(t tab) bool {
		return slices.ContainsFunc(t.stack, func(p shell.Page) bool { return p.Number == page })
	})
}

// ring shows what is new, and rings for it if that is configured: once for all that came together.
func (a *app) ring() tea.Cmd {
	text, more, shown := "", -1, true
	for i := range a.News {
		if n := &a.News[i]; !n.Rung {
			n.Rung = true
			text, more, shown = n.Words, more+1, shown && a.shows(n.Queue)
		}
	}

	if text == "" {
		return nil
	}
	if more > 0 {
		text += model.Sayf(", and %v more", more)
	}
	if !shown && !a.notice.Bad {
		a.notice.Text = text
	}
	if !a.Bell {
		return nil
	}

	out := a.ToClipboard()
	return a.Command(0, func(context.Context) tea.Msg {
		_, _ = io.WriteString(out, shell.Bell(os.Getenv, text))
		return nil
	})
}

// see forgets the news that the visible screen shows.
func (a *app) see() {
	a.News = slices.DeleteFunc(a.News, func(n shell.News) bool { return a.shows(n.Queue) })
}

// shows reports whether the visible screen shows news about a queue.
func (a *app) shows(queue model.QueueRef) bool {
	s, ok := a.top().(interface{ Shows(model.QueueRef) bool })
	return ok && s.Shows(queue)
}

// emptiness is what polls saw of a failed queue without messages. A single count of 0 may be late, however long ago it
// was taken.
type emptiness struct {
	since time.Time // of the first count of 0; zero: there are messages
	sure  bool      // it was empty for longer than statistics may be late
}

// firstFailed tells of messages in failed queues of flows that had none, for longer than statistics may be late. What
// somebody holds is not gone, and what an undo brings back is no news. before is the poll before this one.
func (a *app) firstFailed(before *model.Topology) {
	t := a.latest.Topology
	for _, ref := range t.FailedQueues() {
		q, ok := t.Queue(ref)
		if !ok {
			continue
		}

		was, met := a.empty[ref]
		if before != nil && !met {
			_, there := before.Queue(ref)
			was.sure = !there // it was declared for this message
		}

		depth, known := q.Depth()
		switch {
		case !known: // statistics of a new queue may come later than the queue
		case depth == 0:
			if was.since.IsZero() {
				was.since = a.Now()
			}
			was.sure = was.sure || a.Now().Sub(was.since) >= model.StatisticsLag
		default:
			ours := a.Acting(ref) || slices.Contains(a.Unsettled(), ref)
			if was.sure && !ours && a.only(ref) {
				a.Tell("first failed message", ref, "in "+ref.Printable())
			}
			was = emptiness{}
		}
		a.empty[ref] = was
	}
}

// only reports whether no other failed queue of its flow has messages.
func (a *app) only(ref model.QueueRef) bool {
	t := a.latest.Topology
	flow, ok := t.FlowOf(ref)
	return !ok || !slices.ContainsFunc(causes.FailedRefs(a.latest, flow.Worker.Queue), func(other model.QueueRef) bool {
		return other != ref && polls.ReadyOf(t, other).Or(0) > 0
	})
}

// listen lets the causes be read while they are hidden: only with a bell, as looks cost the broker something.
func (a *app) listen() tea.Cmd {
	const failed = 2
	page := a.tabs[failed].stack[0]
	if !a.Bell || a.tab == failed {
		return nil
	}
	return tea.Batch(page.Take(a.latest), page.Asked(page.Screen.(shell.Preparing).Prepare(a.width, a.height)))
}
