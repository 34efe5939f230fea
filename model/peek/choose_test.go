package peek

import (
	"cmp"
	"math"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/build"
)

var (
	idle    = build.Consumers(0)
	single  = func(q *model.Queue) { q.SingleActive = true }
	another = func(q *model.Queue) { q.OwnedByAnother = true }
)

// queueOf returns a queue with unknown consumers, unless the settings say otherwise.
func queueOf(kind model.QueueType, settings ...build.Setting) model.Queue {
	q := model.Queue{QueueRef: build.Ref("q"), Type: kind}
	for _, set := range settings {
		set(&q)
	}
	return q
}

// described returns a queue of looks.toml with its settings, by words: its type, and then what it has.
func described(text string) (q model.Queue, s model.Settings) {
	words := strings.Fields(text)
	q = queueOf(model.QueueType(words[0]))
	for _, word := range words[1:] {
		name, value, _ := strings.Cut(word, "=")
		n, _ := strconv.ParseInt(value, 10, 64) // 0 where the value is a text

		switch name {
		case "consumers":
			q.Consumers = model.Some(n)
		case "ready":
			q.Ready = model.Some(n)
		case "bytes":
			q.ReadyBytes = model.Some(n)
		case "exclusive":
			q.OwnedByAnother = true
		case "exclusive-consumer":
			q.ExclusiveHeld = true
		case "single-active":
			q.SingleActive = true
		case "auto-delete":
			q.AutoDelete = true

		case "delivery-limit":
			from := model.Source{Kind: model.FromArgument}
			s.DeliveryLimit = model.Setting[int64]{Value: n, Set: true, Source: from}
		case "delayed-retry":
			from := model.Source{Kind: model.FromPolicy, Name: "retry"}
			s.DelayedRetry = model.Setting[string]{Value: value, Set: true, Source: from}
		case "overflow":
			s.MaxLength = model.Setting[int64]{Value: 10, Set: true}
			s.Overflow = model.Setting[string]{Value: value, Set: true}
		case "lease":
			s.Expires = model.Setting[time.Duration]{Value: 30 * time.Minute, Set: true}
		default:
			panic("an unknown word: " + word)
		}
	}

	return q, s
}

type expectedLook struct {
	Name      string
	Version   string
	Queue     string
	Want      Want
	Delivered int64 // 0: not known

	Method   Method
	Release  Release
	Priority int
	Limit    int    // 50 when 0
	Page     int    // 50 when 0
	Cost     string // contains it
	Without  string // does not contain it
	Refusal  string // contains it; "": allowed
	Override string // contains it; "": final
}

func TestPlanPeek(t *testing.T) {
	for _, test := range must.Cases[expectedLook](t, "testdata/looks.toml") {
		t.Run(test.Name, func(t *testing.T) {
			queue, settings := described(test.Queue)
			if test.Delivered > 0 {
				test.Want.Delivered = model.Some(test.Delivered)
			}

			p := OfQueue(&queue, settings, model.BehaviourOf(model.ParseVersion(test.Version)), test.Want)
			bytes := int64(512 << 20)
			if test.Want.ForAction {
				bytes = 64 << 20
			}

			release := ReleaseClose
			if queue.Type == model.Quorum {
				release = ReleaseNack
			}

			assert.Equal(t, p.Method, cmp.Or(test.Method, Consume))
			assert.Equal(t, p.Release, cmp.Or(test.Release, release))
			assert.Equal(t, p.Priority, test.Priority)
			final := test.Refusal != "" && test.Override == ""
			assert.That(t, p.Limit == cmp.Or(test.Limit, 50) && p.Page == cmp.Or(test.Page, 50) || final,
				"limit %d, page %d", p.Limit, p.Page)
			assert.Contains(t, p.Cost, test.Cost)
			assert.That(t, test.Without == "" || !strings.Contains(p.Cost, test.Without), "cost: %s", p.Cost)
			assert.Equal(t, p.Allowed(), test.Refusal == "", "refusal: %s", p.Refusal.Words())
			assert.Contains(t, p.Refusal.Words(), test.Refusal)
			assert.Equal(t, p.Refusal.Overridable(), test.Override != "", "override: %s", p.Refusal.Override())
			assert.Contains(t, p.Refusal.Override(), test.Override)
			assert.Equal(t, p.Queue, build.Ref("q"))
			assert.Equal(t, p.Type, queue.Type)
			assert.Equal(t, p.MaxBytes, bytes)
			assert.Equal(t, p.Timeout, 10*time.Second)
		})
	}
}

func TestPlanPeekTakesWhatIsAsked(t *testing.T) {
	want := Want{Limit: 70_000, MaxBytes: 1 << 20, Timeout: time.Second}
	p := OfQueue(&model.Queue{QueueRef: build.Ref("q"), Type: model.Classic}, model.Settings{},
		model.BehaviourOf(model.Version{}), want)
	assert.Equal(t, p.Limit, 70_000)
	assert.Equal(t, p.Page, MaxPage)
	assert.Equal(t, p.MaxBytes, 1<<20)
	assert.Equal(t, p.Timeout, time.Second)
}

