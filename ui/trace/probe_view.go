package trace

import (
	"fmt"
	"strings"
	"time"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/trace"
	"github.com/dlxtop/dlxtop/ui/act"
	"github.com/dlxtop/dlxtop/ui/picture"
	"github.com/dlxtop/dlxtop/ui/shell"
	"github.com/dlxtop/dlxtop/ui/term"
)

// View draws the probe as a box on a screen of its own.
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

// ask shows where the probe goes and whom it reaches.
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
			l.Say("followed", "by a tap on "+printables(p.Tap.Exchanges)+
				": an exclusive queue for the time of the probe", styles.Muted)
		}
		l.Say("adds", "one small message, with the header "+trace.ProbeHeader, styles.Muted)
	}
	for _, w := range p.Warnings {
		l.Stress("", term.MarkWarning+" "+model.Printable(w.Words()), styles.Warning)
	}
	s.SayAsked(l, s.offer(), s.Keys())
}

func printables(names []string) string {
	out := make([]string, len(names))
	for i, n := range names {
		out[i] = model.Printable(n)
	}
	return strings.Join(out, " and ")
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
	first := true
	station := func(stage trace.ProbeStage, where, key string, more string) {
		if !first {
			l.Lines = append(l.Lines, "  "+styles.Border.Render("│"))
		}
		first = false
		mark, when := styles.Muted.Render("□"), styles.Muted.Render("-")
		if step, ok := at(stage, key); ok {
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
