package ui

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/muesli/termenv"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/findings"
	"github.com/dlxtop/dlxtop/ui/flows"
	"github.com/dlxtop/dlxtop/ui/picture"
	"github.com/dlxtop/dlxtop/ui/shell"
	"github.com/dlxtop/dlxtop/ui/term"
)

func onFlow(t *testing.T, o Options, name string, width, height int) *terminal {
	t.Helper()
	return newTerminal(t, o, width, height, func(a *app) {
		a.tabs[0].stack = append(a.tabs[0].stack, a.env.NewPage(flows.NewFlowScreen(a.env, ref(name))))
	})
}

func TestFlowGolden(t *testing.T) {
	for _, worker := range []string{"ucenter@user", "worker-queue", "RetryQueue"} {
		t.Run(worker, func(t *testing.T) {
			atSizes(t, func(t *testing.T, width, height int) {
				o, _, _ := failedOptions(47)
				term := onFlow(t, o, worker, width, height)
				term.await("MOVED  ")
				term.awaitGone("reading the failed")
				term.golden()
			})
		})
	}
}

// movedBroker is a broker and the same one two seconds later, when messages had passed.
func movedBroker() (before, after *model.Snapshot) {
	before = recording(
		exchange("direct", "out.exchange"), exchange("direct", "dlx.exchange"),
		queue("buffer-queue", ttl(5000), dlx("dlx.exchange"), deadKey("k"), ready(25)),
		bind("out.exchange", "o", "buffer-queue"),
		queue("worker-queue", consumers(1)), bind("dlx.exchange", "k", "worker-queue"),
	)
	after = later(before, 2*time.Second, map[string]int64{"buffer-queue": 20})
	for i := range after.Queues {
		if q := &after.Queues[i]; q.Name == "worker-queue" {
			q.Acked = model.Some[int64](5)
		}
	}
	return before, after
}

func TestFlowMoves(t *testing.T) {
	before, after := movedBroker()
	source := &recorded{snapshot: before}
	c := newClock()
	o := Options{Source: source, Broker: newRecordedBroker(c), Now: c.now, Interval: time.Hour}
	term := onFlow(t, o, "worker-queue", 120, 36)
	term.await("25 ready", "nothing moved while this is open")
	if strings.Contains(term.screen(), picture.MarkDot) {
		t.Errorf("dots move though nothing does:\n%s", term.screen())
	}
	source.tell(after)
	term.press(keyCtrlR)
	term.await("5 left buffer-queue, 5 arrived in worker-queue", "2.5/s", picture.MarkDot)
}

func TestFlowLeadsNowhere(t *testing.T) {
	atSizes(t, func(t *testing.T, width, height int) {
		s := recording(
			queue("wait", ttl(30_000), dlx("gone.exchange"), deadKey("k"), ready(3)),
			exchange("direct", "x"), queue("wait.retry", ttl(10_000), dlx("x"), deadKey("w"), ready(1)),
			queue("work", consumers(1)), bind("x", "w", "work"),
		)
		c := newClock()
		msg := shell.TopologyMsg{Topology: model.NewTopology(s)}
		msg.Findings = findings.Of(msg.Topology)
		flow := model.Flow{Name: "work", VHost: "/", Worker: model.Member{Queue: ref("work")}, Buffers: []*model.Buffer{
			{
				Member: model.Member{Queue: ref("wait")}, Role: model.DelayedBuffer, DLX: "gone.exchange",
				TTL: model.Some(30 * time.Second),
			},
			{
				Member: model.Member{Queue: ref("wait.retry")}, Role: model.RetryBuffer, DLX: "x",
				Targets: []model.QueueRef{ref("work")},
			},
		}}
		p := picture.Of(&flow, msg.Moment(c.now()))
		sc, ok := picture.WideLayout(p, width, ref("work"))
		if !ok {
			sc = picture.RailLayout(p, width, ref("work"))
		}
		text := strings.Join(sc.Canvas.Render(term.NewStyles(term.Mono, termenv.Ascii), 0, sc.Canvas.Height), "\n")
		assert.That(t, strings.Contains(text, term.MarkError) && strings.Contains(text, "gone.exchange"),
			"the dead end is not told:\n%s", text)
	})
}

