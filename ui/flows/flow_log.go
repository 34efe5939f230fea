package flows

import (
	"slices"
	"strings"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/watch"
	"github.com/dlxtop/dlxtop/ui/term"
)

// LogTime is the clock of the log: tenths of seconds, for counts are a quarter of a second apart.
const LogTime = "15:04:05.0"

// logLines are the newest movements below how well they are known.
func (s FlowScreen) logLines(width, room int) []string {
	styles := s.env.Styles
	if room < 2 {
		return nil
	}
	heading := " " + styles.Heading.Render("MOVED") + "  "
	words, bad := s.live.words(s.env.Shown, s.latest.Topology)
	style := styles.Muted
	if bad {
		style = styles.Warning
	}
	lines := []string{heading + style.Render(term.Fit(model.Printable(words), max(width-9, 1), false, false))}
	log := s.live.watch.Log()
	if len(log) == 0 {
		words := "nothing moved while this is open"
		if s.rated() {
			words = "the rates are RabbitMQ's, of the last seconds; no count has seen a move yet"
		}
		return append(lines, "   "+styles.Muted.Render(term.Cut(words, width-4, "…")))
	}
	var newest []string // the newest first
	for _, m := range slices.Backward(log) {
		at := styles.Muted.Render(m.At.Local().Format(LogTime))
		style := styles.Text
		switch {
		case m.Missing() > 0:
			style = styles.Danger
		case m.Kind == watch.MoveLook, m.Late:
			style = styles.Muted
		}
		for i, words := range term.Wrap(m.String(), width-14) {
			if i > 0 {
				at = strings.Repeat(" ", len(LogTime))
			}
			newest = append(newest, " "+at+"  "+style.Render(words))
		}
		if len(newest) >= room-1 {
			break
		}
	}
	return append(lines, newest[:min(len(newest), room-1)]...)
}

// rated reports whether the picture has rates or dots.
func (s FlowScreen) rated() bool {
	moves := s.live.into(s.latest, s.env.Shown).Moves
	return s.ticking != 0 || slices.ContainsFunc(s.live.watch.Queues(), func(ref model.QueueRef) bool {
		return moves[ref].In.Or(0) > 0 || moves[ref].Out.Or(0) > 0
	})
}
