package trace

import (
	"sync"
	"time"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/model/trace"
)

const (
	tapShows   = 10_000 // messages that are kept for the screen, the newest
	tapPreview = 160    // characters of a body
)

// tapRow is one message that passed, as the table shows it. It is made outside Update.
type tapRow struct {
	number int64
	passed trace.Passed // without body and headers
	from   string       // printable
	key    string
	id     string
	deaths string
	body   string
}

// tapFeed carries what passes from the tap's goroutine to Update. It holds what the screen has not fetched yet, the
// newest of it.
type tapFeed struct {
	plans chan trace.TapPlan // at most one, the newest

	mu      sync.Mutex
	passing *trace.Passing
	waiting []*tapRow
	number  int64
	counts  trace.TapCounts
	works   bool
}

func newTapFeed(vhost string, t *model.Topology) *tapFeed {
	return &tapFeed{plans: make(chan trace.TapPlan, 1), passing: trace.NewPassing(vhost, t)}
}

// see takes a message in.
func (f *tapFeed) see(m *message.Message, at time.Time) {
	row := &tapRow{
		key: model.Printable(m.RoutingKey), id: model.Printable(m.Properties.MessageID),
		deaths: model.Printable(m.DeathSummary()), body: m.BodyPreview(tapPreview),
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.number++
	row.number, row.passed = f.number, f.passing.See(m, at)
	m.Body, m.Headers, m.Deaths = nil, nil, nil // a screen of messages must not hold their bodies
	switch p := &row.passed; {
	case p.Unclear != "":
		row.from = "unknown"
	case p.From == "":
		row.from = "published"
	default:
		row.from = model.Printable(p.From)
	}
	if len(f.waiting) >= tapShows {
		f.waiting = append(f.waiting[:0], f.waiting[tapShows/10:]...)
	}
	f.waiting = append(f.waiting, row)
}

func (f *tapFeed) tell(counts trace.TapCounts) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.counts, f.works = counts, true
}

// follow takes a newer poll: its settings, and its bindings when they are others.
func (f *tapFeed) follow(t *model.Topology, plan trace.TapPlan, changed bool) {
	f.mu.Lock()
	f.passing.Follow(t)
	f.mu.Unlock()
	if !changed {
		return
	}
	select {
	case <-f.plans:
	default:
	}
	select {
	case f.plans <- plan:
	default: // another poll's plan came between, which is as good
	}
}

// fetch takes what has come since the last time; keep leaves the messages for later.
func (f *tapFeed) fetch(keep bool) (rows []*tapRow, counts trace.TapCounts, works bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !keep {
		rows, f.waiting = f.waiting, nil
	}
	return rows, f.counts, f.works
}
