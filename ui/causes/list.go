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
	env    *shell.Env
	list   term.List[cause.ID, causeRow]
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
	rows := term.NewTable(e.Kit(), func(r causeRow) cause.ID { return r.ID },
		func(a, b causeRow) int { return cmp.Compare(a.place, b.place) }, causeColumns(e, least)...)
	return causesList{
		env: e, places: map[cause.ID]int{}, least: least,
		list: term.NewList(rows, func(r causeRow) []string { return []string{r.text, r.workers} }),
	}
}

func causeColumns(e *shell.Env, least *string) []term.Column[causeRow] {
	s := e.Styles
	return []term.Column[causeRow]{
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
		{
			Title: "WORKER", Width: 10, Flex: 1, Max: 30, Middle: true,
			Cell:    func(r causeRow) term.Field { return term.Field{Text: r.workers, Style: s.Text} },
			Compare: func(a, b causeRow) int { return cmp.Compare(a.workers, b.workers) },
		},
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
		{
			Title: "LAST HOUR", Width: 9, Drop: 2, Blank: true,
			Cell: func(r causeRow) term.Field {
				return term.Field{Text: picture.Sparkline(r.recent), Style: s.Danger}
			},
		},
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
	c.list.Table.Set(rows)
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
		return cmp.Compare(c.env.Marks.Rank(a.ID), c.env.Marks.Rank(b.ID))
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
	s := c.env.Styles
	right := ""
	if r.at != nil {
		right = s.Accent.Render("reading " + term.CutMiddle(model.Printable(r.at.Ref.String()), width/3) + " … ")
	}
	c.head = term.Spread(" "+s.Strong.Render(r.Words()), right, width)
	room := height - 1 - c.rows(height)
	*c.least = r.AtLeast()
	c.list.Seen(c.rows(height)) // the cursor's place among the rows is as they are drawn
	c.below = c.detail(r, width)
	c.below = append(c.below, r.Unread(s, width, max(room-len(c.below), 3))...)
	if r, ok := c.list.Table.Current(); ok { // what room is left shows the example
		c.below = append(c.below, sampleLines(s, &r.Sample, width)...)
	}
}

// sampleLines are the body and the stack trace of one message of a cause.
func sampleLines(s *term.Styles, sample *cause.Sample, width int) (lines []string) {
	say := func(label string, text []string) {
		for _, line := range text {
			lines = append(lines, "   "+s.Muted.Render(term.Fit(label, 10, false, false))+term.Cut(line, width-16, "…"))
			label = ""
		}
	}
	body := term.Wrap(sample.Body, width-16)
	say("body", body[:min(len(body), 3)])
	say("trace", model.PrintableLines(sample.Trace))
	return lines
}

// rows are the lines of the list.
func (c *causesList) rows(height int) int {
	return c.list.Share(height-1, max(min(len(c.list.Table.All)+2, height-1-leastBelow), 4))
}

// view draws what prepare has worked out, and the list.
func (c *causesList) view(r *Reading, width, height int) string {
	s := c.env.Styles
	rows := c.rows(height)
	why := "no messages were read"
	switch {
	case !c.shown:
		why = "reading the failed queues …"
	case r.read == 0 && r.Empty():
		why = "the failed queues are empty"
	}
	empty := []string{"", "   " + s.Muted.Render(why)}
	return c.head + "\n" + term.Below(c.list.View(width, rows, empty), c.below, width, height-1)
}

// detail shows the cause at the cursor in full: what one of its messages says, and where they are.
func (c *causesList) detail(reading *Reading, width int) []string {
	s := c.env.Styles
	r, ok := c.list.Table.Current()
	if !ok {
		return c.list.Aimless("cause", width)
	}
	lines := []string{term.Partition(s, r.text, c.list.Table.Position(), width)}
	say := func(label, text string, most int) {
		for i, line := range term.Wrap(text, width-16) {
			if i == most {
				break
			}
			if i > 0 {
				label = ""
			}
			lines = append(lines, "   "+s.Muted.Render(term.Fit(label, 10, false, false))+line)
		}
	}
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
	say("state", c.env.Marks.Sentence(r.ID, c.env.Shown), 1)
	if note := c.env.Marks.States.Of(r.ID).Note; note != "" {
		say("note", model.Printable(note), 2)
	}
	if words := r.Cause.Level.Words(); words != "" {
		say("grouped", words, 1)
	}
	say("id", string(r.ID)+", for --cause of dlxtop peek, replay, move, drop and export", 2)
	return lines
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
