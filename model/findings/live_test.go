package findings

import (
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/build"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/model/peek"
	"github.com/dlxtop/dlxtop/model/plan"
	"github.com/dlxtop/dlxtop/model/target"
)

func TestLosingNow(t *testing.T) {
	moving := func(in, dead float64) model.Movement {
		return model.Movement{In: model.Some(in), Dead: model.Some(dead)}
	}
	flow := parts(build.Text(`
		queue w consumers=1
		buffer b w 1000
	`))
	away := model.Moves{build.Ref("b"): moving(2, 2)}
	nowhere := model.Moves{build.Ref("b"): moving(2, 2), build.Ref("w"): moving(0, 0)}
	const long = 12 * time.Second

	tests := []struct {
		name  string
		parts []build.Part
		moves model.Moves
		over  time.Duration
		want  string
	}{
		{"what leaves arrives", flow, model.Moves{build.Ref("b"): moving(2, 2), build.Ref("w"): moving(2, 0)}, long, ""},
		{"what leaves arrives nowhere", flow, nowhere, long, "error losing-now b"},
		{"too short a time to be sure", flow, nowhere, 4 * time.Second, ""},
		{"the first poll after a node hung", flow, nowhere, 25 * time.Second, ""},
		{"too few to be sure", flow, model.Moves{build.Ref("b"): moving(0.1, 0.1), build.Ref("w"): moving(0, 0)}, long, ""},
		{"nothing is known of the target", flow, away, long, ""},
		{"a consumer took them", flow, model.Moves{build.Ref("b"): moving(2, 0), build.Ref("w"): moving(0, 0)}, long, ""},
		{"a missing exchange", parts(build.Text("queue b dlx=nope ttl=1000")), away, long, "error losing-now b"},
		{
			"from buffer to buffer, where what arrives hides what leaves",
			parts(build.Text(`
				buffer b b2 1000
				buffer b2 w 1000
				queue w consumers=1
			`)),
			model.Moves{build.Ref("b"): moving(2, 2), build.Ref("b2"): moving(0, 0), build.Ref("w"): moving(2, 0)},
			long, "",
		},

		{
			"into a queue that is full, and drops as many as arrive",
			parts(build.Text(`
				buffer b w 1000
				queue w max-length=10 ready=10
			`)), nowhere, long, "",
		},

		{
			"into a queue that is full, and refuses",
			parts(build.Text(`
				buffer b w 1000
				queue w max-length=10 ready=10 reject-publish
			`)),
			nowhere, long, "error losing-now b",
		},
		{
			"the worker rejects all that arrives into its failed queue",
			parts(
				build.Text(`
					buffer b w 1000
					queue w consumers=1 dlx= key=w.failed
					queue w.failed
				`),
			),
			model.Moves{build.Ref("b"): moving(2, 2), build.Ref("w"): moving(0, 0), build.Ref("w.failed"): moving(2, 0)},

			long,
			"",
		},
		{
			"at least once keeps them", parts(build.Text("queue b at-least-once dlx=nope ttl=1000")), away,
			long, "",
		},
		{"no rates", append(parts(func(s *model.Snapshot) { s.Overview.RatesMode = "none" }), flow...), nowhere, long, ""},
		{
			"statistics are off", append(parts(func(s *model.Snapshot) { s.Overview.StatsOff = true }), flow...), nowhere, long,
			"",
		},
		{"no dead-letter exchange, so nothing should arrive", parts(build.Text("queue b ttl=1000")), away, long, ""},
	}

	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			found := LosingNow(build.TopologyOf("3.10.8", test.parts...), test.moves, test.over)
			assert.Equal(t, strings.Join(codes(found), "; "), test.want)
		})
	}
}

// replicas makes a quorum queue with members on a, b, c, …, the first of which are online.
func replicas(members, online int) build.Setting {
	return func(q *model.Queue) {
		q.Type = model.Quorum
		for i := range members {
			q.Members = append(q.Members, string(rune('a'+i)))
		}
		q.Online = append([]string{}, q.Members[:online]...)
	}
}

func state(words, node string) build.Setting {
	return func(q *model.Queue) { q.State, q.Node = words, node }
}

