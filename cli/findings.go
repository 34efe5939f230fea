package cli

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/dlxtop/dlxtop/cli/print"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/findings"
	"github.com/dlxtop/dlxtop/model/loss"
	"github.com/dlxtop/dlxtop/model/peek"
)

// The JSON of `dlxtop findings`.
type (
	findingsJSON struct {
		Findings  []findingJSON   `json:"findings"`            // the worst first
		Destroyed []destroyedJSON `json:"destroyed,omitempty"` // what left queues without a dead-letter exchange
	}
	destroyedJSON struct {
		Node     string           `json:"node"`                 // that counts it, exactly
		Unknown  string           `json:"unknown,omitempty"`    // why it tells nothing
		Type     model.QueueType  `json:"queue_type,omitempty"` // classic, quorum
		Reason   model.Reason     `json:"reason,omitempty"`     // expired, rejected, maxlen, delivery_limit
		Messages model.Opt[int64] `json:"messages,omitzero"`    // since the node started
		Watched  model.Opt[int64] `json:"watched,omitzero"`     // of these, those while dlxtop watched for up to 20 s
	}
	findingJSON struct {
		Code     string         `json:"code"`               // its name: docs/findings/CODE.md
		Level    findings.Level `json:"level"`              // error, warning or info
		VHost    string         `json:"vhost"`              // where it is
		Queue    string         `json:"queue,omitempty"`    // where it is
		Exchange string         `json:"exchange,omitempty"` // where it is
		Node     string         `json:"node,omitempty"`     // where it is
		Message  string         `json:"message"`            // what is wrong
		Evidence string         `json:"evidence"`           // by what that is known
		Remedy   string         `json:"remedy"`             // what to do
		Page     string         `json:"page"`               // the address of its page
	}
)

// mostHeads is how many messages --read looks at, from the head of a buffer.
const mostHeads = 1_000

const (
	watchMost  = 20 * time.Second        // for a slow requeue loop, or the first statistics of a queue
	watchEvery = 2500 * time.Millisecond // between two polls of that: twice in an interval of statistics
)

func (p *Program) findingsCommand() *cobra.Command {
	var output format
	var read bool
	var upgradeTo string
	cmd := &cobra.Command{
		Use:     "findings",
		Short:   "What is wrong or risky; exit status 1 when messages are lost or about to be",
		GroupID: toLook,
		Example: "dlxtop findings --read --vhost shop -o json\ndlxtop findings --upgrade-to 4.3",
		Long: `List what is wrong or risky in the topology and in statistics. Whether a message holds up those behind
it, only the messages of a buffer show: --read looks at the first 1,000 of each buffer, unless that counts
towards a delivery limit. Messages that are overdue behind another one expire
when they are read, as with peek. Standard error names the buffers that were not looked at.

Where rabbitmq_prometheus is enabled, the evidence has how many messages a node destroyed for want of a dead-letter
exchange, exactly: since it started, and while dlxtop watched. Without it, the evidence says how to get that.

--upgrade-to lists instead what will not work in a later version of RabbitMQ, or will mean something else: settings of
queues, exchanges and connections, each with what to do before. To see the connections of all users, it needs the tag
monitoring; what it could not read is on standard error.`,
		Args: arguments(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			to := model.ParseVersion(upgradeTo)
			if upgradeTo != "" && (!to.AtLeast(4, 0) || to.AtLeast(4, 5)) {
				return usage("--upgrade-to takes a version from 4.0 to 4.4, not %v", upgradeTo)
			}

			return p.poll(cmd.Context(), func(s *session, t *model.Topology) error {
				if to.Known() {
					return s.upgrade(cmd.Context(), t, to, &output)
				}
				return s.findings(cmd.Context(), t, read, &output)
			})
		},
	}

	cmd.Flags().StringVar(&upgradeTo, "upgrade-to", "", "what an upgrade to this version of RabbitMQ changes")
	cmd.Flags().BoolVar(&read, "read", false, "also look at buffers whose head can hold up what is behind it")
	output.register(cmd)

	return cmd
}

// upgrade tells what an upgrade changes.
func (s *session) upgrade(ctx context.Context, t *model.Topology, to model.Version, output *format) error {
	use := s.source.InUse(ctx)
	if !t.Snapshot.Overview.Monitors() {
		use.Missing = append(use.Missing, "the connections of other users: that needs the tag monitoring")
	}
	for _, missing := range use.Missing {
		s.note("not checked: %s", missing)
	}

	return s.tellFindings(t, findings.Upgrade(t, to, use), nil, output)
}

