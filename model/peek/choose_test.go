package peek

import (
	"cmp"
	"strings"
	"testing"
	"time"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/build"
)

var (
	idle    = build.Consumers(0)
	single  = func(q *model.Queue) { q.SingleActive = true }
	another = func(q *model.Queue) { q.OwnedByAnother = true }
)

// queueOf is a queue with unknown consumers, unless the settings say otherwise.
func queueOf(kind model.QueueType, settings ...build.Setting) model.Queue {
	q := model.Queue{QueueRef: build.Ref("q"), Type: kind}
	for _, set := range settings {
		set(&q)
	}
	return q
}

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
	bounded := func(overflow string) model.Settings {
		return model.Settings{
			MaxLength: model.Setting[int64]{Value: 10, Set: true},
			Overflow:  model.Setting[string]{Value: overflow, Set: true},
		}
	}
	lease := model.Settings{Expires: model.Setting[time.Duration]{Value: 30 * time.Minute, Set: true}}
	large := func(ready, bytes int64) model.Queue {
		return queueOf(model.Classic, idle, build.Ready(ready), func(q *model.Queue) { q.ReadyBytes = model.Some(bytes) })
	}
	exclusive := func(q *model.Queue) { q.ExclusiveHeld = true }
	autoDelete := func(q *model.Queue) { q.AutoDelete = true }
	delivered := model.Some[int64]
	const usesLimit, toTheEnd = "each look uses 1 of the delivery limit 20 (default)", "move to the end of the queue"
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
			name: "classic", version: old, queue: queueOf(model.Classic, idle),
			cost: "order kept, messages become marked as redelivered", without: "limit",
		},
		{
			name: "classic beside consumers", version: four, queue: queueOf(model.Classic, build.Consumers(2)),
			priority: -10, cost: "only messages that they leave are seen",
		},
		{
			name: "classic, consumers unknown", version: fourThree, queue: queueOf(model.Classic), priority: -10,
			without: "only messages that they leave",
		},
		{
			name: "quorum before 4.0", version: old, queue: queueOf(model.Quorum, idle), release: ReleaseClose,
			cost: "each look adds 1 to x-delivery-count",
		},
		{
			name: "quorum before 4.0 with a limit", version: old, queue: queueOf(model.Quorum),
			settings: limit(20), release: ReleaseClose, priority: -10, cost: "uses 1 of the delivery limit 20 (argument)",
		},
		{name: "quorum 4.0", version: four, queue: queueOf(model.Quorum, idle), cost: usesLimit},
		{name: "quorum 4.2", version: "4.2.1", queue: queueOf(model.Quorum, idle), cost: usesLimit},
		{
			name: "quorum 4.0 without limit", version: four, queue: queueOf(model.Quorum), settings: limit(-1),
			priority: -10, cost: "x-delivery-count", without: "compared",
		},
		{
			name: "quorum 4.3", version: fourThree, queue: queueOf(model.Quorum, idle), cost: "marked as redelivered",
			without: "each look",
		},
		{
			name: "quorum, unknown version", version: "?", queue: queueOf(model.Quorum), release: ReleaseClose,
			priority: -10, cost: usesLimit,
		},
		{
			name: "quorum with an exclusive consumer, which means nothing there", version: four,
			queue: queueOf(model.Quorum, exclusive, build.Consumers(1)), priority: -10,
		},
		{
			name: "negative limit on 3.x", version: old, queue: queueOf(model.Quorum), settings: limit(-1),
			release: ReleaseClose, priority: -10, refusal: "delivery limit is -1", override: toTheEnd,
		},
		{
			name: "negative limit on 3.x, insisting", version: old, queue: queueOf(model.Quorum), settings: limit(-1),
			want: Want{Insist: true}, release: ReleaseClose, priority: -10, cost: toTheEnd,
		},
		{
			name: "scarce limit", version: four, queue: queueOf(model.Quorum), settings: limit(2), priority: -10,
			refusal: "2 looks left of 2 (argument)", override: toTheEnd,
		},
		{
			name: "scarce limit from 4.3", version: fourThree, queue: queueOf(model.Quorum), settings: limit(2),
			priority: -10,
		},
		{
			name: "delayed retry", version: fourThree, queue: queueOf(model.Quorum), settings: retry("all"),
			priority: -10, refusal: "delayed retry (all)", override: "only after the delay",
		},
		{
			name: "delayed retry of returned", version: fourThree, queue: queueOf(model.Quorum),
			settings: retry("returned"), priority: -10, refusal: "delayed retry", override: "delay",
		},
		{
			name: "delayed retry of failed only", version: fourThree, queue: queueOf(model.Quorum),
			settings: retry("failed"), priority: -10,
		},
		{name: "stream", version: four, queue: queueOf(model.Stream), method: Stream, cost: "nothing"},
		{
			name: "action on a stream", version: four, queue: queueOf(model.Stream),
			want: Want{ForAction: true, Limit: 50}, method: Stream, refusal: "messages stay in it",
		},
		{
			name: "auto-delete", version: old, queue: queueOf(model.Classic, autoDelete), method: Get,
			cost: "deleted with its last consumer",
		},
		{
			name: "auto-delete beside consumers", version: old,
			queue: queueOf(model.Classic, autoDelete, build.Consumers(1)), method: Get, cost: "one by one",
		},
		{
			name: "exclusive to another connection", version: old, queue: queueOf(model.Classic, another),
			want: Want{Insist: true}, refusal: "exclusive to another connection",
		},
		{
			name: "exclusive consumer", version: old, queue: queueOf(model.Classic, exclusive),
			method: Get, cost: "exclusive access",
		},
		{name: "classic SAC without a consumer", version: old, queue: queueOf(model.Classic, single, idle), method: Get},
		{
			name: "classic SAC with a consumer", version: old, queue: queueOf(model.Classic, single, build.Consumers(1)),
			method: Get, refusal: "one is attached", override: "out of their order",
		},
		{
			name: "classic SAC with a consumer, insisting", version: old,
			queue: queueOf(model.Classic, single, build.Consumers(1)), want: Want{Insist: true}, method: Get,
			cost: "out of their order",
		},
		{
			name: "quorum SAC without a consumer", version: four, queue: queueOf(model.Quorum, single, idle),
			priority: -10, cost: "dlxtop is the active consumer",
		},
		{
			name: "quorum SAC with a consumer", version: four, queue: queueOf(model.Quorum, single, build.Consumers(1)),
			want: Want{Insist: true}, priority: -10, refusal: "refuses basic.get",
		},
		{
			name: "quorum SAC, consumers unknown", version: four, queue: queueOf(model.Quorum, single),
			priority: -10, refusal: "one is attached",
		},
		{
			name: "unknown type", version: four, queue: queueOf("x-new", idle), refusal: `type "x-new"`,
			override: "classic",
		},
		{
			name: "bounded", version: old, queue: queueOf(model.Classic, idle), settings: bounded("drop-head"),
			cost: "push out the held ones",
		},
		{
			name: "bounded, but refusing", version: old, queue: queueOf(model.Classic, idle),
			settings: bounded("reject-publish"), without: "push",
		},
		{
			name: "lease", version: old, queue: queueOf(model.Classic, idle), settings: lease,
			cost: "deleted when unused for 30m",
		},
		{
			name: "large messages", version: old, queue: large(100, 1000<<20), want: Want{Limit: 100}, limit: 51, page: 51,
			cost: "only 51 at a time: they have 10MB on average, and at most 512MB are read",
		},
		{
			name: "giant messages", version: old, queue: large(3, 3000<<20), limit: 1, page: 1,
			cost: "only 1 at a time",
		},
		{name: "few large messages", version: old, queue: large(3, 300<<20), page: 5, without: "at a time"},
		{
			name: "action on large messages", version: old, queue: large(100, 1000<<20),
			want: Want{ForAction: true, Limit: 100}, limit: 100, page: 6, cost: "the others return in order",
			without: "at a time",
		},
		{
			name: "quorum, some of the limit is used", version: four, queue: queueOf(model.Quorum, idle),
			want: Want{Delivered: delivered(17)}, cost: "3 looks left of 20 (default), and this uses 1",
		},
		{
			name: "quorum, the limit is nearly used up", version: four, queue: queueOf(model.Quorum, idle),
			want: Want{Delivered: delivered(18)}, refusal: "2 looks left of 20 (default)", override: toTheEnd,
		},
		{
			name: "quorum, whatever was delivered counts nothing", version: fourThree, queue: queueOf(model.Quorum, idle),
			want: Want{Delivered: delivered(19)}, without: "limit 20",
		},
		{
			name: "nothing is to come back", version: four, queue: queueOf(model.Quorum, idle),
			want:    Want{ForAction: true, Limit: 50, TakesAll: true, Delivered: delivered(20)},
			without: "looks left",
		},
		{
			name: "read-only: no agreement is possible", version: four, queue: queueOf(model.Quorum, idle),
			want:    Want{Delivered: delivered(18), Insist: true, ReadOnly: true},
			refusal: "2 looks left of 20 (default)",
		},
		{
			name: "action", version: four, queue: queueOf(model.Quorum, idle),
			want: Want{ForAction: true, Limit: 100_000}, limit: 100_000, page: MaxPage, cost: usesLimit,
		},
	}
	for _, test := range cases {
		t.Run(test.name, func(t *testing.T) {
			p := OfQueue(&test.queue, test.settings, model.BehaviourOf(model.ParseVersion(test.version)), test.want)
			bytes := int64(512 << 20)
			if test.want.ForAction {
				bytes = 64 << 20
			}
			release := ReleaseClose
			if test.queue.Type == model.Quorum {
				release = ReleaseNack
			}
			assert.That(t, p.Method == cmp.Or(test.method, Consume) && p.Release == cmp.Or(test.release, release) &&
				p.Priority == test.priority, "%s, %s, priority %d", p.Method, p.Release, p.Priority)
			final := test.refusal != "" && test.override == ""
			assert.That(t, p.Limit == cmp.Or(test.limit, 50) && p.Page == cmp.Or(test.page, 50) || final,
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
	none := model.Settings{}
	for _, c := range []struct {
		name, version string
		queue         model.Queue
		settings      model.Settings
		free          bool
	}{
		{"classic", "3.10.8", queueOf(model.Classic, idle), none, true},
		{"classic beside consumers", "4.0.5", queueOf(model.Classic, build.Consumers(2)), none, true},
		{"classic that drops its oldest", "4.0.5", queueOf(model.Classic, idle), full, false},
		{"classic that is deleted when unused", "4.0.5", queueOf(model.Classic, idle), lease, false},
		{"stream", "4.0.5", queueOf(model.Stream), none, true},
		{"quorum before 4.0", "3.10.8", queueOf(model.Quorum, idle), none, false},
		{"quorum 4.0", "4.0.5", queueOf(model.Quorum, idle), none, false},
		{"quorum 4.2 with a limit", "4.2.1", queueOf(model.Quorum, idle), limit, false},
		{"quorum 4.3", "4.3.6", queueOf(model.Quorum, idle), limit, true},
		{"quorum 4.3, single active consumer", "4.3.6", queueOf(model.Quorum, idle, single), none, false},
		{"quorum, unknown version", "?", queueOf(model.Quorum, idle), none, false},
		{"unknown type", "4.0.5", queueOf("odd", idle), none, false},
		{"refused", "4.0.5", queueOf(model.Classic, another), none, false},
	} {
		p := OfQueue(&c.queue, c.settings, model.BehaviourOf(model.ParseVersion(c.version)), Want{})
		assert.That(t, p.Free == c.free, "%s: free is %v: %s", c.name, p.Free, p.Cost)
	}
}
