package ui

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"

	"dlxtop/model"
)

const (
	splitHeight  = 26 // from this height on the detail stands below the table
	leastDetail  = 9
	countsLag    = 5 * time.Second // counts of the management API may be this old
	detailOfEach = 2               // of so many parts of the height the detail gets one

	fewDeliveries = 5 // left of a delivery limit: a warning
)

func (s messagesScreen) View(width, height int) string {
	*s.split = height >= splitHeight
	var picture string
	if s.dialog.open() {
		picture = s.page(width, height)
		return overlay(picture, s.dialog.view(width, height), width, height)
	}
	if s.saving.open {
		return overlay(s.page(width, height), s.saving.view(width), width, height)
	}
	if s.editing.open() {
		return overlay(s.page(width, height), s.editing.view(width), width, height)
	}
	return s.page(width, height)
}

// page is the screen without a dialog.
func (s messagesScreen) page(width, height int) string {
	lines := []string{s.headLine(width)}
	if !s.zoomed {
		lines = append(lines, s.costLine(width))
	}
	for _, l := range append(s.dueLines(), s.troubles()...) {
		for _, part := range wrap(l.text, width-3) {
			lines = append(lines, " "+s.env.styles.tone(l.tone).Render(part))
		}
	}
	if room := height / 2; len(lines) > room {
		lines = lines[:room]
	}
	rest := height - len(lines)
	row, current := s.table.current()
	switch {
	case s.zoomed && current:
		lines = append(lines, s.place(row, width))
		lines = append(lines, s.detail.view(s.env.styles, row, s.story(row), s.env.now(), width, rest-1, false)...)
		return block(lines, width, height)
	case *s.split && len(s.rows) > 0:
		detail := max(rest/detailOfEach, leastDetail)
		lines = append(lines, strings.Split(s.list(width, rest-detail-1), "\n")...)
		lines = append(lines, s.env.styles.Border.Render(strings.Repeat("─", width)))
		if !current {
			lines = append(lines, s.env.styles.Muted.Render("   no message is under the cursor"))
			return block(lines, width, height)
		}
		lines = append(lines, s.detail.view(s.env.styles, row, s.story(row), s.env.now(), width, detail, true)...)
		return block(lines, width, height)
	}
	lines = append(lines, strings.Split(s.list(width, rest), "\n")...)
	return block(lines, width, height)
}

// place says which message is seen in the zoomed detail.
func (s messagesScreen) place(r *messageRow, width int) string {
	words := fmt.Sprintf(" message %s of %s", model.Count(int64(s.table.index+1)), model.Count(int64(len(s.table.shown))))
	if id := r.message().Properties.MessageID; id != "" {
		words += "   " + model.Printable(id)
	}
	if s.table.isChosen(r.id) {
		words += "   " + markChosen + " selected"
	}
	return pad(s.env.styles.Muted.Render(words), width)
}

// list draws the table, or why there is none, and the filter.
func (s messagesScreen) list(width, height int) string {
	rows := height
	if s.filter.field.visible() {
		rows--
	}
	styles := s.env.styles
	var picture string
	switch {
	case len(s.rows) == 0:
		picture = block([]string{"", "   " + styles.Muted.Render(s.emptiness())}, width, rows)
	case len(s.table.shown) == 0 && !s.filter.pending():
		picture = block([]string{"", "   " + styles.Muted.Render("nothing matches")}, width, rows)
	default:
		picture = s.table.view(width, rows)
	}
	if s.filter.field.visible() {
		found := model.Count(int64(len(s.table.shown))) + " of " + model.Count(int64(len(s.rows)))
		if s.filter.pending() {
			found = "looking …"
		}
		picture += "\n" + s.filter.field.view(styles, width, found)
	}
	return picture
}

// emptiness is why the table is empty.
func (s messagesScreen) emptiness() string {
	switch {
	case s.peek != 0:
		return "reading the queue …"
	case !s.refused.Allowed() || s.failed != nil || !s.goneAt.IsZero():
		return "no messages were read"
	case s.peeked.TakenAt.IsZero():
		return "not read yet"
	}
	if now, changed := s.readyNow(); changed {
		return fmt.Sprintf("%s in the queue now: %s reads it again", model.Plural(now, "message"), s.env.keys.Peek.Help().Key)
	}
	return "the queue is empty"
}

// headLine is the queue with how much of it is seen, and how old that is.
func (s messagesScreen) headLine(width int) string {
	styles := s.env.styles
	left := []string{" " + styles.Title.Render(model.Printable(s.queue.String()))}
	if !s.peeked.TakenAt.IsZero() {
		n := int64(len(s.rows))
		depth := s.peeked.Depth.Or(n)
		switch {
		case s.more():
			left = append(left, fmt.Sprintf("%s read of %s", model.Count(n), model.Plural(int(max(depth, n)), "message")))
		default:
			left = append(left, model.Plural(int(n), "message"))
		}
		if shown := len(s.table.shown); int64(shown) != n {
			left = append(left, "showing "+model.Count(int64(shown)))
		}
		if chosen := len(s.table.chosen); chosen > 0 {
			left = append(left, styles.Chosen.Render(markChosen+" "+model.Count(int64(chosen))+" selected"))
		}
		if s.taken > 0 {
			left = append(left, model.Count(int64(s.taken))+" taken out")
		}
		seen := "read " + age(max(s.env.now().Sub(s.peeked.TakenAt), 0)) + " ago"
		if now, changed := s.readyNow(); changed {
			left = append(left, styles.Warning.Render(seen+", now "+model.Count(now)))
		} else {
			left = append(left, styles.Muted.Render(seen))
		}
	}
	right := ""
	if s.peek != 0 {
		right = styles.Accent.Render("reading " + s.readingWords() + " … ")
	} else if s.table.sorted >= 0 {
		right = styles.Muted.Render("by " + strings.ToLower(s.table.columns[s.table.sorted].title) + " ")
	}
	return spread(strings.Join(left, "   "), right, width)
}

