package ui

import (
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/ui/picture"
	"github.com/dlxtop/dlxtop/ui/shell"
)

// countedBroker is a broker that is counted: what is in its queues changes while a clock goes on with each count.
type countedBroker struct {
	mu    sync.Mutex
	clock *clock
	ready map[string]int64
	err   error
	asked int
	last  []model.QueueRef
}

func (b *countedBroker) count(refs []model.QueueRef) (map[model.QueueRef]model.QueueCounts, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.asked++
	b.last = refs
	b.clock.advance(250 * time.Millisecond)
	counts := map[model.QueueRef]model.QueueCounts{}
	for _, r := range refs {
		if n, ok := b.ready[r.Name]; ok {
			counts[r] = model.QueueCounts{Ready: model.Some(n), Consumers: model.Some[int64](0)}
		}
	}
	return counts, b.err
}

func (b *countedBroker) set(err error, ready map[string]int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.err, b.ready = err, ready
}

func (b *countedBroker) times() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.asked
}

// countedOptions are those for movedBroker, whose queues are counted.
func countedOptions() (Options, *countedBroker) {
	before, _ := movedBroker()
	c := newClock()
	b := &countedBroker{clock: c, ready: map[string]int64{"buffer-queue": 25, "worker-queue": 0}}
	for i := range before.Queues { // a TTL that the test need not obey
		delete(before.Queues[i].Arguments, "x-message-ttl")
	}
	broker := newRecordedBroker(c)
	broker.count = b.count
	return Options{Source: &recorded{snapshot: before}, Broker: broker, Now: c.now, Interval: time.Hour}, b
}

// counting opens the flow of movedBroker, whose queues are counted.
func counting(t *testing.T, width, height int) (*terminal, *countedBroker) {
	t.Helper()
	o, b := countedOptions()
	return onFlow(t, o, "worker-queue", width, height), b
}

func TestAFlowIsCounted(t *testing.T) {
	term, b := counting(t, 120, 36)
	term.await("25 ready", "live, 4 counts a second")
	b.set(nil, map[string]int64{"buffer-queue": 30, "worker-queue": 0})
	term.await("5 arrived in buffer-queue", "30 ready")
	b.set(nil, map[string]int64{"buffer-queue": 22, "worker-queue": 8})
	term.await("8 left buffer-queue, 8 arrived in worker-queue", "22 ready", "8 ready", picture.MarkDot)
}

func TestCountsStopWhenNobodyLooks(t *testing.T) {
	term, b := counting(t, 120, 36)
	still := func(why string) {
		t.Helper()
		term.settle()
		term.awaitInside("neither a count nor the wait for one "+why, func(a app) bool {
			return a.counters[0].inFlight == 0 && a.counters[0].timer == 0
		})
		asked := b.times()
		term.program.Send(tea.WindowSizeMsg{Width: 120, Height: 36}) // each message may begin a count
		term.settle()
		got := b.times()
		assert.That(t, got == asked, "counted %d times %s", got-asked, why)
	}
	term.await("live, 4 counts a second")
	term.press("2")
	term.await("QUEUE")
	still("while another tab is seen")
	term.press("1")
	term.awaitThat("it is counted again", func(string) bool { return b.times() > 6 })
	term.press("p")
	term.await("paused")
	still("while paused")
	term.press("p")
	asked := b.times()
	term.awaitThat("it is counted again", func(string) bool { return b.times() > asked+2 })
}

func TestACountThatFailsIsToldAndTriedSlower(t *testing.T) {
	t.Parallel()
	term, b := counting(t, 120, 36)
	term.await("live, 4 counts a second")
	b.set(errors.New("the connection \x1b[2Jto the broker was lost"), nil)
	term.await("followed by polls only: the connection", "25 ready")
	began, asked := time.Now(), b.times()
	term.awaitThat("two more counts", func(string) bool { return b.times() >= asked+2 })
	if took := time.Since(began); took < time.Second/2 { // a storm would have asked twice in half a second
		t.Errorf("asked twice in %v after an error", took)
	}
	b.set(nil, map[string]int64{"buffer-queue": 7})
	term.await("live, 4 counts a second", "7 ready")
}

// Queues that a passive declare would touch, or is refused for, are counted by totals; streams by neither.
func TestHowQueuesAreCounted(t *testing.T) {
	c := newClock()
	b := &countedBroker{clock: c, ready: map[string]int64{}}
	broker := newRecordedBroker(c)
	broker.count = b.count
	source := &recorded{snapshot: recording(
		queue("work", consumers(1)), queue("own", exclusive(), ttl(1000), dlx(""), deadKey("work"), ready(3)),
		queue("lease", ttl(2000), dlx(""), deadKey("work"),
			func(q *model.Queue) { q.Arguments["x-expires"] = int64(60_000) }),
		queue("plain", ttl(3000), dlx(""), deadKey("work")),
	)}
	term := onFlow(t, Options{Source: source, Broker: broker, Now: c.now, Interval: time.Hour}, "work", 120, 36)
	term.await("live, 4 counts a second")
	term.awaitThat("totals were asked for", func(string) bool {
		source.mu.Lock()
		defer source.mu.Unlock()
		return source.counted > 1
	})
	b.mu.Lock()
	defer b.mu.Unlock()
	assert.That(t, model.Plural(len(b.last), "queue") == "2 queues" && b.last[0] == ref("plain") &&
		b.last[1] == ref("work"), "declared passively: %v", b.last)
}

func TestChart(t *testing.T) {
	atSizes(t, func(t *testing.T, width, height int) {
		term, b := counting(t, width, height)
		term.await("live, 4 counts a second")
		for i := range int64(8) {
			b.set(nil, map[string]int64{"buffer-queue": 25 - 3*i, "worker-queue": 3 * i})
			asked := b.times()
			term.awaitThat("it was counted", func(string) bool { return b.times() > asked+1 })
		}
		term.press("c", "g")
		term.await("LAST 5 MINUTES  buffer-queue", "5m ago", "now", "MOVED", "0┤", "out ")
		for _, line := range strings.Split(term.screen(), "\n") {
			assert.That(t, !strings.Contains(line, "in 1") || strings.Contains(line, picture.MarkUnknown),
				"what was not known is drawn: %s", line)
		}
		term.press("c")
		term.awaitGone("LAST 5 MINUTES")
	})
}

// A broker that takes long is not asked all the time.
func TestPace(t *testing.T) {
	poll := shell.Pace{Least: 2 * time.Second, Most: slowestPoll, Share: pollShare - 1}
	for took, want := range map[time.Duration]time.Duration{
		50 * time.Millisecond: 2 * time.Second, 2 * time.Second: 38 * time.Second,
		6 * time.Second: 114 * time.Second, time.Minute: slowestPoll,
	} {
		assert.Equal(t, poll.Every(took), want, "a poll that takes %v is made every", took)
	}
	assert.Equal(t, shell.DeclarePace.Every(time.Millisecond), 250*time.Millisecond, "counted every")
	assert.Equal(t, shell.DeclarePace.Every(200*time.Millisecond), 800*time.Millisecond,
		"over a slow line counted every")
}
