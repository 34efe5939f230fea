package findings

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/build"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/model/peek"
)

func parts(all ...build.Part) []build.Part { return all }

func codes(findings []Finding) []string {
	var cs []string
	for _, f := range findings {
		cs = append(cs, fmt.Sprintf("%s %s %s", f.Level, f.Code, f.Queue))
	}
	return cs
}

func TestFindings(t *testing.T) {
	tests := []struct {
		name, version string
		want          string // the level, the code and the queue of each
		parts         []build.Part
	}{
		{"a missing DLX", "3.10.8", "error dlx-missing a", parts(build.Queue("a", build.DLX("nope"), build.TTL(1000)))},
		{
			"an unroutable key", "3.10.8", "error dead-letter-unroutable a",
			parts(build.Exchange("direct", "x"), build.Queue("a", build.DLX("x", "k"), build.TTL(1000))),
		},
		{
			"a missing DLX, and a queue that keeps its dead letters", "4.0.5", "warning dlx-missing a",
			parts(build.Queue("a", build.AtLeastOnce, build.DLX("nope"), build.TTL(1000))),
		},
		{
			"an unroutable key, and a queue that keeps its dead letters", "4.0.5", "warning dead-letter-unroutable a",
			parts(build.Exchange("direct", "x"), build.Queue("a", build.AtLeastOnce, build.DLX("x", "k"), build.TTL(1000))),
		},
		{
			"a default exchange with a wrong name", "3.10.8", "error dead-letter-unroutable a",
			parts(build.Buffer("a", "b", 1000, build.Consumers(1))),
		},
		{
			"an alternate exchange saves it", "3.10.8", "",
			parts(
				build.Exchange("direct", "x", "alternate-exchange", "y"), build.Exchange("fanout", "y"),
				build.Queue("b", build.Consumers(1)), build.Bind("y", "", "b"),
				build.Queue("a", build.DLX("x", "k"), build.TTL(1000)), build.Queue("b.failed"),
			),
		},
		{"TTL without DLX", "3.10.8", "warning ttl-without-dlx a", parts(build.Queue("a", build.TTL(1000)))},
		{
			"TTL without DLX, as far as known", "3.10.8", "",
			parts(build.Queue("a", build.TTL(1000), func(q *model.Queue) { q.PolicyDefinition = nil })),
		},
		{"a limit without DLX", "3.10.8", "warning limit-without-dlx a", parts(build.Queue("a", build.MaxLength(10)))},
		{"a limit that refuses", "3.10.8", "", parts(build.Queue("a", build.MaxLength(10), build.RejectPublish))},
		{
			"a delivery limit without DLX", "3.10.8", "warning delivery-limit-without-dlx a",
			parts(build.Quorum("a", build.DeliveryLimit(3))),
		},
		{"the default delivery limit", "4.0.5", "info delivery-limit-without-dlx a", parts(build.Quorum("a"))},
		{
			"what another delivery limit counted", "4.3.6",
			"warning delivery-count-carried w.failed; info failed-queue-forgets w.failed",
			parts(build.Quorum("w", build.DLX("", "w.failed")), build.Quorum("w.failed")),
		},
		{
			"what another delivery limit counted, within a higher one", "4.3.6", "warning failed-queue-forgets w.failed",
			parts(build.Quorum("w", build.DLX("", "w.failed")), build.Quorum("w.failed", build.DeliveryLimit(21))),
		},
		{
			"a worker that is down", "3.10.8", "warning worker-without-consumers w",
			append(parts(build.Queue("w.failed")), build.Queue("w"), build.Buffer("w.delay", "w", 1000)),
		},
		{
			"a worker that is down, with messages", "3.10.8", "error worker-without-consumers w",
			append(parts(build.Queue("w.failed")), build.Queue("w", build.Ready(3)), build.Buffer("w.delay", "w", 1000)),
		},
		{"rejects are lost", "3.10.8", "warning rejects-lost RetryQueue", build.ScenarioParts["retry-queue"]},
		{
			"retries that are not counted", "4.0.5", "warning republished-deaths-uncounted ucenter@user@retry",
			build.ScenarioParts["pubsub"],
		},
		{
			"retries that a framework counts in the messages", "4.0.5", "",
			append(
				parts(func(s *model.Snapshot) {
					s.Seen.Counted = map[model.QueueRef]bool{build.Ref("ucenter@user@retry"): true}
				}),
				build.ScenarioParts["pubsub"]...,
			),
		},
		{"retries that the broker counts", "3.10.8", "", build.ScenarioParts["pubsub"]},
		{
			"a buffer with consumers", "3.10.8", "warning buffer-with-consumers w.delay",
			parts(
				build.Queue("w", build.Consumers(1)), build.Queue("w.failed"),
				build.Buffer("w.delay", "w", 1000, build.Consumers(1)),
			),
		},
		{
			"a policy that is skipped", "3.10.8", "error policy-skipped a",
			parts(
				build.Exchange("fanout", "x"), build.Queue("a", build.Consumers(1)),
				build.UserPolicy("p", ".*", 1, model.Table{"delivery-limit": int64(3), "dead-letter-exchange": "x"}),
			),
		},
		{
			"a policy that is skipped for another", "3.10.8", "warning policy-skipped a",
			parts(
				build.Queue("a", build.Policy("q", model.Table{"max-length": int64(9), "overflow": "reject-publish"})),
				build.UserPolicy("p", "^a", 5, model.Table{"delivery-limit": int64(3)}),
				build.UserPolicy("q", "", 1, model.Table{"max-length": int64(9), "overflow": "reject-publish"}),
			),
		},
		{
			"a policy of lower priority", "3.10.8", "",
			parts(
				build.Queue("a", build.Policy("q", model.Table{"max-length": int64(9), "overflow": "reject-publish"})),
				build.UserPolicy("p", "^a", 0, model.Table{"delivery-limit": int64(3)}),
				build.UserPolicy("q", "", 1, model.Table{"max-length": int64(9)}),
			),
		},
		{
			"a policy for other types", "4.0.5", "",
			parts(build.Queue("a"), build.UserPolicy("p", ".*", 1, model.Table{"delivery-limit": int64(3)}, "quorum_queues")),
		},
		{
			"a policy with a pattern that cannot be read", "4.0.5", "",
			parts(build.Queue("a"), build.UserPolicy("p", "(?<!x)a[", 1, model.Table{"delivery-limit": int64(3)})),
		},
		{
			"an argument against the policy", "3.10.8", "info argument-shadows-policy a",
			parts(
				build.Exchange("fanout", "x"), build.Exchange("fanout", "y"), build.Queue("b", build.Consumers(1)),
				build.Bind("x", "", "b"),
				build.Queue("a", build.DLX("x"), build.Policy("p", model.Table{"dead-letter-exchange": "y"})),
				build.Queue("b.failed"),
			),
		},
		{"a key without DLX", "3.10.8", "warning key-without-dlx a", parts(build.Queue("a", build.DeadKey("k")))},
		{
			"at least once without its overflow", "4.0.5", "warning at-least-once-falls-back a",
			parts(
				build.Exchange("fanout", "x"), build.Queue("dead"), build.Bind("x", "", "dead"),
				build.Quorum("a", build.DLX("x"), build.Argument("x-dead-letter-strategy", "at-least-once")),
			),
		},
		{
			"at least once", "4.0.5", "",
			parts(
				build.Exchange("fanout", "x"), build.Queue("dead"), build.Bind("x", "", "dead"),
				build.Queue("a", build.AtLeastOnce, build.DLX("x")),
			),
		},
		{
			"a negative delivery limit on 3.x", "3.10.8", "error delivery-limit-negative a",
			parts(build.Quorum("a", build.DeliveryLimit(-1))),
		},
		{"a negative delivery limit on 4.x", "4.0.5", "", parts(build.Quorum("a", build.DeliveryLimit(-1)))},
		{
			"a buffer with a lease", "3.10.8", "info buffer-expires w.delay",
			parts(
				build.Queue("w", build.Consumers(1)), build.Queue("w.failed"),
				build.Buffer("w.delay", "w", 1000, build.Argument("x-expires", int64(60000))),
			),
		},
		{
			"a buffer with too short a lease", "3.10.8", "warning buffer-expires w.delay",
			parts(
				build.Queue("w", build.Consumers(1)), build.Queue("w.failed"),
				build.Buffer("w.delay", "w", 10000, build.Argument("x-expires", int64(10000))),
			),
		},
		{
			"a target that drops its head", "3.10.8", "warning limit-without-dlx w; warning target-drops-head w",
			parts(
				build.Queue("w", build.Consumers(1), build.MaxLength(5)), build.Queue("w.failed"),
				build.Buffer("w.delay", "w", 1000),
			),
		},
		{
			"dead letters that no queue takes", "4.0.5", "warning dead-letters-held a",
			parts(
				build.Exchange("fanout", "x"), build.Queue("dead"), build.Bind("x", "", "dead"),
				build.Quorum("a", build.DLX("x"), func(q *model.Queue) { q.DeadLettering = model.Some[int64](3) }),
			),
		},
		{
			"a failed queue with a TTL", "3.10.8", "warning failed-queue-forgets w.failed",
			parts(build.Queue("w", build.Consumers(1), build.DLX("", "w.failed")), build.Queue("w.failed", build.TTL(1000))),
		},
		{
			"a failed queue with the default delivery limit", "4.0.5", "info failed-queue-forgets w.failed",
			parts(build.Queue("w", build.Consumers(1), build.DLX("", "w.failed")), build.Quorum("w.failed")),
		},
		{
			"a circle of expiries", "3.10.8", "error cycle-cut a",
			parts(build.Buffer("a", "b", 1000), build.Buffer("b", "a", 1000)),
		},
		{
			"a circle of expiries that keeps what comes round", "4.3.6", "",
			parts(
				build.Queue("a", build.AtLeastOnce, build.DLX("", "b"), build.TTL(1000)),
				build.Queue("b", build.AtLeastOnce, build.DLX("", "a"), build.TTL(1000)),
			),
		},
		{
			"a circle of expiries that keeps some", "4.3.6", "error cycle-cut b",
			parts(build.Buffer("a", "b", 1000), build.Queue("b", build.AtLeastOnce, build.DLX("", "a"), build.TTL(1000))),
		},
		{
			"a way into a circle of expiries", "3.10.8", "error cycle-cut b",
			parts(build.Buffer("a", "b", 1000), build.Buffer("b", "c", 1000), build.Buffer("c", "b", 1000)),
		},
		{
			"a circle past a worker", "3.10.8", "info rejected-loop a",
			parts(build.Queue("a", build.DLX("", "b"), build.Consumers(1)), build.Buffer("b", "a", 1000)),
		},
		{
			"a circle of expiries past a worker", "3.10.8", "warning cycle-cut b; info rejected-loop b",
			parts(build.Buffer("a", "b", 1000), build.Buffer("b", "a", 1000, build.Consumers(1))),
		},
		{
			"messages that expire before a worker has had any", "4.0.5",
			"error worker-without-consumers a; warning cycle-cut b; info rejected-loop a",
			parts(
				build.Queue("a", build.DLX("", "b"), build.Counted(5, 0), build.Ready(2)),
				build.Buffer("b", "a", 1000, build.Ready(3)),
			),
		},
		{
			"a queue that dead-letters into itself, through a headers exchange", "4.0.5", "error dead-letters-return a",
			parts(
				build.Exchange("headers", "h"), build.Queue("a", build.DLX("h")),
				build.BindHeaders("h", "a", model.Table{"x": "1"}),
			),
		},
		{
			"one of two keys leads back, and the other into a failed queue", "4.0.5", "warning dead-letters-return a",
			parts(
				build.Exchange("direct", "in"), build.Exchange("direct", "dlx"), build.Queue("a", build.DLX("dlx")),
				build.Bind("in", "new", "a"), build.Bind("in", "again", "a"), build.Bind("dlx", "again", "a"),
				build.Queue("a.failed"), build.Bind("dlx", "new", "a.failed"),
			),
		},
		{
			"a hidden policy without dead lettering", "4.0.5", "info policy-hidden a",
			parts(
				build.Queue("a", build.Policy("high", model.Table{"max-length": int64(9), "overflow": "reject-publish"})),
				build.UserPolicy("low", "^a", 0, model.Table{"message-ttl": int64(5)}),
				build.UserPolicy("high", "^a", 1, model.Table{"max-length": int64(9), "overflow": "reject-publish"}),
			),
		},
		{
			"a failed stream with an age", "4.0.5", "warning failed-queue-forgets w.failed",
			parts(
				build.Queue("w", build.Consumers(1), build.DLX("", "w.failed")),
				build.Queue("w.failed", build.OfType(model.Stream), build.Argument("x-max-age", "1h")),
			),
		},
		{
			"a failed queue that refuses, at the end of an exchange that chooses", "4.0.5", "warning target-refuses w.failed",
			parts(
				build.Exchange("x-consistent-hash", "x"), build.Bind("x", "1", "w.failed"), build.Queue("w.dead"),
				build.Bind("x", "1", "w.dead"), build.Queue("w", build.Consumers(1), build.DLX("x")),
				build.Queue("w.failed", build.Ready(5), build.MaxLength(5), build.RejectPublish),
			),
		},
		{
			"retries through a fanout exchange that leads to a worker and a failed queue", "3.10.8", "",
			parts(
				build.Exchange("fanout", "x"), build.Queue("w", build.Consumers(1)), build.Queue("w.failed"),
				build.Bind("x", "", "w"), build.Bind("x", "", "w.failed"), build.Queue("w.retry", build.DLX("x"), build.TTL(9)),
			),
		},
		{
			"retries that keep a key which another worker asks for", "3.10.8",
			"warning retry-reaches-others wait; info rejected-loop w",
			parts(
				build.Exchange("topic", "in"), build.Exchange("topic", "later"), build.Bind("later", "#", "wait"),
				build.Queue("wait", build.DLX("in"), build.TTL(9)), build.Queue("w", build.Consumers(1), build.DLX("later")),
				build.Bind("in", "order.*", "w"), build.Queue("v", build.Consumers(1)), build.Bind("in", "order.paid", "v"),
				build.Queue("v.failed"),
			),
		},
		{
			"retries of several workers that share a buffer and an exchange", "3.10.8",
			"warning retry-reaches-others wait; info rejected-loop v; info rejected-loop w",
			parts(
				build.Exchange("fanout", "x"), build.Queue("wait", build.DLX("x"), build.TTL(9)),
				build.Queue("v", build.Consumers(1), build.DLX("", "wait")), build.Bind("x", "", "v"),
				build.Queue("w", build.Consumers(1), build.DLX("", "wait")), build.Bind("x", "", "w"),
			),
		},
		{
			"one failure in two failed queues, and of another worker in one", "3.10.8", "warning failure-in-two-queues w",
			parts(
				build.Exchange("topic", "in"), build.Exchange("topic", "dlx"),
				build.Queue("w", build.Consumers(1), build.DLX("dlx")), build.Bind("in", "order.paid", "w"),
				build.Queue("v", build.Consumers(1), build.DLX("dlx", "v")), build.Bind("in", "order.paid", "v"),
				build.Queue("w.failed"), build.Bind("dlx", "order.*", "w.failed"), build.Queue("v.failed"),
				build.Bind("dlx", "v", "v.failed"), build.Bind("dlx", "order.paid", "v.failed"),
				build.Queue("log", build.Consumers(1)), build.Bind("dlx", "#", "log"),
			),
		},
		{"nothing wrong", "4.3.6", "", parts(build.Queue("a", build.Consumers(1)), build.Queue("b"))},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			findings := Of(build.TopologyOf(test.version, test.parts...))
			assert.Equal(t, strings.Join(codes(findings), "; "), test.want)
			for _, f := range findings {
				assert.That(t, f.Message != "" && f.Evidence != "" && f.Remedy != "" && !strings.Contains(f.Message, "%!"),
					"incomplete: %+v", f)
			}
		})
	}
}