func nodes(all ...model.Node) build.Part { return func(s *model.Snapshot) { s.Nodes = all } }

func up(name string) model.Node { return model.Node{Name: name, Running: true} }

func TestNodeFindings(t *testing.T) {
	codes := []string{"queue-down", "quorum-at-risk", "node-down", "memory-alarm", "disk-alarm", "partition"}
	alarmed := model.Node{
		Name: "a", Running: true, MemAlarm: true, DiskAlarm: true,
		MemUsed: build.Some(3 << 30), MemLimit: build.Some(2 << 30),
	}

	for _, c := range []struct {
		name  string
		parts []build.Part
		want  string // code and level of each, and a word of its sentence
	}{
		{"a classic queue that runs", parts(build.Queue("q", state("running", "b")), nodes(up("a"), up("b"))), ""},
		{
			"its node is down", parts(build.Queue("q", state("down", "b")), nodes(up("a"), model.Node{Name: "b"})),
			"node-down error 1 queue is unavailable; queue-down error its node b is down",
		},
		{"nodes are unknown", parts(build.Queue("q", state("down", "b"))), "queue-down error its node b is down"},
		{
			"a node without queues is down",
			parts(build.Queue("q", state("running", "a")), nodes(up("a"), model.Node{Name: "b"})),
			"node-down warning no queue is unavailable",
		},
		{"all members online", parts(build.Queue("q", replicas(3, 3)), nodes(up("a"), up("b"), up("c"))), ""},
		{"one member is down", parts(build.Queue("q", replicas(3, 2))), "quorum-at-risk warning becomes unavailable"},
		{"one of five is down", parts(build.Queue("q", replicas(5, 4))), ""},
		{"two of five are down", parts(build.Queue("q", replicas(5, 3))), "quorum-at-risk warning becomes unavailable"},

		{"no majority", parts(build.Queue("q", replicas(3, 1))), "queue-down error only 1 of its 3 members"},
		{"half is no majority", parts(build.Queue("q", replicas(2, 1))), "queue-down error comes back when b starts"},
		{"none", parts(build.Queue("q", replicas(1, 0))), "queue-down error only 0 of its 1 members"},
		{"one member on one node", parts(build.Queue("q", replicas(1, 1)), nodes(up("a"))), ""},
		{
			"one member of three nodes", parts(build.Queue("q", replicas(1, 1)), nodes(up("a"), up("b"), up("c"))),
			"quorum-at-risk info 1 member",
		},
		{
			"two members of three nodes", parts(build.Queue("q", replicas(2, 2)), nodes(up("a"), up("b"), up("c"))),
			"quorum-at-risk info 2 members",
		},
		{"members unknown", parts(build.Quorum("q"), nodes(up("a"), up("b"))), ""},
		{"alarms", parts(nodes(alarmed)), "disk-alarm error disk alarm on a; memory-alarm error memory alarm on a"},
		{
			"a partition", parts(nodes(model.Node{Name: "a", Running: true, Partitions: []string{"b", "c"}}, up("b"))),
			"partition error cut off from b, c",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			var want []string

			if c.want != "" {
				want = strings.Split(c.want, "; ")
			}

			for _, f := range Of(build.TopologyOf("3.10.8", c.parts...)) {
				if !slices.Contains(codes, f.Code) {
					continue
				}
				i := slices.IndexFunc(want, func(w string) bool {
					start := f.Code + " " + string(f.Level) + " "
					return strings.HasPrefix(w, start) && strings.Contains(f.Message, strings.TrimPrefix(w, start))
				})

				if i < 0 {
					t.Errorf("unexpected: %s %s %s", f.Code, f.Level, f.Message)
					continue
				}

				want = slices.Delete(want, i, i+1)
				assert.That(t, f.Evidence != "", "%+v", f)
				assert.That(t, f.Remedy != "", "%+v", f)
				assert.That(t, !strings.Contains(f.Evidence, "?") || strings.Contains(f.Code, "disk"), "%+v", f)
			}

			assert.That(t, len(want) == 0, "not found: %q", want)
		})
	}
}

