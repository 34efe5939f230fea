package report

import (
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/plan"
	"github.com/dlxtop/dlxtop/model/resume"
)

// shownUndecided bounds the displayed undecided messages; the journal and JSON have all of them.
const shownUndecided = 20

type resumeJSON struct {
	Resumes      int64           `json:"resumes"`      // the record that it goes on with
	Done         int             `json:"done"`         // messages that turned out to be done
	Acknowledged int             `json:"acknowledged"` // that had arrived, and are acknowledged now
	Unsent       int             `json:"unsent"`       // that turned out to be untouched: the rest has them
	Undecided    []undecidedJSON `json:"undecided"`    // messages that cannot be decided
}

type undecidedJSON struct {
	Record    int64  `json:"record"`               // of the journal
	Position  int    `json:"position"`             // in that record
	MessageID string `json:"message_id,omitempty"` // of the message
	Reason    string `json:"reason"`               // a sentence
}

// OfResume is a resume, in the terms of other actions.
func OfResume(p *resume.Plan, asJSON bool) Planned {
	a := Planned{Plan: p.Rest, Looked: Look{Complete: true}, JSON: asJSON}
	switch {
	case p.Undo != nil:
		a = OfUndo(p.Undo, asJSON)
	case p.Import != nil:
		a.Plan = plan.Plan{From: p.Import.Into.Queue, Recipients: []plan.Recipient{p.Import.Into}}
	}
	a.Plan.Operation, a.Plan.Planned = p.Record.Operation, p.Planned()
	a.Against = p.Refusal
	if a.Plan.From.Name == "" {
		a.Plan.From = p.Record.From
	}
	a.Resume = &resumeJSON{
		Resumes:      p.Record.ID,
		Done:         p.Done,
		Acknowledged: p.Acks(),
		Unsent:       p.Unsent,
		Undecided:    []undecidedJSON{},
	}
	for _, u := range p.Undecided {
		a.Resume.Undecided = append(a.Resume.Undecided, undecidedJSON{
			u.Record, u.Position,
			model.Printable(u.MessageID), u.Why,
		})
	}
	return a
}

// Found says what a resume found out.
func (p Printer) Found(resuming *resume.Plan) {
	for _, words := range resuming.Found() {
		p.Say("%s", model.Printable(words))
	}
	for i, u := range resuming.Undecided {
		if i == shownUndecided {
			p.Say("and %s more undecided", model.Count(len(resuming.Undecided)-i))
			break
		}
		id := ""
		if u.MessageID != "" {
			id = " (" + model.Printable(u.MessageID) + ")"
		}
		p.Say("undecided: message %d of %d%s: %s", u.Position, u.Record, id, model.Printable(u.Why))
	}
}
