package trace

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/charmbracelet/bubbles/key"
	tea "github.com/charmbracelet/bubbletea"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/plan"
	"github.com/dlxtop/dlxtop/model/ports"
	"github.com/dlxtop/dlxtop/model/trace"
	"github.com/dlxtop/dlxtop/ui/act"
	"github.com/dlxtop/dlxtop/ui/picture"
	"github.com/dlxtop/dlxtop/ui/shell"
	"github.com/dlxtop/dlxtop/ui/term"
)

// ProbeScreen shows which queues a probe would reach, sends it, and draws its way with the measured times.
type ProbeScreen struct {
	shell.Dialog
	worker   model.QueueRef
	topology *model.Topology
	flow     *model.Flow    // nil: it is gone
	buffer   model.QueueRef // tab cycles through the flow's buffers; zero: there was none yet
	to       bool           // to the consumers, too
	plan     trace.ProbePlan

	way    *probeWay
	steps  []trace.ProbeStep // of the way, as far as it is drawn
	began  time.Time
	result trace.ProbeResult
}

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

func NewProbeScreen(e *shell.Env, worker model.QueueRef) shell.Screen {
	return ProbeScreen{Dialog: shell.NewDialog(e, shell.DialogAsking), worker: worker}
}

func (s ProbeScreen) Title() string { return "probe " + model.Printable(s.worker.Name) }
func (s ProbeScreen) Typing() bool  { return s.TypingIn(s.offer()) }

// Busy reports whether ctrl-c stops the probe instead of the program.
func (s ProbeScreen) Busy() bool          { return s.IsBusy() }
func (s ProbeScreen) Keys() []key.Binding { return s.KeysFor(s.offer()) }

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
	if !s.Env.ReadOnly && s.plan.NeedsConsumers {
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
	case stepMsg:
		if msg.request == s.Request && s.State != shell.DialogEnded {
			s.steps = s.way.all()
			return s, step(&s.Dialog)
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

// polled makes the plan again. Agreeing that consumers get the probe only applied to the displayed ones.
func (s *ProbeScreen) polled() {
	was := s.plan
	s.replan()
	if was.ID == "" || sameProbe(&was, &s.plan) {
		return
	}
	s.to, s.ChangedAt = false, s.Env.Shown
	s.replan()
}

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

// number is the place of the buffer among those of the flow, from 1; 0: it is gone.
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
		s.to, s.ChangedAt = false, time.Time{} // agreed to for the previous buffer
	case shell.PressedAgain:
		s.Dialog, s.to = shell.NewDialog(s.Env, shell.DialogAsking), false
	default:
		return s, nil
	}
	s.replan()
	return s, nil
}

func (s *ProbeScreen) run() tea.Cmd {
	s.way, s.steps, s.began, s.result = &probeWay{}, nil, s.Env.Now(), trace.ProbeResult{}
	p, way, prober := s.plan, s.way, ports.Prober(s.Env.Broker)
	probe := shell.Running(&s.Dialog, func(ctx context.Context) (trace.ProbeResult, error) {
		return prober.Probe(ctx, p, way.add)
	})
	return tea.Batch(probe, step(&s.Dialog))
}

func (s ProbeScreen) View(width, height int) string {
	l := shell.NewDialogLines(s.Env.Styles, width)
	title := "Probe " + s.plan.ID
	if s.State == shell.DialogAsking {
		title = "Send a probe through " + model.Printable(s.worker.Name)
		s.ask(l)
	} else {
		s.draw(l)
	}
	return l.Page(title, width, height)
}

// ask shows where the probe goes and which queues it reaches.
func (s *ProbeScreen) ask(l *shell.DialogLines) {
	styles, p := l.Styles, &s.plan
	s.SayChanges(l)
	if s.flow != nil && p.Buffer.Name != "" {
		l.Say("enters", fmt.Sprintf("%s, through %s, key %s", model.Printable(p.Buffer.Name),
			model.Printable(model.ExchangeName(p.Entrance.Exchange)), act.PrintableKey(p.Entrance.RoutingKey)), styles.Strong)
		l.Say("waits", fmt.Sprintf("%s; dlxtop waits %s for it", model.ShortDuration(p.TTL.Or(0)),
			model.ShortDuration(p.Timeout)), styles.Text)
		l.Say("expires", "into "+model.Printable(model.ExchangeName(p.DLX)), styles.Text)
		label := "reaches"
		for _, r := range p.Reaches {
			words, look := model.Printable(r.Queue.String())+", "+picture.ConsumerCount(r.Consumers), styles.Text
			switch n, known := r.Consumers.Get(); {
			case known && n == 0:
				words += ": it is taken out again"
			case p.ToConsumers:
				words, look = words+": they will get it", styles.Warning
			default:
				look = styles.Warning
			}
			l.Stress(label, words, look)
			label = ""
		}
		if len(p.Reaches) == 0 {
			l.Stress(label, "no queue", styles.Warning)
		}
		if len(p.Tap.Exchanges) > 0 {
			l.Say("followed", "by a tap on "+model.Printable(strings.Join(p.Tap.Exchanges, " and "))+
				": an exclusive queue for the time of the probe", styles.Muted)
		}
		l.Say("adds", "one small message, with the header "+trace.ProbeHeader, styles.Muted)
	}
	for _, w := range p.Warnings {
		l.Stress("", term.MarkWarning+" "+model.Printable(w), styles.Warning)
	}
	s.SayAsked(l, s.offer(), s.Keys())
}

