package peek

import (
	"cmp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/build"
)

var idle = build.Consumers(0)

// queueOf returns a queue with unknown consumers, unless the settings say otherwise.
func queueOf(kind model.QueueType, settings ...build.Setting) model.Queue {
	q := model.Queue{QueueRef: build.Ref("q"), Type: kind}
	for _, set := range settings {
		set(&q)
	}
	return q
}

// described returns a queue of a file of cases with its settings, by words: its type, and then what it has.
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
			s.DelayedRetry.Type = model.Setting[string]{Value: value, Set: true, Source: from}
			s.DelayedRetry.Min.Value, s.DelayedRetry.Max.Value = time.Second, time.Minute
		case "max-length":
			s.MaxLength = model.Setting[int64]{Value: n, Set: true}
		case "overflow":
			s.MaxLength = model.Setting[int64]{Value: 10, Set: true}
			s.Overflow = model.Setting[string]{Value: value, Set: true}
		case "dlx":
			s.DLX = model.Setting[string]{Value: value, Set: true}
		case "priorities":
			q.Priorities = model.Some(n)
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
	must.Run(t, "testdata/looks.toml", func(t *testing.T, test expectedLook) {
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
	type expected struct {
		Name, Version, Queue string
		Free                 bool
	}

	for _, c := range must.Cases[expected](t, "testdata/free.toml") {
		queue, settings := described(c.Queue)
		p := OfQueue(&queue, settings, model.BehaviourOf(model.ParseVersion(c.Version)), Want{})
		assert.That(t, p.Free == c.Free, "%s: free is %v: %s", c.Name, p.Free, p.Cost)
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
	type expected struct {
		Name      string
		Consent   Consent
		Version   string
		Queue     string
		Delivered int64 // 0: not known
		Begins    bool
		Most      int64 // the highest count at which it goes on
	}

	for _, c := range must.Cases[expected](t, "testdata/consent.toml") {
		var want Want
		if c.Delivered > 0 {
			want.Delivered = model.Some(c.Delivered)
		}

		queue, settings := described(c.Queue)
		p := OfQueue(&queue, settings, model.BehaviourOf(model.ParseVersion(c.Version)), want)
		p, begins := c.Consent.Begins(p)
		assert.Equal(t, begins, c.Begins, "%s: it begins: %v, up to %d", c.Name, begins, p.MostCounted())
		assert.Equal(t, p.MostCounted(), c.Most, "%v", c.Name)
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