func TestBufferThatIsAnExchange(t *testing.T) {
	s := recording(exchange("x-delayed-message", "later"), queue("work", consumers(1)), bind("later", "w", "work"))
	msg := shell.TopologyMsg{Topology: model.NewTopology(s)}
	flow := model.Flow{Name: "work", VHost: "/", Worker: model.Member{Queue: ref("work")}, Buffers: []*model.Buffer{
		{Role: model.DelayedBuffer, DLX: "later", Targets: []model.QueueRef{ref("work")}},
	}}
	p := picture.Of(&flow, msg.Moment(newClock().now()))
	got := p.Stations()
	assert.That(t, len(got) == 1 && got[0].Queue == ref("work"), "the cursor passes %v", got)
	for _, width := range []int{120, 80} {
		sc, ok := picture.WideLayout(p, width, ref("work"))
		if !ok {
			sc = picture.RailLayout(p, width, ref("work"))
		}
		assert.Contains(t, strings.Join(sc.Canvas.Render(term.NewStyles(term.Mono, termenv.Ascii), 0, sc.Canvas.Height),
			"\n"), "later", "the exchange is not drawn")
	}
}

func TestFlowCursor(t *testing.T) {
	o, _, _ := failedOptions(4)
	term := onFlow(t, o, "ucenter@user", 120, 36)
	term.await("▸ ucenter@user ")
	term.press(keyTab)
	term.await("▸ ucenter@user@retry ")
	term.press("j")
	term.await("▸ ucenter@user@failed ")
	term.press(keyTab)
	term.await("▸ ucenter@user ")
	term.press("f")
	term.await("4 messages", "ucenter@user › ucenter@user@failed")
	term.press("q")
	term.await("MOVED  ")
	term.press(keyTab, keyEnter)
	term.await("ucenter@user › ucenter@user@retry")
}

func TestFlowVanishes(t *testing.T) {
	o, _, _ := failedOptions(4)
	o.Interval = 10 * time.Millisecond
	term := onFlow(t, o, "ucenter@user", 80, 24)
	term.await("ucenter@user@retry")
	o.Source.(*recorded).tell(recording(queue("another")))
	term.await("this flow is no more", "ucenter@user@retry")
}

func TestFlowWithManyBuffers(t *testing.T) {
	parts := []told{
		exchange("direct", "back"), queue("work", consumers(1)), bind("back", "work", "work"),
		queue("work.failed", ready(3)), queue("work.dead", ready(1)),
	}
	for i := range 30 {
		parts = append(parts, queue(fmt.Sprintf("work.delay.%02d", i), ttl(int64(i+1)*1000), dlx("back"),
			deadKey("work"), ready(int64(i))))
	}
	atSizes(t, func(t *testing.T, width, height int) {
		c := newClock()
		o := Options{Source: &recorded{snapshot: recording(parts...)}, Broker: newRecordedBroker(c), Now: c.now}
		term := onFlow(t, o, "work", width, height)
		term.await("MOVED  ")
		term.press("g")
		term.await("▸ work.delay.00")
		for range 29 {
			term.press("j")
		}
		term.await("▸ work.delay.29")
		term.press("G")
		term.await("▸ work.failed  failed queue")
		term.awaitGone("reading the failed")
		term.golden()
	})
}

// TestSortMarkCutsNoTitle: the mark of a title that fills its column stands in the gap before it, and nothing is moved.
func TestSortMarkCutsNoTitle(t *testing.T) {
	source := &recorded{snapshot: busyBroker()}
	term := newTerminal(t, frozen(source), 120, 36)
	term.await("  WAITING  ")
	term.press("ss")
	term.awaitThat("the mark is there", func(screen string) bool {
		return strings.Contains(screen, " ▼WAITING  ") || strings.Contains(screen, " ▲WAITING  ")
	})
}
