package findings

import (
	"cmp"
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
	type expected struct {
		Name     string
		Parts    []build.Part
		Moves    map[string][2]float64
		Over     time.Duration
		GoneLate int64 `toml:"gone-late"`
		Rates    string
		StatsOff bool
		Want     string
	}

	flow := parts(build.Text(`
		queue w consumers=1
		buffer b w 1000
	`))

	must.Run(t, "testdata/losing_now.toml", func(t *testing.T, test expected) {
		if test.Parts == nil {
			test.Parts = flow
		}

		moves := model.Moves{}
		for queue, move := range test.Moves {
			moves[build.Ref(queue)] = model.Movement{
				In: model.Some(move[0]), Dead: model.Some(move[1]), GoneLate: cmp.Or(test.GoneLate, 10),
			}
		}

		s := build.Broker("3.10.8", test.Parts...)
		s.Overview.RatesMode, s.Overview.StatsOff = test.Rates, test.StatsOff

		found := LosingNow(model.NewTopology(s), moves, cmp.Or(test.Over, 12*time.Second))
		assert.Equal(t, strings.Join(codes(found), "; "), test.Want)
	})
}

func state(words, node string) build.Setting {
	return func(q *model.Queue) { q.State, q.Node = words, node }
}

func nodes(all ...model.Node) build.Part { return func(s *model.Snapshot) { s.Nodes = all } }

func TestNodeFindings(t *testing.T) {
	codes := []string{"queue-down", "quorum-at-risk", "node-down", "memory-alarm", "disk-alarm", "partition"}
	alarmed := model.Node{
		Name: "a", Running: true, MemAlarm: true, DiskAlarm: true,
		MemUsed: build.Some(3 << 30), MemLimit: build.Some(2 << 30),
	}

	type expected struct {
		Name     string
		Queue    *model.Queue
		Up, Down []string
		Nodes    []model.Node
		Want     []string
	}

	for _, c := range append(must.Cases[expected](t, "testdata/nodes.toml"), []expected{
		{
			Name: "alarms", Nodes: []model.Node{alarmed},
			Want: []string{"disk-alarm error disk alarm on a", "memory-alarm error memory alarm on a"},
		},
		{
			Name: "a partition", Up: []string{"b"},
			Nodes: []model.Node{{Name: "a", Running: true, Partitions: []string{"b", "c"}}},
			Want:  []string{"partition error cut off from b, c"},
		},
	}...) {
		t.Run(c.Name, func(t *testing.T) {
			for _, name := range c.Up {
				c.Nodes = append(c.Nodes, model.Node{Name: name, Running: true})
			}
			for _, name := range c.Down {
				c.Nodes = append(c.Nodes, model.Node{Name: name})
			}

			all := parts(nodes(c.Nodes...))
			if c.Queue != nil {
				all = append(all, build.Queue("q", func(q *model.Queue) {
					q.Type = cmp.Or(c.Queue.Type, q.Type)
					q.State, q.Node = c.Queue.State, c.Queue.Node
					q.Members, q.Online = c.Queue.Members, c.Queue.Online
				}))
			}

			for _, f := range Of(build.TopologyOf("3.10.8", all...)) {
				if !slices.Contains(codes, f.Code) {
					continue
				}
				i := slices.IndexFunc(c.Want, func(w string) bool {
					start := f.Code + " " + string(f.Level) + " "
					return strings.HasPrefix(w, start) && strings.Contains(f.Message, strings.TrimPrefix(w, start))
				})

				if i < 0 {
					t.Errorf("unexpected: %s %s %s", f.Code, f.Level, f.Message)
					continue
				}

				c.Want = slices.Delete(c.Want, i, i+1)
				assert.That(t, f.Evidence != "", "%+v", f)
				assert.That(t, f.Remedy != "", "%+v", f)
				assert.That(t, !strings.Contains(f.Evidence, "?") || strings.Contains(f.Code, "disk"), "%+v", f)
			}

			assert.That(t, len(c.Want) == 0, "not found: %q", c.Want)
		})
	}
}

