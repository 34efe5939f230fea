package message

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/model"
)

// What a name says, whatever its separators and case, and that names which only look alike say nothing.
func TestNamesSayWhatTheyHold(t *testing.T) {
	for _, c := range []struct {
		names string
		role  plainRole
		vague bool
	}{
		{
			"x-original-queue originalQueue Origin_Queue beavers-dlq-origin-queue queue.origin OriginalQueueName",
			queueRole, false,
		},
		{"queue x-queue worker_queue", queueRole, true},
		{"x-orig-routing-key x-original-routingKey first-key routing_key_origin sourceRoutingKey", keyRole, false},
		{"x-original-exchange exchangeSource X-ORIGIN-EXCHANGE", exchangeRole, false},
		{"x-original-channel initialTopic", channelRole, false},
		{"x-original-group originConsumerGroup", groupRole, false},
		{
			"x-redelivered-count _watermill_requeuer_retries x-opt-retry-count x-retries retryCount x-shop-retry-count",
			triesRole, false,
		},
		{"login-attempts x-login-attempts paymentRetries", triesRole, true},
		{"x-opt-error x-death-reason beavers-dlq-error jobFailure", traceRole, false},
		{"payment-error", traceRole, true},

		{"retries-left remainingAttempts", leftRole, false},
	} {
		for _, name := range strings.Fields(c.names) {
			n, ok := plainNameOf("", name)
			assert.That(t, ok, "%s: %v %+v", name, ok, n)
			assert.Equal(t, n.role, c.role, "%v", name)
			assert.Equal(t, n.vague, c.vague, "%v", name)
		}
	}

	for _, name := range []string{
		"x-max-retries", "max_delivery_attempts", "retry-limit", "terror", "aerror", "refund-reason", "partition-key",
		"original-partition-key", "errorless", "x-b3-trace", strings.Repeat("error-", 20), "", "-",
	} {
		n, ok := plainNameOf("", name)
		assert.That(t, !ok, "%s: %+v", name, n)
	}
}

// How a replay treats what workers without a framework count in headers of any form: it is reset in its own type, or
// named as what stays.
func TestCountersAreResetOrNamed(t *testing.T) {
	type expected struct {
		Name string

		Was, Want asJSON // Want is nil where nothing changes
		Wish      ResetWish
		Notes     string
	}

	million := expected{
		Name: "a million", Was: asJSON{"x-attempts": make([]any, 1_000_000)}, Want: asJSON{}, Notes: "counter reset 1000000",
	}

	for _, c := range append(must.Cases[expected](t, "testdata/counters_are_reset_or_named.toml"), million) {
		if c.Want == nil {
			c.Want = c.Was
		}

		m := headed(model.Table(c.Was))
		got, resets := m.Reset(c.Wish)

		var notes []string
		for _, r := range resets {
			notes = append(notes, fmt.Sprint(r.Kind, " ", r.Was))
		}

		assert.Equal(t, strings.Join(notes, ", "), c.Notes, "%s: notes", c.Name)
		assert.NoDiff(t, cmp.Diff(model.Table(c.Want), got.Headers, cmpopts.EquateEmpty()), "%s", c.Name)

		_, again := got.Reset(ResetWish{})
		assert.That(t, len(again) == len(resets) || len(again) == 0, "%s: a second replay finds %v", c.Name, again)
	}
}

// Counters in a body stay, with the program that resets them.
func TestCountersInABodyAreNamed(t *testing.T) {
	for _, c := range []struct{ body, want string }{
		{
			`{"job":"mail","attempts":3,"dead_letter":{"error":"SmtpException: refused","original_queue":"m","attempts":3}}`,
			`body.attempts 3 .body["attempts"] = 0`,
		},
		{
			`{"meta":{"retryCount":"2"},"error":"KeyError: 'id'"}`,
			`body.meta.retryCount 2 .body["meta"]["retryCount"] = "0"`,
		},
		{`{"error":"m","retries":[1,2,3]}`, `body.retries 3 .body["retries"] = []`},
		{`{"attempts":3,"level":"hard"}`, ""}, // nothing failed
		{`{"error":"m","max_retries":3}`, ""},
		{`{"error":"m","retries":{"a":1}}`, ""},
	} {
		m := Message{Body: []byte(c.body)}
		got, resets := m.Reset(ResetWish{})
		var notes []string
		for _, r := range resets {
			notes = append(notes, fmt.Sprint(r.Name, " ", r.Was, " ", r.Edit))
		}
		assert.Equal(t, strings.Join(notes, ", "), c.want, "%s", c.body)
		assert.Equal(t, string(got.Body), c.body, "the body")
	}
}

