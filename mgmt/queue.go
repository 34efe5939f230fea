package mgmt

import (
	"cmp"
	"context"
	"encoding/json"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/dlxtop/dlxtop/model"
)

// rate is the used part of a statistic: {"rate": 1.5}; the others only where its past is asked for.
type rate struct {
	Rate  field[float64] `json:"rate"`
	Since field[float64] `json:"avg_rate"`
	Mean  field[float64] `json:"avg"` // of the count, not of the rate
}

// placed is the identity of a queue or an exchange of a list.
type placed struct {
	Name  field[string] `json:"name"`
	VHost field[string] `json:"vhost"`
}

// ref returns the identity of a queue.
func (p *placed) ref() model.QueueRef {
	return model.QueueRef{VHost: p.VHost.value, Name: p.Name.value}
}

// named takes the selected vhost for an unknown one, and says what is then still unknown of the identity.
func (p *placed) named(kind, name, vhost string) (odd []string) {
	if !p.VHost.known && vhost != "" {
		p.VHost.value, p.VHost.known = vhost, true
	}

	switch {
	case !p.Name.known:
		return []string{kind + " of the list: it has no readable name"}
	case !p.VHost.known:
		return []string{name + ": its vhost cannot be read"}
	}

	return nil
}

// queueElement is one queue of the list. What the broker has not computed yet is absent.
type queueElement struct {
	placed
	Type           field[string]         `json:"type"`
	Durable        field[bool]           `json:"durable"`
	AutoDelete     field[bool]           `json:"auto_delete"`
	Exclusive      field[bool]           `json:"exclusive"` // null for quorum queues in totals mode
	Owner          field[map[string]any] `json:"owner_pid_details"`
	Arguments      field[model.Table]    `json:"arguments"`
	Policy         field[string]         `json:"policy"`
	OperatorPolicy field[string]         `json:"operator_policy"`
	Definition     field[model.Table]    `json:"effective_policy_definition"`
	State          field[string]         `json:"state"`
	Node           field[string]         `json:"node"`
	Leader         field[string]         `json:"leader"` // of a replicated queue, null without one
	Members        field[[]string]       `json:"members"`
	Online         field[[]string]       `json:"online"`
	Ready          field[int64]          `json:"messages_ready"`
	Unacked        field[int64]          `json:"messages_unacknowledged"`
	Consumers      field[int64]          `json:"consumers"`
	ReadyBytes     field[int64]          `json:"message_bytes_ready"`
	DeadLettering  field[int64]          `json:"messages_dlx"`
	Delayed        field[int64]          `json:"messages_delayed"`
	Priorities     field[int64]          `json:"messages_active_priorities"`
	NextRetry      field[int64]          `json:"next_delayed_at"` // unix ms; absent when none is delayed
	LastRetry      field[int64]          `json:"last_delayed_at"`
	HeadTimestamp  field[int64]          `json:"head_message_timestamp"` // unix seconds
	ExclusiveTag   field[string]         `json:"exclusive_consumer_tag"`
	ActiveTag      json.RawMessage       `json:"single_active_consumer_tag"` // null when none is active (4.3.6)
	Stats          field[queueStats]     `json:"message_stats"`
}

// queueStats are the totals since the broker began to count, and their growth per second.
type queueStats struct {
	Publish       field[int64] `json:"publish"`
	Deliver       field[int64] `json:"deliver_get"` // sum of deliver, deliver_no_ack, get and get_no_ack
	DeliverNoAck  field[int64] `json:"deliver_no_ack"`
	GetNoAck      field[int64] `json:"get_no_ack"`
	Ack           field[int64] `json:"ack"`
	Redeliver     field[int64] `json:"redeliver"`
	DeliverRate   field[rate]  `json:"deliver_get_details"`
	AckRate       field[rate]  `json:"ack_details"`
	RedeliverRate field[rate]  `json:"redeliver_details"`
	GetRate       field[rate]  `json:"get_details"`
	GetNoAckRate  field[rate]  `json:"get_no_ack_details"`
	GetEmptyRate  field[rate]  `json:"get_empty_details"` // gets without a ready message
}

