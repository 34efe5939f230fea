package ui

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
)

// probeScreen says whom a probe would reach, sends it, and draws its way with the times that were measured.
type probeScreen struct {
	dialog
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
type probeStepMsg struct{ request request }

func newProbeScreen(e *env, worker model.QueueRef) screen {
	return probeScreen{dialog: newDialog(e, dialogAsking), worker: worker}
}

func (s probeScreen) Init() tea.Cmd { return nil }

func (s probeScreen) Title() string { return "probe " + model.Printable(s.worker.Name) }

func (s probeScreen) Typing() bool { return s.typing(s.offer()) }

// Busy reports whether ctrl-c stops the probe instead of the program.
func (s probeScreen) Busy() bool { return s.busy() }

func (s probeScreen) Keys() []key.Binding { return s.keys(s.offer()) }

// offer is what is asked.
func (s *probeScreen) offer() *offer {
	o := &offer{does: "send the probe", again: "once more", not: "not sent"}
	switch {
	case s.env.readOnly:
		o.refusal = readOnlyWords
	case s.topology == nil:
		o.refusal = "the broker has not been read yet"
	case s.flow == nil:
		o.refusal = "there is no flow with the worker " + model.Printable(s.worker.String()) + " any more"
	default:
		o.refusal = s.plan.Refusal.Words()
	}
	if s.flow == nil {
		return o
	}
	if n := len(s.flow.Buffers); n > 1 || n == 1 && s.number() == 0 {
		if o.turns = "other buffer"; s.number() > 0 {
			o.turns += fmt.Sprintf(", %d of %d", s.number(), n)
		}
	}
	if !s.env.readOnly && s.plan.NeedsConsumers() {
		o.insists = "send it anyway"
		o.override = "sends it anyway: " + model.Plural(s.plan.Consumed, "consumer") + " may get it"
	}
	if s.env.production && o.refusal == "" {
		o.carefully(s.env, 1, "send 1 probe into "+model.Printable(s.plan.Buffer.Name))
	}
	return o
}

func (s probeScreen) Update(msg tea.Msg) (screen, tea.Cmd) {
	switch msg := msg.(type) {
	case topologyMsg:
		s.topology = msg.topology
		s.flow = nil
		for i := range msg.flows {
			if msg.flows[i].Worker.Queue == s.worker {
				s.flow = &msg.flows[i]
			}
		}
		if s.state == dialogAsking {
			s.polled()
		}
	case probeStepMsg:
		if msg.request == s.request && s.open() && s.state != dialogEnded {
			s.steps = s.way.all()
			return s, s.next()
		}
	case endedMsg[trace.ProbeResult]:
		if s.ended(msg.request, msg.err) {
			s.result, s.steps = msg.result, msg.result.Steps
		}
	case tea.KeyMsg:
		return s.handleKey(msg)
	}
	return s, nil
}

// polled makes the plan again. Who agreed that consumers get the probe agreed to those that were shown.
func (s *probeScreen) polled() {
	was := s.plan
	s.replan()
	if was.ID == "" || sameProbe(&was, &s.plan) {
		return
	}
	s.to, s.changedAt = false, s.env.shown
	s.replan()
}

// sameProbe reports whether two probes go the same way to the same consumers.
func sameProbe(a, b *trace.ProbePlan) bool {
	return a.Buffer == b.Buffer && a.Entrance == b.Entrance && a.Consumed == b.Consumed &&
		slices.EqualFunc(a.Reaches, b.Reaches, func(a, b plan.Recipient) bool {
			return a.Queue == b.Queue && a.Consumers == b.Consumers
		})
}

func (s *probeScreen) replan() {
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
func (s *probeScreen) number() int {
	return 1 + slices.IndexFunc(s.flow.Buffers, func(b *model.Buffer) bool { return b.Queue == s.buffer })
}

func (s probeScreen) handleKey(msg tea.KeyMsg) (screen, tea.Cmd) {
	switch s.press(msg, s.offer()) {
	case pressedBack:
		return s, pop
	case pressedAgree:
		cmd := s.run()
		return s, cmd
	case pressedInsist:
		s.to = true
	case pressedTurn:
		s.buffer = s.flow.Buffers[s.number()%len(s.flow.Buffers)].Queue
		s.to, s.changedAt = false, time.Time{} // agreed to for the buffer before
	case pressedAgain:
		s.dialog, s.to = newDialog(s.env, dialogAsking), false
	default:
		return s, nil
	}
	s.replan()
	return s, nil
}

// run sends the probe that is shown.
func (s *probeScreen) run() tea.Cmd {
	s.way, s.steps, s.began, s.result = &probeWay{}, nil, s.env.now(), trace.ProbeResult{}
	p, way, prober := s.plan, s.way, ports.Prober(s.env.broker)
	probe := running(&s.dialog, func(ctx context.Context) (trace.ProbeResult, error) {
		return prober.Probe(ctx, p, way.add)
	})
	return tea.Batch(probe, s.next())
}

func (s *probeScreen) next() tea.Cmd {
	id := s.request
	return tea.Tick(tapStep, func(time.Time) tea.Msg { return probeStepMsg{id} })
}
