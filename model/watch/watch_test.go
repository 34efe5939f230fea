package watch

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/build"
)

// played is a flow that a test simulates: the contents of its queues, and a clock that counts them four times a second
// and polls them every two.
type played struct {
	watch    *Watch
	snapshot *model.Snapshot
	start    time.Time
	at       time.Duration
	ready    map[string]int64
	held     map[string]bool
	unseen   map[string]bool // not counted, only polled
	queues   map[string]*model.Queue
}

const everyCount = 250 * time.Millisecond

func play(parts ...build.Part) *played {
	s := build.Broker("3.10.8", parts...)
	p := &played{
		snapshot: s, start: s.TakenAt, ready: map[string]int64{}, held: map[string]bool{},
		unseen: map[string]bool{}, queues: map[string]*model.Queue{},
	}

	for i := range s.Queues {
		q := &s.Queues[i]
		p.queues[q.Name] = q
		p.ready[q.Name] = q.Ready.Or(0)
		q.Published, q.Acked = model.Some[int64](0), model.Some[int64](0)
	}

	t := model.NewTopology(s)
	p.watch = New(t, &t.Flows()[0])
	p.count()
	p.poll()
	return p
}

func (p *played) count() {
	c := model.Counts{At: p.start.Add(p.at), Queues: map[model.QueueRef]model.QueueCounts{}}
	for name, n := range p.ready {
		if !p.unseen[name] {
			c.Queues[build.Ref(name)] = model.QueueCounts{
				Ready: model.Some(n), Consumers: p.queues[name].Consumers, Held: p.held[name],
			}
		}
	}

	p.watch.Count(c)
}

func (p *played) poll() {
	s := *p.snapshot
	s.TakenAt = p.start.Add(p.at)
	s.Queues = slices.Clone(s.Queues)
	for i := range s.Queues {
		s.Queues[i].Ready = model.Some(p.ready[s.Queues[i].Name])
	}

	t := model.NewTopology(&s)
	p.watch.Poll(t, &t.Flows()[0], nil)
}

// pass lets time pass; moments are what happens at each step.
func (p *played) pass(d time.Duration, moments ...func(at time.Duration)) *played {
	for end := p.at + d; p.at < end; {
		p.at += everyCount
		for _, m := range moments {
			m(p.at)
		}
		p.count()
		if p.at%(2*time.Second) == 0 {
			p.poll()
		}
	}

	return p
}

// put changes what is in a queue, as its publishers do.
func (p *played) put(name string, n int64) *played {
	p.ready[name] += n
	p.queues[name].Published = model.Some(p.queues[name].Published.Or(0) + n)
	return p
}

func (p *played) move(from, to string, n int64) *played {
	p.ready[from] -= n
	if to != "" {
		p.ready[to] += n
	}
	return p
}

func (p *played) log() []string {
	lines := []string{}
	for _, m := range p.watch.Log() {
		lines = append(lines, fmt.Sprintf("%.1f %s", m.At.Sub(p.start).Seconds(), m))
	}
	return lines
}

func line(settings ...build.Setting) []build.Part {
	return []build.Part{
		build.Queue("w"), build.Queue("delay", append([]build.Setting{build.DLX("", "w")}, settings...)...),
	}
}

