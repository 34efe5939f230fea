package broker

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/dlxtop/dlxtop/broker/link"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/model/peek"
	"github.com/dlxtop/dlxtop/model/plan"
	"github.com/dlxtop/dlxtop/model/resume"
)

// acknowledgeArrived acknowledges the originals of messages that have already arrived in their target, for the record
// that this execution resumes. It reports whether the rest can begin.
func (x *execution) acknowledgeArrived(ctx context.Context) bool {
	g := x.run.Resuming
	if g == nil || len(g.Acks) == 0 {
		return true
	}
	err := x.acknowledgeAll(ctx, g.Acks)
	if err == nil {
		err = x.reopen(ctx)
	}

	if err != nil {
		x.end(err)
		return false
	}

	return true
}

// acknowledgeAll looks for originals from the head of the queue. Some that were there when the plan looked may not be
// there now: a consumer took them, or they are held and will come back. Then the rest waits for another resume.
func (x *execution) acknowledgeAll(ctx context.Context, arrived []plan.Arrived) error {
	wanted := map[message.Fingerprint][]plan.Arrived{}
	for _, a := range arrived {
		wanted[a.Fingerprint] = append(wanted[a.Fingerprint], a)
	}

	settled := map[int64][]plan.Settled{}
	var tags []uint64
	err := func() error {
		for left, missing := x.source.depth, len(arrived); left > 0 && missing > 0; {
			before := len(tags)
			most := min(left, max(actionPage, left/maxPages+1), peek.MaxPage)
			n, err := x.source.page(ctx, int(most), func(tag uint64, m *message.Message) {
				name := message.FingerprintOf(m)
				if these := wanted[name]; len(these) > 0 {
					x.source.brink.claim(tag)
					wanted[name] = these[1:]
					tags = append(tags, tag)
					settled[these[0].Record] = append(settled[these[0].Record],
						plan.Settled{Position: these[0].Position, Outcome: plan.Moved})
				}
			})

			missing -= len(tags) - before

			if left -= int64(n); err != nil || ctx.Err() != nil {
				return errors.Join(err, ctx.Err())
			}
			if n == 0 {
				break
			}
		}

		for _, tag := range tags { // not earlier: an anchor would take the next message
			if err := x.source.acknowledge(tag, false, 1); err != nil {
				return err
			}
		}

		if err := x.source.sync(); err != nil {
			return err
		}
		return x.source.flush()
	}()

	rescued, err := x.client.giveBack(x.source, err)
	x.ledger.rescued(rescued)

	if err != nil {
		// They stay uncertain: the next resume looks again.
		return fmt.Errorf("acknowledge what has arrived: %w", link.Loss(err))
	}
	x.left = max(x.left-int64(len(tags)), 0)
	x.gone += len(tags)
	for record, these := range settled {
		if err := x.client.journal.Amend(record, these); err != nil {
			return err
		}
	}

	if missing := len(arrived) - len(tags); missing > 0 {
		return model.Errorf("acknowledge what has arrived: %v of %v original(s) not in %v now: a consumer took them, or "+
			"another look holds them; resume it again", missing, len(arrived), x.plan.From)
	}

	return nil
}

// Resume resumes a record: it records what was found out, acknowledges what has arrived, and then does the rest. Errors
// and accounts are those of Execute, Undo and Import.
func (c *Client) Resume(ctx context.Context, p resume.Run, progress plan.Progress) (plan.Account, error) {
	switch {
	case p.Refusal.Refused():
		return plan.Account{}, fmt.Errorf("resume %d: %s", p.Record.ID, p.Refusal.Words())
	case p.Import != nil:
		return c.Import(ctx, *p.Import, func(each message.Visit) error {
			if p.Import.Planned == 0 {
				return nil
			}
			return p.File(ctx, p.Import.File, each)
		}, progress)
	}

	account, err := c.Execute(ctx, p.RestOn(), progress)
	if err != nil || p.Undo == nil || account.Stopped != "" {
		return account, err
	}
	again, err := c.Undo(ctx, *p.Undo, progress)
	if err != nil {
		stop(&again, err)
	}
	again.JournalID = max(again.JournalID, account.JournalID)

	return again, nil
}

const (
	// Missing heartbeats show that a machine was cut off. Until then the broker keeps what its program held.
	goneLimit = 3 * link.Heartbeat
	listEvery = 250 * time.Millisecond
	// newLimit is how long a list of connections may take to show a new one. After that the list is believed without it
	// (its node may collect no statistics).
	newLimit = 10 * time.Second
	// still is how long the counts of queues stay unchanged once everything held by a connection is back. A connection
	// leaves the list before its channels end, and a queue requeues what these held when they have ended (3.10.8): on a
	// machine with a load of 8 on 2 cores that took more than 300 ms.
	still      = time.Second
	countEvery = 50 * time.Millisecond
	stillLimit = 3 * time.Second
	backLimit  = 10 * time.Second // while fewer messages are there than expected: others may have taken them
)

// AwaitGone waits until the broker has noticed that the connections of a record, identified by name, are gone, and the
// queues have back what these held: before that a look would miss messages, and messages in flight may still arrive.
// connections are the names of all that the user may see. Without them it only waits for the queues' counts. No other
// dlxtop of this machine holds messages of the queues meanwhile.
func (c *Client) AwaitGone(
	ctx context.Context, r *plan.Record, connections func(context.Context) ([]string, error),
) error {
	if r.Session != "" {
		if err := c.awaitUnlisted(ctx, r, connections); err != nil {
			return err
		}
	}

	return c.withTurns(ctx, r.Queues(), 0, func() error { return c.awaitStill(ctx, r) })
}

