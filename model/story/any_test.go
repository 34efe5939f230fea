package story

import (
	"math"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/build"
	"github.com/dlxtop/dlxtop/model/filter"
	"github.com/dlxtop/dlxtop/model/message"
)

// junk is any value that a header can have.
func junk(depth int) *rapid.Generator[any] {
	scalars := []*rapid.Generator[any]{
		rapid.Just[any](nil), rapid.Bool().AsAny(), rapid.Int8().AsAny(), rapid.Int32().AsAny(), rapid.Int64().AsAny(),
		rapid.Uint64().AsAny(),
		rapid.Float64().AsAny(), rapid.Float32().AsAny(), rapid.String().AsAny(), rapid.SliceOf(rapid.Byte()).AsAny(),
		rapid.Map(rapid.Int64(), func(s int64) any { return time.Unix(s, 0) }),
		rapid.Just[any](model.Decimal{Scale: 2, Value: 314}),
		rapid.SampledFrom([]any{model.Expired, math.NaN(), "queue", struct{}{}}),
		rapid.SampledFrom([]any{model.RawValue{Type: 'F', Bytes: []byte("\xff")}}),
	}
	if depth == 0 {
		return rapid.OneOf(scalars...)
	}
	return rapid.OneOf(append(scalars,
		rapid.SliceOfN(junk(depth-1), 0, 4).AsAny(),
		rapid.Map(rapid.SliceOfN(junk(depth-1), 0, 4), func(values []any) any { return model.Repeated(values) }),
		rapid.Map(rapid.MapOfN(headerNames(), junk(depth-1), 0, 6), func(m map[string]any) any { return model.Table(m) }))...)
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

// Everything that reads a message must survive every message, and what it says must be drawable.
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
			Position: rapid.Int().Draw(t, "position"),
			Exchange: rapid.String().Draw(t, "exchange"),
			Headers:  rapid.MapOfN(headerNames(), junk(3), 0, 6).Draw(t, "headers"),
			Body:     rapid.SliceOf(rapid.Byte()).Draw(t, "body"),
			Properties: message.Properties{
				Expiration: rapid.OneOf(rapid.String(), rapid.Map(rapid.Uint64(),
					func(n uint64) string { return message.Size(int64(n)) })).Draw(t, "expiration"),
				Timestamp: time.Unix(rapid.Int64().Draw(t, "timestamp"), 0),
			},
		}
		m.Deaths, m.DeathsError = message.ParseDeaths(m.Headers)
		m.Origin()
		m.OriginReason()
		for _, e := range Of(m, model.QueueRef{VHost: "/", Name: "q"}) {
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
		ttl := model.Some(time.Duration(rapid.Int64().Draw(t, "ttl")))
		if d := Due(m, ttl, Sight{At: build.Noon}); d.Kind != DueUnknown && d.Kind != DueExact && d.Kind != DueAtMost {
			t.Errorf("due %v", d)
		} else if s := d.In(build.Noon); strings.Contains(s, "-") {
			t.Errorf("due %v in %q", d, s)
		}
	}
}
