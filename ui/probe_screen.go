package ui

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/charmbracelet/bubbles/key"
	tea "github.com/charmbracelet/bubbletea"

	"dlxtop/model"
	"dlxtop/model/ports"
	"dlxtop/model/trace"
)

// probeScreen says whom a probe would reach, sends it, and draws its way with the times that were measured.
type probeScreen struct {
	dialog
	worker   model.QueueRef
	topology *model.Topology
	flow     *model.Flow // nil: it is gone
	buffer   int         // of the flow's buffers: tab goes through them
	to       bool        // to the consumers, too
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

// probeHere opens the probe of the flow that is shown.
func (a app) probeHere() (tea.Model, tea.Cmd) {
	if flow, ok := a.top().(flowScreen); ok {
		return a.push(newProbeScreen(a.env, flow.worker))
	}
	a.notice = noticeMsg{text: "open a flow first, or name one: probe FLOW", bad: true}
	return a, nil
}

func (s probeScreen) Init() tea.Cmd { return nil }

func (s probeScreen) Title() string { return "probe " + model.Printable(s.worker.Name) }

func (s probeScreen) Typing() bool { return s.typing(s.offer()) }

// Busy reports whether ctrl-c stops the probe instead of the program.
func (s probeScreen) Busy() bool { return s.busy() }

// Close stops the probe: the root calls it when the screen goes.
func (s probeScreen) Close() {
	if s.stop != nil {
		s.stop()
	}
}

func (s probeScreen) Keys() []key.Binding { return s.keys(s.offer()) }

// offer is what is asked.
func (s *probeScreen) offer() *offer {
	o := &offer{does: "send the probe", again: "once more", name: s.plan.Buffer.Name, not: "not sent"}
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
	if len(s.flow.Buffers) > 1 {
		o.turns = "other buffer"
	}
	if !s.env.readOnly && s.plan.NeedsConsumers() {
		o.insists = "send it anyway"
		o.override = "sends it anyway: " + model.Plural(s.plan.Consumed, "consumer") + " may get it"
	}
	if s.env.production && o.refusal == "" {
		o.prompt = "To send it (production), type the buffer's name:"
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
			s.replan()
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

func (s *probeScreen) replan() {
	if s.flow == nil {
		return
	}
	want := trace.ProbeWant{ID: trace.NewProbeID(), Flow: s.flow, ToConsumers: s.to}
	if s.buffer < len(s.flow.Buffers) {
		want.Buffer = s.flow.Buffers[s.buffer].Queue
	}
	s.plan = trace.PlanProbe(s.topology, want)
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
		s.buffer = (s.buffer + 1) % len(s.flow.Buffers)
		s.to = false // agreed to for the buffer before
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