// A flow's findings are those of its queues and of the exchanges that its buffers expire into: no others, each once, in
// the order of all.
func TestAboutAFlow(t *testing.T) {
	topology := model.NewTopology(build.Broker("3.10.8", build.Exchange("direct", "back"),
		build.Queue("orders", build.Consumers(1)), build.Bind("back", "orders", "orders"),
		build.Queue("orders.retry", build.DLX("back", "orders"), build.TTL(1000)),
		build.Queue("orders.later", build.DLX("back", "orders"), build.TTL(2000)), build.Queue("other", build.Consumers(1))))
	var flow *model.Flow
	for i, f := range topology.Flows() {
		if f.Worker.Queue.Name == "orders" {
			flow = &topology.Flows()[i]
		}
	}
	must.That(t, flow != nil && len(flow.Buffers) == 2, "%+v", topology.Flows())
	about := NewAbout([]Finding{
		{Code: "a", VHost: "/", Exchange: "back"},
		{Code: "b", VHost: "/", Queue: "other"},
		{Code: "c", VHost: "/", Queue: "orders.retry"},
		{Code: "d", VHost: "elsewhere", Queue: "orders"},
		{Code: "e", VHost: "/", Exchange: "front"},
		{Code: "f", VHost: "/", Queue: "orders"},
		{Code: "g"},
	})
	var codes []string
	for _, f := range about.Flow(flow) {
		codes = append(codes, f.Code)
	}
	assert.List(t, codes, []string{"a", "c", "f"})
	of := about.Queue(model.QueueRef{VHost: "/", Name: "other"})
	assert.That(t, len(of) == 1 && of[0].Code == "b", "%+v", of)
}

