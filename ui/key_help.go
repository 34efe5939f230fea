package ui

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/charmbracelet/bubbles/key"
	tea "github.com/charmbracelet/bubbletea"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/ui/act"
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

// KeyHelp is what every key does, place by place. docs/keys.md is generated from it.
func KeyHelp() []KeyGroup {
	k := shell.NewKeyMap()
	shared := KeyGroup{Place: "everywhere"}
	for _, b := range everywhere(k) {
		shared.Keys = append(shared.Keys, group("", []explained{b.explained}).Keys...)
	}
	typed := KeyGroup{Place: "commands, after " + k.Palette.Help().Key}
	for _, c := range allCommands(app{env: &shell.Env{Terminal: shell.Terminal{Keys: k}}}) {
		name := strings.TrimSpace(c.name + " " + strings.ToUpper(c.word))
		typed.Keys = append(typed.Keys, Key{[]string{name}, c.does})
	}
	return []KeyGroup{
		shared,
		group("in every list", lists(k)),
		group("on Flows, Queues, Failed, Findings and Journal", []explained{
			{k.Open, "open what is under the cursor; on the page of a finding, its flow or its queue"},
			{k.Failed, "the failed messages of this flow (Flows); the failed queues, the causes again (Failed)"},
			{k.Causes, "what failed in this flow, and why (Flows)"},
			{k.Undo, "undo the action under the cursor (Journal)"},
			{k.Resume, "resume the action under the cursor, if it did not come to its end (Journal)"},
		}),
		group("on a flow", []explained{
			{k.Open, "the messages of the queue under the cursor"},
			{k.NextPane, "next queue"},
			{k.PrevPane, "previous queue"},
			{k.Failed, "the failed messages of this flow"},
			{k.Causes, "what failed in this flow, and why"},
			{k.Tap, "tap: watch messages pass its exchanges"},
			{k.Chart, "chart the queue under the cursor over five minutes; close the chart"},
		}),
		group("on the causes of failed messages", []explained{
			{k.Open, "the messages that failed for this cause, in all its queues"},
			{k.Failed, "on its messages in several queues: these queues"},
			{k.Replay, "replay them all"},
			{k.Drop, "drop them all"},
			{k.Move, "move them all to a queue of choice"},
			{k.Mend, "change them all by one jq program, then replay them"},
			{k.Export, "export them all to a file"},
			{k.Resolve, "mark it as resolved; again: not resolved. If it fails again, it is shown as back"},
			{k.Ignore, "ignore it; again: do not ignore it"},
			{k.Note, "a note of one line"},
			{k.More, "read more of the queues that were read in part"},
			{k.Insist, "read the queues where a look has a cost: it asks first"},
			{k.Peek, "read the queues again, and put the most frequent causes first"},
		}),
		group("on messages", messageKeys(k)),
		group("in the detail of a message", []explained{
			{k.NextPane, "next pane: story, headers, body"},
			{k.Open, "this pane on the whole screen; again: all panes"},
			{k.PrevPane, "previous pane"},
			{k.Earlier, "the message before"},
			{k.Later, "the message after"},
			{k.Raw, "the body as it lies in the queue; again: decoded"},
			{k.Fold, "fold the body to its outermost level; again: all of it"},
			{k.Filter, "look for a text in this message"},
			{k.NextMatch, "the next line with the text that is looked for, here or in the next pane; then the next message"},
			{k.PrevMatch, "the line before; then the message before"},
		}),
		group("on what was found", []explained{
			{k.Open, "the messages of its queue, with the cursor on it"},
			{k.Back, "stop the search"},
			{k.Insist, "search the queues where a look has a cost, too"},
			{k.Peek, "search again"},
		}),
		group("on two messages side by side", []explained{
			{k.Fold, "show equal lines, too; again: only those that differ"},
		}),
		group("after "+k.Copy.Help().Key+", what to copy", []explained{
			{k.CopyBody, "the body"},
			{k.CopyHeaders, "the headers"},
			{k.CopyID, "the message id"},
			{k.CopyJSON, "all of it as JSON"},
		}),
		group("in a dialog", dialogs(k)),
		group("where a queue is chosen", []explained{
			{k.ChooseUp, "up"},
			{k.ChooseDown, "down"},
			{k.Confirm, "choose"},
			{k.Cancel, "back"},
		}),
		group("in a filter, and after "+k.Palette.Help().Key, []explained{
			{k.Accept, "keep the filter; run the command"},
			{k.Abandon, "clear the filter; close the line"},
			{k.Complete, "complete the command, or a name in an expression; again: the next one"},
			{k.CompleteBack, "complete the one before"},
			{k.ChooseUp, "the command before"},
			{k.ChooseDown, "the command after"},
		}),
		typed,
	}
}

