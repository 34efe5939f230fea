package trace

import (
	"fmt"
	"strings"
	"time"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/model/trace"
	"github.com/dlxtop/dlxtop/ui/act"
	"github.com/dlxtop/dlxtop/ui/shell"
	"github.com/dlxtop/dlxtop/ui/term"
)

func tapColumns(s *term.Styles) []term.Column[*tapRow] {
	late := func(r *tapRow) term.Style {
		if r.passed.IsLate() {
			return s.Warning
		}
		return s.Text
	}
	type column = term.Column[*tapRow]
	return []column{
		{Title: "TIME", Width: 12, Cell: func(r *tapRow) term.Field {
			return term.Field{Text: r.passed.Time.Local().Format("15:04:05.000"), Style: s.Muted}
		}},
		{Title: "FROM", Width: 14, Max: 44, Flex: 4, Middle: true, Cell: func(r *tapRow) term.Field {
			switch {
			case r.passed.Unclear != "":
				return term.Field{Text: term.MarkWarning + " " + r.from, Style: s.Warning}
			case r.passed.From == "":
				return term.Field{Text: r.from, Style: s.Muted}
			}
			return term.Field{Text: r.from, Style: s.Text}
		}},
		{Title: "REASON", Width: 9, Cell: func(r *tapRow) term.Field {
			return term.Field{Text: model.Printable(string(r.passed.Reason)), Style: s.Text}
		}},
		column{Title: "WAITED", Width: 9, Right: true}.
			Text(&s.Strong, func(r *tapRow) string { return r.passed.WaitedWords() }),
		column{Title: "SHOULD", Width: 7, Right: true}.
			Text(&s.Text, func(r *tapRow) string { return r.passed.ShouldWords() }),
		{Title: "LATE", Width: 15, Right: true, Cell: func(r *tapRow) term.Field {
			words := r.passed.LateWords()
			if r.passed.IsLate() {
				words = term.MarkWarning + " " + words
			}
			return term.Field{Text: words, Style: late(r)}
		}},
		column{Title: "TRIES", Width: 5, Right: true, Drop: 1}.
			Text(&s.Text, func(r *tapRow) string { return r.passed.Tries.String() }),
		column{Title: "ROUTING KEY", Width: 14, Max: 30, Flex: 2, Middle: true, Drop: 2}.
			Text(&s.Text, func(r *tapRow) string { return r.key }),
		column{Title: "ID", Width: 20, Max: 36, Flex: 1, Drop: 4}.
			Text(&s.Muted, func(r *tapRow) string { return r.id }),
		{Title: "SIZE", Width: 5, Right: true, Drop: 3, Cell: func(r *tapRow) term.Field {
			return term.Field{Text: message.Size(int64(r.passed.Message.BodyBytes)), Style: s.Muted}
		}},
	}
}

const tapPane = 6 // lines about the message at the cursor

func (s tapScreen) View(width, height int) string {
	if s.State == shell.DialogAsking {
		l := shell.NewDialogLines(s.Env.Styles, width)
		s.ask(l)
		return term.Overlay(s.Env.Styles, term.Block(nil, width, height), l.Box("Tap "+s.exchange()), width, height)
	}
	lines := []string{s.head(width)}
	if s.State == shell.DialogEnded {
		words := "the tap has ended"
		if s.Err != nil {
			words = model.Printable(s.Err.Error())
		}
		for _, part := range term.Wrap(words, width-6) {
			lines = append(lines, " "+s.Env.Styles.Danger.Render(term.MarkError+" "+part))
		}
	}
	rest := height - len(lines)
	pane := min(tapPane, rest/3)
	rows := s.list.Share(rest, rest-pane)
	lines = append(lines, strings.Split(s.list.View(width, rows, s.nothing(width)), "\n")...)
	lines = append(lines, s.about(width)...)
	return term.Block(lines, width, height)
}

