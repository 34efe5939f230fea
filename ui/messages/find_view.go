package messages

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/find"
	"github.com/dlxtop/dlxtop/ui/shell"
	"github.com/dlxtop/dlxtop/ui/term"
)

// findPane is how many lines below the list are for the message under the cursor.
const findPane = 6

// foundBy is what a column says of a message that was found.
type foundBy bool

const (
	inPlace foundBy = false // where what is looked for stands
	ByID    foundBy = true  // its message id
)

func FindColumns(e *shell.Env, by foundBy) []term.Column[*FindRow] {
	s := e.Styles
	text := func(of func(*FindRow) string, style *term.Style) func(*FindRow) term.Field {
		return func(r *FindRow) term.Field { return term.Field{Text: of(r), Style: *style} }
	}
	third := term.Column[*FindRow]{
		Title: "IN", Width: 14, Max: 24, Flex: 1,
		Cell:    text(func(r *FindRow) string { return r.where }, &s.Muted),
		Compare: func(a, b *FindRow) int { return cmp.Compare(a.where, b.where) },
	}
	if by == ByID {
		third = term.Column[*FindRow]{
			Title: "MESSAGE ID", Width: 14, Max: 36, Flex: 1, Drop: 3,
			Cell:    text(func(r *FindRow) string { return r.id }, &s.Muted),
			Compare: func(a, b *FindRow) int { return cmp.Compare(a.id, b.id) },
		}
	}
	return []term.Column[*FindRow]{
		{
			Title: "QUEUE", Width: 20, Flex: 2, Max: 40, Middle: true,
			Cell:    text(func(r *FindRow) string { return r.queue }, &s.Text),
			Compare: func(a, b *FindRow) int { return cmp.Compare(a.queue, b.queue) },
		},
		{
			Title: "#", Width: 7, Right: true,
			Cell:    text(func(r *FindRow) string { return model.Count(int64(r.Hit.Position)) }, &s.Text),
			Compare: func(a, b *FindRow) int { return cmp.Compare(a.Hit.Position, b.Hit.Position) },
		},
		{
			Title: "AGE", Width: 8, Right: true, Drop: 2,
			Cell: text(func(r *FindRow) string { return r.published(e.Shown) }, &s.Muted),
			Compare: func(a, b *FindRow) int {
				return b.Hit.Published.Or(e.Shown).Compare(a.Hit.Published.Or(e.Shown))
			},
		},
		{
			Title: "ROUTING KEY", Width: 14, Flex: 1, Max: 28, Middle: true, Drop: 1,
			Cell:    text(func(r *FindRow) string { return r.key }, &s.Text),
			Compare: func(a, b *FindRow) int { return cmp.Compare(a.key, b.key) },
		},
		third,
		{
			Title: "TEXT", Width: 20, Flex: 4,
			Cell: text(func(r *FindRow) string { return r.folded }, &s.Text),
		},
	}
}

func (s FindScreen) View(width, height int) string {
	head := []string{s.headLine(width)}
	if s.Only.Group != nil {
		head = append(head, s.Env.Styles.Strong.Render(term.Cut(" cause: "+s.Only.Words, width-1, "…")))
	}
	head = append(head, s.missedLines(width, max(height/4, 3))...)
	most := max(height/3, findPane)
	rows := s.List.Share(height-len(head), height-len(head)-len(s.pane(width, most)))
	list := s.List.View(width, rows, []string{"", "   " + s.Env.Styles.Muted.Render(s.Emptiness())})
	pane := s.pane(width, most) // says which rows are seen
	return term.Block(append(append(head, strings.Split(list, "\n")...), pane...), width, height)
}

