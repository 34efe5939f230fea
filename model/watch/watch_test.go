package watch

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

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

	for q := range model.Each(s.Queues) {
		p.queues[q.Name] = q
		p.ready[q.Name] = q.Ready.Or(0)
		q.Published, q.Acked = build.Some(0), build.Some(0)
	}

	t := model.NewTopology(s)
	p.watch = New(t, &t.Flows()[0])
	p.count()
	p.poll()
	return p
}

func (p *played) count() {
	c := model.Counts{At: p.start.Add(p.at), Queues: model.CountsByQueue{}}
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

// step is a line of a case: something that happens to a queue, with a number at its end, or time that passes.
func (p *played) step(t *testing.T, line string) {
	words := strings.Fields(line)
	name, last := words[1], words[len(words)-1]
	if words[0] == "pass" {
		p.pass(must.Get(time.ParseDuration(last))(t))
		return
	}
	n := must.Get(strconv.ParseInt(last, 10, 64))(t)
	q := p.queues[name]

	switch words[0] {
	case "put":
		p.put(name, n)
	case "move":
		p.move(name, words[2], n)
	case "change":
		p.ready[name] += n
	case "held":
		p.held[name] = n > 0
	case "unseen":
		p.unseen[name] = true
	case "unacked":
		q.Unacked = model.Some(n)
	case "delivered":
		q.Delivered = model.Some(n)
	case "acked":
		q.Acked = model.Some(n)
	default:
		t.Fatalf("an unknown step: %s", line)
	}
}

func TestWatch(t *testing.T) {
	type movements struct {
		Name        string
		Parts       build.Part
		Steps, Want []string
	}

	must.Run(t, "testdata/watch.toml", func(t *testing.T, test movements) {
		p := play(test.Parts)
		for _, line := range test.Steps {
			p.step(t, line)
		}
		assert.Same(t, test.Want, p.log())
	})
}

// A publishers' total that is ahead of the counts is not believed before a count could see it.
func TestWatchWaitsForTheCount(t *testing.T) {
	p := play(line()...).pass(14*time.Second).put("delay", 9).pass(time.Second)
	p.put("delay", 1).at += everyCount / 2
	p.poll() // reports ten already
	p.at -= everyCount / 2
	p.pass(4 * time.Second)
	assert.List(t, p.log(), []string{"14.2 9 arrived in delay", "15.2 1 arrived in delay"})
}

func TestWatchOfAQueueThatIsDeclaredAgain(t *testing.T) {
	p := play(line(build.TTL(20_000))...).put("delay", 5).pass(3500 * time.Millisecond)
	p.ready["delay"], p.queues["delay"].Published = 0, model.Unknown[int64]()
	p.pass(16 * time.Second)
	assert.List(t, p.log(), []string{
		"0.2 5 arrived in delay", "3.8 5 left delay, which was deleted and declared again",
	})
}

// Without statistics nothing is called lost.
func TestWatchWithoutStatistics(t *testing.T) {
	p := play(build.Text(`
		queue w consumers=1
		buffer delay w 2000
	`))
	p.snapshot.Overview.StatsOff = true
	p.put("delay", 5).pass(2*time.Second).move("delay", "", 5).pass(30 * time.Second)
	assert.List(t, p.log(), []string{"0.2 5 arrived in delay", "2.2 5 left delay for w after 2.0s"})
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
	assert.Same(t, want, p.log())
}

// If publishers use the worker's own retry buffer, it is unknown which messages are new.
func TestWatchShowsNoLoopWhereAllComesTheSameWay(t *testing.T) {
	p := play(build.Text(`
		queue w consumers=1
		buffer w.retry w 3000
	`))
	must.Equal(t, p.watch.places[build.Ref("w.retry")].role, model.RetryBuffer, "the role")
	p.pass(time.Second).put("w.retry", 3).pass(time.Second)
	assert.Same(t, []string{"1.2 3 came into w.retry, new or sent again"}, p.log())
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
		moves := model.Moves{build.Ref("q"): {Came: build.Some(0), Went: model.Some(went), Gone: model.Some(went)}}
		r = r.After(moves, 2*time.Second)
		rate, ok := r.Moves()[build.Ref("q")].Out.Get()
		must.That(t, ok, "poll %d: the rate is not known", i)
		assert.That(t, i < 5 || rate >= 7 && rate <= 13, "poll %d: %.1f/s left, want about 10", i, rate)
	}

	assert.Equal(t, r.Moves()[build.Ref("q")].Went.Or(-1), 0, "left since the last poll")
	assert.Equal(t, r.Moves()[build.Ref("q")].GoneLate, 50, "of 100 that no consumer took, in the 6th and the 10th second")
	assert.That(t, len(r) <= 7, "%d polls are remembered for %v", len(r), steadySpan)
}

func TestRatesOfNothingAreUnknown(t *testing.T) {
	var r Polls
	assert.That(t, r.After(nil, time.Second).Moves() == nil, "the first poll has movements")
	r = r.After(model.Moves{build.Ref("new"): {Depth: 3}}, time.Second)
	assert.That(t, !r.Moves()[build.Ref("new")].Out.Known(), "a rate is known though the count is not")
}
