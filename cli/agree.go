package cli

import (
	"context"
	"fmt"

	"github.com/dlxtop/dlxtop/cli/report"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/plan"
)

// agree lets the person agree to a plan, unless yes says so already, and then makes it again from the topology of now:
// between the two a queue may have been bound, or have gone. What it returns promises what was agreed to. What is
// different is said and asked about again; with nobody to ask it is refused. Without again the plan is decided for
// good.
func (p *Program) agree(
	ctx context.Context, s *session, planned report.Planned, q question, yes bool,
	again func(*model.Topology) (report.Planned, error),
) (report.Planned, error) {
	p.report().Announce(planned)
	for {
		if !yes {
			q.messages = planned.Plan.Planned
			if err := p.ask(ctx, q); err != nil {
				return planned, err
			}
		}
		if again == nil {
			return planned, nil
		}
		t, err := s.reread(ctx)
		if err != nil {
			return planned, err
		}
		now, err := again(t)
		if err != nil {
			return planned, err
		}
		was, is := planned.Promise(), now.Promise()
		changes := was.Changes(&is)
		switch why := now.Refusal(); {
		case why.Refused() && !is.Refusal.Refused():
			return planned, refused("the plan is no longer valid: %s; nothing was changed", refusal(why))
		case len(changes) == 0:
			return now, nil
		case yes || is.Refusal.Refused():
			words := withInsist(plan.ChangesWords(changes), now.Plan.Refusal)
			return planned, refused("the plan is no longer valid: %s; nothing was changed", words)
		}
		for i := range changes {
			p.say("changed since you were asked: %s", model.Printable(changes[i].Words()))
		}
		planned = now
		p.report().Announce(planned)
	}
}

// reread reads the broker once more. What cannot be read was told the first time.
func (s *session) reread(ctx context.Context) (*model.Topology, error) {
	snapshot, err := s.source.Current(ctx)
	if err != nil {
		return nil, fmt.Errorf("read the topology again: %w; nothing was changed", s.explain(ctx, err))
	}
	return model.NewTopology(snapshot), nil
}