// explained is a binding with what it does in one place, in more words than fit into a footer.
type explained struct {
	binding key.Binding
	does    string
}

// global is a key that does the same on every screen.
type global struct {
	explained
	run effect // nil: it is handled before the screens get it
}

// everywhere are the keys that do the same on every screen; first those of the numbered screens.
func everywhere(k *shell.KeyMap) (all []global) {
	for i, screen := range k.Screens {
		does := explained{screen, "the screen " + screen.Help().Desc}
		all = append(all, global{does, func(a app) (app, tea.Cmd) { return a.show(i) }})
	}
	turn := func(by int) effect {
		return func(a app) (app, tea.Cmd) { return a.show((a.tab + by + len(a.tabs)) % len(a.tabs)) }
	}
	return append(all, []global{
		{explained{k.NextScreen, "next screen"}, turn(1)},
		{explained{k.PrevScreen, "previous screen"}, turn(-1)},
		{
			explained{k.Palette, "a command, or a flow or queue by a part of its name; the line completes them"},
			app.openPalette,
		},
		{explained{k.Undo, "undo the last action"}, app.undo},
		{explained{k.Pause, "stop reading the broker; read it again"}, app.pause},
		{explained{k.ReadNow, "read the broker again now"}, app.read},
		{explained{k.Help, "help: the keys of this screen"}, app.help},
		{explained{k.Back, "back"}, app.back},
		{explained{k.Last, "the screen seen before this one, as with `cd -`; twice: this one again"}, app.last},
		{explained{k.Quit, "back; on the first screen of a tab it quits"}, app.quit},
		{explained{k.ForceQuit, "quit, always, with the terminal restored"}, nil},
		{explained{k.Suspend, "suspend; `fg` continues and reads the broker again"}, nil},
	}...)
}

func lists(k *shell.KeyMap) (all []explained) {
	for _, motion := range k.Motions() {
		all = append(all, explained{motion, motion.Help().Desc})
	}
	return append(all, []explained{
		{k.Filter, "filter: plain text; on messages also `=` and an expression"},
		{k.NextMatch, "the next row that matches the filter; from the last one to the first"},
		{k.PrevMatch, "the row before"},
		{k.Sort, "sort by the next column"},
		{k.Reverse, "reverse the order"},
	}...)
}

func messageKeys(k *shell.KeyMap) []explained {
	return []explained{
		{k.Open, "story, headers and body of this message"},
		{k.NextPane, "into the detail beside the list, where there is room for it"},
		{k.PrevPane, "the same, from its end"},
		{k.Choose, "select this message, or not"},
		{k.Range, "select a range: from here to where the cursor goes"},
		{k.ChooseAll, "select all that the filter shows"},
		{k.Replay, "replay the selection, else the message under the cursor"},
		{k.ReplayAll, "replay all that the filter shows"},
		{k.Drop, "drop the selection, else the message under the cursor"},
		{k.DropAll, "drop all that the filter shows"},
		{k.Move, "move the selection, else the message under the cursor, to a queue of choice"},
		{k.Edit, "edit this message in $VISUAL or $EDITOR, then replay it"},
		{k.Mend, "change the selection, else all that are shown, by one jq program, then replay them"},
		{k.Export, "export the selection, else all that the filter shows, to a file"},
		{k.Copy, "copy something of this message"},
		{k.Compare, "compare the two selected messages, side by side"},
		{k.More, "read more messages: 5,000, 50,000, 200,000"},
		{k.Peek, "look again"},
		{k.Insist, "look anyway, where a look is refused for its cost"},
	}
}

