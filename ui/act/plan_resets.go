package act

import (
	"fmt"
	"strings"

	"github.com/dlxtop/dlxtop/model/plan"
	"github.com/dlxtop/dlxtop/ui/shell"
)

// sayResets shows what a replay changes in what frameworks wrote into the messages, a line for each kind of change.
func sayResets(l *shell.DialogLines, p *plan.Plan) {
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
		l.Say(does, strings.Join(what, ", "), l.Styles.Text)
	}
}
