package ui

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/model"
)

func TestReadTroubles(t *testing.T) {
	for name, test := range map[string]struct {
		err  error
		want string
	}{
		"gone":      {fmt.Errorf("peek: %w", model.ErrQueueGone), "the queue does not exist any more"},
		"exclusive": {fmt.Errorf("peek: %w", model.ErrQueueExclusive), "only that connection can read it"},
		"not allowed": {
			&model.ConnectError{Kind: model.NotAllowed, Cause: "guest may not read this queue", Next: "ask for read permission"},
			"guest may not read this queue: ask for read permission",
		},
		"other": {errors.New("channel closed \x1b[2J"), `channel closed \x1b[2J`},
	} {
		t.Run(name, func(t *testing.T) {
			o, b, _ := failedOptions(4)
			term := onQueue(t, o, failedQueue, 120, 36)
			term.await("4 messages")
			b.fail(test.err)
			term.press(keyCtrlR)
			term.await(test.want, "below is what was read at", `{"id":120`)
		})
	}
}

func TestQueueVanishes(t *testing.T) {
	o, _, _ := failedOptions(4)
	o.Interval = 10 * time.Millisecond
	source := o.Source.(*recorded)
	term := onQueue(t, o, failedQueue, 80, 24)
	term.await("4 messages")
	source.tell(recording(queue("another")))
	term.await("the queue does not exist any more", "5m 00s")
	term.press("r")
	term.await("not possible: there is no queue ucenter@user@failed")
}

func TestExclusiveQueueIsRefused(t *testing.T) {
	c := newClock()
	b := newRecordedBroker(c)
	o := Options{Source: &recorded{snapshot: busyBroker()}, Broker: b, Now: c.now}
	term := onQueue(t, o, "example.delay.life", 80, 24)
	term.await("not read", "exclusive")
	assert.That(t, b.peeked() == 0, "a refused plan was run")
}
