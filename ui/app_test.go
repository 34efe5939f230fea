package ui

import (
	"errors"
	"strings"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/x/ansi"
	"pgregory.net/rapid"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/build"
	"github.com/dlxtop/dlxtop/model/findings"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/model/polls"
	"github.com/dlxtop/dlxtop/model/trouble"
	"github.com/dlxtop/dlxtop/model/watch"
	"github.com/dlxtop/dlxtop/ui/flows"
	"github.com/dlxtop/dlxtop/ui/shell"
	"github.com/dlxtop/dlxtop/ui/term"
)

// frozen returns options under which nothing happens by itself: no time passes and there is no second poll.
func frozen(source shell.Source) Options {
	return Options{Source: source, Title: "prod", Interval: time.Hour, Now: newClock().now, DotStep: time.Hour}
}

// busy are frozen options of the busy broker.
func busy() Options { return frozen(&recorded{snapshot: busyBroker()}) }

// lively returns options for tests of the polling.
func lively(source shell.Source, c *clock) Options {
	return Options{Source: source, Title: "prod", Interval: 10 * time.Millisecond, Now: c.now}
}

func TestNothingToShow(t *testing.T) {
	term := frozen(&recorded{snapshot: recording(queue("lonely"))}).open(t, 80, 24)
	term.await("No flows here.", "Looked at 1 queue and 1 exchange in vhost /.", "dlxtop demo")
	term.press("3").await("No failed queues.").press("4").await("No findings.")
}

// Where there are only findings of level info, the header counts them as the tab does, at every width.
func TestHeaderAgreesWithTheTabOfFindings(t *testing.T) {
	for _, width := range []int{60, 80, 99, 100, 120} {
		term := frozen(&recorded{snapshot: recording(build.Text("quorum lonely"))}).open(t, width, 24)
		term.await(shell.LevelMark(findings.LevelInfo)+" 1", "4 Findings 1")
		term.lacks("no findings", "the tab has a number")
	}
}

func TestTooSmall(t *testing.T) {
	term := busy().open(t, 60, 10).await("dlxtop needs 60 x 16, this is 60 x 10.")
	term.press("4").settle() // ignored, as the screen would not show its effect
	term.resize(80, 24).await("FLOW", "ucenter@user").resize(1, 1).resize(60, 10).await("dlxtop needs").press("q")
	term.awaitEnd()
}

// At 60 x 16 each screen has its rows, its tabs and a way out.
func TestSmallestTerminal(t *testing.T) {
	term := busy().open(t, 60, 16)
	for _, test := range []struct{ keys, has string }{
		{"", "ucenter@user"},
		{keyEnter, "q back"},
		{"q2", "READY"},
		{"3f", "FAILED QUEUE"},
		{"4", "WHERE"},
		{keyEnter, "q back"},
		{"q5", "There is no journal"},
	} {
		term.press(test.keys).await(test.has, "1 Flows", "5 Journal", ": command")
	}
}

// On a small terminal the help and the suggestions of a command line go on below what is seen.
func TestHelpAndPaletteScroll(t *testing.T) {
	term := busy().open(t, 60, 16).await("ucenter@user")
	term.press("?").await("on flows", "Open what is under the cursor").press("G").await("ctrl-z", "Suspend")
	term.press("g").await("on flows").press("?").awaitGone("on flows")
	term.press(":").await("flow FLOW", "more").press(keyDown, keyDown, keyDown, keyDown, keyDown, keyDown, keyDown)
	term.await("▸ find TEXT").press(keyUp).await("▸ queue QUEUE")
}

func TestResize(t *testing.T) {
	term := busy().open(t).await("NEXT DUE", "LAST 5 MIN")
	term.resize(80, 24).awaitGone("LAST 5 MIN").await("FAILED", "q quit").resize(150, 50).await("LAST 5 MIN")
}

func TestControlCQuitsFromAnywhere(t *testing.T) {
	for _, keys := range []string{"", "/ab", ":fl", "?", "2s", "4" + keyEnter} {
		term := busy().open(t, 80, 24).await("ucenter@user")
		term.press(keys, keyCtrlC)
		term.awaitEnd()
	}
}

