package ui

import (
	"fmt"
	"strings"
	"time"

	"dlxtop/model"
)

func tapColumns(s *Styles) []column[*tapRow] {
	late := func(r *tapRow) Style {
		if r.passed.IsLate() {
			return s.Warning
		}
		return s.Text
	}
	return []column[*tapRow]{
		{title: "TIME", width: 12, cell: func(r *tapRow) field { return field{r.passed.Time.Local().Format("15:04:05.000"), s.Muted} }},
		{title: "FROM", width: 14, max: 44, flex: 4, middle: true, cell: func(r *tapRow) field {
			switch {
			case r.passed.Unclear != "":
				return field{markWarning + " " + r.from, s.Warning}
			case r.passed.From == "":
				return field{r.from, s.Muted}
			}
			return field{r.from, s.Text}
		}},
		{title: "REASON", width: 9, cell: func(r *tapRow) field { return field{model.Printable(string(r.passed.Reason)), s.Text} }},
		{title: "WAITED", width: 9, right: true, cell: func(r *tapRow) field { return field{r.passed.WaitedWords(), s.Strong} }},
		{title: "SHOULD", width: 7, right: true, cell: func(r *tapRow) field { return field{r.passed.ShouldWords(), s.Text} }},
		{title: "LATE", width: 15, right: true, cell: func(r *tapRow) field {
			words := r.passed.LateWords()
			if r.passed.IsLate() {
				words = markWarning + " " + words
			}
			return field{words, late(r)}
		}},
		{title: "TRIES", width: 5, right: true, drop: 1, cell: func(r *tapRow) field { return field{r.passed.Tries.String(), s.Text} }},
		{title: "ROUTING KEY", width: 14, max: 30, flex: 2, middle: true, drop: 2, cell: func(r *tapRow) field { return field{r.key, s.Text} }},
		{title: "ID", width: 20, max: 36, flex: 1, drop: 4, cell: func(r *tapRow) field { return field{r.id, s.Muted} }},
		{title: "SIZE", width: 5, right: true, drop: 3, cell: func(r *tapRow) field { return field{model.Size(int64(r.passed.Message.BodyBytes)), s.Muted} }},
	}
}

const tapPane = 6 // lines about the message at the cursor

func (s tapScreen) View(width, height int) string {
	if s.state == dialogAsking {
		outer := min(dialogWidth, width-4)
		l := &dialogLines{styles: s.env.styles, width: outer - 4}
		s.ask(l)
		return overlay(block(nil, width, height), framed(s.env.styles, "Tap "+s.exchange(), l.lines, outer), width, height)
	}
	lines := []string{s.head(width)}
	if s.state == dialogEnded {
		words := "the tap has ended"
		if s.err != nil {
			words = model.Printable(s.err.Error())
		}
		for _, part := range wrap(words, width-6) {
			lines = append(lines, " "+s.env.styles.Danger.Render(markError+" "+part))
		}
	}
	rest := height - len(lines)
	pane := min(tapPane, rest/3)
	rows := rest - pane
	lines = append(lines, strings.Split(s.list.view(width, rows, s.nothing(width)), "\n")...)
	lines = append(lines, s.about(width)...)
	return block(lines, width, height)
}

// ask shows what a tap does before it does it.
func (s *tapScreen) ask(l *dialogLines) {
	styles := l.styles
	want := &s.wants[s.want]
	l.say("sees", "each message that passes "+s.exchange()+", from where, and how long it waited", styles.Strong)
	if len(want.Exchanges) > 1 {
		var fronts []string
		for _, x := range want.Exchanges[1:] {
			fronts = append(fronts, model.Printable(x))
		}
		l.say("and", "what enters by "+strings.Join(fronts, ", ")+": so the waits are measured", styles.Text)
	} else {
		l.say("", "how long they waited is as they tell: measured only with the exchange in front", styles.Muted)
	}
	for i, words := range s.plan.Costs {
		label := ""
		if i == 0 {
			label = "costs"
		}
		l.say(label, markInfo+" "+words, styles.Text)
	}
	for _, words := range s.plan.Notes {
		l.say("", markInfo+" "+words, styles.Muted)
	}
	l.blank()
	keys := ""
	if refusal := s.forbidden(); refusal != "" {
		l.say("", markError+" not possible: "+refusal, styles.Danger)
		l.blank()
	} else if s.topology != nil {
		keys = hint(styles, "enter", "tap")
	}
	if len(s.wants) > 1 {
		keys += hint(styles, "tab", fmt.Sprintf("other exchange, %d of %d", s.want+1, len(s.wants)))
	}
	l.hints(keys + hint(styles, "esc", "back"))
	l.hints(hint(styles, "*", s.unroutedWords()))
}

