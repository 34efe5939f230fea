package broker

import (
	"context"
	"fmt"
	"sync"
	"time"

	"dlxtop/model"
)

// parcel is a message that is in no queue, with what is published of it and what the journal says of that.
type parcel struct {
	message    *model.Message
	publishing *model.Publishing
	entry      model.Entry
}

// sending publishes messages that are in no queue: from the journal, or from a file.
type sending struct {
	client *Client
	ledger *ledger
	window *window
	batch  []parcel
	bytes  int
}

// Import publishes messages into a queue, byte for byte, through the default exchange; messages calls with each of them, which then
// is this call's. The journal keeps which they are, not what is in them. An error of messages ends it early, and is in Account.Stopped. An
// error means that nothing was done.
func (c *Client) Import(ctx context.Context, queue model.QueueRef, messages func(func(*model.Message) error) error, progress func(model.Account)) (model.Account, error) {
	l := &ledger{began: time.Now(), account: model.Account{Operation: model.Import, From: queue}}
	user, n := c.User(), 0
	record := model.Record{Operation: model.Import, From: queue}
	return c.send(ctx, queue.VHost, l, func(add func(parcel) error) error {
		return messages(func(m *model.Message) error {
			n++
			m.Position = n
			l.plan(n)
			p, _ := m.Restoring(queue.Name, user)
			p.Reaches = []model.QueueRef{queue}
			entry := model.NewEntry(m, &p, false)
			entry.Message = nil // the file has it
			return add(parcel{m, &p, entry})
		})
	}, record, progress)
}

// Undo takes a record back: it publishes what the journal holds into the queue that it came from, and takes back what is still where
// it was sent to. It is written into the journal like every other action. entries calls with each entry of the record. An error means
// that nothing was done; what ends it early is in Account.Stopped.
func (c *Client) Undo(ctx context.Context, plan model.UndoPlan, entries func(func(*model.Entry) error) error, progress func(model.Account)) (model.Account, error) {
	total := model.Account{Operation: model.Undo, From: plan.Back, Planned: plan.Planned()}
	attempt := fmt.Sprintf("undo %d", plan.Record.ID)
	switch {
	case plan.Refusal != "":
		return total, fmt.Errorf("%s: %s", attempt, plan.Refusal)
	case c.journal == nil:
		return total, fmt.Errorf("%s: there is no journal to undo from, and to write this down in", attempt)
	}
	parts := 0
	part := func(a model.Account, err error) error {
		if err != nil && parts == 0 {
			return err
		}
		if err != nil && a.Stopped == "" {
			a.Stopped = err.Error()
		}
		parts++
		total = total.With(a)
		return nil
	}
	tell := func(a model.Account) {
		if progress != nil {
			progress(total.With(a))
		}
	}
	if plan.Restores > 0 {
		if err := part(c.restore(ctx, &plan, entries, tell)); err != nil {
			return total, fmt.Errorf("%s: %w", attempt, err)
		}
	}
	for _, take := range plan.Takes {
		if total.Stopped != "" {
			break
		}
		if err := part(c.Execute(ctx, take, tell)); err != nil {
			return total, err
		}
	}
	return total, nil
}

// restore publishes what the journal holds.
func (c *Client) restore(ctx context.Context, plan *model.UndoPlan, entries func(func(*model.Entry) error) error, progress func(model.Account)) (model.Account, error) {
	l := &ledger{began: time.Now(), account: model.Account{Operation: model.Undo, From: plan.Back, Planned: plan.Restores}}
	record := model.Record{Operation: model.Undo, From: plan.Back, Planned: plan.Restores, Undoes: plan.Record.ID}
	return c.send(ctx, plan.Back.VHost, l, func(add func(parcel) error) error {
		return entries(func(e *model.Entry) error {
			if !plan.Restored(e) {
				return nil
			}
			m := e.Message
			m.Position = e.Position
			p, _ := m.Restoring(plan.Back.Name, plan.User)
			p.Reaches = []model.QueueRef{plan.Back}
			entry := model.NewEntry(m, &p, false)
			entry.Message, entry.Undoes = nil, e.Position
			return add(parcel{m, &p, entry})
		})
	}, record, progress)
}

// send publishes parcels and settles them. With a journal everything is in it first. An error means that nothing was done.
func (c *Client) send(ctx context.Context, vhost string, l *ledger, parcels func(func(parcel) error) error, record model.Record, progress func(model.Account)) (model.Account, error) {
	s := &sending{client: c, ledger: l}
	var err error
	if s.window, err = openWindow(ctx, c, vhost, l, func(f *flight) { l.record(model.Moved, f.message, "") }); err != nil {
		return l.copy(), err
	}
	var others sync.WaitGroup
	others.Go(func() { s.window.watch(ctx) })
	if l.journal, err = c.begin(ctx, record); err != nil {
		_ = s.window.finish()
		others.Wait()
		return l.copy(), err
	}
	l.account.JournalID = l.journal.number()
	done := make(chan struct{})
	if progress != nil {
		others.Go(func() { report(l, progress, done) })
	}
	failed := parcels(func(p parcel) error { return s.add(ctx, p) })
	if failed == nil {
		failed = s.flush(ctx)
	}
	if e := s.window.finish(); e != nil {
		failed = e
	}
	close(done)
	others.Wait()
	l.wait("")
	switch {
	case ctx.Err() != nil:
		l.stop(errCancelled.Error())
	case failed != nil:
		l.stop(failed.Error())
	}
	if e := l.journal.finish(l.copy()); e != nil {
		l.stop(e.Error())
	}
	account := l.copy()
	if progress != nil {
		progress(account)
	}
	return account, nil
}

// add takes one parcel in. After an error there is nothing more to add.
func (s *sending) add(ctx context.Context, p parcel) error {
	if err := publishable(p.publishing, s.client.User()); err != nil {
		s.ledger.refuse(p.message, err.Error())
		return nil
	}
	s.batch = append(s.batch, p)
	if s.bytes += p.message.BodyBytes; len(s.batch) >= writeBatch || s.bytes >= writeBytes {
		return s.flush(ctx)
	}
	return nil
}

// flush writes the intentions down and publishes.
func (s *sending) flush(ctx context.Context) error {
	batch := s.batch
	s.batch, s.bytes = nil, 0
	if s.ledger.journal != nil {
		entries := make([]model.Entry, len(batch))
		for i := range batch {
			entries[i] = batch[i].entry
		}
		if err := s.ledger.journal.intend(ctx, entries); err != nil {
			return err
		}
	}
	for i := range batch {
		if err := s.window.publish(ctx, &flight{message: batch[i].message, publishing: batch[i].publishing}); err != nil {
			return err
		}
	}
	return nil
}
