package cli

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/dlxtop/dlxtop/cli/naming"
	"github.com/dlxtop/dlxtop/cli/print"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/model/trace"
)

// tapFollows is how often the bindings of a tapped exchange are reread.
const tapFollows = 5 * time.Second

type tapping struct {
	exchange string
	fronts   []string
	number   int
	length   time.Duration
	unrouted bool
	given    func(flag string) bool
	output   format
}

func (p *Program) tapCommand() *cobra.Command {
	a := &tapping{}
	cmd := &cobra.Command{
		Use:     "tap EXCHANGE",
		Short:   "Watch messages pass an exchange: from where, why, and how long they waited",
		GroupID: toLook,
		Example: "dlxtop tap dlx.exchange\ndlxtop tap dlx.exchange --front out.exchange",
		Long: `Show each message that passes an exchange, usually a dead-letter exchange: from which queue it
comes and why, how long it waited there and how long it should have. Ctrl-c ends it. With --front
it also taps the exchange in front of the buffers: the wait of a message between the two is then
exact; otherwise it comes from the message itself, or is unknown.

A tap is a queue of its own, bound like the other queues of the exchange, so that it gets copies of
their messages. It is exclusive: RabbitMQ deletes it when the command ends, however it ends. It holds
10,000 messages and 64 MiB; it drops the oldest beyond that, and counts them. It needs the rights
configure, write and read on ^dlxtop\.tap-, read on the exchange, and write on amq.default to count
exactly. The default exchange cannot be tapped.

-o json writes one line a message:
{"time","exchange","routing_key","from","reason","waited_ms","waited_by","should_ms","late_ms",
"behind_ms","tries","message_id","body_bytes"}; an absent value is unknown; a message without
"from" was published. At the end, standard error shows how many messages were seen and missed.`,
		Args:              arguments("an exchange"),
		ValidArgsFunction: p.completeExchange(),
		RunE: func(cmd *cobra.Command, args []string) error {
			a.exchange, a.given = args[0], cmd.Flags().Changed
			return p.tap(cmd.Context(), a)
		},
	}

	set := cmd.Flags()
	set.StringArrayVar(&a.fronts, "front", nil,
		"an exchange in front of the buffers, tapped too (can be given several times)")
	set.IntVarP(&a.number, "limit", "n", 0, "end after this number of messages (default: no end)")
	set.DurationVar(&a.length, "for", 0, "end after this time: 30s, 5m (default: no end)")
	set.BoolVar(&a.unrouted, "unrouted", false,
		"also show messages that no queue takes; RabbitMQ then does not return mandatory ones")
	a.output.register(cmd)

	return cmd
}

func (p *Program) tap(ctx context.Context, a *tapping) error {
	switch {
	case a.given("limit") && a.number < 1:
		return usage("-n %d: wait for at least 1 message", a.number)
	case a.given("for") && a.length <= 0:
		return usage("--for %s: a tap takes some time, like 30s", a.length)
	}

	connection, err := p.flags.resolve(p.Env)
	if err != nil {
		return err
	}
	if connection.ReadOnly {
		return notAllowed("this connection is read-only: a tap declares a queue of its own and binds it")
	}
	s, err := p.openConnection(connection)
	if err != nil {
		return err
	}
	defer s.close()
	t, err := s.topology(ctx)
	if err != nil {
		return err
	}

	ref, err := naming.Exchange(t, a.exchange)
	if err != nil {
		return usage("%w", err)
	}
	if err := s.checkCluster(ctx, ref.VHost, t.Snapshot.Overview); err != nil {
		return err
	}
	want := trace.TapWant{VHost: ref.VHost, Exchanges: []string{ref.Name}, Unrouted: a.unrouted}
	for _, front := range a.fronts {
		if !slices.Contains(want.Exchanges, front) {
			want.Exchanges = append(want.Exchanges, front)
		}
	}

	plan := trace.PlanTap(t, want)
	if plan.Refusal.Refused() {
		return refused("%s", plan.Refusal.Words())
	}
	for _, words := range slices.Concat(plan.Costs, plan.Notes) {
		p.note("%s", words)
	}

	run := &tapRun{
		session: s,
		tapping: a,
		want:    want,
		passing: trace.NewPassing(ref.VHost, t),
	}

	return run.run(ctx, plan)
}

