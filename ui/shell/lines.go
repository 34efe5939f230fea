package shell

import (
	"slices"
	"strings"
	"time"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/findings"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/model/story"
	"github.com/dlxtop/dlxtop/ui/term"
)

const storyTimes = 10

// storyLabels are for entries without a time, in the column of times.
var storyLabels = map[story.Kind]string{
	story.Now: "now", story.Tried: "tries", story.Ladder: "ladder", story.Next: "next",
	story.Runs: "runs",
}

// StoryLines show a message's story, oldest first; without notes if brief.
func StoryLines(m *message.Message, events []story.Event, width int, brief bool) []string {
	var lines []string
	day := ""
	for _, e := range events {
		at, isLabel := storyLabels[e.Kind]
		if d := e.Time.Local().Format(time.DateOnly); !isLabel && !e.Time.IsZero() && d != day {
			lines = append(lines, term.Muted.Render(d))
			day = d
		}

		switch {
		case isLabel || e.Time.IsZero():
		case e.TimeExact:
			at = e.Time.Local().Format(time.TimeOnly)
		default:
			at = "≤" + e.Time.Local().Format(time.TimeOnly)
		}

		parts := slices.DeleteFunc([]string{e.What, e.Where, e.Detail}, func(part string) bool { return part == "" })
		at = term.Muted.Render(term.Pad(at, storyTimes))
		words := strings.Join(parts, "  ")
		lines = append(lines, storyLook(&e).Wrap(at, words, width-storyTimes)...)
		if !brief {
			lines = append(lines, term.Muted.Wrap(strings.Repeat(" ", storyTimes), e.Note, width-storyTimes)...)
		}
	}

	if m.DeathsError != "" {
		words := term.MarkWarning + " x-death: " + m.DeathsError
		lines = append(lines, term.Warning.Wrap("", words, width)...)
	}

	return lines
}

func storyLook(e *story.Event) term.Style {
	switch {
	case e.Kind == story.Failed:
		return term.Danger
	case e.Kind == story.Now, e.Kind == story.Next:
		return term.Strong
	case e.Kind == story.Died && e.Reason != model.Expired:
		return term.Warning
	}

	return term.Text
}

// FindingLines returns findings in words, each with its remedy.
func FindingLines(found []*findings.Finding, width int) []string {
	var lines []string
	for _, f := range found {
		mark := LevelMark(f.Level)
		lead := "   " + term.StyleOf(mark).Render(mark) + " "
		lines = append(lines, term.Text.Wrap(lead, Happening(f), width-6)...)
		if f.Level != findings.LevelInfo {
			lines = append(lines, term.Muted.Wrap("     ", f.Remedy, width-6)...)
		}
	}

	return lines
}

// Happening returns a finding's message, with since when, if that matters: it may have begun before dlxtop saw it.
func Happening(f *findings.Finding) string {
	if !f.Happening || f.Since.IsZero() {
		return f.Message
	}
	return f.Message + "; seen since " + f.Since.Local().Format("15:04:05")
}

// ExitLines show, for each reason, where messages go that leave a queue. Reasons with the same way share a line.
func ExitLines(exits []model.Exit) []string {
	var lines []string
	for len(exits) > 0 {
		first := exits[0]
		var reasons []string
		exits = model.Without(exits, func(e model.Exit) bool {
			same := e.Fate == first.Fate && e.Why == first.Why && slices.Equal(e.Route.Queues, first.Route.Queues)
			if same {
				reasons = append(reasons, string(e.Reason))
			}
			return same
		})

		lines = append(lines, "   "+term.Muted.Render(strings.Join(reasons, ", ")+" → ")+exitWords(first))
	}

	return lines
}

func exitWords(e model.Exit) string {
	names := model.Mapped(e.Route.Queues, func(ref *model.QueueRef) string { return model.Printable(ref.Name) })

	words := strings.Join(names, ", ")
	reason := model.Printable(e.Why)
	why := ""
	if reason != "" {
		why = ": " + reason
	}

	switch e.Fate {
	case model.Lost, model.Cut:
		words = term.Danger.Render(behind(words, " ", term.MarkError+" lost"+why))
	case model.Endless, model.Held, model.Unclear:
		words = behind(words, "  ", term.Warning.Render(string(e.Fate)+why))
	case model.Arrives:
		if !e.Route.Exact {
			words = term.Muted.Render("some of ") + words + term.Muted.Render("  "+reason)
		}
	case model.Retried:
		words = term.Muted.Render("itself" + why)
	}

	return words
}

func behind(first, between, words string) string {
	if first == "" {
		return words
	}
	return first + between + words
}
