// Package overview is the flows of a broker as a table and as JSON.
package overview

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/dlxtop/dlxtop/cli/print"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/carry"
	"github.com/dlxtop/dlxtop/model/message"
)

// The JSON of `dlxtop flows`.
type (
	flowsJSON struct {
		Flows []flowJSON        `json:"flows"`                         // each worker with what leads to it and from it
		Alone []failedAloneJSON `json:"failed_without_flow,omitempty"` // failed queues that belong to no flow

		ParkedAlone []failedAloneJSON `json:"parked_without_flow,omitempty"` // parked queues that belong to no flow

		// buffers that lead to no queue that is known
		BuffersAlone []failedAloneJSON `json:"buffers_without_flow,omitempty"`

		ShovelsUnknown string `json:"carriers_unknown,omitempty"` // why shovels and federation links are unknown
	}
	flowJSON struct {
		Name    string       `json:"name"`    // of the flow
		VHost   string       `json:"vhost"`   // where it is
		Worker  workerJSON   `json:"worker"`  // the queue whose messages are delayed or retried
		Buffers []bufferJSON `json:"buffers"` // where messages wait
		Failed  []failedJSON `json:"failed"`  // where failed messages end

		Parked []failedJSON `json:"parked,omitempty"` // where they are kept on purpose, as the configuration states
	}
	workerJSON struct {
		Queue     string           `json:"queue"`              // its name
		Ready     model.Opt[int64] `json:"ready,omitzero"`     // messages that wait in it
		Consumers model.Opt[int64] `json:"consumers,omitzero"` // that take from it
		Polled    bool             `json:"polled,omitzero"`    // an application takes messages with basic.get instead
		countsJSON
		Outage model.Outage `json:"unavailable,omitempty"` // node down, no majority

		heldJSON
	}
	// absent: the queue holds none of its own failures back
	heldJSON struct {
		// which of its failures it holds back: all, failed, returned
		Retry     string `json:"delayed_retry,omitempty"`
		Source    string `json:"delayed_retry_source,omitempty"`     // argument or policy NAME
		Min       int64  `json:"delayed_retry_min_ms,omitempty"`     // how long, times the failures of the message
		MinSource string `json:"delayed_retry_min_source,omitempty"` // argument or policy NAME
		Max       int64  `json:"delayed_retry_max_ms,omitempty"`     // at most
		MaxSource string `json:"delayed_retry_max_source,omitempty"` // argument or policy NAME

		Delayed model.Opt[int64] `json:"delayed,omitzero"`          // messages that it holds back
		Next    string           `json:"next_delayed_at,omitempty"` // when the first of them is due
		Last    string           `json:"last_delayed_at,omitempty"` // and the last
	}
	bufferJSON struct {
		Queue string           `json:"queue"`          // its name
		Role  model.Role       `json:"role"`           // delayed or retry
		Ready model.Opt[int64] `json:"ready,omitzero"` // messages that wait in it
		countsJSON
		Outage     model.Outage      `json:"unavailable,omitempty"` // node down, no majority
		TTL        model.Opt[int64]  `json:"ttl_ms,omitzero"`       // how long they wait at most
		TTLSource  string            `json:"ttl_source,omitempty"`  // argument, policy or operator policy
		DLX        string            `json:"dlx"`                   // the dead-letter exchange
		DLXSource  string            `json:"dlx_source,omitempty"`  // argument or policy
		RoutingKey model.Opt[string] `json:"routing_key,omitzero"`  // of its dead letters; absent: each keeps its own
		Targets    []string          `json:"targets"`               // the queues that they reach
		Reason     string            `json:"reason"`                // why it is taken for a buffer

		// all the queues, when several delay as one; queue is the first of them
		Levels   []string         `json:"levels,omitempty"`
		TTLMax   model.Opt[int64] `json:"ttl_max_ms,omitzero"` // and how long they hold a message at most
		Exchange string           `json:"exchange,omitempty"`  // messages wait in this exchange, and queue is empty
	}
	failedAloneJSON struct {
		VHost string `json:"vhost"` // where it is
		failedJSON
	}
	failedJSON struct {
		Queue string           `json:"queue"`          // its name
		Ready model.Opt[int64] `json:"ready,omitzero"` // messages in it
		countsJSON
		Outage    model.Outage     `json:"unavailable,omitempty"` // node down, no majority
		TTL       model.Opt[int64] `json:"ttl_ms,omitzero"`       // how long they stay at most
		TTLSource string           `json:"ttl_source,omitempty"`  // argument, policy or operator policy
		Targets   []string         `json:"targets,omitempty"`     // with a TTL: the queues that they then go to
		Reason    string           `json:"reason"`                // why it is taken for one
	}
	// what a queue counts beside ready messages; absent: RabbitMQ has counted none of this queue
	countsJSON struct {
		DeadLettersHeld model.Opt[int64] `json:"dead_letters_held,omitzero"` // that no queue has taken yet
		// messages delivered again, a mean of 5 s; absent: none was ever
		Redelivered model.Opt[float64] `json:"redelivered_per_second,omitzero"`
		Carriers    []carrierJSON      `json:"carriers,omitempty"` // that take from it, or lead to it
	}
	carrierJSON struct {
		Kind   string `json:"kind"`   // shovel or federation
		Name   string `json:"name"`   // of a shovel, or of an upstream
		Takes  bool   `json:"takes"`  // from this queue; otherwise it leads to it
		Source string `json:"source"` // a queue or an exchange, with its broker where that is another one
		Target string `json:"target"` // the same
		State  string `json:"state"`  // running, starting, terminated, error
		// when that began, as its node writes it: by its clock and time zone
		Since string `json:"since,omitempty"`
		Why   string `json:"reason,omitempty"` // why it does not run, in the broker's words
		// on-confirm, on-publish, no-ack; absent: unknown
		AckMode string `json:"ack_mode,omitempty"`
	}
)

