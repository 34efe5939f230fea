package ui

import (
	"fmt"
	"strings"
	"time"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/trace"
	"github.com/dlxtop/dlxtop/ui/picture"
	"github.com/dlxtop/dlxtop/ui/term"
)

// View draws the probe as a box on a screen of its own.
func (s probeScreen) View(width, height int) string {
	l := newDialogLines(s.env.styles, width)
	title := "Probe " + s.plan.ID
	if s.state == dialogAsking {
		title = "Send a probe through " + model.Printable(s.worker.Name)
		s.ask(l)
	} else {
		s.draw(l)
	}
	return l.page(title, width, height)
}

// ask shows where the probe goes and whom it reaches.
func (s *probeScreen) ask(l *dialogLines) {
	styles, p := l.styles, &s.plan
	s.sayChanges(l)
	if s.flow != nil && p.Buffer.Name != "" {
		l.say("enters", fmt.Sprintf("%s, through %s, key %s", model.Printable(p.Buffer.Name),
			model.Printable(model.ExchangeName(p.Entrance.Exchange)), printableKey(p.Entrance.RoutingKey)), styles.Strong)
		l.say("waits", fmt.Sprintf("%s; dlxtop waits %s for it", model.ShortDuration(p.TTL.Or(0)),
			model.ShortDuration(p.Timeout)), styles.Text)
		l.say("expires", "into "+model.Printable(model.ExchangeName(p.DLX)), styles.Text)
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
			l.stress(label, words, look)
			label = ""
		}
		if len(p.Reaches) == 0 {
			l.stress(label, "no queue", styles.Warning)
		}
		if len(p.Tap.Exchanges) > 0 {
			l.say("followed", "by a tap on "+printables(p.Tap.Exchanges)+
				": an exclusive queue for the time of the probe", styles.Muted)
		}
		l.say("adds", "one small message, with the header "+trace.ProbeHeader, styles.Muted)
	}
	for _, w := range p.Warnings {
		l.stress("", term.MarkWarning+" "+model.Printable(w.Words()), styles.Warning)
	}
	s.sayAsked(l, s.offer(), s.Keys())
}

func printables(names []string) string {
	out := make([]string, len(names))
	for i, n := range names {
		out[i] = model.Printable(n)
	}
	return strings.Join(out, " and ")
}

// draw shows the way of the probe, with the times at which it was seen, and what is still awaited.
func (s *probeScreen) draw(l *dialogLines) {
	styles := l.styles
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
			l.lines = append(l.lines, "  "+styles.Border.Render("│"))
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
			term.Fit(model.Printable(where), min(30, l.width/3), false, true) + "  " + term.Pad(when, 10)
		l.lines = append(l.lines, line+styles.Muted.Render(more))
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
	defer l.question(len(l.lines))
	l.blank()
	switch {
	case s.state == dialogStopping:
		l.say("", "stopping: looking for it, to take it out …", styles.Warning)
	case s.state == dialogRunning:
		since := s.env.shown.Sub(s.began)
		words := fmt.Sprintf("%s since it was sent", model.ShortDuration(since.Truncate(100*time.Millisecond)))
		if left := s.plan.TTL.Or(0) - since; left > 0 {
			words += fmt.Sprintf(", due in %s", model.ShortDuration(left.Truncate(100*time.Millisecond)))
		}
		l.say("", words, styles.Waiting)
		l.blank()
		l.hints(hint(styles, "esc", "stop"))
		return
	case s.err != nil:
		l.stress("", term.MarkError+" nothing was sent: "+model.Printable(s.err.Error()), styles.Danger)
	case s.result.Arrived:
		l.say("", model.Printable(s.result.Verdict)+": "+s.result.String(), styles.Good)
	default:
		l.stress("", term.MarkError+" it did not arrive: "+model.Printable(s.result.Verdict), styles.Danger)
	}
	if s.result.Left != "" {
		l.stress("", term.MarkWarning+" it may still be in "+model.Printable(s.result.Left)+", with the message id "+
			s.plan.ID, styles.Warning)
	}
	l.blank()
	if s.state == dialogEnded {
		l.hints(hint(styles, "enter", "once more") + hint(styles, "esc", "back"))
	}
}
