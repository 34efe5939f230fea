package shell

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/findings"
	"github.com/dlxtop/dlxtop/model/polls"
	"github.com/dlxtop/dlxtop/ui/term"
)

// FlowRow is a flow as one line, summed over its queues.
type FlowRow struct {
	Flow      *model.Flow
	Poll      *TopologyMsg // due times are worked out when drawn
	Name      string       // printable, with the vhost unless it is the default one
	Findings  []*findings.Finding
	Mark      string // for the worst finding
	Waiting   model.Opt[int64]
	Buffers   string
	Moved     model.Opt[float64] // per second, out of the buffers
	Consumers model.Opt[int64]
	Polled    bool // with basic.get instead
	Ready     model.Opt[int64]
	Down      bool // the worker's queue cannot be used at the moment
	Failed    model.Opt[int64]
	Due       *term.Span // when the next message leaves the buffers, as prepared
	Trend     []float64  // waiting messages over the span of the history
	rank      int        // 0 is in trouble, 1 has failed messages, 2 is well
}

const TrendSteps = 12

func NewFlowRow(flow *model.Flow, msg *TopologyMsg, now time.Time) FlowRow {
	t := msg.Topology
	r := FlowRow{
		Flow:    flow,
		Poll:    msg,
		Name:    flow.Worker.Queue.Printable(),
		Buffers: BufferWords(flow),
		Due:     new(term.Span),
	}

	r.Findings = msg.About.Flow(flow)
	if len(r.Findings) > 0 { // the worst one is first
		r.Mark = LevelMark(r.Findings[0].Level)
	}

	waits := r.sumBuffers(msg)
	if q, ok := t.Queue(flow.Worker.Queue); ok {
		r.Consumers, r.Ready, r.Down = q.Consumers, q.Ready, q.Outage() != model.NoOutage
		r.Polled = q.Polled()
	}

	failed := model.Mapped(flow.Failed, func(m *model.Member) model.QueueRef { return m.Queue })

	r.Failed = polls.ReadyIn(t, failed)
	r.Trend = msg.History.Ready(now, TrendSteps, waits...)
	consumers, known := r.Consumers.Get()
	switch {
	case r.Mark == term.MarkError, known && consumers == 0 && !r.Polled:
	case r.Failed.Or(0) > 0:
		r.rank = 1
	default:
		r.rank = 2
	}

	return r
}

// sumBuffers adds up what waits in the buffers and what leaves them. It returns the queues whose messages wait.
func (r *FlowRow) sumBuffers(msg *TopologyMsg) (waits []model.QueueRef) {
	t := msg.Topology
	moved := model.Unknown[float64]()
	uncounted := false // the broker does not count what leaves an exchange that delays
	for _, b := range r.Flow.Buffers {
		r.Waiting = polls.Plus(r.Waiting, t.Waiting(b))
		waits = append(waits, b.Queues()...)
		moved = polls.Plus(moved, msg.Moves.Of(b).Out)
		uncounted = uncounted || b.InExchange != ""
	}

	if q, ok := t.Queue(r.Flow.Worker.Queue); ok && r.Flow.DelayedRetry.Type.Set {
		r.Waiting = polls.Plus(r.Waiting, q.Delayed)
		uncounted = true
	} else if len(r.Flow.Buffers) == 0 {
		r.Waiting, moved = model.Some[int64](0), model.Some(0.0)
	}

	if !uncounted {
		r.Moved = moved
	}

	return waits
}

// Worst sorts first what needs attention, then by the number of failures.
func Worst(a, b FlowRow) int {
	return cmp.Or(cmp.Compare(a.rank, b.rank), compareOpt(b.Failed, a.Failed), cmp.Compare(a.Name, b.Name))
}

// BufferWords say how long the buffers hold messages, by role: "retry 30s", "delayed 10s 60s", "per message" (only for
// buffers that publishers fill on purpose).
func BufferWords(flow *model.Flow) string {
	var words []string
	for _, role := range []model.Role{model.DelayedBuffer, model.RetryBuffer} {
		var ttls []time.Duration
		perMessage := false
		for _, b := range flow.Buffers {
			longest, hasLongest := b.MaxTTL.Get()
			ttl, hasTTL := b.TTL.Get()
			switch {
			case b.Role != role:
			case hasLongest && len(b.Levels) > 0:
				words = append(words, model.Sayf("%s to %s", role, RoundUp(longest)))
			case hasTTL:
				ttls = append(ttls, ttl)
			default:
				perMessage = true
			}
		}

		slices.Sort(ttls)
		ttls = slices.Compact(ttls)
		var one []string
		if len(ttls) > 0 || role == model.RetryBuffer {
			one = append(one, string(role))
		}

		if len(ttls) > 4 {
			one = append(one, model.Sayf("%s…%s", ttls[0], ttls[len(ttls)-1]))
		} else {
			for _, ttl := range ttls {
				one = append(one, model.ShortDuration(ttl))
			}
		}

		if perMessage {
			one = append(one, "per message")
		}
		if perMessage || len(ttls) > 0 {
			words = append(words, strings.Join(one, " "))
		}
	}

	if retry := &flow.DelayedRetry; retry.Type.Set {
		words = append(words, "own retry "+retry.Range())
	}

	return cmp.Or(strings.Join(words, ", "), "-")
}

// RoundUp drops irrelevant precision: seconds of minutes, minutes of hours. An upper bound is only ever rounded up.
func RoundUp(d time.Duration) time.Duration {
	unit := time.Second
	switch {
	case d > 48*time.Hour:
		unit = time.Hour
	case d > 10*time.Minute:
		unit = time.Minute
	}

	return (d + unit - 1) / unit * unit
}

func LevelMark(l findings.Level) string {
	return map[findings.Level]string{
		findings.LevelError: term.MarkError, findings.LevelWarning: term.MarkWarning, findings.LevelInfo: term.MarkInfo,
	}[l]
}
