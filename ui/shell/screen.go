package shell

import (
	"fmt"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/findings"
	"github.com/dlxtop/dlxtop/model/polls"
	"github.com/dlxtop/dlxtop/model/watch"
	"github.com/dlxtop/dlxtop/ui/picture"
	"github.com/dlxtop/dlxtop/ui/press"
	"github.com/dlxtop/dlxtop/ui/term"
)

// Screen is one page of the program. Only its Update and Prepare change it, and commands keep nothing of it. The root
// keeps a stack of them, gives each the size it may use, and sends it what concerns it: keys while it is on top,
// TopologyMsg at each poll, and the answers to its own commands, which no other screen gets. These contain the request
// they answer, so that late ones are dropped.
type Screen interface {
	Update(msg tea.Msg) tea.Cmd
	// View draws exactly the given size: neither wider nor taller. It draws what Update and Prepare have worked out, for
	// the time env.Shown: it reads nothing, and works out nothing that grows with the broker.
	View(width, height int) string
	// Title is the screen's entry in the path above it, already printable: "ucenter@user".
	Title() string
	// Keys are the keys of the screen, most useful first: footer, help and palette are made of those that can be used, and
	// docs/keys.md of all.
	Keys() []term.Key
	// Typing reports whether the screen takes every key as text (a filter, a dialog's field).
	Typing() bool
}

// Preparing is a screen that works out what is visible separately from drawing it: after each Update, and so after each
// change of the size, when the screen is on top. What it must read for that is a command, as in Update.
type Preparing interface {
	Prepare(width, height int) tea.Cmd
}

// Clickable is a screen whose rows can be clicked on. A second click on a row opens it; the mouse does nothing else.
type Clickable interface {
	// Clicked reports whether the last ClickMsg was the second one on a row.
	Clicked() bool
}

// TopologyMsg brings a new poll to every screen. A screen that is pushed gets the latest one when
// there is one. Everything in it is worked out outside Update, and immutable except for the history, which grows by one
// sample a poll, and keeps what counts see of heads.
type TopologyMsg struct {
	Topology *model.Topology
	Moves    model.Moves // In and Out are averages over the last polls, Came, Went and Depth are since the last one
	Flows    []model.Flow
	Findings []findings.Finding
	Failed   int64           // messages in all failed queues, as far as known
	About    *findings.About // findings by what they are about
	History  *polls.History
	Looks    *DueTimes
	Watch    *watch.Watch                   // of one flow; nil: it is not counted
	Rates    map[model.QueueRef]watch.Rates // by counts; they are in Moves, too
	Held     model.QueueSet                 // queues that dlxtop looked at while these counts may have been taken
}

func (m TopologyMsg) Moment(now time.Time) picture.Moment {
	at := picture.Moment{Topology: m.Topology, Moves: m.Moves, Findings: m.Findings, Now: now}
	at.Head = func(b *model.Buffer) polls.HeadState { return m.Head(b, now) }
	if m.History != nil {
		at.Depths = func(columns int, refs ...model.QueueRef) []float64 { return m.History.Ready(now, columns, refs...) }
	}

	at.Latest = make(map[model.QueueRef]model.Movement, len(m.Rates))
	for ref, r := range m.Rates {
		at.Latest[ref] = r.Latest
	}

	return at
}

// PushMsg opens a screen, or a page, on top of the one that sent it; PopMsg closes the one that sent it.
type (
	PushMsg struct{ Screen Screen }
	PopMsg  struct {
		Page Request
		Runs bool // what runs there goes on, as a job
	}
)

// NoticeMsg shows one line above the footer until the next key: what just happened, or why not.
type NoticeMsg struct {
	Text string
	Bad  bool
}

func Push(s Screen) tea.Cmd { return func() tea.Msg { return PushMsg{s} } }
func Pop() tea.Msg          { return PopMsg{} }

// Opening returns what a key does that opens a screen about something.
func Opening[T any](screen func(*Env, T) Screen, e *Env, about T) func() tea.Cmd {
	return func() tea.Cmd { return Push(screen(e, about)) }
}

// Request numbers the commands of a screen: an answer with an older number is dropped.
type Request int

func Notice(text string, bad bool) tea.Cmd {
	return func() tea.Msg { return NoticeMsg{Text: text, Bad: bad} }
}

// CountedMsg brings counts to the visible screen.
type CountedMsg struct {
	Request  Request
	Lane     int
	Took     time.Duration
	Counts   model.Counts
	Changed  bool            // one of them has changed
	Topology *model.Topology // including them
	Err      error
	Every    time.Duration // the current interval between counts
}

// Page is a screen on a stack. Results of the screen's commands carry the page's number, and go to no other screen.
type Page struct {
	Screen
	Number Request
}

func (e *Env) NewPage(s Screen) Page { return Page{s, e.NewRequest()} }

// AnswerMsg brings the answer to a screen's command to that screen.
type AnswerMsg struct {
	Page Request
	Msg  tea.Msg
}

// LendMsg asks the root to lend the terminal to a program. over makes the answer at its end.
type LendMsg struct {
	Program tea.ExecCommand
	Over    func(error) tea.Msg
}

// Take passes a message to the screen. The results of its commands then go to this screen alone.
func (p Page) Take(msg tea.Msg) tea.Cmd { return p.Asked(p.Update(msg)) }

// Asked makes the result of the screen's command an answer to it, unless it is for the root.
func (p Page) Asked(cmd tea.Cmd) tea.Cmd {
	if cmd == nil {
		return nil
	}

	return func() tea.Msg {
		switch msg := cmd().(type) {
		case nil, PushMsg, NoticeMsg, HideMsg, FollowMsg:
			return msg
		case PopMsg:
			msg.Page = p.Number
			return msg
		case LendMsg:
			over := msg.Over
			msg.Over = func(err error) tea.Msg { return AnswerMsg{p.Number, over(err)} }
			return msg
		case tea.BatchMsg:
			all := make(tea.BatchMsg, len(msg))
			for i := range msg {
				all[i] = p.Asked(msg[i])
			}
			return all
		default:
			return AnswerMsg{p.Number, msg}
		}
	}
}

// Scroll is a text that scrolls within the available lines.
type Scroll struct {
	Lines            []string // nil: not laid out yet
	top, room, width int
}

func (s *Scroll) Key(msg tea.KeyMsg) {
	s.top = Scrolled(msg, s.top, len(s.Lines), s.room)
}

// Scrolled returns the first visible line after a key, for a text of this many lines with room for some of them.
func Scrolled(msg tea.KeyMsg, top, lines, room int) int {
	step, _ := press.Step(msg, room)
	return min(max(top+step, 0), max(lines-max(room, 1), 0))
}

// Prepare lays the text out, unless that is done for this width.
func (s *Scroll) Prepare(width, room int, lay func(width int) []string) {
	if s.Lines == nil || s.width != width {
		s.Lines, s.width = lay(width), width
	}
	s.room = room
	s.top = min(s.top, max(len(s.Lines)-room, 0))
}

// Position says which lines are seen: "1–8 of 27", or "all 8".
func (s *Scroll) Position() string {
	if n := len(s.Lines); n > s.room {
		return fmt.Sprintf("%d–%d of %d", s.top+1, min(s.top+s.room, n), n)
	}
	return fmt.Sprintf("all %d", len(s.Lines))
}

func (s *Scroll) Seen() []string {
	end := min(s.top+s.room, len(s.Lines))
	return s.Lines[min(s.top, end):end]
}
