package ui

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/dial"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/build"
	"github.com/dlxtop/dlxtop/model/findings"
	"github.com/dlxtop/dlxtop/model/polls"
	"github.com/dlxtop/dlxtop/ui/flows"
	"github.com/dlxtop/dlxtop/ui/picture"
	"github.com/dlxtop/dlxtop/ui/shell"
	"github.com/dlxtop/dlxtop/ui/term"
)

func (o Options) onFlow(t *testing.T, name string, size ...int) *terminal {
	t.Helper()
	return o.openWith(t, size, with(func(a *app) shell.Screen { return flows.NewFlowScreen(a.Env, ref(name)) }))
}

// movedBroker returns a broker, and the same one two seconds later, after messages moved.
func movedBroker() (before, after *model.Snapshot) {
	before = recording(
		exchange("direct", "out.exchange"), exchange("direct", "dlx.exchange"),
		queue("buffer-queue", ttl(5000), dlx("dlx.exchange"), deadKey("k"), ready(25)),
		bind("out.exchange", "o", "buffer-queue"),
		queue("worker-queue", consumers(1)), bind("dlx.exchange", "k", "worker-queue"),
	)

	after = later(before, 2*time.Second, map[string]int64{"buffer-queue": 20})
	queueIn(after, "worker-queue").Acked = build.Some(5)
	return before, after
}

func TestFlowMoves(t *testing.T) {
	before, after := movedBroker()
	o, _, _ := showing(before)
	o.Interval = time.Hour
	term := o.onFlow(t, "worker-queue").await("25 ready", "nothing moved while this is open")
	term.lacks(picture.MarkDot, "dots move though nothing does").source.tell(after)
	term.press(keyCtrlR).await("5 left buffer-queue, 5 arrived in worker-queue", "2.5/s", picture.MarkDot)
}

func TestFlowLeadsNowhere(t *testing.T) {
	atSizes(t, func(t *testing.T, width, height int) {
		s := recording(
			queue("wait", ttl(30_000), dlx("gone.exchange"), deadKey("k"), ready(3)),
			exchange("direct", "x"), queue("wait.retry", ttl(10_000), dlx("x"), deadKey("w"), ready(1)),
			queue("work", consumers(1)), bind("x", "w", "work"),
		)

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

		text := drawn(picture.Of(&flow, msg.Moment(newClock().now())), width)
		assert.Contains(t, text, term.MarkError)
		assert.Contains(t, text, "gone.exchange")
	})
}

// drawn returns a picture around the queue work.
func drawn(p *picture.Picture, width int) string {
	scene, ok := picture.WideLayout(p, width, ref("work"))
	if !ok {
		scene = picture.RailLayout(p, width, ref("work"))
	}
	return strings.Join(scene.Canvas.Render(0, scene.Canvas.Height), "\n")
}

func TestBufferThatIsAnExchange(t *testing.T) {
	s := recording(exchange("x-delayed-message", "later"), queue("work", consumers(1)), bind("later", "w", "work"))
	msg := shell.TopologyMsg{Topology: model.NewTopology(s)}
	flow := model.Flow{Name: "work", VHost: "/", Worker: model.Member{Queue: ref("work")}, Buffers: []*model.Buffer{
		{Role: model.DelayedBuffer, DLX: "later", Targets: []model.QueueRef{ref("work")}},
	}}
	p := picture.Of(&flow, msg.Moment(newClock().now()))
	got := p.Stations()
	must.Equal(t, len(got), 1, "the cursor passes %v", got)
	assert.Equal(t, got[0].Queue, ref("work"))

	for _, width := range []int{120, 80} {
		assert.Contains(t, drawn(p, width), "later", "the exchange is not drawn")
	}
}

func TestFlowCursor(t *testing.T) {
	term := failed(4).onFlow(t, "ucenter@user").await("▸ ucenter@user ")
	term.press(keyTab).await("▸ ucenter@user@retry ").press("j").await("▸ ucenter@user@failed ")
	term.press(keyTab).await("▸ ucenter@user ").press("f").await("4 messages", "ucenter@user › ucenter@user@failed")
	term.press("q").await("MOVED  ").press(keyTab, keyEnter).await("ucenter@user › ucenter@user@retry")
}

