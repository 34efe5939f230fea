package cases

import (
	"testing"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/build"
)

// rejected publishes messages with keys and lets a worker reject them.
func rejected(exchange, queue string, keys ...string) func(*world) {
	return func(w *world) {
		w.work(queue, rejects)
		for _, key := range keys {
			w.publish(exchange, key, key)
			w.awaitSeen(queue, key, 1)
		}
	}
}

// Dead letters that keys lead astray.
func TestKeys(t *testing.T) {
	playScripts(t, "testdata/keys.toml")
}

// Dead-lettering that another policy hides.
func TestPolicies(t *testing.T) {
	playScripts(t, "testdata/policies.toml",
		situation{
			Name: "a limit for quorum queues alone", From: "messaging-topology-operator #667, rabbitmq-server #7601 (d18)",
			When: "not ReversesDeaths", // 3.12 has such policies, 3.10 has not
			Parts: `
				exchange fanout dlx
				queue dead
				bind dlx dead
				quorum pay
				queue mail
				policy dl-all ^(pay|mail)$ 0 dead-letter-exchange=dlx
			`,
			more: []build.Part{
				build.UserPolicy("limit-qq", "^(pay|mail|dead)$", 5, model.Table{"max-length": 1000}, "quorum_queues"),
			},
			traffic: func(w *world) {
				rejected("", "pay", "pay")(w)
				rejected("", "mail", "mail")(w)

				w.depth("dead", 1) // the one of mail
			},
			Says:    []string{"warning policy-hidden pay: limit-qq"},
			Silent:  []string{"policy-hidden mail", "policy-hidden dead"},
			Replays: []replay{{Queue: "dead", Reach: "mail", Got: []string{"mail mail"}}},
		},
	)
}

// operator makes a policy an operator policy.
func operator(policy build.Part) build.Part {
	return func(s *model.Snapshot) {
		policy(s)
		s.Policies[len(s.Policies)-1].Operator = true
	}
}
