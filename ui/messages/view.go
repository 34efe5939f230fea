package messages

import (
	"cmp"
	"strings"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/x/ansi"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/model/peek"
	"github.com/dlxtop/dlxtop/model/story"
	"github.com/dlxtop/dlxtop/ui/press"
	"github.com/dlxtop/dlxtop/ui/shell"
	"github.com/dlxtop/dlxtop/ui/term"
)

const (
	SplitHeight  = 26 // from this height on the detail is below the table
	leastDetail  = 9
	detailOfEach = 2 // the detail gets 1/2 of the height

)

// Prepare reads the visible part of the messages, and works out the lines above them.
func (s *Screen) Prepare(width, height int) tea.Cmd {
	again := s.catchUp()
	d := &s.detail
	d.split = height >= SplitHeight && !s.env.Plain && len(s.Rows) > 0
	s.above = s.aboveLines(width, height)
	s.Dialog.Prepare(width, height)
	rest := height - len(s.above)
	row, current := s.Table.Current()
	list, detail := s.shares(rest)

	if d.zoomed && current {
		list, detail = 0, rest-1
	}

	list -= s.filter.lines()
	cmd := s.read(list, detail > 0)
	s.offer()
	if detail > 0 && current {
		m := cmp.Or(row.Whole(), d.message)
		d.sought = cmp.Or(d.find.Text(), s.filter.sought())
		d.lay(m, s.story(m), s.env.Shown, width, detail)
		if row.Whole() != nil {
			d.enter(row.Id)
		}
	}

	return tea.Batch(cmd, again)
}

func (s *Screen) View(width, height int) string {
	page := s.page(width, height)
	if b := s.box(); b != nil {
		return s.env.Overlay(page, b.View(width, height), width, height)
	}
	return page
}

func (s *Screen) aboveLines(width, height int) []string {
	lines := []string{s.headLine(width)}
	if !s.detail.zoomed {
		lines = append(lines, s.costLine(width))
	}

	if s.only.Group != nil {
		words := " cause: " + s.only.Words
		lines = append(lines, term.Strong.Render(term.Cut(words, width-1)))
	}

	for _, l := range append(s.dueLines(), s.troubles()...) {
		lines = append(lines, l.Style.Wrap(" ", l.Text, width-3)...)
	}

	return lines[:min(len(lines), max(height/2, 0))]
}

// shares returns the lines of the table and of the detail below it, 0 without one.
func (s *Screen) shares(height int) (list, detail int) {
	if !s.detail.split {
		return height, 0
	}
	detail = max(height/detailOfEach, leastDetail)
	return height - detail - 1, detail
}

func (s *Screen) page(width, height int) string {
	lines := append([]string(nil), s.above...)
	rest := height - len(lines)
	row, current := s.Table.Current()
	if s.detail.zoomed && current {
		lines = append(lines, s.place(row, width))
		return term.Block(append(lines, s.detail.view(row, width)...), width, height)
	}

	list, detail := s.shares(rest)
	lines = append(lines, strings.Split(s.list(width, list), "\n")...)
	if detail == 0 {
		return term.Block(lines, width, height)
	}
	lines = append(lines, term.Border.Render(strings.Repeat("─", width)))
	if !current {
		lines = append(lines, term.Muted.Render("   no message is under the cursor"))
		return term.Block(lines, width, height)
	}

	return term.Block(append(lines, s.detail.view(row, width)...), width, height)
}

func (s *Screen) place(r *shell.MessageRow, width int) string {
	words := model.Sayf(" message %v of %s", s.Table.Index+1, s.readCount(len(s.Table.Shown)))
	if m := r.Whole(); m != nil && m.Properties.MessageID != "" {
		words += "   " + model.Printable(m.Properties.MessageID)
	}
	if s.Table.IsChosen(r.Id) {
		words += "   " + term.MarkChosen + " selected"
	}

	return term.Pad(term.Muted.Render(words), width)
}

func (s *Screen) list(width, height int) string {
	rows, words := height-s.filter.lines(), ""
	switch {
	case len(s.Rows) == 0:
		words = s.emptiness()
	case len(s.Table.Shown) > 0 || s.filter.pending():
	case s.only.Group != nil && s.filter.Text() == "":
		words = "no message of this cause is left in what was read"
		if _, changed := s.ReadyNow(); changed {
			words += "; " + press.Peek.Help().Key + " reads the queue again"
		}
	case s.partly():
		words = "nothing matches in what was read"
	default:
		words = "nothing matches"
	}

	picture := s.Table.View(width, rows)
	if words != "" {
		picture = term.Block([]string{"", "   " + term.Muted.Render(words)}, width, rows)
	}

	if s.filter.Visible() {
		found := s.foundWords()
		if s.filter.pending() {
			found = "looking …"
		}
		picture += "\n" + s.filter.view(width, found)
	}

	if s.filter.lines() > 1 {
		picture += "\n" + s.filter.hint(width)
	}

	return picture
}