func TestWatch(t *testing.T) {
	s := time.Second
	consumed := []build.Part{build.Text(`
		queue w consumers=1
		buffer delay w 2000
	`)}
	tests := []struct {
		name string
		play func() *played
		want []string
	}{
		{"nothing moves", func() *played { return play(line(build.TTL(5000), build.Ready(3))...).pass(4 * s) }, []string{}},
		{"five wait and arrive", func() *played {
			return play(line(build.TTL(5000))...).put("delay", 5).pass(5*s).move("delay", "w", 5).pass(2 * s)
		}, []string{"0.2 5 arrived in delay", "5.2 5 left delay, 5 arrived in w after 5.0s"}},
		{"how long those waited is not known that were there before", func() *played {
			return play(line(build.TTL(5000), build.Ready(5))...).pass(2*s).move("delay", "w", 5).pass(2 * s)
		}, []string{"2.2 5 left delay, 5 arrived in w"}},
		{"one by one", func() *played {
			p := play(line()...).put("delay", 3)
			for range 3 {
				p.pass(1500*time.Millisecond).move("delay", "w", 1)
			}

			return p.pass(s)
		}, []string{
			"0.2 3 arrived in delay", "1.8 1 left delay, 1 arrived in w after 1.5s",
			"3.2 1 left delay, 1 arrived in w after 3.0s", "4.8 1 left delay, 1 arrived in w after 4.5s",
		}},
		{"a second's movements are one line", func() *played {
			p := play(line()...).put("delay", 8).pass(s)
			for range 4 {
				p.move("delay", "w", 2).pass(everyCount)
			}

			return p
		}, []string{"0.2 8 arrived in delay", "1.2 8 left delay, 8 arrived in w after 1.0s to 1.8s"}},
		{"the arrival is counted before the departure", func() *played {
			p := play(line()...).put("delay", 2).pass(2 * s)
			p.ready["w"] += 2
			p.pass(everyCount)
			p.ready["delay"] -= 2

			return p.pass(s)
		}, []string{"0.2 2 arrived in delay", "2.5 2 left delay, 2 arrived in w after 2.2s"}},
		{"and long after it", func() *played {
			p := play(line()...).put("delay", 2).pass(2*s).move("delay", "", 2).pass(2 * s)
			p.ready["w"] += 2
			return p.pass(s)
		}, []string{"0.2 2 arrived in delay", "2.2 2 left delay, 2 arrived in w after 2.0s"}},
		{"publishers reach the worker too", func() *played {
			return play(line()...).put("delay", 2).pass(2*s).move("delay", "w", 2).put("w", 3).pass(2 * s)
		}, []string{"0.2 2 arrived in delay", "2.2 2 left delay, 2 arrived in w after 2.0s", "2.2 3 arrived in w"}},
		{"the TTL shows what arrives and leaves between two counts", func() *played {
			p := play(line(build.TTL(3000))...).put("delay", 1).pass(3 * s)
			p.move("delay", "w", 1).put("delay", 1).pass(3*s).move("delay", "w", 1)
			return p.pass(2 * s)
		}, []string{
			"0.2 1 arrived in delay", "4.8 1 left delay, 1 arrived in w after 3.0s", "4.8 1 arrived in delay",
			"6.2 1 left delay, 1 arrived in w",
		}},
		{"and by the publishers' total", func() *played {
			p := play(line()...).pass(14 * s)
			for range 3 {
				p.put("delay", 1).move("delay", "w", 1).pass(2 * s)
			}

			return p
		}, []string{
			"14.2 1 arrived in w", "16.0 1 left delay between two counts", "16.2 1 arrived in w",
			"18.0 1 left delay between two counts", "18.2 1 arrived in w", "20.0 1 left delay between two counts",
		}},
		{"but not before a count could see it", func() *played {
			p := play(line()...).pass(14*s).put("delay", 9).pass(s)
			p.put("delay", 1).at += everyCount / 2
			p.poll() // reports ten already
			p.at -= everyCount / 2

			return p.pass(4 * s)
		}, []string{"14.2 9 arrived in delay", "15.2 1 arrived in delay"}},
		{"nothing arrives", func() *played {
			return play(line(build.TTL(2000))...).put("delay", 5).pass(2*s).move("delay", "", 5).pass(16 * s)
		}, []string{"0.2 5 arrived in delay", "2.2 5 left delay after 2.0s, 5 not seen to arrive in w: lost, or " +
			"taken out by hand"}},
		{"only some arrive", func() *played {
			p := play(line(build.TTL(2000))...).put("delay", 5).pass(2*s).move("delay", "w", 2).move("delay", "", 3)
			return p.pass(16 * s)
		}, []string{"0.2 5 arrived in delay", "2.2 5 left delay, 2 arrived in w after 2.0s, 3 not seen to arrive in " +
			"w: lost, or taken out by hand"}},
		{"no loss is shown before it is certain", func() *played {
			return play(line(build.TTL(2000))...).put("delay", 5).pass(2*s).move("delay", "", 5).pass(8 * s)
		}, []string{"0.2 5 arrived in delay", "2.2 5 left delay for w after 2.0s"}},
		{"nor when they are unacknowledged", func() *played {
			p := play(line(build.TTL(2000))...).put("delay", 5).pass(2*s).move("delay", "", 5)
			p.queues["delay"].Unacked = model.Some[int64](5)
			return p.pass(16 * s)
		}, []string{"0.2 5 arrived in delay", "2.2 5 left delay for w after 2.0s"}},
		{"nor when a client gets them from the worker's queue", func() *played {
			p := play(line(build.TTL(2000))...).put("delay", 5).pass(2*s).move("delay", "", 5)

			p.queues["w"].Delivered = model.Some[int64](5)
			return p.pass(16 * s)
		}, []string{"0.2 5 arrived in delay", "2.2 5 left delay for w after 2.0s"}},
		{"nor when the queue behind drops its head", func() *played {
			p := play(build.Text(`
				queue w max-length=1
				buffer delay w 2000
			`))
			return p.put("delay", 5).pass(2*s).move("delay", "", 5).pass(16 * s)
		}, []string{"0.2 5 arrived in delay", "2.2 5 left delay for w after 2.0s"}},
		{"a purge is no loss", func() *played {
			return play(line(build.TTL(20_000))...).put("delay", 5).pass(2*s).move("delay", "", 5).pass(16 * s)
		}, []string{"0.2 5 arrived in delay", "2.2 5 left delay after 2.0s, 5 not seen to arrive in w: taken out by " +
			"hand, they were not due yet"}},
		{"another tool looks", func() *played {
			p := play(line(build.TTL(20_000))...).put("delay", 5).pass(2*s).move("delay", "", 3).pass(s)
			p.ready["delay"] += 3
			return p.pass(17*s).move("delay", "w", 5).pass(s)
		}, []string{
			"0.2 5 arrived in delay", "2.2 3 of delay were held by another tool for 1.0s and given back",
			"20.2 5 left delay, 5 arrived in w after 20.0s",
		}},

		{"dlxtop itself looks", func() *played {
			p := play(line(build.TTL(20_000))...).put("delay", 5).pass(2 * s)
			p.held["delay"] = true
			p.move("delay", "", 5).pass(s)

			p.held["delay"] = false
			p.ready["delay"] = 5
			return p.pass(s)
		}, []string{"0.2 5 arrived in delay"}},
		{"a queue is declared again", func() *played {
			p := play(line(build.TTL(20_000))...).put("delay", 5).pass(3500 * time.Millisecond)
			p.ready["delay"], p.queues["delay"].Published = 0, model.Unknown[int64]()
			return p.pass(16 * s)
		}, []string{"0.2 5 arrived in delay", "3.8 5 left delay, which was deleted and declared again"}},
		{"consumers take at once, and the statistics show it later", func() *played {
			p := play(consumed...).pass(13*s).put("delay", 5).pass(2*s).move("delay", "", 5).pass(4 * s)
			p.queues["w"].Delivered, p.queues["w"].Acked = model.Some[int64](5), model.Some[int64](4)

			return p.pass(16 * s)
		}, []string{
			"13.2 5 arrived in delay", "15.2 5 left delay, 5 arrived in w after 2.0s", "20.0 5 delivered from w, 4 acknowledged",
		}},
		{"with consumers a loss is shown when nothing came", func() *played {
			return play(consumed...).put("delay", 5).pass(2*s).move("delay", "", 5).pass(16 * s)
		}, []string{"0.2 5 arrived in delay", "2.2 5 left delay after 2.0s, 5 not seen to arrive in w: lost, or " +
			"taken out by hand"}},
		{"what the buffer keeps is not lost", func() *played {
			p := play(build.Text(`
				queue w consumers=1
				buffer delay w 2000 at-least-once
			`))
			return p.put("delay", 5).pass(2*s).move("delay", "", 5).pass(30 * s)
		}, []string{"0.2 5 arrived in delay", "2.2 5 left delay for w after 2.0s"}},
		{"never without statistics", func() *played {
			p := play(consumed...)

			p.snapshot.Overview.StatsOff = true
			return p.put("delay", 5).pass(2*s).move("delay", "", 5).pass(30 * s)
		}, []string{"0.2 5 arrived in delay", "2.2 5 left delay for w after 2.0s"}},
		{"a TTL that does not hold is not believed", func() *played {
			return play(line(build.TTL(1000))...).put("delay", 2).pass(9 * s)
		}, []string{"0.2 2 arrived in delay", "2.8 2 left delay for w after 1.0s", "2.8 2 arrived in delay"}},
		{"a backlog is taken", func() *played {
			p := play(build.Text(`
				queue w consumers=1 ready=9
				buffer delay w 2000
			`))
			return p.pass(s).move("w", "", 4).pass(s)
		}, []string{"1.2 4 taken by consumers of w"}},
		{"polls alone are followed too", func() *played {
			p := play(line(build.TTL(5000))...)
			p.unseen["delay"], p.unseen["w"] = true, true
			p.pass(6*s).put("delay", 5).pass(5*s).move("delay", "w", 5)

			return p.pass(4 * s)
		}, []string{"8.0 5 arrived in delay", "12.0 5 left delay, 5 arrived in w"}},
	}

	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			assert.NoDiff(t, cmp.Diff(test.want, test.play().log()))
		})
	}
}

