package shell

import (
	"slices"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/cause"
	"github.com/dlxtop/dlxtop/ui/term"
)

// News is what happened while the user may have been elsewhere. The header keeps it until a screen shows it.
type News struct {
	Kind  string         // "new cause"
	Queue model.QueueRef // screens about this one show it; zero: the jobs
	Words string         // printable
	Rung  bool
}

const longestNews = 200 // columns

// Tell adds news, unless the header has the same already.
func (m *Memory) Tell(kind string, queue model.QueueRef, words string) {
	n := News{Kind: kind, Queue: queue, Words: term.Cut(model.Printable(kind+": "+words), longestNews)}
	if !slices.ContainsFunc(m.News, func(old News) bool { return old.Words == n.Words }) {
		m.News = append(m.News, n)
	}
}

// Meet remembers the causes that were read. In a queue that was read before, those that are met first are news.
func (m *Memory) Meet(list []cause.Group, states cause.States, queue model.QueueRef, before bool) {
	for g := range model.Each(list) {
		if before && !m.met[g.ID] && states.Of(g.ID).State == cause.New {
			m.Tell("new cause", queue, model.Sayf("in %s: %s", queue, g.Cause))
		}
		model.Put(&m.met, g.ID, true)
	}
}

// Bell returns what makes a terminal ring, and show a notification if it is known to have those. Multiplexers pass on
// only the bell. text is printable.
func Bell(env func(string) string, text string) string {
	const bell = "\a"
	name := env("TERM")

	switch {
	case strings.HasPrefix(name, "rxvt"):
		return bell + ansi.URxvtExt("notify", "dlxtop", text)
	case slices.Contains([]string{"xterm-kitty", "xterm-ghostty", "foot"}, name),
		slices.Contains([]string{"iTerm.app", "WezTerm", "ghostty"}, env("TERM_PROGRAM")):
		return bell + ansi.Notify("dlxtop: "+text)
	}
	return bell
}