func TestLostBrokerComesBackByItself(t *testing.T) {
	c := newClock()
	source := &recorded{snapshot: busyBroker()}
	term := lively(source, c).open(t).await("live")
	source.fail(&trouble.Error{
		Kind: trouble.Unreachable, Cause: "nothing listens on mq1:15672",
		Next: "start RabbitMQ, or name another broker with --api",
	})

	term.await("! lost 0s  retry in 1s", "nothing listens on mq1:15672: start RabbitMQ",
		"stale: this is how it was at 03:04:05", "1,204")
	c.advance(12 * time.Second)
	term.await("lost 12s", "12s ago")
	source.tell(busyBroker())
	term.await("live").awaitGone("stale").awaitGone("nothing listens")
}

func TestNeverReached(t *testing.T) {
	source := &recorded{err: &trouble.Error{
		Kind:  trouble.BadCredentials,
		Cause: "mq1:15672 does not accept user guest", Next: "check user and password",
	}}

	term := lively(source, newClock()).open(t, 80, 24)
	term.await("mq1:15672 does not accept user guest", "check user and password", "lost")
	source.fail(errors.New("an answer with \x1b[2Jescapes"))
	term.await("escapes", "dlxtop asks again by itself")
	source.tell(busyBroker())
	term.await("ucenter@user")
}

func TestPauseStopsThePolling(t *testing.T) {
	c := newClock()
	source := &hanging{recorded: recorded{snapshot: busyBroker()}, turn: make(chan struct{})}
	term := lively(source, c).open(t)
	source.turn <- struct{}{}
	term.await("ucenter@user").press("p")
	term.await("paused, ") // its initial age depends on how long it took
	c.advance(9 * time.Minute)
	term.await("paused, 9m")
	term.press(keyCtrlR) // a read may have been in flight when the pause came: then this is that one
	term.settle()
	source.turn <- struct{}{}
	term.awaitGone("9m").await("paused, ")
	c.advance(9 * time.Minute)
	term.await("paused, 9m")

	select {
	case source.turn <- struct{}{}:
		t.Error("it asks while it is paused")
	default:
	}

	term.press("p")
	source.turn <- struct{}{} // it asks again
	term.awaitGone("paused")
}

// The cursor stays on its queue, and on its line, when a poll changes the order; if its queue vanishes there is no
// cursor.
func TestPollDoesNotMoveTheCursor(t *testing.T) {
	before := manyQueues(200)
	source := &recorded{snapshot: before}
	term := frozen(source).open(t).await("service.00064")
	term.press("2", "ssss") // by READY, highest first
	term.await("▼READY").press("g", "jjjjjjj").settle()
	row := strings.Fields(term.cursorRow())
	name := row[1]
	source.tell(later(before, time.Second, map[string]int64{name: 5}))
	term.press(keyCtrlR)

	term.awaitThat("the cursor is still on "+name, func(string) bool {
		row := strings.Fields(term.cursorRow())
		return len(row) > 4 && row[1] == name && row[4] == "5"
	})

	source.tell(without(later(before, 2*time.Second, nil), name))
	term.press(keyCtrlR).await("no queue at the cursor")
	term.press(keyEnter) // hits nothing
	term.settle().await("no queue at the cursor").press("j").awaitGone("no queue at the cursor")
}

func TestFilterSortAndBack(t *testing.T) {
	term := frozen(&recorded{snapshot: manyQueues(300)}).open(t).await("service.00064")
	term.press("2", "/", "00008").await("3 of 300", "service.00008@retry").press(keyEnter).await("esc clears")
	term.press(keyEsc).awaitGone("esc clears")
	term.await("of 300 ──") // all again, and the cursor still on its queue
	term.press("q")
	term.awaitEnd()
}

// Keys that come faster than the program reads are delivered together; each still works.
func TestQuickKeys(t *testing.T) {
	term := frozen(&recorded{snapshot: manyQueues(300)}).open(t).await("service.00064")
	term.press("2jjjjkk/plain").await("/ plain", "of 300").press(keyEsc).awaitGone("/ plain")
	term.press("4", "1", ":que"+keyEnter).await("UNACKED")
}

func TestHostileNames(t *testing.T) {
	evil := "evil\x1b[2J\x1b]0;title\x07\u202egnp\u0000\n日本語"
	s := recording(
		exchange("fanout", "x\x1b[31m"), queue(evil, consumers(0), ready(3)), bind("x\x1b[31m", "", evil),
		queue("buffer\x9b2J", ttl(5000), dlx("x\x1b[31m"), ready(2)),
	)

	s.Overview.Node = "rabbit\x1b[2J"
	o := frozen(&recorded{snapshot: s})
	o.Title = "title\x1b[2J"
	term := o.open(t)
	for _, keys := range []string{"1", "2", "3", "4", "1/evil\u202e" + keyEnter} {
		term.press(keys).settle()
		screen := term.screen()
		must.Contains(t, screen, "dlxtop", "%v", keys)
		must.Contains(t, screen, "1 Flows", "%v", keys)
		must.Contains(t, screen, "q quit", "%v", keys)
		must.That(t, !strings.ContainsAny(screen, "\x1b\x07\u202e\u009b"),
			"after %q something unprintable is on the screen:\n%q", keys, screen)
	}
}

