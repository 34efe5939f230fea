package cli

import (
	"context"
	"strconv"

	"github.com/spf13/cobra"

	"dlxtop/model"
)

// peekJSON is the JSON of `dlxtop peek`.
type peekJSON struct {
	Queue    string              `json:"queue"`
	Method   model.PeekMethod    `json:"method"`
	Cost     string              `json:"cost"`
	Messages []model.MessageJSON `json:"messages"`
}

func (p *Program) peekCommand(flags *connectionFlags) *cobra.Command {
	var output format
	want := model.PeekWant{Limit: 50}
	cmd := &cobra.Command{
		Use:   "peek QUEUE",
		Short: "Look at messages without consuming them",
		Long: `Look at the first messages of a queue. They stay in the queue and in their order; what looking costs nevertheless is said on
standard error and in the JSON. Exit status 1 when a peek would do harm, and is refused.`,
		Args:              arguments("a queue"),
		ValidArgsFunction: p.completeQueue(flags),
		RunE: func(cmd *cobra.Command, args []string) error {
			if want.Limit < 1 || want.Limit > model.MaxPage {
				return usage("-n %d: between 1 and %d messages can be looked at in one go", want.Limit, model.MaxPage)
			}
			s, err := p.open(flags)
			if err != nil {
				return err
			}
			defer s.close()
			t, err := s.topology(cmd.Context())
			if err != nil {
				return err
			}
			ref, err := s.findQueue(cmd.Context(), t, args[0])
			if err != nil {
				return err
			}
			peeked, err := s.peek(cmd.Context(), t, ref, want)
			if err != nil {
				return err
			}
			return p.showPeeked(peeked, &output)
		},
	}
	cmd.Flags().IntVarP(&want.Limit, "number", "n", want.Limit, "messages at most")
	cmd.Flags().BoolVar(&want.Insist, "insist", false, "look in spite of a refusal that can be overridden")
	output.register(cmd)
	return cmd
}

// peek looks at the head of a queue, unless that would do harm.
func (s *session) peek(ctx context.Context, t *model.Topology, ref model.QueueRef, want model.PeekWant) (model.Peeked, error) {
	plan := t.PlanPeek(ref, want)
	if !plan.Allowed() {
		return model.Peeked{}, refused("%s", refusal(plan.Refusal, plan.Override))
	}
	peeked, err := s.broker.Peek(ctx, plan)
	if err != nil {
		return model.Peeked{}, err
	}
	if peeked.Stopped != "" {
		s.program.say("only %s could be read: %s", model.Plural(len(peeked.Messages), "message"), model.Printable(peeked.Stopped))
	}
	for i := range peeked.Messages {
		if m := &peeked.Messages[i]; m.DeathsError != "" {
			s.program.say("message %d: its x-death cannot be read in full: %s", m.Position, model.Printable(m.DeathsError))
		}
	}
	for _, f := range t.FindingsIn(ref, peeked.Messages, peeked.TakenAt) {
		s.program.say("%s: %s; %s", f.Level, f.Message, f.Remedy)
	}
	return peeked, nil
}

// refusal is a refusal for a person, with what --insist would do.
func refusal(why, override string) string {
	if override != "" {
		why += "; --insist goes on: " + override
	}
	return model.Printable(why)
}

func (p *Program) showPeeked(peeked model.Peeked, output *format) error {
	messages := peeked.Messages
	if depth, ok := peeked.Depth.Get(); ok && depth > int64(len(messages)) {
		p.say("the first %d of %s", len(messages), model.Plural(int(depth), "message"))
	}
	if output.json(p.Out) {
		out := peekJSON{peeked.Plan.Queue.Name, peeked.Plan.Method, peeked.Plan.Cost, []model.MessageJSON{}}
		for i := range messages {
			out.Messages = append(out.Messages, messages[i].JSON())
		}
		return writeJSON(p.Out, out)
	}
	p.say("cost of looking: %s", model.Printable(peeked.Plan.Cost))
	if len(messages) == 0 {
		p.say("no message is there")
		return nil
	}
	return messagesTable(messages).write(p.Out)
}

func messagesTable(messages []model.Message) *grid {
	g := &grid{right: []bool{true, false, false, false, false, true}}
	g.add("#", "MESSAGE ID", "ROUTING KEY", "DEATHS", "FAILURE", "SIZE", "BODY")
	for i := range messages {
		m := &messages[i]
		failure := ""
		if f, ok := m.Failure(); ok {
			failure = f.String()
		}
		g.add(strconv.Itoa(m.Position), cell(m.Properties.MessageID, 36), cell(m.RoutingKey, 32), cell(m.DeathSummary(), 24),
			cell(failure, 40), model.Size(int64(m.BodyBytes)), shortened(m.BodyPreview(60), 60))
	}
	return g
}

// cell makes any text fit into a table.
func cell(text string, width int) string { return shortened(model.Printable(text), width) }
