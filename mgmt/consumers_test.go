package mgmt

import (
	"testing"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/manage"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/model"
)

// The list of consumers lacks those of other users for a user without the tag monitoring.
func TestAUserKnowsTheConsumersOfOthers(t *testing.T) {
	s := newStage(t)
	manage.User(t, s.b.API(), "clerk-of-consumers", "management", s.vhost)
	s.queue("w", nil)
	s.queue("w.failed", nil)

	for queue, tag := range map[string]string{"w": "app", "w.failed": model.ConsumerTag + "look"} {
		must.Get(s.channel.Consume(queue, tag, true, false, false, false, nil))(t)
	}
	pollUntil(t, s.poll, "the consumer is reported",
		func(now *model.Snapshot) bool { return find(t, now, "w").Consumers.Or(0) == 1 })

	for name, api := range map[string]string{"admin": s.b.API(), "clerk": s.b.as("clerk-of-consumers", manage.Password)} {
		now := poll(t, client(t, Options{URL: api, VHost: s.vhost}))
		assert.Equal(t, find(t, now, "w").Consumers.Or(-1), 1, "%s: the worker's consumers", name)
		assert.Equal(t, find(t, now, "w.failed").Consumers.Or(-1), 0, "%s: a look is no consumer", name)
	}
}