func dialogs(k *shell.KeyMap) []explained {
	return []explained{
		{k.Confirm, "do it"},
		{k.Cancel, "back, nothing is done; while it runs: stop"},
		{k.Target, "the next target of a replay, at last a queue of choice; the next exchange of a tap"},
		{k.Canary, "begin with a canary"},
		{k.CanaryWait, "how long the canary watches"},
		{k.KeepTries, "keep the counters of tries"},
		{k.Doubles, "replay also copies of what was replayed"},
		{k.Spread, "spread the messages over 1, 5, 15 or 25 minutes; again as fast as the broker confirms"},
		{k.Insist, "go on in spite of a refusal that can be overridden"},
		{k.Edit, "edit again"},
		{k.Mend, "edit the jq program again"},
		{k.GoOn, "do not wait longer for the canary"},
		{k.Undo, "undo what was just done"},
	}
}

func group(place string, all []explained) KeyGroup {
	g := KeyGroup{Place: place}
	for _, e := range all {
		var names []string
		for _, pressed := range e.binding.Keys() {
			names = append(names, keyName(pressed))
		}
		g.Keys = append(g.Keys, Key{names, e.does})
	}
	return g
}

func keyName(pressed string) string {
	signs := []string{"up", "↑", "down", "↓", "left", "←", "right", "→", " ", "space"}
	if i := slices.Index(signs, pressed); i >= 0 && i%2 == 0 {
		return signs[i+1]
	}
	return strings.ReplaceAll(pressed, "+", "-")
}

// CheckActionKey refuses a key for an action that is not a key, or is in use. The error is one sentence.
func CheckActionKey(name string) error {
	if _, ok := shell.PressOf(act.Pressed(name)); !ok {
		return fmt.Errorf("there is no key %s: write ctrl-t, f5 or one letter", model.Printable(name))
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

// helpScreen lists the active keys of the screen it was opened from.
type helpScreen struct{ shell.Listing[int, helpRow] }

type helpRow struct {
	place int
	where string
	help  key.Help
}

func newHelpScreen(e *shell.Env, of shell.Screen) shell.Screen {
	if h, ok := of.(helpScreen); ok {
		return h
	}
	k := e.Keys
	shared := []key.Binding{term.Binding("1 … 5", "flows … journal", "1")}
	for _, b := range everywhere(k)[len(k.Screens):] {
		shared = append(shared, b.binding)
	}
	var rows []helpRow
	for _, group := range []struct {
		where    string
		bindings []key.Binding
	}{
		{of.Title(), of.Keys()},
		{"moving", k.Motions()},
		{"everywhere", shared},
	} {
		for _, b := range group.bindings {
			if b.Enabled() {
				rows = append(rows, helpRow{len(rows), group.where, b.Help()})
			}
		}
	}
	byPlace := func(a, b helpRow) int { return cmp.Compare(a.place, b.place) }
	s := e.Styles
	type column = term.Column[helpRow]
	h := helpScreen{shell.NewListing(e, "help", func(r helpRow) int { return r.place }, byPlace,
		func(r helpRow) []string { return []string{r.help.Key, r.help.Desc, r.where} },
		column{Title: "KEY", Width: 12, Compare: byPlace}.Text(&s.Accent, func(r helpRow) string { return r.help.Key }),
		column{Title: "WHAT IT DOES", Width: 20, Flex: 1, Max: 40}.
			Text(&s.Text, func(r helpRow) string { return r.help.Desc }),
		column{Title: "WHERE", Width: 12, Flex: 1}.Text(&s.Muted, func(r helpRow) string { return r.where }))}
	h.Table.Set(rows)
	return h
}

func (h helpScreen) Update(msg tea.Msg) (shell.Screen, tea.Cmd) {
	if pressed, ok := msg.(tea.KeyMsg); !h.Handle(msg) && ok && term.Is(pressed, h.Env.Keys.Help) {
		return h, shell.Pop
	}
	return h, nil
}

// Keys makes a second "?" close the help.
func (h helpScreen) Keys() []key.Binding {
	return h.Bindings(term.Describe(h.Env.Keys.Help, "close"))
}

func (h helpScreen) View(width, height int) string {
	s := h.Env.Styles
	marks := "   " + s.Danger.Render(term.MarkError) + " lost or will be   " +
		s.Warning.Render(term.MarkWarning) + " risky   " +
		s.Accent.Render(term.MarkCursor) + " cursor   " + s.Chosen.Render(term.MarkChosen) + " selected   " +
		s.Muted.Render("?") + " not known"
	list := h.List.View(width, height-2, nil) // first: it fits the rows to the height
	more := term.Partition(s, "", h.Table.Position(), width)
	return list + "\n" + term.Block([]string{more, term.Cut(marks, width, "…")}, width, 2)
}
