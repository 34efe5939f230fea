// Package report shows what a plan would do, and the account of its execution, to a person and as JSON. It decides
// nothing and asks nothing.
package report

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/dlxtop/dlxtop/cli/print"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/action"
	"github.com/dlxtop/dlxtop/model/cause"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/model/peek"
	"github.com/dlxtop/dlxtop/model/plan"
)

// The JSON of `dlxtop replay`, `move` and `drop`. What follows the problems is of a dry run.
type (
	accountJSON struct {
		Operation plan.Operation `json:"operation"`            // replay, move, drop, import or undo
		VHost     string         `json:"vhost,omitempty"`      // of one of several queues
		From      string         `json:"from,omitempty"`       // the queue that messages are taken from; of several absent
		Refusal   string         `json:"refusal,omitempty"`    // of one of several: why it is left out
		To        string         `json:"to,omitempty"`         // where they go
		Cause     cause.ID       `json:"cause,omitempty"`      // by which the messages were selected
		Edit      *editJSON      `json:"edit,omitempty"`       // what changes them
		Planned   int            `json:"planned"`              // messages
		Moved     int            `json:"moved"`                // published, confirmed and acknowledged
		Dropped   int            `json:"dropped"`              // acknowledged, and kept in the journal
		Refused   int            `json:"refused"`              // they stay: not publishable, or refused by the broker
		Returned  int            `json:"returned"`             // they stay: no queue took them
		Unknown   int            `json:"unknown"`              // they may be in both queues, or not dropped
		Confirmed int            `json:"arrived,omitempty"`    // of the unknown: they are where they were sent
		Converted int            `json:"amqp10,omitempty"`     // messages of AMQP 1.0, whose copies lack parts
		Gone      int            `json:"gone,omitempty"`       // they were not found any more
		Held      int            `json:"held,omitempty"`       // not found while others held messages of the queue
		Stopped   string         `json:"stopped,omitempty"`    // why it ended early
		Resumed   int            `json:"resumed,omitempty"`    // how often it resumed by itself, after a loss
		Unguarded string         `json:"unguarded,omitempty"`  // why it is unknown whether the last reached a further queue
		CameBack  *int           `json:"came_back,omitempty"`  // of a canary, or a breaker: messages that failed again
		After     *Sequel        `json:"after,omitempty"`      // whether a replay worked, with --follow
		Arrived   int64          `json:"came_later,omitempty"` // messages that came since the queue was read, and stay
		JournalID int64          `json:"journal_id,omitempty"` // the record that keeps it
		// messages at their delivery limit that were not acted on, and were moved to the end of the queue
		Rescued  int           `json:"rescued,omitempty"`
		Elapsed  int64         `json:"elapsed_ms"`         // how long it took
		Problems []problemJSON `json:"problems,omitempty"` // the first of those that were refused, returned or unknown
		// how many messages were refused or returned, or are unknown
		Troubled   int              `json:"problems_total,omitempty"`
		Recipients []string         `json:"recipients,omitzero"` // of a dry run: the queues that messages reach
		Ways       []wayJSON        `json:"ways,omitzero"`       // where they are published
		Copies     []copiesJSON     `json:"copies,omitempty"`    // that full queues made of messages which they refused
		Strayed    []strayJSON      `json:"strayed,omitempty"`   // queues beyond the plan that messages may have reached
		Strips     []string         `json:"strips,omitzero"`     // of a dry run: the headers that are removed
		Keeps      []string         `json:"keeps,omitzero"`      // of the death history, by a move
		Adds       []string         `json:"adds,omitzero"`       // of a dry run: the headers that are added
		Resets     []resetJSON      `json:"resets,omitempty"`    // what a replay changes of what frameworks wrote
		Groups     []groupJSON      `json:"groups,omitempty"`    // where those of each framework go, when there are several
		Canary     string           `json:"canary,omitempty"`    // also of one that ran: what it has shown
		Warnings   []string         `json:"warnings,omitzero"`   // of a dry run: what could go wrong
		LooksLeft  model.Opt[int64] `json:"looks_left,omitzero"` // where a delivery limit counts looks, and one was made
		Resume     *resumeJSON      `json:"resume,omitempty"`    // of a resume: what was found out
		Queues     []any            `json:"queues,omitempty"`    // the same of each of several queues
	}
	wayJSON struct {
		Exchange   string `json:"exchange"`           // "" is the default exchange
		RoutingKey string `json:"routing_key"`        // the key it is published with
		Messages   int    `json:"messages"`           // how many, of those that were looked at
		Why        string `json:"why,omitempty"`      // why nothing can be published
		Evidence   string `json:"evidence,omitempty"` // by what the worker is known
	}
	// Sequel is what became of the messages of a replay afterwards.
	Sequel struct {
		Sent int64 `json:"sent"` // messages
		// of them, at least: no longer ready where they were sent to
		Taken        int64            `json:"taken"`
		Acknowledged model.Opt[int64] `json:"acknowledged,omitzero"` // of them, at most
		Held         int64            `json:"held,omitempty"`        // of them, at most: consumers process them
		Retrying     int64            `json:"retrying,omitempty"`    // of them, at most: they wait for a retry
		// they were in their queue again; absent when unknown
		Back    model.Opt[int64] `json:"came_back,omitzero"`
		AtMost  bool             `json:"at_most,omitempty"`    // that is by its count, because a look costs
		AtLeast bool             `json:"at_least,omitempty"`   // messages leave their queue, or some that came were not read
		Came    int64            `json:"came_later,omitempty"` // further messages in their queue since
		Until   string           `json:"until"`                // it is watched
		Over    bool             `json:"over"`                 // it was watched to the end
	}
	// copiesJSON are copies that a full queue (overflow reject-publish-dlx) made of messages which it refused.
	copiesJSON struct {
		Queue    string   `json:"queue"`             // the full one
		In       []string `json:"in"`                // queues that its dead-letter exchange takes them to
		Messages int      `json:"messages"`          // that were refused
		AtMost   bool     `json:"at_most,omitempty"` // another queue may have refused them
	}
	// strayJSON is a queue that the plan did not name, and that messages may have reached.
	strayJSON struct {
		Queue      string `json:"queue"`       // its name
		Exchange   string `json:"exchange"`    // that led there
		RoutingKey string `json:"routing_key"` // the same
		Messages   int    `json:"messages"`    // at most
	}
	problemJSON struct {
		MessageID   string       `json:"message_id,omitempty"` // of the message
		Fingerprint string       `json:"fingerprint"`          // of the message: a hash of all that it is
		Outcome     plan.Outcome `json:"outcome"`              // refused, returned or unknown
		Reason      string       `json:"reason"`               // a sentence
	}
)

