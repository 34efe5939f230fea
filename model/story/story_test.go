package story

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/build"
	"github.com/dlxtop/dlxtop/model/filter"
	"github.com/dlxtop/dlxtop/model/message"
)

func TestStory(t *testing.T) {
	at := func(s int) time.Time { return build.Noon.Add(time.Duration(s) * time.Second) }
	published := message.Properties{Timestamp: at(1)}
	own := func(p message.Properties, died int, ttl string) message.Message {
		return message.Message{Properties: p, Deaths: []message.Death{{
			Queue: "buffer", Reason: model.Expired, Count: 1, RoutingKeys: []string{"buffer"}, Time: at(died),
			OriginalExpiration: ttl,
		}}}
	}

	const here = `now | here | | through (default), key ""`
	for _, c := range []struct {
		name string
		m    message.Message
		want []string
	}{
		{
			"just published",
			message.Message{Exchange: "master", RoutingKey: "user.create", Properties: published},
			[]string{"12:00:01 | published | master | user.create |", "now | here | |"},
		},
		{
			"through a delayed buffer",
			message.Message{
				Exchange: "dlx", RoutingKey: "dlx.key", Properties: published,
				Deaths: []message.Death{{
					Queue: "buffer", Reason: model.Expired, Count: 1, Exchange: "out",
					RoutingKeys: []string{"out.key"}, Time: at(6),
				}},
			},
			[]string{
				"12:00:01 | published | out | out.key |",

				"12:00:06 | expired | buffer | after 5s |",
				"now | here | | through dlx, key dlx.key",
			},
		},
		{"a TTL of its own, no timestamp", own(message.Properties{}, 6, "3000"), []string{
			"≤ 12:00:06 | published | (default) | buffer | at the latest: it has no time of its own",
			"12:00:06 | expired | buffer | TTL 3s |", here,
		}},
		{"a TTL of its own, behind a head that blocked it", own(published, 6, "1000"), []string{
			"12:00:01 | published | (default) | buffer |", "12:00:06 | expired | buffer | after 5s |", here,
		}},
		{"a TTL of its own, above that of the queue", own(published, 6, "60000"), []string{
			"12:00:01 | published | (default) | buffer |", "12:00:06 | expired | buffer | after 5s |", here,
		}},
		{"a TTL of its own, which is finer than times are", own(published, 3, "1500"), []string{
			"12:00:01 | published | (default) | buffer |", "12:00:03 | expired | buffer | after 1.5s |", here,
		}},
		{
			"the retry loop, republished by its worker",
			message.Message{
				Exchange: "master.failed", RoutingKey: "user@failed", Properties: published,
				Headers: model.Table{"x-orig-routing-key": "user.create", "x-error": "TimeoutError: smtp gateway"},
				Deaths: []message.Death{{
					Queue: "user@retry", Reason: model.Expired, Count: 3,

					Exchange: "master.retry", RoutingKeys: []string{"user"}, Time: at(31),
				}},
			},
			[]string{
				"12:00:01 | published |  | user.create | routing key from x-orig-routing-key; exchange unknown",
				"? | republished | master.retry | user | by an application; earlier deaths unknown",
				"12:00:31 | expired ×3 | user@retry | | first of 3: RabbitMQ keeps only the first time",
				"? | failed |  | TimeoutError: smtp gateway | from an error header",
				"now | here | | through master.failed, key user@failed",
			},
		},
		{
			"rejected, waited, rejected",
			message.Message{
				Properties: published,
				Deaths: []message.Death{
					{Queue: "work", Reason: model.Rejected, Count: 2, RoutingKeys: []string{"work"}, Time: at(2)},
					{Queue: "retry", Reason: model.Expired, Count: 1, RoutingKeys: []string{"work"}, Time: at(32)},
				},
			},
			[]string{
				"12:00:01 | published | (default) | work |",
				"12:00:02 | rejected ×2 | work | after 1s | first of 2: RabbitMQ keeps only the first time",

				"12:00:32 | expired | retry | |", here,
			},
		},
		{
			"a timestamp after the first death is not believed",
			message.Message{
				Properties: message.Properties{Timestamp: at(3600)},
				Deaths: []message.Death{{
					Queue: "work", Reason: model.Rejected, Count: 1, RoutingKeys: []string{"work"}, Time: at(2),
				}},
			},
			[]string{
				"≤ 12:00:02 | published | (default) | work | at the latest: its timestamp is after its first death",

				"12:00:02 | rejected | work | |", here,
			},
		},
		{
			"deaths without times keep the order of x-death",
			message.Message{Deaths: []message.Death{{Queue: "b"}, {Queue: "a", RoutingKeys: []string{"k"}}}},
			[]string{"? | published | (default) | k |", "? | died | a | |", "? | died | b | | when is unknown", here},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got []string
			for _, e := range Of(&c.m, build.Ref("here")) {
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

			for i := range c.want {
				c.want[i] = strings.ReplaceAll(c.want[i], "|  |", "| |")
			}

			assert.NoDiff(t, cmp.Diff(c.want, got))
		})
	}
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

// junk is any possible header value, and some that are not.
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
