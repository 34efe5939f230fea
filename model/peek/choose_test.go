package peek

import (
	"strings"
	"testing"
	"time"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/build"
)

func TestPlanPeek(t *testing.T) {
	const old, four, fourThree = "3.10.8", "4.0.5", "4.3.6"
	limit := func(n int64) model.Settings {
		return model.Settings{DeliveryLimit: model.Setting[int64]{
			Value: n, Set: true, Source: model.Source{Kind: model.FromArgument},
		}}
	}
	retry := func(kind string) model.Settings {
		return model.Settings{DelayedRetry: model.Setting[string]{
			Value: kind, Set: true, Source: model.Source{Kind: model.FromPolicy, Name: "retry"},
		}}
	}
	lookUsesLimit := "each look uses 1 of the delivery limit 20 (default)"
	cases := []struct {
		name     string
		version  string
		queue    model.Queue
		settings model.Settings
		want     Want

		method   Method
		release  Release
		priority int
		limit    int    // 50 when 0
		page     int    // 50 when 0
		cost     string // contains it
		without  string // does not contain it
		refusal  string // contains it; "": allowed
		override string // contains it; "": final
	}{
		{
			name: "classic", version: old, queue: model.Queue{Type: model.Classic, Consumers: model.Some[int64](0)},
			cost: "order kept, messages become marked as redelivered", without: "limit",
		},
		{name: "classic beside consumers", version: four, queue: model.Queue{
			Type: model.Classic, Consumers: model.Some[int64](2),
		}, priority: -10, cost: "only messages that they leave are seen"},
		{
			name: "classic, consumers unknown", version: fourThree, queue: model.Queue{Type: model.Classic}, priority: -10,
			without: "only messages that they leave",
		},
		{name: "quorum before 4.0", version: old, queue: model.Queue{
			Type: model.Quorum, Consumers: model.Some[int64](0),
		}, release: ReleaseClose, cost: "each look adds 1 to x-delivery-count"},
		{
			name: "quorum before 4.0 with a limit", version: old, queue: model.Queue{Type: model.Quorum},
			settings: limit(20), release: ReleaseClose, priority: -10, cost: "uses 1 of the delivery limit 20 (argument)",
		},
		{
			name: "quorum 4.0", version: four, queue: model.Queue{Type: model.Quorum, Consumers: model.Some[int64](0)},
			cost: lookUsesLimit,
		},
		{
			name: "quorum 4.2", version: "4.2.1", queue: model.Queue{Type: model.Quorum, Consumers: model.Some[int64](0)},
			cost: lookUsesLimit,
		},
		{
			name: "quorum 4.0 without limit", version: four, queue: model.Queue{Type: model.Quorum}, settings: limit(-1),
			priority: -10, cost: "x-delivery-count", without: "compared",
		},
		{name: "quorum 4.3", version: fourThree, queue: model.Queue{
			Type: model.Quorum, Consumers: model.Some[int64](0),
		}, cost: "marked as redelivered", without: "each look"},
		{
			name: "quorum, unknown version", version: "?", queue: model.Queue{Type: model.Quorum}, release: ReleaseClose,
			priority: -10, cost: lookUsesLimit,
		},
		{
			name: "quorum with an exclusive consumer, which means nothing there", version: four,
			queue: model.Queue{Type: model.Quorum, ExclusiveHeld: true, Consumers: model.Some[int64](1)}, priority: -10,
		},
		{
			name: "negative limit on 3.x", version: old, queue: model.Queue{Type: model.Quorum}, settings: limit(-1),
			release: ReleaseClose, priority: -10, refusal: "delivery limit is -1", override: "move to the end of the queue",
		},
		{
			name: "negative limit on 3.x, insisting", version: old, queue: model.Queue{Type: model.Quorum}, settings: limit(-1),
			want: Want{Insist: true}, release: ReleaseClose, priority: -10, cost: "move to the end of the queue",
		},
		{
			name: "scarce limit", version: four, queue: model.Queue{Type: model.Quorum}, settings: limit(2), priority: -10,
			refusal: "2 looks left of 2 (argument)", override: "move to the end of the queue",
		},
		{
			name: "scarce limit from 4.3", version: fourThree, queue: model.Queue{Type: model.Quorum}, settings: limit(2),
			priority: -10,
		},
		{
			name: "delayed retry", version: fourThree, queue: model.Queue{Type: model.Quorum}, settings: retry("all"),
			priority: -10, refusal: "delayed retry (all)", override: "only after the delay",
		},
		{
			name: "delayed retry of returned", version: fourThree, queue: model.Queue{Type: model.Quorum},
			settings: retry("returned"), priority: -10, refusal: "delayed retry", override: "delay",
		},
		{
			name: "delayed retry of failed only", version: fourThree, queue: model.Queue{Type: model.Quorum},
			settings: retry("failed"), priority: -10,
		},
		{name: "stream", version: four, queue: model.Queue{Type: model.Stream}, method: Stream, cost: "nothing"},
		{
			name: "action on a stream", version: four, queue: model.Queue{Type: model.Stream},
			want: Want{ForAction: true, Limit: 50}, method: Stream, refusal: "messages stay in it",
		},
		{
			name: "auto-delete", version: old, queue: model.Queue{Type: model.Classic, AutoDelete: true}, method: Get,
			cost: "deleted with its last consumer",
		},
		{
			name: "auto-delete beside consumers", version: old,
			queue: model.Queue{Type: model.Classic, AutoDelete: true, Consumers: model.Some[int64](1)}, method: Get,
			cost: "one by one",
		},
		{
			name: "exclusive to another connection", version: old, queue: model.Queue{Type: model.Classic, OwnedByAnother: true},
			want: Want{Insist: true}, refusal: "exclusive to another connection",
		},
		{
			name: "exclusive consumer", version: old, queue: model.Queue{Type: model.Classic, ExclusiveHeld: true},
			method: Get, cost: "exclusive access",
		},
		{
			name: "classic SAC without a consumer", version: old,
			queue: model.Queue{Type: model.Classic, SingleActive: true, Consumers: model.Some[int64](0)}, method: Get,
		},
		{
			name: "classic SAC with a consumer", version: old,
			queue: model.Queue{Type: model.Classic, SingleActive: true, Consumers: model.Some[int64](1)}, method: Get,
			refusal: "one is attached", override: "out of their order",
		},
		{
			name: "classic SAC with a consumer, insisting", version: old,
			queue: model.Queue{Type: model.Classic, SingleActive: true, Consumers: model.Some[int64](1)},
			want:  Want{Insist: true}, method: Get, cost: "out of their order",
		},
		{
			name: "quorum SAC without a consumer", version: four,
			queue: model.Queue{Type: model.Quorum, SingleActive: true, Consumers: model.Some[int64](0)}, priority: -10,
			cost: "dlxtop is the active consumer",
		},
		{
			name: "quorum SAC with a consumer", version: four, queue: model.Queue{
				Type: model.Quorum, SingleActive: true, Consumers: model.Some[int64](1),
			}, want: Want{Insist: true}, priority: -10,
			refusal: "refuses basic.get",
		},
		{
			name: "quorum SAC, consumers unknown", version: four,
			queue: model.Queue{Type: model.Quorum, SingleActive: true}, priority: -10, refusal: "one is attached",
		},
		{
			name: "unknown type", version: four, queue: model.Queue{Type: "x-new", Consumers: model.Some[int64](0)},
			refusal: `type "x-new"`, override: "classic",
		},
		{
			name: "bounded", version: old, queue: model.Queue{Type: model.Classic, Consumers: model.Some[int64](0)},
			settings: model.Settings{
				MaxLength: model.Setting[int64]{Value: 10, Set: true, Source: model.Source{}},
				Overflow:  model.Setting[string]{Value: "drop-head", Set: true, Source: model.Source{}},
			},
			cost: "push out the held ones",
		},
		{
			name: "bounded, but refusing", version: old, queue: model.Queue{
				Type: model.Classic, Consumers: model.Some[int64](0),
			},
			settings: model.Settings{
				MaxLength: model.Setting[int64]{Value: 10, Set: true, Source: model.Source{}},
				Overflow:  model.Setting[string]{Value: "reject-publish", Set: true, Source: model.Source{}},
			}, without: "push",
		},
		{
			name: "lease", version: old, queue: model.Queue{Type: model.Classic, Consumers: model.Some[int64](0)},
			settings: model.Settings{Expires: model.Setting[time.Duration]{
				Value: 30 * time.Minute, Set: true, Source: model.Source{},
			}}, cost: "deleted when unused for 30m",
		},
		{
			name: "large messages", version: old, queue: model.Queue{
				Type:      model.Classic,
				Consumers: model.Some[int64](0), Ready: model.Some[int64](100), ReadyBytes: model.Some[int64](1000 << 20),
			},
			want: Want{Limit: 100}, limit: 51, page: 51,
			cost: "only 51 at a time: they have 10MB on average, and at most 512MB are read",
		},
		{
			name: "giant messages", version: old, queue: model.Queue{
				Type:      model.Classic,
				Consumers: model.Some[int64](0), Ready: model.Some[int64](3), ReadyBytes: model.Some[int64](3000 << 20),
			},
			limit: 1, page: 1, cost: "only 1 at a time",
		},
		{
			name: "few large messages", version: old, queue: model.Queue{
				Type:      model.Classic,
				Consumers: model.Some[int64](0), Ready: model.Some[int64](3), ReadyBytes: model.Some[int64](300 << 20),
			},
			page: 5, without: "at a time",
		},
		{
			name: "action on large messages", version: old, queue: model.Queue{
				Type:      model.Classic,
				Consumers: model.Some[int64](0), Ready: model.Some[int64](100), ReadyBytes: model.Some[int64](1000 << 20),
			},
			want: Want{ForAction: true, Limit: 100}, limit: 100, page: 6, cost: "the others return in order",
			without: "at a time",
		},
		{
			name: "quorum, some of the limit is used", version: four,
			queue: model.Queue{Type: model.Quorum, Consumers: model.Some[int64](0)},
			want:  Want{Delivered: model.Some[int64](17)}, cost: "3 looks left of 20 (default), and this uses 1",
		},
		{
			name: "quorum, the limit is nearly used up", version: four,
			queue:   model.Queue{Type: model.Quorum, Consumers: model.Some[int64](0)},
			want:    Want{Delivered: model.Some[int64](18)},
			refusal: "2 looks left of 20 (default)", override: "move to the end of the queue",
		},
		{
			name: "quorum, whatever was delivered counts nothing", version: "4.3.6",
			queue: model.Queue{Type: model.Quorum, Consumers: model.Some[int64](0)},
			want:  Want{Delivered: model.Some[int64](19)}, without: "limit 20",
		},
		{
			name: "nothing is to come back", version: four, queue: model.Queue{
				Type: model.Quorum, Consumers: model.Some[int64](0),
			}, want: Want{ForAction: true, Limit: 50, TakesAll: true, Delivered: model.Some[int64](20)},
			without: "looks left",
		},
		{
			name: "read-only: no agreement is possible", version: four,
			queue:   model.Queue{Type: model.Quorum, Consumers: model.Some[int64](0)},
			want:    Want{Delivered: model.Some[int64](18), Insist: true, ReadOnly: true},
			refusal: "2 looks left of 20 (default)",
		},
		{
			name: "action", version: four, queue: model.Queue{Type: model.Quorum, Consumers: model.Some[int64](0)},
			want: Want{ForAction: true, Limit: 100_000}, limit: 100_000, page: MaxPage, cost: lookUsesLimit,
		},
	}
	for _, test := range cases {
		t.Run(test.name, func(t *testing.T) {
			test.queue.QueueRef = build.Ref("q")
			p := OfQueue(&test.queue, test.settings, model.BehaviourOf(model.ParseVersion(test.version)), test.want)
			bytes := int64(512 << 20)
			if test.want.ForAction {
				bytes = 64 << 20
			}
			or := func(n, otherwise int) int {
				if n == 0 {
					return otherwise
				}
				return n
			}
			if test.method == "" {
				test.method = Consume
			}
			if test.release == "" {
				test.release = ReleaseClose
				if test.queue.Type == model.Quorum {
					test.release = ReleaseNack
				}
			}
			assert.That(t, p.Method == test.method && p.Release == test.release && p.Priority == test.priority,
				"%s, %s, priority %d", p.Method, p.Release, p.Priority)
			final := test.refusal != "" && test.override == ""
			assert.That(t, p.Limit == or(test.limit, 50) && p.Page == or(test.page, 50) || final,
				"limit %d, page %d", p.Limit, p.Page)
			assert.That(t, strings.Contains(p.Cost, test.cost) && (test.without == "" ||
				!strings.Contains(p.Cost, test.without)), "cost: %s", p.Cost)
			assert.That(t, p.Allowed() == (test.refusal == "") && strings.Contains(p.Refusal.Words(), test.refusal),
				"refusal: %s", p.Refusal.Words())
			assert.That(t, p.Refusal.Overridable() == (test.override != "") && strings.Contains(p.Refusal.Override(),
				test.override), "override: %s", p.Refusal.Override())
			assert.That(t, p.Queue == build.Ref("q") && p.Type == test.queue.Type && p.MaxBytes == bytes &&
				p.Timeout == 10*time.Second, "%+v", p)
		})
	}
}