func (s *Screen) emptiness() string {
	switch {
	case s.Peek != 0:
		return "reading the queue …"
	case !s.Refused.Allowed() || s.Failed != nil || !s.goneAt.IsZero():
		return "no messages were read"
	case s.Peeked.TakenAt.IsZero():
		return "not read yet"
	}

	if now, changed := s.ReadyNow(); changed {
		return model.Sayf("%v message(s) in the queue now: %s reads it again", now, press.Peek.Help().Key)
	}
	if s.unclear != "" {
		return "not read again yet"
	}
	if q, ok := s.Topology.Queue(s.Queue); ok && q.Delayed.Or(0) > 0 {
		return "nothing is ready: " + s.Topology.HeldBack(q, s.env.Shown)
	}

	return "the queue is empty"
}

// headLine returns the queue with how much of it is shown, and how old that is.
func (s *Screen) headLine(width int) string {
	left := []string{" " + term.Title.Render(s.Queue.Printable())}
	if !s.Peeked.TakenAt.IsZero() {
		n := int64(len(s.Rows))
		depth := s.Peeked.Depth.Or(n)
		switch {
		case s.partly():
			words := model.Sayf("%v of %v read", n, max(depth, n))
			if s.more() {
				words += "; " + press.More.Help().Key + " reads " + s.moreWords()
			}
			left = append(left, words)
		default:
			left = append(left, model.Plural(int(n), "message"))
		}

		if shown := len(s.Table.Shown); int64(shown) != n {
			left = append(left, "showing "+model.Count(shown))
		}
		if chosen := len(s.Table.Chosen); chosen > 0 {
			left = append(left, term.Chosen.Render(model.Sayf("%s %v selected", term.MarkChosen, chosen)))
		}
		if s.Taken > 0 {
			left = append(left, model.Count(s.Taken)+" taken out")
		}

		seen := "read " + shell.Age(max(s.env.Shown.Sub(s.Peeked.TakenAt), 0)) + " ago"
		if now, changed := s.ReadyNow(); changed {
			left = append(left, term.Warning.Render(seen+", now "+model.Count(now)))
		} else {
			left = append(left, term.Muted.Render(seen))
		}
	}

	if now, known := s.newerCount(); s.unasked {
		words := "not read"
		if known {
			words = model.Sayf("%v message(s), not read", now)
		}
		left = append(left, words+"; "+press.Insist.Help().Key+" reads it, at a cost")
	}

	right := ""
	if s.Peek != 0 {
		words := model.Count(s.planned.Limit)
		if now, ok := s.newerCount(); ok && now <= int64(s.planned.Limit) {
			words = "all"
		}
		right = term.Accent.Render("reading " + words + " … ")
	} else if s.Table.Sorted >= 0 {
		right = term.Muted.Render("by " + strings.ToLower(s.Table.Columns[s.Table.Sorted].Title) + " ")
	}

	return term.Spread(strings.Join(left, "   "), right, width)
}

// newerCount returns what the queue holds by the newest poll, when that is newer than the displayed messages.
func (s *Screen) newerCount() (int64, bool) {
	if s.Topology == nil {
		return 0, false
	}
	q, ok := s.Topology.Queue(s.Queue)
	if !ok || q.CountedAt.Before(s.Peeked.TakenAt) || q.CountedAt.Before(s.settled.Add(model.StatisticsLag)) {
		return 0, false
	}

	return q.Ready.Get()
}

// ReadyNow returns what the queue holds now, and whether that differs from when it was read: what a look left out is
// not a change.
func (s *Screen) ReadyNow() (int64, bool) {
	now, newer := s.newerCount()
	if !newer {
		return 0, false
	}
	if s.partly() {
		return now, now != s.Peeked.Depth.Or(now)-int64(s.Taken)
	}

	return now, now != int64(len(s.Rows))
}

// partly reports whether the queue held more messages than were read.
func (s *Screen) partly() bool {
	return len(s.Rows) > 0 && (int64(s.Peeked.Messages.Len()) < s.Peeked.Depth.Or(0) || s.Peeked.Stopped != "")
}

// costLine says what looking costs, before and after, and what it left of a delivery limit.
func (s *Screen) costLine(width int) string {
	plan := s.Peeked.Plan
	if s.Peek != 0 {
		plan = s.planned
	}
	if plan.Method == "" {
		return strings.Repeat(" ", width)
	}
	if left, counts := plan.DeliveriesLeft(s.used.Or(0)); counts && s.used.Known() && s.Peek == 0 {
		style := term.Muted
		if left <= shell.FewDeliveries {
			style = term.Warning
		}
		words := " " + peek.LooksLeft(left, plan.Budget) + " (delivery limit); each marks the messages as redelivered"
		return term.Pad(style.Render(term.Cut(words, width)), width)
	}

	words := " peek: no cost"
	if plan.Cost != "" {
		words = " peek: " + model.Printable(plan.Cost)
	}
	if method := "  (" + string(plan.Method) + ")"; ansi.StringWidthWc(words+method) <= width {
		words += method
	}

	return term.Pad(term.Muted.Render(words), width)
}

