// Package action holds what can be done to messages, each kind in one contract: what it promises and refuses, what a
// user should know before and after it, and how it runs. The command line prints the facts of an action, and a dialog
// draws them.
package action

import (
	"context"
	"fmt"
	"strings"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/plan"
	"github.com/dlxtop/dlxtop/model/resume"
)

// Action is a planned action that has not run yet, on one source or on several.
type Action interface {
	// Outline is what all actions have, in the terms of a plan: operation, queue, number, recipients, warnings, refusal.
	Outline() plan.Plan
	// Promise is what a user agrees to.
	Promise() plan.Promise
	Words() Words
	// Facts are what a user should know before it runs, in order.
	Facts(most Most) []Fact
	// Outcomes are what became of its messages, so far.
	Outcomes(a *plan.Account) []Fact
	// Follow plans how to follow it, given its account; ok: there is something to follow.
	Follow(t *model.Topology, a *plan.Account) (f plan.Following, ok bool)
	// Do runs it. progress is called from another goroutine. An error means that nothing was done.
	Do(ctx context.Context, by Broker, progress plan.Progress) (plan.Account, error)

	// together names several of its kind, itself among them.
	together(all Several) Words
	// brief says what it does where several are told.
	brief(most Most) []Fact
}

// Broker runs actions. It calls progress about ten times a second and once at the end. If ctx ends first, the account
// shows how far it came.
type Broker interface {
	Execute(ctx context.Context, run plan.Run, progress plan.Progress) (plan.Account, error)
	Undo(ctx context.Context, p plan.UndoPlan, progress plan.Progress) (plan.Account, error)
	Resume(ctx context.Context, run resume.Run, progress plan.Progress) (plan.Account, error)
	// Begin begins the record of a run that will follow others, so that it can be resumed. depth are the messages in its
	// queue.
	Begin(ctx context.Context, run *plan.Run, depth int64) error
	// End ends the record of a run that does not begin.
	End(run *plan.Run, why string)
}

// Words name an action.
type Words struct {
	Title   string // "Undo 7: bring back 3 messages"
	Running string // the same while it runs
	Does    string // what agreeing does, in a word or two
	Asks    string // the same with the messages and the queues: "replay 3 messages of q"
	Done    string // what was done with each message
}

// Fact is something that a user should know: a label and words, both printable.
type Fact struct {
	Label string // "": this goes on with the fact before
	Words string
	Level Level
}

// Level is how much a fact matters.
type Level int

const (
	Plain   Level = iota
	Minor         // need not be read before agreeing
	Strong        // what it is about
	Setting       // what the user has chosen
	Good
	Stressed // must be read before agreeing
	Bad
	Warned // a warning
	Grave  // a warning about messages that are lost
)

// Most bounds how many things of a kind are named.
type Most struct {
	Addresses int // 0: one line for all, as --to names it
	Names     int
}

type facts []Fact

// say adds a fact, and makes it printable. Without words it adds none.
func (f *facts) say(label, words string, level Level) {
	if words != "" {
		*f = append(*f, Fact{label, model.Printable(words), level})
	}
}

// outcome adds how many messages had an outcome, if any, and what that means.
func (f *facts) outcome(label string, n int, words string, level Level) {
	if n > 0 {
		f.say(label, strings.TrimRight(model.Count(n)+"  "+words, " "), level)
	}
}

// open are the outcomes after which an action can be done again, and what then is where.
func (f *facts) open(a *plan.Account, again, refused, returned string) {
	f.outcome("held", a.Held, heldWords+"; "+again, Stressed)
	f.outcome("refused", a.Refused, refused, Stressed)
	f.outcome("returned", a.Returned, "no queue took them"+returned, Stressed)
	f.outcome("unknown", a.Unknown, "the connection or a queue's node was lost meanwhile: "+again+" to look for them",
		Stressed)
}

func (f *facts) warn(warnings []plan.Warning) {
	for _, w := range warnings {
		level := Warned
		if w.Grave {
			level = Grave
		}
		f.say("", w.Words(), level)
	}
}

// record says which record it is about, and how that ended.
func (f *facts) record(what string, r *plan.Record) {
	began := r.Began.Format("2006-01-02 15:04:05")
	f.say("of", fmt.Sprintf("%s, %s, by %s", what, began, r.Who()), Plain)
	f.say("outcome", r.ToldSince(), Plain)
}

// heldWords are about messages that were not found while others held some of the queue.
const heldWords = "by another consumer, which may give them back: they were not touched"
