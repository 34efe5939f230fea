package message

import (
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/model"
)

func TestBodyPreview(t *testing.T) {
	for _, c := range []struct {
		body string
		n    int
		want string
	}{
		{"", 5, ""},
		{"abc", 0, ""},
		{"{\n  \"a\": 1\n}", 80, `{ "a": 1 }`},
		{"ééééé", 3, "ééé"},
		{strings.Repeat("世", 100), 4, "世世世世"},
		{"\x1b[2J", 9, `\x1b[2J`},
		{"\xff\xfe", 9, `\xff\xfe`},
		{strings.Repeat("\x80", 100), 2, `\x80\x80`},
	} {
		m := Message{Body: []byte(c.body)}
		assert.Equal(t, m.BodyPreview(c.n), c.want, "%q", c.body)
	}
}

func TestSize(t *testing.T) {
	for n, want := range map[int64]string{
		-1: "?", 0: "0", 412: "412", 1023: "1023", 1024: "1K", 1229: "1.2K", 10 << 10: "10K", 10189: "10K", 1<<20 - 1: "1M",
		10 << 20: "10M", 3 << 30: "3G", math.MaxInt64: "8E",
	} {
		assert.Equal(t, Size(n), want, "%d", n)
	}
}

// Whatever the case and separators of its name, a counter is recognized, and reset to 0 in its own type.
func TestCountersOfApplications(t *testing.T) {
	for _, name := range []string{
		"retryCount", "retry_count", "X-Retry-Count", "x-retryCount", "_retryCount", "RETRY-COUNT", "retries", "tries",
		"attemptCount", "attempts", "attempt_number", "x-attempt", "x-retry", "x-delivery-attempts", "num_attempts",
		"currentRetry", "redelivery_count", "dequeueCount", "x-receive-count", "x-retries",
		"numberOfRetries", "XRetryCount", "retry.count",
	} {
		for was, zero := range map[any]any{
			int32(3): int32(0), int64(3): int64(0), "3": "0", 3.0: 0.0, uint8(3): uint8(0),
		} {
			m := Message{Headers: model.Table{name: was, "tenant": "acme"}}
			got, resets := m.Reset(ResetWish{})
			want := []Reset{{"", CounterReset, name, name, 3, 0, ""}}
			assert.Equal(t, cmp.Diff(want, resets)+cmp.Diff(model.Table{name: zero, "tenant": "acme"}, got.Headers), "")
			assert.Equal(t, m.CountedByWorker(), 3, "%s", name)
		}
	}

	for _, name := range []string{
		"x-delivery-count", "x-acquired-count", "maxRetries", "retryDelay", "retries_left", "x-max-retry-count",
		"country", "entry", "count", "x-count", "retryAfter", "x-death-count",
	} {
		m := Message{Headers: model.Table{name: int64(3)}, Deaths: []Death{{Reason: model.Rejected}}}
		got, resets := m.Reset(ResetWish{})
		assert.That(t, got == &m, "%s: %v", name, resets)
		assert.Equal(t, m.CountedByWorker(), 0, "%v", name)
	}
}

// Names that may be business data count only with evidence: the value has the right kind, and the message died or was
// republished.
func TestVagueNamesNeedEvidence(t *testing.T) {
	died := []Death{{Reason: model.Rejected, Queue: "mail"}}
	type expected struct {
		Name                 string
		Headers              asJSON
		Exchange, RoutingKey string
		Died                 bool
		Failure              string
		Want                 asJSON // nil: the headers stay as they are
	}

	for _, c := range must.Cases[expected](t, "testdata/vague_names.toml") {
		m := Message{Headers: model.Table(c.Headers), Exchange: c.Exchange, RoutingKey: c.RoutingKey}
		if c.Died {
			m.Deaths = died
		}

		f, _ := m.Failure()
		before := FingerprintOf(&m)
		got, _ := m.Reset(ResetWish{})

		if c.Want == nil {
			c.Want = c.Headers
		}

		diff := cmp.Diff(model.Table(c.Want), got.Headers)
		assert.NoDiff(t, diff, "%v", c.Name)
		assert.Equal(t, f.String(), c.Failure, "%v", c.Name)
		assert.Equal(t, FingerprintOf(&m), before, "%v", c.Name)
	}
}

// Laravel's driver counts in a table of its own.
func TestLaravel(t *testing.T) {
	m := Message{
		Headers: model.Table{"laravel": model.Table{"attempts": int64(2), "x": "y"}},
		Body: []byte(`{"uuid":"7c","displayName":"App\\Jobs\\Invoice","job":"Illuminate\\Queue\\CallQueuedHandler@call",` +
			`"maxTries":3,"data":{}}`),
	}

	m.BodyBytes = len(m.Body)
	got, resets := m.Reset(ResetWish{})
	want := []Reset{{"Laravel", CounterReset, "laravel.attempts", "laravel", 2, 0, ""}}
	left := model.Table{"laravel": model.Table{"attempts": int64(0), "x": "y"}}
	assert.Equal(t, cmp.Diff(want, resets)+cmp.Diff(left, got.Headers), "")
	assert.Equal(t, m.FrameworkWords(), `Laravel: App\Jobs\Invoice, counts 2`)
	_, resets = m.Reset(ResetWish{KeepTries: true})
	must.Equal(t, len(resets), 1, "%v", resets)
	assert.Equal(t, resets[0].Is, 2)
}

// Errors as applications write them: in headers of any known name, in a table, or in the body when no header has one.
func TestFailureOfApplications(t *testing.T) {
	body := func(text string, deaths ...Death) Message {
		return Message{Body: []byte(text), BodyBytes: len(text), Deaths: deaths}
	}

	want := "TimeoutError: smtp gateway"
	type expected struct {
		M           Message
		Want, Stack string
	}

	for _, c := range append(must.Cases[expected](t, "testdata/failure_of_applications.toml"), []expected{
		{
			headed(model.Table{"errors": model.Table{"name": "TimeoutError", "message": "smtp gateway", "stack": "at x"}}),

			want, "at x",
		},
		{body(`{"id":"1","name":"send","error":"` + want + `","args":["bob"]}`), want, want},
		{body(`{"error":{"name":"TimeoutError","message":"smtp gateway","stack":"at x"}}`), want, "at x"},
		{body(`{"error":"`+want+`"}`, Death{Reason: model.Expired, Queue: "wait"}), want, want},
		{body(`{"error":"of the publisher"}`, Death{Reason: model.Rejected, Queue: "q"}), "rejected in q", ""},
		{body(`{"errorCode":5,"terror":"x","error":null}`), "", ""},
	}...) {
		f, _ := c.M.Failure()
		stack := c.M.FailureStack(f)
		assert.Equal(t, f.String(), c.Want, "%v", c.M.Headers)
		assert.Equal(t, stack, c.Stack, "%v", c.M.Headers)

		got, _ := c.M.Reset(ResetWish{})
		assert.Equal(t, len(got.Headers), 0, "left: %v", got.Headers)
		assert.Equal(t, string(got.Body), string(c.M.Body))
	}
}