// Printer shows actions and accounts.
type Printer struct {
	Out  io.Writer                          // for data
	Say  func(format string, values ...any) // prints a line for the user
	JSON bool                               // data is JSON
}

// shown bounds what facts name.
var shown = action.Most{Names: 20}

// Tell prints facts, a line each.
func (p Printer) Tell(facts []action.Fact) {
	label := ""
	for _, f := range facts {
		label = cmp.Or(f.Label, label)
		if f.Level >= action.Warned {
			p.Say("warning: %s", f.Words)
		} else {
			p.Say("%s: %s", label, f.Words)
		}
	}
}

// Warn prints what could go wrong.
func (p Printer) Warn(a action.Action) {
	p.Tell(slices.DeleteFunc(a.Facts(shown), func(f action.Fact) bool { return f.Level < action.Warned }))
}

// Announce says what is about to happen.
func (p Printer) Announce(a action.Action) {
	p.Tell(action.Announced(a, shown))
	parts := action.Parts(a)
	for _, part := range parts {
		of := ""
		if len(parts) > 1 {
			of = " of " + part.Outline().From.Printable()
		}
		p.showEdited(part.Outline().Mended, of)
	}
}

// ShowPlan shows an action that does not run.
func (p Printer) ShowPlan(a action.Action) error {
	parts := action.Parts(a)
	if p.JSON {
		if err := print.JSON(p.Out, planOf(a)); err != nil {
			return err
		}
	} else {
		p.Announce(a)
		for _, part := range parts {
			if len(parts) > 1 && action.Left(part) {
				continue
			}
			if err := p.would(part.Outline(), part.Outline().From.Printable()); err != nil {
				return err
			}
		}
		if len(parts) > 1 {
			if err := p.would(a.Outline(), action.Several(parts).Sources()); err != nil {
				return err
			}
		}
	}

	for _, part := range parts {
		of, looked := "", action.SampleOf(part)
		if len(parts) > 1 {
			of = " of " + part.Outline().From.Printable()
		}

		left, told := looked.Left.Get()
		switch {
		case looked.Saved:
			p.Say("this dry run used no look%s", of)
		case told:
			p.Say("this dry run used 1 look%s: %s", of, peek.LooksLeft(left, looked.Limit))
		}
	}

	return nil
}

