package story

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/build"
	"github.com/dlxtop/dlxtop/model/filter"
	"github.com/dlxtop/dlxtop/model/message"
)

func TestStory(t *testing.T) {
	type expected struct {
		Name string
		M    message.Message
		Want []string
	}

	must.Run(t, "testdata/story.toml", func(t *testing.T, c expected) {
		var got []string
		for _, e := range Of(&c.M, build.Ref("here")) {
			when := "?"

			if !e.Time.IsZero() {
				when = e.Time.Format(time.TimeOnly)
				if !e.TimeExact {
					when = "≤ " + when
				}
			}

			line := fmt.Sprintf("%s | %s | %s | %s | %s", when, e.What, e.Where, e.Detail, e.Note)
			if e.Kind == Now {
				line = fmt.Sprintf("now | %s | %s | %s", e.Where, e.Detail, e.Note)
			}

			got = append(got, strings.ReplaceAll(strings.TrimSpace(line), "|  |", "| |"))
		}

		for i := range c.Want {
			c.Want[i] = strings.ReplaceAll(c.Want[i], "|  |", "| |")
		}

		assert.Same(t, c.Want, got)
	})
}

func TestStoryShowsReplays(t *testing.T) {
	at := time.Date(2026, 5, 6, 7, 8, 9, 0, time.UTC)
	m := message.Message{Headers: model.Table{
		message.ReplayHeader: model.Table{"count": int64(2), "time": at},
		"x-death": []any{
			model.Table{
				"queue": "retry", "reason": "expired", "count": int64(1), "exchange": "",
				"time": at.Add(30 * time.Second), "routing-keys": []any{"k"},
			},
		},
	}}

	m.Deaths, _ = message.ParseDeaths(m.Headers)

	var whats []string
	for _, e := range Of(&m, build.Ref("failed")) {
		whats = append(whats, e.What)
		assert.That(t, e.Kind != Replayed || e.Time.Equal(at) && e.TimeExact, "%+v", e)
	}

	must.Equal(t, len(whats), 4, "%q", whats)
	assert.Equal(t, whats[1], "replayed 2 times")
}

// junk returns any possible header value, and some that are not.
func junk(depth int) *rapid.Generator[any] {
	others := rapid.SampledFrom([]any{model.Expired, math.NaN(), "queue", struct{}{}})
	return build.AnyValueWith(depth, headerNames(), others)
}

func headerNames() *rapid.Generator[string] {
	return rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{
		"x-death", "queue", "reason", "count", "exchange", "routing-keys", "time", "original-expiration",
		"x-first-death-queue",
		"x-error", "error", "message", "rascal", "retry_info", "x-exception-message", "x-exception-stacktrace",
		"rbs2-error-details",
		"timestamp_in_ms", "x-orig-routing-key", "x-original-exchange", "x-original-routingKey",
	}))
}

// Everything that reads a message must survive any message, and its output must be drawable.
func TestAnyMessageCanBeRead(t *testing.T) {
	rapid.Check(t, anyMessageCanBeRead(t))
}

func FuzzAnyMessageCanBeRead(f *testing.F) {
	f.Fuzz(rapid.MakeFuzz(anyMessageCanBeRead(f)))
}

func anyMessageCanBeRead(t testing.TB) func(*rapid.T) {
	filters := []*filter.Filter{}
	for _, text := range []string{
		"x", "=any(keys(headers), headers[#] == json)",
		"=json.a.b > 1 or age < 3 or failure == reason", "=body + exchange contains 'a'",
	} {
		f := must.Get(filter.Parse(text))(t)
		filters = append(filters, f)
	}

	return func(t *rapid.T) {
		m := &message.Message{
			Position: rapid.Int().Draw(t, "position"), Exchange: rapid.String().Draw(t, "exchange"),
			Headers: rapid.MapOfN(headerNames(), junk(3), 0, 6).Draw(t, "headers"),
			Body:    rapid.SliceOf(rapid.Byte()).Draw(t, "body"),
			Properties: message.Properties{
				Expiration: rapid.OneOf(rapid.String(), rapid.Map(rapid.Uint64(),
					func(n uint64) string { return message.Size(int64(n)) })).Draw(t, "expiration"),
				Timestamp: time.Unix(rapid.Int64().Draw(t, "timestamp"), 0),
			},
		}

		m.Deaths, m.DeathsError = message.ParseDeaths(m.Headers)
		m.OriginOrWhy()
		m.FirstKey()

		for _, e := range Of(m, build.Ref("q")) {
			for _, s := range []string{e.What, e.Where, e.Detail, e.Note} {
				build.CheckPrintable(t, model.Printable(s))
			}
		}

		if f, ok := m.Failure(); ok && f.String() == "" {
			t.Errorf("an empty failure: %#v", f)
		}

		build.CheckPrintable(t, m.BodyPreview(10))
		for _, f := range filters {
			f.Match(m)
		}

		ttl := argumentTTL(time.Duration(rapid.Int64().Draw(t, "ttl")))
		if d := Due(m, ttl, Sight{At: build.Noon}); d.Kind != DueUnknown && !d.Known() {
			t.Errorf("due %v", d)
		} else if s := d.In(build.Noon); strings.Contains(s, "-") {
			t.Errorf("due %v in %q", d, s)
		}
	}
}