// Flows returns what `dlxtop flows -o json` writes.
func Flows(t *model.Topology) flowsJSON {
	out := flowsJSON{Flows: []flowJSON{}, ShovelsUnknown: t.Snapshot.ShovelsUnknown}
	failed := func(m *model.Member) failedJSON { return failedOf(t, *m) }
	for _, f := range t.Flows() {
		worker := t.Known(f.Worker.Queue)
		flow := flowJSON{
			Name: f.Name, VHost: f.VHost,
			Worker: workerJSON{
				Queue:      f.Worker.Queue.Name,
				Ready:      worker.Ready,
				Consumers:  worker.Consumers,
				Polled:     worker.Polled(),
				countsJSON: countsOf(t, worker),
				Outage:     worker.Outage(),
			},
			Buffers: []bufferJSON{}, Failed: model.Mapped(f.Failed, failed), Parked: model.Mapped(f.Parked, failed),
		}

		if retry := &f.DelayedRetry; retry.Type.Set {
			flow.Worker.heldJSON = heldJSON{
				retry.Type.Value, retry.Type.Source.String(), retry.Min.Value.Milliseconds(), retry.Min.Source.String(),
				retry.Max.Value.Milliseconds(), retry.Max.Source.String(), worker.Delayed,
				message.JSONTime(t.NextRetry(worker).Or(time.Time{})), message.JSONTime(t.LastRetry(worker).Or(time.Time{})),
			}
		}

		for _, b := range f.Buffers {
			q := t.Known(b.Queue)
			buffer := bufferJSON{
				Queue:      b.Queue.Name,
				Role:       b.Role,
				Ready:      t.Waiting(b),
				Outage:     q.Outage(),
				countsJSON: countsOf(t, q),
				TTLSource:  string(b.TTLSource.Kind),
				DLX:        b.DLX,
				DLXSource:  string(b.DLXSource.Kind),
				RoutingKey: b.Key,
				Targets:    model.Mapped(b.Targets, nameOf),
				Levels:     model.Mapped(b.Levels, nameOf),
				Reason:     b.Reason,
				Exchange:   b.InExchange,
				TTL:        millis(b.TTL),
				TTLMax:     millis(b.MaxTTL),
			}

			flow.Buffers = append(flow.Buffers, buffer)
		}

		out.Flows = append(out.Flows, flow)
	}

	alone := func(m *model.Member) failedAloneJSON { return failedAloneJSON{m.Queue.VHost, failed(m)} }
	out.Alone = model.Mapped(t.FailedWithoutFlow(), alone)
	out.ParkedAlone = model.Mapped(t.ParkedWithoutFlow(), alone)
	out.BuffersAlone = model.Mapped(t.BuffersWithoutFlow(), alone)

	return out
}

