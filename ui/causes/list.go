package causes

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/cause"
	"github.com/dlxtop/dlxtop/ui/picture"
	"github.com/dlxtop/dlxtop/ui/shell"
	"github.com/dlxtop/dlxtop/ui/term"
)

// causesList lists causes. A cause that is in the list stays where it is: one that comes later stands behind it, and
// only a key sorts them again.
type causesList struct {
	shell.Listing[cause.ID, causeRow]
	places map[cause.ID]int
	opened time.Time // when the screen was first seen
	shown  bool      // the list is: before that, the first round is awaited
	head   string
	below  []string // of the cause under the cursor, and what was not read
	least  *string  // what stands before counts, as prepared
}

// causesWait is how long the first round is awaited before the list is shown, so that it begins with the most frequent
// cause.
const causesWait = 2 * time.Second

type causeRow struct {
	cause.Group
	text    string // printable
	workers string // printable
	recent  []float64
	place   int
}

func newCausesList(e *shell.Env) causesList {
	least := new(string)
	c := causesList{places: map[cause.ID]int{}, least: least}
	c.Listing = shell.NewListing(e, "causes", func(r causeRow) cause.ID { return r.ID },
		func(a, b causeRow) int { return cmp.Compare(a.place, b.place) },
		func(r causeRow) []string { return []string{r.text, r.workers} }, causeColumns(e, least)...)
	c.Hides, c.Above = true, 1 // the line that says what was read
	return c
}

func causeColumns(e *shell.Env, least *string) []term.Column[causeRow] {
	s := e.Styles
	type column = term.Column[causeRow]
	return []column{
		{
			Title: "CAUSE", Width: 28, Flex: 8,
			Cell:    func(r causeRow) term.Field { return term.Field{Text: r.text, Style: e.Marks.Look(r.ID)} },
			Compare: func(a, b causeRow) int { return cmp.Compare(a.text, b.text) },
		},
		{
			Title: "MESSAGES", Width: 8, Right: true, Most: true,
			Cell: func(r causeRow) term.Field {
				text := *least + model.Count(r.Messages)
				if r.Messages >= 100_000 {
					text = strings.ReplaceAll(text, " ", "") // it has the width of the column
				}
				return term.Field{Text: text, Style: s.Danger}
			},
			Compare: func(a, b causeRow) int { return cmp.Compare(a.Messages, b.Messages) },
		},
		column{Title: "WORKER", Width: 10, Flex: 1, Max: 30, Middle: true}.
			Name(&s.Text, func(r causeRow) string { return r.workers }),
		{
			Title: "FIRST", Width: 6, Drop: 1,
			Cell: func(r causeRow) term.Field { return term.Field{Text: shell.ClockOf(r.First, e.Shown), Style: s.Muted} },
			Compare: func(a, b causeRow) int {
				return a.First.Or(time.Time{}).Compare(b.First.Or(time.Time{}))
			},
		},
		{
			Title: "LAST", Width: 8, Most: true,
			Cell: func(r causeRow) term.Field { return term.Field{Text: shell.AgoOf(r.Last, e.Shown), Style: s.Text} },
			Compare: func(a, b causeRow) int {
				return a.Last.Or(time.Time{}).Compare(b.Last.Or(time.Time{}))
			},
		},
		column{Title: "LAST HOUR", Width: 9, Drop: 2, Blank: true}.
			Text(&s.Danger, func(r causeRow) string { return picture.Sparkline(r.recent) }),
		{
			Title: "STATE", Width: 13,
			Cell: func(r causeRow) term.Field {
				return term.Field{Text: e.Marks.Words(r.ID), Style: e.Marks.Look(r.ID)}
			},
			Compare: func(a, b causeRow) int { return cmp.Compare(e.Marks.Rank(a.ID), e.Marks.Rank(b.ID)) },
		},
	}
}

// set takes what was read.
func (c *causesList) set(r *Reading) {
	if !c.shown {
		return
	}
	rows := make([]causeRow, len(r.List))
	for i, g := range r.List {
		place, known := c.places[g.ID]
		if !known {
			place = len(c.places)
			c.places[g.ID] = place
		}
		rows[i] = causeRow{
			Group: g, text: model.Printable(g.Cause.String()), workers: oneOf(r.workers(&r.List[i])), place: place,
			recent: r.recent[g.ID],
		}
	}
	c.Table.Set(rows)
}

// workers are those whose messages failed for a cause, printable.
func (c *Reading) workers(g *cause.Group) []string {
	names := g.WorkerNames(func(ref model.QueueRef) []string {
		if q := c.Queues[ref]; q != nil {
			return q.workers
		}
		return nil
	})
	for i := range names {
		names[i] = model.Printable(names[i])
	}
	return names
}

