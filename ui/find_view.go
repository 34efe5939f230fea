package ui

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/find"
	"github.com/dlxtop/dlxtop/ui/term"
)

// findPane is how many lines below the list are for the message under the cursor and for what was not read.
const findPane = 6

// foundBy is what a column says of a message that was found.
type foundBy bool

const (
	inPlace foundBy = false // where what is looked for stands
	byID    foundBy = true  // its message id
)

func findColumns(e *env, by foundBy) []term.Column[*findRow] {
	s := e.styles
	text := func(of func(*findRow) string, style *term.Style) func(*findRow) term.Field {
		return func(r *findRow) term.Field { return term.Field{Text: of(r), Style: *style} }
	}
	third := term.Column[*findRow]{
		Title: "IN", Width: 14, Max: 24, Flex: 1,
		Cell:    text(func(r *findRow) string { return r.where }, &s.Muted),
		Compare: func(a, b *findRow) int { return cmp.Compare(a.where, b.where) },
	}
	if by == byID {
		third = term.Column[*findRow]{
			Title: "MESSAGE ID", Width: 14, Max: 36, Flex: 1, Drop: 3,
			Cell:    text(func(r *findRow) string { return r.id }, &s.Muted),
			Compare: func(a, b *findRow) int { return cmp.Compare(a.id, b.id) },
		}
	}
	return []term.Column[*findRow]{
		{
			Title: "QUEUE", Width: 20, Flex: 2, Max: 40, Middle: true,
			Cell:    text(func(r *findRow) string { return r.queue }, &s.Text),
			Compare: func(a, b *findRow) int { return cmp.Compare(a.queue, b.queue) },
		},
		{
			Title: "#", Width: 7, Right: true,
			Cell:    text(func(r *findRow) string { return model.Count(int64(r.hit.Position)) }, &s.Text),
			Compare: func(a, b *findRow) int { return cmp.Compare(a.hit.Position, b.hit.Position) },
		},
		{
			Title: "AGE", Width: 8, Right: true, Drop: 2,
			Cell: text(func(r *findRow) string { return r.published(e.shown) }, &s.Muted),
			Compare: func(a, b *findRow) int {
				return b.hit.Published.Or(e.shown).Compare(a.hit.Published.Or(e.shown))
			},
		},
		{
			Title: "ROUTING KEY", Width: 14, Flex: 1, Max: 28, Middle: true, Drop: 1,
			Cell:    text(func(r *findRow) string { return r.key }, &s.Text),
			Compare: func(a, b *findRow) int { return cmp.Compare(a.key, b.key) },
		},
		third,
		{
			Title: "TEXT", Width: 20, Flex: 4,
			Cell: text(func(r *findRow) string { return r.folded }, &s.Text),
		},
	}
}

func (s findScreen) View(width, height int) string {
	head := []string{s.headLine(width)}
	if s.only.Group != nil {
		head = append(head, s.env.styles.Strong.Render(term.Cut(" cause: "+s.only.words, width-1, "…")))
	}
	most := max(height/3, findPane)
	rows := s.list.Share(height-len(head), height-len(head)-len(s.pane(width, most)))
	list := s.list.View(width, rows, []string{"", "   " + s.env.styles.Muted.Render(s.emptiness())})
	pane := s.pane(width, most) // says which rows are seen
	return term.Block(append(append(head, strings.Split(list, "\n")...), pane...), width, height)
}

// headLine says what is looked for, and how far that is.
func (s findScreen) headLine(width int) string {
	styles, p := s.env.styles, &s.progress
	found := model.Count(len(s.rows)) + " found"
	if !s.ended || len(s.missed) > 0 {
		found = "≥ " + found
	}
	if s.only.Group != nil && s.ended && s.costly && len(s.rows) == 0 {
		found = styles.Warning.Render(fmt.Sprintf("%s not read: a look costs, %s reads",
			model.Count(int64(s.only.Messages)), s.env.keys.Insist.Help().Key))
	}
	left := " " + styles.Title.Render(s.Title()) + "   " + found
	if p.Of > 0 {
		left += styles.Muted.Render(fmt.Sprintf("   %s read in %s of %s", model.Plural(p.Read, "message"),
			model.Count(int64(p.Queues)), model.Plural(p.Of, "queue")))
	}
	right := ""
	switch {
	case s.ended && s.stopped:
		right = styles.Warning.Render("stopped ")
	case s.ended && s.err != nil:
		right = styles.Danger.Render("not complete ")
	case s.ended:
		right = styles.Muted.Render("complete ")
		if len(s.missed) > 0 {
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

func (s findScreen) emptiness() string {
	switch {
	case s.topology == nil:
		return "the broker has not been read yet"
	case !s.ended:
		return "nothing found yet: failed queues are read first, then buffers, then the others"
	case s.only.Group != nil && len(s.missed) > 0:
		return "none of this cause in what was read"
	case s.only.Group != nil:
		return "none of this cause is left"
	}
	return "nothing found"
}

// pane tells about the hit under the cursor, and what was not read.
func (s findScreen) pane(width, height int) []string {
	styles := s.env.styles
	var lines []string
	if r, ok := s.list.Table.Current(); ok {
		id := ""
		if r.id != "" {
			id = "   " + r.id
		}
		lines = append(lines, term.Partition(styles, r.queue+id, s.list.Table.Position(), width))
		where := ""
		if s.only.Group == nil {
			where = styles.Muted.Render(r.where + "   ")
		}
		lines = append(lines, "   "+where+r.before+styles.Chosen.Render(r.found)+r.after)
	} else {
		lines = append(lines, s.list.Aimless("message", width)...)
	}
	if s.err != nil {
		for _, part := range term.Wrap(term.MarkError+" "+readableError(s.err), width-6) {
			lines = append(lines, "   "+styles.Danger.Render(part))
		}
	}
	for i := range s.missed {
		words := term.Wrap("not read: "+model.Printable(s.missed[i].Words()), width-6)
		if room := height - len(lines); len(words) > room || len(words) == room && i < len(s.missed)-1 {
			more := model.Plural(len(s.missed)-i, "more reason")
			lines = append(lines[:min(len(lines), height-1)], "   "+styles.Warning.Render("not read: "+more))
			break
		}
		for _, part := range words {
			lines = append(lines, "   "+styles.Warning.Render(part))
		}
	}
	return lines[:min(len(lines), height)]
}

// newMessagesScreenAt opens the messages of a queue with the cursor on one that was found. It reads so much of the
// queue that this one is read, and shows those of a cause. then is done once they are.
func newMessagesScreenAt(e *env, hit *find.Hit, only ofCause, then afterLook) screen {
	s := newCauseScreen(e, hit.Queue, only, peekFirst, then).(messagesScreen)
	for s.limit < hit.Position && s.limit < peekMost {
		s.limit = s.nextLimit()
	}
	s.sought = hit
	return s
}

// seek puts the cursor on the message that was found, if it is still there: of several equal ones, on that which is
// nearest to its place.
func (s *messagesScreen) seek() (missing bool) {
	hit := s.sought
	if hit == nil {
		return false
	}
	s.sought = nil
	best := -1
	for i, r := range s.table.Shown {
		if r.id.fingerprint != hit.Fingerprint {
			continue
		}
		if best < 0 || distanceTo(r, hit.Position) < distanceTo(s.table.Shown[best], hit.Position) {
			best = i
		}
	}
	if best < 0 {
		return true
	}
	s.table.MoveTo(best)
	return false
}

func distanceTo(r *messageRow, position int) int {
	return max(int(r.position)-position, position-int(r.position))
}