func (p Printer) would(planned plan.Plan, queues string) error {
	_, err := fmt.Fprintf(p.Out, "would %s %s of %s%s\n", planned.Operation, model.Plural(planned.Planned, "message"),
		queues, ofCause(&planned))
	return err
}

// planOf returns the JSON of an action that does not run.
func planOf(a action.Action) accountJSON {
	planned := a.Outline()
	none := plan.Account{Operation: planned.Operation, From: planned.From, Planned: planned.Planned}
	out := accountOf(a, action.EndedOf(a, none))
	for i, part := range action.Parts(a)[:len(out.Queues)] {
		out.Queues[i] = partOf(part, planOf(part))
	}

	out.Recipients = model.Mapped(planned.Recipients, func(r *plan.Recipient) string { return r.Queue.Name })
	out.Warnings = model.Mapped(planned.Warnings, (*plan.Warning).Words)
	out.Strips = append([]string{}, planned.Strips...)
	out.LooksLeft = action.SampleOf(a).Left

	if planned.Operation != plan.Replay && planned.Operation != plan.Move {
		return out
	}

	out.Ways = []wayJSON{}
	for _, w := range planned.Ways {
		way := wayJSON{w.Exchange, w.RoutingKey, w.Messages, w.Why, ""}
		if w.Clue != nil { // otherwise only the flow is evidence
			way.Evidence = w.Clue.Words()
		}
		out.Ways = append(out.Ways, way)
	}

	out.Keeps, out.Adds = append([]string{}, planned.Keeps...), append([]string{}, planned.Adds()...)
	out.Resets, out.Groups = resetsJSON(planned.Resets), groupsJSON(planned.Groups)
	if planned.Canary != nil {
		out.Canary = planned.Canary.Words()
	}

	return out
}

// ShowAccount shows what happened to the messages.
func (p Printer) ShowAccount(a action.Action, ended action.Ended) error {
	if p.JSON {
		if err := print.JSON(p.Out, accountOf(a, ended)); err != nil {
			return err
		}
	}

	parts, account := action.Parts(a), &ended.Account
	for i := range ended.Parts {
		part, own := parts[i], &ended.Parts[i]
		if action.Idle(part) {
			continue
		}
		if p.JSON { // else the sentence names it
			p.Say("%s:", own.From.Printable())
		}
		if err := p.sentence(part.Outline(), &own.Account, own.From.Printable()); err != nil {
			return err
		}
		p.showProblems(part, &own.Account)
		p.Tell(own.Facts(time.Now()))
	}

	planned := a.Outline()
	if len(ended.Parts) > 0 {
		planned.Refusal = nil // the others are done
	}
	from := account.From.Printable()
	if account.From.Name == "" {
		from = action.Several(parts).Sources()
	}
	if err := p.sentence(planned, account, from); err != nil {
		return err
	}

	one := len(ended.Parts) == 0
	if one {
		p.showProblems(a, account)
	}
	if account.JournalID > 0 && account.Moved+account.Dropped+account.Unknown > 0 {
		p.showJournal(&planned, account)
	}
	if one {
		p.Tell(ended.Facts(time.Now()))
	}
	if account.JournalID > 0 && (account.Stopped != "" || account.Unknown > 0) {
		p.Say("`dlxtop journal resume %d` continues it", account.JournalID)
	}

	return nil
}

// showJournal says how what was done is taken back, or listed.
func (p Printer) showJournal(planned *plan.Plan, a *plan.Account) {
	words := fmt.Sprintf("`dlxtop journal undo %d` takes it back", a.JournalID)
	some, all := planned.Irrevocable()
	switch {
	case a.Operation == plan.Undo:
		return
	case a.Operation == plan.Import:
		words = fmt.Sprintf("`dlxtop journal show %d` lists what came into the queue", a.JournalID)
	case a.Operation == plan.Drop:
		words += " (needs write permission on amq.default)"
	case all:
		words = "each message went to several queues, which no undo takes back"
	case some:
		words += ", except messages that went to several queues"
	}

	p.Say("journal %d: %s", a.JournalID, words)
}

