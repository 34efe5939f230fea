package causes

import (
	"fmt"
	"strings"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/ui/messages"
	"github.com/dlxtop/dlxtop/ui/shell"
	"github.com/dlxtop/dlxtop/ui/term"
)

// Words say how much was read: "14 failed queues   1,180 of 1,204 read; M reads the rest".
func (c *Reading) Words() string {
	var count, left int64
	known, whole, extends := true, true, false
	for _, ref := range c.Order {
		q := c.Queues[ref]
		total, ok := q.total().Get()
		known = known && ok
		count, left = count+max(total, q.Read), left+q.left()
		if q.extends() {
			extends, whole = true, whole && total <= int64(q.Limit*messages.PeekFactor)
		}
	}
	words := model.Plural(len(c.Order), "failed queue") + "   "
	switch read := model.Count(c.read); {
	case !known:
		words += read + " of ≥ " + model.Count(count) + " read"
	case left > 0:
		words += read + " of " + model.Count(count) + " read"
	default:
		words += model.Plural(count, "message") + "   " + read + " read"
	}
	if earlier := c.earlier(); earlier != "" {
		words += ", " + earlier
	}
	if extends {
		words += "; " + c.Env.Keys.More.Help().Key + " reads " + map[bool]string{true: "the rest", false: "more"}[whole]
	}
	var costly int64
	for _, q := range c.Costly() {
		costly += q.left()
	}
	if costly > 0 {
		words += "; " + c.Env.Keys.Insist.Help().Key + " reads " + model.Count(costly) + ", at a cost"
	}
	return words
}

// AtLeast stands before the counts of causes until all messages were read.
func (c *Reading) AtLeast() string {
	for _, ref := range c.Order {
		if mark := c.Queues[ref].atLeast(); mark != "" {
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

// why is why messages of the queue were not read; "" when they were, or will be by themselves.
func (q *Queue) why() string {
	left := q.left()
	switch {
	case q.refusal.Refused():
		return model.Printable(q.refusal.Words())
	case q.err != nil:
		return shell.ReadableError(q.err)
	case left == 0 && q.total().Known() && (q.Earlier == nil || q.Plan.Allowed() && q.Plan.Free):
		return ""
	case !q.Plan.Allowed():
		return model.Printable(q.Plan.Refusal.Words())
	case !q.Plan.Free:
		return "a look has a cost: " + model.Printable(q.Plan.Cost)
	case q.ReadAt.IsZero():
		return ""
	case q.stopped != "":
		return model.Printable(q.stopped)
	case q.Read >= int64(q.Limit):
		return "the first " + model.Plural(q.Read, "message") + " were read"
	}
	return ""
}

// Unread are the queues with messages that were not read, with the reason of each, in at most that number of lines.
func (c *Reading) Unread(s *term.Styles, width, most int) []string {
	var unread []*Queue
	for _, ref := range c.Order {
		if q := c.Queues[ref]; q.why() != "" {
			unread = append(unread, q)
		}
	}
	each, more := 1, 0 // lines of one queue
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
			words = append(words[:each-1:each-1], term.Cut(strings.Join(words[each-1:], " "), width-6, "…"))
		}
		for _, part := range words {
			lines = append(lines, "   "+s.Warning.Render(part))
		}
	}
	if more > 0 {
		lines = append(lines, "   "+s.Warning.Render("and of "+model.Plural(more, "more queue")))
	}
	return lines
}

// unreadWords are what was not read of the queue, and why.
func (c *Reading) unreadWords(q *Queue) string {
	name, left := model.Printable(q.Ref.String()), q.left()
	switch {
	case q.Earlier != nil && q.err == nil:
		words := fmt.Sprintf("as of %s: %s of %s", c.clock(q.ReadAt), model.Count(q.Read), name)
		if left > 0 {
			words += fmt.Sprintf(", not read: %s", model.Count(left))
		}
		return words + ": " + q.why()
	case q.err != nil && !q.ReadAt.IsZero() && left == 0:
		return fmt.Sprintf("not read again: %s: %s", name, q.why())
	case !q.total().Known():
		return fmt.Sprintf("not read: messages of %s: %s", name, q.why())
	}
	return fmt.Sprintf("not read: %s of %s: %s", model.Count(left), name, q.why())
}

// CostDialog asks whether queues are to be read where a look has a cost.
func CostDialog(s *term.Styles, queues []*Queue, width int) string {
	const shown = 6
	l := shell.NewDialogLines(s, width)
	l.Say("", "A look at these queues costs more than the mark \"redelivered\". Each is read once.", s.Text)
	l.Blank()
	for i, q := range queues {
		if i == shown {
			l.Say("", "and "+model.Plural(len(queues)-i, "more queue"), s.Muted)
			break
		}
		reads := min(q.total().Or(int64(q.Plan.Limit)), int64(q.Plan.Limit))
		l.Say("queue", model.Printable(q.Ref.String())+", "+model.Plural(reads, "message"), s.Strong)
		l.Say("cost", model.Printable(q.Plan.Cost), s.Warning)
	}
	l.Blank()
	l.Hints(shell.Hint(s, "enter", "read them") + shell.Hint(s, "esc", "back"))
	return l.Box("Read " + model.Plural(len(queues), "failed queue"))
}

// oneOf is the first name of a list, and how many more there are, for a narrow column: "orders +2"; "?" of none.
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

// namesOf are the first names of a list, and how many more there are; "?" of none.
func namesOf(names []string, most int) string {
	if len(names) == 0 {
		return "?"
	}
	text := strings.Join(names[:min(len(names), most)], ", ")
	if more := len(names) - most; more > 0 {
		text += " and " + model.Count(more) + " more"
	}
	return text
}
