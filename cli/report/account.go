// Package report shows what a plan would do, and the account of its execution, to a person and as JSON. It decides
// nothing and asks nothing.
package report

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/dlxtop/dlxtop/cli/print"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/cause"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/model/peek"
	"github.com/dlxtop/dlxtop/model/plan"
)

// The JSON of `dlxtop replay`, `move` and `drop`. What follows the problems is of a dry run.
type (
	accountJSON struct {
		Operation plan.Operation `json:"operation"`            // replay, move, drop, import or undo
		From      string         `json:"from"`                 // the queue that messages are taken from
		To        string         `json:"to,omitempty"`         // where they go
		Cause     cause.ID       `json:"cause,omitempty"`      // by which the messages were selected
		Edit      *editJSON      `json:"edit,omitempty"`       // what changes them
		Planned   int            `json:"planned"`              // messages
		Moved     int            `json:"moved"`                // published, confirmed and acknowledged
		Dropped   int            `json:"dropped"`              // acknowledged, and kept in the journal
		Refused   int            `json:"refused"`              // they stay: not publishable, or refused by the broker
		Returned  int            `json:"returned"`             // they stay: no queue took them
		Unknown   int            `json:"unknown"`              // they may be in both queues, or not dropped
		Converted int            `json:"amqp10,omitempty"`     // messages of AMQP 1.0, whose copies lack parts
		Gone      int            `json:"gone,omitempty"`       // they were not found any more
		Stopped   string         `json:"stopped,omitempty"`    // why it ended early
		Unguarded string         `json:"unguarded,omitempty"`  // why it is unknown whether the last reached a further queue
		CameBack  *int           `json:"came_back,omitempty"`  // of a canary: messages that failed again
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
		Back         int64            `json:"came_back"`             // they are in their queue again
		AtMost       bool             `json:"at_most,omitempty"`     // that is by its count, because a look costs
		Until        string           `json:"until"`                 // it is watched
		Over         bool             `json:"over"`                  // it was watched to the end
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

// Printer shows plans and accounts.
type Printer struct {
	Out io.Writer                          // for data
	Say func(format string, values ...any) // prints a line for the user
}

// mostEvidence bounds the lines of evidence about workers, and the number of queues named.
const mostEvidence = 20

// Announce says what is about to happen.
func (p Printer) Announce(a Planned) {
	planned := a.Plan
	if words := a.Looked.Cause; words != "" {
		p.Say("cause %s: %s", planned.Selection.Cause, words)
	}
	if at := a.Looked.Frozen.At; !at.IsZero() {
		p.Say("%s as of %s: what comes later stays", model.Plural(planned.Planned, "message"), at.Local().Format("15:04:05"))
	}
	if !a.Looked.Complete {
		of := ""
		if depth, ok := a.Looked.Depth.Get(); ok {
			of = " of " + model.Count(depth)
		}
		p.Say("read the first %s%s messages: a later one that would reach a queue not named here stays where "+
			"it is", model.Count(a.Looked.Messages), of)
	}
	if planned.Operation == plan.Replay || planned.Operation == plan.Move {
		p.Say("to %s, which reaches %s", model.Printable(a.Plan.To()), reaches(planned))
		for i, line := range planned.Evidence() {
			if i == mostEvidence {
				p.Say("and %s more queues or reasons: -o json lists them all", model.Count(len(planned.Evidence())-i))
				break
			}
			p.Say("%s", line)
		}
		p.announceEdit(&planned)
		if words := planned.GroupWords(); words != "" {
			p.Say("that is %s", words)
		}
		if len(planned.Strips) > 0 {
			p.Say("removes %s", model.Printable(strings.Join(planned.Strips, ", ")))
		}
		if len(planned.Keeps) > 0 {
			p.Say("keeps %s: no queue there counts the deaths", model.Printable(strings.Join(planned.Keeps, ", ")))
		}
		for _, r := range planned.Resets {
			p.Say("%s", r.Words())
		}
		if planned.Mark {
			p.Say("adds %s: how often it was replayed, and when (--no-mark leaves it out)", message.ReplayHeader)
		}
	}
	if some, _ := planned.Irrevocable(); some && planned.Operation != plan.Drop {
		p.Say("messages that reach several queues cannot be undone")
	}
	switch {
	case !a.Looked.Saved || planned.Operation == plan.Drop:
	case a.Looked.Counts:
		p.Say("no message was read, because each look counts towards the delivery limit: changes to headers " +
			"are not listed")
	default:
		p.Say("no message was read before: what a replay changes in messages, and what their frameworks will do, is " +
			"not listed (--dry-run lists it)")
	}
	if words := planned.PaceWords(); words != "" {
		p.Say("pace: %s", words)
	}
	if planned.Canary != nil {
		p.Say("canary: %s", planned.Canary.Words())
	}
	p.Warn(planned.Warnings)
}

// Warn says what could go wrong.
func (p Printer) Warn(warnings []plan.Warning) {
	for _, w := range warnings {
		p.Say("warning: %s", model.Printable(w.Words()))
	}
}

func reaches(p plan.Plan) string {
	var names []string
	for i, r := range p.Recipients {
		if i == mostEvidence {
			names = append(names, "and "+model.Count(len(p.Recipients)-i)+" more queues")
			break
		}
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

// ShowPlan shows a plan that does not run.
func (p Printer) ShowPlan(a Planned) error {
	planned := a.Plan
	if a.JSON {
		out := accountOf(a, plan.Account{Operation: planned.Operation, From: planned.From, Planned: planned.Planned})
		out.Recipients, out.Warnings, out.Strips = []string{}, []string{}, append([]string{}, planned.Strips...)
		for _, r := range planned.Recipients {
			out.Recipients = append(out.Recipients, r.Queue.Name)
		}
		for _, w := range planned.Warnings {
			out.Warnings = append(out.Warnings, w.Words())
		}
		if planned.Operation == plan.Replay || planned.Operation == plan.Move {
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
		}
		out.LooksLeft = a.Looked.Left
		if err := print.JSON(p.Out, out); err != nil {
			return err
		}
	} else {
		p.Announce(a)
		if _, err := fmt.Fprintf(p.Out, "would %s %s of %s%s\n", planned.Operation,
			model.Plural(planned.Planned, "message"), model.Printable(planned.From.String()), ofCause(&planned)); err != nil {
			return err
		}
	}
	left, told := a.Looked.Left.Get()
	switch {
	case a.Looked.Saved:
		p.Say("this dry run used no look")
	case told:
		p.Say("this dry run used 1 look: %s", peek.LooksLeft(left, a.Looked.Limit))
	}
	return nil
}

// ShowAccount shows what happened to the messages.
func (p Printer) ShowAccount(a Planned, account plan.Account) error {
	var err error
	if a.JSON {
		err = print.JSON(p.Out, accountOf(a, account))
	} else {
		_, err = fmt.Fprintln(p.Out, sentence(a, account))
	}
	if err != nil {
		return err
	}
	p.showProblems(a, account)
	if account.JournalID > 0 && account.Moved+account.Dropped+account.Unknown > 0 {
		switch account.Operation {
		case plan.Undo:
		case plan.Import:
			p.Say("journal %d: `dlxtop journal show %d` lists what came into the queue", account.JournalID, account.JournalID)
		case plan.Drop:
			p.Say("journal %d: `dlxtop journal undo %d` takes it back (needs write permission on amq.default)",
				account.JournalID, account.JournalID)
		default:
			p.Say("journal %d: %s", account.JournalID, undoWords(&a.Plan, account.JournalID))
		}
	}
	if words := plan.ArrivedWords(a.Arrived); words != "" {
		p.Say("%s in %s (after %s)", words, model.Printable(account.From.String()),
			a.Looked.Frozen.At.Local().Format("15:04:05"))
	}
	if account.Rescued.Any() {
		p.Say("%s", model.Printable(account.Rescued.Words()))
	}
	if words := a.Sequel.Words(time.Now()); words != "" {
		p.Say("afterwards: %s", model.Printable(words))
	}
	if words := CanaryWords(&account); words != "" && account.Stopped == "" {
		p.Say("%s", words)
	}
	if account.Stopped != "" {
		rest := "; the rest was not touched"
		switch n := account.Planned - account.Done(); {
		case n <= 0:
			rest = ""
		case a.Plan.Canary != nil:
			rest = "; " + model.Count(n) + " were not touched"
		}
		p.Say("it ended early: %s%s", model.Printable(account.Stopped), rest)
	}
	if n := account.Converted; n > 0 {
		p.Say("%s", plan.ConvertedWords(n))
	}
	for i := range account.Strayed {
		p.Say("%s", account.Strayed[i].Words())
	}
	if account.Unguarded != "" {
		p.Say("it is unknown whether the last of them reached a further queue: %s", model.Printable(account.Unguarded))
	}
	if account.JournalID > 0 && (account.Stopped != "" || account.Unknown > 0) {
		p.Say("`dlxtop journal resume %d` continues it", account.JournalID)
	}
	return nil
}

// undoWords say what an undo takes back of what was published.
func undoWords(p *plan.Plan, record int64) string {
	words := fmt.Sprintf("`dlxtop journal undo %d` takes it back", record)
	switch some, all := p.Irrevocable(); {
	case all:
		return "each message went to several queues, which no undo takes back"
	case some:
		return words + ", except messages that went to several queues"
	}
	return words
}

// SequelOf is the JSON of a sequel; nil without one.
func SequelOf(s *plan.Sequel) *Sequel {
	if s == nil {
		return nil
	}
	return &Sequel{s.Sent, s.Taken, s.Acked, s.Back, s.Grown, message.JSONTime(s.Until), s.Over}
}

func accountOf(a Planned, account plan.Account) accountJSON {
	out := accountJSON{
		Resume: a.Resume, Operation: account.Operation, From: account.From.Name, To: a.Plan.To(), Planned: account.Planned,
		Moved: account.Moved, Dropped: account.Dropped, Refused: account.Refused, Returned: account.Returned,
		Unknown: account.Unknown, Gone: account.Gone, Converted: account.Converted,
		Stopped: account.Stopped, Unguarded: account.Unguarded,
		Troubled:  account.Refused + account.Returned + account.Unknown,
		JournalID: account.JournalID, Rescued: account.Rescued.Copied, Elapsed: account.Elapsed.Milliseconds(),
		Canary: CanaryWords(&account), Arrived: a.Arrived, After: SequelOf(a.Sequel),
	}
	out.Cause, out.Edit = a.Plan.Selection.Cause, editOf(&a.Plan)
	if a.Plan.Canary != nil {
		out.CameBack = &account.CameBack
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

// CanaryWords are what a canary is doing, or has shown; "" without one.
func CanaryWords(a *plan.Account) string {
	if a.Canary.Phase == "" {
		return ""
	}
	return model.Printable("canary: " + a.Canary.Words())
}

// sentence is "replay ucenter@user@failed: 47 planned, 46 moved, 1 returned in 0.1 s".
func sentence(a Planned, account plan.Account) string {
	moved := "moved to " + model.Printable(a.Plan.To())
	switch a.Plan.Operation {
	case plan.Undo:
		moved = "brought back"
	case plan.Import:
		moved = "imported"
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
		{account.Unknown, "unknown"},
		{account.Gone, "gone before their turn"},
	} {
		if count.n > 0 {
			parts = append(parts, model.Count(count.n)+" "+count.what)
		}
	}
	return fmt.Sprintf("%s %s%s: %s in %.1f s", account.Operation, model.Printable(account.From.String()),
		ofCause(&a.Plan), strings.Join(parts, ", "), account.Elapsed.Seconds())
}

// ofCause is ", cause ID", "" when messages were not selected by cause.
func ofCause(p *plan.Plan) string {
	if p.Selection.Cause == "" {
		return ""
	}
	return ", cause " + string(p.Selection.Cause)
}

// showProblems shows each reason once, and what to do when the sample was too small.
func (p Printer) showProblems(a Planned, account plan.Account) {
	var reasons []string
	for _, problem := range account.Problems {
		reason := model.Printable(fmt.Sprintf("%s: %s", problem.Outcome, problem.Reason))
		if !slices.Contains(reasons, reason) && len(reasons) < 10 {
			reasons = append(reasons, reason)
		}
	}
	for _, reason := range reasons {
		p.Say("%s", reason)
	}
	if account.Gone > 0 {
		if a.Plan.Operation == plan.Undo {
			gone := model.Plural(account.Gone, "message")
			p.Say("%s not where it was sent to any more: %s; %s", gone, a.Undo.Gone().Words(), a.Undo.Gone().Next())
			return
		}
		p.Say("%s gone before their turn: someone else took or removed them, or they expired",
			model.Plural(account.Gone, "message"))
	}
	if account.Refused > 0 && !a.Looked.Complete && a.Plan.Operation == plan.Replay {
		p.Say("only the first %s messages were read: select the others with --filter or --id, or name their "+
			"target with --to", model.Count(a.Looked.Messages))
	}
}

// Planned is a plan with what it is based on.
type Planned struct {
	Plan     plan.Plan
	Topology *model.Topology // the one that it was made from
	Looked   Look
	JSON     bool           // it is shown as JSON
	Sequel   *plan.Sequel   // of a replay that was followed: whether it worked
	Arrived  int64          // messages that came into the queue since it was read, and stay
	Undo     *plan.UndoPlan // of an undo; Plan is then what can be said of it in the words of other actions
	Resume   *resumeJSON    // of a resume, else nil
	// why a resume must not run, which is more than why its plan must not; nil of everything else
	Against model.Refusal
}

// Refusal is why it must not run.
func (a *Planned) Refusal() model.Refusal {
	if a.Against != nil {
		return a.Against
	}
	return a.Plan.Refusal
}

// Promise is what the user agrees to.
func (a *Planned) Promise() plan.Promise {
	if a.Undo != nil {
		return a.Undo.Promise()
	}
	return a.Plan.Promise()
}

// Look is the peek before an action.
type Look struct {
	Messages int
	Depth    model.Opt[int64]
	Complete bool             // it saw everything
	Left     model.Opt[int64] // remaining peeks, where a delivery limit counts them
	Limit    int64
	Cause    string      // the one that messages are selected by, in printable words
	Frozen   plan.Frozen // when the selected messages were read; zero: later messages count, too
	Saved    bool        // nothing was peeked at, because that has a cost and was not needed
	Counts   bool        // each peek counts towards a delivery limit
}

// OfUndo is an undo, in the terms of other actions.
func OfUndo(p *plan.UndoPlan, asJSON bool) Planned {
	return Planned{
		Undo: p,
		Plan: plan.Plan{
			Operation: plan.Undo, From: p.Back, Planned: p.Planned(), Refusal: p.Refusal,
			Warnings:   p.Expected(),
			Recipients: []plan.Recipient{{Queue: p.Back}},
		},
		Looked: Look{Complete: true}, JSON: asJSON,
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
	for i := range resets {
		r := &resets[i]
		read := resetJSON{Framework: r.Framework, Does: r.Does(), Name: message.TextJSON(r.Name), Messages: r.Messages}
		if r.Kind == message.CounterReset || r.Kind == message.CounterKept {
			read.Was, read.Most, read.Is = &r.Was, &r.Most, &r.Is
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
