package shell

import (
	tea "github.com/charmbracelet/bubbletea"

	"github.com/dlxtop/dlxtop/ui/term"
)

// Scrolled is the first line that is seen after a key, of a text of that many lines with room for some of them.
func Scrolled(k *KeyMap, msg tea.KeyMsg, top, lines, room int) int {
	page, step := max(room, 1), 0
	switch {
	case term.Is(msg, k.Up):
		step = -1
	case term.Is(msg, k.Down):
		step = 1
	case term.Is(msg, k.HalfUp):
		step = -page / 2
	case term.Is(msg, k.HalfDown):
		step = page / 2
	case term.Is(msg, k.PageUp):
		step = -page
	case term.Is(msg, k.PageDown):
		step = page
	case term.Is(msg, k.Top):
		step = -lines
	case term.Is(msg, k.Bottom):
		step = lines
	}
	return min(max(top+step, 0), max(lines-page, 0))
}
