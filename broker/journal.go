package broker

import (
	"cmp"
	"context"
	"sync"

	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/model/plan"
)

const (
	writeBatch = 250     // messages written at once, with one fsync
	writeBytes = 4 << 20 // of bodies in one batch
	// runAhead is how many messages may have an intention without an outcome: they are uncertain after a kill, and may
	// then exist twice. A broker needs that many to be busy all the time.
	runAhead = 1000
)

// Recorder writes to disk what an execution is about to do, before it does it.
type Recorder interface {
	// Replayed has the copies that replays have sent on a broker ("HOST:PORT") and its cluster, without those that an undo
	// has brought back.
	Replayed(ctx context.Context, broker, cluster string) (*plan.Doubles, error)
	Entries(ctx context.Context, id int64, each plan.VisitEntry) error
	// Find returns a function that finds the entries of a record by position, as they were written.
	Find(ctx context.Context, record int64) (func(position int) (plan.Entry, error), error)
	// Check proves that the journal is writable.
	Check(ctx context.Context) error
	// Begin returns the number of a new record.
	Begin(ctx context.Context, record plan.Record) (int64, error)
	// Claim begins an undo with those of the entries that no other undo has claimed. The error is a *plan.ClaimedError
	// when there are none.
	Claim(ctx context.Context, record plan.Record, claim plan.Claim) (id int64, granted []int, err error)
	// Resume begins a record that resumes another one, and records what was found out about the messages of earlier ones.
	// The error is a *plan.ClaimedError when another action has claimed that.
	Resume(ctx context.Context, record plan.Record, found map[int64][]plan.Settled) (int64, error)
	// Amend records what was found out about messages of a record that has ended.
	Amend(id int64, settled []plan.Settled) error
	// Write records intentions and outcomes. They are durable when it returns nil.
	Write(id int64, entries []plan.Entry, settled []plan.Settled) error
	// Settle records outcomes quickly: when it returns nil they survive a kill of this program, but a power failure only
	// from the next Write on.
	Settle(id int64, settled []plan.Settled) error
	// Follow records what happened to the messages of a replay afterwards. The last call counts.
	Follow(id int64, s plan.Sequel) error
	// Finish records how the action ended.
	Finish(id int64, settled []plan.Settled, account plan.Account) error
}

// writer writes the journal of one execution. A nil one writes nothing.
type writer struct {
	journal Recorder
	id      int64

	writing sync.Mutex // one write at a time, so that outcomes stay in order
	sync.Mutex
	settled []plan.Settled
	open    int           // messages with an intention but no recorded outcome: uncertain after a kill
	news    chan struct{} // full when there are outcomes to write
	failed  error         // of the last write
	room    chan struct{} // full when open has decreased, or a write has failed

	ending chan struct{}
	over   chan struct{}
}

// recordOf returns the journal's record of a plan that begins when its queue has depth messages.
func recordOf(p *plan.Run, depth int64) plan.Record {
	r := plan.Record{
		ID:        p.Record,
		Operation: p.Operation,
		From:      p.From,
		To:        p.Went(),
		Planned:   p.Planned,
		Intent:    p.Intent(depth),
	}

	if u := p.Undoing; u != nil {
		r.From, r.Undoes = u.Back, u.Record
		r.Intent.Selection = plan.Nobody() // the undone record has them
	}

	if g := p.Resuming; g != nil { // it continues with what was ready when the first one began
		r.Intent.Depth = min(depth, g.Left)
		r.From, r.Undoes = cmp.Or(g.Back, r.From), g.Undoes
	}

	return r
}

// signed returns a record with who begins it, where, and why. The connection must exist already.
func (c *Client) signed(ctx context.Context, r plan.Record) plan.Record {
	r.Reason = plan.ReasonOf(ctx)
	r.User, r.Broker, r.Session, r.Cluster = c.User(), c.Address(), c.Session, c.KnownCluster()
	return r
}

// Begin implements action.Broker.
func (c *Client) Begin(ctx context.Context, r *plan.Run, depth int64) (err error) {
	if c.journal != nil {
		r.Record, err = c.journal.Begin(ctx, c.signed(ctx, recordOf(r, depth)))
	}
	return err
}

// End implements action.Broker. An error leaves the record unfinished.
func (c *Client) End(r *plan.Run, why string) {
	if r.Record > 0 {
		_ = c.journal.Finish(r.Record, nil, plan.Account{Planned: r.Planned, Stopped: why})
	}
}

// begin begins a record, which may resume another one; nil without a journal.
func (c *Client) begin(ctx context.Context, r plan.Record, g *plan.Resuming) (w *writer, err error) {
	if c.journal == nil {
		return nil, nil
	}
	var id int64
	if r = c.signed(ctx, r); g == nil {
		id, err = c.journal.Begin(ctx, r)
	} else {
		r.Resumes = g.Record
		id, err = c.journal.Resume(ctx, r, g.Found)
	}
	return newWriter(c.journal, id, err)
}

// claim begins an undo. granted are the positions that it may bring back.
func (c *Client) claim(ctx context.Context, r plan.Record, claim plan.Claim) (w *writer, granted []int, err error) {
	id, granted, err := c.journal.Claim(ctx, c.signed(ctx, r), claim)
	w, err = newWriter(c.journal, id, err)
	return w, granted, err
}

