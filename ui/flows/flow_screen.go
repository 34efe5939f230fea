package flows

import (
	"slices"
	"strings"

	"github.com/charmbracelet/bubbles/key"
	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/x/ansi"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/carry"
	"github.com/dlxtop/dlxtop/model/polls"
	"github.com/dlxtop/dlxtop/model/watch"
	"github.com/dlxtop/dlxtop/ui/causes"
	"github.com/dlxtop/dlxtop/ui/messages"
	"github.com/dlxtop/dlxtop/ui/picture"
	"github.com/dlxtop/dlxtop/ui/press"
	"github.com/dlxtop/dlxtop/ui/shell"
	"github.com/dlxtop/dlxtop/ui/term"
	"github.com/dlxtop/dlxtop/ui/trace"
)

const (
	leastLog      = 3
	findingsShare = 3 // findings get at least 1/3 of the room below the picture
)

// FlowScreen shows one flow as a picture that moves, with what is wrong with it and what moved lately. The cursor is on
// a queue.
type FlowScreen struct {
	movingFlow
	causes flowCauses
	chart  bool     // the queue under the cursor is charted
	lines  []string // as prepared
}

func NewFlowScreen(e *shell.Env, worker model.QueueRef) shell.Screen {
	return &FlowScreen{movingFlow: newMovingFlow(e, worker), causes: flowCauses{Reading: causes.NewReading(e)}}
}

func (s *FlowScreen) Shows(ref model.QueueRef) bool { return s.causes.Shows(ref) }

func (s *FlowScreen) Title() string { return s.Worker.Printable() }
func (s *FlowScreen) Typing() bool  { return s.causes.Asking() }

func (s *FlowScreen) Keys() []term.Key {
	if s.causes.Asking() {
		return s.causes.keys()
	}
	why := noFailed(s.Flow)
	round := func(by int) func() { return func() { s.move(by, true) } }

	keys := append([]term.Key{
		term.On(press.Open, "the messages of the queue under the cursor", s.openQueue).As("messages"),
		shell.Unless(why, term.On(press.Failed, "the failed messages of this flow", s.openFailed)),
		shell.Unless(why, term.On(press.Causes, "what failed in this flow, and why",
			shell.Opening(causes.NewFailedScreen, s.env, s.Worker))),
	}, s.causes.keys()...)

	keys = append(keys,
		term.On(press.Tap, "tap: watch messages pass its exchanges", func() tea.Cmd {
			return trace.TapFlow(s.env, s.latest.Topology, s.Flow, s.Cursor)
		}),
		term.On(press.Chart, "chart the queue under the cursor over five minutes; close the chart",
			func() { s.chart = !s.chart }).AsIf(s.chart, "close the chart"),
		term.On(press.NextPane, "next queue", round(1)).As("next queue"),
		term.On(press.PrevPane, "previous queue", round(-1)).As("previous queue"))

	for i := range keys {
		keys[i] = keys[i].When(s.Flow != nil)
	}

	return keys
}

func (s *FlowScreen) Update(msg tea.Msg) (cmd tea.Cmd) {
	switch msg := msg.(type) {
	case shell.TopologyMsg, shell.CountedMsg, dotStepMsg, causes.ReadMsg:
		cmd = tea.Batch(s.moved(msg), s.causes.update(msg, s.Worker))
	case tea.KeyMsg:
		cmd = s.pressed(msg)
	}

	return cmd
}

// noFailed says why there is nothing that failed in a flow; "" when there can be.
func noFailed(f *model.Flow) string {
	if f != nil && len(f.Failed) == 0 {
		return "this flow has no failed queue of its own: 3 shows all"
	}
	return ""
}

// pressed moves in the picture, or runs what the key does.
func (s *FlowScreen) pressed(msg tea.KeyMsg) tea.Cmd {
	switch {
	case s.Flow == nil:
		return nil
	case s.causes.Asking() || !key.Matches(msg, append(press.Motions(), press.Earlier, press.Later)...):
		cmd, _ := term.Press(s.Keys(), msg)
		return cmd
	case press.Is(msg, press.Later):
		s.move(1, false)
	case press.Is(msg, press.Earlier):
		s.move(-1, false)
	case key.Matches(msg, press.HalfDown, press.PageDown):
		s.move(picture.ListRows, false)
	case key.Matches(msg, press.HalfUp, press.PageUp):
		s.move(-picture.ListRows, false)
	default:
		step, _ := press.Step(msg, 1)
		s.move(step, false)
	}

	return nil
}

