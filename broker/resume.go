package broker

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"dlxtop/model"
	"dlxtop/model/message"
	"dlxtop/model/peek"
	"dlxtop/model/plan"
	"dlxtop/model/resume"
)

const (
	sessionLength = 12 // of what names a client's connections: as much as tells programs apart
	// A machine that is cut off is noticed by its missing heartbeats. Until then the broker keeps what its program held.
	goneLimit = 3 * heartbeat
	goneEvery = 100 * time.Millisecond
	// still is how long the counts of queues do not change when what a connection held is back. A connection leaves the
	// list before its channels end, and a queue gives back what these held when they have ended (3.10.8): on a machine
	// with a load of 8 on 2 cores that took more than 300 ms.
	still      = time.Second
	stillLimit = 3 * time.Second
	backLimit  = 10 * time.Second // as long as fewer messages are there than have to be: others may have taken them
)

// acknowledgeArrived takes out of the queue what has arrived in its target already, of the record that this execution
// goes on with. It reports whether the rest can begin.
func (x *execution) acknowledgeArrived(ctx context.Context) bool {
	g := x.plan.Resuming
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

// acknowledgeAll looks for originals from the head of the queue on. What is not there any more, somebody else has
// taken.
func (x *execution) acknowledgeAll(ctx context.Context, arrived []plan.Arrived) error {
	wanted := map[message.Fingerprint][]plan.Arrived{}
	for _, a := range arrived {
		wanted[a.Fingerprint] = append(wanted[a.Fingerprint], a)
	}
	settled := map[int64][]plan.Settled{}
	var taken int64
	err := func() error {
		for left, missing := x.source.depth, len(arrived); left > 0 && missing > 0; {
			var tags []uint64
			most := min(left, max(actionPage, left/maxPages+1), peek.MaxPage)
			n, err := x.source.page(ctx, int(most), func(d *amqp.Delivery) {
				m := messageOf(d)
				if these := wanted[m.Fingerprint]; len(these) > 0 {
					x.source.brink.claim(d.DeliveryTag)
					wanted[m.Fingerprint] = these[1:]
					tags = append(tags, d.DeliveryTag)
					settled[these[0].Record] = append(
						settled[these[0].Record],
						plan.Settled{Position: these[0].Position, Outcome: plan.Moved},
					)
				}
			})
			for _, tag := range tags {
				if e := x.source.acknowledge(tag, false, 1); e != nil {
					return errors.Join(err, e)
				}
			}
			missing -= len(tags)
			taken += int64(len(tags))
			if left -= int64(n); err != nil || ctx.Err() != nil {
				return errors.Join(err, ctx.Err())
			}
			if n == 0 {
				break
			}
		}
		if err := x.source.sync(); err != nil {
			return err
		}
		return x.source.flush()
	}()
	rescued, e := x.client.giveBack(x.source)
	x.ledger.rescued(rescued)
	if err == nil {
		err = e
	}
	if err != nil {
		return fmt.Errorf("acknowledge what has arrived: %w", lost(err)) // they stay uncertain: the next resume looks again
	}
	x.left, x.gone = max(x.left-taken, 0), x.gone+int(taken)
	for record, these := range settled {
		if err := x.client.journal.Amend(record, these); err != nil {
			return err
		}
	}
	return nil
}

// AwaitGone waits until the broker has noticed that the connections of a record are gone, by their names, and queues
// have back what these held: before that a look would miss messages. connections are the names of all that the user may
// see; one that was just made may not be among them yet. Without them only the counts of the queues are waited for.
func (c *Client) AwaitGone(
	ctx context.Context,
	r *plan.Record,
	connections func(context.Context) ([]string, error),
	queues ...model.QueueRef,
) error {
	held := func(name string) bool { return strings.HasSuffix(name, " "+r.Session) }
	if !r.Unfinished() { // its program may go on with other things, on its other connections
		held = func(name string) bool { return name == publishes+" "+r.Session }
	}
	for began := time.Now(); r.Session != "" && r.Session != c.session; {
		names, err := connections(ctx)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil || !slices.ContainsFunc(names, held) {
			break
		}
		if time.Since(began) > goneLimit {
			return fmt.Errorf(
				"RabbitMQ still has a connection of %s %d: end its program, or wait until RabbitMQ notices that it is gone",
				r.Operation,
				r.ID,
			)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(goneEvery):
		}
	}
	return c.awaitStill(ctx, r, queues)
}

// awaitStill waits until all that a record left is there, and the counts of queues do not change for a moment, but not
// for long: others may work on them.
func (c *Client) awaitStill(ctx context.Context, r *plan.Record, queues []model.QueueRef) error {
	before, since, limit := int64(-1), time.Now(), backLimit
	for began := time.Now(); time.Since(began) < limit && (limit == backLimit || time.Since(since) < still); {
		counts, err := c.Count(ctx, queues)
		if err != nil {
			return err
		}
		ready := int64(0)
		for _, count := range counts {
			ready += count.Ready.Or(0)
		}
		if ready != before {
			before, since = ready, time.Now()
		}
		if limit == backLimit && r.IsBack(counts) {
			limit = time.Since(began) + stillLimit
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(goneEvery / 2):
		}
	}
	return nil
}

// Resume goes on with a record: it writes down what was found out, acknowledges what has arrived, and then does the
// rest. Errors and accounts are those of Execute, Undo and Import.
func (c *Client) Resume(ctx context.Context, p resume.Run, progress func(plan.Account)) (plan.Account, error) {
	switch {
	case p.Refusal.Refused():
		return plan.Account{}, fmt.Errorf("resume %d: %s", p.Record.ID, p.Refusal.Words())
	case p.Import != nil:
		return c.Import(ctx, *p.Import, func(each func(*message.Message) error) error {
			if p.Import.Planned == 0 {
				return nil
			}
			return p.File(p.Import.File, each)
		}, progress)
	}
	account, err := c.Execute(ctx, p.Rest.On(p.Topology), progress)
	if err != nil || p.Undo == nil || account.Stopped != "" {
		return account, err
	}
	again, err := c.Undo(
		ctx,
		*p.Undo,
		func(each func(*plan.Entry) error) error { return p.Entries(p.Undo.Record.ID, each) },
		progress,
	)
	if err != nil {
		again.Stopped = err.Error()
	}
	return again, nil
}
