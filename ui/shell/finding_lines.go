package shell

import (
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/findings"
	"github.com/dlxtop/dlxtop/ui/term"
)

// FindingLines are findings in words, each with what to do about it.
func FindingLines(s *term.Styles, found []*findings.Finding, width int) []string {
	var lines []string
	for _, f := range found {
		mark := LevelMark(f.Level)
		for i, line := range term.Wrap(model.Printable(Happening(f)), width-6) {
			lead := "     "
			if i == 0 {
				lead = "   " + s.Mark(mark).Render(mark) + " "
			}
			lines = append(lines, lead+line)
		}
		if f.Level == findings.LevelInfo {
			continue
		}
		for _, line := range term.Wrap(model.Printable(f.Remedy), width-6) {
			lines = append(lines, "     "+s.Muted.Render(line))
		}
	}
	return lines
}

// Happening is what a finding says, and since when, where that matters: it may have begun before dlxtop saw it.
func Happening(f *findings.Finding) string {
	if !f.Happening || f.Since.IsZero() {
		return f.Message
	}
	return f.Message + "; seen since " + f.Since.Local().Format("15:04:05")
}
