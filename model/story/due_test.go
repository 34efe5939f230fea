package story

import (
	"strings"
	"testing"
	"time"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/build"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/model/peek"
)

var noTTL model.Setting[time.Duration]

func argumentTTL(ttl time.Duration) model.Setting[time.Duration] {
	return model.Setting[time.Duration]{Value: ttl, Set: true, Source: model.Source{Kind: model.FromArgument}}
}

func policyTTL(ttl time.Duration) model.Setting[time.Duration] {
	return model.Setting[time.Duration]{Value: ttl, Set: true, Source: model.Source{Kind: model.FromPolicy, Name: "p"}}
}

func TestDue(t *testing.T) {
	type expected struct {
		Name string
		M    message.Message
		JSON string
		TTL  model.Setting[time.Duration]
		Want string // when, after it was taken
	}

	future := expected{Name: "timestamp in the far future", TTL: argumentTTL(time.Minute), Want: "≤ 1m0s"}
	future.M.Properties.Timestamp = time.Unix(1<<40, 0)

	for _, c := range append(must.Cases[expected](t, "testdata/due.toml"), future) {
		t.Run(c.Name, func(t *testing.T) {
			if c.JSON != "" {
				c.M = must.Get(message.ParseMessage([]byte(c.JSON)))(t)
			}

			due := Due(&c.M, c.TTL, Sight{At: build.Noon})
			got := map[DueKind]string{DueExact: "= ", DueAtMost: "≤ "}[due.Kind] + due.Time.Sub(build.Noon).String()

			if !due.Known() && due.Time.IsZero() {
				got = string(due.Kind)
			}

			assert.Equal(t, got, c.Want)
		})
	}
}

func TestDueIn(t *testing.T) {
	for _, c := range must.Cases[struct {
		Kind DueKind
		Left time.Duration
		Want string
	}](t, "testdata/due_in.toml") {
		d := DueTime{Kind: c.Kind, Time: build.Noon.Add(c.Left), Earliest: build.Noon.Add(c.Left)}
		assert.Equal(t, d.In(build.Noon), c.Want, "%s %v", c.Kind, c.Left)
	}
}

func TestShortDuration(t *testing.T) {
	for _, c := range must.Cases[struct {
		Span time.Duration
		Want string
	}](t, "testdata/short_durations.toml") {
		assert.Equal(t, model.ShortDuration(c.Span), c.Want, "%v", c.Span)
	}
}

// What was seen of a message bounds when it came, and a timestamp that contradicts it is ignored.
func TestDueOfWhatWasSeen(t *testing.T) {
	type expected struct {
		Name                             string
		Stamped, Published, After, Since float64 // 0: not known
		Clock                            model.Clock
		Kind                             DueKind
		Due                              [2]float64 // the earliest is not compared when the kind is at most and it is 0
	}

	at := func(s float64) time.Time { return build.Noon.Add(time.Duration(s * float64(time.Second))) }
	known := func(s float64) time.Time {
		if s == 0 {
			return time.Time{}
		}
		return at(s)
	}

	must.Run(t, "testdata/due_of_what_was_seen.toml", func(t *testing.T, c expected) {
		m := message.Message{Position: 1, Properties: message.Properties{Timestamp: known(c.Published)}}
		if c.Stamped != 0 {
			m.Headers = model.Table{"timestamp_in_ms": at(c.Stamped).UnixMilli()}
		}

		got := Due(&m, argumentTTL(30*time.Second), Sight{
			At: at(0), After: known(c.After), Since: known(c.Since), Clock: c.Clock,
		})
		assert.Equal(t, got.Kind, c.Kind)

		earliest, latest := at(c.Due[0]), at(c.Due[1])
		assert.That(t, got.Time.Sub(latest).Abs() <= time.Microsecond, "%s at %v, want %s at %v", got.Kind,
			got.Time.Sub(build.Noon), c.Kind, c.Due[1])
		assert.That(t, c.Kind != DueExact && c.Due[0] == 0 || got.Earliest.Sub(earliest).Abs() <= time.Microsecond,
			"not before %v, want %v", got.Earliest.Sub(build.Noon), c.Due[0])
	})
}

// A TTL by policy holds for what arrives later: what is older and still there waits under an earlier one.
func TestWhatOutlivesAPolicysTTL(t *testing.T) {
	type expected struct {
		Name string

		Argument, Policy      time.Duration // the TTL, by what sets it; 0: no TTL
		Changed, After, Since time.Duration // ago; 0: not known
		Want                  string
	}

	ago := func(d time.Duration) time.Time {
		if d == 0 {
			return time.Time{}
		}
		return build.Noon.Add(-d)
	}

	for _, c := range must.Cases[expected](t, "testdata/outlives.toml") {
		ttl := noTTL
		if c.Argument > 0 {
			ttl = argumentTTL(c.Argument)
		}
		if c.Policy > 0 {
			ttl = policyTTL(c.Policy)
		}

		seen := Sight{At: build.Noon, Changed: ago(c.Changed), After: ago(c.After), Since: ago(c.Since)}
		got := Due(&message.Message{Position: 1}, ttl, seen).In(build.Noon)
		assert.Equal(t, got, c.Want, "%s", c.Name)
	}
}

// A task's eta is when its worker runs it. On its way through the levels of a delay it also shows when it leaves each;
// in other queues it does not.
func TestEtaDatesTheLevelsOfADelay(t *testing.T) {
	parts := append(build.DelayLevels("celery_delayed_%d", "celery_delayed_delivery", 28),
		build.Text(`
			exchange topic orders
			queue orders consumers=1
			bind-exchange celery_delayed_delivery #.orders orders
			bind orders #.orders orders
			buffer orders.wait orders 60000
		`))

	topology := build.TopologyOf("4.3.6", parts...)
	type expected struct {
		Name, In, Key string
		Levels        string        // the last ones of a key
		Runs          time.Duration // until its eta; 0: Eta
		Eta           any
		Want          string
	}
	must.Run(t, "testdata/etas.toml", func(t *testing.T, c expected) {
		if c.Levels != "" {
			c.Key = strings.Repeat("0.", 28-(len(c.Levels)+1)/2) + c.Levels + ".orders"
		}
		if c.Runs != 0 {
			c.Eta = build.Noon.Add(c.Runs).Format(time.RFC3339Nano)
		}

		m := message.Message{
			Position: 1, RoutingKey: c.Key,
			Headers: model.Table{"task": "shop.charge", "id": "1", "root_id": "1", "retries": int32(0), "eta": c.Eta},
		}

		var wait *Wait

		peeked := peek.Peeked{Messages: message.MessageList{m}, TakenAt: build.Noon}
		if w := waitsIn(topology, build.Ref(c.In), peeked, Sight{}); w != nil {
			wait = &w.Messages[0]
		}

		var got []string
		for _, e := range Ahead(topology, &m, build.Ref(c.In), wait, build.Noon) {
			got = append(got, string(e.Kind)+" "+e.What+e.Detail)
		}

		assert.Equal(t, strings.Join(got, "; "), c.Want)
	})
}