// Which queues may be peeked at without being asked to, and which may not.
func TestWhatMayBeLookedAtWithoutBeingAsked(t *testing.T) {
	limit := model.Settings{DeliveryLimit: model.Setting[int64]{
		Value: 50, Set: true, Source: model.Source{Kind: model.FromArgument},
	}}
	full := model.Settings{MaxLength: model.Setting[int64]{Value: 9, Set: true}}
	lease := model.Settings{Expires: model.Setting[time.Duration]{Value: time.Hour, Set: true}}

	none, unlimited := model.Settings{}, limit
	unlimited.DeliveryLimit.Value = -1
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
		{"quorum before 4.0", "3.10.8", queueOf(model.Quorum, idle), none, true},
		{"quorum before 4.0 beside consumers", "3.10.8", queueOf(model.Quorum, build.Consumers(1)), none, false},

		{"quorum before 4.0 with a limit", "3.10.8", queueOf(model.Quorum, idle), limit, false},
		{"quorum before 4.0 that drops", "3.10.8", queueOf(model.Quorum, idle), unlimited, false},
		{"quorum 4.0 without a limit", "4.0.5", queueOf(model.Quorum, idle), unlimited, true},
		{"quorum 4.0 unlimited, consumers", "4.0.5", queueOf(model.Quorum, build.Consumers(1)), unlimited, false},
		{"quorum 4.0 without a limit, consumers unknown", "4.0.5", queueOf(model.Quorum), unlimited, false},
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

// An application may read the count of returns in a worker's queue, so a look there is not free, whatever the limit is.
func TestUnlimitedLooksAtAWorker(t *testing.T) {
	topology := build.TopologyOf("4.0.5", build.Exchange("fanout", "dlx"),
		build.Quorum("failed", build.DeliveryLimit(-1), idle), build.Bind("dlx", "", "failed"),
		build.Quorum("orders", build.DLX("dlx"), build.DeliveryLimit(-1), idle))
	for name, free := range map[string]bool{"failed": true, "orders": false} {
		p := For(topology, build.Ref(name), Want{})
		assert.That(t, p.Free == free, "%s: free is %v: %s", name, p.Free, p.Cost)
	}
}

// A look that uses up a delivery limit takes all for the same price, unless fewer were asked for.
func TestALookWithALimitTakesAll(t *testing.T) {
	for _, c := range []struct {
		name, version string
		want          Want
		limit         int
	}{
		{"4.0", "4.0.5", Want{Limit: 500, Whole: true}, MostLook},
		{"4.0, fewer", "4.0.5", Want{Limit: 500}, 500},
		{"4.0, for an action", "4.0.5", Want{Limit: 500, Whole: true, ForAction: true}, 500},
		{"4.3", "4.3.6", Want{Limit: 500, Whole: true}, 500},
	} {
		q := queueOf(model.Quorum, idle)
		p := OfQueue(&q, model.Settings{}, model.BehaviourOf(model.ParseVersion(c.version)), c.want)
		assert.That(t, p.Limit == c.limit, "%s: it takes %d", c.name, p.Limit)
	}
}

// What begins by itself, by what the user has agreed to and what is left of a delivery limit.
func TestConsent(t *testing.T) {
	full := model.Settings{MaxLength: model.Setting[int64]{Value: 9, Set: true}}
	unknown := model.Opt[int64]{}
	used := model.Some[int64]

	for _, c := range []struct {
		name      string
		consent   Consent
		version   string
		delivered model.Opt[int64]
		settings  model.Settings
		begins    bool
		most      int64 // the highest count at which it goes on
	}{
		{"not asked yet", Unasked, "4.0.5", unknown, model.Settings{}, false, 17},
		{"ask", AskEach, "4.0.5", unknown, model.Settings{}, false, 17},
		{"half, not looked at yet", WhileHalf, "4.0.5", unknown, model.Settings{}, true, 9},
		{"half, 11 left", WhileHalf, "4.0.5", used(9), model.Settings{}, true, 9},
		{"half, 10 left", WhileHalf, "4.0.5", used(10), model.Settings{}, false, 9},
		{"always, 10 left", Always, "4.0.5", used(10), model.Settings{}, true, 17},
		{"always, 2 left", Always, "4.0.5", used(18), model.Settings{}, false, 17},
		{"always, but messages can be lost", Always, "4.0.5", unknown, full, false, 17},
		{"free", AskEach, "4.3.6", unknown, model.Settings{}, true, math.MaxInt64},
	} {
		q := queueOf(model.Quorum, idle)
		p := OfQueue(&q, c.settings, model.BehaviourOf(model.ParseVersion(c.version)), Want{Delivered: c.delivered})
		p, begins := c.consent.Begins(p)
		assert.Equal(t, begins, c.begins, "%s: it begins: %v, up to %d", c.name, begins, p.MostCounted())
		assert.Equal(t, p.MostCounted(), c.most, "%v", c.name)
	}
}

func TestConsentOf(t *testing.T) {
	for word, good := range map[string]bool{
		"": true, "ask": true, "half": true, "always": true, "Half": false, "never": false, "half\x1b[2J": false,
	} {
		c, err := ConsentOf(word)
		assert.Equal(t, err == nil, good, "%q is %q: %v", word, c, err)
		assert.That(t, !good || string(c) == word, "%q is %q: %v", word, c, err)
		if err != nil {
			build.CheckError(t, err)
			assert.That(t, strings.Contains(err.Error(), `"ask", "half" or "always"`), "%v", err)
		}
	}
}

// A look that began by itself stops at half of the limit, and does not offer to go on.
func TestALookByItselfStopsAtHalf(t *testing.T) {
	q := queueOf(model.Quorum, idle)
	p := OfQueue(&q, model.Settings{}, model.BehaviourOf(model.ParseVersion("4.0.5")), Want{})
	p, _ = WhileHalf.Begins(p)
	reached := p.Weigh(10)
	must.That(t, reached != nil, "it goes on")
	assert.Equal(t, reached.Error(), "10 looks left of 20: looks begin by themselves only while more than half are left")
	assert.That(t, !reached.Refusal().Overridable(), "it offers to go on")
	assert.That(t, p.Weigh(18).Refusal().Overridable(), "with 2 left it does not offer to rescue")
}