func millis(d model.Opt[time.Duration]) model.Opt[int64] {
	if d, known := d.Get(); known {
		return model.Some(d.Milliseconds())
	}
	return model.Unknown[int64]()
}

func nameOf(ref *model.QueueRef) string { return ref.Name }

func failedOf(t *model.Topology, m model.Member) failedJSON {
	q := t.Known(m.Queue)
	out := failedJSON{
		Queue: m.Queue.Name, Ready: q.Ready, countsJSON: countsOf(t, q), Outage: q.Outage(), Reason: m.Reason,
	}
	if ttl := t.Settings(m.Queue).TTL; ttl.Set {
		out.TTL = model.Some(ttl.Value.Milliseconds())
		out.TTLSource = string(ttl.Source.Kind)
		out.Targets = model.Mapped(t.ExpiredTargets(m.Queue), nameOf)
	}

	return out
}

func countsOf(t *model.Topology, q *model.Queue) countsJSON {
	counts := countsJSON{DeadLettersHeld: q.DeadLettering, Redelivered: q.RedeliverRate}
	for _, s := range carry.Of(t, q.QueueRef) {
		kind, _, _ := strings.Cut(carry.Title(s), " ")
		counts.Carriers = append(counts.Carriers, carrierJSON{
			kind, s.Name, carry.Takes(s, q.QueueRef), carry.Source(s), carry.Target(s), s.State, s.Since, s.Why, s.AckMode,
		})
	}

	return counts
}

type flowRow struct {
	flow, role, name string
	q                *model.Queue
	ready            model.Opt[int64]
	consumers        string
	after, target    string
}

func flowRows(t *model.Topology) []flowRow {
	var rows []flowRow
	for _, f := range t.Flows() {
		worker := t.Known(f.Worker.Queue)
		row := rowOf(t, worker.QueueRef, model.WorkerRole)
		row.flow = worker.QueueRef.String()
		if worker.Polled() {
			row.consumers = "polled"
		}

		rows = append(rows, row)
		if retry := &f.DelayedRetry; retry.Type.Set { // it holds its own failures back
			rows = append(rows, flowRow{
				role:   string(model.RetryBuffer),
				name:   worker.Name,
				q:      &model.Queue{Delayed: worker.Delayed},
				ready:  model.Some[int64](0),
				after:  retry.Words(),
				target: strings.TrimSuffix("itself: "+t.HeldBack(worker, t.Snapshot.TakenAt), ": "),
			})
		}

		for _, b := range f.Buffers {
			q := t.Known(b.Queue)
			rows = append(rows, flowRow{
				role:      string(b.Role),
				name:      b.Name(),
				q:         q,
				ready:     t.Waiting(b),
				consumers: q.Consumers.String(),
				after:     waitWords(b),
				target:    through(t, b.Queue, b.Targets, b.DLX),
			})
		}

		for _, m := range f.Failed {
			rows = append(rows, rowOf(t, m.Queue, model.FailedRole))
		}
		for _, m := range f.Parked {
			rows = append(rows, rowOf(t, m.Queue, model.ParkedRole))
		}
	}

	alone := func(members []model.Member, role model.Role) {
		for _, m := range members {
			row := rowOf(t, m.Queue, role)
			row.flow, row.name = "-", m.Queue.String()
			rows = append(rows, row)
		}
	}

	alone(t.FailedWithoutFlow(), model.FailedRole)
	alone(t.ParkedWithoutFlow(), model.ParkedRole)
	alone(t.BuffersWithoutFlow(), "buffer")

	return rows
}

