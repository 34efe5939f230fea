package action

import (
	"time"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/plan"
)

// Ended is an action that has run, with what became of its messages and of their queue afterwards.
type Ended struct {
	plan.Account
	Sequel  *plan.Sequel // of a replay that was followed: whether it worked
	Since   time.Time    // when the messages were read
	Arrived int64        // messages that came into the queue since then, and stay
	Parts   []Ended      // of several, all of them in order
}

// EndedOf is an action with its account; several have those of their parts.
func EndedOf(a Action, account plan.Account) Ended {
	e := Ended{Account: account, Since: SampleOf(a).Frozen.At}
	all, _ := a.(Several)
	for _, part := range all {
		p := part.Outline()
		own := plan.Account{Operation: p.Operation, From: p.From, Planned: p.Planned}
		if !Left(part) && len(account.Parts) > 0 {
			own, account.Parts = account.Parts[0], account.Parts[1:]
		}
		e.Parts = append(e.Parts, EndedOf(part, own))
	}

	return e
}

// Worked reports whether all was done, and nothing has come back.
func (e *Ended) Worked() bool {
	for i := range e.Parts {
		if !e.Parts[i].Worked() {
			return false
		}
	}
	return e.Complete() && (e.Sequel == nil || e.Sequel.Worked())
}

// Facts returns what there is to know besides the outcomes: what it left untouched and why, what refusals left, queues
// that messages may have reached outside the plan, and what copies lack.
func (e *Ended) Facts(now time.Time) []Fact {
	var f facts
	if e.Canary.Phase != "" && e.Canary.Phase != plan.CanaryFailed && e.Sequel.None() {
		f.say("canary", e.Canary.Words(), Plain)
	}
	if e.Sequel != nil {
		f.sequel(e.Sequel, now)
	}
	if words := plan.ArrivedWords(e.Arrived); words != "" {
		words += " (after " + e.Since.Local().Format("15:04:05") + ")"
		if !e.Sequel.None() {
			words += ", what came back among them"
		}
		f.say("later", words, Stressed)
	}

	rest := "still in the queue"
	if e.Operation == plan.Undo || e.Operation == plan.Import {
		rest = "not tried"
	}

	f.outcome("untouched", e.Planned-e.Done(), rest, Plain)
	if e.Resumed > 0 {
		f.say("resumed", model.Sayf("%v time(s), by itself: the connection or a queue's node was lost, or what others "+
			"sent looked like failures", e.Resumed), Stressed)
	}
	f.say("stopped", e.Stopped, Stressed)
	f.say("rescued", e.Rescued.Words(), Stressed)
	for i := range e.Copies {
		f.say("copies", e.Copies[i].Words(), Bad)
	}
	for i := range e.Strayed {
		f.say("beyond", e.Strayed[i].Words(), Bad)
	}

	if e.Converted > 0 {
		f.say("lacks", plan.ConvertedWords(e.Converted), Stressed)
	}
	if e.Unguarded != "" {
		f.say("unknown", "whether the last of them reached a further queue is unknown: "+e.Unguarded, Stressed)
	}

	return f
}

// sequel says whether a replay worked, as far as known.
func (f *facts) sequel(s *plan.Sequel, now time.Time) {
	level := Setting
	switch {
	case !s.None():
		level = Stressed
	case s.Over:
		level = Good
	}
	f.say("after", s.Words(now), level)
}
