package broker

import (
	"context"
	"sync"

	"dlxtop/model"
)

// Journal keeps what an execution is about to do, on disk before it is done.
type Journal interface {
	// Begin writes down that an action begins, and returns its number.
	Begin(ctx context.Context, record model.Record) (int64, error)
	// Write writes intentions and outcomes down. They are durable when it returns nil.
	Write(id int64, entries []model.Entry, settled []model.Settled) error
	// Settle writes outcomes down, fast: they survive a kill of this program when it returns nil, and a loss of power from the next
	// Write on.
	Settle(id int64, settled []model.Settled) error
	// Finish writes down how the action ended.
	Finish(id int64, settled []model.Settled, account model.Account) error
}

const (
	writeBatch = 250     // messages written down at once: one fsync for all of them
	writeBytes = 4 << 20 // of bodies in one batch
	// runAhead is how many messages may have an intention without an outcome: what is uncertain after a kill, and may be twice there. It is
	// what a broker needs to be busy all the time.
	runAhead = 1000
)

// writer writes the journal of one execution. A nil one writes nothing.
type writer struct {
	journal Journal
	id      int64

	writing sync.Mutex // one write at a time, so that outcomes are written in their order
	mu      sync.Mutex
	settled []model.Settled
	open    int           // messages with an intention whose outcome is not written down: what is uncertain after a kill
	news    chan struct{} // full when there are outcomes to be written
	failed  error         // of the last write
	room    chan struct{} // full when open has become less, or a write has failed

	ending chan struct{}
	over   chan struct{}
}

// recordOf is what the journal says of a plan.
func recordOf(p *model.Plan) model.Record {
	r := model.Record{Operation: p.Operation, From: p.From, To: p.To(), Planned: p.Planned}
	if u := p.Undoing; u != nil {
		r.From, r.Undoes = u.Back, u.Record
	}
	return r
}

// begin begins a record; nil when there is no journal.
func (c *Client) begin(ctx context.Context, r model.Record) (*writer, error) {
	if c.journal == nil {
		return nil, nil
	}
	r.User, r.Broker = c.User(), c.Address()
	id, err := c.journal.Begin(ctx, r)
	if err != nil {
		return nil, err
	}
	w := &writer{
		journal: c.journal, id: id, news: make(chan struct{}, 1), room: make(chan struct{}, 1), ending: make(chan struct{}), over: make(chan struct{}),
	}
	go w.run()
	return w, nil
}

func (w *writer) number() int64 {
	if w == nil {
		return 0
	}
	return w.id
}

// run writes outcomes down as they come. An error shows again at the next intention, or at the end.
func (w *writer) run() {
	defer close(w.over)
	for {
		select {
		case <-w.ending:
			return
		case <-w.news:
			_ = w.write(nil)
		}
	}
}

// settle notes an outcome. It is written down soon.
func (w *writer) settle(s model.Settled) {
	if w == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.settled = append(w.settled, s)
	signal(w.news)
}

// intend writes intentions down, and returns when they are durable. It waits while too much is uncertain already, but not beyond ctx.
// After an error nothing may be done with these messages.
func (w *writer) intend(ctx context.Context, entries []model.Entry) error {
	if w == nil {
		return nil
	}
	for {
		switch fits, err := w.fits(len(entries)); {
		case err != nil:
			return err
		case fits:
			return w.write(entries)
		}
		select {
		case <-w.room:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// fits reports whether so many more intentions leave no more than runAhead messages uncertain. The error is why that cannot become so.
func (w *writer) fits(n int) (bool, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.open == 0 || w.open+n <= runAhead {
		return true, nil
	}
	return false, w.failed
}

func (w *writer) write(entries []model.Entry) error {
	w.writing.Lock()
	defer w.writing.Unlock()
	settled := w.outcomes()
	var err error
	if len(entries) > 0 {
		err = w.journal.Write(w.id, entries, settled)
	} else {
		err = w.journal.Settle(w.id, settled)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	defer signal(w.room)
	w.failed = err
	if err != nil {
		w.settled = append(settled, w.settled...)
		return err
	}
	w.open = max(w.open+len(entries)-len(settled), 0)
	return nil
}

func (w *writer) outcomes() []model.Settled {
	w.mu.Lock()
	defer w.mu.Unlock()
	settled := w.settled
	w.settled = nil
	return settled
}

// signal fills a channel that holds one.
func signal(full chan struct{}) {
	select {
	case full <- struct{}{}:
	default:
	}
}

// finish writes down how it ended.
func (w *writer) finish(a model.Account) error {
	if w == nil {
		return nil
	}
	close(w.ending)
	<-w.over
	return w.journal.Finish(w.id, w.outcomes(), a)
}

// write works out what is published of the chosen messages, writes down what is intended, and hands on what is durable.
func (x *execution) write(ctx context.Context, pages <-chan []chosen, written chan<- []chosen) {
	defer func() {
		for range pages { // the taker must not wait for us
		}
	}()
	most := writeBatch
	if rate := x.plan.Rate; rate > 0 {
		most = int(min(max(rate/4, 1), writeBatch)) // not far ahead: what is written and not done is uncertain after a kill
	}
	for page := range pages {
		for len(page) > 0 && ctx.Err() == nil {
			n, bytes := 0, 0
			for n < len(page) && n < most && bytes < writeBytes {
				bytes += page[n].message.BodyBytes
				n++
			}
			batch, entries := x.prepare(page[:n])
			page = page[n:]
			if len(batch) == 0 {
				continue
			}
			if err := x.ledger.journal.intend(ctx, entries); err != nil {
				x.end(err)
				return
			}
			select {
			case written <- batch:
			case <-ctx.Done():
				return
			}
		}
	}
}

// prepare sorts out what must not be published, and makes the journal's entries of the rest.
func (x *execution) prepare(page []chosen) (batch []chosen, entries []model.Entry) {
	batch = make([]chosen, 0, len(page))
	journaled := x.ledger.journal != nil
	if journaled {
		entries = make([]model.Entry, 0, len(page))
	}
	for i := range page {
		c := page[i]
		page[i] = chosen{} // lets go of the body as soon as it is settled
		undoes := x.plan.Undoes(c.message)
		if x.plan.Operation.Publishes() {
			p, err := x.plan.Publishing(c.message)
			if err == nil {
				err = publishable(&p, x.client.User())
			}
			if err != nil {
				x.ledger.refuse(c.message, err.Error())
				continue
			}
			c.publishing = &p
			x.canary.release(&p)
		}
		if journaled {
			e := model.NewEntry(c.message, c.publishing, x.client.full || x.plan.Edited != nil)
			if e.Undoes = undoes; undoes > 0 {
				e.Message = nil // what an undo does is not undone
			}
			entries = append(entries, e)
		}
		batch = append(batch, c)
	}
	return batch, entries
}
