package filter

import (
	"testing"
	"time"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/model/message"
)

// Every name of expressions is explained, and nothing else is.
func TestExpressionFieldsAreExplained(t *testing.T) {
	fields := Fields()
	for _, f := range fields {
		assert.That(t, f.Name != "" && f.Type != "" && f.What != "", "%+v is not explained", f)
	}
	if len(fields) != len(fieldWhat) || len(fields) != len(expressionNames()) {
		t.Errorf("%d fields, %d explanations, %d names", len(fields), len(fieldWhat), len(expressionNames()))
	}
}

// What the documentation shows as examples matches as it says.
func TestDocumentedExpressions(t *testing.T) {
	m := &message.Message{
		Exchange: "orders", RoutingKey: "order.created", Position: 1, BodyBytes: 44,
		Body:       []byte(`{"user":{"id":121},"items":[{"sku":"a-1"}]}`),
		Properties: message.Properties{MessageID: "m-1", Expiration: "6000", Timestamp: time.Now().Add(-2 * time.Hour)},
		Headers:    map[string]any{"x-tenant": "acme"},
		Deaths:     []message.Death{{Queue: "orders", Reason: "rejected", Count: 3}},
	}
	for expression, want := range map[string]bool{
		`deaths >= 3 and reason == "rejected"`:      true,
		`json.user.id == 121`:                       true,
		`json.user.id in [1, 2]`:                    false,
		`json.items[0].sku == "a-1"`:                true,
		`any(json.items, .sku startsWith "a-")`:     true,
		`headers["x-tenant"] == "acme"`:             true,
		`headers["nothing"] == nil`:                 true,
		`routing_key matches "^order\\."`:           true,
		`int(expiration) > 5000`:                    true,
		`age != nil and age > 3600`:                 true,
		`lower(body) contains "sku"`:                true,
		`not (size > 1024)`:                         true,
		`(headers["n"] ?? 7) == 7`:                  true,
		`(deaths > 2 ? "old" : "new") == "old"`:     true,
		`routing_key endsWith ".created"`:           true,
		`position <= 10`:                            true,
		`failure contains "smtp" and deaths >= 3`:   false,
		`message_id in ["m-1", "m-2"]`:              true,
		`json.missing.deeper == 1`:                  false,
		`failure_kind == "TimeoutError" or age > 1`: true,
	} {
		f, err := ParseExpression(expression)
		if err != nil {
			t.Errorf("%s: %v", expression, err)
			continue
		}
		assert.That(t, f.Match(m) == want, "%s: %t", expression, !want)
	}
}