// openQueue opens the messages of the queue under the cursor: of levels that delay as one the fullest.
func (s *FlowScreen) openQueue() tea.Cmd {
	open := s.Cursor
	for _, b := range s.Flow.Buffers {
		if levels := s.latest.Seen().Holding(b); b.Queue == s.Cursor && len(levels) > 0 {
			open = levels[0].Ref
		}
	}

	return shell.Push(messages.NewScreen(s.env, open))
}

// openFailed opens the failed queue under the cursor, otherwise the first one with messages.
func (s *FlowScreen) openFailed() tea.Cmd {
	open := s.Flow.Failed[0].Queue
	for _, m := range slices.Backward(s.Flow.Failed) {
		if polls.ReadyOf(s.latest.Topology, m.Queue).Or(0) > 0 {
			open = m.Queue
		}
	}

	if s.Flow.Role(s.Cursor) == model.FailedRole {
		open = s.Cursor
	}

	return shell.Push(messages.NewScreen(s.env, open))
}

// move goes to another queue of the picture; with round from the last to the first.
func (s *FlowScreen) move(by int, round bool) {
	stations := s.picture.Stations()
	at := slices.IndexFunc(stations, func(x picture.Station) bool { return x.Queue == s.Cursor }) + by
	if round {
		at = (at%len(stations) + len(stations)) % len(stations)
	}
	s.Cursor = stations[min(max(at, 0), len(stations)-1)].Queue
}

func (s *FlowScreen) View(width, height int) string {
	page := term.Block(append(s.lines[:len(s.lines):len(s.lines)], s.causes.lines...), width, height)
	if s.causes.columns > 0 {
		columns := width - 1 - s.causes.columns
		page = term.Beside(term.Block(s.lines, columns, height),
			term.Block(s.causes.lines, s.causes.columns, height))
	}

	if s.causes.Asking() {
		dialog := s.causes.Dialog(width)
		return s.env.Overlay(page, dialog, width, height)
	}

	return page
}

// Prepare lays out the picture, and what is below it and beside it.
func (s *FlowScreen) Prepare(width, height int) tea.Cmd {
	if s.seen() {
		s.causes.place(&s.movingFlow, width)
		columns := s.causes.columns
		if columns > 0 {
			s.lines = s.laid(width-1-columns, height)
			return s.causes.prepare(s.Cursor, columns, height)
		}

		s.lines = s.laid(width, height)
		return s.causes.prepare(s.Cursor, width, height-len(s.lines))
	}

	words := "reading …"
	if s.gone {
		words = "there is no flow with the worker " + s.Title() + " any more"
	}

	s.lines = []string{"", "   " + term.Muted.Render(words)}
	return nil
}

func (s *FlowScreen) laid(width, height int) []string {
	log, kept := leastLog+1, 0
	if height < messages.SplitHeight && len(s.causes.Order) > 0 { // on a low terminal the picture is smaller
		log, kept = 2, causesBelow
	}
	sc := s.scene(width, height-len(s.own)-log-kept-3)
	below := s.captionLines(width, height)
	if s.gone {
		below = append([]string{" " + term.Danger.Render(term.MarkError+
			" this flow is no more: this is how it was last")}, below...)
	}

	least := min(len(below)+2+leastLog+len(s.own), height/2)
	rows := min(sc.Canvas.Height, max(height-least-2, height/3))
	if s.chart {
		rows = min(sc.Canvas.Height, max(height-len(below)-picture.LeastChart-picture.ChartLog-3, leastLog+1))
	}

	from := 0
	if hidden := sc.Canvas.Height - rows; hidden > 0 {
		from = min(max(sc.Rows[s.Cursor]-rows/2, 0), hidden)
	}

	lines := []string{""}
	lines = append(lines, s.dots.Draw(sc).Render(from, from+rows)...)
	if rows < sc.Canvas.Height {
		lines[0] = term.Pad(term.Muted.Render(model.Sayf("  %v queues: ↑ ↓ move through them", len(s.picture.Stations()))),
			width)
	}

	lines = append(lines, "")
	lines = append(lines, below...)
	if s.chart {
		lines = append(lines, s.chartOf(width, height-len(lines)-picture.ChartLog-1)...)
		lines = append(lines, "")
		return append(lines, s.logLines(width, height-len(lines))...)
	}

	room := height - len(lines)
	findings := s.findingLines(width, max(room-min(len(s.watch.Log())+2, log)-1, room/findingsShare))
	lines = append(lines, findings...)
	lines = append(lines, "")
	if room = height - len(lines); s.causes.columns > 0 || len(s.causes.Order) == 0 || room < log+causesBelow {
		return append(lines, s.logLines(width, room)...)
	}
	moved := append(s.logLines(width, log), make([]string, log)...)
	return append(lines, moved[:log]...)
}

