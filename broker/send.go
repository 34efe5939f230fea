package broker

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/dlxtop/dlxtop/broker/link"
	"github.com/dlxtop/dlxtop/broker/spool"
	"github.com/dlxtop/dlxtop/broker/wire"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/model/plan"
	"github.com/dlxtop/dlxtop/model/resume"
)

// sending publishes messages that are in no queue: from the journal, or from a file.
type sending struct {
	client  *Client
	ledger  *ledger
	window  *window
	batch   []*flight
	entries []plan.Entry // of the batch
	bytes   int
}

// restoring returns a message on its way into a queue, as it was.
func restoring(m *message.Message, into model.QueueRef, user string) *flight {
	p, _ := plan.Restoring(m, into.Name, user)
	p.Reaches = []model.QueueRef{into}
	return &flight{message: m, publishing: &p}
}

// Import publishes messages into a queue, byte for byte, through the default exchange; messages calls its argument with
// each of them, which then belongs to this call. The journal keeps which they are, not their content. An error of
// messages ends it early, and is in Account.Stopped. An error means that nothing was done.
func (c *Client) Import(
	ctx context.Context, planned resume.ImportPlan, messages message.Walk,
	progress plan.Progress,
) (plan.Account, error) {
	queue := planned.Into.Queue
	l := &ledger{began: time.Now(), account: plan.Account{Operation: plan.Import, From: queue, Planned: planned.Planned}}
	n := 0
	record := plan.Record{Operation: plan.Import, From: queue, Planned: planned.Planned, Intent: planned.Intent()}
	return c.send(ctx, planned.Into, l, func() (*writer, error) {
		return c.begin(ctx, record, planned.Resuming)
	}, func(add func(*flight, plan.Entry) error) error {
		return messages(func(m *message.Message) error {
			if n++; planned.Skip[n] {
				return nil
			}
			m.Position = n
			l.note(func(a *plan.Account) { a.Planned = max(a.Planned, n-len(planned.Skip)) })
			f := restoring(m, queue, c.User())
			if planned.Undelays {
				delete(f.publishing.Headers, message.DeliveryTimeHeader)
			}

			entry := plan.NewEntry(m, f.publishing, false)
			entry.Message = nil // the file has it
			return add(f, entry)
		})
	}, progress)
}

// Undo undoes a record: it publishes what the journal holds into the queue that it came from, and takes back what is
// still where it was sent. It is recorded in the journal like every other action. An error means that nothing was done;
// what ends it early is in Account.Stopped.
func (c *Client) Undo(ctx context.Context, p plan.UndoPlan, progress plan.Progress) (plan.Account, error) {
	total := plan.Account{Operation: plan.Undo, From: p.Back, Planned: p.Planned()}
	attempt := fmt.Sprintf("undo %d", p.Record.ID)
	switch {
	case p.Refusal.Refused():
		return total, fmt.Errorf("%s: %s", attempt, p.Refusal.Words())
	case c.journal == nil:
		return total, fmt.Errorf("%s: there is no journal to undo from, or to write this down in", attempt)
	}

	parts := 0
	part := func(a plan.Account, err error) error {
		if err != nil && parts == 0 {
			return err
		}
		if err != nil {
			stop(&a, err)
		}
		parts++
		total = total.With(a)
		return nil
	}

	tell := func(a plan.Account) {
		if progress != nil {
			progress(total.With(a))
		}
	}

	if p.Restores > 0 {
		if err := part(c.restore(ctx, &p, p.Claim(), tell)); err != nil {
			return total, fmt.Errorf("%s: %w", attempt, err)
		}
	}

	for _, take := range p.Takes {
		if total.Stopped != "" {
			break
		}
		account, left, err := c.execute(ctx, take.Run(), tell)
		if err != nil || account.Stopped != "" || account.Held > 0 || !take.Undoing.Gone.Restores() {
			left.Positions = nil // the journal does not have the messages that were not found, or they may be there
		}

		account.Gone -= len(left.Positions)
		if err := part(account, err); err != nil {
			return total, err
		}
		if len(left.Positions) > 0 {
			// This is not the first part: its error is in the account.
			_ = part(c.restore(ctx, &p, left, tell))
		}
	}

	return total, nil
}

