package cli

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/dlxtop/dlxtop/cli/overview"
	"github.com/dlxtop/dlxtop/cli/print"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/polls"
)

func (p *Program) flowsCommand() *cobra.Command {
	var output format
	cmd := &cobra.Command{
		Use:     "flows",
		Short:   "The flows: each worker with its buffers and failed queues",
		GroupID: toLook,
		Example: "dlxtop flows\ndlxtop flows --context production -o json",
		Long: `The flows: each worker with its buffers and failed queues. READY is what a look can show; "+3 held" are
dead letters that no queue has taken yet (dead-letter-strategy at-least-once), "+1 delayed" what waits
for a delayed retry (4.3). The table has the column REDELIVERED
when messages that had come back are delivered again: how many per second, a mean of the last 5
seconds. In JSON it is redelivered_per_second; times are in ms.`,
		Args: arguments(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return p.poll(cmd.Context(), func(s *session, t *model.Topology) error {
				t = s.counted(cmd.Context(), t)
				if output.json() {
					return print.JSON(p.Out, overview.Flows(t))
				}
				return overview.Table(t).Write(p.Out)
			})
		},
	}

	output.register(cmd)

	return cmd
}

// mostCounted bounds how many queues are counted: a passive declare takes a part of a millisecond.
const mostCounted = 200

// counted counts the queues of flows and failed queues: statistics lag, and say 0 of a new quorum queue for seconds
// (4.3.6). If AMQP does not answer, the statistics stand.
func (s *session) counted(ctx context.Context, t *model.Topology) *model.Topology {
	ctx, cancel := context.WithTimeout(ctx, briefly)
	defer cancel()
	refs := polls.QueuesOfFlows(t)
	declare, _ := t.CountableOf(refs[:min(len(refs), mostCounted)])
	counts, _ := s.counts(ctx, declare)

	return t.Confirmed(counts, true)
}