// through returns where messages go after their wait, and what decides when not all of them go there.
func through(t *model.Topology, from model.QueueRef, targets []model.QueueRef, exchange string) string {
	words := model.NamesOr(targets, "nowhere") + " through " + model.ExchangeName(exchange)
	if hop, ok := t.Hop(from, model.Expired); ok && len(targets) > 1 && hop.Route.Why != "" {
		words += ": " + hop.Route.Why
	}
	return words
}

// carriedTo returns where the shovels and federation links of a queue carry its messages.
func carriedTo(t *model.Topology, ref model.QueueRef) string {
	var words []string
	for _, s := range carry.Of(t, ref) {
		if carry.Takes(s, ref) {
			words = append(words, carry.Target(s)+" through the "+carry.Title(s)+" ("+model.Printable(s.State)+")")
		}
	}

	return strings.Join(words, ", ")
}

// rowOf is for a queue in which messages wait for a consumer, or for good, unless they expire there.
func rowOf(t *model.Topology, ref model.QueueRef, role model.Role) flowRow {
	q := t.Known(ref)
	row := flowRow{
		role:      string(role),
		name:      q.Name,
		q:         q,
		ready:     q.Ready,
		consumers: q.Consumers.String(),
		target:    carriedTo(t, ref),
	}

	if s := t.Settings(ref); s.TTL.Set {
		row.after = s.TTL.String()
		target := "nowhere"
		if s.DLX.Set {
			target = through(t, ref, t.ExpiredTargets(ref), s.DLX.Value)
		}
		row.target = cmp.Or(row.target, target)
	}

	return row
}

// Table returns what `dlxtop flows` writes.
func Table(t *model.Topology) *print.Table {
	rows := flowRows(t)
	again := slices.ContainsFunc(rows, func(r flowRow) bool { return r.q.RedeliverRate.Or(0) > 0 })
	g := &print.Table{Right: []bool{false, false, false, true, true, again}}
	add := func(cells ...string) {
		if !again {
			cells = slices.Delete(cells, 5, 6)
		}
		g.Add(cells...)
	}

	add("FLOW", "ROLE", "QUEUE", "READY", "CONSUMERS", "REDELIVERED", "AFTER", "LEADS TO")

	for _, r := range rows {
		redelivered := ""
		if rate := r.q.RedeliverRate.Or(0); rate > 0 {
			redelivered = fmt.Sprintf("%.1f/s", rate)
		}
		add(model.Printable(r.flow), r.role, model.Printable(r.name), readyWords(r), r.consumers, redelivered,
			r.after, r.target)
	}

	return g
}

// readyWords returns the number of ready messages, and of those in the queue that no look shows: "0 +3 held". That the
// consumers of a worker have unacknowledged ones is no news.
func readyWords(r flowRow) string {
	q := r.q
	if q.Outage() != model.NoOutage {
		return "down"
	}

	words := r.ready.String()
	if n := q.Unacked.Or(0); n > 0 && r.role != string(model.WorkerRole) {
		words += model.Sayf(" +%v unacked", n)
	}
	if n := q.DeadLettering.Or(0); n > 0 {
		words += model.Sayf(" +%v held", n)
	}
	if n := q.Delayed.Or(0); n > 0 {
		words += model.Sayf(" +%v delayed", n)
	}

	return words
}

// waitWords returns how long messages wait in a buffer, and where that is set.
func waitWords(b *model.Buffer) string {
	ttl, ok := b.TTL.Get()
	most, ranges := b.MaxTTL.Get()
	switch {
	case ranges:
		return model.Sayf("%s…%s (%v)", model.LongDuration(ttl), model.LongDuration(most),
			b.TTLSource.String())
	case ok && b.TTLSource.Kind != "":
		return model.Sayf("%s (%v)", ttl, b.TTLSource.String())
	case ok:
		return model.ShortDuration(ttl)
	}

	return "per message"
}
