package ui

import (
	"fmt"
	"strings"

	"github.com/dlxtop/dlxtop/model/plan"
)

// sayResets shows what a replay changes in what frameworks wrote into the messages, a line for each kind of change.
func sayResets(l *dialogLines, p *plan.Plan) {
	var order []string
	by := map[string][]string{}
	for _, r := range p.Resets {
		if by[r.Does()] == nil {
			order = append(order, r.Does())
		}
		by[r.Does()] = append(by[r.Does()], r.What())
	}
	for _, does := range order {
		what := by[does]
		if more := len(what) - shownNames; more > 0 {
			what = append(what[:shownNames:shownNames], fmt.Sprintf("and %d more", more))
		}
		l.say(does, strings.Join(what, ", "), l.styles.Text)
	}
}

// canKeepTries reports whether the key of the tries does something: messages that count none have none to keep.
func (d *planDialog) canKeepTries() bool {
	if !d.asks() || d.operation != plan.Replay || d.env.readOnly || d.edit != nil ||
		d.plan.Refusal.Refused() || !d.plan.CountsTries() {
		return false
	}
	o := d.offer()
	return o.prompt == "" || d.named(o)
}

// triesWords are what the key of the tries does.
func (d *planDialog) triesWords() string {
	if d.tries {
		return "reset tries"
	}
	return "keep tries"
}

func (d *planDialog) triesHint() string {
	if !d.canKeepTries() {
		return ""
	}
	return hint(d.env.styles, d.env.keys.KeepTries.Help().Key, d.triesWords())
}
