package ui

import (
	"strings"
	"time"

	"dlxtop/model"
)

// storyTimes is the width of the times before a story.
const storyTimes = 10

// storyLabels stand where the time of an event would, for what is no event.
var storyLabels = map[model.StoryKind]string{
	model.StoryNow: "now", model.StoryTries: "tries", model.StoryLadder: "ladder", model.StoryNext: "next",
}

// storyLines tell a message's way, oldest first; briefly without notes.
func storyLines(s *Styles, m *model.Message, events []model.StoryEvent, width int, brief bool) []string {
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
		for i, l := range wrap(model.Printable(strings.Join(parts, "  ")), width-storyTimes) {
			if i > 0 {
				at = ""
			}
			lines = append(lines, s.Muted.Render(fit(at, storyTimes, false, false))+look.Render(l))
		}
		if brief {
			continue
		}
		for _, l := range wrap(model.Printable(e.Note), width-storyTimes) {
			lines = append(lines, strings.Repeat(" ", storyTimes)+s.Muted.Render(l))
		}
	}
	if m.DeathsError != "" {
		for _, l := range wrap(markWarning+" x-death: "+model.Printable(m.DeathsError), width) {
			lines = append(lines, s.Warning.Render(l))
		}
	}
	return lines
}

func storyLook(s *Styles, e *model.StoryEvent) Style {
	switch {
	case e.Kind == model.StoryFailed:
		return s.Danger
	case e.Kind == model.StoryNow, e.Kind == model.StoryNext:
		return s.Strong
	case e.Kind == model.StoryDied && e.Reason != model.Expired:
		return s.Warning
	}
	return s.Text
}
