// Package causes is the screens of failed messages by their causes, and of the queues: reading failed queues, grouping,
// and actions on a cause in all its queues.
package causes

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/cause"
	"github.com/dlxtop/dlxtop/ui/messages"
	"github.com/dlxtop/dlxtop/ui/picture"
	"github.com/dlxtop/dlxtop/ui/press"
	"github.com/dlxtop/dlxtop/ui/shell"
	"github.com/dlxtop/dlxtop/ui/term"
)

// causesList lists causes, those with the most messages first. Until all queues were read once, the cursor is on the
// first, unless the user moves it; then it stays on its cause.
type causesList struct {
	shell.Listing[cause.ID, causeRow]
	places map[cause.ID]int
	opened time.Time // when the screen was first seen
	shown  bool      // the list is shown: before that, the first round is awaited
	aimed  bool      // the cursor stays on its cause
	head   string
	below  []string // about the cause under the cursor, and what was not read
	least  string   // what stands before counts, as prepared
}

// causesWait is how long the first round is awaited before the list is shown, so that it begins with the most frequent
// cause.
const causesWait = 2 * time.Second

type causeRow struct {
	messages.OfCause
	workers string // printable
	recent  []float64
	place   int
}

func newCausesList(e *shell.Env) *causesList {
	c := &causesList{places: map[cause.ID]int{}}
	c.Listing = shell.NewListing(e, "causes", func(r causeRow) cause.ID { return r.ID },
		term.By(func(r causeRow) int { return r.place }),
		func(r causeRow) []string { return []string{r.Words, r.workers} },
		c.cells,
		term.Columns(`
			CAUSE:     28 flex 8 sorts
			MESSAGES:   8 right most
			WORKER:    10 flex 1 max 30 middle sorts
			FIRST:      6 drop 1 sorts
			LAST:       8 most
			LAST HOUR:  9 drop 2 blank danger
			STATE:     13 sorts
		`))
	c.Hides, c.Above = true, 1 // the line that says what was read
	c.Table.SortBy("MESSAGES")

	return c
}

func (c *causesList) cells(r causeRow) []any {
	e := c.Env
	count := c.least + model.Count(r.Messages)
	if r.Messages >= 100_000 {
		count = strings.ReplaceAll(count, " ", "") // for the width of the column
	}

	look := e.Marks.Look(r.ID)
	return []any{
		look.Span(r.Words),
		term.Danger.Span(count).By(float64(r.Messages)),
		r.workers,
		term.Muted.Span(shell.ClockOf(r.First, e.Shown)).ByTime(r.First.Or(time.Time{})),
		term.Text.Span(shell.AgoOf(r.Last, e.Shown)).ByTime(r.Last.Or(time.Time{})),
		picture.Sparkline(r.recent),
		look.Span(e.Marks.Words(r.ID)).By(float64(e.Marks.Rank(r.ID))),
	}
}

func (c *causesList) set(r *Reading) {
	if !c.shown {
		return
	}
	rows := make([]causeRow, len(r.List))
	for i := range r.List {
		g := &r.List[i]
		place, known := c.places[g.ID]
		if !known {
			place = len(c.places)
			c.places[g.ID] = place
		}

		rows[i] = causeRow{
			OfCause: messages.OfCause{Group: g, Words: model.Printable(g.Cause.String())}, workers: oneOf(r.workers(g)),
			place: place, recent: r.recent[g.ID],
		}
	}

	c.Table.Set(rows)
	if !c.aimed {
		c.Table.MoveTo(0)
	}
}

func (c *Reading) workers(g *cause.Group) []string {
	if c.topology == nil {
		return nil
	}
	return g.WorkerWords(c.topology)
}

// sort puts first the causes that are back, then new ones, each by frequency.
func (c *causesList) sort(r *Reading) {
	list := append([]cause.Group(nil), r.List...)
	cause.MostFirst(list)
	slices.SortStableFunc(list, func(a, b cause.Group) int {
		return cmp.Compare(c.Env.Marks.Rank(a.ID), c.Env.Marks.Rank(b.ID))
	})
	clear(c.places)
	for i := range list {
		c.places[list[i].ID] = i
	}

	c.set(r)
}

// settle shows the list when the first round is over, or when it takes long.
func (c *causesList) settle(r *Reading, now time.Time) {
	if c.opened.IsZero() {
		c.opened = now
	}

	if !c.shown && (!r.first(now) || len(r.List) > 0 && (now.Sub(c.opened) >= causesWait || len(r.recalled()) > 0)) {
		c.shown = true
		c.sort(r)
	}

	c.aimed = c.aimed || c.shown && !r.first(now)
}

