package causes

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/plan"
	"github.com/dlxtop/dlxtop/ui/act"
	"github.com/dlxtop/dlxtop/ui/messages"
	"github.com/dlxtop/dlxtop/ui/shell"
	"github.com/dlxtop/dlxtop/ui/term"
)

// sayUnread tells what of the cause was not read.
func (c *causePlansScreen) sayUnread(l *shell.DialogLines) {
	if words := c.unread(); words != "" {
		l.Say("", term.MarkWarning+" "+words, l.Styles.Warning)
	}
}

// causePlanRow is a queue of the list.
type causePlanRow struct {
	index    int
	queue    model.QueueRef
	name, to string // printable
	messages model.Opt[int64]
	state    term.Field
}

func newCausePlanTable(e *shell.Env, wish causeWish) term.Table[model.QueueRef, causePlanRow] {
	s := e.Styles
	type column = term.Column[causePlanRow]
	columns := []column{
		column{Title: "QUEUE", Width: 20, Flex: 2, Max: 50, Middle: true}.
			Text(&s.Text, func(r causePlanRow) string { return r.name }),
		{
			Title: "MESSAGES", Width: 8, Right: true,
			Cell: func(r causePlanRow) term.Field { return shell.NumberField(s, r.messages, s.Danger) },
		},
	}
	if wish.asks != asksPath && wish.operation.Publishes() {
		columns = append(columns, term.Column[causePlanRow]{
			Title: "TO", Width: 14, Flex: 1, Max: 40, Middle: true,
			Cell: func(r causePlanRow) term.Field { return term.Field{Text: r.to, Style: s.Text} },
		})
	}
	columns = append(columns, term.Column[causePlanRow]{
		Title: "STATE", Width: 20, Flex: 2,
		Cell: func(r causePlanRow) term.Field { return r.state },
	})
	return term.NewTable(e.Kit(), func(r causePlanRow) model.QueueRef { return r.queue },
		func(a, b causePlanRow) int { return cmp.Compare(a.index, b.index) }, columns...)
}

// show works the rows of the list out.
func (c *causePlansScreen) show() {
	rows := make([]causePlanRow, len(c.queues))
	for i := range c.queues {
		q := &c.queues[i]
		rows[i] = causePlanRow{index: i, queue: q.Queue, name: model.Printable(q.Queue.String()), state: c.stateOf(i)}
		if n := len(q.Table.Shown); q.Dialog.Open() {
			rows[i].messages, rows[i].to = model.Some(int64(len(q.Dialog.Rows))), act.RecipientsOf(&q.Dialog.Plan)
		} else if n > 0 {
			rows[i].messages = model.Some(int64(n))
		}
	}
	c.table.Set(rows)
}

// stateOf is how far a queue is.
func (c *causePlansScreen) stateOf(i int) term.Field {
	s, q := c.env.Styles, &c.queues[i]
	d := &q.Dialog
	say := func(text string, style term.Style) term.Field { return term.Field{Text: text, Style: style} }
	switch {
	case !q.Asked:
		return say("", s.Text)
	case q.Peek != 0:
		return say("reading …", s.Accent)
	case q.Failed != nil || q.Refused.Refusal.Refused():
		return say(term.MarkError+" not read", s.Danger)
	case !d.Open() && len(q.Table.Shown) == 0:
		return say("none is left", s.Muted)
	case !d.Open():
		return say("read", s.Text)
	}
	switch d.State {
	case shell.DialogEnded:
		if d.Well() {
			return say(d.Summary(), s.Good)
		}
		return say(d.Summary(), s.Warning)
	case shell.DialogRunning, shell.DialogStopping:
		a := &d.Account
		return say(fmt.Sprintf("%s of %s", model.Count(int64(a.Done())), model.Count(int64(a.Planned))), s.Accent)
	case shell.DialogChecking:
		return say("reading the topology again …", s.Muted)
	case shell.DialogPlanning:
		return say("working out where they go …", s.Muted)
	}
	switch {
	case d.Offer().Refusal != "":
		return say(term.MarkError+" not possible", s.Danger)
	case d.Unchecked != nil:
		return say(term.MarkWarning+" not checked", s.Warning)
	case !d.ChangedAt.IsZero():
		return say(term.MarkWarning+" changed", s.Warning)
	case len(d.Plan.Warnings) > 0:
		return say(term.MarkWarning+" ready", s.Warning)
	}
	return say("ready", s.Good)
}

// View draws the queues, what is known of the one under the cursor, and the question.
func (c causePlansScreen) View(width, height int) string {
	s := c.env.Styles
	foot := c.lines(width)
	c.foot(foot)
	lines := []string{
		s.Strong.Render(term.Cut(" cause: "+c.only.Words, width-1, "…")), " " + term.Cut(c.words(), width-2, "…"),
	}
	room := height - len(lines) - len(foot.Lines)
	rows := max(min(len(c.queues)+1, room/2), 2)
	lines = append(lines, strings.Split(c.table.View(width, rows), "\n")...)
	lines = append(lines, strings.Split(term.Block(c.pane(width, room-rows), width, max(room-rows, 0)), "\n")...)
	page := term.Block(append(lines, foot.Indented()...), width, height)
	if box := c.wishBox(width, height); box != "" {
		return term.Overlay(s, page, box, width, height)
	}
	return page
}

