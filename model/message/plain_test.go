package message

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/model"
)

// Whatever the case and separators of a name, it is the same counter, and goes back to 0 in its own type.
func TestCountersOfApplications(t *testing.T) {
	for _, name := range []string{
		"retryCount", "retry_count", "X-Retry-Count", "x-retryCount", "_retryCount", "RETRY-COUNT", "retries", "tries",
		"attemptCount", "attempts", "attempt_number", "x-attempt", "x-retry", "x-delivery-attempts", "num_attempts",
		"currentRetry", "redelivery_count", "x-retries", "numberOfRetries", "XRetryCount", "retry.count",
	} {
		for was, zero := range map[any]any{
			int32(3): int32(0), int64(3): int64(0), "3": "0", 3.0: 0.0, uint8(3): uint8(0),
		} {
			m := Message{Headers: model.Table{name: was, "tenant": "acme"}}
			got, resets := m.Reset(ResetWish{})
			want := []Reset{{"", CounterReset, name, name, 3, 0}}
			assert.Equal(t, cmp.Diff(want, resets)+cmp.Diff(model.Table{name: zero, "tenant": "acme"}, got.Headers), "")
			assert.Equal(t, m.CountedByWorker(), 3, "%s", name)
		}
	}
	for _, name := range []string{
		"x-delivery-count", "x-acquired-count", "maxRetries", "retryDelay", "retries_left", "x-max-retry-count",
		"country", "entry", "count", "x-count", "retryAfter", "x-death-count",
	} {
		m := Message{Headers: model.Table{name: int64(3)}, Deaths: []Death{{Reason: model.Rejected}}}
		if got, resets := m.Reset(ResetWish{}); got != &m || m.CountedByWorker() != 0 {
			t.Errorf("%s: %v", name, resets)
		}
	}
}