func TestFlowVanishes(t *testing.T) {
	o := failed(4)
	o.Interval = 10 * time.Millisecond
	term := o.onFlow(t, "ucenter@user", 80, 24).await("ucenter@user@retry")
	o.Source.(*recorded).tell(recording(queue("another")))
	term.await("this flow is no more", "ucenter@user@retry")
}

func TestFlowWithManyBuffers(t *testing.T) {
	parts := []build.Part{
		exchange("direct", "back"), queue("work", consumers(1)), bind("back", "work", "work"),
		queue("work.failed", ready(3)), queue("work.dead", ready(1)),
	}

	for i := range 30 {
		parts = append(parts, queue(fmt.Sprintf("work.delay.%02d", i), ttl(int64(i+1)*1000), dlx("back"),
			deadKey("work"), ready(int64(i))))
	}

	atSizes(t, func(t *testing.T, width, height int) {
		o, _, _ := showing(recording(parts...))
		o.Title = ""
		term := o.onFlow(t, "work", width, height).await("MOVED  ").press("g").await("▸ work.delay.00")
		for range 29 {
			term.press("j")
		}
		term.await("▸ work.delay.29").press("G").await("▸ work.failed  failed queue").awaitGone("reading the failed")
		term.golden()
	})
}

// The mark of a title that fills its column is in the gap before it, and nothing moves.
func TestSortMarkCutsNoTitle(t *testing.T) {
	term := busy().open(t).await("  WAITING  ").press("ss")
	term.awaitThat("the mark is there", regexp.MustCompile(` [▼▲]WAITING  `).MatchString)
}

// agreed finds numbers on a screen, and fails when they differ. It returns how many there are.
func (term *terminal) agreed(numbers *regexp.Regexp, screen string) int {
	term.t.Helper()
	found := numbers.FindAllStringSubmatch(screen, -1)
	for _, f := range found {
		a := strings.Join(f[1:], "")
		b := strings.Join(found[0][1:], "")
		must.That(term.t, a == b, "%s and %s on one screen:\n%s", b, a, screen)
	}

	return len(found)
}

// While messages fail, header, tab, list, picture and what is below and beside it show the same number. Polls are an
// hour apart here: a number that only they bring would differ.
func TestOneCountOnAScreen(t *testing.T) {
	storySizes(t, func(t *testing.T, width, height int) {
		o, channel := storyVHost(t, "ship")
		o.Interval = time.Hour
		failInto(t, channel, "ship.failed", "classic", "ValueError: no address", 1)
		dial.Publish(t, channel, "ship.failed", make([]amqp.Publishing, 699)...)
		screen := o.open(t, width, height).await("3 Failed 700", "700 ready")
		everywhere := regexp.MustCompile(`\b(70\d)\b`)

		least := 4
		for n := 701; n < 705; n++ {
			if n == 703 {
				everywhere = regexp.MustCompile(`3 Failed (70\d)|\b(70\d) (?:failed|ready|messages  )`)
				least = 2
				screen.press(keyEnter).await("MOVED  live")
			}

			dial.Publish(t, channel, "ship.failed", amqp.Publishing{})
			screen.awaitThat("the new count", func(s string) bool {
				return screen.agreed(everywhere, s) >= least && strings.Contains(s, fmt.Sprint("3 Failed ", n))
			})
		}
	})
}