// withTurns calls do while no other dlxtop of this machine looks at or acts on these queues. limit is takeTurnWithin's.
func (c *Client) withTurns(ctx context.Context, queues []model.QueueRef, limit time.Duration, do func() error) error {
	inOrder := slices.SortedFunc(slices.Values(queues), func(a, b model.QueueRef) int {
		return cmp.Compare(a.String(), b.String()) // the same for all programs: none waits for another that waits for it
	})
	for _, queue := range slices.Compact(inOrder) {
		t, err := c.takeTurnWithin(ctx, queue, true, limit)
		if err != nil {
			return err
		}
		defer t.end()
	}

	return do()
}

const (
	// lateTotals is how late the management API counts the held messages of a quorum queue, or of a busy classic one;
	// those of a classic queue that does nothing else it counts at once (3.10.8, 4.0.5 and 4.3.6).
	lateTotals = 6 * time.Second
	// settledTotals bounds the wait until what this program gave back no longer counts as held.
	settledTotals = time.Second
)

// Others returns what others do with queues: consumers, and looks of another machine, that hold messages, or have just
// given some back, so that what a look did not find may be there nevertheless. left is what was found in each. No
// dlxtop of this machine holds any meanwhile; the error is a *model.InUse where one goes on with it.
func (c *Client) Others(ctx context.Context, left []plan.Left) (others map[model.QueueRef]plan.Others, err error) {
	queues := model.Mapped(left, func(l *plan.Left) model.QueueRef { return l.Queue })
	err = c.withTurns(ctx, queues, turnLimit, func() (err error) {
		others, err = c.others(ctx, queues, left)
		return err
	})

	return others, err
}

// others is Others for who has the turns.
func (c *Client) others(
	ctx context.Context, queues []model.QueueRef, left []plan.Left,
) (others map[model.QueueRef]plan.Others, err error) {
	others = map[model.QueueRef]plan.Others{}
	for began := time.Now(); ; {
		counts, err := c.Count(ctx, queues)
		if err != nil {
			return others, err
		}
		var totals model.CountsByQueue
		if c.totals != nil {
			if totals, err = c.totals(ctx); err != nil {
				return others, err
			}
		}

		open := false
		for _, l := range left {
			waited := time.Since(began)
			limit := time.Duration(0)
			n := counts[l.Queue]
			ready := n.Ready.Or(0)
			total, listed := totals[l.Queue] // for some 30 to 600 ms after a start nothing is listed (4.0.5, 4.3.6)
			stale := !listed || total.Ready.Or(ready) != ready
			empty := l.Changed && ready == 0 // as before the first message
			if c.totals != nil && (stale || empty || l.Type == model.Quorum) {
				limit = lateTotals
			}

			unacked := total.Unacked.Or(0)
			unknown := c.totals == nil && n.Consumers.Or(0) > 0
			more := ready > l.Ready
			others[l.Queue] = plan.Others{Hold: unknown || more || unacked > 0, Unacked: unacked, Consumers: n.Consumers}
			if unknown || more {
				continue
			}

			open = open || waited < limit || unacked > 0 && waited < limit+settledTotals
		}

		if !open {
			return others, nil
		}
		if err := pause(ctx, listEvery); err != nil {
			return others, err
		}
	}
}

// awaitUnlisted waits until none of a record's connections is listed, of one that came to its end only those that
// publish: what RabbitMQ has received on them, but not read yet, would arrive after a look. The list lacks the newest
// connections (up to 1 s on 3.10.8, 4.0.5 and 4.3.6, longer on a busy machine), so that of a program killed right after
// publishing may be missing while the broker still reads from it: a list counts only once it has a connection made just
// now.
func (c *Client) awaitUnlisted(
	ctx context.Context, r *plan.Record, connections func(context.Context) ([]string, error),
) error {
	held := func(name string) bool { return strings.HasSuffix(name, " "+r.Session) }
	if !r.Unfinished() || r.Session == c.Session { // its program may continue with other work, on its other connections
		held = func(name string) bool { return name == publishes+" "+r.Session }
	}

	newest := "dlxtop resume " + rand.Text()
	marker, err := c.Dial(ctx, r.From.VHost, newest)
	if err != nil {
		return err
	}
	defer marker.HangUp()
	for began := time.Now(); ; {
		names, err := connections(ctx)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			return nil // only the counts are available
		}

		current := slices.Contains(names, newest) || time.Since(began) > newLimit
		if current && !slices.ContainsFunc(names, held) {
			return nil
		}
		if time.Since(began) > goneLimit {
			return fmt.Errorf("RabbitMQ still has a connection of %s %d: end its program, or wait until RabbitMQ notices "+
				"that it is gone", r.Operation, r.ID)
		}
		if err := pause(ctx, listEvery); err != nil {
			return err
		}
	}
}

// awaitStill waits until everything that a record left is there, and the counts of its queues stay unchanged for a
// moment, but not for long: others may be using them.
func (c *Client) awaitStill(ctx context.Context, r *plan.Record) error {
	before := int64(-1)
	since := time.Now()
	limit := backLimit
	for began := time.Now(); time.Since(began) < limit && (limit == backLimit || time.Since(since) < still); {
		counts, err := c.Count(ctx, r.Queues())
		if err != nil {
			return err
		}
		ready, answered := int64(0), true
		for _, count := range counts {
			ready += count.Ready.Or(0)
			answered = answered && count.Ready.Known()
		}

		if ready != before {
			before, since = ready, time.Now()
		}
		if limit == backLimit && answered && r.IsBack(counts) {
			limit = time.Since(began) + stillLimit
		}
		if err := pause(ctx, countEvery); err != nil {
			return err
		}
	}

	return nil
}