// restore publishes what the journal holds of the claimed entries.
func (c *Client) restore(
	ctx context.Context, planned *plan.UndoPlan, claim plan.Claim, progress plan.Progress,
) (plan.Account, error) {
	n := len(claim.Positions)
	l := &ledger{began: time.Now(), account: plan.Account{Operation: plan.Undo, From: planned.Back, Planned: n}}
	record := plan.Record{
		Operation: plan.Undo,
		From:      planned.Back,
		Planned:   n,
		Undoes:    planned.Record.ID,
		Intent: &plan.Intent{
			Recipients: []plan.Recipient{planned.Into}, Options: plan.Options{KeepDelay: planned.Delayed},
		},
	}

	var claimed []int // in order
	begin := func() (w *writer, err error) {
		w, claimed, err = c.claim(ctx, record, claim)
		l.note(func(a *plan.Account) { a.Planned = len(claimed) })
		return w, err
	}

	return c.send(ctx, planned.Into, l, begin, func(add func(*flight, plan.Entry) error) error {
		return c.journal.Entries(ctx, planned.Record.ID, func(e *plan.Entry) error {
			if _, mine := slices.BinarySearch(claimed, e.Position); !mine {
				return nil
			}
			m := *e.Message
			m.Position = e.Position
			f := restoring(&m, planned.Back, planned.User)
			entry := plan.NewEntry(&m, f.publishing, false)
			entry.Message, entry.Undoes = nil, e.Position
			return add(f, entry)
		})
	}, progress)
}

// send publishes messages and settles them. With a journal everything is written to it first: begin begins the record.
// An error means that nothing was done.
func (c *Client) send(
	ctx context.Context, into plan.Recipient, l *ledger, begin func() (*writer, error),
	messages func(add func(*flight, plan.Entry) error) error, progress plan.Progress,
) (plan.Account, error) {
	s := &sending{client: c, ledger: l}
	var err error
	moved := func(f *flight) { l.record(plan.Moved, f.message, "") }
	if s.window, err = openWindow(ctx, c, c.patience, into.Queue.VHost, []plan.Recipient{into}, l, moved); err != nil {
		return l.copy(), err
	}
	if l.journal, err = begin(); err != nil {
		_ = s.window.finish()
		return l.copy(), err
	}

	l.account.JournalID = l.journal.number()
	reported := report(l, progress)
	failed := messages(func(f *flight, e plan.Entry) error { return s.add(ctx, f, e) })
	if failed == nil {
		failed = s.flush(ctx)
	}
	if e := s.window.finish(); e != nil {
		failed = e
	}

	reported()
	l.wait("")
	switch {
	case ctx.Err() != nil:
		l.stop(errCancelled)
	case failed != nil:
		l.stop(failed)
	}

	if e := l.journal.finish(l.copy()); e != nil {
		l.stop(e)
	}

	account := l.copy()
	if progress != nil {
		progress(account)
	}

	return account, nil
}

// add prepares one message for publishing. After an error nothing more can be added.
func (s *sending) add(ctx context.Context, f *flight, entry plan.Entry) error {
	var err error
	if f.properties, err = publishable(f.publishing, s.client.User(), s.window.link); err != nil {
		s.ledger.refuse(f.message, err.Error())
		return nil
	}

	s.batch = append(s.batch, f)
	s.entries = append(s.entries, entry)
	if s.bytes += f.message.BodyBytes; len(s.batch) >= writeBatch || s.bytes >= writeBytes {
		return s.flush(ctx)
	}

	return nil
}

// flush writes the intentions and publishes.
func (s *sending) flush(ctx context.Context) error {
	batch, entries := s.batch, s.entries
	s.batch = nil
	s.entries = nil
	s.bytes = 0
	if err := s.ledger.journal.intend(ctx, entries); err != nil {
		return err
	}
	for _, f := range batch {
		if err := s.window.publish(ctx, f); err != nil {
			return err
		}
	}

	return nil
}

// mostKept is how many bytes of bodies an import keeps on disk, at most.
const mostKept = 256 << 20

// Importable implements cli.Broker.
func (c *Client) Importable(
	ctx context.Context, into model.QueueRef,
) (check message.Visit, kept message.Messages, err error) {
	held, release, err := c.Hold(ctx, into.VHost)
	if err != nil {
		return nil, nil, err
	}
	defer release()

	passed := spool.New(spool.Memory)
	return func(m *message.Message) error {
		p, _ := plan.Restoring(m, into.Name, c.User())
		_, err := publishable(&p, c.User(), held)
		if err == nil && passed.Bytes() < mostKept {
			_ = passed.Add(m) // it then takes no more, and is not whole
		}
		return err
	}, passed, nil
}

// publishable is wire.Publishable for a connection.
func publishable(p *message.Publishing, user string, on *link.Link) (properties []byte, err error) {
	return wire.Publishable(p, user, on.Version(), on.Config.FrameSize)
}