// A plan into a queue that is down is refused, or has a warning if others receive its messages, too.
func TestPlansIntoQueuesThatAreDown(t *testing.T) {
	topology := build.TopologyOf("3.10.8", build.Text("queue failed ready=3"),
		build.Queue("w", state("down", "rabbit@b")), build.Text(`
			queue other
			exchange fanout all
			bind all w
			bind all other
		`))

	want := plan.ActionWant{
		Operation: plan.Replay, From: build.Ref("failed"), Planned: 3, Mode: target.ToQueue,
		Fixed: model.Address{RoutingKey: "w"},
	}

	if p := plan.New(topology, want); !strings.Contains(p.Refusal.Words(), "its node rabbit@b is down") {
		t.Errorf("refusal %q", p.Refusal.Words())
	}

	want.Mode = target.ToExchange
	want.Fixed = model.Address{Exchange: "all"}
	p := plan.New(topology, want)
	assert.That(t, !p.Refusal.Refused(), "refusal %q, warnings %+v", p.Refusal.Words(), p.Warnings)
	assert.That(t,
		slices.ContainsFunc(p.Warnings, func(w plan.Warning) bool {
			return strings.Contains(w.Words(),
				"it receives nothing until then")
		}), "refusal %q, warnings %+v", p.Refusal.Words(), p.Warnings)
	want.Mode = target.ToQueue
	want.Fixed = model.Address{RoutingKey: "other"}
	p = plan.New(topology, want)
	assert.That(t, !p.Refusal.Refused(), "refusal %q, warnings %+v", p.Refusal.Words(), p.Warnings)
	assert.That(t, len(p.Warnings) <= 1, "refusal %q, warnings %+v", p.Refusal.Words(), p.Warnings)
}

// Every plan that publishes warns that publishers are blocked; a drop does not publish.
func TestPlansInAnAlarm(t *testing.T) {
	topology := build.TopologyOf("3.10.8", build.Text(`
		queue failed ready=3
		queue w consumers=1
	`),
		nodes(model.Node{Name: "rabbit@a", Running: true, DiskAlarm: true}))
	says := func(warnings []plan.Warning) bool {
		return slices.ContainsFunc(warnings, func(w plan.Warning) bool {
			return strings.HasPrefix(w.Words(), "disk alarm on rabbit@a: RabbitMQ blocks publishers")
		})
	}

	want := plan.ActionWant{
		Operation: plan.Replay, From: build.Ref("failed"), Planned: 3, Mode: target.ToQueue,
		Fixed: model.Address{RoutingKey: "w"}, Journaled: true,
	}

	p := plan.New(topology, want)
	assert.That(t, says(p.Warnings), "a replay: %+v %q", p.Warnings, p.Refusal.Words())
	assert.That(t, !p.Refusal.Refused(), "a replay: %+v %q", p.Warnings, p.Refusal.Words())
	want.Operation = plan.Drop
	p = plan.New(topology, want)
	assert.That(t, !says(p.Warnings), "a drop: %+v", p.Warnings)
	p = plan.ForImport(topology, plan.ImportWant{To: build.Ref("w"), Sizes: []int64{1}})
	assert.That(t, says(p.Warnings), "an import: %+v", p.Warnings)

	undo, err := plan.ForUndo(topology, plan.UndoWant{Record: plan.Record{
		Operation: plan.Drop,
		From:      build.Ref("failed"),
	}, Entries: func(plan.VisitEntry) error { return nil }})

	must.Do(t, err)
	assert.That(t, says(undo.Warnings), "an undo: %+v %v", undo.Warnings, err)
}

func TestClockSkewFinding(t *testing.T) {
	for _, c := range []struct {
		ahead model.Opt[time.Duration]
		says  string // "": it is silent
	}{
		{model.Unknown[time.Duration](), ""},
		{model.Some(time.Duration(0)), ""},
		{model.Some(1900 * time.Millisecond), ""},
		{model.Some(192*time.Second + 300*time.Millisecond), "this machine's clock is 3m12s behind the broker's"},
		{model.Some(-192 * time.Second), "this machine's clock is 3m12s ahead of the broker's"},
	} {
		s := build.Broker("4.0.5")
		s.Overview.ClockSkew = c.ahead
		s.Overview.ClockWithin = 500 * time.Millisecond
		said := ""
		for _, f := range Of(model.NewTopology(s)) {
			if f.Code == "clock-skew" && f.Level == LevelInfo {
				said = f.Message
			}
		}

		assert.Equal(t, said == "", c.says == "", "%s: %q, want %q", c.ahead, said, c.says)
		assert.Contains(t, said, c.says, "%v", c.ahead)
	}
}