// readingWords are how many messages a look in flight asks for.
func (s messagesScreen) readingWords() string {
	n := int64(s.planned.Limit)
	if now, ok := s.newerCount(); ok && now <= n {
		return "all"
	}
	return model.Count(n)
}

// newerCount is what the queue holds by the newest poll, when that is newer than what is shown.
func (s messagesScreen) newerCount() (int64, bool) {
	if s.topology == nil {
		return 0, false
	}
	q, ok := s.topology.Queue(s.queue)
	if !ok || q.CountedAt.Before(s.peeked.TakenAt) || q.CountedAt.Before(s.settled.Add(countsLag)) {
		return 0, false
	}
	return q.Ready.Get()
}

// readyNow is what the queue holds now, and whether that differs from what is shown.
func (s messagesScreen) readyNow() (int64, bool) {
	now, newer := s.newerCount()
	if !newer {
		return 0, false
	}
	if s.more() {
		return now, now != s.peeked.Depth.Or(now)-int64(s.taken)
	}
	return now, now != int64(len(s.rows))
}

// costLine says what looking costs, before and after, and what it left of a delivery limit.
func (s messagesScreen) costLine(width int) string {
	plan := s.peeked.Plan
	if s.peek != 0 {
		plan = s.planned
	}
	if plan.Method == "" {
		return strings.Repeat(" ", width)
	}
	if left, counts := plan.DeliveriesLeft(s.used.Or(0)); counts && s.used.Known() && len(s.rows) > 0 {
		style := s.env.styles.Muted
		if left <= fewDeliveries {
			style = s.env.styles.Warning
		}
		words := fmt.Sprintf(" %s of the delivery limit %d left to the message that came back most; a look uses 1 of it, and marks all redelivered", model.Count(left), plan.Budget)
		return pad(style.Render(ansi.Truncate(words, width, "…")), width)
	}
	words := " cost of looking: none"
	if plan.Cost != "" {
		words = " cost of looking: " + model.Printable(plan.Cost)
	}
	if words += "  (" + string(plan.Method) + ")"; ansi.StringWidth(words) > width {
		words = strings.TrimSuffix(words, "  ("+string(plan.Method)+")")
	}
	return pad(s.env.styles.Muted.Render(words), width)
}

// troubles are what stands between the operator and the messages, each in a sentence.
func (s messagesScreen) troubles() []span {
	var all []span
	say := func(t tone, format string, values ...any) {
		all = append(all, span{fmt.Sprintf(format, values...), t})
	}
	kept := ""
	if len(s.rows) > 0 {
		kept = "; below is what was read at " + s.peeked.TakenAt.Local().Format("15:04:05")
	}
	switch {
	case !s.refused.Allowed():
		say(toneWarning, "%s not read: %s%s", markWarning, model.Printable(s.refused.Refusal), kept)
		if s.refused.Override != "" {
			say(toneText, "  %s looks anyway: %s", s.env.keys.Insist.Help().Key, model.Printable(s.refused.Override))
		}
	case s.failed != nil:
		say(toneDanger, "%s %s%s", markError, readTrouble(s.failed), kept)
	case !s.goneAt.IsZero():
		say(toneDanger, "%s the queue does not exist any more%s", markError, kept)
	}
	if s.unclear != "" {
		say(toneWarning, "%s %s", markWarning, s.unclear)
	}
	if s.peeked.Stopped != "" {
		say(toneText, "%s not all was read: %s", markInfo, model.Printable(s.peeked.Stopped))
	}
	for _, f := range s.found {
		if f.Code == "head-of-line-blocked" {
			continue // dueLines tells how it is by now
		}
		mark := levelMark(f.Level)
		say(map[string]tone{markError: toneDanger, markWarning: toneWarning}[mark], "%s %s", mark, f.Message)
	}
	if s.filter.err != nil {
		say(toneWarning, "%s %s", markWarning, model.Printable(s.filter.err.Error()))
	}
	return all
}

// readTrouble is why a queue could not be read, with the next step where there is one.
func readTrouble(err error) string {
	var connect *model.ConnectError
	if errors.As(err, &connect) {
		return "not read: " + model.Printable(connect.Cause) + ": " + model.Printable(connect.Next)
	}
	for _, known := range []error{model.ErrQueueGone, model.ErrQueueExclusive, model.ErrConsumeRefused} {
		if errors.Is(err, known) {
			return "not read: " + known.Error()
		}
	}
	return "not read: " + model.Printable(err.Error())
}