// A publisher's timestamp dates the arrival of a message in a delayed buffer, but not in a retry buffer: it was
// elsewhere before.
func TestTheHeadsTimestampDatesOnlyDelayedBuffers(t *testing.T) {
	now := time.Date(2026, 3, 1, 3, 4, 5, 0, time.UTC)
	q := &model.Queue{
		QueueRef: ref("b"), Ready: build.Some(1), Consumers: build.Some(0), CountedAt: now,
		HeadTimestamp: model.Some(now.Add(-10 * time.Second)),
	}

	topology := model.NewTopology(recording(queue("b", func(to *model.Queue) { *to = *q })))
	msg := shell.TopologyMsg{Topology: topology}
	for role, want := range map[model.Role]string{model.DelayedBuffer: "21s", model.RetryBuffer: "≤ 30s"} {
		// A timestamp is truncated to whole seconds: it is 20 to 21 s.
		buffer := model.Buffer{Member: model.Member{Queue: q.QueueRef}, Role: role, TTL: model.Some(30 * time.Second)}
		assert.Equal(t, msg.Head(&buffer, now).Words(now), want, "%s", role)
	}
}

// A known bound stays known when a flow is opened, peeked at, peeked at again, and closed: each of them knows less
// about earlier times than the polls.
func TestABoundGetsNoWorse(t *testing.T) {
	s := recording(
		queue("w", consumers(1), dlx(""), deadKey("w.retry")),
		queue("w.retry", ttl(60_000), dlx(""), deadKey("w"), ready(2)),
	)

	o, broker, c := showing(s)
	source := o.Source.(*recorded)
	o.Interval = time.Hour

	broker.count = func([]model.QueueRef) (model.CountsByQueue, error) {
		return model.CountsByQueue{
			ref("w.retry"): {Ready: build.Some(2), Consumers: build.Some(0)},
		}, nil
	}

	broker.put("w.retry", message.Message{RoutingKey: "a"}, message.Message{RoutingKey: "b"})
	term := o.open(t)

	again := func(after time.Duration) {
		c.advance(after)
		n := source.times()
		source.tell(countedAt(c, later(s, c.now().Sub(s.TakenAt), nil)))
		term.press(keyCtrlR).awaitThat("another poll", func(string) bool { return source.times() > n }).settle()
	}

	term.await("≤ 1m")
	again(20 * time.Second)
	term.await("≤ 40s").press(keyEnter).await("live, 4 counts a second", "head due in ≤ 40s")
	again(time.Second)
	term.await("head due in ≤ 39s").press("j", keyEnter)
	term.await("≤ 39s", "≤ 1m") // the second one was not at the head
	c.advance(9 * time.Second)
	term.press(keyCtrlR).awaitThat("another look", func(string) bool { return broker.peeked() == 2 }).settle()
	term.await("≤ 30s", "≤ 51s").press("q").await("head due in ≤ 30s").press("q").await("≤ 30s")
}

// What counts saw of a head is known for as long as nothing leaves: even when polls know it only later, and no longer
// remember that time.
func TestWhatPollsAndCountsKnow(t *testing.T) {
	at := func(second int) time.Time { return newClock().now().Add(time.Duration(second) * time.Second) }
	moment := func(second int) time.Time {
		if second < 0 {
			return time.Time{}
		}
		return at(second)
	}
	arrival := func(seconds [2]int) polls.Arrival {
		return polls.Arrival{After: moment(seconds[0]), Since: moment(seconds[1])}
	}

	for _, test := range must.Cases[struct {
		Name        string
		Polls, Want [2]int // after, since
		Head        [3]int // after, by, left
	}](t, "testdata/heads.toml") {
		head := watch.Head{After: moment(test.Head[0]), By: moment(test.Head[1]), Left: moment(test.Head[2])}
		assert.Equal(t, arrival(test.Polls).With(head), arrival(test.Want), "%s", test.Name)
	}

	h := polls.NewHistory()
	flows := []model.Flow{{Worker: model.Member{Queue: ref("q")}}}
	topology := model.NewTopology(recording(queue("q", ready(1))))
	for second := range 600 {
		h.Record(at(second), topology, flows, model.Moves{ref("q"): {Went: build.Some(0)}})
	}

	got := h.HeadArrived(at(600), ref("q"))
	assert.Equal(t, got.Since, at(0), "after ten minutes it is there since")
}

