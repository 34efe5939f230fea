package broker

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/dlxtop/dlxtop/broker/spool"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/model/peek"
)

// Peek looks at the messages at the head of a queue, exactly as the plan says, and returns them to the queue before it
// ends. Positions count from 1. A cancelled context ends it early, with what was read and the context's error; the
// plan's timeout ends it early without one. An error about the queue wraps model.ErrQueueGone, ErrQueueDown,
// ErrQueueExclusive, ErrConsumeRefused or ErrQueueBusy.
func (c *Client) Peek(ctx context.Context, plan peek.Plan) (peeked peek.Peeked, err error) {
	err = c.lookAgain(ctx, &plan, func() error {
		if peeked.Messages != nil {
			_ = peeked.Messages.Close()
		}
		peeked, err = c.peek(ctx, plan)
		return err
	})

	return peeked, err
}

// lookAgain repeats a look whose connection was lost, on another node, unless each look counts: the broker gives back
// what was held.
func (c *Client) lookAgain(ctx context.Context, plan *peek.Plan, look func() error) error {
	err := look()
	if !errors.Is(err, model.ErrConnectionLost) && !errors.Is(err, model.ErrQueueSilent) || plan.Counts || !c.Several() {
		return err
	}

	c.remember(ctx, plan.Queue, func(l *model.Looked) {
		if !l.Ended.Sure() {
			plan.Ended = l.Ended
		}
	})

	return look()
}

func (c *Client) peek(ctx context.Context, plan peek.Plan) (peek.Peeked, error) {
	peeked := peek.Peeked{Plan: plan, TakenAt: time.Now()}
	name := plan.Queue.Printable()
	if !plan.Allowed() {
		return peeked, fmt.Errorf("peek %s: %s", name, plan.Refusal.Words())
	}
	src, err := c.openSource(ctx, plan, false)
	if err != nil {
		return peeked, fmt.Errorf("peek: %w", err)
	}
	peeked.TakenAt = time.Now() // what is read was there by now: it is part of the depth just counted
	want := plan.Limit
	if plan.Method != peek.Stream {
		peeked.Depth = model.Some(src.depth)
		want = int(min(int64(want), src.depth))
	}

	unwanted, stop := src.turn.untilWanted(ctx)
	limited, cancel := context.WithTimeoutCause(unwanted, plan.Timeout, errTimeout)
	defer cancel()
	kept := spool.New(c.spoolMemory)
	look := look{
		source: src,
		plan:   plan,
		want:   want,
		spool:  kept,
		pages:  pages{told: plan.Mean},
	}

	err = look.readPages(limited)
	stop()
	rescued, err := c.giveBack(src, err)
	peeked.Messages = kept
	peeked.Stopped = look.stopped
	peeked.Rescued = rescued
	peeked.Highest = src.highest

	if !kept.InMemory() {
		debug.FreeOSMemory() // frees what the deliveries used
	}

	var reached *peek.LimitReached
	var ended *peek.LookEnded
	switch {
	case errors.As(err, &ended) && kept.Len() > 0:
		peeked.Stopped = ended.Error()
	case errors.As(err, &reached) && kept.Len() > 1:
		peeked.Stopped = reached.Error()
	case reached != nil:
		return peeked, err
	case ctx.Err() != nil:
		return peeked, fmt.Errorf("peek %s: %w", name, ctx.Err())
	case errors.Is(err, errNothingComes):
		peeked.Stopped = err.Error()
	case err != nil:
		return peeked, fmt.Errorf("peek: %w", err)
	case src.turn.gives() && kept.Len() < want && peeked.Stopped == "":
		peeked.Stopped = errGivesWay.Error()
	case errors.Is(context.Cause(limited), errTimeout) && kept.Len() < want && peeked.Stopped == "":
		peeked.Stopped = model.Sayf("reading stopped after %s", plan.Timeout)
	case kept.Len() < want && peeked.Stopped == "" && plan.Method != peek.Stream: // a stream has no count of its own
		peeked.Fewer = true
		peeked.Stopped = model.Sayf("no more are ready: of the %v message(s) counted before, some expired, or consumers "+
			"took them", src.depth)
	}

	c.storeLook(&peeked)
	return peeked, nil
}

