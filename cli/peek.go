package cli

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"strconv"

	"github.com/spf13/cobra"

	"dlxtop/model"
)

// peekJSON is the JSON of `dlxtop peek`.
type peekJSON struct {
	Queue          string            `json:"queue"`
	Method         model.PeekMethod  `json:"method"`
	Cost           string            `json:"cost"`
	DeliveryLimit  int64             `json:"delivery_limit,omitempty"`  // when looks use it up
	DeliveriesLeft *int64            `json:"deliveries_left,omitempty"` // of it, after this look, to the message that has the least
	Messages       []json.RawMessage `json:"messages"`
}

// mostPeeked is how many messages can be looked at in one go: all but the beginning of a table is on disk.
const mostPeeked = 1_000_000

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
			if want.Limit < 1 || want.Limit > mostPeeked {
				return usage("-n %d: between 1 and %d messages can be looked at in one go", want.Limit, mostPeeked)
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
			defer peeked.Messages.Close()
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
		s.program.say("only %s could be read: %s", model.Plural(peeked.Messages.Len(), "message"), model.Printable(peeked.Stopped))
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
	messages, plan := peeked.Messages, &peeked.Plan
	if depth, ok := peeked.Depth.Get(); ok && depth > int64(messages.Len()) {
		p.say("the first %d of %s", messages.Len(), model.Plural(int(depth), "message"))
	}
	used := int64(0)
	table := &grid{right: []bool{true, false, false, false, false, true}}
	table.measure(messageHead)
	asJSON := output.json(p.Out)
	for i := range messages.Len() {
		m, err := messages.At(i, 0)
		if err != nil {
			return err
		}
		if m.DeathsError != "" {
			p.say("message %d: its x-death cannot be read in full: %s", m.Position, model.Printable(m.DeathsError))
		}
		n, _ := m.Headers.Integer("x-delivery-count")
		used = max(used, n)
		if !asJSON {
			table.measure(messageCells(&m))
		}
	}
	out := peekJSON{Queue: plan.Queue.Name, Method: plan.Method, Cost: plan.Cost, Messages: []json.RawMessage{}}
	if left, counts := plan.DeliveriesLeft(used + 1); counts && messages.Len() > 0 {
		out.DeliveryLimit, out.DeliveriesLeft = plan.Budget, &left
		p.say("of the delivery limit %d, at least %d are left to each message after this look", plan.Budget, left)
	}
	if asJSON {
		return writePeeked(p.Out, out, messages)
	}
	p.say("cost of looking: %s", model.Printable(plan.Cost))
	if messages.Len() == 0 {
		p.say("no message is there")
		return nil
	}
	buffered := bufio.NewWriterSize(p.Out, 64<<10)
	_, _ = buffered.WriteString(table.line(messageHead)) // Flush tells
	for i := range messages.Len() {
		m, err := messages.At(i, 0)
		if err != nil {
			return err
		}
		_, _ = buffered.WriteString(table.line(messageCells(&m)))
	}
	return buffered.Flush()
}

// writePeeked writes one object, as writeJSON does, but never more than one of its messages at a time.
func writePeeked(out io.Writer, head peekJSON, messages model.Messages) error {
	var text bytes.Buffer
	if err := writeJSON(&text, head); err != nil {
		return err
	}
	if messages.Len() == 0 {
		_, err := out.Write(text.Bytes())
		return err
	}
	open := bytes.TrimSuffix(text.Bytes(), []byte("]\n}\n"))
	buffered := bufio.NewWriterSize(out, 64<<10)
	_, _ = buffered.Write(open) // Flush tells
	for i := range messages.Len() {
		m, err := messages.At(i, 0)
		if err != nil {
			return err
		}
		text.Reset()
		if err := writeJSON(&text, m.JSON()); err != nil {
			return err
		}
		if i > 0 {
			_, _ = buffered.WriteString(",")
		}
		_, _ = buffered.WriteString("\n    ")
		_, _ = buffered.Write(bytes.ReplaceAll(bytes.TrimSuffix(text.Bytes(), []byte("\n")), []byte("\n"), []byte("\n    ")))
	}
	_, _ = buffered.WriteString("\n  ]\n}\n")
	return buffered.Flush()
}

var messageHead = []string{"#", "MESSAGE ID", "ROUTING KEY", "DEATHS", "FAILURE", "SIZE", "BODY"}

func messageCells(m *model.Message) []string {
	failure := ""
	if f, ok := m.Failure(); ok {
		failure = f.String()
	}
	return []string{
		strconv.Itoa(m.Position), cell(m.Properties.MessageID, 36), cell(m.RoutingKey, 32), cell(m.DeathSummary(), 24),
		cell(failure, 40), model.Size(int64(m.BodyBytes)), shortened(m.BodyPreview(60), 60),
	}
}

// cell makes any text fit into a table.
func cell(text string, width int) string { return shortened(model.Printable(text), width) }