func TestWatchShowsLoops(t *testing.T) {
	p := play(build.Text(`
		exchange direct work
		queue w consumers=1
		bind work w w
		buffer w.retry w 3000
		queue w.failed
	`))
	flow := p.watch
	must.Equal(t, flow.places[build.Ref("w.retry")].role, model.RetryBuffer)
	must.Equal(t, flow.places[build.Ref("w.failed")].role, model.FailedRole)
	p.pass(time.Second).put("w.retry", 3).put("w.failed", 1).pass(time.Second)
	want := []string{"1.2 3 returned to w.retry", "1.2 1 given up to w.failed"}
	assert.NoDiff(t, cmp.Diff(want, p.log()))
}

// If publishers use the worker's own retry buffer, it is unknown which messages are new.
func TestWatchShowsNoLoopWhereAllComesTheSameWay(t *testing.T) {
	p := play(build.Text(`
		queue w consumers=1
		buffer w.retry w 3000
	`))
	must.Equal(t, p.watch.places[build.Ref("w.retry")].role, model.RetryBuffer, "the role")
	p.pass(time.Second).put("w.retry", 3).pass(time.Second)
	assert.NoDiff(t, cmp.Diff([]string{"1.2 3 came into w.retry, new or sent again"}, p.log()))
}

// Whatever the moments of arrival: in the end, all messages were counted as come and gone.
func TestWatchCountsAll(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		wait := time.Duration(rapid.IntRange(2500, 6000).Draw(t, "ttl")) * time.Millisecond
		moments := rapid.SliceOfN(rapid.IntRange(1, 10_000), 1, 200).Draw(t, "arrivals")
		waiting := rapid.SliceOfN(rapid.IntRange(1, int(wait.Milliseconds())), 0, 20).Draw(t, "there before")
		p := play(line(build.TTL(wait.Milliseconds()), build.Ready(int64(len(waiting))))...)
		var last time.Duration
		p.pass(14*time.Second, func(now time.Duration) {
			for _, ms := range waiting {
				if due := time.Duration(ms) * time.Millisecond; due > last && due <= now {
					p.move("delay", "w", 1)
				}
			}
			last = now
		})

		begin := p.at
		last = 0

		p.pass(10*time.Second+wait+8*time.Second, func(now time.Duration) {
			now -= begin
			for _, ms := range moments {
				at := time.Duration(ms) * time.Millisecond
				if at > last && at <= now {
					p.put("delay", 1)
				}
				if due := at + wait; due > last && due <= now {
					p.move("delay", "w", 1)
				}
			}

			last = now
		})

		n := int64(len(moments))
		old := int64(len(waiting))
		came, went := p.watch.Total(build.Ref("delay"))
		arrived, _ := p.watch.Total(build.Ref("w"))

		var left, reached int64
		for _, m := range p.watch.Log() {
			if m.Kind == MoveHop {
				left += m.N
			}
			assert.That(t, m.Missing() == 0, "a false alarm: %s", m)
			least, most := m.Waited()
			assert.That(t, m.Kind != MoveLook, "with a TTL of %s: %s", wait, m)
			assert.That(t, !least.Known() || least.Or(0) >= wait-vagueWait/2 && most.Or(0) <= wait+vagueWait/2,
				"with a TTL of %s: %s", wait, m)
			for _, r := range m.To {
				reached += r.N
			}
		}

		assert.Equal(t, came, n)
		assert.Equal(t, went, n+old)
		assert.Equal(t, arrived, n+old)
		assert.Equal(t, left, n+old)
		assert.That(t, reached <= n+old,
			"of %d messages %d came, %d went, %d arrived; the log has %d left and %d arrived:\n%s", n, came, went, arrived, left,
			reached, strings.Join(p.log(), "\n"))
	})
}