// A message that its queue keeps until it is accepted is not lost, and no sentence says so.
func TestKeptDeadLettersAreNotLost(t *testing.T) {
	parts := []build.Part{build.Exchange("direct", "x"), build.Queue("w"), build.Bind("x", "k", "w")}
	for _, test := range []struct {
		name    string
		setting []build.Setting
		want    string
	}{
		{
			"a missing exchange",
			[]build.Setting{build.DLX("nope")},
			"dead letters of q stay in it: the exchange nope does not exist",
		},
		{
			"nothing bound for the key",
			[]build.Setting{build.DLX("x", "other")},
			"dead letters of q stay in it: no queue is bound to x for the key other",
		},
		{
			"nothing bound for their own keys",
			[]build.Setting{build.DLX("x")},
			"dead letters of q may stay in it: x has no queue for the keys that messages arrive with",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			all := append([]build.Part{
				build.Queue("q", append(test.setting, build.AtLeastOnce, build.TTL(1000))...),
				build.Exchange("direct", "in"), build.Bind("in", "own", "q"),
			}, parts...)
			topology := build.TopologyOf("4.0.5", all...)
			var got []string
			for _, f := range Of(topology) {
				if f.Code == "dlx-missing" || f.Code == "dead-letter-unroutable" {
					got = append(got, f.Message)
				}
			}
			assert.That(t, len(got) == 1 && got[0] == test.want, "%q, not %q", got, test.want)
		})
	}
	in := []build.Part{
		build.Queue("q", build.DLX("x"), build.AtLeastOnce), build.Exchange("direct", "in"), build.Bind("in", "own", "q"),
	}
	topology := build.TopologyOf("4.0.5", append(in, parts...)...)
	m := message.Message{
		Exchange: "in", RoutingKey: "own", Position: 1, Properties: message.Properties{Expiration: "1000"},
	}
	found := In(topology, build.Ref("q"), peek.Peeked{Messages: message.MessageList{m}, TakenAt: build.Noon})
	assert.That(t, len(found) == 1 && found[0].Level == LevelWarning && strings.HasPrefix(found[0].Message, "1 message "+
		"will be kept on expiry: x has no queue for the keys that they keep"), "%+v", found)
}

