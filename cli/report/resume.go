package report

import (
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/resume"
)

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

func resumeOf(p *resume.Plan) *resumeJSON {
	out := &resumeJSON{
		Resumes:      p.Record.ID,
		Done:         p.Done,
		Acknowledged: p.Acks(),
		Unsent:       p.Unsent,
		Undecided:    []undecidedJSON{},
	}

	for _, u := range p.Undecided {
		out.Undecided = append(out.Undecided, undecidedJSON{u.Record, u.Position, model.Printable(u.MessageID), u.Why})
	}

	return out
}