// ask shows what a tap does before it does it.
func (s *tapScreen) ask(l *shell.DialogLines) {
	styles := l.Styles
	want := &s.wants[s.want]
	l.Say("sees", "what passes "+s.exchange()+": from where, and how long it waited", styles.Strong)
	if len(want.Exchanges) > 1 {
		var fronts []string
		for _, x := range want.Exchanges[1:] {
			fronts = append(fronts, model.Printable(x))
		}
		l.Say("and", "what enters by "+strings.Join(fronts, ", ")+", so that waits are measured", styles.Text)
	} else {
		l.Say("", "waits come from the messages' own times; only a tap on the exchange in front measures "+
			"them", styles.Muted)
	}
	for i, words := range s.plan.Costs {
		label := ""
		if i == 0 {
			label = "costs"
		}
		l.Say(label, term.MarkInfo+" "+words, styles.Text)
	}
	for _, words := range s.plan.Notes {
		l.Say("", term.MarkInfo+" "+words, styles.Muted)
	}
	l.Blank()
	keys := ""
	if refusal := s.forbidden(); refusal != "" {
		l.Say("", term.MarkError+" not possible: "+refusal, styles.Danger)
		l.Blank()
	} else if s.topology != nil {
		keys = shell.Hint(styles, "enter", "tap")
	}
	if len(s.wants) > 1 {
		keys += shell.Hint(styles, "tab", fmt.Sprintf("other exchange, %d of %d", s.want+1, len(s.wants)))
	}
	l.Hints(keys + shell.Hint(styles, "esc", "back"))
	l.Hints(shell.Hint(styles, "*", s.unroutedWords()))
}

// head says what is tapped, and how the tap does.
func (s *tapScreen) head(width int) string {
	styles := s.Env.Styles
	var names []string
	for _, x := range s.wants[s.want].Exchanges {
		names = append(names, model.Printable(x))
	}
	left := " " + styles.Strong.Render(strings.Join(names, " + "))
	switch {
	case s.State == shell.DialogEnded:
		left += "   " + styles.Danger.Render("ended")
	case !s.works:
		left += "   " + styles.Muted.Render("starting …")
	case s.paused:
		left += "   " + styles.Warning.Render("list paused, the tap goes on")
	}
	right := fmt.Sprintf("%s seen  %.1f/s", model.Count(s.counts.Seen), s.rate)
	if missed := s.counts.MissedWords(); missed != "" {
		right += "  " + styles.Warning.Render(term.MarkWarning+" "+missed)
	} else {
		right += "  none missed"
	}
	if s.counts.Seen > tapShows {
		right += styles.Muted.Render("  the last " + model.Count(tapShows) + " shown")
	}
	return term.Spread(left, right+" ", width)
}

// nothing stands in the place of the list while it is empty.
func (s *tapScreen) nothing(width int) []string {
	words := "nothing has passed yet"
	if !s.works {
		words = "making the tap's queue …"
	}
	if s.State == shell.DialogEnded {
		words = "nothing has passed"
	}
	return []string{"", "   " + s.Env.Styles.Muted.Render(words)}
}

// about tells of the message at the cursor.
func (s *tapScreen) about(width int) []string {
	styles := s.Env.Styles
	r, ok := s.list.Table.Current()
	if !ok {
		return s.list.Aimless("message", width)
	}
	p := &r.passed
	look := styles.Text
	if p.IsLate() {
		look = styles.Warning
	}
	l := shell.NewPaneLines(styles, width)
	l.SayFirst(2, "here", tapSentence(p), look)
	l.SayFirst(1, "through", model.Printable(model.ExchangeName(p.Exchange))+", key "+act.PrintableKey(p.RoutingKey),
		styles.Text)
	l.SayFirst(1, "deaths", r.deaths, styles.Text)
	l.SayFirst(1, "body", r.body, styles.Muted)
	return append([]string{term.Partition(styles, r.id, s.list.Table.Position(), width)}, l.Indented()...)
}

// tapSentence says how a message came, and whether in time.
func tapSentence(p *trace.Passed) string {
	if p.Unclear != "" {
		return "where it comes from is unknown: " + model.Printable(p.Unclear)
	}
	if p.From == "" {
		return "published"
	}
	words := fmt.Sprintf("%s from %s", model.Printable(string(p.Reason)), model.Printable(p.From))
	waited, known := p.Waited.Get()
	if !known {
		return words + "; how long it waited is unknown: dlxtop did not see it enter, and it has no time of its own"
	}
	words += " after " + model.ShortDuration(waited.Round(time.Millisecond))
	switch p.Known {
	case trace.WaitPublisher:
		words += " by its publisher's clock"
	case trace.WaitDied:
		words += " since its death before"
	}
	if should, known := p.Should.Get(); known {
		words += ", TTL " + model.ShortDuration(should)
	}
	if behind := p.Behind.Or(0).Round(time.Millisecond); behind > 0 {
		words += ", " + model.ShortDuration(behind) + " of it behind others"
	}
	return words
}