// SequelOf returns the JSON of a sequel; nil without one.
func SequelOf(s *plan.Sequel) *Sequel {
	if s == nil {
		return nil
	}
	out := &Sequel{
		Sent:         s.Sent,
		Taken:        s.Taken,
		Acknowledged: s.Acked,
		Held:         s.Held,
		Retrying:     s.Retrying,
		Came:         s.Came,
		Until:        message.JSONTime(s.Until),
		Over:         s.Over,
	}

	n, is := s.CameBack()
	if out.AtMost, out.AtLeast = is == plan.AtMost, is == plan.AtLeast; is != plan.Unclear {
		out.Back = model.Some(n)
	}

	return out
}

func accountOf(a action.Action, ended action.Ended) accountJSON {
	planned, account := a.Outline(), &ended.Account
	out := accountJSON{
		Operation: account.Operation,
		From:      account.From.Name,
		To:        planned.To(),
		Planned:   account.Planned,

		Moved:     account.Moved,
		Dropped:   account.Dropped,
		Refused:   account.Refused,
		Returned:  account.Returned,
		Unknown:   account.Unknown,
		Confirmed: account.Arrived,
		Gone:      account.Gone,
		Held:      account.Held + int(action.SampleOf(a).Others.Unacked),
		Converted: account.Converted,
		Stopped:   account.Stopped,
		Resumed:   account.Resumed,
		Unguarded: account.Unguarded,
		Troubled:  account.Refused + account.Returned + account.Unknown,
		JournalID: account.JournalID,
		Rescued:   account.Rescued.Copied,
		Elapsed:   account.Elapsed.Milliseconds(),
		Canary:    canaryWords(account),
		Arrived:   ended.Arrived,
		After:     SequelOf(ended.Sequel),
	}

	out.Cause, out.Edit = planned.Selection.Cause, editOf(&planned)

	if planned.Canary != nil || account.CameBack > 0 {
		out.CameBack = &account.CameBack
	}
	if r, resumes := a.(*action.Resume); resumes {
		out.Resume = resumeOf(&r.Run.Plan)
	}

	for i := range ended.Parts {
		part := action.Parts(a)[i]
		own := partOf(part, accountOf(part, ended.Parts[i]))
		out.Held += own.Held - ended.Parts[i].Held
		out.Queues = append(out.Queues, own)
	}

	for _, c := range account.Copies {
		left := copiesJSON{Queue: c.By.Name, Messages: c.Messages, AtMost: c.AtMost}
		for _, in := range c.In {
			left.In = append(left.In, in.Name)
		}
		out.Copies = append(out.Copies, left)
	}

	for _, s := range account.Strayed {
		out.Strayed = append(out.Strayed, strayJSON{s.Queue.Name, s.Way.Exchange, s.Way.RoutingKey, s.Messages})
	}

	for _, problem := range account.Problems {
		out.Problems = append(out.Problems, problemJSON{
			problem.MessageID, problem.Fingerprint.String(),
			problem.Outcome, problem.Reason,
		})
	}

	return out
}

// partOf completes the JSON of one of several queues.
func partOf(a action.Action, out accountJSON) accountJSON {
	out.VHost = a.Outline().From.VHost
	if why := action.Refusal(a); why.Refused() {
		out.Refusal = WithInsist(why.Words(), why)
	}
	return out
}

// canaryWords returns what a canary is doing, or has shown; "" without one.
func canaryWords(a *plan.Account) string {
	if a.Canary.Phase == "" {
		return ""
	}
	return model.Printable("canary: " + a.Canary.Words())
}

