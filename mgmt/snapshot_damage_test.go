package mgmt

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/internal/size"
	"github.com/dlxtop/dlxtop/model"
)

func TestOneOddElementLosesOnlyItself(t *testing.T) {
	b := realBroker(t)
	vhost := b.vhost("odd")
	for _, name := range []string{"a", "b", "c"} {
		b.put("queues/"+vhost+"/"+name, `{"durable":true,"arguments":{"x-message-ttl":1000}}`)
	}
	tests := []struct {
		name    string
		path    string
		element string
		replace func(map[string]any) any
		queues  int
		missing []string
	}{
		{
			"queue is a string", "queues", "b", func(map[string]any) any { return "undefined" }, 2,
			[]string{"a queue: element 2 of the list is a JSON string, not an object"},
		},
		{
			"queue is null", "queues", "b", func(map[string]any) any { return nil }, 2,
			[]string{"a queue of the list: it has no readable name"},
		},
		{
			"odd arguments", "queues", "b", func(q map[string]any) any { q["arguments"] = "none"; return q }, 3,
			[]string{"queue odd/b: its arguments cannot be read"},
		},
		{"odd numbers", "queues", "b", func(q map[string]any) any {
			q["messages_ready"], q["message_stats"], q["consumers"] = "NaN", []any{}, map[string]any{}
			q["effective_policy_definition"] = []any{}
			return q
		}, 3, nil},
		{
			"exchange is a list", "exchanges", "amq.topic", func(map[string]any) any { return []any{} }, 3,
			[]string{"an exchange: element 7 of the list is a JSON array, not an object"},
		},
		{
			"exchange without type", "exchanges", "amq.topic", func(x map[string]any) any { delete(x, "type"); return x },
			3,
			[]string{"exchange amq.topic: its type cannot be read"},
		},
		{"bindings are none", "bindings", "", nil, 3, []string{"bindings: "}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			server := b.before(func(path string, body []byte) []byte {
				switch {
				case !strings.Contains(path, "/api/"+test.path):
					return body
				case test.replace == nil:
					return []byte("<html>")
				}
				return damage(t, body, test.element, test.replace)
			})
			s := poll(t, client(t, Options{URL: through(server.URL), VHost: vhost}))
			must.That(t, len(s.Queues) == test.queues && len(s.Missing) == len(test.missing),
				"%d queues, missing %q", len(s.Queues), s.Missing)
			for i, words := range test.missing {
				assert.That(t, strings.HasPrefix(s.Missing[i], words), "missing %q, want %q", s.Missing[i], words)
			}
			assert.That(t, test.replace != nil || s.Bindings == nil, "bindings that could not be read are not nil")
		})
	}
}

// TestOneOddBindingLosesAll: what is said of a way must hold for all bindings.
func TestOneOddBindingLosesAll(t *testing.T) {
	b := realBroker(t)
	vhost := b.vhost("oddbinding")
	b.put("queues/"+vhost+"/a", `{"durable":true}`)
	b.post("bindings/"+vhost+"/e/amq.topic/q/a", `{"routing_key":"k"}`)
	for _, odd := range []string{`1`, `[]`, `{"source":{}}`, `{"source":"x","destination":"a","arguments":"none"}`} {
		server := b.before(func(path string, body []byte) []byte {
			if !strings.Contains(path, "/api/bindings") {
				return body
			}
			return append(bytes.TrimSuffix(bytes.TrimSpace(body), []byte("]")), ","+odd+"]"...)
		})
		s := poll(t, client(t, Options{URL: through(server.URL), VHost: vhost}))
		assert.That(t, s.Bindings == nil && len(s.Missing) == 1 && strings.HasPrefix(s.Missing[0], "bindings: "),
			"%s: bindings %v, missing %q", odd, s.Bindings, s.Missing)
	}
	if s := poll(t, client(t, Options{URL: b.API(), VHost: vhost})); len(s.Bindings) != 1 {
		t.Errorf("as told: %v", s.Bindings)
	}
}

// The demo's node keeps statistics, so only its overview is changed; the lists come from the real node, asked as one
// asks a node without statistics.
func TestCountsWithoutStatistics(t *testing.T) {
	b := realBroker(t)
	vhost := b.vhost("nostats")
	b.put("policies/"+vhost+"/ttl", `{"pattern":"^c$","definition":{"message-ttl":60000},"apply-to":"queues"}`)
	b.put("queues/"+vhost+"/c", `{"durable":true}`)
	b.post("exchanges/"+vhost+"/amq.default/publish",
		`{"properties":{},"routing_key":"c","payload":"x","payload_encoding":"string"}`)
	server := b.before(func(path string, body []byte) []byte {
		if strings.HasSuffix(path, "/api/overview") {
			return []byte(strings.Replace(string(body), `"disable_stats":false`, `"disable_stats":true`, 1))
		}
		return body
	})
	s := poll(t, client(t, Options{URL: through(server.URL), VHost: vhost}))
	q := find(t, s, "c")
	if !s.Overview.StatsOff || q.Ready.Or(-1) != 1 || q.Consumers.Known() || len(s.Missing) != 1 ||
		!strings.Contains(s.Missing[0], "switched off") {
		t.Errorf("stats off %t, missing %q, queue %+v", s.Overview.StatsOff, s.Missing, q)
	}
	assert.That(t, q.Policy == "ttl" && cmp.Equal(q.PolicyDefinition, model.Table{"message-ttl": int64(60000)}),
		"policy %q %v: the policy list should tell its definition", q.Policy, q.PolicyDefinition)
}

func TestALostBrokerComesBack(t *testing.T) {
	size.Long(t)
	b := realBroker(t)
	c := client(t, Options{URL: b.API()})
	poll(t, c)
	must.Do(t, b.Halt())
	_, err := c.Snapshot(t.Context())
	var connect *model.ConnectError
	assert.That(t, errors.As(err, &connect) && connect.Kind == model.Unreachable, "a halted broker: %v", err)
	ctx, cancel := context.WithTimeout(t.Context(), 90*time.Second)
	defer cancel()
	must.Do(t, b.Resume(ctx))
	poll(t, c)
}

// RabbitMQ takes a queue whose arguments are nested deeper than encoding/json reads. It must not hide the others.
func TestADeepQueueHidesNoOther(t *testing.T) {
	b := realBroker(t)
	vhost := b.vhost("deep")
	b.put("queues/"+vhost+"/a", `{"durable":true,"arguments":{"x-message-ttl":1000}}`)
	const levels = 10_100
	b.put("queues/"+vhost+"/d", `{"durable":true,"arguments":{"x-message-ttl":2000,"x-deep":`+
		strings.Repeat("[", levels)+strings.Repeat("]", levels)+`}}`)
	c := client(t, Options{URL: b.API(), VHost: vhost, Timeout: 60 * time.Second})
	s := poll(t, c)
	must.That(t, len(s.Queues) == 2 && len(s.Missing) == 0, "%d queues, missing %q", len(s.Queues), s.Missing)
	for name, ttl := range map[string]int64{"a": 1000, "d": 2000} {
		q := find(t, s, name)
		assert.That(t, q.Arguments["x-message-ttl"] == ttl, "queue %s has %v", name, q.Arguments["x-message-ttl"])
	}
	counts, err := c.Counts(t.Context())
	assert.That(t, err == nil && len(counts) == 2, "%v, %v", counts, err)
}
