package cli

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/dlxtop/dlxtop/cli/print"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/trace"
)

type probing struct {
	flow, buffer        string
	direct, toConsumers bool
	agreed              bool
	timeout             time.Duration
	output              format
}

// The JSON of `dlxtop probe`.
type (
	probeJSON struct {
		ID       string           `json:"id"`                 // of its message
		Flow     string           `json:"flow"`               // its name
		Exchange string           `json:"exchange"`           // that it was published to
		Key      string           `json:"routing_key"`        // that it was published with
		Buffer   string           `json:"buffer"`             // that it waited in
		Steps    []probeStepJSON  `json:"steps"`              // what was seen of it
		Waited   model.Opt[int64] `json:"waited_ms,omitzero"` // from its arrival in the buffer to that behind it
		Should   model.Opt[int64] `json:"should_ms,omitzero"` // how long it should have waited
		Arrived  bool             `json:"arrived"`            // it came to the worker's queue
		Verdict  string           `json:"verdict"`            // a sentence
		Left     string           `json:"left_in,omitempty"`  // the queue where it is still
	}
	probeStepJSON struct {
		Stage trace.ProbeStage `json:"stage"`          // what happened
		Where string           `json:"where"`          // the exchange or queue
		After int64            `json:"after_ms"`       // since it was published
		Note  string           `json:"note,omitempty"` // a sentence
	}
)

func (p *Program) probeCommand(flags *connectionFlags) *cobra.Command {
	a := &probing{}
	cmd := &cobra.Command{
		Use:     "probe FLOW",
		Short:   "Send one marked message through a flow, and measure its way",
		GroupID: toAct,
		Example: "dlxtop probe orders\ndlxtop probe orders --to-consumers",
		Long: `Send one marked message through a buffer of a flow, and show when it entered, when it expired and
when it reached the worker. A flow has the name of its worker (see ` + "`dlxtop flows`" + `). It
enters through an exchange that leads to this buffer only, otherwise through the default exchange.

If applications consume what it reaches, they would get it: dlxtop refuses that without
--to-consumers. Otherwise it takes the message out again when it has arrived, which is in the journal
like any other drop. It follows the message with taps (` + "`dlxtop tap --help`" + ` shows what they cost).

Exit status 1 when it did not arrive: the last line says where it was seen last.`,
		Args:              arguments("a flow"),
		ValidArgsFunction: p.completeQueue(flags),
		RunE: func(cmd *cobra.Command, args []string) error {
			a.flow = args[0]
			if cmd.Flags().Changed("timeout") && a.timeout <= 0 {
				return usage("--timeout %s: a probe takes some time, like 30s", a.timeout)
			}
			return p.probe(cmd.Context(), flags, a)
		},
	}
	cmd.Flags().StringVar(&a.buffer, "buffer", "",
		"through this buffer of the flow (default: the one with the shortest TTL)")
	cmd.Flags().BoolVar(&a.direct, "direct", false,
		"into the buffer through the default exchange, not through the exchange in front of it")
	cmd.Flags().BoolVar(&a.toConsumers, "to-consumers", false,
		"also when applications consume what it reaches, and get it")
	cmd.Flags().DurationVar(&a.timeout, "timeout", 0, "how long to wait for it (default: its TTL and 10s)")
	cmd.Flags().BoolVar(&a.agreed, "yes", false, "do not ask")
	a.output.register(cmd)
	flags.registerNoJournal(cmd)
	return cmd
}

func (p *Program) probe(ctx context.Context, flags *connectionFlags, a *probing) error {
	connection, err := flags.resolve(p.Env)
	if err != nil {
		return err
	}
	if connection.ReadOnly {
		return notAllowed("this connection is read-only: a probe is a message that is published")
	}
	if !a.agreed && !print.IsTerminal(p.In) {
		return usage("a probe is published, and there is no terminal to ask on: add --yes")
	}
	s, err := p.openConnection(connection)
	if err != nil {
		return err
	}
	defer s.close()
	if s.journal != nil {
		if err := s.checkJournal(ctx, true); err != nil {
			return err
		}
	}
	t, err := s.topology(ctx)
	if err != nil {
		return err
	}
	want, err := s.probeWant(ctx, t, a)
	if err != nil {
		return err
	}
	plan := trace.PlanProbe(t, want)
	if plan.NeedsConsumers {
		return refused("%s; --to-consumers sends it anyway", plan.Refusal.Words())
	}
	if plan.Refusal.Refused() {
		return refused("%s", plan.Refusal.Words())
	}
	p.announceProbe(&plan)
	if !a.agreed {
		ask := question{does: "send", messages: 1, where: "into", queue: plan.Buffer, production: connection.Production}
		if err := p.ask(ctx, ask); err != nil {
			return err
		}
	}
	result, err := s.broker.Probe(ctx, plan, func(step trace.ProbeStep) {
		note := ""
		if step.Note != "" {
			note = ", " + model.Printable(step.Note)
		}
		p.say("%8s  %s %s%s", model.ShortDuration(step.After.Round(time.Millisecond)), step.Stage,
			model.Printable(model.ExchangeName(step.Where)), note)
	})
	if err != nil {
		return err
	}
	return p.showProbe(ctx, a, &plan, &result)
}