func TestWatchRates(t *testing.T) {
	p := play(line(build.TTL(2000))...).pass(14 * time.Second)
	p.pass(14*time.Second, func(at time.Duration) {
		p.put("delay", 25)
		if at > 16*time.Second {
			p.move("delay", "w", 25)
		}
	})

	rates, ok := p.watch.Rates(p.start.Add(p.at))[build.Ref("delay")]
	in := rates.Steady.In.Or(0)
	assert.That(t, ok, "%.1f/s came in ten seconds, want about 100", in)
	assert.That(t, in >= 90, "%.1f/s came in ten seconds, want about 100", in)
	assert.That(t, in <= 110, "%.1f/s came in ten seconds, want about 100", in)
	out := rates.Latest.Out.Or(0)
	assert.That(t, out >= 75 && out <= 125, "%.1f/s left in the last second, want about 100", out)

	if rates := p.watch.Rates(p.start.Add(p.at + time.Minute)); len(rates) > 0 {
		t.Errorf("%v are known a minute after the last count", rates)
	}
}

// Messages that no queue accepts are lost, unless the queue keeps its dead letters.
func TestWhatNoQueueTakes(t *testing.T) {
	for kept, want := range map[bool]string{
		false: "5 left delay: lost, no queue takes them", true: "5 left delay: kept, no queue takes them yet",
	} {
		m := LoggedMove{Kind: MoveHop, Queue: build.Ref("delay"), N: 5, exact: true, kept: kept}
		assert.Equal(t, m.String(), want)
	}
}

