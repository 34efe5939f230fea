package ui

import (
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/ui/shell"
)

// TestLongNoticesAreMarked: a notice that has more lines than there is room for says that it goes on.
func TestLongNoticesAreMarked(t *testing.T) {
	o, _, _ := failedOptions(0)
	a := newApp(t.Context(), o)
	a.width = 80
	for text, cut := range map[string]bool{
		"short": false, strings.Repeat("four letters ", 17): false, strings.Repeat("four letters ", 30): true,
		strings.Repeat("x", 600): true,
	} {
		a.notice = shell.NoticeMsg{Text: text}
		lines := a.noticeLines()
		last := ansi.Strip(lines[len(lines)-1])
		assert.That(t, strings.HasSuffix(last, "…") == cut && len(lines) <= mostNotice && ansi.StringWidth(last) < a.width,
			"%d lines, the last is %q", len(lines), last)
	}
}
