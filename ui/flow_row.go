package ui

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/findings"
	"github.com/dlxtop/dlxtop/ui/term"
)

// flowRow is a flow as one line shows it, summed over its queues.
type flowRow struct {
	flow      *model.Flow
	poll      *topologyMsg // what is due is worked out when it is drawn
	name      string       // printable, with the vhost when that is not the default one
	findings  []*findings.Finding
	mark      string // of the worst finding
	waiting   model.Opt[int64]
	buffers   string
	moved     model.Opt[float64] // per second, out of the buffers
	consumers model.Opt[int64]
	polled    bool // by basic.get instead
	ready     model.Opt[int64]
	down      bool // the worker's queue: nobody can use it now
	failed    model.Opt[int64]
	due       *term.Field // when the next message leaves the buffers, as prepared
	trend     []float64   // what waited, over the span of the history
	rank      int         // 0 is in trouble, 1 has failed messages, 2 is well
}

const trendSteps = 12

func newFlowRow(flow *model.Flow, msg *topologyMsg, now time.Time) flowRow {
	t := msg.topology
	r := flowRow{
		flow: flow, poll: msg, name: model.Printable(flow.Worker.Queue.String()), buffers: bufferWords(flow),
		due: new(term.Field),
	}
	r.findings = msg.about.Flow(flow)
	for _, f := range r.findings {
		if mark := levelMark(f.Level); r.mark == "" || mark == term.MarkError || mark == term.MarkWarning &&
			r.mark == term.MarkInfo {
			r.mark = mark
		}
	}
	waits := r.sumBuffers(msg)
	if q, ok := t.Queue(flow.Worker.Queue); ok {
		r.consumers, r.ready, r.down = q.Consumers, q.Ready, q.Outage() != model.NoOutage
		r.polled = q.Polled()
	}
	failed := make([]model.QueueRef, len(flow.Failed))
	for i, m := range flow.Failed {
		failed[i] = m.Queue
	}
	r.failed = sumOf(failed, func(ref model.QueueRef) model.Opt[int64] { return readyOf(t, ref) })
	if msg.history != nil {
		r.trend = msg.history.ready(now, trendSteps, waits...)
	}
	consumers, known := r.consumers.Get()
	switch {
	case r.mark == term.MarkError, known && consumers == 0 && !r.polled:
		r.rank = 0
	case r.failed.Or(0) > 0:
		r.rank = 1
	default:
		r.rank = 2
	}
	return r
}

// sumBuffers adds up what waits in the buffers and what leaves them. It returns the queues whose messages wait.
func (r *flowRow) sumBuffers(msg *topologyMsg) (waits []model.QueueRef) {
	t := msg.topology
	moved := model.Unknown[float64]()
	uncounted := false // the broker does not count what leaves an exchange that delays
	for _, b := range r.flow.Buffers {
		r.waiting = plus(r.waiting, t.Waiting(b))
		waits = append(waits, b.Queues()...)
		if rate, ok := msg.moves.Of(b).Out.Get(); ok {
			moved = model.Some(moved.Or(0) + rate)
		}
		uncounted = uncounted || b.InExchange != ""
	}
	if q, ok := t.Queue(r.flow.Worker.Queue); ok && r.flow.DelayedRetry.Set {
		r.waiting = plus(r.waiting, q.Delayed)
		uncounted = true
	} else if len(r.flow.Buffers) == 0 {
		r.waiting, moved = model.Some[int64](0), model.Some(0.0)
	}
	if !uncounted {
		r.moved = moved
	}
	return waits
}

// worst puts what needs a person first, then where most failed.
func worst(a, b flowRow) int {
	return cmp.Or(cmp.Compare(a.rank, b.rank), compareOpt(b.failed, a.failed), cmp.Compare(a.name, b.name))
}

// plus adds what is known.
func plus(sum, n model.Opt[int64]) model.Opt[int64] {
	if !sum.Known() {
		return n
	}
	return model.Some(sum.Or(0) + n.Or(0))
}

func readyOf(t *model.Topology, ref model.QueueRef) model.Opt[int64] {
	if q, ok := t.Queue(ref); ok {
		return q.Ready
	}
	return model.Unknown[int64]()
}

// sumOf adds up what is known; nothing known is unknown, and no queues at all is 0.
func sumOf[N int64 | float64](refs []model.QueueRef, value func(model.QueueRef) model.Opt[N]) model.Opt[N] {
	var sum N
	known := len(refs) == 0
	for _, ref := range refs {
		if v, ok := value(ref).Get(); ok {
			sum, known = sum+v, true
		}
	}
	if !known {
		return model.Unknown[N]()
	}
	return model.Some(sum)
}

// bufferWords tells how long the buffers hold messages, by role: "retry 30s", "delayed 10s 60s", "per message" (which
// only those do that publishers fill on purpose).
func bufferWords(flow *model.Flow) string {
	var words []string
	for _, role := range []model.Role{model.DelayedBuffer, model.RetryBuffer} {
		var ttls []time.Duration
		n, perMessage := 0, false
		for _, b := range flow.Buffers {
			if b.Role != role {
				continue
			}
			n++
			if longest, ok := b.MaxTTL.Get(); ok && len(b.Levels) > 0 {
				words = append(words, string(role)+" to "+model.ShortDuration(roundUp(longest)))
				n--
			} else if ttl, ok := b.TTL.Get(); ok {
				ttls = append(ttls, ttl)
			} else {
				perMessage = true
			}
		}
		if n == 0 {
			continue
		}
		slices.Sort(ttls)
		ttls = slices.Compact(ttls)
		word := string(role)
		if perMessage && len(ttls) == 0 && role == model.DelayedBuffer {
			words = append(words, "per message")
			continue
		}
		if len(ttls) > 4 {
			word += " " + model.ShortDuration(ttls[0]) + "…" + model.ShortDuration(ttls[len(ttls)-1])
		} else {
			for _, ttl := range ttls {
				word += " " + model.ShortDuration(ttl)
			}
		}
		if perMessage {
			word += " per message"
		}
		words = append(words, word)
	}
	if flow.DelayedRetry.Set {
		words = append(words, "retry in itself")
	}
	if len(words) == 0 {
		return "-"
	}
	return strings.Join(words, ", ")
}

// roundUp drops what nobody reads: seconds of minutes, minutes of hours. An upper bound is only ever rounded up.
func roundUp(d time.Duration) time.Duration {
	unit := time.Second
	switch {
	case d > 48*time.Hour:
		unit = time.Hour
	case d > 10*time.Minute:
		unit = time.Minute
	}
	return (d + unit - 1) / unit * unit
}

func levelMark(l findings.Level) string {
	switch l {
	case findings.LevelError:
		return term.MarkError
	case findings.LevelWarning:
		return term.MarkWarning
	}
	return term.MarkInfo
}