// head says what is tapped, and how the tap does.
func (s *tapScreen) head(width int) string {
	styles := s.env.styles
	var names []string
	for _, x := range s.wants[s.want].Exchanges {
		names = append(names, model.Printable(x))
	}
	left := " " + styles.Strong.Render(strings.Join(names, " + "))
	switch {
	case s.state == dialogEnded:
		left += "   " + styles.Danger.Render("ended")
	case !s.works:
		left += "   " + styles.Muted.Render("starting …")
	case s.paused:
		left += "   " + styles.Warning.Render("list paused, the tap goes on")
	}
	right := fmt.Sprintf("%s seen  %.1f/s", model.Count(s.counts.Seen), s.rate)
	if missed := s.counts.MissedWords(); missed != "" {
		right += "  " + styles.Warning.Render(markWarning+" "+missed)
	} else {
		right += "  none missed"
	}
	if s.counts.Seen > tapShows {
		right += styles.Muted.Render("  the last " + model.Count(tapShows) + " shown")
	}
	return spread(left, right+" ", width)
}

// nothing stands in the place of the list while it is empty.
func (s *tapScreen) nothing(width int) []string {
	words := "nothing has passed yet"
	if !s.works {
		words = "making the tap's queue …"
	}
	if s.state == dialogEnded {
		words = "nothing has passed"
	}
	return []string{"", "   " + s.env.styles.Muted.Render(words)}
}

// about tells of the message at the cursor.
func (s *tapScreen) about(width int) []string {
	styles := s.env.styles
	r, ok := s.list.table.current()
	if !ok {
		return s.list.aimless("message", width)
	}
	p := &r.passed
	lines := []string{partition(styles, r.id, s.list.table.position(), width)}
	here := tapSentence(p)
	add := func(label, words string, look Style) {
		for i, part := range wrap(words, width-16) {
			if i == 2 || i == 1 && words != here {
				return
			}
			lines = append(lines, "   "+styles.Muted.Render(fit(label, 10, false, false))+look.Render(part))
			label = ""
		}
	}
	look := styles.Text
	if p.IsLate() {
		look = styles.Warning
	}
	add("here", here, look)
	add("through", model.Printable(model.ExchangeName(p.Exchange))+", key "+printableKey(p.RoutingKey), styles.Text)
	add("deaths", r.deaths, styles.Text)
	add("body", r.body, styles.Muted)
	return lines
}

// tapSentence says how a message came, and whether in time.
func tapSentence(p *model.Passed) string {
	if p.Unclear != "" {
		return "where it comes from cannot be told: " + model.Printable(p.Unclear)
	}
	if p.From == "" {
		return "published"
	}
	words := fmt.Sprintf("%s from %s", model.Printable(string(p.Reason)), model.Printable(p.From))
	waited, known := p.Waited.Get()
	if !known {
		return words + "; how long it waited is unknown: nobody saw it enter, and it has no time of its own that can be"
	}
	words += " after " + model.ShortDuration(waited.Round(time.Millisecond))
	switch p.Known {
	case model.WaitPublisher:
		words += " by its publisher's clock"
	case model.WaitDied:
		words += " since its death before"
	}
	if should, known := p.Should.Get(); known {
		words += " against " + model.ShortDuration(should)
	}
	if behind := p.Behind.Or(0).Round(time.Millisecond); behind > 0 {
		words += ", " + model.ShortDuration(behind) + " of it behind others in front of it"
	}
	return words
}
