package ui

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/charmbracelet/bubbles/key"
	tea "github.com/charmbracelet/bubbletea"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/ui/act"
	"github.com/dlxtop/dlxtop/ui/causes"
	"github.com/dlxtop/dlxtop/ui/flows"
	"github.com/dlxtop/dlxtop/ui/messages"
	"github.com/dlxtop/dlxtop/ui/press"
	"github.com/dlxtop/dlxtop/ui/shell"
	"github.com/dlxtop/dlxtop/ui/term"
)

// KeyGroup is the keys in one place of the dashboard.
type KeyGroup struct {
	Place string // "on a flow"
	Keys  []Key
}

// Key is what one binding does.
type Key struct {
	Names []string // of all its keys: "ctrl-r"
	Does  string
}

// KeyHelp returns what every key does, place by place. docs/keys.md is generated from it.
func KeyHelp() []KeyGroup {
	e := &shell.Env{}
	detail, copies, filter, like := messages.OtherKeys(e)
	dialog, choice := act.OtherKeys(e)
	line := palette{env: e}
	rows := term.NewList(term.NewTable[int, int](e.Plain, nil, nil, nil, nil), nil)
	list := group("in every list", append(motions(), rows.Keys(nil)...))
	groups := []KeyGroup{group("everywhere", sharedKeys()), list}
	for _, place := range []struct {
		name string
		keys []term.Key
	}{
		{"on Flows", flows.NewFlowsScreen(e).Keys()},
		{"on Queues", causes.NewQueuesScreen(e).Keys()},
		{"on the causes of failed messages", causes.NewFailedScreen(e, model.QueueRef{}).Keys()},
		{"on Findings", flows.NewFindingsScreen(e).Keys()},
		{"on Journal", act.NewJournalScreen(e).Keys()},
		{"on jobs", act.NewJobsScreen(e).Keys()},

		{"on a flow", flows.NewFlowScreen(e, model.QueueRef{}).Keys()},
		{"on messages", messages.NewScreen(e, model.QueueRef{}).Keys()},
		{"in the detail of a message", detail},
		{"on what was found", messages.NewFindScreen(e, "", nil).Keys()},
		{"after " + press.Copy.Help().Key + ", what to copy", copies},
		{"after " + press.Narrow.Help().Key + ", only messages", like},

		{"in a dialog", dialog},
		{"where a queue is chosen", choice},
		{"in a filter", filter},
		{"after " + press.Palette.Help().Key, line.keys(nil, nil)},
	} {
		g := group(place.name, place.keys)
		g.Keys = slices.DeleteFunc(g.Keys, func(k Key) bool {
			same := func(l Key) bool { return l.Does == k.Does && slices.Equal(l.Names, k.Names) }
			return slices.ContainsFunc(list.Keys, same)
		})
		groups = append(groups, g)
	}

	return groups
}

func motions() (keys []term.Key) {
	for _, b := range press.Motions() {
		keys = append(keys, term.Key{Binding: b, Does: b.Help().Desc})
	}
	return keys
}

// group returns the keys of a place that have a sentence.
func group(place string, keys []term.Key) KeyGroup {
	g := KeyGroup{Place: place}
	for _, k := range keys {
		if k.Does == "" {
			continue
		}
		var names []string
		for _, pressed := range k.Binding.Keys() {
			names = append(names, press.KeyName(pressed))
		}
		g.Keys = append(g.Keys, Key{names, k.Does})
	}

	return g
}

// CheckActionKey refuses a key for an action that is not a key, or is in use. The error is one sentence.
func CheckActionKey(name string) error {
	if _, ok := shell.PressOf(act.Pressed(name)); !ok {
		return model.Errorf("there is no key %v: write ctrl-t, f5 or one letter", name)
	}
	for _, group := range KeyHelp() {
		for _, k := range group.Keys {
			if slices.Contains(k.Names, name) {
				return fmt.Errorf("the key %s is taken (%s: %s)", name, group.Place, k.Does)
			}
		}
	}

	return nil
}

