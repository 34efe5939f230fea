package model

import (
	"strings"
	"testing"
	"time"
)

func TestPlanPeek(t *testing.T) {
	const old, four, fourThree = "3.10.8", "4.0.5", "4.3.6"
	limit := func(n int64) Settings {
		return Settings{DeliveryLimit: Setting[int64]{n, true, Source{Kind: FromArgument}}}
	}
	retry := func(kind string) Settings {
		return Settings{DelayedRetry: Setting[string]{kind, true, Source{FromPolicy, "retry"}}}
	}
	lookUsesLimit := "each look adds 1 to the count that is compared with the limit 20 (default)"
	cases := []struct {
		name     string
		version  string
		queue    Queue
		settings Settings
		want     PeekWant

		method   PeekMethod
		release  Release
		priority int
		limit    int    // 50 when 0
		page     int    // 50 when 0
		cost     string // is a part of it
		without  string // is no part of it
		refusal  string // is a part of it; "" is allowed
		override string // is a part of it; "" is final
	}{
		{name: "classic", version: old, queue: Queue{Type: Classic, Consumers: Some[int64](0)}, cost: "back in their order, marked redelivered", without: "limit"},
		{name: "classic beside consumers", version: four, queue: Queue{Type: Classic, Consumers: Some[int64](2)}, priority: -10, cost: "only what they leave is seen"},
		{name: "classic, consumers unknown", version: fourThree, queue: Queue{Type: Classic}, priority: -10, without: "only what they leave"},
		{name: "quorum before 4.0", version: old, queue: Queue{Type: Quorum, Consumers: Some[int64](0)}, release: ReleaseClose, cost: "each look adds 1 to x-delivery-count"},
		{name: "quorum before 4.0 with a limit", version: old, queue: Queue{Type: Quorum}, settings: limit(20), release: ReleaseClose, priority: -10, cost: "compared with the limit 20 (argument)"},
		{name: "quorum 4.0", version: four, queue: Queue{Type: Quorum, Consumers: Some[int64](0)}, cost: lookUsesLimit},
		{name: "quorum 4.2", version: "4.2.1", queue: Queue{Type: Quorum, Consumers: Some[int64](0)}, cost: lookUsesLimit},
		{name: "quorum 4.0 without limit", version: four, queue: Queue{Type: Quorum}, settings: limit(-1), priority: -10, cost: "x-delivery-count", without: "compared"},
		{name: "quorum 4.3", version: fourThree, queue: Queue{Type: Quorum, Consumers: Some[int64](0)}, cost: "marked redelivered", without: "each look"},
		{name: "quorum, unknown version", version: "?", queue: Queue{Type: Quorum}, release: ReleaseClose, priority: -10, cost: lookUsesLimit},
		{name: "quorum with an exclusive consumer, which means nothing there", version: four, queue: Queue{Type: Quorum, ExclusiveHeld: true, Consumers: Some[int64](1)}, priority: -10},
		{
			name: "negative limit on 3.x", version: old, queue: Queue{Type: Quorum}, settings: limit(-1), release: ReleaseClose, priority: -10,
			refusal: "delivery limit is -1", override: "dropped or dead-lettered",
		},
		{
			name: "negative limit on 3.x, insisting", version: old, queue: Queue{Type: Quorum}, settings: limit(-1), want: PeekWant{Insist: true}, release: ReleaseClose, priority: -10,
			cost: "every message that is looked at is dropped or dead-lettered",
		},
		{name: "scarce limit", version: four, queue: Queue{Type: Quorum}, settings: limit(2), priority: -10, refusal: "each look uses 1 of it", override: "dropped or dead-lettered"},
		{name: "scarce limit from 4.3", version: fourThree, queue: Queue{Type: Quorum}, settings: limit(2), priority: -10},
		{name: "delayed retry", version: fourThree, queue: Queue{Type: Quorum}, settings: retry("all"), priority: -10, refusal: "delayed retry (all)", override: "only after the delay"},
		{name: "delayed retry of returned", version: fourThree, queue: Queue{Type: Quorum}, settings: retry("returned"), priority: -10, refusal: "delayed retry", override: "delay"},
		{name: "delayed retry of failed only", version: fourThree, queue: Queue{Type: Quorum}, settings: retry("failed"), priority: -10},
		{name: "stream", version: four, queue: Queue{Type: Stream}, method: PeekStream, cost: "nothing"},
		{name: "action on a stream", version: four, queue: Queue{Type: Stream}, want: PeekWant{ForAction: true, Limit: 50}, method: PeekStream, refusal: "stays in it"},
		{name: "auto-delete", version: old, queue: Queue{Type: Classic, AutoDelete: true}, method: PeekGet, cost: "deleted with its last consumer"},
		{name: "auto-delete beside consumers", version: old, queue: Queue{Type: Classic, AutoDelete: true, Consumers: Some[int64](1)}, method: PeekGet, cost: "one by one"},
		{name: "exclusive to another connection", version: old, queue: Queue{Type: Classic, OwnedByAnother: true}, want: PeekWant{Insist: true}, refusal: "exclusive to another connection"},
		{name: "exclusive consumer", version: old, queue: Queue{Type: Classic, ExclusiveHeld: true}, method: PeekGet, cost: "exclusive access"},
		{name: "classic SAC without a consumer", version: old, queue: Queue{Type: Classic, SingleActive: true, Consumers: Some[int64](0)}, method: PeekGet},
		{
			name: "classic SAC with a consumer", version: old, queue: Queue{Type: Classic, SingleActive: true, Consumers: Some[int64](1)}, method: PeekGet,
			refusal: "one is attached", override: "out of their order",
		},
		{
			name: "classic SAC with a consumer, insisting", version: old, queue: Queue{Type: Classic, SingleActive: true, Consumers: Some[int64](1)}, want: PeekWant{Insist: true}, method: PeekGet,
			cost: "out of their order",
		},
		{name: "quorum SAC without a consumer", version: four, queue: Queue{Type: Quorum, SingleActive: true, Consumers: Some[int64](0)}, priority: -10, cost: "active consumer meanwhile"},
		{name: "quorum SAC with a consumer", version: four, queue: Queue{Type: Quorum, SingleActive: true, Consumers: Some[int64](1)}, want: PeekWant{Insist: true}, priority: -10, refusal: "refuses basic.get"},
		{name: "quorum SAC, consumers unknown", version: four, queue: Queue{Type: Quorum, SingleActive: true}, priority: -10, refusal: "one is attached"},
		{name: "unknown type", version: four, queue: Queue{Type: "x-new", Consumers: Some[int64](0)}, refusal: `type "x-new"`, override: "classic"},
		{
			name: "bounded", version: old, queue: Queue{Type: Classic, Consumers: Some[int64](0)},
			settings: Settings{MaxLength: Setting[int64]{10, true, Source{}}, Overflow: Setting[string]{"drop-head", true, Source{}}}, cost: "push the held ones out",
		},
		{
			name: "bounded, but refusing", version: old, queue: Queue{Type: Classic, Consumers: Some[int64](0)},
			settings: Settings{MaxLength: Setting[int64]{10, true, Source{}}, Overflow: Setting[string]{"reject-publish", true, Source{}}}, without: "push",
		},
		{
			name: "lease", version: old, queue: Queue{Type: Classic, Consumers: Some[int64](0)},
			settings: Settings{Expires: Setting[time.Duration]{30 * time.Minute, true, Source{}}}, cost: "deleted when unused for 30m",
		},
		{
			name: "large messages", version: old, queue: Queue{Type: Classic, Consumers: Some[int64](0), Ready: Some[int64](100), ReadyBytes: Some[int64](1000 << 20)},
			want: PeekWant{Limit: 100}, limit: 51, page: 51, cost: "only 51 at a time: they have 10MB on average, and at most 512MB are read",
		},
		{
			name: "giant messages", version: old, queue: Queue{Type: Classic, Consumers: Some[int64](0), Ready: Some[int64](3), ReadyBytes: Some[int64](3000 << 20)},
			limit: 1, page: 1, cost: "only 1 at a time",
		},
		{
			name: "few large messages", version: old, queue: Queue{Type: Classic, Consumers: Some[int64](0), Ready: Some[int64](3), ReadyBytes: Some[int64](300 << 20)},
			page: 5, without: "at a time",
		},
		{
			name: "action on large messages", version: old, queue: Queue{Type: Classic, Consumers: Some[int64](0), Ready: Some[int64](100), ReadyBytes: Some[int64](1000 << 20)},
			want: PeekWant{ForAction: true, Limit: 100}, limit: 100, page: 6, cost: "what is not chosen goes back", without: "at a time",
		},
		{
			name: "quorum, some of the limit is used", version: four, queue: Queue{Type: Quorum, Consumers: Some[int64](0)}, want: PeekWant{Delivered: Some[int64](17)},
			cost: "compared with the limit 20 (default): the next one leaves 2",
		},
		{
			name: "quorum, the limit is nearly used up", version: four, queue: Queue{Type: Quorum, Consumers: Some[int64](0)}, want: PeekWant{Delivered: Some[int64](18)},
			refusal: "2 of the delivery limit 20 (default) are left to a message of it", override: "dropped or dead-lettered by the look",
		},
		{
			name: "quorum, whatever was delivered counts nothing", version: "4.3.6", queue: Queue{Type: Quorum, Consumers: Some[int64](0)}, want: PeekWant{Delivered: Some[int64](19)},
			without: "limit 20",
		},
		{name: "action", version: four, queue: Queue{Type: Quorum, Consumers: Some[int64](0)}, want: PeekWant{ForAction: true, Limit: 100_000}, limit: 100_000, page: MaxPage, cost: lookUsesLimit},
	}
	for _, test := range cases {
		t.Run(test.name, func(t *testing.T) {
			test.queue.QueueRef = ref("q")
			p := PlanPeek(&test.queue, test.settings, BehaviourOf(ParseVersion(test.version)), test.want)
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
				test.method = PeekConsume
			}
			if test.release == "" {
				test.release = ReleaseClose
				if test.queue.Type == Quorum {
					test.release = ReleaseNack
				}
			}
			if p.Method != test.method || p.Release != test.release || p.Priority != test.priority {
				t.Errorf("%s, %s, priority %d", p.Method, p.Release, p.Priority)
			}
			final := test.refusal != "" && test.override == ""
			if (p.Limit != or(test.limit, 50) || p.Page != or(test.page, 50)) && !final {
				t.Errorf("limit %d, page %d", p.Limit, p.Page)
			}
			if !strings.Contains(p.Cost, test.cost) || test.without != "" && strings.Contains(p.Cost, test.without) {
				t.Errorf("cost: %s", p.Cost)
			}
			if p.Allowed() != (test.refusal == "") || !strings.Contains(p.Refusal, test.refusal) {
				t.Errorf("refusal: %s", p.Refusal)
			}
			if (p.Override == "") != (test.override == "") || !strings.Contains(p.Override, test.override) {
				t.Errorf("override: %s", p.Override)
			}
			if p.Queue != ref("q") || p.Type != test.queue.Type || p.MaxBytes != bytes || p.Timeout != 10*time.Second {
				t.Errorf("%+v", p)
			}
		})
	}
}

func TestPlanPeekTakesWhatIsAsked(t *testing.T) {
	want := PeekWant{Limit: 70_000, MaxBytes: 1 << 20, Timeout: time.Second}
	p := PlanPeek(&Queue{QueueRef: ref("q"), Type: Classic}, Settings{}, BehaviourOf(Version{}), want)
	if p.Limit != 70_000 || p.Page != MaxPage || p.MaxBytes != 1<<20 || p.Timeout != time.Second {
		t.Errorf("%+v", p)
	}
}