// Messages that a worker releases again and again are found by their counts; returns that count towards the limit, and
// those by peeks alone, are not reported.
func TestReleasedForEver(t *testing.T) {
	for _, c := range []struct {
		name, version     string
		consumers         int64
		acquired, counted int64
		found             bool
	}{
		{"released", "4.3.6", 1, 1722, 0, true},
		{"rejected", "4.3.6", 1, 120, 110, false},
		{"looked at", "4.3.6", 0, 1722, 0, false},
		{"before 4.3", "4.0.5", 1, 1722, 0, false},
	} {
		topology := build.TopologyOf(c.version, build.Text("quorum q ready=1"))
		q, _ := topology.Queue(build.Ref("q"))
		q.Consumers = model.Some(c.consumers)
		r := ReadingOf(topology, q.QueueRef, time.Now(), nil)
		r.See(&message.Message{Position: 1, Redelivered: true, Headers: model.Table{
			"x-acquired-count": c.acquired, "x-delivery-count": c.counted,
		}})

		found := false
		for _, f := range r.Found() {
			found = found || f.Code == "requeue-loop"
		}

		assert.Equal(t, found, c.found, "%s", c.name)
	}
}

// The remedy against a priority is no TTL of the queue, which is there; each priority of a quorum queue of 4.3 expires
// by itself.
func TestRemediesOfBlockedHeads(t *testing.T) {
	at := time.Unix(1_800_000_000, 0)
	stamped := func(priority uint8, ago time.Duration, expiration string) message.Message {
		return message.Message{Properties: message.Properties{
			Priority: priority, Timestamp: at.Add(-ago), Expiration: expiration,
		}}
	}

	own := build.Queue("q", build.DLX("", "w"), build.Argument("x-max-priority", int64(9)))
	for _, c := range []struct {
		name, version string
		queue         build.Part
		messages      []message.Message
		remedy        string // "": no finding
	}{
		{
			"a higher priority", "4.3.6", own,
			[]message.Message{stamped(9, 0, "60000"), stamped(0, 0, "2000")},
			"publish into the buffer without a priority",
		},
		{
			"the same priority", "4.3.6", own,

			[]message.Message{stamped(9, 0, "60000"), stamped(9, 0, "2000")},
			"use one buffer for each TTL, with the TTL on the queue",
		},
		{
			"a TTL of the queue, and a shorter one", "3.10.8", build.Buffer("q", "w", 30_000),
			[]message.Message{stamped(0, 1*time.Second, ""), stamped(0, 0, "2000")},
			"leave the expiration out",
		},
		{
			"priorities of a quorum queue", "4.3.6", build.Text("quorum q dlx= key=w"),
			[]message.Message{stamped(9, 0, "60000"), stamped(0, 0, "2000")},
			"",
		},
	} {
		topology := build.TopologyOf(c.version, build.Text("queue w consumers=1"), c.queue)

		said := ""
		for _, f := range In(topology, build.Ref("q"), peek.Peeked{Messages: message.MessageList(c.messages), TakenAt: at}) {
			said += f.Remedy
		}

		assert.That(t, strings.HasPrefix(said, c.remedy), "%s: %q, want %q", c.name, said, c.remedy)
		assert.That(t, c.remedy != "" || said == "", "%s: %q, want %q", c.name, said, c.remedy)
	}
}