// Where workers write why a message failed, and when.
func TestFailuresWithoutAFramework(t *testing.T) {
	type expected struct {
		Name string

		M       Message
		Headers asJSON
		Body    string
		Want    string
		Last    time.Time
	}

	for _, c := range must.Cases[expected](t, "testdata/failures_without_a_framework.toml") {
		c.M.Headers, c.M.Body = model.Table(c.Headers), []byte(c.Body)
		f, _ := c.M.Failure()
		assert.Equal(t, f.String(), c.Want, "%s", c.Name)

		_, last := c.M.Failed(f)
		assert.That(t, last.Or(time.Time{}).Equal(c.Last), "%s: failed last at %v", c.Name, last)
	}
}

// Who wrote down where a message came from, and values that are no names.
func TestRecordedOrigins(t *testing.T) {
	type expected struct {
		Name    string
		Headers asJSON
		Body    string
		Want    Statement
		VHost   string // of the statement
		Key     string
	}

	for _, c := range append(must.Cases[expected](t, "testdata/recorded_origins.toml"), []expected{
		{
			Name:    "10,000 characters",
			Headers: asJSON{"x-original-queue": strings.Repeat("é", 5000)},
			Want:    Statement{Where: "x-original-queue", Unusable: "has 10,000 bytes, and a name at most 255"},
		},
	}...) {
		if c.VHost != "" {
			c.Want.VHost = model.Some(c.VHost)
		}

		m := Message{Headers: model.Table(c.Headers), Body: []byte(c.Body)}
		var got Statement
		for _, s := range m.Stated(nil) {
			got = s
		}

		assert.Equal(t, fmt.Sprintf("%+v", got), fmt.Sprintf("%+v", c.Want), "%s", c.Name)
		key, _, _ := m.FirstKey()
		assert.Equal(t, key, c.Key, "%s: the key", c.Name)
	}
}

// An error handler that writes what failed into a body of its own is opened by a program that a plan offers.
func TestEnclosed(t *testing.T) {
	for _, c := range []struct{ body, member, edit string }{
		{`{"error":"boom","payload":{"id":7}}`, "payload", `.body = (.body["payload"])`},
		{` {"error":"boom","payload":"{\"id\":7}"}`, "payload", `.body = (.body["payload"] | fromjson)`},
		{
			`{"error_class":"Net::ReadTimeout","payload":"eyJpZCI6N30="}`, "payload",
			`.body = (.body["payload"] | @base64d | fromjson)`,
		},
		{
			`{"original_message":[7],"exception":"java.lang.Error: x"}`, "original_message",
			`.body = (.body["original_message"])`,
		},
		{`{"error":"boom","payload":"seven of them"}`, "", ""},
		{`{"payload":{"id":7}}`, "", ""},
		{`{"payload":{"error":"boom"}}`, "", ""},
		{`{"error":null,"payload":{"id":7}}`, "", ""},
		{`{"error":"boom","data":{"id":7}}`, "", ""}, // workers read such bodies themselves
	} {
		m := Message{Body: []byte(c.body), BodyBytes: len(c.body)}
		member, edit, ok := m.Enclosed()
		if !ok {
			member = ""
		}

		assert.Equal(t, member, c.member, "%s", c.body)
		assert.Equal(t, edit, c.edit, "%s", c.body)
	}
}

// An origin that a worker wrote as JSON into one header is read as that of a table.
func TestOriginWrittenAsJSON(t *testing.T) {
	const origin = `{"exchange":"ev","routing_key":"order.paid","queue":"w","retries":3}`
	m := Message{Headers: model.Table{"x-origin": origin, "context": `{"queue":"other"}`, "x-source": `{"queue":`}}
	queue, _ := m.Worker("")
	assert.Equal(t, queue, "w")

	address, _ := m.OriginOrWhy()
	assert.Equal(t, address, model.Address{Exchange: "ev", RoutingKey: "order.paid"})

	_, resets := m.Reset(ResetWish{})
	assert.Equal(t, len(resets), 0, "a text cannot be reset: %v", resets)
}
