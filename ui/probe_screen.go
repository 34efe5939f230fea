package ui

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/charmbracelet/bubbles/key"
	tea "github.com/charmbracelet/bubbletea"

	"dlxtop/model"
)

// probeScreen says whom a probe would reach, sends it, and draws its way with the times that were measured.
type probeScreen struct {
	env      *env
	worker   model.QueueRef
	topology *model.Topology
	flow     *model.Flow // nil: it is gone
	buffer   int         // of the flow's buffers: tab goes through them
	to       bool        // to the consumers, too
	plan     model.ProbePlan
	name     textField // what is typed, when the name is asked for
	state    dialogState

	request request
	stop    context.CancelFunc
	way     *probeWay
	began   time.Time
	result  model.ProbeResult
	err     error // nothing was sent
}

// probeWay collects the steps of a probe under way.
type probeWay struct {
	mu    sync.Mutex
	steps []model.ProbeStep
}

func (w *probeWay) add(s model.ProbeStep) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.steps = append(w.steps, s)
}

func (w *probeWay) all() []model.ProbeStep {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.steps)
}

type (
	// probeStepMsg draws the way of a probe anew.
	probeStepMsg struct{ request request }
	// probedMsg brings the end of a probe.
	probedMsg struct {
		request request
		result  model.ProbeResult
		err     error
	}
)

func newProbeScreen(e *env, worker model.QueueRef) screen {
	return probeScreen{env: e, worker: worker, state: dialogAsking, name: newTextField("")}
}

// probeNamed opens the probe of a flow: of the one that is named, else of the one that is shown.
func (a app) probeNamed(name string) (tea.Model, tea.Cmd) {
	if name == "" {
		if flow, ok := a.top().(flowScreen); ok {
			return a.push(newProbeScreen(a.env, flow.worker))
		}
		a.notice = noticeMsg{text: "open a flow first, or name one: probe FLOW", bad: true}
		return a, nil
	}
	for i := range a.latest.flows {
		if worker := a.latest.flows[i].Worker.Queue; worker.Name == name || worker.String() == name {
			return a.push(newProbeScreen(a.env, worker))
		}
	}
	a.notice = noticeMsg{text: "there is no flow " + model.Printable(name), bad: true}
	return a, nil
}

func (s probeScreen) Init() tea.Cmd { return nil }

func (s probeScreen) Title() string { return "probe " + model.Printable(s.worker.Name) }

// Typing keeps every key here: none may lead away while a name is typed or a probe is under way.
func (s probeScreen) Typing() bool { return s.state == dialogAsking && s.typed() || s.under() }

func (s *probeScreen) under() bool { return s.state == dialogRunning || s.state == dialogStopping }

// Busy reports whether ctrl-c stops the probe instead of the program.
func (s probeScreen) Busy() bool { return s.state == dialogRunning }

// Close stops the probe: the root calls it when the screen goes.
func (s probeScreen) Close() {
	if s.stop != nil {
		s.stop()
	}
}

func (s *probeScreen) typed() bool {
	return s.env.production && s.forbidden() == ""
}

func (s *probeScreen) ready() bool {
	return s.state == dialogAsking && s.flow != nil && s.forbidden() == "" && (!s.typed() || s.name.text() == s.plan.Buffer.Name)
}

func (s *probeScreen) forbidden() string {
	switch {
	case s.env.readOnly:
		return readOnlyWords
	case s.topology == nil:
		return "the broker has not been read yet"
	case s.flow == nil:
		return "there is no flow with the worker " + model.Printable(s.worker.String()) + " any more"
	}
	return s.plan.Refusal
}

func (s *probeScreen) canInsist() bool {
	return !s.env.readOnly && s.flow != nil && s.plan.NeedsConsumers()
}

func (s *probeScreen) canTurn() bool { return s.flow != nil && len(s.flow.Buffers) > 1 }

func (s probeScreen) Keys() []key.Binding {
	k := s.env.keys
	var keys []key.Binding
	switch s.state {
	case dialogAsking:
		if s.ready() {
			keys = append(keys, describe(k.Confirm, "send the probe"))
		}
		if s.canInsist() {
			keys = append(keys, describe(k.Insist, "to its consumers too"))
		}
		if s.canTurn() {
			keys = append(keys, describe(k.Target, "other buffer"))
		}
		return append(keys, k.Cancel)
	case dialogRunning:
		return []key.Binding{describe(k.Cancel, "stop"), describe(k.ForceQuit, "stop")}
	case dialogStopping:
		return nil
	}
	return []key.Binding{describe(k.Confirm, "once more"), k.Cancel}
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
		if msg.request == s.request && s.under() {
			return s, s.next()
		}
	case probedMsg:
		if msg.request == s.request {
			s.stop()
			s.result, s.err, s.state, s.stop = msg.result, msg.err, dialogEnded, nil
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
	want := model.ProbeWant{ID: model.NewProbeID(), Flow: s.flow, ToConsumers: s.to}
	if s.buffer < len(s.flow.Buffers) {
		want.Buffer = s.flow.Buffers[s.buffer].Queue
	}
	s.plan = s.topology.PlanProbe(want)
}

func (s probeScreen) handleKey(msg tea.KeyMsg) (screen, tea.Cmd) {
	k := s.env.keys
	switch s.state {
	case dialogAsking:
		switch {
		case is(msg, k.Cancel):
			return s, pop
		case is(msg, k.Confirm):
			if s.ready() {
				return s.run()
			}
		case is(msg, k.Insist) && s.canInsist():
			s.to = true
			s.replan()
		case is(msg, k.Target) && s.canTurn():
			s.buffer = (s.buffer + 1) % len(s.flow.Buffers)
			s.to = false // agreed to for the buffer before
			s.replan()
		case s.typed():
			s.name.update(msg)
		}
	case dialogRunning:
		if is(msg, k.Cancel) || is(msg, k.ForceQuit) {
			s.state = dialogStopping
			s.stop()
		}
	case dialogEnded:
		switch {
		case is(msg, k.Cancel):
			return s, pop
		case is(msg, k.Confirm):
			s.state, s.to, s.name = dialogAsking, false, newTextField("")
			s.replan()
		}
	}
	return s, nil
}

// run sends the probe that is shown. From here on no key sends it again.
func (s probeScreen) run() (screen, tea.Cmd) {
	s.state, s.request, s.way, s.began = dialogRunning, s.env.newRequest(), &probeWay{}, s.env.now()
	s.result, s.err = model.ProbeResult{}, nil
	ctx, stop := context.WithCancel(context.Background())
	s.stop = stop
	id, plan, way, broker := s.request, s.plan, s.way, s.env.broker
	probe := s.env.command(0, func(program context.Context) tea.Msg {
		defer context.AfterFunc(program, stop)()
		result, err := broker.Probe(ctx, plan, way.add)
		return probedMsg{id, result, err}
	})
	return s, tea.Batch(probe, s.next())
}

func (s *probeScreen) next() tea.Cmd {
	id := s.request
	return tea.Tick(tapStep, func(time.Time) tea.Msg { return probeStepMsg{id} })
}
