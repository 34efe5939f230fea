package mgmt

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/dlxtop/dlxtop/model"
)

// consumerElement is one consumer of the list.
type consumerElement struct {
	Tag      field[string] `json:"consumer_tag"`
	Queue    field[placed] `json:"queue"`          // in the list of all
	Prefetch field[int64]  `json:"prefetch_count"` // 0: no limit, or AMQP 1.0 (4.0.5, 4.3.6)
	Active   field[bool]   `json:"active"`         // false: it waits behind a single active one
	Channel  field[struct {
		Host field[string] `json:"peer_host"`
	}] `json:"channel_details"`
	Arguments field[struct {
		Priority field[int64] `json:"x-priority"`
	}] `json:"arguments"`
}

// consumption is who consumes a queue, as far as it was asked for.
type consumption struct {
	consumers int64 // of others, shovels and links included
	priority  int64 // the highest that one of them has
	favoured  int64 // how many have it
}

func (c *consumption) add(priority int64) {
	c.consumers++
	switch {
	case c.consumers == 1 || priority > c.priority:
		c.priority, c.favoured = priority, 1
	case priority == c.priority:
		c.favoured++
	}
}

// first returns how many have a higher priority than others; 0 when all have the same one.
func (c *consumption) first() int64 {
	if c.favoured == c.consumers {
		return 0
	}
	return c.favoured
}

// correctConsumers corrects the counts of consumers, which are up to 5 s late in statistics and include those of looks
// and replays, of this program and of others: while dlxtop reads a failed queue or a buffer, it would be taken for a
// worker. It asks who consumes only when a queue has consumers that had none of others before, or that no application
// is expected to consume, and for crashes (isCrashing): 3,000 consumers take a seventh of the time of 3,000 queues.
// missing says why that was unavailable: then all count.
func (c *Client) correctConsumers(ctx context.Context, s *model.Snapshot) (missing []string) {
	before := c.consumed.Load()
	consumed := map[model.QueueRef]consumption{} // by others
	doubted := map[model.QueueRef]*model.Queue{}
	for q := range model.Each(s.Queues) {
		if q.Consumed() {
			known, asked := consumption{}, false
			if before != nil {
				known, asked = (*before)[q.QueueRef]
			}
			if q.Unattended() || before == nil && c.monitors.Load() || before != nil && !asked {
				doubted[q.QueueRef] = q
			}

			consumed[q.QueueRef] = known
			if known.consumers == q.Consumers.Or(0) {
				q.Favoured = known.first()
			}
		}
		if isCrashing(q) {
			doubted[q.QueueRef] = q
		}
	}

	defer c.consumed.Store(&consumed)

	others, links, err := c.consumersOfOthers(ctx, doubted)
	if err != nil {
		return []string{"who consumes which queue: " + c.whyMissing(ctx, err)}
	}
	for ref, by := range others {
		if _, counted := consumed[ref]; !counted {
			continue
		}

		q := doubted[ref]
		q.Consumers, q.Favoured = model.Some(by.consumers), by.first()
		q.Carried += int64(len(links[ref]))
		s.Shovels = append(s.Shovels, links[ref]...)
		if consumed[ref] = by; !q.Consumed() {
			delete(consumed, ref)
		}
	}

	c.awaitCrashing(ctx, doubted, others)
	return nil
}

// mostAsked bounds how many queues are asked one by one for their consumers; the counts of others stand.
const mostAsked = 50