var errTimeout = errors.New("the time for the peek is over")

type look struct {
	source  *source
	plan    peek.Plan
	want    int
	pages   pages
	spool   *spool.Spool
	stopped string
}

// readPages reads up to want messages, and keeps as many of them as MaxBytes allows.
func (l *look) readPages(ctx context.Context) error {
	for total := 0; total < l.want && l.stopped == "" && ctx.Err() == nil; {
		n := min(l.pages.next(int64(l.want-total), l.plan.Type), max(l.plan.Page, 1))
		if l.plan.Method == peek.Stream {
			n = min(l.want, max(l.plan.Page, 1), peek.MaxPage) // a second consumer would begin at the first message again
		} else if mean := l.pages.mean(); mean > 0 {
			n = min(n, int(max((l.plan.MaxBytes-l.spool.Bytes())/mean, 1)))
		}

		taken, err := l.source.page(ctx, n, l.store)
		total += taken
		if err != nil || taken < n || l.plan.Method == peek.Stream {
			return err
		}
		if l.spool.Bytes() >= l.plan.MaxBytes && total < l.want {
			l.full()
		}
	}

	return nil
}

// store keeps a message for the result. Beyond MaxBytes, or with a full disk, it is only held until the end, like the
// others.
func (l *look) store(_ uint64, m *message.Message) {
	l.pages.took(m.BodyBytes)
	switch {
	case l.source.turn.gives(): // it only has to be given back
	case l.spool.Len() == l.want: // a stream delivers whole chunks, beyond the prefetch (3.10.8)
	case l.spool.Bytes() >= l.plan.MaxBytes && l.spool.Len() > 0:
		l.full()
	default:
		m.Fingerprint = message.FingerprintOf(m)
		if err := l.spool.Add(m); err != nil {
			l.stopped = err.Error()
		}
	}

	letGo(m)
}

func (l *look) full() {
	l.stopped = fmt.Sprintf("%sB were read", message.Size(l.plan.MaxBytes))
}

// Read looks at every message that is in a queue when it begins, from the head, and returns them to the queue before it
// ends. each gets one at a time, and may keep it; an error of each ends the reading and is returned. Only the messages
// of one page are in memory at a time, whatever the queue holds. The error wraps a *peek.LimitReached when the queue's
// delivery limit ended it.
func (c *Client) Read(ctx context.Context, plan peek.Plan, each message.Visit) (read peek.Read, err error) {
	plan.Nameless = plan.Nameless && !c.Several()
	var at, passed, earlier int // positions
	var last message.Fingerprint
	visit := func(m *message.Message) error {
		at = m.Position
		name := m.Fingerprint
		switch {
		case at == earlier && name != last:
			return errHeadMoved
		case at <= earlier:
			return nil
		}

		err := each(m)
		passed, last = at, name
		return err
	}

	err = c.lookAgain(ctx, &plan, func() (err error) {
		at, earlier = 0, passed
		if read, err = c.read(ctx, plan, visit); err == nil && at < earlier {
			err = errHeadMoved
		}
		return err
	})

	return read, err
}

// errHeadMoved ends a reading that another node cannot go on with.
var errHeadMoved = errors.New("the connection to the broker was lost, and messages have left the head of the queue " +
	"since: read it again")