// With a broker that counts every 5 s and is polled every 2 s nothing seems to move, then nothing again, then
// everything at once.
func TestRatesAreSteadyThoughTheBrokerCountsInSteps(t *testing.T) {
	var r Polls
	for i, went := range []int64{0, 50, 0, 50, 0, 0, 50, 0, 50, 0} {
		moves := model.Moves{build.Ref("q"): {Came: model.Some[int64](0), Went: model.Some(went)}}
		r = r.After(moves, 2*time.Second)
		rate, ok := r.Moves()[build.Ref("q")].Out.Get()
		must.That(t, ok, "poll %d: the rate is not known", i)
		assert.That(t, i < 5 || rate >= 7 && rate <= 13, "poll %d: %.1f/s left, want about 10", i, rate)
	}

	assert.Equal(t, r.Moves()[build.Ref("q")].Went.Or(-1), 0, "left since the last poll")
	assert.That(t, len(r) <= 7, "%d polls are remembered for %v", len(r), steadySpan)
}

func TestRatesOfNothingAreUnknown(t *testing.T) {
	var r Polls
	assert.That(t, r.After(nil, time.Second).Moves() == nil, "the first poll has movements")
	r = r.After(model.Moves{build.Ref("new"): {Depth: 3}}, time.Second)
	assert.That(t, !r.Moves()[build.Ref("new")].Out.Known(), "a rate is known though the count is not")
}