// probeWant finds the flow that a user named by its worker.
func (s *session) probeWant(ctx context.Context, t *model.Topology, a *probing) (trace.ProbeWant, error) {
	want := trace.ProbeWant{ID: trace.NewProbeID(), Direct: a.direct, ToConsumers: a.toConsumers, Timeout: a.timeout}
	want.Consumers = func(ref model.QueueRef) model.Opt[int64] { // statistics lag, and a new queue has none
		counts, err := s.broker.Count(ctx, []model.QueueRef{ref})
		if err != nil {
			return model.Unknown[int64]()
		}
		return counts[ref].Consumers
	}
	ref, err := s.findQueue(ctx, t, a.flow)
	if err != nil {
		return want, err
	}
	for _, f := range t.FlowsOf(ref) {
		if f.Worker.Queue == ref {
			want.Flow = f
		}
	}
	if want.Flow == nil {
		return want, usage("%s is not the worker of a flow: `dlxtop flows` lists the flows", model.Printable(a.flow))
	}
	if a.buffer != "" {
		if want.Buffer, err = findQueue(t, a.buffer); err != nil {
			return want, err
		}
	}
	return want, nil
}

func (p *Program) announceProbe(plan *trace.ProbePlan) {
	p.say("it enters %s by %s, key %s, and should leave after %s", model.Printable(plan.Buffer.Name),
		model.Printable(model.ExchangeName(plan.Entrance.Exchange)),
		cmp.Or(model.Printable(plan.Entrance.RoutingKey), `""`), model.ShortDuration(plan.TTL.Or(0)))
	var names []string
	for _, r := range plan.Reaches {
		switch n, known := r.Consumers.Get(); {
		case !known:
			names = append(names, model.Printable(r.Queue.Name)+" (consumers unknown)")
		case n == 0:
			names = append(names, model.Printable(r.Queue.Name)+", where it is taken out again")
		default:
			names = append(names, fmt.Sprintf("%s, and its %s will get it", model.Printable(r.Queue.Name),
				model.Plural(n, "consumer")))
		}
	}
	p.say("it reaches %s", cmp.Or(strings.Join(names, "; "), "no queue"))
	for _, w := range plan.Warnings {
		p.say("%s", model.Printable(w))
	}
}

func (p *Program) showProbe(ctx context.Context, a *probing, plan *trace.ProbePlan, result *trace.ProbeResult) error {
	if a.output.json() {
		out := probeJSON{
			ID: plan.ID, Flow: a.flow, Exchange: plan.Entrance.Exchange, Key: plan.Entrance.RoutingKey,
			Buffer: plan.Buffer.Name, Steps: []probeStepJSON{},
			Arrived: result.Arrived, Verdict: result.Verdict, Left: result.Left,
			Waited: millis(result.Waited), Should: millis(result.Should),
		}
		for _, s := range result.Steps {
			out.Steps = append(out.Steps, probeStepJSON{s.Stage, s.Where, s.After.Milliseconds(), s.Note})
		}
		if err := print.JSON(p.Out, out); err != nil {
			return err
		}
	} else {
		fmt.Fprintln(p.Out, result.String())
	}
	if result.Left != "" {
		p.say("it may still be in %s: `dlxtop drop %s --id %s` takes it out", model.Printable(result.Left),
			model.Printable(result.Left), plan.ID)
	}
	if !result.Arrived {
		if ctx.Err() != nil {
			p.say("%s", result.Verdict)
			return ctx.Err()
		}
		return refused("%s", result.Verdict)
	}
	return nil
}
