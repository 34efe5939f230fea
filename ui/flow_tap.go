package ui

import (
	tea "github.com/charmbracelet/bubbletea"
	"github.com/dlxtop/dlxtop/model/trace"
)

// tap opens the tap of the queue under the cursor.
func (s flowScreen) tap() tea.Cmd {
	wants := trace.TapChoices(s.latest.topology, s.flow, s.cursor)
	if len(wants) == 0 {
		return notice("nothing dead-letters in this flow: there is no exchange to tap", true)
	}
	return push(newTapScreen(s.env, wants))
}