// helpScreen says what the active keys of a screen do.
type helpScreen struct {
	blocks [2][]helpBlock // of the screen; and of all
	text   shell.Scroll
}

type helpBlock struct {
	title string
	keys  []term.Key
}

func newHelpScreen(of shell.Screen) shell.Screen {
	if h, ok := of.(*helpScreen); ok {
		return h
	}
	tabs := term.Key{
		Binding: key.NewBinding(key.WithKeys("1"), key.WithHelp("1 … 5", "")),
		Does:    "the screens " + strings.Join(shell.Tabs[:], ", "),
	}

	h := &helpScreen{}
	h.blocks[0] = []helpBlock{{"on " + of.Title(), meanings(of.Keys())}, {"to move", motions()}}
	h.blocks[1] = []helpBlock{
		{"everywhere", append([]term.Key{tabs}, sharedKeys()[len(shell.Tabs):]...)},
	}
	return h
}

// meanings returns the sentences of the keys that are named now.
func meanings(keys []term.Key) (named []term.Key) {
	for _, b := range keys {
		if !b.Named() {
			continue
		}
		b.Does = cmp.Or(b.Does, b.Help().Desc)
		named = append(named, b)
	}

	return named
}

// twoColumns is the width from which the keys of the screen and those of all screens stand side by side.
const twoColumns = 100

func (h *helpScreen) lines(width int) []string {
	if width < twoColumns {
		return append(h.column(h.blocks[0], width), h.column(h.blocks[1], width)...)
	}
	half := width / 2
	left := h.column(h.blocks[0], half)
	right := h.column(h.blocks[1], width-half)
	for len(left) < len(right) {
		left = append(left, "")
	}
	for i := range right {
		left[i] = term.Pad(left[i], half) + right[i]
	}

	return left
}

func (h *helpScreen) column(blocks []helpBlock, width int) (lines []string) {
	const indent, room = "   ", 11
	for _, b := range blocks {
		lines = append(lines, indent+term.Heading.Render(b.title))
		for _, k := range b.keys {
			first, size := utf8.DecodeRuneInString(k.Does)
			lead := indent + term.Accent.Render(term.Pad(k.Help().Key, room)) + " "
			does := strings.ToUpper(string(first)) + k.Does[size:] + "."
			lines = append(lines, term.Text.Wrap(lead, does, width-len(indent)-room-3)...)
		}
		lines = append(lines, "")
	}

	return lines
}

func (h *helpScreen) Update(msg tea.Msg) (cmd tea.Cmd) {
	if msg, ok := msg.(tea.KeyMsg); ok {
		h.text.Key(msg)
		cmd, _ = term.Press(h.Keys(), msg)
	}

	return cmd
}

func (h *helpScreen) Prepare(width, height int) tea.Cmd {
	h.text.Prepare(width, height-2, h.lines)
	return nil
}

func (h *helpScreen) Title() string { return "help" }
func (h *helpScreen) Typing() bool  { return false }

// Keys makes a second "?" close the help.
func (h *helpScreen) Keys() []term.Key {
	return append([]term.Key{term.On(press.Help, "", shell.Pop).As("close")},
		term.Named(press.Up, press.Down, press.PageUp, press.PageDown)...)
}

func (h *helpScreen) View(width, height int) string {
	marks := "   " + term.Danger.Render(term.MarkError) + " lost or will be   " +
		term.Warning.Render(term.MarkWarning) + " risky   " +
		term.Accent.Render(term.MarkCursor) + " cursor   " + term.Chosen.Render(term.MarkChosen) + " selected   " +
		term.Muted.Render("?") + " not known"

	text := term.Block(h.text.Seen(), width, height-2)
	return text + "\n" + term.Block([]string{term.Partition("", h.text.Position(), width), term.Cut(marks, width)},
		width, 2)
}