// What may be business data counts with evidence only: its value is of that kind, and the message died or was
// published again.
func TestVagueNamesNeedEvidence(t *testing.T) {
	died := []Death{{Reason: model.Rejected, Queue: "mail"}}
	for _, c := range []struct {
		name    string
		m       Message
		failure string
		want    model.Table
	}{
		{
			"no evidence",
			Message{Headers: model.Table{"retry": int32(2), "reason": true, "attempt": int64(1)}},
			"",
			model.Table{"retry": int32(2), "reason": true, "attempt": int64(1)},
		},
		{
			"a text of an order",
			Message{Headers: model.Table{"reason": "refund"}, Exchange: "orders"},
			"",
			model.Table{"reason": "refund"},
		},
		{
			"other types",
			Message{Headers: model.Table{"retry": true, "reason": int32(5), "attempt": "daily"}, Deaths: died},
			"rejected in mail",
			model.Table{"retry": true, "reason": int32(5), "attempt": "daily"},
		},
		{
			"it died: a counter; the text stays, as nothing says that a worker wrote it",
			Message{Headers: model.Table{"attempt": "2", "reason": "refund"}, Exchange: "dlx", Deaths: died},
			"refund",
			model.Table{"attempt": "0", "reason": "refund"},
		},
		{
			"published again, as the time of the failure says",
			Message{Headers: model.Table{"retry": int32(2), "reason": "no customer", "erroredAt": "2026-11-26T10:00:00Z"}},
			"no customer",
			model.Table{"retry": int32(0), "erroredAt": "2026-11-26T10:00:00Z"},
		},
		{
			"published into a failed queue",
			Message{Headers: model.Table{"reason": "no customer"}, RoutingKey: "orders_error"},
			"no customer",
			model.Table{},
		},
		{
			"an x-death that is a table",
			Message{Headers: model.Table{"x-death": model.Table{"reason": "rejected", "count": int64(2)}}, Deaths: died},
			"rejected in mail",
			model.Table{"x-death": model.Table{"reason": "rejected", "count": int64(2)}},
		},
		{
			"a table of an order",
			Message{Headers: model.Table{"payment": model.Table{"attempts": int32(2)}}},
			"",
			model.Table{"payment": model.Table{"attempts": int32(2)}},
		},
		{
			"a table of an order that died",
			Message{
				Headers: model.Table{"job": model.Table{"attempts": int32(2), "id": []any{"a"}}},
				Deaths:  died,
			},
			"rejected in mail",
			model.Table{"job": model.Table{"attempts": int32(0), "id": []any{"a"}}},
		},
		{
			"a table of retries",
			Message{Headers: model.Table{"retry": model.Table{"count": int32(2), "last_error": "E: no", "max": int32(5)}}},
			"E: no",
			model.Table{"retry": model.Table{"count": int32(0), "max": int32(5)}},
		},
	} {
		f, _ := c.m.Failure()
		got, _ := c.m.Reset(ResetWish{})
		diff := cmp.Diff(c.want, got.Headers)
		assert.That(t, diff == "" && f.String() == c.failure, "%s: %q %s", c.name, f, diff)
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
	want := []Reset{{"Laravel", CounterReset, "laravel.attempts", "laravel", 2, 0}}
	left := model.Table{"laravel": model.Table{"attempts": int64(0), "x": "y"}}
	assert.Equal(t, cmp.Diff(want, resets)+cmp.Diff(left, got.Headers), "")
	assert.Equal(t, m.FrameworkWords(), `Laravel: App\Jobs\Invoice, counts 2`)
	if _, resets := m.Reset(ResetWish{KeepTries: true}); len(resets) != 1 || resets[0].Is != 2 {
		t.Error(resets)
	}
}

// An error as applications write it: in headers of any name for it, in a table, and in a body where no header has one.
func TestFailureOfApplications(t *testing.T) {
	body := func(text string, deaths ...Death) Message {
		return Message{Body: []byte(text), BodyBytes: len(text), Deaths: deaths}
	}
	headers := func(t model.Table) Message { return Message{Headers: t} }
	want := "TimeoutError: smtp gateway"
	for _, c := range []struct {
		m           Message
		want, stack string
	}{
		{headers(model.Table{"lastError": want}), want, want},
		{headers(model.Table{"errorMsg": "smtp gateway", "errorClass": "TimeoutError"}), want, ""},
		{headers(model.Table{"errorCode": "TimeoutError", "failureMessage": "smtp gateway"}), want, ""},
		{headers(model.Table{"errorCode": int64(4002), "errorMsg": "declined"}), "4002: declined", ""},
		{headers(model.Table{"exceptionClass": "TimeoutError", "failureReason": "smtp gateway"}), want, "smtp gateway"},
		{headers(model.Table{"stackTrace": "at Mail.send", "x-errorMessage": want}), want, "at Mail.send"},
		{headers(model.Table{"rejection_reason": "smtp gateway"}), "smtp gateway", "smtp gateway"},
		{
			headers(model.Table{"errors": model.Table{"name": "TimeoutError", "message": "smtp gateway", "stack": "at x"}}),
			want, "at x",
		},
		{headers(model.Table{"errors": []any{"first", want}}), want, want},
		{headers(model.Table{"error": `{"message":"smtp gateway","type":"TimeoutError"}`}), want, ""},
		{headers(model.Table{"error": "{smtp}"}), "{smtp}", "{smtp}"},
		{body(`{"id":"1","name":"send","error":"` + want + `","args":["bob"]}`), want, want},
		{body(`{"error":{"name":"TimeoutError","message":"smtp gateway","stack":"at x"}}`), want, "at x"},
		{body(`{"error":"`+want+`"}`, Death{Reason: model.Expired, Queue: "wait"}), want, want},
		{body(`{"error":"of the publisher"}`, Death{Reason: model.Rejected, Queue: "q"}), "rejected in q", ""},
		{body(`{"errorCode":5,"terror":"x","error":null}`), "", ""},
	} {
		f, _ := c.m.Failure()
		if stack := c.m.FailureStack(f); f.String() != c.want || stack != c.stack {
			t.Errorf("%v %s: %+v, stack %q", c.m.Headers, c.m.Body, f, stack)
		}
		got, _ := c.m.Reset(ResetWish{})
		assert.That(t, len(got.Headers) == 0 && string(got.Body) == string(c.m.Body), "left: %v", got.Headers)
	}
}