// headLine says what is looked for, and how far that is.
func (s FindScreen) headLine(width int) string {
	styles, p := s.Env.Styles, &s.progress
	found := model.Count(len(s.Rows)) + " found"
	if !s.Ended || len(s.Missed) > 0 {
		found = "≥ " + found
	}
	if s.Only.Group != nil && s.Ended && s.costly && len(s.Rows) == 0 {
		found = styles.Warning.Render(fmt.Sprintf("%s not read: a look costs, %s reads",
			model.Count(int64(s.Only.Messages)), s.Env.Keys.Insist.Help().Key))
	}
	left := " " + styles.Title.Render(s.Title()) + "   " + found
	if p.Of > 0 {
		left += styles.Muted.Render(fmt.Sprintf("   %s read in %s of %s", model.Plural(p.Read, "message"),
			model.Count(int64(p.Queues)), model.Plural(p.Of, "queue")))
	}
	right := ""
	switch {
	case s.Ended && s.stopped:
		right = styles.Warning.Render("stopped ")
	case s.Ended && s.err != nil:
		right = styles.Danger.Render("not complete ")
	case s.Ended:
		right = styles.Muted.Render("complete ")
		if len(s.Missed) > 0 {
			right = styles.Warning.Render("not all was read ")
		}
	case s.stopped:
		right = styles.Warning.Render("stopping … ")
	case p.Rate() > 0:
		right = styles.Accent.Render(model.Count(p.Rate()) + "/s … ")
	default:
		right = styles.Accent.Render("searching … ")
	}
	return term.Spread(left, right, width)
}

func (s FindScreen) Emptiness() string {
	switch {
	case s.Topology == nil:
		return "the broker has not been read yet"
	case !s.Ended:
		return "nothing found yet: failed queues are read first, then buffers, then the others"
	case s.Only.Group != nil && len(s.Missed) > 0:
		return "none of this cause in what was read"
	case s.Only.Group != nil:
		return "none of this cause is left"
	}
	return "nothing found"
}

// pane tells about the hit under the cursor.
func (s FindScreen) pane(width, height int) []string {
	styles := s.Env.Styles
	var lines []string
	if r, ok := s.List.Table.Current(); ok {
		id := ""
		if r.id != "" {
			id = "   " + r.id
		}
		lines = append(lines, term.Partition(styles, r.queue+id, s.List.Table.Position(), width))
		where := ""
		if s.Only.Group == nil {
			where = styles.Muted.Render(r.where + "   ")
		}
		lines = append(lines, "   "+where+r.before+styles.Chosen.Render(r.found)+r.after)
	} else {
		lines = append(lines, s.List.Aimless("message", width)...)
	}
	if s.err != nil {
		lines = append(lines, shell.Indented(styles.Danger, term.MarkError+" "+shell.ReadableError(s.err), width)...)
	}
	return lines[:min(len(lines), height)]
}

// missedLines are what was not read, and why: what is found is not all that there may be.
func (s FindScreen) missedLines(width, height int) (lines []string) {
	styles := s.Env.Styles
	for i := range s.Missed {
		text := "not read: " + model.Printable(s.Missed[i].Words())
		words := term.Wrap(text, width-6)
		if 2*len(s.Missed) > height {
			words = []string{term.Cut(text, width-6, "…")}
		}
		if room := height - len(lines); len(words) > room || len(words) == room && i < len(s.Missed)-1 {
			more := model.Plural(len(s.Missed)-i, "more reason")
			return append(lines[:min(len(lines), height-1)], "   "+styles.Warning.Render("not read: "+more))
		}
		for _, part := range words {
			lines = append(lines, "   "+styles.Warning.Render(part))
		}
	}
	return lines
}

// NewScreenAt opens the messages of a queue with the cursor on one that was found. It reads so much of the
// queue that this one is read, and shows those of a cause. then is done once they are.
func NewScreenAt(e *shell.Env, hit *find.Hit, only OfCause, then afterLook) shell.Screen {
	s := NewCauseScreen(e, hit.Queue, only, peekFirst, then).(Screen)
	for s.Limit < hit.Position && s.Limit < PeekMost {
		s.Limit = s.nextLimit()
	}
	s.sought = hit
	return s
}

// seek puts the cursor on the message that was found, if it is still there: of several equal ones, on that which is
// nearest to its place.
func (s *Screen) seek() (missing bool) {
	hit := s.sought
	if hit == nil {
		return false
	}
	s.sought = nil
	best := -1
	for i, r := range s.Table.Shown {
		if r.Id.Fingerprint != hit.Fingerprint {
			continue
		}
		if best < 0 || distanceTo(r, hit.Position) < distanceTo(s.Table.Shown[best], hit.Position) {
			best = i
		}
	}
	if best < 0 {
		return true
	}
	s.Table.MoveTo(best)
	return false
}

func distanceTo(r *shell.MessageRow, position int) int {
	return max(int(r.Position)-position, position-int(r.Position))
}
