package cli

import (
	"fmt"
	"slices"
	"strings"

	"dlxtop/model"
)

// The JSON of `dlxtop replay`, `move` and `drop`. What follows the problems is of a dry run.
type (
	accountJSON struct {
		Operation  model.Operation `json:"operation"`
		From       string          `json:"from"`
		To         string          `json:"to,omitempty"`
		Planned    int             `json:"planned"`
		Moved      int             `json:"moved"`
		Dropped    int             `json:"dropped"`
		Refused    int             `json:"refused"`
		Returned   int             `json:"returned"`
		Unknown    int             `json:"unknown"`
		CameBack   *int            `json:"came_back,omitempty"`  // of a canary
		JournalID  int64           `json:"journal_id,omitempty"` // the record that keeps it
		Elapsed    int64           `json:"elapsed_ms"`
		Problems   []problemJSON   `json:"problems,omitempty"`
		Recipients *[]string       `json:"recipients,omitempty"`
		Ways       *[]wayJSON      `json:"ways,omitempty"` // where they are published
		Strips     *[]string       `json:"strips,omitempty"`
		Keeps      *[]string       `json:"keeps,omitempty"` // of the death history, by a move
		Adds       *[]string       `json:"adds,omitempty"`
		Canary     string          `json:"canary,omitempty"` // also of one that ran: what it has shown
		Warnings   *[]string       `json:"warnings,omitempty"`
	}
	wayJSON struct {
		Exchange   string `json:"exchange"` // "" is the default exchange
		RoutingKey string `json:"routing_key"`
		Messages   int    `json:"messages"` // of those that were looked at
		Why        string `json:"why,omitempty"`
	}
	problemJSON struct {
		MessageID   string        `json:"message_id,omitempty"`
		Fingerprint string        `json:"fingerprint"`
		Outcome     model.Outcome `json:"outcome"`
		Reason      string        `json:"reason"`
	}
)

// announce tells the person what is about to happen.
func (p *Program) announce(a plannedAction) {
	plan := a.plan
	if !a.looked.complete {
		of := ""
		if depth, ok := a.looked.depth.Get(); ok {
			of = fmt.Sprintf(" of %d", depth)
		}
		p.say("looked at the first %d%s messages: a message beyond them that would reach another queue than named here stays where it is", a.looked.messages, of)
	}
	if plan.Operation == model.Replay || plan.Operation == model.Move {
		p.say("to %s, which reaches %s", model.Printable(a.plan.To()), reaches(plan))
		if len(plan.Strips) > 0 {
			p.say("removes %s", model.Printable(strings.Join(plan.Strips, ", ")))
		}
		if len(plan.Keeps) > 0 {
			p.say("keeps %s: nothing there counts the deaths", model.Printable(strings.Join(plan.Keeps, ", ")))
		}
		if plan.Mark {
			p.say("adds %s: how often it was replayed, and when (--no-mark leaves it out)", model.ReplayHeader)
		}
	}
	if plan.Canary != nil {
		p.say("canary: %s", plan.Canary.Words())
	}
	for _, warning := range plan.Warnings {
		p.say("warning: %s", model.Printable(warning))
	}
}

func reaches(plan model.Plan) string {
	var names []string
	for _, r := range plan.Recipients {
		name := model.Printable(r.Queue.String())
		if consumers, ok := r.Consumers.Get(); ok {
			name += fmt.Sprintf(" (%s)", model.Plural(int(consumers), "consumer"))
		}
		names = append(names, name)
	}
	if len(names) == 0 {
		return "no queue"
	}
	return strings.Join(names, ", ")
}

// showPlan gives a plan that does not run.
func (p *Program) showPlan(a plannedAction) error {
	plan := a.plan
	if a.output.json(p.Out) {
		out := accountOf(a, model.Account{Operation: plan.Operation, From: plan.From, Planned: plan.Planned})
		recipients := []string{}
		for _, r := range plan.Recipients {
			recipients = append(recipients, r.Queue.Name)
		}
		out.Recipients, out.Strips, out.Warnings = &recipients, list(plan.Strips), list(plan.Warnings)
		if plan.Operation == model.Replay || plan.Operation == model.Move {
			ways := []wayJSON{}
			for _, w := range plan.Ways {
				ways = append(ways, wayJSON{w.Exchange, w.RoutingKey, w.Messages, w.Why})
			}
			out.Ways, out.Keeps, out.Adds = &ways, list(plan.Keeps), list(plan.Adds())
			if plan.Canary != nil {
				out.Canary = plan.Canary.Words()
			}
		}
		if err := writeJSON(p.Out, out); err != nil {
			return err
		}
	} else {
		p.announce(a)
		if _, err := fmt.Fprintf(p.Out, "would %s %s of %s\n", plan.Operation, model.Plural(plan.Planned, "message"), model.Printable(plan.From.String())); err != nil {
			return err
		}
	}
	if plan.Refusal != "" {
		return refused("it would be refused: %s", model.Printable(plan.Refusal))
	}
	return nil
}