// Every finding has a page, every page a finding, and the index lists them all.
func TestEveryFindingHasAPage(t *testing.T) {
	files, err := filepath.Glob("*.go")
	must.That(t, err == nil && len(files) > 0, "%v %v", files, err)
	index := must.Get(os.ReadFile("../../docs/findings/README.md"))(t)
	found := map[string]bool{}
	for _, file := range files {
		text := must.Get(os.ReadFile(file))(t)
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		for _, code := range regexp.MustCompile(`Code: +"([a-z-]+)"`).FindAllStringSubmatch(string(text), -1) {
			found[code[1]] = true
		}
	}
	for code := range found {
		_, err = os.Stat("../../" + Finding{Code: code}.Page())
		assert.That(t, err == nil, "%v", err)
		assert.That(t, strings.Contains(string(index), "["+code+"]("+code+".md)"), "the index does not name %s", code)
	}
	pages := must.Get(filepath.Glob("../../docs/findings/*.md"))(t)
	for _, page := range pages {
		code := strings.TrimSuffix(filepath.Base(page), ".md")
		assert.That(t, code == "README" || found[code], "%s describes a finding that does not exist", page)
	}
}

// large is a broker of 10,000 queues and 30,000 bindings: 3,333 services with a worker, a retry buffer and a failed
// queue.
func large() *model.Snapshot {
	parts := []build.Part{
		build.Exchange("topic", "master"), build.Exchange("topic", "retry"), build.Exchange("topic", "failed"),
	}
	for i := range 3333 {
		name := fmt.Sprintf("service-%04d", i)
		parts = append(parts, build.Queue(name, build.Consumers(2)),
			build.Queue(name+".retry", build.DLX("master", name), build.TTL(30000)), build.Queue(name+".failed", build.Ready(3)),
			build.Bind("master", name, name), build.Bind("master", fmt.Sprintf("event.%d.*", i%50), name),
			build.Bind("retry", name, name+".retry"), build.Bind("failed", name, name+".failed"))
		for j := range 5 {
			parts = append(parts, build.Bind("master", fmt.Sprintf("kind.%d.%d", i, j), name))
		}
	}
	return build.Broker("3.10.8", parts...)
}

func BenchmarkTopologyOf10kQueues(b *testing.B) {
	s := large()
	b.ReportAllocs()
	for b.Loop() {
		t := model.NewTopology(s)
		must.Equal(b, len(t.Flows()), 3333, "flows")
		Of(t)
	}
	b.ReportMetric(float64(len(s.Queues)), "queues")
	b.ReportMetric(float64(len(s.Bindings)), "bindings")
}

// The next poll of the same broker: only counts changed.
func BenchmarkNextPollOf10kQueues(b *testing.B) {
	t := model.NewTopology(large())
	b.ReportAllocs()
	for b.Loop() {
		b.StopTimer()
		s := *t.Snapshot
		s.Queues = slices.Clone(s.Queues)
		s.Queues[0].Ready = model.Some(s.Queues[0].Ready.Or(0) + 1)
		b.StartTimer()
		t = t.Next(&s)
		Of(t)
	}
}
