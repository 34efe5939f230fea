package causes

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/charmbracelet/bubbles/key"
	tea "github.com/charmbracelet/bubbletea"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/peek"
	"github.com/dlxtop/dlxtop/ui/press"
	"github.com/dlxtop/dlxtop/ui/shell"
	"github.com/dlxtop/dlxtop/ui/term"
)

// asking is what the user is asked about failed queues where a look has a cost.
type asking int

const (
	asksNothing asking = iota
	asksCost           // whether to read them
	asksOnce           // the same, and whether to ask the next time
	asksConsent        // whether to ask the next time
)

// Asking reports whether a question is open: it has the keys.
func (c *Reading) Asking() bool { return c.asks != asksNothing }

// ask wants these queues to be read, after a question about those that do not begin by themselves.
func (c *Reading) ask(queues []*Queue) {
	consent := c.Env.LookConsent(c.Broker)
	c.asked = model.Without(queues, func(q *Queue) bool {
		_, begins := consent.Begins(q.Plan)
		if begins {
			q.Wanted, q.Agreed = true, true
		}
		return begins
	})

	if len(c.asked) > 0 {
		c.asks = asksCost
	}
}

// AskOnce asks, once for a broker, about the first failed queues that were not read because of their delivery limit.
func (c *Reading) AskOnce() {
	if c.Request != 0 || c.asks != asksNothing || c.Broker == "" {
		return
	}
	unread := only(c.Costly(), func(q *Queue) bool { return q.Plan.Counts && q.left() > 0 })
	if len(unread) > 0 && c.Env.MayAskOnce(c.Broker) {
		c.asks, c.asked = asksOnce, unread
	}
}

// close closes the question.
func (c *Reading) close() { c.asks = asksNothing }

// consent agrees to looks, as one of peek.Consents.
func (c *Reading) consent(to peek.Consent) func() tea.Cmd {
	return func() tea.Cmd {
		cmd := c.Env.ChooseLooks(c.Broker, to)
		if c.asks == asksOnce && to == peek.AskEach {
			c.agree()
		}
		c.close()
		return cmd
	}
}

// agree reads the queues of the question.
func (c *Reading) agree() {
	c.asks = asksNothing
	for _, q := range c.asked {
		if q.Plan.Allowed() {
			q.Wanted, q.Agreed = true, true
		}
	}
}

// consentKeys returns the keys of peek.Consents.
func consentKeys() []key.Binding {
	return []key.Binding{press.AskEach, press.WhileHalf, press.Always}
}

// of returns the queues for which a condition holds.
func (c *Reading) of(is func(*Queue) bool) []*Queue { return only(c.Order, is) }

func only(queues []*Queue, is func(*Queue) bool) []*Queue {
	return model.Without(queues, func(q *Queue) bool { return !is(q) })
}

// counts reports whether looks at the queue use up its delivery limit.
func (q *Queue) counts() bool { return q.Plan.Counts }

// endangers reports whether they use it up, or can pass it.
func (q *Queue) endangers() bool { return q.Plan.Endangers() }

// Keys returns the keys that read more, or those of the open question.
func (c *Reading) Keys() []term.Key {
	cancel := term.On(press.Cancel, "", c.close)
	switch c.asks {
	case asksCost:
		return []term.Key{term.On(press.Confirm, "", c.agree).As("read them"), cancel}
	case asksOnce:
		return append(c.consents(), cancel.As("not now"))
	case asksConsent:
		return append(c.consents(), cancel)
	}

	return []term.Key{
		term.On(press.Insist,
			"read the queues that were not read because a look has a cost: it asks first, unless you agreed once",
			func() { c.ask(c.Costly()) }).As("read").When(len(c.Costly()) > 0),
		term.On(press.More, "read more of the queues that were read in part, or what came since", c.Extend).
			As("read more").When(c.More() > 0),
	}
}

// consents returns the answers to the question when looks begin that use up a delivery limit.
func (c *Reading) consents() (keys []term.Key) {
	answers := []string{
		"ask each time", "by themselves while more than half of the looks are left", "always by themselves",
	}
	for i, b := range consentKeys() {
		keys = append(keys, term.On(b, "on that question: "+answers[i], c.consent(peek.Consents[i])).When(c.Asking()))
	}

	return keys
}

// Dialog returns the open question.
func (c *Reading) Dialog(width int) string {
	l := shell.NewDialogLines(width)
	title := model.Sayf("Read %v failed queue(s)", len(c.asked))
	if c.asks != asksConsent {
		words := "A look at these queues costs more than the mark \"redelivered\". Each is read once."
		if slices.ContainsFunc(c.asked, (*Queue).counts) {
			words = "One look reads all of a queue and uses 1 of its delivery limit. Every screen and command then shows " +
				"what it read."
		}

		l.Say("", words)
		l.Blank()
		sayCosts(l, c.asked)
	}

	if c.asks == asksCost {
		l.Blank()
		l.Keys(c.Keys()...)
		return l.Box(title)
	}

	read, later := "read them, and ", "not now"
	if c.asks == asksConsent {
		read = ""
		title = "When to look at failed queues with a delivery limit"
		later = "back"
	} else {
		l.Blank()
	}

	from := len(l.Lines)
	now := c.Env.LookConsent(c.Broker)
	for i, b := range consentKeys() {
		words := read + []string{
			"ask each time", "later ones by themselves while more than half of the looks are left",
			"later ones always by themselves (dlxtop stops with 2 looks left)",
		}[i]

		if c.asks == asksConsent {
			words = peek.Consents[i].Words()
		}
		if now == peek.Consents[i] {
			words += "   (now)"
		}
		l.Say(b.Help().Key, words)
	}

	if c.Env.Consent != peek.Unasked {
		l.Say("", fmt.Sprintf("The configuration says looks = %q: a choice here holds until dlxtop ends.", c.Env.Consent),
			term.Muted)
	}

	l.Blank()
	l.Hints(shell.Hint("1 2 3", "choose") + shell.Hint("esc", later))
	l.Question(from)
	return l.Box(title)
}

