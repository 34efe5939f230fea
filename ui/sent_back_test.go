package ui

import (
	"strings"
	"testing"
	"time"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/model"
)

// What keys of CC bring into a buffer and out of it no binding shows. Once messages in it were looked at that the
// worker sent there, the picture has the way from the worker through the buffer back to it.
func TestTheWorkerFillsItsBuffer(t *testing.T) {
	snapshot := func(parts ...told) *model.Snapshot {
		return recording(append([]told{
			exchange("topic", "service"), exchange("topic", "delay"), exchange("topic", "retry"),
			queue("user:save", consumers(1)), bind("service", "created.#", "user:save"),
			queue("delay:5s", ttl(5000), dlx("retry"), ready(2)), bind("delay", "delay.5s", "delay:5s"),
			bind("retry", "user:save.#", "user:save"),
		}, parts...)...)
	}
	looked := snapshot(func(s *model.Snapshot) {
		s.Seen = model.Seen{
			To:      map[model.QueueRef][]model.QueueRef{ref("delay:5s"): {ref("user:save")}},
			From:    map[model.QueueRef][]model.QueueRef{ref("delay:5s"): {ref("user:save")}},
			Counted: map[model.QueueRef]bool{ref("delay:5s"): true},
		}
	})
	options := func(s *model.Snapshot) Options {
		c := newClock()
		return Options{Source: &recorded{snapshot: s}, Broker: newRecordedBroker(c), Now: c.now, Interval: time.Hour}
	}
	before := onFlow(t, options(snapshot()), "user:save", 120, 36)
	before.await("delayed 5s", "╭ delay ╮", "╭ retry ")
	text := before.screen()
	assert.That(t, !strings.Contains(text, "via delay"), "as far as bindings tell, publishers fill it:\n%s", text)
	atSizes(t, func(t *testing.T, width, height int) {
		term := onFlow(t, options(looked), "user:save", width, height)
		term.await("via delay", "retry 5s", "service")
		term.golden()
	})
}