// Prepare lays what a program makes of the messages.
func (c causePlansScreen) Prepare(width, height int) (shell.Screen, tea.Cmd) {
	if c.wish.asks == asksProgram && c.state == causePlansWishing {
		c.wish.mending.Prepare(width, height)
	}
	return c, nil
}

// words say how far it is.
func (c *causePlansScreen) words() string {
	rest := c.ready()
	what := fmt.Sprintf("%s of %s", model.Plural(c.messages(rest), "message"), model.Plural(len(rest), "queue"))
	switch c.state {
	case causePlansReading:
		return fmt.Sprintf("reading queue %d of %d …", c.at+1, len(c.queues))
	case causePlansWishing:
		count, queues := c.read()
		words := fmt.Sprintf("%s of %s", model.Plural(count, "message"), model.Plural(queues, "queue"))
		if unread := c.unread(); unread != "" {
			words += "; " + unread
		}
		return words
	case causePlansAsking:
		if c.unplanned() {
			return "nothing to " + string(c.wish.operation) + ": no message of this cause was read"
		}
		return string(c.wish.operation) + " " + what + c.asOf()
	case causePlansRunning:
		if len(rest) > 0 {
			return c.summary() + ", then " + what
		}
	}
	return c.summary()
}

// unplanned reports whether no queue has anything to act on.
func (c *causePlansScreen) unplanned() bool {
	return !slices.ContainsFunc(c.queues, func(q messages.Screen) bool { return q.Dialog.Open() })
}

// done is how many messages have gone from their queues, of those that were to go from them.
func (c *causePlansScreen) done() (done, planned int) {
	for i := range c.queues {
		if a := &c.queues[i].Dialog.Account; a.Operation != "" {
			done, planned = done+a.Moved+a.Dropped, planned+a.Planned
		}
	}
	return done, planned
}

// summary is what has happened in one sentence.
func (c *causePlansScreen) summary() string {
	done, planned := c.done()
	what := map[bool]string{true: "moved", false: "dropped"}[c.wish.operation.Publishes()]
	if done < planned {
		return fmt.Sprintf("%s of %s %s", model.Count(int64(done)), model.Plural(planned, "message"), what)
	}
	return model.Plural(done, "message") + " " + what
}

// asOf is when they were read, and what came later.
func (c *causePlansScreen) asOf() string {
	var first time.Time
	arrived := int64(0)
	for i := range c.queues {
		q := &c.queues[i]
		if !q.Dialog.Open() {
			continue
		}
		if first.IsZero() || q.Peeked.TakenAt.Before(first) {
			first = q.Peeked.TakenAt
		}
		arrived += q.Dialog.Others.Arrived
	}
	words := ", as read at " + first.Local().Format("15:04:05")
	if later := plan.ArrivedWords(arrived); later != "" {
		words += "; " + later
	}
	return words
}

// pane is the queue under the cursor: its plan, how far that is, or how it ended.
func (c *causePlansScreen) pane(width, height int) []string {
	s := c.env.Styles
	q, ok := c.current()
	if !ok || height < 1 {
		return nil
	}
	l, d := c.lines(width), &q.Dialog
	switch {
	case q.Failed != nil:
		l.Stress("not read", shell.ReadableError(q.Failed), s.Danger)
	case q.Refused.Refusal.Refused():
		l.Stress("not read", model.Printable(q.Refused.Refusal.Words()), s.Danger)
	case d.State == shell.DialogEnded:
		d.SayAccount(l, false)
	case d.State == shell.DialogRunning, d.State == shell.DialogStopping:
		d.SayRun(l)
	case d.Open() && d.Plan.Operation != "":
		if refusal := d.Offer().Refusal; refusal != "" {
			l.Stress("", term.MarkError+" not possible: "+model.Printable(refusal), s.Danger)
		}
		d.SayChanges(l) // first: the end may not be seen
		d.SayPlan(l)
	}
	l.Fit(height - 1)
	head := term.Partition(s, model.Printable(q.Queue.String()), c.table.Position(), width)
	return append([]string{head}, l.Indented()...)
}

// lines are those of a page of this width: what takes more than a dialog's is hard to read.
func (c *causePlansScreen) lines(width int) *shell.DialogLines {
	return shell.NewPaneLines(c.env.Styles, min(width, 126))
}

// foot shows what is asked, and the keys.
func (c *causePlansScreen) foot(l *shell.DialogLines) {
	s := c.env.Styles
	l.Blank()
	switch c.state {
	case causePlansReading:
		l.Hints(shell.Hint(s, "esc", "back"))
	case causePlansAsking:
		ready := c.ready()
		if left := len(c.planned()) - len(ready); left > 0 {
			words := model.Plural(left, "queue") + " left out: its messages stay where they are"
			if left > 1 {
				words = model.Plural(left, "queue") + " left out: their messages stay where they are"
			}
			l.Say("", term.MarkWarning+" "+words, s.Warning)
		}
		c.sayUnread(l)
		c.consent.Say(l, c.offer())
		l.Keys(c.Keys()...)
	case causePlansRunning:
		hints := ""
		if c.running().Waits() {
			hints = shell.Hint(s, "enter", "do not wait longer")
		}
		c.running().SayStop(l, hints)
	case causePlansEnded:
		if rest := c.ready(); len(rest) > 0 {
			l.Say("", term.MarkWarning+" it ended before "+model.Plural(len(rest), "queue")+": "+
				model.Plural(c.messages(rest), "message")+" are untouched", s.Warning)
		}
		c.sayUnread(l)
		l.Keys(c.Keys()...)
	}
}
