package flows

import (
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/ui/messages"
	"github.com/dlxtop/dlxtop/ui/shell"
	"github.com/dlxtop/dlxtop/ui/term"
)

// captionLines tell what the queue under the cursor is, and why dlxtop thinks so.
func (s FlowScreen) captionLines(width, height int) []string {
	styles := s.env.Styles
	name, reason := s.Cursor.Name, ""
	var due []term.Span
	for _, b := range s.Flow.Buffers {
		if b.Queue == s.Cursor {
			name, reason = b.Name(), string(b.Role)+" buffer: "+b.Reason
			due = s.latest.BufferLines(b, s.env.Keys.Open.Help().Key, s.env.Shown)
		}
	}
	if s.Flow.Worker.Queue == s.Cursor {
		reason = "worker: " + s.Flow.Worker.Reason
		due = s.latest.ComingLines(s.Flow, s.env.Shown)
	}
	for _, m := range s.Flow.Failed {
		if m.Queue == s.Cursor {
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
	if height < messages.SplitHeight {
		return 1
	}
	return 2
}

// findingLines are the flow's findings, the worst first, with the remedy of the first.
func (s FlowScreen) findingLines(width, room int) []string {
	styles := s.env.Styles
	var lines []string
	for i, f := range s.own {
		mark := shell.LevelMark(f.Level)
		for j, l := range term.Wrap(model.Printable(shell.Happening(f)), width-4) {
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
	return append(lines[:room-1], "   "+styles.Muted.Render("… "+s.env.Keys.Screens[3].Help().Key+
		" Findings has the rest"))
}