// chartOf charts the queue under the cursor over five minutes, if there is room.
func (s *FlowScreen) chartOf(width, height int) []string {
	columns := picture.ChartColumns(width, height)
	if columns == 0 {
		return nil
	}
	now := s.env.Shown
	points := s.watch.Trace(s.Cursor, now, columns)
	for i, depth := range s.latest.History.Ready(now, columns, s.Cursor) { // polled before this screen was open
		if depth >= 0 && !points[i].Depth.Known() {
			points[i].Depth = model.Some(depth)
		}
	}

	chart := picture.Chart{Queue: s.Cursor, Points: points, Span: polls.HistorySpan}
	chart.Now = s.into(s.latest, now).Moves[s.Cursor]
	return chart.Lines(height)
}

func (s *FlowScreen) Reopening() func() shell.Screen {
	e := s.env
	worker := s.Worker
	cursor := s.Cursor
	return func() shell.Screen {
		next := NewFlowScreen(e, worker).(*FlowScreen)
		next.Cursor = cursor
		return next
	}
}

// part is one queue of a flow with how it plays its part.
type part struct {
	role  string
	name  string // printable
	ready term.Span
	how   term.Span
	why   string // printable
}

// flowParts returns the flow's queues in the order in which a message passes them.
func flowParts(t *model.Topology, flow *model.Flow) []part {
	queuePart := func(role string, m model.Member, some term.Style, how term.Span) part {
		ready := term.Number(polls.ReadyOf(t, m.Queue), some)
		ready.Text += " ready"
		return part{role, model.Printable(m.Queue.Name), ready, how, model.Printable(m.Reason)}
	}

	var parts []part
	for _, b := range flow.Buffers {
		waiting := term.Number(t.Waiting(b), term.Waiting)
		waiting.Text += " waiting"
		how := term.Text.Span(model.Printable(bufferHow(b)))
		parts = append(parts, part{string(b.Role), model.Printable(b.Name()), waiting, how, model.Printable(b.Reason)})
	}

	consumers := term.Muted.Span("?")
	if q, ok := t.Queue(flow.Worker.Queue); ok {
		n, known := q.Consumers.Get()
		switch {
		case q.Polled():
			consumers = term.Text.Span("polled")
		case known && n == 0:
			consumers = term.Danger.Span("no consumers !")
		case known:
			consumers = term.Text.Span(model.Plural(n, "consumer"))
		}

		if again := picture.Again(q); again != "" {
			consumers.Text += "  " + again
		}
	}

	parts = append(parts, queuePart("worker", flow.Worker, term.Text, consumers))
	for _, m := range flow.Failed {
		parts = append(parts, queuePart("failed", m, term.Danger, term.Span{}))
	}
	for _, m := range flow.Parked {
		parts = append(parts, queuePart("parked", m, term.Text, term.Span{}))
	}

	return parts
}

// bufferHow says how long a buffer holds messages, where that is set, and where they go then.
func bufferHow(b *model.Buffer) string {
	how := "each message's own TTL"
	ttl, hasTTL := b.TTL.Get()
	longest, hasLongest := b.MaxTTL.Get()
	switch {
	case b.InExchange != "":
		return "waiting in the exchange itself"
	case b.Held:
		return "held by its consumers until due"
	case hasLongest && len(b.Levels) > 0:
		how = model.Sayf("%d levels, up to %s", len(b.Levels), shell.RoundUp(longest))
	case hasTTL:
		how = model.Sayf("TTL %s (%s)", ttl, b.TTLSource)
	}

	return how + " → " + model.ExchangeName(b.DLX)
}

// partLines align the parts. In full each has its reason on a separate line, otherwise as much of it as fits at the
// end.
func partLines(parts []part, width int, full bool) []string {
	names, readies, hows := 0, 0, 0
	for _, p := range parts {
		names, readies, hows = max(names, ansi.StringWidthWc(p.name)), max(readies, len(p.ready.Text)),
			max(hows, ansi.StringWidthWc(p.how.Text))
	}

	names = min(names, width*2/5)
	hows = min(hows, width*2/5)
	var lines []string
	for _, p := range parts {
		line := "   " + term.Muted.Render(term.Pad(p.role, 7)) + "  " +
			term.PadMiddle(p.name, names) + "  " +
			p.ready.Style.Render(term.PadLeft(p.ready.Text, readies)) + "  " +
			p.how.Style.Render(term.PadMiddle(p.how.Text, hows))

		if !full {
			if width-ansi.StringWidthWc(line) > 24 { // less than that is useless
				line += "  " + term.Muted.Render(p.why)
			}
			lines = append(lines, line)
			continue
		}

		lines = append(lines, line)
		lines = append(lines, term.Muted.Wrap(strings.Repeat(" ", 12), p.why, width-14)...)
	}

	return lines
}

