package broker

import (
	"context"
	"errors"
	"time"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/model/peek"
	"github.com/dlxtop/dlxtop/model/plan"
)

// takePages takes messages until all that were there at the start were seen, or all selected ones are found, and passes
// the selected ones on. It reports whether it got that far.
func (x *execution) takePages(ctx context.Context, pages chan<- []*flight) (complete bool) {
	back := 0
	for left, number := min(x.source.depth, x.left), 0; left > 0 && !x.full(); number++ {
		n := x.nextPage(left, number)
		var page []*flight
		if err := x.source.turn.retry(ctx); err != nil {
			x.end(err)
			return false
		}

		taken, err := x.source.page(ctx, n, func(tag uint64, m *message.Message) {
			x.taken++
			m.Identify()
			m.Position = x.taken
			if m.MarkedBy(x.plan.MarkName) { // it came back: it is not sent again, even if others ahead of it are gone
				back++
				x.ledger.note(func(a *plan.Account) { a.CameBack = max(a.CameBack, back) })
				return
			}

			if !x.full() && !x.meets(m) && x.picker.Pick(m) {
				m.Position = max(m.Position, x.last+1) // it identifies the message in the journal: others may have left
				x.last = m.Position
				x.kept += int64(m.BodyBytes)
				x.source.brink.claim(tag)
				page = append(page, &flight{tag: tag, message: m})
			}
		})

		left -= int64(taken)
		x.ledger.note(func(a *plan.Account) { a.Taken = x.taken - x.gone })
		// Other looks may run between the pages, which can take hours: only if returning messages neither loses one nor
		// changes the order.
		if p := &x.source.plan; left > 0 && (p.TakesAll || p.Type != model.Quorum) {
			x.source.turn.pause()
		}

		if len(page) > 0 {
			select {
			case pages <- page:
			case <-ctx.Done():
				return false
			}
		}

		var ended *peek.LookEnded
		switch {
		case errors.As(err, &ended) && ended.Reached: // act on what was taken
			x.ledger.stop(err)
			return false
		case err != nil:
			x.end(err)
			return false
		}

		if ctx.Err() != nil {
			return false
		}
		if taken < n { // others took the rest, or the queue is being deleted
			x.short = true
			break
		}
	}

	return true
}

// stays records a message that the program cannot change, or a copy of another: no later stage picks it again.
func (x *execution) stays(m *message.Message, why error) {
	switch unpublished(why).(type) {
	case plan.NotMended, plan.Double:
		if x.canary != nil {
			x.stay++
			x.staying[m.Fingerprint]++
		}
	}
}

// unpublished returns the plan's reason not to publish a message; nil for any other error.
func unpublished(why error) model.Objection {
	var u *plan.Unpublished
	if errors.As(why, &u) {
		return u.Objection
	}
	return nil
}

// findDoubles finds what was sent earlier, including by a resumed record, so that its copies stay.
func (x *execution) findDoubles(ctx context.Context) error {
	if !x.plan.SparesDoubles() {
		return nil
	}
	var sent *plan.Doubles
	if journal := x.client.journal; journal != nil {
		var err error
		here := x.client.signed(ctx, plan.Record{})
		if sent, err = journal.Replayed(ctx, here.Broker, here.Cluster); err != nil {
			return err
		}
	}

	x.doubling = plan.NewDoubling(sent, x.plan.From)
	if g := x.run.Resuming; g != nil {
		x.doubling.Resumes(g.Began)
	}

	return nil
}

// meets reports whether a message already stayed in an earlier stage.
func (x *execution) meets(m *message.Message) bool {
	if x.again[m.Fingerprint] == 0 {
		return false
	}
	x.again[m.Fingerprint]--
	return true
}

// full reports whether nothing more is picked in this stage.
func (x *execution) full() bool {
	return x.picker.Done() || x.most > 0 && x.picker.Picked() >= x.most
}

// pageShare is the fraction of an action's memory that one page may use: three pages are held at a time, and beyond the
// memory limit garbage collection takes more time than the messages.
const pageShare = 4

// pageTime is how long a page takes at a limited rate: at most three are held, for half of the consumer timeout.
func (x *execution) pageTime() time.Duration {
	if x.run.Topology == nil {
		return pageAtRate
	}
	hold, _ := plan.LongestHold(x.run.Topology, x.plan.From)
	return min(pageAtRate, hold/5)
}

// nextPage returns the size of the next page: small first, because selected messages are mostly near the head; then as
// large as useful, while the selected bodies stay within MaxBytes and the kept messages in few pages.
func (x *execution) nextPage(left int64, number int) int {
	n := int64(min(actionFirstPage<<(2*min(number, 4)), actionPage))
	if picked := x.picker.Picked(); picked > 0 {
		mean := max(x.kept/int64(picked), 1)
		n = min(n, max(x.plan.Acquire.MaxBytes/pageShare/mean, 1))
	}

	selection := &x.plan.Selection
	if !selection.OneByOne() {
		if rate := x.plan.Rate; rate > 0 {
			n = min(n, max(int64(rate*x.pageTime().Seconds()), 1))
		}
		n = min(n, int64(max(x.plan.Acquire.Page, 1)))
		if selection.Limit > 0 {
			n = min(n, int64(selection.Limit-x.picker.Picked()))
		}
		if x.most > 0 {
			n = min(n, int64(x.most-x.picker.Picked()))
		}
	} else if rest := int64(maxPages - number); rest > 0 {
		n = max(n, (left+rest-1)/rest)
	}

	return int(min(max(n, 1), left, peek.MaxPage))
}