// What moves through a buffer to a worker moves on the screen. The chart's rates are those of the box, and where dots
// move the screen does not say that nothing did.
func TestChartAndDotsAreOfThePicture(t *testing.T) {
	o, channel := storyVHost(t, "ship")
	dial.Queue(t, channel, "ship.delay", waitingFor(500, "ship"))
	failInto(t, channel, "ship.failed", "classic", "ValueError: no address", 1)
	works(t, o, "ship", acknowledge)
	ctx, cancel := context.WithCancel(t.Context())
	var publishes sync.WaitGroup
	publishes.Go(func() {
		tick := time.NewTicker(100 * time.Millisecond)
		defer tick.Stop()
		for ctx.Err() == nil {
			_ = channel.PublishWithContext(ctx, "", "ship.delay", false, false, amqp.Publishing{})
			<-tick.C
		}
	})

	defer func() { cancel(); publishes.Wait() }()
	screen := o.open(t).awaitThat("it moves", regexp.MustCompile(`[1-9]\d*\.\d/s out`).MatchString)
	screen.press(keyEnter).await(o.VHost+"/ship", "MOVED  ", "delayed 500ms", picture.MarkDot)
	rate := regexp.MustCompile(picture.MarkDot + `| (0\.[1-9]|[1-9]\d*\.\d)/s`)
	moving := func(s string) {
		must.That(t, !rate.MatchString(s) || !strings.Contains(s, "nothing moved"),
			"there are rates or dots, and nothing moved:\n%s", s)
	}

	screen.press("c").awaitThat("the rate is in the box and in the chart", func(s string) bool {
		moving(s)
		both := screen.agreed(regexp.MustCompile(`(\d+\.\d)/s out|out (\d+\.\d)/s`), s)
		return both == 2 && !strings.Contains(s, "out 0.0/s")
	})

	screen.press("c").awaitThat("it is delivered", func(s string) bool {
		moving(s)
		return strings.Contains(s, "delivered")
	})
}

func TestBufferWords(t *testing.T) {
	for _, tc := range must.Cases[struct {
		Buffers []struct {
			Role     model.Role
			TTL, Max string // "": of each message
		}
		InItself model.RetryDelays
		Want     string
	}](t, "testdata/buffer_words.toml") {
		flow := model.Flow{DelayedRetry: tc.InItself}
		for _, b := range tc.Buffers {
			buffer := model.Buffer{Role: b.Role}
			if ttl, err := time.ParseDuration(b.TTL); err == nil {
				buffer.TTL = model.Some(ttl)
			}
			if most, err := time.ParseDuration(b.Max); err == nil {
				buffer.MaxTTL = model.Some(most)
				buffer.Levels = make([]model.QueueRef, 2)
			}
			flow.Buffers = append(flow.Buffers, &buffer)
		}

		assert.Equal(t, shell.BufferWords(&flow), tc.Want)
	}
}

// The next due time is an upper bound, or unknown.
func TestNextDue(t *testing.T) {
	start := newClock().now()
	for _, tc := range must.Cases[struct {
		Name, Queue, TTL, Still, Want string
	}](t, "testdata/next_due.toml") {
		snapshot := build.Broker("", build.Text(tc.Queue))
		still, _ := time.ParseDuration(tc.Still)
		buffer := model.Buffer{Member: model.Member{Queue: ref("b")}, Role: model.RetryBuffer}
		if ttl, err := time.ParseDuration(tc.TTL); err == nil {
			buffer.TTL = model.Some(ttl)
		}

		flows := []model.Flow{{Worker: model.Member{Queue: ref("w")}, Buffers: []*model.Buffer{&buffer}}}
		h := polls.NewHistory()

		topology := model.NewTopology(snapshot)
		for at := time.Duration(0); at <= still; at += 2 * time.Second {
			h.Record(start.Add(at), topology, flows, model.Moves{ref("b"): {Went: build.Some(0)}})
		}
		msg := shell.TopologyMsg{Topology: topology, History: h}
		now := start.Add(still)
		assert.Equal(t, msg.Seen().Soonest(&flows[0], now).Words(now), tc.Want, "%s", tc.Name)
	}
}

// On a wide terminal, a flow shows the causes of failures in its own queues beside its picture. They are read if a look
// is free, and only while they are visible.
func TestFlowBesideItsCauses(t *testing.T) {
	term := failedQueues().onFlow(t, "ucenter@user", 80, 24).await("MOVED  ").settle()
	assert.Equal(t, term.broker.looksAt(failedQueue), 0, "without room for its causes the queue was looked at")
	term.resize(200, 50).await("1 failed queue   47 messages   47 read", "TimeoutError: smtp gateway did").settle()
	term.golden()
	assert.Equal(t, term.broker.looksAt("mail.failed"), 0, "a queue of another flow was looked at")
}

