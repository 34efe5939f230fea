package report

import (
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/model/plan"
)

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
