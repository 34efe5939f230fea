package ui

import (
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/ui/term"
)

// captionLines tell what the queue under the cursor is, and why dlxtop thinks so.
func (s flowScreen) captionLines(width, height int) []string {
	styles := s.env.styles
	name, reason := s.cursor.Name, ""
	var due []term.Span
	for _, b := range s.flow.Buffers {
		if b.Queue == s.cursor {
			name, reason = b.Name(), string(b.Role)+" buffer: "+b.Reason
			due = s.latest.bufferLines(b, s.env.keys.Open.Help().Key, s.env.shown)
		}
	}
	if s.flow.Worker.Queue == s.cursor {
		reason = "worker: " + s.flow.Worker.Reason
		due = s.latest.comingLines(s.flow, s.env.shown)
	}
	for _, m := range s.flow.Failed {
		if m.Queue == s.cursor {
			reason = "failed queue: " + m.Reason
		}
	}
	var lines []string
	words := term.Wrap(model.Printable(name)+"  "+model.Printable(reason), width-4)
	if most := captionRows(height); len(words) > most {
		words = append(words[:most-1:most-1], term.Cut(words[most-1], width-6, "")+" …")
	}
	for i, l := range words {
		mark := "   "
		if i == 0 {
			mark = " " + styles.Accent.Render(term.MarkCursor) + " "
		}
		lines = append(lines, mark+styles.Muted.Render(l))
	}
	for _, l := range due {
		for _, words := range term.Wrap(l.Text, width-4) {
			lines = append(lines, "   "+styles.Tone(l.Tone).Render(words))
		}
	}
	return lines
}

func captionRows(height int) int {
	if height < splitHeight {
		return 1
	}
	return 2
}

// findingLines are the flow's findings, the worst first, with the remedy of the first.
func (s flowScreen) findingLines(width, room int) []string {
	styles := s.env.styles
	var lines []string
	for i, f := range s.own {
		mark := levelMark(f.Level)
		for j, l := range term.Wrap(model.Printable(happening(f)), width-4) {
			head := "   "
			if j == 0 {
				head = " " + styles.Mark(mark).Render(mark) + " "
			}
			lines = append(lines, head+styles.Mark(mark).Render(l))
		}
		if i == 0 && f.Remedy != "" {
			for _, l := range term.Wrap("do: "+model.Printable(f.Remedy), width-4) {
				lines = append(lines, "   "+l)
			}
		}
	}
	if len(lines) <= room {
		return lines
	}
	if room < 2 {
		return nil
	}
	return append(lines[:room-1], "   "+styles.Muted.Render("… "+s.env.keys.Screens[3].Help().Key+
		" Findings has the rest"))
}
