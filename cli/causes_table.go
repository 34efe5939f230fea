package cli

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/dlxtop/dlxtop/cli/print"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/cause"
)

// statesOf are what people said of the causes of a broker, in the dashboard. Where the file cannot be read, that is
// said, and all are new.
func (s *session) statesOf(t *model.Topology) cause.States {
	if s.program.States == nil || s.connection.NoJournal {
		return cause.States{}
	}
	text, err := s.program.States(s.connection.JournalDir)
	var states cause.States
	if err == nil {
		states, err = cause.StatesIn(text, t.Snapshot.Overview.ClusterName)
	}
	if err != nil {
		s.program.say("the states of causes cannot be read: %s", model.Printable(err.Error()))
		return cause.States{}
	}
	return states
}

func causesTable(list []cause.Group, r *reading) *print.Table {
	table := &print.Table{Right: []bool{false, false, true}}
	table.Add("ID", "STATE", "MESSAGES", "FIRST", "LAST", "QUEUES", "WORKERS", "CAUSE")
	for i := range list {
		g := &list[i]
		var queues []string
		for _, q := range g.Queues {
			queues = append(queues, q.Of.String())
		}
		table.Add(string(g.ID), string(r.state(g)), countWords(g), seenAt(g.First), seenAt(g.Last), named(queues),
			named(g.WorkerNames(r.topology.WorkersOf)), print.Cell(g.Cause.String(), 120))
	}
	return table
}

// countWords are "6 (3 different)".
func countWords(g *cause.Group) string {
	if g.Different == g.Messages {
		return strconv.Itoa(g.Messages)
	}
	return fmt.Sprintf("%d (%d different)", g.Messages, g.Different)
}

// named are the first names of a list, and how many more there are; "?" of none.
func named(names []string) string {
	const shown = 2
	if len(names) == 0 {
		return "?"
	}
	text := print.Cell(strings.Join(names[:min(len(names), shown)], ", "), 40)
	if more := len(names) - shown; more > 0 {
		text += " and " + strconv.Itoa(more) + " more"
	}
	return text
}

// seenAt is a time of day on this machine's clock; "?" when it is unknown.
func seenAt(t model.Opt[time.Time]) string {
	at, known := t.Get()
	if !known {
		return "?"
	}
	return at.Local().Format(time.DateTime)
}