func TestFlowBesideWhatIsNotRead(t *testing.T) {
	o, b, source, _ := manyFailed()
	queueIn(source.snapshot, failedQueue).Type = model.Quorum
	o.onFlow(t, "ucenter@user").await("0 of 47 read", "no messages were read", "not read: 47 of ")
	assert.Equal(t, b.looksAt(failedQueue), 0, "it was looked at")
}

// Below its picture a flow shows what failed, in the queue under the cursor if there are several. If a look has a cost,
// it says so, and only a key reads.
func TestFlowAboveItsCauses(t *testing.T) {
	storySizes(t, func(t *testing.T, width, height int) {
		o, channel := storyVHost(t, "ship")
		failInto(t, channel, "ship.failed", "classic", "ValueError: no address", 3)
		failInto(t, channel, "ship.dead", "quorum", "TimeoutError: too late", 2)
		screen := o.open(t, width, height).await("3 Failed 5").press(keyEnter).await("ValueError: no address")
		screen.awaitThat("the other queue is read, or has a cost", func(s string) bool {
			return strings.Contains(s, "TimeoutError") || strings.Contains(s, "i reads 2, at a cost")
		})

		if !strings.Contains(screen.screen(), "TimeoutError") { // before 4.3
			screen.await("3 of 5 read", "a look has a cost: ")
			screen.press("i").await("Read 1 failed queue", "uses 1 of its delivery limit")
			screen.press(keyEsc).awaitGone("Read 1 failed queue").await("i reads 2, at a cost")
			screen.press("i").await("Read 1 failed queue").press(keyEnter)
		}

		screen.await("2 failed queues   5 messages   5 read", "TimeoutError: too late").press("G")
		screen.awaitThat("only the causes of the queue under the cursor", func(s string) bool {
			return strings.Contains(s, "ship.failed of 2 failed queues") && !strings.Contains(s, "TimeoutError")
		})
	})
}

// Messages are seen moving before any key is pressed, and nothing is counted for a picture without room.
func TestHomeMoves(t *testing.T) {
	o, b := countedOptions()
	term := o.open(t).await("MOVED/s", "25 ready", "╭ ")
	term.awaitThat("it is counted", func(string) bool { return b.times() > 1 })
	left, asked := int64(25), b.times()
	term.awaitThat("messages move, one a count", func(screen string) bool {
		if n := b.times(); n > asked && left > 0 {
			asked, left = n, left-1
			b.set(nil, map[string]int64{"buffer-queue": left, "worker-queue": 25 - left})
		}
		return strings.Contains(screen, picture.MarkDot)
	})

	b.set(nil, map[string]int64{"buffer-queue": 3, "worker-queue": 22})
	term.await("3 ready", "22 ready").resize(200, 50).await("3 ready", "22 ready")
	sideBySide := regexp.MustCompile(`MOVED/s.*│── worker-queue`)
	term.awaitThat("list and picture stand side by side", sideBySide.MatchString)
}

func TestHomeFollowsTheCursor(t *testing.T) {
	term := busy().open(t).await("example.delay.life  ")
	term.press("j").await("ucenter@user@retry ─", "via master.retry").awaitGone("example.delay.life ─")
	term.press("/", "user-monitor", keyEnter).await("▸ user-monitor ─")
}

// The header of a production context has its own colour, and the word where there are no colours.
func TestProductionIsSeen(t *testing.T) {
	o := busy()
	o.Production = true
	header := func(o Options) (line, production string) {
		a := newApp(t.Context(), o)
		a.width, a.height = 120, 36
		production, _, _ = strings.Cut(term.Production.Under("x"), "x")
		return a.headerLine(), production
	}

	line, opened := header(o)
	assert.Contains(t, line, "prod production", "the header")
	plain, _ := header(busy())
	assert.That(t, strings.HasPrefix(line, opened), "production looks like anything else: %q, %q", line, plain)
	assert.That(t, !strings.HasPrefix(plain, opened), "production looks like anything else: %q, %q", line, plain)
}
