package flows

import (
	"maps"
	"time"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/watch"
	"github.com/dlxtop/dlxtop/ui/shell"
)

// liveFlow is what a flow screen knows between two polls. The screen's Update is the only one that changes it.
type liveFlow struct {
	watch  *watch.Watch // nil before the first poll
	rates  map[model.QueueRef]watch.Rates
	newest time.Time     // count
	every  time.Duration // between two counts; 0 before the first
	lanes  [2]error      // of the last count of each kind
}

// polled takes in a poll.
func (l *liveFlow) polled(msg shell.TopologyMsg, flow *model.Flow) {
	if l.watch == nil {
		l.watch = watch.New(msg.Topology, flow)
	}
	l.watch.Poll(msg.Topology, flow, msg.Held)
	l.rate(msg.Topology.Snapshot.TakenAt)
}

// counted takes in counts, and reports whether anything changed that is seen.
func (l *liveFlow) counted(msg shell.CountedMsg) (changed bool) {
	changed = (l.lanes[msg.Lane] == nil) != (msg.Err == nil)
	l.lanes[msg.Lane] = msg.Err
	if msg.Err != nil || l.watch == nil {
		return changed
	}
	l.every = msg.Every
	for _, q := range msg.Counts.Queues {
		if !q.Held && q.Ready.Known() {
			l.newest = msg.Counts.At
		}
	}
	l.watch.Count(msg.Counts)
	return l.rate(msg.Counts.At) || changed || msg.Changed
}

// keep hands on what is known of the heads of the queues: it stays true when this flow is not counted any more.
func (l *liveFlow) keep(h *shell.History) {
	if h == nil {
		return
	}
	for _, ref := range l.watch.Queues() {
		if head, ok := l.watch.HeadArrived(ref); ok {
			h.Saw(ref, head)
		}
	}
}

// rate works the rates out again, and reports whether one changed.
func (l *liveFlow) rate(now time.Time) bool {
	rates := l.watch.Rates(now)
	changed := !maps.Equal(rates, l.rates)
	l.rates = rates
	return changed
}

// into is a poll with what is known since.
func (l *liveFlow) into(msg shell.TopologyMsg, now time.Time) shell.TopologyMsg {
	msg.Rates, msg.Watch = l.rates, l.watch
	if l.watch != nil {
		msg.Moves = l.watch.Moves(msg.Moves, l.rates, now)
	}
	return msg
}

// words tell how well it is known what moves; bad when it is known badly.
func (l *liveFlow) words(now time.Time, t *model.Topology) (words string, bad bool) {
	for _, err := range l.lanes {
		if err != nil {
			return "followed by polls only: " + err.Error(), true
		}
	}
	fresh := now.Sub(l.newest) < shell.CountedFor
	switch {
	case !fresh:
		words = "from polls, up to 5s late"
	case l.every <= shell.DeclarePace.Least:
		words = "live, 4 counts a second"
	default:
		words = "counted every " + model.ShortDuration(l.every.Round(100*time.Millisecond))
	}
	o := t.Snapshot.Overview
	switch {
	case o.StatsOff || o.RatesMode == "none":
		words += "; statistics are off: deliveries to consumers are unknown"
	case fresh:
		old := max(now.Sub(t.Snapshot.TakenAt), 0)
		words += "; deliveries to consumers " + shell.Age(old) + " to " + shell.Age(old+model.StatisticsLag) + " late"
	}
	return words, false
}