// sort puts first what is back, then what nobody has dealt with, each with the most frequent first.
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
	if !c.shown && (!r.first(now) || len(r.List) > 0 && (now.Sub(c.opened) >= causesWait || r.recalls())) {
		c.shown = true
		c.sort(r)
	}
}

// leastBelow is how many lines the pane below the list has.
const leastBelow = 8

// prepare works out what stands above and below the list.
func (c *causesList) prepare(r *Reading, width, height int) {
	s := c.Env.Styles
	right := ""
	if r.at != nil {
		right = s.Accent.Render("reading " + term.CutMiddle(model.Printable(r.at.Ref.String()), width/3) + " … ")
	}
	c.head = term.Spread(" "+s.Strong.Render(r.Words()), right, width)
	room := height - 1 - c.rows(height)
	*c.least = r.AtLeast()
	c.Seen(c.rows(height)) // the cursor's place among the rows is as they are drawn
	c.below = c.detail(r, width)
	c.below = append(c.below, r.Unread(s, width, max(room-len(c.below), 3))...)
	if r, ok := c.Table.Current(); ok { // what room is left shows the example
		l := shell.NewPaneLines(s, width)
		saySample(l, &r.Sample)
		c.below = append(c.below, l.Indented()...)
	}
}

// saySample shows the body and the stack trace of one message of a cause.
func saySample(l *shell.DialogLines, sample *cause.Sample) {
	l.SayFirst(3, "body", sample.Body, term.Style{})
	for i, line := range model.PrintableLines(sample.Trace) {
		label := ""
		if i == 0 {
			label = "trace"
		}
		l.Lines = append(l.Lines, l.Styles.Muted.Render(term.Fit(label, shell.LabelWidth, false, false))+
			term.Cut(line, l.Width-shell.LabelWidth, "…"))
	}
}

// rows are the lines of the list.
func (c *causesList) rows(height int) int {
	return c.Share(height-1, max(min(len(c.Table.All)+2, height-1-leastBelow), 4))
}

// view draws what prepare has worked out, and the list.
func (c *causesList) view(r *Reading, width, height int) string {
	s := c.Env.Styles
	rows := c.rows(height)
	why := "no messages were read"
	switch {
	case !c.shown:
		why = "reading the failed queues …"
	case r.read == 0 && r.Empty():
		why = "the failed queues are empty"
	}
	empty := []string{"", "   " + s.Muted.Render(why)}
	return c.head + "\n" + term.Below(c.List.View(width, rows, empty), c.below, width, height-1)
}

// detail shows the cause at the cursor in full: what one of its messages says, and where they are.
func (c *causesList) detail(reading *Reading, width int) []string {
	s := c.Env.Styles
	r, ok := c.Table.Current()
	if !ok {
		return c.Aimless("cause", width)
	}
	l := shell.NewPaneLines(s, width)
	say := func(label, text string, most int) { l.SayFirst(most, label, text, term.Style{}) }
	if r.Cause.Evidence == cause.ByError && r.Sample.Text != "" { // the index has none
		say("example", model.Printable(r.Sample.Text), 2)
	}
	queues := make([]string, len(r.Queues))
	for i, q := range r.Queues {
		queues[i] = model.Printable(q.Of.String()) + " "
		if of := reading.Queues[q.Of]; of != nil {
			queues[i] += of.atLeast()
		}
		queues[i] += model.Count(q.Messages)
	}
	if r.Different < r.Messages {
		say("copies", model.Plural(r.Messages, "message")+", "+model.Count(int64(r.Different))+" different: the others are "+
			"copies in other queues", 2)
	}
	say("queues", namesOf(queues, 4), 2)
	say("state", c.Env.Marks.Sentence(r.ID, c.Env.Shown), 1)
	if note := c.Env.Marks.States.Of(r.ID).Note; note != "" {
		say("note", model.Printable(note), 2)
	}
	if words := r.Cause.Level.Words(); words != "" {
		say("grouped", words, 1)
	}
	say("id", string(r.ID)+", for --cause of dlxtop peek, replay, move, drop and export", 2)
	return append([]string{term.Partition(s, r.text, c.Table.Position(), width)}, l.Indented()...)
}

// Empty reports whether all queues are, as far as is known.
func (c *Reading) Empty() bool {
	for _, q := range c.Queues {
		if q.total().Or(1) > 0 {
			return false
		}
	}
	return true
}
