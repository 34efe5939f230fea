package broker

import (
	"context"
	"errors"
	"fmt"

	amqp "github.com/rabbitmq/amqp091-go"

	"dlxtop/model"
)

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
	src, err := c.openSource(connection, plan)
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
	pages  pages
	failed error // that each returned
}

func (r *reading) all(ctx context.Context) error {
	for left := r.source.depth; left > 0 && r.failed == nil && ctx.Err() == nil; {
		n := r.pages.next(left, r.source.plan.Type)
		taken, err := r.source.page(ctx, n, r.take)
		left -= int64(taken)
		if err != nil || taken < n {
			return err
		}
	}
	return nil
}

func (r *reading) take(d *amqp.Delivery) {
	if r.failed != nil {
		return
	}
	m := messageOf(d)
	m.Position = r.pages.took(len(d.Body))
	r.failed = r.each(&m)
}