func TestPlanPeekTakesWhatIsAsked(t *testing.T) {
	want := Want{Limit: 70_000, MaxBytes: 1 << 20, Timeout: time.Second}
	p := OfQueue(&model.Queue{QueueRef: build.Ref("q"), Type: model.Classic}, model.Settings{},
		model.BehaviourOf(model.Version{}), want)
	assert.That(t, p.Limit == 70_000 && p.Page == MaxPage && p.MaxBytes == 1<<20 && p.Timeout == time.Second, "%+v", p)
}

// Which queues may be peeked at without being asked to, and which may not.
func TestWhatMayBeLookedAtWithoutBeingAsked(t *testing.T) {
	limit := model.Settings{DeliveryLimit: model.Setting[int64]{
		Value: 50, Set: true, Source: model.Source{Kind: model.FromArgument},
	}}
	full := model.Settings{MaxLength: model.Setting[int64]{Value: 9, Set: true}}
	lease := model.Settings{Expires: model.Setting[time.Duration]{Value: time.Hour, Set: true}}
	none := model.Some[int64](0)
	for _, c := range []struct {
		name, version string
		queue         model.Queue
		settings      model.Settings
		free          bool
	}{
		{"classic", "3.10.8", model.Queue{Type: model.Classic, Consumers: none}, model.Settings{}, true},
		{
			"classic beside consumers", "4.0.5",
			model.Queue{Type: model.Classic, Consumers: model.Some[int64](2)},
			model.Settings{},
			true,
		},
		{"classic that drops its oldest", "4.0.5", model.Queue{Type: model.Classic, Consumers: none}, full, false},
		{"classic that is deleted when unused", "4.0.5", model.Queue{Type: model.Classic, Consumers: none}, lease, false},
		{"stream", "4.0.5", model.Queue{Type: model.Stream}, model.Settings{}, true},
		{"quorum before 4.0", "3.10.8", model.Queue{Type: model.Quorum, Consumers: none}, model.Settings{}, false},
		{"quorum 4.0", "4.0.5", model.Queue{Type: model.Quorum, Consumers: none}, model.Settings{}, false},
		{"quorum 4.2 with a limit", "4.2.1", model.Queue{Type: model.Quorum, Consumers: none}, limit, false},
		{"quorum 4.3", "4.3.6", model.Queue{Type: model.Quorum, Consumers: none}, limit, true},
		{
			"quorum 4.3, single active consumer", "4.3.6",
			model.Queue{Type: model.Quorum, Consumers: none, SingleActive: true},
			model.Settings{},
			false,
		},
		{"quorum, unknown version", "?", model.Queue{Type: model.Quorum, Consumers: none}, model.Settings{}, false},
		{"unknown type", "4.0.5", model.Queue{Type: "odd", Consumers: none}, model.Settings{}, false},
		{"refused", "4.0.5", model.Queue{Type: model.Classic, OwnedByAnother: true}, model.Settings{}, false},
	} {
		c.queue.QueueRef = build.Ref("q")
		b := model.BehaviourOf(model.ParseVersion(c.version))
		p := OfQueue(&c.queue, c.settings, b, Want{})
		assert.That(t, p.Free == c.free, "%s: free is %v: %s", c.name, p.Free, p.Cost)
	}
}