// captionLines say what the queue under the cursor is, and why dlxtop thinks so.
func (s *FlowScreen) captionLines(width, height int) []string {
	name, reason := s.Cursor.Name, ""
	var due []term.Span
	for _, b := range s.Flow.Buffers {
		if b.Queue == s.Cursor {
			name = b.Name()
			reason = string(b.Role) + " buffer: " + b.Reason
			due = s.latest.BufferLines(b, press.Open.Help().Key, s.env.Shown)
		}
	}

	if s.Flow.Worker.Queue == s.Cursor {
		reason = "worker: " + s.Flow.Worker.Reason
		due = s.latest.ComingLines(s.Flow, s.env.Shown)
	}

	if m, ok := s.Flow.End(s.Cursor); ok {
		reason = string(s.Flow.Role(s.Cursor)) + " queue: " + m.Reason
	}

	for _, carrier := range carry.Of(s.latest.Topology, s.Cursor) {
		due = append(due, term.Muted.Span(carry.Words(carrier)))
	}
	snapshot := s.latest.Topology.Snapshot
	if q, ok := s.latest.Topology.Queue(s.Cursor); ok && q.Consumed() && s.Flow.Role(s.Cursor).IsEnd() {
		if snapshot.ShovelsUnknown != "" {
			due = append(due, term.Muted.Span("a shovel or an application takes from it: "+snapshot.ShovelsUnknown))
		}
	}

	var lines []string
	words := term.Wrap(model.Printable(name)+"  "+reason, width-4)
	most := 2
	if height < messages.SplitHeight {
		most = 1
	}
	if len(words) > most {
		words = append(words[:most-1:most-1], term.Crop(words[most-1], width-6)+" …")
	}

	mark := " " + term.Accent.Render(term.MarkCursor) + " "
	for _, l := range words {
		lines = append(lines, mark+term.Muted.Render(l))
		mark = "   "
	}

	for _, l := range due {
		lines = append(lines, l.Style.Wrap("   ", l.Text, width-4)...)
	}

	return lines
}

// findingLines returns the flow's findings, worst first, with the remedy of the first.
func (s *FlowScreen) findingLines(width, room int) []string {
	var lines []string
	for i, f := range s.own {
		mark := shell.LevelMark(f.Level)
		look := term.StyleOf(mark)
		lines = append(lines, look.Wrap(" "+look.Render(mark)+" ", shell.Happening(f), width-4)...)
		if i == 0 && f.Remedy != "" {
			lines = append(lines, term.Text.Wrap("   ", "do: "+f.Remedy, width-4)...)
		}
	}

	if len(lines) <= room {
		return lines
	}
	if room < 2 {
		return nil
	}

	return append(lines[:room-1], "   "+term.Muted.Render("… "+shell.Screens[3].Help().Key+
		" Findings has the rest"))
}

// LogTime is the time format of the log: tenths of seconds, as counts are a quarter of a second apart.
const LogTime = "15:04:05.0"

// logLines returns the newest movements, below how well they are known.
func (s *FlowScreen) logLines(width, room int) []string {
	if room < 2 {
		return nil
	}
	heading := " " + term.Heading.Render("MOVED") + "  "
	words, bad := s.describeTracking(s.env.Shown, s.latest.Topology)
	style := term.Muted
	if bad {
		style = term.Warning
	}

	lines := []string{heading + style.Render(term.Pad(model.Printable(words), max(width-9, 1)))}
	log := s.watch.Log()
	if len(log) == 0 {
		words := "nothing moved while this is open"
		moves := s.into(s.latest, s.env.Shown).Moves
		if s.ticking != 0 || slices.ContainsFunc(s.watch.Queues(), func(ref model.QueueRef) bool {
			return moves[ref].In.Or(0) > 0 || moves[ref].Out.Or(0) > 0
		}) {
			words = "the rates are RabbitMQ's, of the last seconds; no count has seen a move yet"
		}

		return append(lines, "   "+term.Muted.Render(term.Cut(words, width-4)))
	}

	var newest []string // newest first
	for _, m := range slices.Backward(log) {
		at := term.Muted.Render(m.At.Local().Format(LogTime))
		style := term.Text
		switch {
		case m.Missing() > 0:
			style = term.Danger
		case m.Kind == watch.MoveLook, m.Late:
			style = term.Muted
		}

		newest = append(newest, style.Wrap(" "+at+"  ", m.String(), width-14)...)
		if len(newest) >= room-1 {
			break
		}
	}

	return append(lines, newest[:min(len(newest), room-1)]...)
}