// consumersOfOthers counts the consumers of queues that are not dlxtop's. One list has them all, but for a user without
// the tag monitoring only those of its own connections (3.10.8, 4.0.5, 4.3.6): then each queue is asked. A consumer is
// known up to 5 s after it began, and gone within half a second after its end. links are those that are federation
// links of other brokers: they, too, are counted.
func (c *Client) consumersOfOthers(ctx context.Context, of map[model.QueueRef]*model.Queue) (
	others map[model.QueueRef]consumption, links map[model.QueueRef][]model.Shovel, err error,
) {
	others, links = map[model.QueueRef]consumption{}, map[model.QueueRef][]model.Shovel{}
	if len(of) == 0 {
		return others, links, nil
	}

	add := func(ref model.QueueRef, e *consumerElement) {
		q, asked := of[ref]
		if !asked || strings.HasPrefix(e.Tag.value, model.ConsumerTag) {
			return
		}

		by := others[ref]
		by.add(e.Arguments.value.Priority.value)
		others[ref] = by
		upstream, isLink := strings.CutPrefix(e.Tag.value, "federation-link-")
		if purpose, _ := q.Arguments.Text("x-internal-purpose"); purpose == "federation" { // of an exchange
			upstream, isLink = ref.Name, true
		}
		if isLink {
			links[ref] = append(links[ref], model.Shovel{
				Link: true, Name: upstream, VHost: ref.VHost, State: "running", From: ref,
				ToHost: cmp.Or(e.Channel.value.Host.value, "another broker"),
			})
		}
	}

	if c.monitors.Load() {
		for ref := range of {
			others[ref] = consumption{}
		}
		query := url.Values{"columns": {"consumer_tag,queue.name,queue.vhost,channel_details.peer_host,arguments"}}
		_, err = getList(ctx, c, c.inVHost("consumers"), query, func(e *consumerElement) { add(e.Queue.value.ref(), e) })
		return others, links, err
	}

	query := url.Values{"columns": {"consumer_details.consumer_tag,consumer_details.channel_details.peer_host," +
		"consumer_details.arguments"}}
	for ref := range of {
		if len(others) == mostAsked {
			break
		}

		var queue queueDetails
		err = c.getObject(ctx, pathOf(ref), query, &queue)
		if answer, ok := errors.AsType[*answerError](err); ok && answer.Status == http.StatusNotFound {
			continue // it was deleted since
		}
		if err != nil {
			return nil, nil, err
		}

		others[ref] = consumption{}
		for i := range queue.Consumers.value {
			add(ref, &queue.Consumers.value[i])
		}
	}
	return others, links, nil
}

// queueDetails is one queue, asked for by itself.
type queueDetails struct {
	Consumers field[[]consumerElement] `json:"consumer_details"`
	Unacked   field[rate]              `json:"messages_unacknowledged_details"`
	Stats     field[queueStats]        `json:"message_stats"`
}

// pathOf returns the path of one queue.
func pathOf(ref model.QueueRef) string {
	return "queues/" + url.PathEscape(ref.VHost) + "/" + url.PathEscape(ref.Name)
}

const (
	crashedOften = 10                     // redeliveries in total
	crashWait    = 2 * time.Second        // how long the first poll waits for a worker to come back
	crashPause   = 100 * time.Millisecond // between two lists
)

// isCrashing reports whether messages of a queue without consumers are delivered again and again, though no application
// polls it: a worker that crashes on them is mostly disconnected when it is counted. Looks are the same in statistics.
func isCrashing(q *model.Queue) bool {
	return q.Consumers.Or(1) == 0 && q.PollRate.Or(0) == 0 && q.RedeliverRate.Or(0) > 0 &&
		q.Redelivered.Or(0) >= crashedOften*max(q.Ready.Or(1), 1)
}

// awaitCrashing counts the consumers of such queues. The first poll, which may be the only one, reads the list until
// each has been seen; later ones add up.
func (c *Client) awaitCrashing(
	ctx context.Context, doubted map[model.QueueRef]*model.Queue, others map[model.QueueRef]consumption,
) {
	until := time.Now().Add(crashWait)
	for {
		unseen := false
		for ref, q := range doubted {
			if !isCrashing(q) {
				continue
			}
			if n := others[ref].consumers; n > 0 {
				q.Consumers = model.Some(n)
			} else {
				unseen = true
			}
		}

		if !unseen || c.polled.Load() || time.Now().After(until) {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(crashPause):
		}

		var err error
		if others, _, err = c.consumersOfOthers(ctx, doubted); err != nil {
			return
		}
	}
}
