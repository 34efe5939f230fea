package shell

import (
	"strings"
	"time"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/model/story"
	"github.com/dlxtop/dlxtop/ui/term"
)

// storyTimes is the width of the times before a story.
const storyTimes = 10

// storyLabels stand where the time of an event would, for what is no event.
var storyLabels = map[story.Kind]string{
	story.Now: "now", story.Tried: "tries", story.Ladder: "ladder", story.Next: "next",
	story.Runs: "runs",
}

// StoryLines tell a message's way, oldest first; briefly without notes.
func StoryLines(s *term.Styles, m *message.Message, events []story.Event, width int, brief bool) []string {
	var lines []string
	day := ""
	for _, e := range events {
		at, isLabel := storyLabels[e.Kind]
		if d := e.Time.Local().Format(time.DateOnly); !isLabel && !e.Time.IsZero() && d != day {
			lines = append(lines, s.Muted.Render(d))
			day = d
		}
		switch {
		case isLabel || e.Time.IsZero():
		case e.TimeExact:
			at = e.Time.Local().Format(time.TimeOnly)
		default:
			at = "≤" + e.Time.Local().Format(time.TimeOnly)
		}
		var parts []string
		for _, part := range []string{e.What, e.Where, e.Detail} {
			if part != "" {
				parts = append(parts, part)
			}
		}
		look := storyLook(s, &e)
		for i, l := range term.Wrap(model.Printable(strings.Join(parts, "  ")), width-storyTimes) {
			if i > 0 {
				at = ""
			}
			lines = append(lines, s.Muted.Render(term.Fit(at, storyTimes, false, false))+look.Render(l))
		}
		if brief {
			continue
		}
		for _, l := range term.Wrap(model.Printable(e.Note), width-storyTimes) {
			lines = append(lines, strings.Repeat(" ", storyTimes)+s.Muted.Render(l))
		}
	}
	if m.DeathsError != "" {
		for _, l := range term.Wrap(term.MarkWarning+" x-death: "+model.Printable(m.DeathsError), width) {
			lines = append(lines, s.Warning.Render(l))
		}
	}
	return lines
}

func storyLook(s *term.Styles, e *story.Event) term.Style {
	switch {
	case e.Kind == story.Failed:
		return s.Danger
	case e.Kind == story.Now, e.Kind == story.Next:
		return s.Strong
	case e.Kind == story.Died && e.Reason != model.Expired:
		return s.Warning
	}
	return s.Text
}
