package causes

import (
	"context"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/cause"
	"github.com/dlxtop/dlxtop/ui/messages"
	"github.com/dlxtop/dlxtop/ui/shell"
)

type recalledQueue struct {
	ref     model.QueueRef
	earlier cause.Earlier
}

// index is where what is read is kept for later starts.
func (c *Reading) index() cause.Kept { return cause.Kept{Index: c.Env.Index, Broker: c.Broker} }

// seek looks up what earlier starts stored about queues not looked up yet; nil when there are none. It is shown until
// the queue is read again.
func (c *Reading) seek(now time.Time) tea.Cmd {
	if c.Env.Index == nil || c.Broker == "" {
		return nil
	}
	var sought []Queue
	for _, q := range c.Order {
		if !q.sought {
			q.sought = true
			if q.ReadAt.IsZero() {
				sought = append(sought, *q)
			}
		}
	}

	if len(sought) == 0 {
		return nil
	}
	index, groups := c.index(), c.Groups
	return c.command(nil, now, shell.KeepingTime, func(_ context.Context, msg *ReadMsg) {
		for _, q := range sought {
			if earlier, ok := index.Recall(groups, q.Ref, q.Ready, q.CountedAt); ok {
				msg.recalled = append(msg.recalled, recalledQueue{q.Ref, earlier})
			}
		}
	})
}

func (c *Reading) addRecalled(recalled []recalledQueue) {
	for _, r := range recalled {
		q := c.Queues[r.ref]
		if q == nil { // it was deleted meanwhile
			c.gone = append(c.gone, r.ref)
			continue
		}

		q.Earlier, q.ReadAt = &r.earlier, r.earlier.At
		q.Read, q.Depth = int64(r.earlier.Messages), model.Some(r.earlier.Depth)
		for q.Limit < r.earlier.Messages && q.Limit < messages.PeekMost { // this many were requested once
			q.Limit = min(q.Limit*messages.PeekFactor, messages.PeekMost)
		}
	}
}

// withdraw removes what is shown of a queue that is not reread automatically, when messages have left it since: which
// ones is unknown.
func (c *Reading) withdraw(q *Queue) {
	if q == c.at || q.ReadAt.IsZero() || c.Env.Acting(q.Ref) || q.Plan.Allowed() && q.Plan.Free {
		return
	}
	read := cause.Earlier{At: q.ReadAt, Depth: q.Depth.Or(q.Read)}
	if !read.Left(q.Ready, q.CountedAt) {
		return
	}
	q.Earlier = nil
	q.ReadAt = time.Time{}
	q.Read = 0
	q.Depth = model.Opt[int64]{}
	c.gone = append(c.gone, q.Ref)
	c.unknown = append(c.unknown, q.Ref)
	c.Env.Peeks.Drop(q.Ref)
}

// catchUp applies what actions did to the queues since they were read: no look is needed for that.
func (c *Reading) catchUp() {
	for _, d := range c.Env.Since(&c.done) {
		q := c.Queues[d.Queue]
		if q == nil || q.ReadAt.IsZero() || d.At.Before(q.ReadAt) {
			continue
		}
		q.settled, q.Ready = d.At, model.Opt[int64]{}
		q.Depth = model.Some(max(q.Depth.Or(q.Read)+int64(d.Back)-d.Count(), 0))
		if d.Unclear && q.Plan.Allowed() && q.Plan.Free {
			q.Wanted = true
			continue
		}

		c.leaving = append(c.leaving, d)
	}
}

// forgetting removes deleted queues, and messages that actions took, outside Update.
func (c *Reading) forgetting() func(*ReadMsg) {
	index, groups := c.index(), c.Groups
	gone := c.gone
	unknown := c.unknown
	leaving := c.leaving

	kept := map[model.QueueRef]cause.Earlier{}
	for _, d := range leaving {
		if q := c.Queues[d.Queue]; q != nil {
			kept[d.Queue] = cause.Earlier{At: q.ReadAt, Depth: q.Depth.Or(0)}
		}
	}

	c.gone = nil
	c.unknown = nil
	c.leaving = nil

	return func(msg *ReadMsg) {
		msg.left = map[model.QueueRef]int64{}
		for _, d := range leaving {
			for f, twins := range d.Gone {
				for range twins {
					if groups.Remove(d.Queue, f) {
						msg.left[d.Queue]++
					}
				}
			}

			for f, twins := range d.Came {
				for range twins {
					if groups.Return(d.Queue, f) {
						msg.left[d.Queue]--
					}
				}
			}
		}

		for ref, earlier := range kept {
			index.Save(groups, ref, earlier)
		}

		for _, ref := range gone {
			groups.Forget(ref)
		}

		for _, ref := range unknown {
			index.Save(groups, ref, cause.Earlier{})
		}
	}
}

// Finishing works out what a look has changed, outside Update. but is the queue that was read.
func (c *Reading) Finishing(but *Queue) func(*ReadMsg) {
	groups := c.Groups
	marks := c.Env.Marks
	broker := c.Broker
	earlier := model.QueueSet{}
	for ref, q := range c.Queues {
		if q.Earlier != nil && q != but {
			earlier[ref] = true
		}
	}

	return func(msg *ReadMsg) {
		for _, r := range msg.recalled {
			earlier[r.ref] = true
		}
		msg.List, msg.all = groups.List(), groups.Read()
		msg.recent = groups.Recent(msg.At, causesTrend, causesSteps)
		msg.Marks = marks.Read(msg.Request, broker, cause.Without(msg.List, earlier), msg.At)
	}
}

// earlier says how many of the messages are only known from the index, and when they were read; "" when none are.
func (c *Reading) earlier() string {
	var count int64
	var first, last time.Time
	for _, q := range c.recalled() {
		count += q.Read
		if first.IsZero() || q.ReadAt.Before(first) {
			first = q.ReadAt
		}
		if q.ReadAt.After(last) {
			last = q.ReadAt
		}
	}

	if count == 0 {
		return ""
	}
	from, to := c.clock(first), c.clock(last)
	if from != to {
		from += " to " + to
	}

	return model.Count(count) + " of them as of " + from
}

func (c *Reading) clock(at time.Time) string { return shell.ClockOf(model.Some(at), c.Env.Shown) }

// recalled returns the queues that are only known from the index.
func (c *Reading) recalled() []*Queue { return c.of(func(q *Queue) bool { return q.Earlier != nil }) }
