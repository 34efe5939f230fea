package ui

import (
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
	"pgregory.net/rapid"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/ui/term"
)

// TestFloodsStayInTheirCells: names that are one grapheme cluster, and much wider on a terminal without clusters, leave
// the header, the rows and what is agreed to as they are. tmux, xterm and others draw what StringWidthWc counts.
func TestFloodsStayInTheirCells(t *testing.T) {
	for _, letters := range []string{"\u1100", "क्", "क्षि", "ทำ", "👍🏽", "\u3000", " "} {
		flood := strings.Repeat(letters, 60)
		name := "failed " + flood
		s := recording(
			exchange("fanout", flood), queue(name, consumers(0), ready(3)), bind(flood, "", name),
			queue("worker "+flood, consumers(1), ready(2), dlx(flood)),
		)
		s.Overview.Node = flood
		c := newClock()
		b := failing(c, 3)
		b.messages[model.QueueRef{VHost: "/", Name: name}] = b.messages[model.QueueRef{VHost: "/", Name: failedQueue}]
		o := Options{Source: &recorded{snapshot: s}, Broker: b, Now: c.now, Title: flood}
		for _, size := range [][2]int{{120, 36}, {80, 24}} {
			term := newTerminal(t, o, size[0], size[1])
			for _, keys := range []string{"1", "2", "3", "4", "2/failed" + keyEnter + keyEnter, "d"} {
				if keys == "d" {
					term.await("user.created") // the look is over
				}
				term.press(keys).settle()
				screen := term.screen()
				lines := strings.Split(screen, "\n")
				for _, line := range lines {
					n := ansi.StringWidthWc(line)
					assert.That(t, n <= size[0], "after %q a line is %d cells wide: %q", keys, n, line)
				}
				must.That(t, strings.Contains(lines[0], "dlxtop") && strings.Contains(screen, "1 Flows"),
					"after %q a name has drawn over the screen:\n%s", keys, screen)
			}
			term.await("drop 1 message for good")
		}
	}
}

// TestCutting: whatever is cut has the width that was asked for, and nothing that was not there.
func TestCutting(t *testing.T) {
	letters := []string{"a", " ", "世", "क", "क्षि", "ทำ", "e\u0301", "\u1100", "👍🏽", "🇩🇪", "ｶﾞ", "\x1b[1m", "\x1b[m"}
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOf(rapid.SampledFrom(letters)).Draw(t, "text"), "")
		width, n := rapid.IntRange(0, 30).Draw(t, "width"), rapid.IntRange(0, 30).Draw(t, "n")
		all := ansi.StringWidthWc(text)
		if got := ansi.StringWidthWc(term.Cut(text, width, "…")); got > width || all <= width && got != all {
			t.Errorf("cut to %d it has %d cells", width, got)
		}
		if got := ansi.StringWidthWc(term.Behind(text, n)); got != max(all-n, 0) {
			t.Errorf("%d cells are behind the first %d of %d", got, n, all)
		}
		for _, part := range []string{
			term.CutMiddle(text, width), term.Fit(text, width, true, false),
			term.Pad(text, width),
		} {
			if got := ansi.StringWidthWc(part); got > width {
				t.Errorf("%q has %d cells instead of %d", part, got, width)
			}
		}
		for _, line := range append(term.Wrap(text, width+10),
			strings.Split(ansi.HardwrapWc(text, width+10, true), "\n")...) {
			if got := ansi.StringWidthWc(line); got > width+10 {
				t.Errorf("the line %q has %d cells instead of %d", line, got, width+10)
			}
		}
	})
}