// sum adds what is known; unknown when nothing is.
func sum[T int64 | float64](fields ...field[T]) (all model.Opt[T]) {
	for _, f := range fields {
		if f.known {
			all = model.Some(all.Or(0) + f.value)
		}
	}

	return all
}

// queueColumns are the fields of queueElement: the broker then omits the other two thirds of the list.
const queueColumns = "name,vhost,type,durable,auto_delete,exclusive,owner_pid_details,arguments," +
	"policy,operator_policy,effective_policy_definition,state,node,leader,members,online,messages_active_priorities," +
	"messages_ready,messages_unacknowledged,consumers,message_bytes_ready,messages_dlx,messages_delayed," +
	"next_delayed_at,last_delayed_at,head_message_timestamp,exclusive_consumer_tag,single_active_consumer_tag," +
	"message_stats.publish,message_stats.deliver_get,message_stats.deliver_no_ack," +
	"message_stats.get_no_ack,message_stats.ack,message_stats.redeliver," +
	"message_stats.deliver_get_details.rate," +
	"message_stats.ack_details.rate,message_stats.redeliver_details.rate," +
	"message_stats.get_details.rate,message_stats.get_no_ack_details.rate,message_stats.get_empty_details.rate"

// totalsOnly requests lists without statistics, with counts kept by the queues themselves: it works when statistics are
// switched off, and is current where statistics lag.
func totalsOnly() url.Values {
	return url.Values{"disable_stats": {"true"}, "enable_queue_totals": {"true"}}
}

// queues reads the queue list. missing says what of it could not be read.
func (c *Client) queues(ctx context.Context, statsOff bool) (queues []model.Queue, missing []string, err error) {
	query := url.Values{}
	if statsOff {
		query = totalsOnly()
	}

	query.Set("columns", queueColumns)
	now := time.Now()
	return getParts(ctx, c, c.inVHost("queues"), query, "a queue",
		func(e *queueElement) (*model.Queue, []string) { return e.queue(c.vhost, now) })
}

// fill adds what the broker reports without statistics: the policy of each queue that wants it, and counts for those
// that have none yet (some seconds after their declaration), without which a new buffer would seem to have no TTL and
// no DLX.
func (c *Client) fill(ctx context.Context, queues []model.Queue, wants func(*model.Queue) bool) error {
	wanted := map[model.QueueRef]*model.Queue{}
	for q := range model.Each(queues) {
		if wants(q) {
			wanted[q.QueueRef] = q
		}
	}

	if len(wanted) == 0 {
		return nil
	}
	query := totalsOnly()
	query.Set("columns", "name,vhost,policy,operator_policy,effective_policy_definition,"+
		"messages_ready,messages_unacknowledged")
	_, err := getList(ctx, c, c.inVHost("queues"), query, func(e *queueElement) {
		q := wanted[e.ref()]
		if q == nil {
			return
		}
		if fresh(q) {
			q.Ready, q.Unacked = e.Ready.opt(), e.Unacked.opt()
			if q.Type == model.Quorum && q.Ready == model.Some[int64](0) {
				q.Ready = model.Unknown[int64]() // its table says 0 until it is written, 5 s after the declaration
			}
		}

		switch {
		case e.Definition.known: // from 4.3
			q.OperatorPolicy = e.OperatorPolicy.value
			q.PolicyDefinition = e.Definition.value
		case q.OperatorPolicy == "" && q.Policy != e.Policy.value:
			q.PolicyDefinition = nil // it follows from the policy's name
		}

		q.Policy = e.Policy.value
	})

	return err
}

// fresh reports whether a queue has no statistics yet.
func fresh(q *model.Queue) bool { return q.PolicyDefinition == nil && !q.Ready.Known() }

