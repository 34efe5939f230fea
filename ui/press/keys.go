// Package press holds every key of the program. It is the only place where keys have names: handlers match these
// bindings, and the footer and the help are generated from them.
package press

import (
	"slices"
	"strings"

	"github.com/charmbracelet/bubbles/key"
	tea "github.com/charmbracelet/bubbletea"
)

// Keys that move in a list, filter, sort and select.
var (
	Up       = named("↑ k", "up,k", "up")
	Down     = named("↓ j", "down,j", "down")
	Top      = bind("g,home", "first")
	Bottom   = bind("G,end", "last")
	HalfUp   = bind("ctrl+u", "half page up")
	HalfDown = bind("ctrl+d", "half page down")
	PageUp   = bind("pgup,ctrl+b", "page up")
	PageDown = named("pgdn", "pgdown,ctrl+f", "page down")

	Filter    = bind("/", "filter")
	NextMatch = bind("n", "next match")
	PrevMatch = bind("N", "previous match")
	Sort      = bind("s", "sort")
	Reverse   = bind("S", "reverse")
	Choose    = bind(" ", "select")
	Range     = bind("v", "select a range")
	ChooseAll = bind("*", "select all shown")
	About     = bind("z", "more of this row, and back") // with --plain

	// While the filter is typed.
	Accept  = bind("enter", "keep")
	Abandon = bind("esc", "clear")
)

var (
	// On a list and in a text field.
	Open         = bind("enter", "open")
	Complete     = bind("tab", "complete")
	CompleteBack = bind("shift+tab", "complete the one before")

	// On messages.
	Replay    = bind("r", "replay")
	ReplayAll = bind("R", "replay all shown")
	Drop      = bind("d", "drop")
	DropAll   = bind("D", "drop all shown")
	Copy      = bind("y", "copy")
	Failed    = bind("f", "failed messages")
	NextPane  = bind("tab", "next pane")
	PrevPane  = bind("shift+tab", "previous pane")
	Peek      = bind("ctrl+r", "read again")
	Causes    = bind("F", "causes of failures")
	More      = bind("M", "read more")
	Insist    = bind("i", "insist")
	Earlier   = bind("left,h", "message before")
	Later     = bind("right,l", "message after")
	Tap       = bind("t", "tap")
	Move      = bind("m", "move")
	Edit      = bind("e", "edit")
	Mend      = bind("E", "edit many")
	Export    = bind("x", "export")
	Raw       = bind("b", "raw body")
	Fold      = bind("z", "fold the body")

	// On causes.
	Resolve = bind("o", "resolved")
	Ignore  = bind("O", "ignore")
	Note    = bind("W", "write a note")

	// On failed queues: when looks begin by themselves.
	Looks     = bind("L", "when to look")
	AskEach   = bind("1", "ask each time")
	WhileHalf = bind("2", "while half is left")
	Always    = bind("3", "always")

	// What to copy of a message.
	CopyBody    = bind("b", "body")
	CopyHeaders = bind("h", "headers")
	CopyID      = bind("i", "message id")
	CopyJSON    = bind("j", "JSON")

	// Messages like the one under the cursor.
	Narrow        = bind("c", "only such")
	LikeName      = bind("n", "its class")
	LikeWorker    = bind("w", "its worker")
	LikeFramework = bind("f", "its framework")
	LikeAfter     = bind("t", "failed since then")
	LikeBefore    = bind("b", "failed before then")

	// On a flow.
	Chart = bind("c", "chart")

	// In a dialog.
	Confirm    = bind("enter", "do it")
	Target     = bind("tab", "other target")
	Cancel     = bind("esc", "back")
	ChooseUp   = bind("up,ctrl+p", "up")
	ChooseDown = bind("down,ctrl+n", "down")
	Canary     = bind("c", "canary")
	CanaryWait = bind("w", "how long the canary waits")
	KeepTries  = bind("t", "keep tries")
	Doubles    = bind("b", "copies, too")
	Spread     = bind("o", "spread")
	GoOn       = bind("enter", "do not wait longer")
	Background = bind("b", "background")

	// On jobs.
	Stop = bind("x", "stop")

	// Everywhere.
	NextScreen = bind("tab", "next screen")
	PrevScreen = bind("shift+tab", "previous screen")
	Back       = bind("esc", "back")
	Last       = bind("-", "last screen")
	Quit       = bind("q", "back, or quit")
	ForceQuit  = bind("ctrl+c", "quit")
	Help       = bind("?", "help")
	Palette    = bind(":", "command")
	Pause      = bind("p", "pause")
	ReadNow    = bind("ctrl+r", "read again now")
	Undo       = bind("u", "undo")
	Resume     = bind("r", "resume")
	Brokers    = bind("b", "all brokers")
	Suspend    = bind("ctrl+z", "suspend")
)

// bind makes a binding of keys, named by the first of them, with what they do.
func bind(keys, does string) key.Binding { return Binding(does, strings.Split(keys, ",")...) }

func named(name, keys, does string) key.Binding {
	b := bind(keys, does)
	b.SetHelp(name, does)
	return b
}

// Binding makes a binding of keys, named by the first of them, with what they do for the help.
func Binding(what string, keys ...string) key.Binding {
	return key.NewBinding(key.WithKeys(keys...), key.WithHelp(KeyName(keys[0]), what))
}

// KeyName returns how a key is written, by Bubble Tea's name for it.
func KeyName(pressed string) string {
	signs := []string{"up", "↑", "down", "↓", "left", "←", "right", "→", " ", "space", "+", "+"}
	if i := slices.Index(signs, pressed); i >= 0 && i%2 == 0 {
		return signs[i+1]
	}
	return strings.ReplaceAll(pressed, "+", "-")
}

// Describe gives a binding another description, for a screen where it does something particular.
func Describe(b key.Binding, what string) key.Binding {
	b.SetHelp(b.Help().Key, what)
	return b
}

// Is reports whether a key press is one of a binding's keys.
func Is(msg tea.KeyMsg, b key.Binding) bool { return key.Matches(msg, b) }

// Motions returns the keys that move the cursor, in the order of the steps in Step.
func Motions() []key.Binding {
	return []key.Binding{Up, Down, Top, Bottom, HalfUp, HalfDown, PageUp, PageDown}
}

// Step returns how many rows a key moves when a page has this many, far beyond the ends for the first and the last row;
// ok is false when it is none of the motions.
func Step(msg tea.KeyMsg, page int) (rows int, ok bool) {
	const far = 1 << 30
	page, half := max(1, page), max(1, page/2)
	steps := [...]int{-1, 1, -far, far, -half, half, -page, page} // in the order of Motions
	i := slices.IndexFunc(Motions(), func(b key.Binding) bool { return Is(msg, b) })
	if i < 0 {
		return 0, false
	}

	return steps[i], true
}
