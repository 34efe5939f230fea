package ui

import (
	"fmt"
	"strings"
	"time"

	"dlxtop/model"
)

// View draws the probe as a box on a screen of its own.
func (s probeScreen) View(width, height int) string {
	outer := min(dialogWidth, width-4)
	l := &dialogLines{styles: s.env.styles, width: outer - 4}
	title := "Send a probe through " + model.Printable(s.worker.Name)
	if s.state == dialogAsking {
		s.ask(l)
	} else {
		title = "Probe " + s.plan.ID
		s.draw(l)
	}
	box := framed(s.env.styles, title, l.lines, outer)
	lines := []string{""}
	for line := range strings.SplitSeq(box, "\n") {
		lines = append(lines, "  "+line)
	}
	return block(lines, width, height)
}

// ask shows where the probe goes and whom it reaches.
func (s *probeScreen) ask(l *dialogLines) {
	styles, p := l.styles, &s.plan
	if s.flow != nil && p.Buffer.Name != "" {
		l.say("enters", fmt.Sprintf("%s, through %s, key %s", model.Printable(p.Buffer.Name), model.Printable(model.ExchangeName(p.Entrance.Exchange)), printableKey(p.Entrance.RoutingKey)), styles.Strong)
		l.say("waits", model.ShortDuration(p.TTL.Or(0))+", and is waited for "+model.ShortDuration(p.Timeout), styles.Text)
		l.say("expires", "into "+model.Printable(model.ExchangeName(p.DLX)), styles.Text)
		label := "reaches"
		for _, r := range p.Reaches {
			words, look := model.Printable(r.Queue.String())+", "+consumerWords(r.Consumers), styles.Text
			switch n, known := r.Consumers.Get(); {
			case known && n == 0:
				words += ": it is taken out again"
			case p.ToConsumers:
				words, look = words+": they will get it", styles.Warning
			default:
				look = styles.Warning
			}
			l.say(label, words, look)
			label = ""
		}
		if len(p.Reaches) == 0 {
			l.say(label, "no queue", styles.Warning)
		}
		if len(p.Tap.Exchanges) > 0 {
			l.say("followed", "by a tap on "+printables(p.Tap.Exchanges)+": an exclusive queue for the time of the probe", styles.Muted)
		}
		l.say("adds", "one small message, with the header "+model.ProbeHeader, styles.Muted)
	}
	for _, w := range p.Warnings {
		l.say("", markWarning+" "+model.Printable(w), styles.Warning)
	}
	l.blank()
	keys := ""
	if refusal := s.forbidden(); refusal != "" {
		l.say("", markError+" not sent: "+model.Printable(refusal), styles.Danger)
		if s.canInsist() {
			l.say("", s.env.keys.Insist.Help().Key+" sends it to them all the same: "+model.Plural(p.Consumed, "consumer")+" may get it", styles.Text)
		}
		l.blank()
	} else if s.typed() {
		l.say("", "To send it (production), type the buffer's name:", styles.Text)
		l.lines = append(l.lines, strings.Repeat(" ", labelWidth)+styles.Accent.Render("> ")+s.name.view(styles, l.width-labelWidth-2))
		l.blank()
	}
	if s.ready() {
		keys = hint(styles, "enter", "send the probe")
	}
	if s.canTurn() {
		keys += hint(styles, "tab", fmt.Sprintf("other buffer, %d of %d", s.buffer+1, len(s.flow.Buffers)))
	}
	l.hints(keys + hint(styles, "esc", "back"))
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
	steps := s.way.all()
	if s.state == dialogEnded {
		steps = s.result.Steps
	}
	at := func(stage model.ProbeStage, where string) (model.ProbeStep, bool) {
		for _, step := range steps {
			if step.Stage == stage && (where == "" || step.Where == where) {
				return step, true
			}
		}
		return model.ProbeStep{}, false
	}
	first := true
	station := func(stage model.ProbeStage, where, key string, more string) {
		if !first {
			l.lines = append(l.lines, "  "+styles.Border.Render("│"))
		}
		first = false
		mark, when := styles.Muted.Render("○"), styles.Muted.Render("-")
		if step, ok := at(stage, key); ok {
			mark, when = styles.Good.Render("●"), styles.Strong.Render(model.ShortDuration(step.After.Round(time.Millisecond)))
			if step.Note != "" {
				more = step.Note
			}
		}
		line := "  " + mark + " " + fit(string(stage), 9, false, false) + fit(model.Printable(where), min(30, l.width/3), false, true) + "  " + pad(when, 10)
		l.lines = append(l.lines, line+styles.Muted.Render(more))
	}
	should := "against " + model.ShortDuration(s.plan.TTL.Or(0))
	entered, _ := at(model.ProbeEntered, "")
	waited := ""
	if d, ok := s.result.Waited.Get(); ok {
		waited = "after " + model.ShortDuration(d.Round(time.Millisecond)) + " " + should
	} else if step, ok := at(model.ProbeExpired, ""); ok {
		waited = "after " + model.ShortDuration((step.After - entered.After).Round(time.Millisecond)) + " " + should
	}
	station(model.ProbeEntered, s.plan.Buffer.Name, s.plan.Buffer.Name, "through "+model.Printable(model.ExchangeName(s.plan.Entrance.Exchange)))
	station(model.ProbeExpired, model.ExchangeName(s.plan.DLX), "", waited)
	for _, r := range s.plan.Reaches {
		more := ""
		if _, ok := at(model.ProbeRemoved, r.Queue.Name); ok {
			more = "and taken out again"
		}
		station(model.ProbeReached, r.Queue.Name, r.Queue.Name, more)
	}
	l.blank()
	switch {
	case s.state == dialogStopping:
		l.say("", "stopping: it is looked for, and taken out if it can be …", styles.Warning)
	case s.state == dialogRunning:
		since := s.env.now().Sub(s.began)
		words := fmt.Sprintf("%s since it was sent", model.ShortDuration(since.Truncate(100*time.Millisecond)))
		if left := s.plan.TTL.Or(0) - since; left > 0 {
			words += fmt.Sprintf(", due in %s", model.ShortDuration(left.Truncate(100*time.Millisecond)))
		}
		l.say("", words, styles.Waiting)
		l.blank()
		l.hints(hint(styles, "esc", "stop"))
		return
	case s.err != nil:
		l.say("", markError+" nothing was sent: "+model.Printable(s.err.Error()), styles.Danger)
	case s.result.Arrived:
		l.say("", model.Printable(s.result.Verdict)+": "+s.result.String(), styles.Good)
	default:
		l.say("", markError+" it did not arrive: "+model.Printable(s.result.Verdict), styles.Danger)
	}
	if s.result.Left != "" {
		l.say("", markWarning+" it may still be in "+model.Printable(s.result.Left)+", with the message id "+s.plan.ID, styles.Warning)
	}
	l.blank()
	if s.state == dialogEnded {
		l.hints(hint(styles, "enter", "once more") + hint(styles, "esc", "back"))
	}
}