// newWriter writes the record that was begun; err is why it could not be.
func newWriter(j Recorder, id int64, err error) (*writer, error) {
	if err != nil {
		return nil, err
	}
	w := &writer{
		journal: j,
		id:      id,
		news:    make(chan struct{}, 1),
		room:    make(chan struct{}, 1),
		ending:  make(chan struct{}),
		over:    make(chan struct{}),
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

// run writes outcomes as they come. An error shows again at the next intention, or at the end.
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

// settle queues an outcome. It is written soon.
func (w *writer) settle(s plan.Settled) {
	if w == nil {
		return
	}
	w.Lock()
	defer w.Unlock()
	w.settled = append(w.settled, s)
	signal(w.news)
}

// intend writes intentions, and returns when they are durable. It waits while too much is uncertain already, but not
// beyond ctx. After an error nothing may be done with these messages.
func (w *writer) intend(ctx context.Context, entries []plan.Entry) error {
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

// fits reports whether n more intentions leave at most runAhead messages uncertain. The error is why that can no longer
// happen.
func (w *writer) fits(n int) (bool, error) {
	w.Lock()
	defer w.Unlock()
	if w.open == 0 || w.open+n <= runAhead {
		return true, nil
	}
	return false, w.failed
}

func (w *writer) write(entries []plan.Entry) error {
	w.writing.Lock()
	defer w.writing.Unlock()
	settled := w.outcomes()
	var err error
	if len(entries) > 0 {
		err = w.journal.Write(w.id, entries, settled)
	} else {
		err = w.journal.Settle(w.id, settled)
	}

	w.Lock()
	defer w.Unlock()
	defer signal(w.room)
	w.failed = err
	if err != nil {
		w.settled = append(settled, w.settled...)
		return err
	}

	w.open = max(w.open+len(entries)-len(settled), 0)
	return nil
}

func (w *writer) outcomes() []plan.Settled {
	w.Lock()
	defer w.Unlock()
	settled := w.settled
	w.settled = nil
	return settled
}

func signal(full chan struct{}) {
	select {
	case full <- struct{}{}:
	default:
	}
}

func (w *writer) finish(a plan.Account) error {
	if w == nil {
		return nil
	}
	close(w.ending)
	<-w.over
	return w.journal.Finish(w.id, w.outcomes(), a)
}

// write works out what is published for the selected messages, writes the intentions, and passes on what is durable.
func (x *execution) write(ctx context.Context, pages <-chan []*flight, written chan<- []*flight) {
	defer func() {
		for range pages { // the taker must not block
		}
	}()

	most := writeBatch
	if rate := x.plan.Rate; rate > 0 {
		most = int(min(max(rate/4, 1), writeBatch)) // not far ahead: what is written but not done is uncertain after a kill
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
			if len(batch) == 0 && len(entries) == 0 {
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

// publishing returns what is published for a message. entry has what an entry of the journal says about that: the entry
// that an undo takes back, and the copies that a replay sends.
func (x *execution) publishing(m *message.Message) (p message.Publishing, entry plan.Entry, err error) {
	if x.retrieval != nil {
		p, entry.Undoes, err = x.retrieval.Publishing(m)
		return p, entry, err
	}

	p, err = x.run.Publishing(m)
	if err != nil || x.plan.Operation != plan.Replay {
		return p, entry, err
	}

	copies := plan.CopySetOf(m, p.Reaches)
	entry.Copies = copies.List()
	if x.doubling != nil {
		if o := x.doubling.Against(m, copies); o != nil {
			err = &plan.Unpublished{Objection: o}
		}
	}

	return p, entry, err
}

// prepare sorts out what must not be published, and makes the journal's entries for the rest.
func (x *execution) prepare(page []*flight) (batch []*flight, entries []plan.Entry) {
	batch = make([]*flight, 0, len(page))
	journaled := x.ledger.journal != nil
	if journaled {
		entries = make([]plan.Entry, 0, len(page))
	}

	for i, f := range page {
		page[i] = nil // frees the body as soon as it is settled
		var said plan.Entry
		if x.plan.Operation.Publishes() {
			p, entry, err := x.publishing(f.message)
			said = entry
			if err == nil {
				f.properties, err = publishable(&p, x.client.User(), x.window.link)
			}

			if err != nil {
				_, double := unpublished(err).(plan.Double)
				if journaled && double { // a resume meets it among the messages that were sent
					x.ledger.record(plan.Refused, f.message, err.Error())
					entries = append(entries, plan.StayingEntry(f.message))
				} else {
					x.ledger.refuse(f.message, err.Error())
				}

				x.stays(f.message, err)
				continue
			}

			f.publishing = &p
			x.released.Add(&p)
			x.canary.release(&p)
		}

		if journaled {
			e := plan.NewEntry(f.message, f.publishing, x.client.full || x.plan.KeepsWhole())
			e.Copies, e.Undoes = said.Copies, said.Undoes
			if e.Undoes > 0 {
				e.Message = nil // an undo is not undone
			}
			entries = append(entries, e)
		}

		batch = append(batch, f)
	}

	return batch, entries
}