type tapRun struct {
	*session
	*tapping
	want trace.TapWant

	stop       context.CancelFunc
	sync.Mutex // guards the fields below: rows and polls come from different goroutines
	last       trace.TapCounts

	passing *trace.Passing
	rows    int
	failed  error // writing the output failed
}

func (r *tapRun) run(ctx context.Context, plan trace.TapPlan) error {
	running, stop := context.WithCancel(ctx)
	defer stop()
	r.stop = stop
	if !r.output.json() {
		r.write([]byte(tapTable.Line("TIME", "FROM", "REASON", "WAITED", "SHOULD", "LATE", "TRIES", "ROUTING KEY",
			"MESSAGE ID", "SIZE")))
		if r.failed != nil {
			return r.failed
		}
	}

	follow := make(chan trace.TapPlan)
	working := make(chan struct{})
	var others sync.WaitGroup
	others.Go(func() {
		select {
		case <-working:
			r.followBindings(running, plan, follow)
		case <-running.Done():
		}
	})

	var once sync.Once
	err := r.broker.Tap(running, plan, follow, r.showMessage, func(counts trace.TapCounts) {
		once.Do(func() {
			r.note("tapping, in the queue %s", counts.Queue)
			close(working)

			if r.length > 0 {
				time.AfterFunc(r.length, stop)
			}
		})

		r.Lock()
		defer r.Unlock()

		if before := r.last.MissedWords(); counts.MissedWords() != before {
			r.note("until now: %s", counts.MissedWords())
		}

		r.last = counts
	})

	stop()
	others.Wait()
	r.Lock()
	defer r.Unlock()

	missed := r.last.MissedWords()
	if missed == "" {
		missed = "none missed"
	}
	if r.last.Queue != "" {
		r.note("%v message(s) seen, %s", r.rows, missed)
	}

	switch {
	case r.failed != nil:
		return r.failed
	case err != nil:
		return err
	}

	return ctx.Err()
}

// showMessage writes one message. While the output blocks, the tap's queue fills, and counts what it loses.
func (r *tapRun) showMessage(m *message.Message, at time.Time) {
	r.Lock()
	defer r.Unlock()
	row := r.passing.See(m, at)
	m.Body, m.Headers, m.Deaths = nil, nil, nil // no longer needed
	if r.failed != nil || r.number > 0 && r.rows >= r.number {
		return
	}
	r.rows++
	if r.output.json() {
		r.write(print.JSONLine(row.JSON()))
	} else {
		r.write([]byte(tapLine(&row)))
	}

	if r.failed != nil || r.rows == r.number {
		r.stop()
	}
}

func (r *tapRun) write(line []byte) {
	if _, err := r.Out.Write(line); err != nil {
		r.failed = fmt.Errorf("write the messages: %w", err)
	}
}

// followBindings rereads the broker repeatedly: new bindings are tapped too.
func (r *tapRun) followBindings(ctx context.Context, plan trace.TapPlan, follow chan<- trace.TapPlan) {
	ticker := time.NewTicker(tapFollows)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}

		snapshot, err := r.source.Snapshot(ctx)
		if err != nil {
			continue // the tap itself reports when the broker is gone
		}
		t := model.NewTopology(snapshot)
		r.Lock()
		r.passing.Follow(t)
		r.Unlock()

		next := trace.PlanTap(t, r.want)
		if next.Refusal.Refused() || slices.EqualFunc(next.Bindings, plan.Bindings, trace.TapBinding.Same) {
			continue
		}
		plan = next
		select {
		case follow <- plan:
		case <-ctx.Done():
			return
		}
	}
}

// tapTable has no end, so it cannot be measured.
var tapTable = print.Table{
	Widths: []int{12, 24, 14, 9, 9, 16, 5, 24, 20, 6}, Open: true,
	Right: []bool{
		3: true,
		4: true,
		5: true,
		6: true,
		9: true,
	},
}

func tapLine(row *trace.Passed) string {
	from := print.Cell(row.From, 24)
	switch {
	case row.Unclear != "":
		from = "unknown"
	case row.From == "":
		from = "published"
	}

	return tapTable.Line(row.Time.Local().Format("15:04:05.000"), from, print.Cell(string(row.Reason), 14),
		row.WaitedWords(), row.ShouldWords(), row.LateWords(), row.Tries.String(), print.Cell(row.RoutingKey, 24),
		print.Cell(row.Message.Properties.MessageID, 20), message.Size(int64(row.Message.BodyBytes)))
}