// sentence prints "replay ucenter@user@failed: 47 planned, 46 moved, 1 returned in 0.1 s".
func (p Printer) sentence(planned plan.Plan, account *plan.Account, from string) (err error) {
	switch {
	case p.JSON:
		return nil
	case planned.Refusal.Refused():
		_, err = fmt.Fprintf(p.Out, "%s %s: not done: %s\n", planned.Operation, from,
			WithInsist(planned.Refusal.Words(), planned.Refusal))
		return err
	}

	moved := planned.Operation.Done()
	if to := planned.Went(); to != "" {
		moved += " to " + model.Printable(to)
	}

	unknown := "unknown"
	if account.Arrived > 0 {
		unknown += model.Sayf(" (%v of them arrived)", account.Arrived)
	}

	parts := []string{model.Count(account.Planned) + " planned"}
	for _, count := range []struct {
		n    int
		what string
	}{
		{account.Moved, moved},
		{account.Dropped, "dropped"},
		{account.Refused, "refused"},
		{account.Returned, "returned"},
		{account.Unknown, unknown},
		{account.Gone, "gone before their turn"},
		{account.Held, "held by another consumer"},
	} {
		if count.n > 0 {
			parts = append(parts, model.Count(count.n)+" "+count.what)
		}
	}

	_, err = fmt.Fprintf(p.Out, "%s %s%s: %s in %.1f s\n", account.Operation, from, ofCause(&planned),
		strings.Join(parts, ", "), account.Elapsed.Seconds())
	return err
}

// ofCause returns ", cause ID", "" when messages were not selected by cause.
func ofCause(p *plan.Plan) string {
	if p.Selection.Cause == "" {
		return ""
	}
	return ", cause " + string(p.Selection.Cause)
}

// showProblems shows each reason once, and what to do when the sample was too small.
func (p Printer) showProblems(a action.Action, account *plan.Account) {
	var reasons []string
	for _, problem := range account.Problems {
		reason := model.Printable(fmt.Sprintf("%s: %s", problem.Outcome, problem.Reason))
		if !slices.Contains(reasons, reason) && len(reasons) < 10 {
			reasons = append(reasons, reason)
			p.Say("%s", reason)
		}
	}

	p.Tell(slices.DeleteFunc(a.Outcomes(account), func(f action.Fact) bool {
		return f.Label != "gone" && f.Label != "held"
	}))

	looked := action.SampleOf(a)
	if account.Refused > 0 && !looked.Complete && account.Operation == plan.Replay {
		p.Say("only the first %s messages were read: select the others with --filter or --id, or name their "+
			"target with --to", model.Count(looked.Messages))
	}
}

type (
	// resetJSON is one change by which a replay makes messages what they were before their first try.
	resetJSON struct {
		Framework message.Framework `json:"framework,omitempty"` // whose header or field it is
		Does      string            `json:"does"`                // resets, keeps, removes
		Name      string            `json:"name"`                // of the header or field
		Was       *int64            `json:"was,omitempty"`       // of a counter: the least
		Most      *int64            `json:"most,omitempty"`      // the largest
		Is        *int64            `json:"is,omitempty"`        // what it is afterwards
		Edit      string            `json:"edit,omitempty"`      // the jq program that resets what stays
		Messages  int               `json:"messages"`            // that have it
	}
	groupJSON struct {
		Framework message.Framework `json:"framework,omitempty"` // absent: none
		Queues    []string          `json:"queues"`              // none: they stay
		Messages  int               `json:"messages"`            // of it
	}
)

func resetsJSON(resets []plan.PlannedReset) []resetJSON {
	var out []resetJSON
	for r := range model.Each(resets) {
		read := resetJSON{
			Framework: r.Framework,
			Does:      r.Does(),
			Name:      message.TextJSON(r.Name),
			Edit:      r.Edit,
			Messages:  r.Messages,
		}

		if r.Counts() {
			read.Was = &r.Was
			read.Most = &r.Most
			read.Is = &r.Is
		}

		out = append(out, read)
	}

	return out
}

func groupsJSON(groups []plan.PlannedGroup) []groupJSON {
	var out []groupJSON
	for _, g := range groups {
		read := groupJSON{Framework: g.Framework, Queues: []string{}, Messages: g.Messages}
		for _, q := range g.To {
			read.Queues = append(read.Queues, message.TextJSON(q.Name))
		}
		out = append(out, read)
	}

	return out
}

// WithInsist appends what --insist would do about a refusal.
func WithInsist(words string, r model.Refusal) string {
	if r.Overridable() {
		words += "; --insist overrides this: " + r.Override()
	}
	return words
}
