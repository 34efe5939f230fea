package ui

import (
	"time"

	"github.com/charmbracelet/bubbles/key"
	tea "github.com/charmbracelet/bubbletea"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/findings"
	"github.com/dlxtop/dlxtop/model/watch"
	"github.com/dlxtop/dlxtop/ui/picture"
)

// screen is one page of the program. Screens are values: Update returns the next one. The root keeps a stack of them,
// gives each the size it may use, and sends it what concerns it: keys while it is on top, topologyMsg at each poll, and
// the answers to its own commands, which no other screen gets. These carry the request they answer, so that late ones
// are dropped.
type screen interface {
	// Init is called once, when the screen is pushed.
	Init() tea.Cmd
	Update(msg tea.Msg) (screen, tea.Cmd)
	// View draws exactly the given size: neither wider nor taller. It draws what Update and Prepare have worked out, as
	// of env.shown: it reads nothing, and works nothing out that grows with the broker.
	View(width, height int) string
	// Title is the screen's place in the path above it, already printable: "ucenter@user".
	Title() string
	// Keys are the bindings that do something right now, most useful first: the footer and the help are made of them.
	Keys() []key.Binding
	// Typing reports whether the screen takes every key as text (a filter, a dialog's field).
	Typing() bool
}

// preparing is a screen that works out what is seen apart from drawing it: after each Update, and so after each change
// of the size, when the screen is on top. What it has to read for that is a command, as in Update.
type preparing interface {
	Prepare(width, height int) (screen, tea.Cmd)
}

// resting is a screen that lets go of the poll that it shows while it is not seen: the next one brings all of it again,
// and comes before the screen is seen. On a large broker a poll is tens of megabytes.
type resting interface {
	Rest() screen
}

// topologyMsg brings a new poll to every screen. A screen that is pushed gets the latest one before its Init, when
// there is one. All of it is worked out outside Update, and none of it changes afterwards but the history, which grows
// by one sample a poll, and keeps what counts see of heads.
type topologyMsg struct {
	topology *model.Topology
	moves    model.Moves // In and Out are averages over the last polls, Came, Went and Depth are since the last one
	flows    []model.Flow
	findings []findings.Finding
	failed   int64           // messages in all failed queues, as far as is known
	about    *findings.About // by what they are about
	history  *history
	looks    *looks
	watch    *watch.Watch                   // of one flow; nil: nobody counts it
	rates    map[model.QueueRef]watch.Rates // as the counts tell; they are in moves, too
	held     map[model.QueueRef]bool        // dlxtop looked at them while these counts may have been taken
}

// moment is what a picture is drawn from now.
func (m topologyMsg) moment(now time.Time) picture.Moment {
	at := picture.Moment{Topology: m.topology, Moves: m.moves, Findings: m.findings, Now: now}
	at.Head = func(b *model.Buffer) picture.HeadState { return m.head(b, now) }
	if m.history != nil {
		at.Depths = func(columns int, refs ...model.QueueRef) []float64 {
			return m.history.ready(now, columns, refs...)
		}
	}
	at.Latest = make(map[model.QueueRef]model.Movement, len(m.rates))
	for ref, r := range m.rates {
		at.Latest[ref] = r.Latest
	}
	return at
}

// pushMsg opens a screen on top of the one that asked for it; popMsg closes the one that asked for it.
type (
	pushMsg struct{ screen screen }
	popMsg  struct{ page request }
)

// noticeMsg shows one line above the footer until the next key: what just happened, or why not.
type noticeMsg struct {
	text string
	bad  bool
}

func push(s screen) tea.Cmd { return func() tea.Msg { return pushMsg{s} } }
func pop() tea.Msg          { return popMsg{} }

// request numbers the commands of a screen: an answer that carries an older number is dropped.
type request int

func notice(text string, bad bool) tea.Cmd {
	return func() tea.Msg { return noticeMsg{text: text, bad: bad} }
}

// countedMsg brings counts to the screen that is seen.
type countedMsg struct {
	request  request
	lane     int
	took     time.Duration
	counts   model.Counts
	changed  bool            // one of them is another than before
	topology *model.Topology // with them
	err      error
	every    time.Duration // from one count to the next, as it is now
}