// queue converts the element; nil when it is unclear which queue it is. odd lists unreadable fields that would change
// how the queue is understood; an odd number is just unknown.
func (e *queueElement) queue(vhost string, now time.Time) (q *model.Queue, odd []string) {
	if odd = e.named("a queue", "queue "+e.Name.value, vhost); odd != nil {
		return nil, odd
	}
	ref := e.ref()
	odd = unread("queue "+ref.String(), map[string]bool{
		"arguments": e.Arguments.odd, "type": e.Type.odd, "policy": e.Policy.odd, "operator policy": e.OperatorPolicy.odd,
		"policy definition": e.Definition.odd, "exclusive flag": e.Exclusive.odd, "auto-delete flag": e.AutoDelete.odd,
	})

	stats := &e.Stats.value
	_, owned := e.Owner.value["name"]
	singleActive, _ := e.Arguments.value["x-single-active-consumer"].(bool)

	q = &model.Queue{
		QueueRef:         ref,
		Type:             e.kind(),
		Durable:          e.Durable.value,
		AutoDelete:       e.AutoDelete.value,
		Exclusive:        e.Exclusive.value || owned,
		Arguments:        plainTexts(e.Arguments.value),
		Policy:           e.Policy.value,
		OperatorPolicy:   e.OperatorPolicy.value,
		PolicyDefinition: e.Definition.value,
		State:            e.State.value,
		Node:             cmp.Or(e.Leader.value, e.Node.value),
		Members:          e.Members.value,
		Online:           e.Online.value,
		Ready:            e.Ready.opt(),
		Unacked:          e.Unacked.opt(),
		Consumers:        e.Consumers.opt(),

		ReadyBytes:     e.ReadyBytes.opt(),
		DeadLettering:  e.DeadLettering.opt(),
		Delayed:        e.Delayed.opt(),
		Priorities:     e.Priorities.opt(),
		SingleActive:   singleActive,
		NoneActive:     singleActive && e.Consumers.value > 0 && string(e.ActiveTag) == "null",
		ExclusiveHeld:  e.ExclusiveTag.value != "",
		DeliverRate:    stats.DeliverRate.value.Rate.opt(),
		AckRate:        stats.AckRate.value.Rate.opt(),
		RedeliverRate:  stats.RedeliverRate.value.Rate.opt(),
		PollRate:       sum(stats.GetRate.value.Rate, stats.GetNoAckRate.value.Rate, stats.GetEmptyRate.value.Rate),
		Published:      stats.Publish.opt(),
		Delivered:      stats.Deliver.opt(),
		Redelivered:    stats.Redeliver.opt(),
		DeliveredNoAck: sum(stats.DeliverNoAck, stats.GetNoAck),
		Acked:          stats.Ack.opt(),
		CountedAt:      now,
		OwnedByAnother: e.Exclusive.value || owned, // our connections declare no queues, so an owner is always another one
	}

	q.NextRetry, q.LastRetry = atMillis(e.NextRetry), atMillis(e.LastRetry)
	if seconds, ok := e.HeadTimestamp.opt().Get(); ok {
		q.HeadTimestamp = model.Some(time.Unix(seconds, 0))
	}

	return q, odd
}

func atMillis(f field[int64]) model.Opt[time.Time] {
	if ms, known := f.opt().Get(); known {
		return model.Some(time.UnixMilli(ms))
	}
	return model.Unknown[time.Time]()
}

// kind returns the queue's type: as reported, otherwise from the argument, otherwise classic.
func (e *queueElement) kind() model.QueueType {
	if e.Type.value != "" {
		return model.QueueType(e.Type.value)
	}
	if kind, ok := e.Arguments.value.Text("x-queue-type"); ok && kind != "" {
		return model.QueueType(kind)
	}
	return model.Classic
}

// joinAnd returns "a", "a and b", "a, b and c", in alphabetical order.
func joinAnd(list []string) string {
	sorted := slices.Sorted(slices.Values(list))
	last := len(sorted) - 1
	if last < 1 {
		return strings.Join(sorted, "")
	}
	return strings.Join(sorted[:last], ", ") + " and " + sorted[last]
}
