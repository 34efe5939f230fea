package report

import (
	"strings"

	"github.com/dlxtop/dlxtop/cli/print"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/body"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/model/plan"
)

// editJSON is what the program of --edit makes of the messages that were looked at.
type (
	editJSON struct {
		Program   string       `json:"program"`   // the jq program
		Changed   int          `json:"changed"`   // messages that it changes
		Unchanged int          `json:"unchanged"` // they are published as they would be without it
		Failed    int          `json:"failed"`    // nothing can be published of them: they stay
		Reasons   []reasonJSON `json:"reasons"`   // why these stay
		Samples   []sampleJSON `json:"samples"`   // of those that change
	}
	reasonJSON struct {
		Why      string `json:"why"`      // a sentence
		Messages int    `json:"messages"` // how many stay for it
	}
	// sampleJSON is a message as it would be published without the program, and with it.
	sampleJSON struct {
		Position    int                 `json:"position"`             // in its queue; 1 is the head
		MessageID   string              `json:"message_id,omitempty"` // of the message
		Before      message.MessageJSON `json:"before"`               // as it would be published without the program
		After       message.MessageJSON `json:"after"`                // the same with it
		Differences []string            `json:"differences"`          // lines for a person
	}
)

const (
	shownDifferences = 12  // lines of differences for one message
	differenceWidth  = 116 // cells
)

func editOf(p *plan.Plan) *editJSON {
	if p.Mend == nil {
		return nil
	}
	out := &editJSON{Program: message.TextJSON(p.Mend.Text), Reasons: []reasonJSON{}, Samples: []sampleJSON{}}
	if m := p.Mended; m != nil {
		out.Changed = m.Changed
		out.Unchanged = m.Same
		out.Failed = m.Stay
		for _, f := range m.Failures {
			out.Reasons = append(out.Reasons, reasonJSON{f.Why.Words(), f.Messages})
		}

		for shown := range model.Each(m.Shown) {
			was := shown.Was.Message()
			is := shown.Is.Message()
			was.Position, is.Position = shown.Position, shown.Position
			out.Samples = append(out.Samples, sampleJSON{
				shown.Position, message.TextJSON(shown.Was.Properties.MessageID), was.JSON(), is.JSON(), differenceLines(shown),
			})
		}
	}

	return out
}

// showEdited shows the first messages that a program changes. of names their queue, where there are several.
func (p Printer) showEdited(m *plan.Mended, of string) {
	if m == nil {
		return
	}
	for shown := range model.Each(m.Shown) {
		id := ""
		if known := shown.Was.Properties.MessageID; known != "" {
			id = " (" + print.Shortened(model.Printable(known), 60) + ")"
		}
		p.Say("message %d%s%s:", shown.Position, id, of)
		for _, line := range differenceLines(shown) {
			p.Say("  %s", line)
		}
	}
}

// differenceLines returns the differences in a changed message: a line for each field above the body, and the differing
// lines of the decoded body.
func differenceLines(m *plan.MendedMessage) []string {
	lines, rows := m.Was.Compare(&m.Is)
	say := func(mark string, l body.Line) {
		lines = append(lines, print.Shortened(mark+model.Printable(strings.TrimSpace(l.String())), differenceWidth))
	}
	for i := range rows {
		if r := &rows[i]; !r.Same {
			if r.HasLeft {
				say("- ", r.Left)
			}
			if r.HasRight {
				say("+ ", r.Right)
			}
		}
	}

	if more := len(lines) - shownDifferences; more > 0 {
		lines = append(lines[:shownDifferences:shownDifferences], model.Sayf("and %v more line(s)", more))
	}
	return lines
}
