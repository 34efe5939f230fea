package ui

import (
	"context"
	"slices"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/cause"
	"github.com/dlxtop/dlxtop/model/ports"
)

// recalledQueue is what the index has of a queue.
type recalledQueue struct {
	ref     model.QueueRef
	earlier cause.Earlier
}

// seek looks up what earlier starts kept of the queues that were not looked up yet; nil when there are none. It is
// shown until the queue is read again.
func (c *causesReading) seek(now time.Time) tea.Cmd {
	if c.env.index == nil || c.broker == "" {
		return nil
	}
	var sought []causesQueue
	for _, ref := range c.order {
		if q := c.queues[ref]; !q.sought {
			q.sought = true
			if q.readAt.IsZero() {
				sought = append(sought, *q)
			}
		}
	}
	if len(sought) == 0 {
		return nil
	}
	c.request, c.at = c.env.newRequest(), nil
	msg := causesReadMsg{request: c.request, at: now}
	index, groups, broker, finish, forget := c.env.index, c.groups, c.broker, c.finishing(nil), c.forgetting()
	return c.env.command(keepingTime, func(context.Context) tea.Msg {
		forget(&msg)
		for _, q := range sought {
			name := cause.IndexName(broker, q.ref)
			kept, err := index.Load(name)
			if err != nil || kept == nil {
				continue
			}
			earlier, err := groups.Recall(kept, broker, q.ref)
			switch {
			case err != nil: // a later reading takes its place
			case earlier.Left(q.ready, q.countedAt):
				groups.Forget(q.ref)
				_ = index.Save(name, nil)
			default:
				msg.recalled = append(msg.recalled, recalledQueue{q.ref, earlier})
			}
		}
		finish(&msg)
		return msg
	})
}

// take takes what the index has.
func (c *causesReading) take(recalled []recalledQueue) {
	for _, r := range recalled {
		q := c.queues[r.ref]
		if q == nil { // it is gone meanwhile
			c.gone = append(c.gone, r.ref)
			continue
		}
		q.earlier, q.readAt = &r.earlier, r.earlier.At
		q.read, q.depth = int64(r.earlier.Messages), model.Some(r.earlier.Depth)
		for q.limit < r.earlier.Messages && q.limit < peekMost { // as many were asked for once
			q.limit = min(q.limit*peekFactor, peekMost)
		}
	}
}

// withdraw takes back what is shown of a queue that is not read again by itself, when messages have left it since:
// which ones is unknown.
func (c *causesReading) withdraw(q *causesQueue) {
	if q == c.at || q.readAt.IsZero() || c.env.acting[q.ref] || q.plan.Allowed() && q.plan.Free {
		return
	}
	read := cause.Earlier{At: q.readAt, Depth: q.depth.Or(q.read)}
	if !read.Left(q.ready, q.countedAt) {
		return
	}
	q.earlier, q.readAt, q.read, q.depth = nil, time.Time{}, 0, model.Opt[int64]{}
	c.gone, c.unknown = append(c.gone, q.ref), append(c.unknown, q.ref)
}

// catchUp takes in what actions did to the queues since they were read: no look is needed for that.
func (c *causesReading) catchUp() {
	for _, d := range c.env.since(&c.done) {
		q := c.queues[d.queue]
		if q == nil || q.readAt.IsZero() || d.at.Before(q.readAt) {
			continue
		}
		q.settled, q.ready = d.at, model.Opt[int64]{}
		q.depth = model.Some(max(q.depth.Or(q.read)+int64(d.back)-d.count(), 0))
		if d.unclear && q.plan.Allowed() && q.plan.Free {
			q.wanted = true
			continue
		}
		c.leaving = append(c.leaving, d)
	}
}

// outdated reports whether a count may be older than what an action did to the queue.
func (q *causesQueue) outdated(countedAt time.Time) bool {
	return countedAt.Before(q.settled.Add(model.StatisticsLag))
}

// forgetting takes out the queues that are gone, and the messages that actions took, outside Update.
func (c *causesReading) forgetting() func(*causesReadMsg) {
	groups, index, broker, gone, unknown := c.groups, c.env.index, c.broker, c.gone, c.unknown
	leaving, kept := c.leaving, map[model.QueueRef]cause.Earlier{}
	for _, d := range leaving {
		if q := c.queues[d.queue]; q != nil {
			kept[d.queue] = cause.Earlier{At: q.readAt, Depth: q.depth.Or(0)}
		}
	}
	c.gone, c.unknown, c.leaving = nil, nil, nil
	return func(msg *causesReadMsg) {
		msg.left = map[model.QueueRef]int64{}
		for _, d := range leaving {
			for f, twins := range d.gone {
				for range twins {
					if groups.Remove(d.queue, f) {
						msg.left[d.queue]++
					}
				}
			}
		}
		for ref, earlier := range kept {
			if index != nil && broker != "" {
				_ = index.Save(cause.IndexName(broker, ref), groups.Keep(broker, ref, earlier))
			}
		}
		for _, ref := range gone {
			groups.Forget(ref)
		}
		for _, ref := range unknown {
			if index != nil {
				_ = index.Save(cause.IndexName(broker, ref), nil)
			}
		}
	}
}

// keep writes what was read of a queue into the index. Where it cannot be written, the next start reads.
func (m *causesReadMsg) keep(
	index ports.Index, broker string, queue model.QueueRef, ready model.Opt[int64], groups *cause.Groups,
) {
	if index == nil || broker == "" {
		return
	}
	depth := m.depth.Or(max(ready.Or(0), m.read))
	kept := groups.Keep(broker, queue, cause.Earlier{At: m.at, Depth: depth})
	_ = index.Save(cause.IndexName(broker, queue), kept)
}

// finishing works out what a look has changed, outside Update. but is the queue that is read.
func (c *causesReading) finishing(but *causesQueue) func(*causesReadMsg) {
	groups, marks, broker := c.groups, c.env.marks, c.broker
	earlier := map[model.QueueRef]bool{}
	for ref, q := range c.queues {
		if q.earlier != nil && q != but {
			earlier[ref] = true
		}
	}
	return func(msg *causesReadMsg) {
		for _, r := range msg.recalled {
			earlier[r.ref] = true
		}
		msg.list, msg.all = groups.List(), groups.Read()
		msg.recent = groups.Recent(msg.at, causesTrend, causesSteps)
		msg.marks = marks.read(msg.request, broker, cause.Without(msg.list, earlier), msg.at)
	}
}

// earlier is how many of the messages only the index has, and when they were read; "" when there are none.
func (c *causesReading) earlier() string {
	var count int64
	var first, last time.Time
	for _, ref := range c.order {
		q := c.queues[ref]
		if q.earlier == nil {
			continue
		}
		count += q.read
		if first.IsZero() || q.readAt.Before(first) {
			first = q.readAt
		}
		if q.readAt.After(last) {
			last = q.readAt
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

func (c *causesReading) clock(at time.Time) string { return clockOf(model.Some(at), c.env.shown) }

// recalls reports whether something of the index is shown.
func (c *causesReading) recalls() bool {
	return slices.ContainsFunc(c.order, func(ref model.QueueRef) bool { return c.queues[ref].earlier != nil })
}
