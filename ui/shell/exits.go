package shell

import (
	"slices"
	"strings"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/ui/term"
)

// ExitLines tell, for each reason, where messages go that leave a queue. Reasons with the same way share a line.
func ExitLines(s *term.Styles, exits []model.Exit) []string {
	var lines []string
	for len(exits) > 0 {
		first := exits[0]
		var reasons []string
		exits = slices.DeleteFunc(slices.Clone(exits), func(e model.Exit) bool {
			same := e.Fate == first.Fate && e.Why == first.Why && slices.Equal(e.Route.Queues, first.Route.Queues)
			if same {
				reasons = append(reasons, string(e.Reason))
			}
			return same
		})
		lines = append(lines, "   "+s.Muted.Render(strings.Join(reasons, ", ")+" → ")+exitWords(s, first))
	}
	return lines
}

func exitWords(s *term.Styles, e model.Exit) string {
	names := make([]string, len(e.Route.Queues))
	for i, ref := range e.Route.Queues {
		names[i] = model.Printable(ref.Name)
	}
	words, reason := strings.Join(names, ", "), model.Printable(e.Why)
	why := ""
	if reason != "" {
		why = ": " + reason
	}
	switch e.Fate {
	case model.Lost, model.Cut:
		words = s.Danger.Render(behind(words, " ", term.MarkError+" lost"+why))
	case model.Endless, model.Held, model.Unclear:
		words = behind(words, "  ", s.Warning.Render(string(e.Fate)+why))
	case model.Arrives:
		if !e.Route.Exact {
			words = s.Muted.Render("some of ") + words + s.Muted.Render("  "+reason)
		}
	case model.Retried:
		words = s.Muted.Render("itself" + why)
	}
	return words
}

// behind puts words behind others, when there are others.
func behind(first, between, words string) string {
	if first == "" {
		return words
	}
	return first + between + words
}