func list(texts []string) *[]string {
	if texts == nil {
		texts = []string{}
	}
	return &texts
}

// showAccount gives what became of the messages. Its error carries the exit status only: all is said.
func (p *Program) showAccount(a plannedAction, account model.Account) error {
	var err error
	if a.output.json(p.Out) {
		err = writeJSON(p.Out, accountOf(a, account))
	} else {
		_, err = fmt.Fprintln(p.Out, sentence(a, account))
	}
	if err != nil {
		return err
	}
	p.showProblems(a, account)
	if account.JournalID > 0 && account.Moved+account.Dropped+account.Unknown > 0 {
		switch account.Operation {
		case model.Undo:
		case model.Import:
			p.say("journal %d: `dlxtop journal show %d` lists what came into the queue", account.JournalID, account.JournalID)
		default:
			p.say("journal %d: `dlxtop journal undo %d` takes it back", account.JournalID, account.JournalID)
		}
	}
	if account.Canary != "" && account.Stopped == "" {
		p.say("%s", model.Printable(account.Canary))
	}
	if account.Stopped != "" {
		rest := "the rest was not touched"
		if n := account.Planned - account.Done(); a.plan.Canary != nil && n > 0 {
			rest = fmt.Sprintf("%d were not touched", n)
		}
		p.say("it ended early: %s; %s", model.Printable(account.Stopped), rest)
	}
	if !account.Complete() {
		return &exit{status: ExitRefused}
	}
	return nil
}

func accountOf(a plannedAction, account model.Account) accountJSON {
	out := accountJSON{
		Operation: account.Operation, From: account.From.Name, To: a.plan.To(), Planned: account.Planned,
		Moved: account.Moved, Dropped: account.Dropped, Refused: account.Refused, Returned: account.Returned, Unknown: account.Unknown,
		JournalID: account.JournalID, Elapsed: account.Elapsed.Milliseconds(), Canary: account.Canary,
	}
	if a.plan.Canary != nil {
		out.CameBack = &account.CameBack
	}
	for _, problem := range account.Problems {
		out.Problems = append(out.Problems, problemJSON{problem.MessageID, problem.Fingerprint.String(), problem.Outcome, problem.Reason})
	}
	return out
}

// sentence is "replay ucenter@user@failed: 47 planned, 46 moved, 1 returned in 0.1 s".
func sentence(a plannedAction, account model.Account) string {
	parts := []string{fmt.Sprintf("%d planned", account.Planned)}
	for _, count := range []struct {
		n    int
		what string
	}{
		{account.Moved, movedWords(&a.plan)},
		{account.Dropped, "dropped"},
		{account.Refused, "refused"},
		{account.Returned, "returned"},
		{account.Unknown, "unknown"},
		{account.Gone, "gone before it was their turn"},
	} {
		if count.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", count.n, count.what))
		}
	}
	return fmt.Sprintf("%s %s: %s in %.1f s", account.Operation, model.Printable(account.From.String()), strings.Join(parts, ", "), account.Elapsed.Seconds())
}

func movedWords(p *model.Plan) string {
	switch p.Operation {
	case model.Undo:
		return "brought back"
	case model.Import:
		return "imported"
	}
	return "moved to " + model.Printable(p.To())
}

// showProblems tells each reason once, and what to do when the sample was too small.
func (p *Program) showProblems(a plannedAction, account model.Account) {
	var reasons []string
	for _, problem := range account.Problems {
		reason := model.Printable(fmt.Sprintf("%s: %s", problem.Outcome, problem.Reason))
		if !slices.Contains(reasons, reason) && len(reasons) < 10 {
			reasons = append(reasons, reason)
		}
	}
	for _, reason := range reasons {
		p.say("%s", reason)
	}
	if account.Gone > 0 {
		if a.plan.Operation == model.Undo {
			p.say("%s not where it was sent to any more: a consumer has taken it, or it expired; that cannot be undone", model.Plural(account.Gone, "message"))
			return
		}
		p.say("%s gone before it was their turn: somebody else took or removed them, or they expired", model.Plural(account.Gone, "message"))
	}
	if account.Refused > 0 && !a.looked.complete && a.plan.Operation == model.Replay {
		p.say("only the first %d messages were looked at: choose the others with --filter or --id, or name where they go with --to", a.looked.messages)
	}
}
