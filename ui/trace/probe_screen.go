package trace

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/charmbracelet/bubbles/key"
	tea "github.com/charmbracelet/bubbletea"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/plan"
	"github.com/dlxtop/dlxtop/model/ports"
	"github.com/dlxtop/dlxtop/model/trace"
	"github.com/dlxtop/dlxtop/ui/shell"
)

// ProbeScreen says whom a probe would reach, sends it, and draws its way with the times that were measured.
type ProbeScreen struct {
	shell.Dialog
	worker   model.QueueRef
	topology *model.Topology
	flow     *model.Flow    // nil: it is gone
	buffer   model.QueueRef // of the flow's buffers: tab goes through them; zero: none was there yet
	to       bool           // to the consumers, too
	plan     trace.ProbePlan

	way    *probeWay
	steps  []trace.ProbeStep // of the way, as far as it is drawn
	began  time.Time
	result trace.ProbeResult
}

// probeWay collects the steps of a probe under way.
type probeWay struct {
	mu    sync.Mutex
	steps []trace.ProbeStep
}

func (w *probeWay) add(s trace.ProbeStep) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.steps = append(w.steps, s)
}

func (w *probeWay) all() []trace.ProbeStep {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.steps)
}

// probeStepMsg draws the way of a probe again.
type probeStepMsg struct{ request shell.Request }

func NewProbeScreen(e *shell.Env, worker model.QueueRef) shell.Screen {
	return ProbeScreen{Dialog: shell.NewDialog(e, shell.DialogAsking), worker: worker}
}

func (s ProbeScreen) Title() string { return "probe " + model.Printable(s.worker.Name) }

func (s ProbeScreen) Typing() bool { return s.TypingIn(s.offer()) }

// Busy reports whether ctrl-c stops the probe instead of the program.
func (s ProbeScreen) Busy() bool { return s.IsBusy() }

func (s ProbeScreen) Keys() []key.Binding { return s.KeysFor(s.offer()) }

// offer is what is asked.
func (s *ProbeScreen) offer() *shell.Offer {
	o := &shell.Offer{Does: "send the probe", Again: "once more", Not: "not sent"}
	switch {
	case s.Env.ReadOnly:
		o.Refusal = shell.ReadOnlyWords
	case s.topology == nil:
		o.Refusal = "the broker has not been read yet"
	case s.flow == nil:
		o.Refusal = "there is no flow with the worker " + model.Printable(s.worker.String()) + " any more"
	default:
		o.Refusal = s.plan.Refusal.Words()
	}
	if s.flow == nil {
		return o
	}
	if n := len(s.flow.Buffers); n > 1 || n == 1 && s.number() == 0 {
		if o.Turns = "other buffer"; s.number() > 0 {
			o.Turns += fmt.Sprintf(", %d of %d", s.number(), n)
		}
	}
	if !s.Env.ReadOnly && s.plan.NeedsConsumers() {
		o.Insists = "send it anyway"
		o.Override = "sends it anyway: " + model.Plural(s.plan.Consumed, "consumer") + " may get it"
	}
	if s.Env.Production && o.Refusal == "" {
		o.Carefully(s.Env, 1, "send 1 probe into "+model.Printable(s.plan.Buffer.Name))
	}
	return o
}

func (s ProbeScreen) Update(msg tea.Msg) (shell.Screen, tea.Cmd) {
	switch msg := msg.(type) {
	case shell.TopologyMsg:
		s.topology = msg.Topology
		s.flow = nil
		for i := range msg.Flows {
			if msg.Flows[i].Worker.Queue == s.worker {
				s.flow = &msg.Flows[i]
			}
		}
		if s.State == shell.DialogAsking {
			s.polled()
		}
	case probeStepMsg:
		if msg.request == s.Request && s.Open() && s.State != shell.DialogEnded {
			s.steps = s.way.all()
			return s, s.next()
		}
	case shell.EndedMsg[trace.ProbeResult]:
		if s.Ended(msg.Request, msg.Err) {
			s.result, s.steps = msg.Result, msg.Result.Steps
		}
	case tea.KeyMsg:
		return s.handleKey(msg)
	}
	return s, nil
}

// polled makes the plan again. Who agreed that consumers get the probe agreed to those that were shown.
func (s *ProbeScreen) polled() {
	was := s.plan
	s.replan()
	if was.ID == "" || sameProbe(&was, &s.plan) {
		return
	}
	s.to, s.ChangedAt = false, s.Env.Shown
	s.replan()
}

// sameProbe reports whether two probes go the same way to the same consumers.
func sameProbe(a, b *trace.ProbePlan) bool {
	return a.Buffer == b.Buffer && a.Entrance == b.Entrance && a.Consumed == b.Consumed &&
		slices.EqualFunc(a.Reaches, b.Reaches, func(a, b plan.Recipient) bool {
			return a.Queue == b.Queue && a.Consumers == b.Consumers
		})
}

func (s *ProbeScreen) replan() {
	if s.flow == nil {
		return
	}
	if s.buffer == (model.QueueRef{}) && len(s.flow.Buffers) > 0 {
		s.buffer = s.flow.Buffers[0].Queue
	}
	want := trace.ProbeWant{ID: trace.NewProbeID(), Flow: s.flow, ToConsumers: s.to, Buffer: s.buffer}
	s.plan = trace.PlanProbe(s.topology, want)
}

// number is the place of the buffer among those of the flow, from 1 on; 0: it is gone.
func (s *ProbeScreen) number() int {
	return 1 + slices.IndexFunc(s.flow.Buffers, func(b *model.Buffer) bool { return b.Queue == s.buffer })
}

func (s ProbeScreen) handleKey(msg tea.KeyMsg) (shell.Screen, tea.Cmd) {
	switch s.Press(msg, s.offer()) {
	case shell.PressedBack:
		return s, shell.Pop
	case shell.PressedAgree:
		cmd := s.run()
		return s, cmd
	case shell.PressedInsist:
		s.to = true
	case shell.PressedTurn:
		s.buffer = s.flow.Buffers[s.number()%len(s.flow.Buffers)].Queue
		s.to, s.ChangedAt = false, time.Time{} // agreed to for the buffer before
	case shell.PressedAgain:
		s.Dialog, s.to = shell.NewDialog(s.Env, shell.DialogAsking), false
	default:
		return s, nil
	}
	s.replan()
	return s, nil
}

// run sends the probe that is shown.
func (s *ProbeScreen) run() tea.Cmd {
	s.way, s.steps, s.began, s.result = &probeWay{}, nil, s.Env.Now(), trace.ProbeResult{}
	p, way, prober := s.plan, s.way, ports.Prober(s.Env.Broker)
	probe := shell.Running(&s.Dialog, func(ctx context.Context) (trace.ProbeResult, error) {
		return prober.Probe(ctx, p, way.add)
	})
	return tea.Batch(probe, s.next())
}

func (s *ProbeScreen) next() tea.Cmd {
	id := s.Request
	return tea.Tick(tapStep, func(time.Time) tea.Msg { return probeStepMsg{id} })
}