func (c *Client) read(ctx context.Context, plan peek.Plan, each message.Visit) (peek.Read, error) {
	var read peek.Read
	name := plan.Queue.Printable()
	if !plan.Allowed() {
		return read, fmt.Errorf("read %s: %s", name, plan.Refusal.Words())
	}
	src, err := c.openSource(ctx, plan, false)
	if err != nil {
		return read, fmt.Errorf("read: %w", err)
	}
	r := reading{source: src, each: each, pages: pages{told: plan.Mean}}
	unwanted, stop := src.turn.untilWanted(ctx)
	err = r.all(unwanted)
	stop()
	read.Rescued, err = c.giveBack(src, err)

	var ended *peek.LookEnded
	switch {
	case errors.As(err, &ended) && src.taken > 0 && r.failed == nil:
		read.Stopped = ended.Error()
		return read, nil
	case r.failed != nil:
		return read, r.failed
	case ctx.Err() != nil:
		return read, fmt.Errorf("read %s: %w", name, ctx.Err())
	case errors.Is(err, errNothingComes), errors.Is(err, errLongStream):
		read.Stopped = err.Error()
		return read, nil
	case err == nil && src.turn.gives() && int64(r.pages.taken) < src.depth:
		read.Stopped = errGivesWay.Error()
	}

	return read, err
}

// errLongStream is why the rest of a stream is not read.
var errLongStream = errors.New("dlxtop reads no further in a stream")

type reading struct {
	source *source
	each   message.Visit
	pages  pages
	failed error // returned by each
}

func (r *reading) all(ctx context.Context) error {
	if plan := r.source.plan; plan.Method == peek.Stream { // a second consumer would begin at the first message again
		taken, err := r.source.page(ctx, plan.Page, r.pass)
		if err == nil && taken >= plan.Page {
			err = errLongStream
		}
		return err
	}

	for left := r.source.depth; left > 0 && r.failed == nil && ctx.Err() == nil; {
		n := r.pages.next(left, r.source.plan.Type)
		taken, err := r.source.page(ctx, n, r.pass)
		left -= int64(taken)
		if err != nil || taken < n {
			return err
		}
	}

	return nil
}

func (r *reading) pass(_ uint64, m *message.Message) {
	if r.failed != nil || r.source.turn.gives() { // it only has to be given back
		return
	}
	if !r.source.plan.Nameless {
		m.Fingerprint = message.FingerprintOf(m)
	}

	m.Position = r.pages.took(m.BodyBytes)
	r.failed = r.each(m)
	letGo(m)
}

// hugeBody is the size in bytes that is worth a garbage collection: the next body would need as much again.
const hugeBody = 32 << 20

// letGo frees a body that is no longer needed.
func letGo(m *message.Message) {
	huge := len(m.Body) >= hugeBody
	if m.DropBody(); huge {
		debug.FreeOSMemory()
	}
}

const (
	firstPage = 250 // its sizes show how large the next may be
	// bytes of bodies in a page: that much, and as much of headers, may be in memory when the reader is slower than the
	// broker
	pageBytes = 8 << 20
)

// pages decides how many messages are requested at once while a queue is read and everything is held.
type pages struct {
	number int   // so far
	taken  int   // messages
	bytes  int64 // of their bodies
	told   int64 // mean bytes of a body, from the queue's statistics; 0 is unknown
}

// next returns the size of the next page, given how many messages are left: as large as pageBytes allows, and large
// enough that the messages of a quorum queue are kept in few pages.
func (p *pages) next(left int64, kind model.QueueType) int {
	n := int64(firstPage)
	if mean := p.mean(); mean > 0 {
		if n = max(pageBytes/mean, 1); p.taken == 0 {
			n = min(n, firstPage) // the statistics may be about earlier messages
		}
		if rest := int64(maxPages - p.number); rest > 0 && kind == model.Quorum {
			n = max(n, (left+rest-1)/rest)
		}
	}

	p.number++
	return int(min(n, left, peek.MaxPage))
}

// took counts a message, and returns its position.
func (p *pages) took(body int) int {
	p.taken++
	p.bytes += int64(body)
	return p.taken
}

// mean returns the mean body size, at least 1: of the messages taken, otherwise from the statistics; 0 is unknown.
func (p *pages) mean() int64 {
	if p.taken == 0 {
		return p.told
	}
	return max(p.bytes/int64(p.taken), 1)
}