// The bound on the next due time shrinks while nothing leaves, and starts again when something may have left.
func TestHeadArrived(t *testing.T) {
	h := polls.NewHistory()
	start := newClock().now()
	flows := []model.Flow{{Worker: model.Member{Queue: ref("q")}}}
	at := func(second int, ready, went int64) {
		topology := model.NewTopology(recording(queue("q", func(q *model.Queue) { q.Ready = model.Some(ready) })))
		h.Record(start.Add(time.Duration(second)*time.Second), topology, flows,
			model.Moves{ref("q"): {Went: model.Some(went)}})
	}

	for _, step := range []struct {
		second      int
		ready, went int64
		want        time.Duration
	}{
		{0, 3, 0, 0},
		{2, 3, 0, 2 * time.Second},
		{4, 5, 0, 4 * time.Second},
		{6, 4, 1, 0},
		{8, 4, 0, 2 * time.Second},
		{10, 0, 4, 0},
		{12, 1, 0, 0},
		{14, 1, 0, 2 * time.Second},
	} {
		at(step.second, step.ready, step.went)
		now := start.Add(time.Duration(step.second) * time.Second)
		assert.Equal(t, now.Sub(h.HeadArrived(now, ref("q")).Since), step.want, "after %d s", step.second)
	}
}

// A notice with more lines than there is room for is marked as incomplete.
func TestLongNoticesAreMarked(t *testing.T) {
	a := newApp(t.Context(), failed(0))
	a.width = 80
	for text, cut := range map[string]bool{
		"short": false, strings.Repeat("four letters ", 17): false, strings.Repeat("four letters ", 30): true,
		strings.Repeat("x", 600): true,
	} {
		a.notice = shell.NoticeMsg{Text: text}
		lines := a.noticeLines()
		last := ansi.Strip(lines[len(lines)-1])
		assert.Equal(t, strings.HasSuffix(last, "…"), cut, "%d lines, the last is %q", len(lines), last)
		assert.That(t, len(lines) <= mostNotice, "%d lines, the last is %q", len(lines), last)
		assert.That(t, ansi.StringWidth(last) < a.width, "%d lines, the last is %q", len(lines), last)
	}
}

// Names that are one grapheme cluster, but much wider on a terminal without clusters, leave the header, the rows and
// dialogs intact. tmux, xterm and others draw the width of StringWidthWc.
func TestFloodsStayInTheirCells(t *testing.T) {
	for _, letters := range []string{"\u1100", "क्", "क्षि", "ทำ", "👍🏽", "\u3000", " "} {
		flood := strings.Repeat(letters, 60)
		name := "failed " + flood
		s := recording(
			exchange("fanout", flood), queue(name, consumers(0), ready(3)), bind(flood, "", name),
			queue("worker "+flood, consumers(1), ready(2), dlx(flood)),
		)

		s.Overview.Node = flood
		c := newClock()
		b := failing(c, 3)
		b.messages[build.Ref(name)] = b.messages[build.Ref(failedQueue)]
		o := Options{Source: &recorded{snapshot: s}, Broker: b, Now: c.now, Title: flood}
		for _, size := range [][2]int{{120, 36}, {80, 24}} {
			term := o.open(t, size[0], size[1])
			for _, keys := range []string{"1", "2", "3", "4", "2/failed" + keyEnter + keyEnter, "d"} {
				if keys == "d" {
					term.await("user.created") // the look is over
				}

				term.press(keys).settle()
				screen := term.screen()
				lines := strings.Split(screen, "\n")
				for _, line := range lines {
					n := ansi.StringWidthWc(line)
					assert.That(t, n <= size[0], "after %q a line is %d cells wide: %q", keys, n, line)
				}

				must.Contains(t, lines[0], "dlxtop", "%v", keys)
				must.Contains(t, screen, "1 Flows", "%v", keys)
			}

			term.await("drop 1 message for good")
		}
	}
}

