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
	type expected struct {
		Name, Version string
		Want          string // the level, the code and the queue of each
		Parts         []build.Part
	}

	tests := append(must.Cases[expected](t, "testdata/findings.toml"), []expected{
		{
			"TTL without DLX, as far as known", "3.10.8", "",
			parts(build.Queue("a", build.TTL(1000), func(q *model.Queue) { q.PolicyDefinition = nil })),
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
					s.Seen.Counted = model.QueueSet{build.Ref("ucenter@user@retry"): true}
				}),
				build.ScenarioParts["pubsub"]...,
			),
		},
		{"retries that the broker counts", "3.10.8", "", build.ScenarioParts["pubsub"]},

		{
			"a policy for other types", "4.0.5", "",
			parts(build.Queue("a"), build.UserPolicy("p", ".*", 1, model.Table{"delivery-limit": int64(3)}, "quorum_queues")),
		},

		{
			"dead letters that no queue takes", "4.0.5", "warning dead-letters-held a",
			parts(
				build.Text(`
					exchange fanout x
					queue dead
					bind x dead
				`),
				build.Quorum("a", build.DLX("x"), func(q *model.Queue) { q.DeadLettering = build.Some(3) }),
			),
		},
	}...)

	for _, test := range tests {
		t.Run(test.Name, func(t *testing.T) {
			topology := build.TopologyOf(test.Version, test.Parts...)
			findings := Of(topology)
			assert.Equal(t, strings.Join(codes(findings), "; "), test.Want)
			for _, f := range findings {
				assert.That(t, f.Message != "", "incomplete: %+v", f)
				assert.That(t, f.Evidence != "", "incomplete: %+v", f)
				assert.That(t, f.Remedy != "", "incomplete: %+v", f)
				assert.Lacks(t, f.Message, "%!", "%v", f)
				if f.Code == "worker-without-consumers" {
					assert.That(t, slices.Contains(Unconfirmed(topology), f.At()), "not confirmed: %+v", f)
				}
			}
		})
	}
}

// A flow's findings are those of its queues and of the exchanges that its buffers expire into: no others, each once, in
// the order of all.
func TestAboutAFlow(t *testing.T) {
	topology := model.NewTopology(build.Broker("3.10.8", build.Text(`
		exchange direct back
		queue orders consumers=1
		bind back orders orders
		queue orders.retry dlx=back key=orders ttl=1000
		queue orders.later dlx=back key=orders ttl=2000
		queue other consumers=1
	`)))

	var flow *model.Flow
	for i, f := range topology.Flows() {
		if f.Worker.Queue.Name == "orders" {
			flow = &topology.Flows()[i]
		}
	}

	must.That(t, flow != nil, "%+v", topology.Flows())
	must.Equal(t, len(flow.Buffers), 2)
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
	of := about.Queue(build.Ref("other"))
	must.Equal(t, len(of), 1, "%+v", of)
	assert.Equal(t, of[0].Code, "b")
}

// A message that its queue keeps until it is accepted is not lost, and no sentence says so.
func TestKeptDeadLettersAreNotLost(t *testing.T) {
	type kept struct {
		Name, Want string
		Parts      []build.Part
	}
	must.Run(t, "testdata/kept.toml", func(t *testing.T, test kept) {
		topology := build.TopologyOf("4.0.5", test.Parts...)
		var got []string
		for _, f := range Of(topology) {
			if f.Code == "dlx-missing" || f.Code == "dead-letter-unroutable" {
				got = append(got, f.Message)
			}
		}

		must.Equal(t, len(got), 1, "%q, not %q", got, test.Want)
		assert.Equal(t, got[0], test.Want)
	})

	topology := build.Described("4.0.5", `
		queue q dlx=x at-least-once
		exchange direct in
		bind in own q
		exchange direct x
		queue w
		bind x k w
	`)
	m := message.Message{
		Exchange: "in", RoutingKey: "own", Position: 1, Properties: message.Properties{Expiration: "1000"},
	}
	found := In(topology, build.Ref("q"), peek.Peeked{Messages: message.MessageList{m}, TakenAt: build.Noon}).Found()
	must.Equal(t, len(found), 1, "%+v", found)
	assert.Equal(t, found[0].Level, LevelWarning)
	assert.That(t,
		strings.HasPrefix(found[0].Message, "1 message will be kept on expiry: x has no queue for the keys that they keep"),
		"%+v", found)
}

// Every finding has a page, every page a finding, and the index lists them all.
func TestEveryFindingHasAPage(t *testing.T) {
	files, err := filepath.Glob("*.[gt]o*")
	must.Do(t, err)
	must.That(t, len(files) > 0, "%v %v", files, err)
	index := must.Get(os.ReadFile("../../docs/findings/README.md"))(t)
	found := map[string]bool{}
	for _, file := range files {
		text := must.Get(os.ReadFile(file))(t)
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		for _, code := range regexp.MustCompile(`(?:Code:|code =) +"([a-z0-9-]+)"`).FindAllStringSubmatch(string(text), -1) {
			found[code[1]] = true
		}
	}

	for code := range found {
		_, err = os.Stat("../../" + Finding{Code: code}.Page())
		assert.Succeeds(t, err)
		assert.That(t, strings.Contains(string(index), "["+code+"]("+code+".md)"), "the index does not name %s", code)
	}

	pages := must.Get(filepath.Glob("../../docs/findings/*.md"))(t)
	for _, page := range pages {
		code := strings.TrimSuffix(filepath.Base(page), ".md")
		assert.That(t, code == "README" || found[code], "%s describes a finding that does not exist", page)
	}
}

// large returns a broker of 10,000 queues and 30,000 bindings: 3,333 services with a worker, a retry buffer and a
// failed queue.
func large() *model.Snapshot {
	parts := []build.Part{
		build.Text(`
			exchange topic master
			exchange topic retry
			exchange topic failed
		`),
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