func (s *session) findings(ctx context.Context, t *model.Topology, read bool, output *format) error {
	counts := s.source.Destroyed(ctx)
	if watched := s.watch(ctx, t); watched != t {
		t, counts = watched, loss.Since(counts, s.source.Destroyed(ctx))
	}

	heads := findings.Heads(t, read)
	if len(heads) > 0 && !read {
		s.note("not looked at: whether a message holds up those behind it in %s; --read looks", heads)
		heads = nil
	}

	var shown []findings.Finding
	for _, ref := range heads {
		shown = append(shown, s.findIn(ctx, t, ref)...)
	}

	found := findings.Of(t)
	for _, f := range shown {
		same := func(other findings.Finding) bool { return other.Identity() == f.Identity() }
		found = append(slices.DeleteFunc(found, same), f) // the messages say more than counts
	}

	return s.tellFindings(t, findings.Sort(findings.Destroyed(t, found, counts)), counts, output)
}

// tellFindings lists findings; the exit status says whether one is an error.
func (s *session) tellFindings(
	t *model.Topology, found []findings.Finding, counts []loss.Destroyed, output *format,
) (err error) {
	if output.json() {
		out := findingsJSON{Findings: []findingJSON{}}
		for _, d := range counts {
			out.Destroyed = append(out.Destroyed, destroyedJSON(d))
		}

		for _, f := range found {
			out.Findings = append(out.Findings, findingJSON{
				f.Code, f.Level, f.VHost, f.Queue, f.Exchange, f.Node, f.Message, f.Evidence, f.Remedy, f.Page(),
			})
		}
		err = print.JSON(s.Out, out)
	} else {
		text := ""
		for _, f := range findings.Together(t, found) {
			text += f.Paragraph()
		}
		if text == "" {
			s.note("nothing is wrong as far as dlxtop can see")
		}
		_, err = fmt.Fprint(s.Out, text)
	}

	isError := func(f findings.Finding) bool { return f.Level == findings.LevelError }
	if err == nil && slices.ContainsFunc(found, isError) {
		return &exit{status: ExitRefused}
	}

	return err
}

// watch polls on while queues may be in a requeue loop that one poll does not show, and until each has statistics.
func (s *session) watch(ctx context.Context, t *model.Topology) *model.Topology {
	suspects, fresh := findings.LoopsToWatch(t), t.WithoutStatistics()
	if len(suspects) > 0 {
		s.note("watching for at most %s, because messages were delivered again and again: %s",
			watchMost, suspects)
	}
	if len(fresh) > 0 {
		s.note("waiting for at most %s: RabbitMQ has no statistics yet of %s", watchMost, fresh)
	}

	for end := time.Now().Add(watchMost); len(suspects)+len(fresh) > 0 && time.Now().Before(end); {
		select {
		case <-ctx.Done():
			return t
		case <-time.After(watchEvery):
		}

		snapshot, err := s.source.Snapshot(ctx)
		if err != nil {
			return t // what was seen is worth saying
		}
		t = s.confirmed(ctx, t.Next(snapshot), true)
		suspects, fresh = findings.LoopsToWatch(t), t.WithoutStatistics()
	}

	if len(fresh) > 0 {
		s.note("unknown, without statistics: who consumes %s", fresh)
	}

	return t
}

// findIn looks for findings in the first messages of a queue, unless returning them counts towards its delivery limit,
// and notes what they show of their ways.
func (s *session) findIn(ctx context.Context, t *model.Topology, ref model.QueueRef) []findings.Finding {
	var why string
	look := peek.For(t, ref, s.wants(peek.Want{Limit: mostHeads}))
	switch {
	case !look.Allowed():
		why = look.Refusal.Words()
	case look.Endangers():
		why = look.Cost + "; dlxtop peek looks all the same"
	default:
		peeked, err := s.broker.Peek(ctx, look)
		s.tellRescued(peeked.Rescued)
		if err == nil {
			s.note("looked at %s: %s", ref, look.Cost)
			defer peeked.Messages.Close()
			reading := findings.In(t, ref, peeked)
			t.Snapshot.Seen = t.Snapshot.Seen.With(reading.Seen())
			return reading.Found()
		}

		why = err.Error()
	}

	s.note("not looked at: %s: %s", ref, why)
	return nil
}