// A cut text has the requested width, and nothing that was not there.
func TestCutting(t *testing.T) {
	letters := []string{"a", " ", "世", "क", "क्षि", "ทำ", "e\u0301", "\u1100", "👍🏽", "🇩🇪", "ｶﾞ", "\x1b[1m", "\x1b[m"}
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOf(rapid.SampledFrom(letters)).Draw(t, "text"), "")
		width := rapid.IntRange(0, 30).Draw(t, "width")
		n := rapid.IntRange(0, 30).Draw(t, "n")
		all := ansi.StringWidthWc(text)
		got := ansi.StringWidthWc(term.Cut(text, width))
		assert.That(t, got <= width, "cut to %d it has %d cells", width, got)
		assert.That(t, all > width || got == all, "cut to %d it has %d cells", width, got)
		got = ansi.StringWidthWc(term.Behind(text, n))
		assert.That(t, got == max(all-n, 0), "%d cells are behind the first %d of %d", got, n, all)

		for _, part := range []string{
			term.CutMiddle(text, width), term.PadLeft(text, width),
			term.Pad(text, width),
		} {
			got := ansi.StringWidthWc(part)
			assert.That(t, got <= width, "%q has %d cells instead of %d", part, got, width)
		}

		for _, line := range append(term.Wrap(text, width+10),
			strings.Split(ansi.HardwrapWc(text, width+10, true), "\n")...) {
			got := ansi.StringWidthWc(line)
			assert.That(t, got <= width+10, "the line %q has %d cells instead of %d", line, got, width+10)
		}
	})
}

// BenchmarkFrame10kQueues draws the whole terminal with 10,000 queues, moving the cursor down by one each time: what a
// user who holds a key down waits for.
func BenchmarkFrame10kQueues(b *testing.B) {
	for _, screen := range []string{"flows", "queues"} {
		b.Run(screen, func(b *testing.B) {
			a := frameOf(b, manyQueues(10_000), map[string]string{"flows": "1", "queues": "2"}[screen])
			down := tea.KeyMsg{Type: tea.KeyDown}
			for b.Loop() {
				a, _ = a.Update(down)
				_ = a.View()
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/1000, "ms/frame")
		})
	}
}

// BenchmarkPoll10kQueues takes over a poll with 10,000 queues, for which keys have to wait.
func BenchmarkPoll10kQueues(b *testing.B) {
	snapshot := manyQueues(10_000)
	a := frameOf(b, snapshot, "2")
	t := a.(app).latest
	for i := 0; b.Loop(); i++ {
		b.StopTimer()
		t.Topology = model.NewTopology(later(snapshot, time.Duration(i)*time.Second,
			map[string]int64{"plain.00001.events": int64(i)}))
		b.StartTimer()
		a.(app).tabs[1].stack[0].Update(t)
	}

	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/1000, "ms/poll")
}

// frameOf returns the program at 120 x 36 on a tab, after one poll.
func frameOf(b *testing.B, snapshot *model.Snapshot, tab string) tea.Model {
	b.Helper()
	source := &recorded{snapshot: snapshot}
	var a tea.Model = newApp(b.Context(), frozen(source))
	a, _ = a.Update(tea.WindowSizeMsg{Width: 120, Height: 36})
	a, cmd := a.Update(startMsg{})
	a, _ = a.Update(cmd())
	a, _ = a.Update(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune(tab)})
	_ = a.View()

	return a
}

// BenchmarkFrameFlow applies counts with movement, and redraws the flow: this happens four times a second.
func BenchmarkFrameFlow(b *testing.B) {
	a := frameOf(b, busyBroker(), "1")
	a, _ = a.Update(shell.PushMsg{Screen: flows.NewFlowScreen(a.(app).Env, ref("ucenter@user"))})
	refs := []model.QueueRef{ref("ucenter@user"), ref("ucenter@user@retry"), ref("ucenter@user@failed")}
	start := newClock().now()
	for i := 0; b.Loop(); i++ {
		counts := model.Counts{
			At:     start.Add(time.Duration(i+1) * 250 * time.Millisecond),
			Queues: model.CountsByQueue{},
		}

		for j, r := range refs {
			counts.Queues[r] = model.QueueCounts{Ready: model.Some(int64(100 + (i*(j+3))%40)), Consumers: build.Some(0)}
		}
		p := a.(app)
		p.tabs[0].send(shell.CountedMsg{Counts: counts, Changed: p.recounted(counts), Topology: p.latest.Topology})
		_ = p.View()
		a = p
	}

	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/1000, "ms/frame")
}
