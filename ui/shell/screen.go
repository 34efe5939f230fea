package shell

import (
	"time"

	"github.com/charmbracelet/bubbles/key"
	tea "github.com/charmbracelet/bubbletea"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/findings"
	"github.com/dlxtop/dlxtop/model/watch"
	"github.com/dlxtop/dlxtop/ui/picture"
)

// Screen is one page of the program. Screens are values: Update returns the next one. The root keeps a stack of them,
// gives each the size it may use, and sends it what concerns it: keys while it is on top, topologyMsg at each poll, and
// the answers to its own commands, which no other screen gets. These carry the request they answer, so that late ones
// are dropped.
type Screen interface {
	Update(msg tea.Msg) (Screen, tea.Cmd)
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

// Preparing is a screen that works out what is seen apart from drawing it: after each Update, and so after each change
// of the size, when the screen is on top. What it has to read for that is a command, as in Update.
type Preparing interface {
	Prepare(width, height int) (Screen, tea.Cmd)
}

// Beginning is a screen that asks for something when it is pushed.
type Beginning interface{ Init() tea.Cmd }

// Clickable is a screen whose rows can be clicked on. A second click on a row opens it: nothing else is done by mouse.
type Clickable interface {
	// Clicked reports whether the last ClickMsg was the second one on a row.
	Clicked() bool
}

// TopologyMsg brings a new poll to every screen. A screen that is pushed gets the latest one before its Init, when
// there is one. All of it is worked out outside Update, and none of it changes afterwards but the history, which grows
// by one sample a poll, and keeps what counts see of heads.
type TopologyMsg struct {
	Topology *model.Topology
	Moves    model.Moves // In and Out are averages over the last polls, Came, Went and Depth are since the last one
	Flows    []model.Flow
	Findings []findings.Finding
	Failed   int64           // messages in all failed queues, as far as is known
	About    *findings.About // by what they are about
	History  *History
	Looks    *Looks
	Watch    *watch.Watch                   // of one flow; nil: nobody counts it
	Rates    map[model.QueueRef]watch.Rates // as the counts tell; they are in moves, too
	Held     map[model.QueueRef]bool        // dlxtop looked at them while these counts may have been taken
}

// Moment is what a picture is drawn from now.
func (m TopologyMsg) Moment(now time.Time) picture.Moment {
	at := picture.Moment{Topology: m.Topology, Moves: m.Moves, Findings: m.Findings, Now: now}
	at.Head = func(b *model.Buffer) picture.HeadState { return m.Head(b, now) }
	if m.History != nil {
		at.Depths = func(columns int, refs ...model.QueueRef) []float64 {
			return m.History.Ready(now, columns, refs...)
		}
	}
	at.Latest = make(map[model.QueueRef]model.Movement, len(m.Rates))
	for ref, r := range m.Rates {
		at.Latest[ref] = r.Latest
	}
	return at
}

// PushMsg opens a screen on top of the one that asked for it; popMsg closes the one that asked for it.
type (
	PushMsg struct{ Screen Screen }
	PopMsg  struct{ Page Request }
)

// NoticeMsg shows one line above the footer until the next key: what just happened, or why not.
type NoticeMsg struct {
	Text string
	Bad  bool
}

func Push(s Screen) tea.Cmd { return func() tea.Msg { return PushMsg{s} } }
func Pop() tea.Msg          { return PopMsg{} }

// Request numbers the commands of a screen: an answer that carries an older number is dropped.
type Request int

func Notice(text string, bad bool) tea.Cmd {
	return func() tea.Msg { return NoticeMsg{Text: text, Bad: bad} }
}

// CountedMsg brings counts to the screen that is seen.
type CountedMsg struct {
	Request  Request
	Lane     int
	Took     time.Duration
	Counts   model.Counts
	Changed  bool            // one of them is another than before
	Topology *model.Topology // with them
	Err      error
	Every    time.Duration // from one count to the next, as it is now
}