// troubles returns the problems with the displayed messages, each in a sentence.
func (s *Screen) troubles() []term.Span {
	var all []term.Span
	say := func(t term.Style, format string, values ...any) {
		all = append(all, t.Span(model.Sayf(format, values...)))
	}
	kept := ""
	if len(s.Rows) > 0 {
		kept = "; below is what was read at " + s.Peeked.TakenAt.Local().Format("15:04:05")
	}

	switch {
	case !s.Refused.Allowed():
		say(term.Warning, "%s not read: %s%s", term.MarkWarning, s.Refused.Refusal.Words(), kept)
		if s.Refused.Refusal.Overridable() {
			override := s.Refused.Refusal.Override()
			say(term.Text, "  %s looks anyway: %s", press.Insist.Help().Key, override)
		}
	case s.unasked:
		say(term.Text, "%s not read, for a look has a cost: %s", term.MarkInfo, s.planned.Cost)
	case s.Failed != nil:
		say(term.Danger, "%s not read: %s%s", term.MarkError, shell.ReadableError(s.Failed), kept)
	case !s.goneAt.IsZero():
		say(term.Danger, "%s the queue does not exist any more%s", term.MarkError, kept)
	}

	if s.rescued.Any() {
		say(term.Warning, "%s %s", term.MarkWarning, s.rescued.Words())
	}
	if s.unclear != "" {
		say(term.Warning, "%s %s", term.MarkWarning, s.unclear)
	}
	if s.Peeked.Stopped != "" {
		say(term.Text, "%s not all was read: %s", term.MarkInfo, s.Peeked.Stopped)
	}

	for _, f := range s.found {
		mark := shell.LevelMark(f.Level)
		say(map[string]term.Style{term.MarkError: term.Danger, term.MarkWarning: term.Warning}[mark], "%s %s",
			mark, f.Message)
	}

	return all
}

// dueLines say when waiting messages leave, and what blocks them, as of now.
func (s *Screen) dueLines() []term.Span {
	if s.Topology == nil || s.Waits == nil && !s.Topology.IsBuffer(s.Queue) {
		return nil
	}
	now := s.env.Shown
	var lines []term.Span
	say := func(tone term.Style, mark, format string, values ...any) {
		lines = append(lines, tone.Span(mark+model.Sayf(format, values...)))
	}
	looks := func(model.QueueRef) *story.Waits { return s.Waits }
	buffer := model.Buffer{Member: model.Member{Queue: s.Queue}}
	h := story.HistogramOf(s.Topology, &buffer, looks, story.DueTime{}, now)
	if words := h.Words(); words != "" {
		say(term.Text, "due: ", "%s", words)
	}
	if s.Waits == nil {
		return lines
	}
	switch n := s.Waits.Expired; {
	case n == 1:
		say(term.Text, term.MarkInfo, " 1 more was overdue behind these: it expired meanwhile")
	case n > 1:
		say(term.Text, term.MarkInfo, " %v more were overdue behind these: they expired meanwhile", n)
	}

	if n, id, times := s.looks.Back(s.Waits); n > 0 {
		words := "a message has come back since it was seen here: id " + id
		if n > 1 {
			words = model.Sayf("%v messages have come back since they were seen here, most often id %s", n, id)
		}

		if times > 1 {
			words += model.Sayf(", %v times", times)
		}
		say(term.Warning, term.MarkWarning, " %s", words)
	}

	if blocked, ok := s.Waits.Blocked(now); ok {
		lines = append(lines, shell.BlockedSpan(&blocked, blocked.By.Leaves.Kind, now))
	}

	return lines
}

// story returns a message's history so far, by this machine's clock, and what comes next.
func (s *Screen) story(m *message.Message) func() []story.Event {
	return func() []story.Event {
		events := story.Of(m, s.Queue)
		if s.Topology == nil {
			return events
		}
		clock := s.Topology.Snapshot.Overview.Clock()
		buffer := s.Topology.IsBuffer(s.Queue)
		for e := range model.Each(events) {
			if e.Kind == story.Failed && buffer {
				e.What = "last try failed"
			}
			if e.Kind != story.Replayed && !e.Time.IsZero() {
				e.Time = clock.Local(e.Time)
			}
		}

		return append(events, story.Ahead(s.Topology, m, s.Queue, shell.WaitOf(s.Waits, m.Position), s.env.Shown)...)
	}
}
