package ui

import (
	"fmt"
	"strings"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/ui/term"
)

// words say how much was read: "14 failed queues   1,180 of 1,204 read; M reads the rest".
func (c *causesReading) words() string {
	var count, left int64
	known, whole, extends := true, true, false
	for _, ref := range c.order {
		q := c.queues[ref]
		total, ok := q.total().Get()
		known = known && ok
		count, left = count+max(total, q.read), left+q.left()
		if q.extends() {
			extends, whole = true, whole && total <= int64(q.limit*peekFactor)
		}
	}
	words := model.Plural(len(c.order), "failed queue") + "   "
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
		words += "; " + c.env.keys.More.Help().Key + " reads " + map[bool]string{true: "the rest", false: "more"}[whole]
	}
	var costly int64
	for _, q := range c.costly() {
		costly += q.left()
	}
	if costly > 0 {
		words += "; " + c.env.keys.Insist.Help().Key + " reads " + model.Count(costly) + ", at a cost"
	}
	return words
}

// atLeast stands before the counts of causes until all messages were read.
func (c *causesReading) atLeast() string {
	for _, ref := range c.order {
		if mark := c.queues[ref].atLeast(); mark != "" {
			return mark
		}
	}
	return ""
}

func (q *causesQueue) atLeast() string {
	if q.left() > 0 || !q.total().Known() {
		return "≥ "
	}
	return ""
}

// why is why messages of the queue were not read; "" when they were, or will be by themselves.
func (q *causesQueue) why() string {
	left := q.left()
	switch {
	case q.refusal.Refused():
		return model.Printable(q.refusal.Words())
	case q.err != nil:
		return readableError(q.err)
	case left == 0 && q.total().Known() && (q.earlier == nil || q.plan.Allowed() && q.plan.Free):
		return ""
	case !q.plan.Allowed():
		return model.Printable(q.plan.Refusal.Words())
	case !q.plan.Free:
		return "a look has a cost: " + model.Printable(q.plan.Cost)
	case q.readAt.IsZero():
		return ""
	case q.stopped != "":
		return model.Printable(q.stopped)
	case q.read >= int64(q.limit):
		return "the first " + model.Plural(q.read, "message") + " were read"
	}
	return ""
}

// unread are the queues with messages that were not read, with the reason of each, in at most that number of lines.
func (c *causesReading) unread(s *term.Styles, width, most int) []string {
	var unread []*causesQueue
	for _, ref := range c.order {
		if q := c.queues[ref]; q.why() != "" {
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
func (c *causesReading) unreadWords(q *causesQueue) string {
	name, left := model.Printable(q.ref.String()), q.left()
	switch {
	case q.earlier != nil && q.err == nil:
		words := fmt.Sprintf("as of %s: %s of %s", c.clock(q.readAt), model.Count(q.read), name)
		if left > 0 {
			words += fmt.Sprintf(", not read: %s", model.Count(left))
		}
		return words + ": " + q.why()
	case q.err != nil && !q.readAt.IsZero() && left == 0:
		return fmt.Sprintf("not read again: %s: %s", name, q.why())
	case !q.total().Known():
		return fmt.Sprintf("not read: messages of %s: %s", name, q.why())
	}
	return fmt.Sprintf("not read: %s of %s: %s", model.Count(left), name, q.why())
}

// costDialog asks whether queues are to be read where a look has a cost.
func costDialog(s *term.Styles, queues []*causesQueue, width int) string {
	const shown = 6
	l := newDialogLines(s, width)
	l.say("", "A look at these queues costs more than the mark \"redelivered\". Each is read once.", s.Text)
	l.blank()
	for i, q := range queues {
		if i == shown {
			l.say("", "and "+model.Plural(len(queues)-i, "more queue"), s.Muted)
			break
		}
		reads := min(q.total().Or(int64(q.plan.Limit)), int64(q.plan.Limit))
		l.say("queue", model.Printable(q.ref.String())+", "+model.Plural(reads, "message"), s.Strong)
		l.say("cost", model.Printable(q.plan.Cost), s.Warning)
	}
	l.blank()
	l.hints(hint(s, "enter", "read them") + hint(s, "esc", "back"))
	return l.box("Read " + model.Plural(len(queues), "failed queue"))
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
