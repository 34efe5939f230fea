package model

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestEffectiveSettings(t *testing.T) {
	seconds := func(n int64, s Source) Setting[time.Duration] {
		return Setting[time.Duration]{time.Duration(n) * time.Second, true, s}
	}
	byArgument, byDefault := Source{Kind: FromArgument}, Source{Kind: FromDefault}
	byPolicy, byOperator := Source{FromPolicy, "p"}, Source{FromOperatorPolicy, "op"}
	head := Setting[string]{"drop-head", true, byDefault}
	tests := []struct {
		name    string
		version string
		queue   []setting
		want    Settings
	}{
		{"nothing set", "3.10.8", nil, Settings{Overflow: head}},
		{"TTL: the lower of argument and policy", "3.10.8", []setting{ttl(60000), policy("p", Table{"message-ttl": int64(30000)})}, Settings{TTL: seconds(30, byPolicy), Overflow: head}},
		{"TTL: the lower, the other way round", "4.3.6", []setting{ttl(10000), policy("p", Table{"message-ttl": int64(30000)})}, Settings{TTL: seconds(10, byArgument), Overflow: head}},
		{"DLX: the argument beats the policy", "3.10.8", []setting{dlx("a"), policy("p", Table{"dead-letter-exchange": "b", "dead-letter-routing-key": "k"})}, Settings{
			DLX: Setting[string]{"a", true, byArgument}, Key: Setting[string]{"k", true, byPolicy}, Overflow: head,
		}},
		{"the default exchange as DLX is set", "3.10.8", []setting{dlx("")}, Settings{DLX: Setting[string]{"", true, byArgument}, Overflow: head}},
		{"a key without an exchange does nothing", "3.10.8", []setting{deadKey("k")}, Settings{Overflow: head}},
		{"overflow: the argument wins on classic", "3.10.8", []setting{argument("x-overflow", "reject-publish"), policy("p", Table{"overflow": "drop-head"})}, Settings{Overflow: Setting[string]{"reject-publish", true, byArgument}}},
		{"overflow: the policy wins on quorum", "3.10.8", []setting{ofType(Quorum), argument("x-overflow", "reject-publish"), policy("p", Table{"overflow": "drop-head"})}, Settings{Overflow: Setting[string]{"drop-head", true, byPolicy}}},
		{"delivery limit: 20 by default from 4.0", "4.0.5", []setting{ofType(Quorum)}, Settings{Overflow: head, DeliveryLimit: Setting[int64]{20, true, byDefault}}},
		{"delivery limit: none by default before", "3.13.7", []setting{ofType(Quorum)}, Settings{Overflow: head}},
		{"delivery limit: none on classic", "4.0.5", []setting{argument("x-delivery-limit", int64(3))}, Settings{Overflow: head}},
		{"delivery limit: the lower", "4.0.5", []setting{ofType(Quorum), argument("x-delivery-limit", int64(5)), policy("p", Table{"delivery-limit": int64(3)})}, Settings{Overflow: head, DeliveryLimit: Setting[int64]{3, true, byPolicy}}},
		{"delivery limit: the higher when one is negative, from 4.0", "4.0.5", []setting{ofType(Quorum), argument("x-delivery-limit", int64(-1)), policy("p", Table{"delivery-limit": int64(3)})}, Settings{Overflow: head, DeliveryLimit: Setting[int64]{3, true, byPolicy}}},
		{"the operator policy alone", "3.10.8", []setting{func(q *Queue) {
			q.OperatorPolicy, q.PolicyDefinition = "op", Table{"message-ttl": int64(5000)}
		}}, Settings{TTL: seconds(5, byOperator), Overflow: head}},
		{"a TTL as text is no TTL", "3.10.8", []setting{argument("x-message-ttl", "1000")}, Settings{Overflow: head}},
		{"a stream has none of it", "4.0.5", []setting{ofType(Stream), ttl(1), dlx("x")}, Settings{}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got := topologyOf(test.version, queue("q", test.queue...)).Settings(ref("q"))
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestTheSourceOfAMergedPolicy(t *testing.T) {
	s := broker("3.10.8", queue("q", func(q *Queue) {
		q.Policy, q.OperatorPolicy = "retry-30s", "cap"
		q.PolicyDefinition = Table{"message-ttl": int64(10000), "dead-letter-exchange": "x"}
	}))
	s.Policies = []Policy{
		{VHost: "/", Name: "retry-30s", Definition: Table{"message-ttl": int64(30000), "dead-letter-exchange": "x"}},
		{VHost: "/", Name: "cap", Operator: true, Definition: Table{"message-ttl": int64(10000)}},
	}
	got := NewTopology(s).Settings(ref("q"))
	if want := "10s (operator policy cap)"; got.TTL.String() != want {
		t.Errorf("TTL %s, want %s", got.TTL, want)
	}
	if want := "x (policy retry-30s)"; got.DLX.String() != want {
		t.Errorf("DLX %s, want %s", got.DLX, want)
	}
}