const leastBelow = 8 // how many lines the pane below the list has

func (c *causesList) prepare(r *Reading, width, height int) {
	right := ""
	if r.at != nil {
		right = term.Accent.Render("reading " + term.CutMiddle(r.at.Ref.Printable(), width/3) + " … ")
	}

	c.head = term.Spread(" "+term.Strong.Render(r.Words()), right, width)
	room := height - 1 - c.rows(height)
	c.least = r.AtLeast()
	c.Seen(c.rows(height)) // the cursor's place among the rows is as they are drawn
	c.below = c.detail(r, width)
	c.below = append(c.below, r.Unread(width, max(room-len(c.below), 3))...)
	if r, ok := c.Table.Current(); ok { // the remaining room shows the example
		l := shell.NewPaneLines(width)
		saySample(l, &r.Sample)
		c.below = append(c.below, l.Indented()...)
	}
}

func saySample(l *shell.DialogLines, sample *cause.Sample) {
	l.SayFirst(3, "body", sample.Body)
	label := "trace"
	for _, line := range model.PrintableLines(sample.Trace) {
		l.Line(label, term.Cut(line, l.Width-shell.LabelWidth))
		label = ""
	}
}

func (c *causesList) rows(height int) int {
	return c.Share(height-1, max(min(len(c.Table.All)+2, height-1-leastBelow), 4))
}

func (c *causesList) view(r *Reading, width, height int) string {
	rows := c.rows(height)
	why := "no messages were read"
	switch {
	case !c.shown:
		why = "reading the failed queues …"
	case r.read == 0 && r.Empty():
		why = "the failed queues are empty"
	}

	empty := []string{"", "   " + term.Muted.Render(why)}
	if waiting := r.Waiting(width); waiting != nil && c.shown {
		return c.head + "\n\n" + term.Block(waiting, width, height-2)
	}

	return c.head + "\n" + term.Below(c.List.View(width, rows, empty), c.below, width, height-1)
}

// detail shows the cause at the cursor in full: what one of its messages says, and where they are.
func (c *causesList) detail(reading *Reading, width int) []string {
	return c.Pane("cause", width, func(r causeRow, l *shell.DialogLines) string {
		c.showCause(reading, &r, l)
		return r.Words
	})
}

func (c *causesList) showCause(reading *Reading, r *causeRow, l *shell.DialogLines) {
	if r.Cause.Evidence == cause.ByError && r.Sample.Text != "" { // the index has none
		l.SayFirst(2, "example", r.Sample.Text)
	}

	queues := make([]string, len(r.Queues))
	for i, q := range r.Queues {
		queues[i] = q.Of.Printable() + " "
		if of := reading.Queues[q.Of]; of != nil {
			queues[i] += of.atLeast()
		}
		queues[i] += model.Count(q.Messages)
	}

	if r.Different < r.Messages {
		l.SayFirst(2, "copies", model.Sayf("%v message(s), %v different: the others are copies in other queues",
			r.Messages, r.Different))
	}

	l.SayFirst(2, "queues", namesOf(queues, 4))
	l.SayFirst(1, "state", c.Env.Marks.Sentence(r.ID, c.Env.Shown))
	l.SayFirst(2, "note", c.Env.Marks.States.Of(r.ID).Note)
	l.SayFirst(1, "grouped", r.Cause.Level.Words())
	l.SayFirst(2, "id", string(r.ID)+", for --cause of dlxtop peek, replay, move, drop and export")
}

func (c *Reading) Empty() bool {
	return len(c.of(func(q *Queue) bool { return q.total().Or(1) > 0 })) == 0
}