// Without a look, only what certainly shows it is reported.
func TestHeadsOlderThanTheTTL(t *testing.T) {
	at := func(ago time.Duration) build.Setting {
		return func(q *model.Queue) { q.HeadTimestamp = model.Some(build.Broker("4.0.5").TakenAt.Add(-ago)) }
	}
	policy := func(ms int64) build.Setting { return build.Policy("p", model.Table{"message-ttl": ms}) }
	w := build.Queue("w", build.Consumers(1))
	to := build.DLX("", "w")

	ahead := func(by time.Duration) build.Part {
		return func(s *model.Snapshot) {
			s.Overview.ClockSkew = model.Some(by)
			s.Overview.ClockWithin = time.Second
		}
	}

	for _, c := range []struct {
		name  string
		parts []build.Part
		want  string
	}{
		{
			"an old head", parts(w, build.Queue("q", to, policy(5000), build.Ready(3), at(time.Minute))),
			"warning earlier-ttl q",
		},
		{"its count may be late", parts(w, build.Queue("q", to, policy(5000), build.Ready(3), at(15*time.Second))), ""},
		{"an argument", parts(w, build.Buffer("q", "w", 5000, build.Ready(3), at(time.Minute))), ""},
		{
			"a retry buffer: it was published before it came",
			parts(build.Text("queue w consumers=1 dlx= key=q"), build.Queue("q", to, policy(5000), build.Ready(3),
				at(time.Minute))), "",
		},
		{
			"dead letters arrive",
			parts(w, build.Queue("q", to, policy(5000), build.Ready(3), at(time.Minute), build.Counted(1, 0))), "",
		},

		{"consumers", parts(w, build.Queue("q", to, policy(5000), build.Ready(3), at(time.Minute), build.Consumers(1))), ""},
		{"a publisher an hour ahead", parts(w, build.Queue("q", to, policy(5000), build.Ready(3), at(-time.Hour))), ""},
		{
			"the broker's clock an hour behind, the publisher's with it",
			parts(w, build.Queue("q", to, policy(5000), build.Ready(3), at(time.Hour+time.Second)), ahead(-time.Hour)), "",
		},
		{
			"the broker's clock an hour ahead, the publisher's not",
			parts(w, build.Queue("q", to, policy(5000), build.Ready(3), at(time.Second)), ahead(time.Hour)), "",
		},
		{"a timestamp of 1970", parts(w, build.Queue("q", to, policy(5000), build.Ready(3), at(50*365*24*time.Hour))), ""},
	} {
		var got []string
		for _, s := range codes(Of(build.TopologyOf("4.0.5", c.parts...))) {
			if strings.Contains(s, "earlier-ttl") {
				got = append(got, s)
			}
		}
		assert.Equal(t, strings.Join(got, "; "), c.want, "%s", c.name)
	}
}

func TestFindingsInMessages(t *testing.T) {
	at := time.Unix(1_800_000_000, 0)

	// waiting is a buffer's content: expirations in seconds, published ago seconds before.
	waiting := func(ago int, expirations ...int) []message.Message {
		var ms []message.Message
		for i, e := range expirations {
			m := message.Message{
				Position:   i + 1,
				Properties: message.Properties{Timestamp: at.Add(-time.Duration(ago) * time.Second)},
			}
			if e >= 0 {
				m.Properties.Expiration = strconv.Itoa(e * 1000)
			}
			ms = append(ms, m)
		}

		return ms
	}

	ranked := slices.Concat(waiting(0, -1), waiting(20, -1))
	ranked[0].Properties.Priority = 9

	type expected struct {
		Name     string
		Parts    []build.Part
		Messages []message.Message
		Want     string
		Says     string
	}

	tests := append(must.Cases[expected](t, "testdata/findings_in_messages.toml"), []expected{
		{
			"timestamps that are none", parts(build.Queue("q")),
			[]message.Message{
				{Properties: message.Properties{Timestamp: time.Unix(1<<40, 0)}},
				{Properties: message.Properties{Timestamp: time.Unix(0, 0)}},
			},

			"", "",
		},
	}...)

	for _, test := range tests {
		t.Run(test.Name, func(t *testing.T) {
			look := peek.Peeked{Messages: message.MessageList(test.Messages), TakenAt: at}
			findings := In(build.TopologyOf("4.0.5", test.Parts...), build.Ref("q"), look)
			assert.Equal(t, strings.Join(codes(findings), "; "), test.Want)
			assert.That(t, len(findings) == 0 || strings.Contains(findings[0].Message, test.Says),
				"it says %+v, want something with %q", findings, test.Says)
		})
	}
}