// draw shows the way of the probe, with the times at which it was seen, and what is still awaited.
func (s *ProbeScreen) draw(l *shell.DialogLines) {
	styles := l.Styles
	at := func(stage trace.ProbeStage, where string) (trace.ProbeStep, bool) {
		for _, step := range s.steps {
			if step.Stage == stage && (where == "" || step.Where == where) {
				return step, true
			}
		}
		return trace.ProbeStep{}, false
	}
	station := func(stage trace.ProbeStage, where, seenAt, more string) {
		if len(l.Lines) > 0 {
			l.Lines = append(l.Lines, "  "+styles.Border.Render("│"))
		}
		mark, when := styles.Muted.Render("□"), styles.Muted.Render("-")
		if step, ok := at(stage, seenAt); ok {
			mark, when = styles.Good.Render("■"), styles.Strong.Render(model.ShortDuration(step.After.Round(time.Millisecond)))
			if step.Note != "" {
				more = step.Note
			}
		}
		line := "  " + mark + " " + term.Fit(string(stage), 9, false, false) +
			term.Fit(model.Printable(where), min(30, l.Width/3), false, true) + "  " + term.Pad(when, 10)
		l.Lines = append(l.Lines, line+styles.Muted.Render(more))
	}
	should := "TTL " + model.ShortDuration(s.plan.TTL.Or(0))
	entered, _ := at(trace.ProbeEntered, "")
	waited := ""
	if d, ok := s.result.Waited.Get(); ok {
		waited = "after " + model.ShortDuration(d.Round(time.Millisecond)) + ", " + should
	} else if step, ok := at(trace.ProbeExpired, ""); ok {
		waited = "after " + model.ShortDuration((step.After - entered.After).Round(time.Millisecond)) + ", " + should
	}
	station(trace.ProbeEntered, s.plan.Buffer.Name, s.plan.Buffer.Name, "through "+
		model.Printable(model.ExchangeName(s.plan.Entrance.Exchange)))
	station(trace.ProbeExpired, model.ExchangeName(s.plan.DLX), "", waited)
	for _, r := range s.plan.Reaches {
		more := ""
		if _, ok := at(trace.ProbeRemoved, r.Queue.Name); ok {
			more = "and taken out again"
		}
		station(trace.ProbeReached, r.Queue.Name, r.Queue.Name, more)
	}
	defer l.Question(len(l.Lines))
	l.Blank()
	switch {
	case s.State == shell.DialogStopping:
		l.Say("", "stopping: looking for it, to take it out …", styles.Warning)
	case s.State == shell.DialogRunning:
		since := s.Env.Shown.Sub(s.began)
		words := fmt.Sprintf("%s since it was sent", model.ShortDuration(since.Truncate(100*time.Millisecond)))
		if left := s.plan.TTL.Or(0) - since; left > 0 {
			words += fmt.Sprintf(", due in %s", model.ShortDuration(left.Truncate(100*time.Millisecond)))
		}
		l.Say("", words, styles.Waiting)
		l.Blank()
		l.Hints(shell.Hint(styles, "esc", "stop"))
		return
	case s.Err != nil:
		l.Stress("", term.MarkError+" nothing was sent: "+model.Printable(s.Err.Error()), styles.Danger)
	case s.result.Arrived:
		l.Say("", model.Printable(s.result.Verdict)+": "+s.result.String(), styles.Good)
	default:
		l.Stress("", term.MarkError+" it did not arrive: "+model.Printable(s.result.Verdict), styles.Danger)
	}
	if s.result.Left != "" {
		l.Stress("", term.MarkWarning+" it may still be in "+model.Printable(s.result.Left)+", with the message id "+
			s.plan.ID, styles.Warning)
	}
	l.Blank()
	if s.State == shell.DialogEnded {
		l.Hints(shell.Hint(styles, "enter", "once more") + shell.Hint(styles, "esc", "back"))
	}
}
