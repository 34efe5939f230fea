package broker

import (
	"context"
	"errors"
	"fmt"

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
	x.left, x.gone = max(x.left-int64(len(tags)), 0), x.gone+len(tags)
	for record, these := range settled {
		if err := x.client.journal.Amend(record, these); err != nil {
			return err
		}
	}
	if missing := len(arrived) - len(tags); missing > 0 {
		return fmt.Errorf("acknowledge what has arrived: %s of %s not in %s now: a consumer took them, or another look "+
			"holds them; resume it again", model.Count(missing), model.Plural(len(arrived), "original"),
			model.Printable(x.plan.From.String()))
	}
	return nil
}

// Resume resumes a record: it records what was found out, acknowledges what has arrived, and then does the rest. Errors
// and accounts are those of Execute, Undo and Import.
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
	again, err := c.Undo(ctx, *p.Undo, progress)
	if err != nil {
		again.Stopped = err.Error()
	}
	return again, nil
}
