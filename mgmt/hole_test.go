package mgmt

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	rabbithole "github.com/michaelklishin/rabbit-hole/v2"
	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/manage"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/carry"
	"github.com/dlxtop/dlxtop/model/trouble"
)

// RabbitMQ accepts settings that rabbit-hole's types cannot hold. They hide the policies and nothing else.
func TestAnOddPolicyHidesOnlyPolicies(t *testing.T) {
	s := newStage(t)
	s.queue("q", nil)
	odd := amqp.Table{"max-length": json.RawMessage("1" + strings.Repeat("0", 400))}
	s.b.api().Policy(s.vhost, "odd", "^q$", odd)
	now := poll(t, s.poll)
	assert.That(t, now.Policies == nil, "policies %v", now.Policies)
	assert.Equal(t, strings.Join(now.Missing, "; "),
		"policies: "+s.poll.endpoint+" answers, but not as RabbitMQ's management API does")
	assert.Equal(t, len(now.Queues), 1, "queues")

	s.declare("policy odd ^q$ 0 max-length=9007199254740991")
	now = poll(t, s.poll)
	must.Equal(t, len(now.Policies), 1, "policies")
	assert.Equal(t, now.Policies[0].Definition["max-length"], any(int64(1<<53-1)), "a large number")
}

// What each kind of user reads by rabbit-hole: RabbitMQ hides some of it, and a snapshot goes on without.
func TestUsersReadByRabbitHole(t *testing.T) {
	s := newStage(t)
	s.declare("queue q\npolicy ours ^q$ 0 max-length=5")
	n := s.b.api()
	n.SetPolicy(true, rabbithole.Policy{
		Vhost: s.vhost, Name: "theirs", Pattern: "^q$", ApplyTo: "queues",
		Definition: rabbithole.PolicyDefinition{"max-length": 9},
	})

	for name, after := range map[string]any{"ends": 5000, "never ends": "never", "stays": nil} {
		uri := "amqp:///" + s.vhost
		shovel := amqp.Table{
			"src-uri": uri, "src-queue": "q", "dest-uri": uri, "dest-queue": "q", "dest-queue-args": amqp.Table{},
		}
		if after != nil {
			shovel["src-delete-after"] = after
		}
		n.Done(n.PutRuntimeParameter("shovel", s.vhost, name, shovel))
	}

	pollUntil(t, s.poll, "the shovels run", func(p *model.Snapshot) bool {
		return len(p.Shovels) == 3 && !slices.ContainsFunc(p.Shovels, func(s model.Shovel) bool { return !carry.Runs(&s) })
	})

	for tags, shovels := range map[string]int{
		"monitoring,policymaker": 2,
		"monitoring":             3, // without definitions, one that ends counts as one that stays (before 4.3)
		"policymaker":            0, // states are for those who monitor
		"management":             0,
	} {
		user := manage.User(t, s.b.API(), "reads-"+strings.ReplaceAll(tags, ",", "-"), tags, s.vhost)
		now := poll(t, client(t, Options{URL: s.b.as(user, manage.Password), VHost: s.vhost}))
		assert.Equal(t, strings.Join(now.Missing, "; "), "", "missing for %s", user)
		assert.Equal(t, now.Overview.User, user, "name")
		assert.Equal(t, strings.Join(now.Overview.UserTags, ","), tags, "tags")
		assert.Equal(t, len(now.Policies), 2, "policies for %s", user)

		staying := slices.DeleteFunc(slices.Clone(now.Shovels), func(s model.Shovel) bool { return !carry.Stays(&s) })
		if carriesCounts := slices.ContainsFunc(now.Shovels, func(s model.Shovel) bool { return s.Ends }); carriesCounts {
			shovels = min(shovels, 2)
		}
		assert.Equal(t, len(staying), shovels, "shovels for %s", user)
		unknown := !strings.HasPrefix(tags, "monitoring")
		assert.Equal(t, now.ShovelsUnknown != "", unknown, "shovels unknown to %s: %s", user, now.ShovelsUnknown)
	}

	user := manage.User(t, s.b.API(), "reads-nothing", "", s.vhost)
	_, err := client(t, Options{URL: s.b.as(user, manage.Password), VHost: s.vhost}).Snapshot(t.Context())
	assert.Equal(t, connectError(t, err).Kind, trouble.NotAllowed, user)
}
