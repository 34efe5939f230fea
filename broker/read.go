package broker

import (
	"context"
	"errors"
	"fmt"

	amqp "github.com/rabbitmq/amqp091-go"

	"dlxtop/model"
)

// readBytes is how many bytes of bodies a page of Read may be, after the first page told how large they are.
const readBytes = 16 << 20

// Read looks at every message that is in a queue when it begins, from the head on, and gives them back before it returns. each gets one
// at a time, and may keep it; an error of each ends it and is returned. Only the messages of one page are in memory at a time, whatever
// the queue holds. stopped is why it ended early although nothing failed.
func (c *Client) Read(ctx context.Context, plan model.PeekPlan, each func(*model.Message) error) (stopped string, err error) {
	name := model.Printable(plan.Queue.String())
	switch {
	case !plan.Allowed():
		return "", fmt.Errorf("read %s: %s", name, plan.Refusal)
	case plan.Method == model.PeekStream:
		return "", fmt.Errorf("read %s: a stream is not read to its end: look at it with peek", name)
	}
	connection, err := c.connection(ctx, plan.Queue.VHost)
	if err != nil {
		return "", err
	}
	src, err := openSource(connection, plan)
	if err != nil {
		return "", fmt.Errorf("read: %w", err)
	}
	r := reading{source: src, each: each}
	err = r.all(ctx)
	if e := c.giveBack(src); err == nil {
		err = e
	}
	switch {
	case r.failed != nil:
		return "", r.failed
	case ctx.Err() != nil:
		return "", fmt.Errorf("read %s: %w", name, ctx.Err())
	case errors.Is(err, errNothingComes):
		return err.Error(), nil
	}
	return "", err
}

// reading is one Read under way.
type reading struct {
	source *source
	each   func(*model.Message) error
	taken  int
	bytes  int64
	failed error // that each returned
}

func (r *reading) all(ctx context.Context) error {
	for left, number := r.source.depth, 0; left > 0 && r.failed == nil && ctx.Err() == nil; number++ {
		n := r.page(left, number)
		taken, err := r.source.page(ctx, n, r.take)
		left -= int64(taken)
		if err != nil || taken < n {
			return err
		}
	}
	return nil
}

// page is as large as readBytes allows, and large enough that the messages are kept in few pages.
func (r *reading) page(left int64, number int) int {
	n := int64(actionFirstPage)
	if r.taken > 0 {
		n = min(max(readBytes/max(r.bytes/int64(r.taken), 1), 1), model.MaxPage)
		if rest := int64(maxPages - number); rest > 0 && r.source.plan.Type == model.Quorum {
			n = max(n, (left+rest-1)/rest)
		}
	}
	return int(min(n, left, model.MaxPage))
}

func (r *reading) take(d *amqp.Delivery) {
	if r.failed != nil {
		return
	}
	m := messageOf(d)
	r.taken++
	r.bytes += int64(len(d.Body))
	m.Position = r.taken
	r.failed = r.each(&m)
}
