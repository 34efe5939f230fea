package cli

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"dlxtop/model"
)

// The JSON of `dlxtop flows`.
type (
	flowsJSON struct {
		Flows []flowJSON `json:"flows"`
	}
	flowJSON struct {
		Name    string       `json:"name"`
		VHost   string       `json:"vhost"`
		Worker  workerJSON   `json:"worker"`
		Buffers []bufferJSON `json:"buffers"`
		Failed  []failedJSON `json:"failed"`
	}
	workerJSON struct {
		Queue     string           `json:"queue"`
		Ready     model.Opt[int64] `json:"ready,omitzero"`
		Consumers model.Opt[int64] `json:"consumers,omitzero"`
	}
	bufferJSON struct {
		Queue      string            `json:"queue"`
		Role       model.Role        `json:"role"`
		Ready      model.Opt[int64]  `json:"ready,omitzero"`
		TTL        model.Opt[int64]  `json:"ttl_ms,omitzero"`
		TTLSource  string            `json:"ttl_source,omitempty"`
		DLX        string            `json:"dlx"`
		DLXSource  string            `json:"dlx_source,omitempty"`
		RoutingKey model.Opt[string] `json:"routing_key,omitzero"`
		Targets    []string          `json:"targets"`
		Reason     string            `json:"reason"`
	}
	failedJSON struct {
		Queue  string           `json:"queue"`
		Ready  model.Opt[int64] `json:"ready,omitzero"`
		Reason string           `json:"reason"`
	}
)

func (p *Program) flowsCommand(flags *connectionFlags) *cobra.Command {
	var output format
	cmd := &cobra.Command{
		Use:   "flows",
		Short: "The flows: each worker with its buffers and failed queues",
		Args:  arguments(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := p.open(flags)
			if err != nil {
				return err
			}
			defer s.close()
			t, err := s.topology(cmd.Context())
			if err != nil {
				return err
			}
			if output.json(p.Out) {
				return writeJSON(p.Out, flowsOf(t))
			}
			return flowsTable(t).write(p.Out)
		},
	}
	output.register(cmd)
	return cmd
}

func flowsOf(t *model.Topology) flowsJSON {
	out := flowsJSON{Flows: []flowJSON{}}
	for _, f := range t.Flows() {
		worker := queueOf(t, f.Worker.Queue)
		flow := flowJSON{
			Name: f.Name, VHost: f.VHost,
			Worker:  workerJSON{f.Worker.Queue.Name, worker.Ready, worker.Consumers},
			Buffers: []bufferJSON{}, Failed: []failedJSON{},
		}
		for _, b := range f.Buffers {
			buffer := bufferJSON{
				Queue: b.Queue.Name, Role: b.Role, Ready: queueOf(t, b.Queue).Ready,
				TTLSource: string(b.TTLSource.Kind), DLX: b.DLX, DLXSource: string(b.DLXSource.Kind), RoutingKey: b.Key,
				Targets: []string{}, Reason: b.Reason,
			}
			if ttl, ok := b.TTL.Get(); ok {
				buffer.TTL = model.Some(ttl.Milliseconds())
			}
			for _, target := range b.Targets {
				buffer.Targets = append(buffer.Targets, target.Name)
			}
			flow.Buffers = append(flow.Buffers, buffer)
		}
		for _, m := range f.Failed {
			flow.Failed = append(flow.Failed, failedJSON{m.Queue.Name, queueOf(t, m.Queue).Ready, m.Reason})
		}
		out.Flows = append(out.Flows, flow)
	}
	return out
}

// queueOf is what is known of a queue; nothing when the snapshot does not have it.
func queueOf(t *model.Topology, ref model.QueueRef) *model.Queue {
	if q, ok := t.Queue(ref); ok {
		return q
	}
	return &model.Queue{QueueRef: ref}
}

func flowsTable(t *model.Topology) *grid {
	g := &grid{right: []bool{false, false, false, true, true}}
	g.add("FLOW", "ROLE", "QUEUE", "READY", "CONSUMERS", "AFTER", "LEADS TO")
	for _, f := range t.Flows() {
		name := model.Printable(f.Worker.Queue.String())
		row := func(role string, ref model.QueueRef, after, target string) {
			q := queueOf(t, ref)
			g.add(name, role, model.Printable(ref.Name), q.Ready.String(), q.Consumers.String(), after, target)
			name = "" // once
		}
		row(string(model.WorkerRole), f.Worker.Queue, "", "")
		for _, b := range f.Buffers {
			row(string(b.Role), b.Queue, after(b), leadsTo(b))
		}
		for _, m := range f.Failed {
			row(string(model.FailedRole), m.Queue, "", "")
		}
	}
	return g
}

// after is how long messages wait in a buffer, and who says so.
func after(b model.Buffer) string {
	ttl, ok := b.TTL.Get()
	switch {
	case ok && b.TTLSource.Kind != "":
		return fmt.Sprintf("%s (%s)", model.ShortDuration(ttl), model.Printable(b.TTLSource.String()))
	case ok:
		return model.ShortDuration(ttl)
	}
	return "per message"
}

func leadsTo(b model.Buffer) string {
	var targets []string
	for _, q := range b.Targets {
		targets = append(targets, model.Printable(q.Name))
	}
	return fmt.Sprintf("%s through %s", cmp.Or(strings.Join(targets, ", "), "nowhere"), model.Printable(model.ExchangeName(b.DLX)))
}