// sayCosts says what a look at each of some queues reads and costs.
func sayCosts(l *shell.DialogLines, queues []*Queue) {
	const shown = 6
	for i, q := range queues {
		if i == shown {
			l.Say("", model.Sayf("and %v more queue(s)", len(queues)-i), term.Muted)
			break
		}

		words := model.Sayf("%s, %v message(s)", q.Ref, q.reads())
		if q.Plan.Harms || !q.Plan.Counts {
			l.Say("queue", words, term.Strong)
			l.Say("cost", q.Plan.Cost, term.Warning)
			continue
		}

		l.Say("queue", words+": "+q.looksLeft())
	}
}

// reads returns how many messages the next look takes.
func (q *Queue) reads() int64 { return min(q.total().Or(int64(q.Plan.Limit)), int64(q.Plan.Limit)) }

func (q *Queue) deliveriesLeft() int64 {
	left, _ := q.Plan.DeliveriesLeft(q.Plan.Delivered.Or(0))
	return left
}

// looksLeft returns "17 looks left of 20", or "at most 20 looks left of 20" before the first look.
func (q *Queue) looksLeft() string {
	words := peek.LooksLeft(q.deliveriesLeft(), q.Plan.Budget)
	if !q.Plan.Delivered.Known() {
		return "at most " + words
	}
	return words
}

// Waiting says why there are no causes yet: how many messages wait where, what a look costs and how many are left,
// which key reads them, and the command that makes looks free; nil when something was read, or nothing waits.
func (c *Reading) Waiting(width int) []string {
	queues := c.Costly()
	if c.read > 0 || len(queues) == 0 || c.at != nil {
		return nil
	}
	var lines []string
	say := func(style term.Style, format string, values ...any) {
		lines = append(lines, shell.Indented(style, model.Sayf(format, values...), width)...)
	}

	var waiting int64
	names := make([]string, len(queues))
	slices.SortStableFunc(queues, func(a, b *Queue) int { return cmp.Compare(b.left(), a.left()) })

	for i, q := range queues {
		waiting += q.left()
		names[i] = model.Sayf("%s %v", q.Ref, q.left())
	}

	where := queues[0].Ref.Printable()
	if len(queues) > 1 {
		where = fmt.Sprintf("%d queues: %s", len(queues), namesOf(names, 3))
	}

	say(term.Strong, "%v message(s) wait in %s, not read yet", waiting, where)

	limited := only(queues, (*Queue).counts)
	if len(limited) > 0 {
		say(term.Text, "One look reads all of a queue and uses 1 of its delivery limit: %s", fewestLeft(limited))
	} else {
		say(term.Text, "A look has a cost: %s", queues[0].Plan.Cost)
	}

	begin := ""
	if len(limited) > 0 {
		begin = fmt.Sprintf("; looks begin: %s (%s changes that)", c.Env.LookConsent(c.Broker).Words(),
			press.Looks.Help().Key)
	}
	say(term.Text, "%s reads them%s", press.Insist.Help().Key, begin)

	for _, q := range c.Order {
		if q.refusal.Refused() || q.err != nil || !q.Plan.Allowed() && q.left() > 0 {
			say(term.Warning, "%s", c.unreadWords(q))
		}
	}

	for _, f := range c.freeing(only(queues, (*Queue).endangers)) {
		names := model.Mapped(f.Queues, (*model.QueueRef).Printable)
		lines = append(lines, "")
		if f.Command == "" {
			each := ""
			if len(names) > 1 {
				each = "each of "
			}
			say(term.Muted, "Looks stay limited at %s%s: %s", each, namesOf(names, 3), f.Why)
			continue
		}

		say(term.Muted, "Looks at %s cost nothing any more after this on a node of the broker (%s copies it):",
			namesOf(names, 3), press.Copy.Help().Key)
		say(term.Text, "%s", f.Command)
	}

	return lines
}

// fewestLeft says how many looks are left where the fewest are.
func fewestLeft(queues []*Queue) string {
	left := term.By((*Queue).deliveriesLeft)
	fewest := slices.MinFunc(queues, left)
	most := slices.MaxFunc(queues, left)

	words := fewest.looksLeft()
	if left(fewest, most) < 0 {
		words += ", in " + fewest.Ref.Printable()
	}

	return words
}

// freeing returns the commands that make looks at queues free, for a shell.
func (c *Reading) freeing(queues []*Queue) []peek.Freed {
	refs := make([]model.QueueRef, len(queues))
	for i, q := range queues {
		refs[i] = q.Ref
	}
	return peek.Freeing(c.topology, refs)
}

// commands returns these commands for all queues, a line each; "" without any.
func (c *Reading) commands() string {
	var all []string
	for _, f := range c.freeing(c.of((*Queue).endangers)) {
		if f.Command != "" {
			all = append(all, f.Command)
		}
	}

	return strings.Join(all, "\n")
}