// A plan into a queue that is down is refused, or has a warning if others receive its messages, too.
func TestPlansIntoQueuesThatAreDown(t *testing.T) {
	topology := build.Described("3.10.8", "queue failed ready=3",
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
	topology := build.Described("3.10.8", `
		queue failed ready=3
		queue w consumers=1
	`,
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
		topology := build.Described(c.version, "quorum q ready=1")
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

// The remedy against a priority is not a TTL of the queue alone. In a quorum queue of 4.3, each priority expires by
// itself until it was looked at.
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
		remedy        string
	}{
		{
			"a higher priority", "4.3.6", own,
			[]message.Message{stamped(9, 0, "60000"), stamped(0, 0, "2000")},
			"use one buffer for each TTL, with the TTL on the queue and no priorities",
		},
		{
			"the same priority", "4.3.6", own,

			[]message.Message{stamped(9, 0, "60000"), stamped(9, 0, "2000")},
			"use one buffer for each TTL, with the TTL on the queue",
		},
		{
			"a TTL of the queue, and a shorter one", "3.10.8", build.Buffer("q", "w", 30_000),
			[]message.Message{stamped(0, 1*time.Second, ""), stamped(0, 0, "2000")},
			"leave expirations and priorities out",
		},
		{
			"priorities of a quorum queue", "4.3.6", build.Text("quorum q dlx= key=w"),
			[]message.Message{stamped(9, 0, "60000"), stamped(0, 0, "2000")},
			"use one buffer for each TTL, with the TTL on the queue and no priorities",
		},
	} {
		topology := build.Described(c.version, "queue w consumers=1", c.queue)

		said := ""
		look := peek.Peeked{Messages: message.MessageList(c.messages), TakenAt: at}
		for _, f := range In(topology, build.Ref("q"), look).Found() {
			said += f.Remedy
		}

		assert.That(t, strings.HasPrefix(said, c.remedy), "%s: %q, want %q", c.name, said, c.remedy)
	}
}

// Without a look, only what certainly shows it is reported.
func TestHeadsOlderThanTheTTL(t *testing.T) {
	type expected struct {
		Name  string
		Parts []build.Part
		Ago   time.Duration // since the first message of q was published
		Ahead time.Duration // the broker's clock
		Want  string
	}

	tests := append(must.Cases[expected](t, "testdata/heads_older_than_the_ttl.toml"), expected{
		Name: "dead letters arrive",
		Parts: parts(build.Text("queue w consumers=1"), build.Queue("q", build.DLX("", "w"), build.Ready(3),
			build.Policy("p", model.Table{"message-ttl": int64(5000)}), build.Counted(1, 0))),
		Ago: time.Minute,
	})

	for _, c := range tests {
		c.Parts = append(c.Parts, func(s *model.Snapshot) {
			for i := range s.Queues {
				if s.Queues[i].Name == "q" {
					s.Queues[i].HeadTimestamp = model.Some(s.TakenAt.Add(-c.Ago))
				}
			}

			if c.Ahead != 0 {
				s.Overview.ClockSkew = model.Some(c.Ahead)
				s.Overview.ClockWithin = time.Second
			}
		})

		var got []string
		for _, s := range codes(Of(build.TopologyOf("4.0.5", c.Parts...))) {
			if strings.Contains(s, "earlier-ttl") {
				got = append(got, s)
			}
		}
		assert.Equal(t, strings.Join(got, "; "), c.Want, "%s", c.Name)
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
			findings := In(build.TopologyOf("4.0.5", test.Parts...), build.Ref("q"), look).Found()
			assert.Equal(t, strings.Join(codes(findings), "; "), test.Want)
			assert.That(t, len(findings) == 0 || strings.Contains(findings[0].Message, test.Says),
				"it says %+v, want something with %q", findings, test.Says)
			for _, f := range findings {
				assert.That(t, f.Remedy != "", "%s has no remedy", f.Code)
			}
		})
	}
}