// Words say how much was read: "14 failed queues 1,180 of 1,204 read; M reads the rest".
func (c *Reading) Words() string {
	var count, left, came int64
	known := true
	whole := true
	extends := false
	for _, q := range c.Order {
		total, ok := q.total().Get()
		known = known && ok
		count, left = count+max(total, q.Read), left+q.left()
		switch {
		case q.extends() && q.Plan.Free:
			extends = true
			whole = whole && total <= int64(q.Limit*messages.PeekFactor)
		case q.extends():
			came += q.left()
		}
	}

	words := model.Sayf("%v failed queue(s)   ", len(c.Order))
	switch read := model.Count(c.read); {
	case !known:
		words += model.Sayf("%s of ≥ %v read", read, count)
	case left > 0:
		words += model.Sayf("%s of %v read", read, count)
	default:
		words += model.Sayf("%v message(s)   %s read", count, read)
	}

	if earlier := c.earlier(); earlier != "" {
		words += ", " + earlier
	}

	if t := c.topology; t != nil && c.all && t.Parked() > 0 {
		words += model.Sayf("   %v parked", t.Parked())
	}

	more := press.More.Help().Key
	if extends {
		words += "; " + more + " reads " + map[bool]string{true: "the rest", false: "more"}[whole]
	}
	if came > 0 {
		words += model.Sayf("; %s reads all with %v new, at a cost", more, came)
	}

	var costly int64
	for _, q := range c.Costly() {
		costly += q.left()
	}
	if costly > 0 {
		words += model.Sayf("; %s reads %v, at a cost", press.Insist.Help().Key, costly)
	}

	return words
}

// AtLeast stands before the counts of causes until all messages were read.
func (c *Reading) AtLeast() string {
	for _, q := range c.Order {
		if mark := q.atLeast(); mark != "" {
			return mark
		}
	}

	return ""
}

func (q *Queue) atLeast() string {
	if q.left() > 0 || !q.total().Known() {
		return "≥ "
	}
	return ""
}

// why returns why messages of the queue were not read; "" when they were, or will be automatically.
func (q *Queue) why() string {
	left := q.left()
	switch {
	case q.refusal.Refused():
		return q.refusal.Words()
	case q.err != nil:
		return shell.ReadableError(q.err)
	case left == 0 && q.total().Known() && (q.Earlier == nil || q.Plan.Allowed() && q.Plan.Free):
		return ""
	case !q.Plan.Allowed():
		return q.Plan.Refusal.Words()
	case !q.Plan.Free:
		return "a look has a cost: " + q.Plan.Cost
	case q.ReadAt.IsZero():
		return ""
	case q.stopped != "":
		return q.stopped
	case q.Read >= int64(q.Limit):
		return model.Sayf("the first %v message(s) were read", q.Read)
	}

	return ""
}

// Unread returns the queues with unread messages, each with its reason, in at most this many lines.
func (c *Reading) Unread(width, most int) []string {
	unread := c.of(func(q *Queue) bool { return q.why() != "" })
	each, more := 1, 0 // lines for one queue
	if 2*len(unread) <= most {
		each = 2
	} else if len(unread) > most {
		more = len(unread) - most + 1
		unread = unread[:most-1]
	}

	var lines []string
	for _, q := range unread {
		words := term.Wrap(c.unreadWords(q), width-6)
		if len(words) > each {
			words = append(words[:each-1:each-1], term.Cut(strings.Join(words[each-1:], " "), width-6))
		}
		for _, part := range words {
			lines = append(lines, "   "+term.Warning.Render(part))
		}
	}

	if more > 0 {
		lines = append(lines, "   "+term.Warning.Render(model.Sayf("and of %v more queue(s)", more)))
	}

	return lines
}

func (c *Reading) unreadWords(q *Queue) string {
	name := q.Ref.Printable()
	left := q.left()
	switch {
	case q.Earlier != nil && q.err == nil:
		words := model.Sayf("as of %s: %v of %s", c.clock(q.ReadAt), q.Read, name)
		if left > 0 {
			words += model.Sayf(", not read: %v", left)
		}
		return words + ": " + q.why()
	case q.err != nil && !q.ReadAt.IsZero() && left == 0:
		return fmt.Sprintf("not read again: %s: %s", name, q.why())
	case !q.total().Known():
		return fmt.Sprintf("not read: messages of %s: %s", name, q.why())
	}

	return model.Sayf("not read: %v of %s: %s", left, name, q.why())
}

// oneOf returns the first name of a list, and how many more there are, for a narrow column: "orders +2"; "?" for none.
func oneOf(names []string) string {
	if len(names) == 0 {
		return "?"
	}
	text := names[0]
	if more := len(names) - 1; more > 0 {
		text += " +" + model.Count(more)
	}

	return text
}

// namesOf returns the first names of a list, and how many more there are; "?" for none.
func namesOf(names []string, most int) string {
	if len(names) == 0 {
		return "?"
	}
	text := strings.Join(names[:min(len(names), most)], ", ")
	if more := len(names) - most; more > 0 {
		text += model.Sayf(" and %v more", more)
	}

	return text
}
