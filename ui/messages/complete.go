package messages

import (
	"maps"
	"slices"
	"strings"

	"github.com/charmbracelet/bubbles/key"
	tea "github.com/charmbracelet/bubbletea"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/filter"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/ui/shell"
	"github.com/dlxtop/dlxtop/ui/term"
)

// completion is what the expression of a filter can become while it is typed.
type completion struct {
	paths  []string // headers and members that the messages have, as of when the line was opened
	before string   // the word that is completed stands behind this,
	behind string   // and before this
	found  []string
	at     int  // the one that tab takes
	taken  bool // it stands in the field
}

// open begins to type. Names are those of the headers that were read, and of the message under the cursor.
func (f *messageFilter) open(headers map[string]bool, current *message.Message) {
	f.field.Open()
	f.complete = completion{paths: filter.HeaderPaths(slices.Sorted(maps.Keys(headers)))}
	if current != nil {
		for _, path := range filter.Paths(current) {
			if !slices.Contains(f.complete.paths, path) {
				f.complete.paths = append(f.complete.paths, path)
			}
		}
	}
	f.search()
}

// current is the message under the cursor, when it was read or is in memory; else nil.
func (s Screen) current() *message.Message {
	row, ok := s.Table.Current()
	switch {
	case !ok:
		return nil
	case row.Whole() == nil && row.Peeked.InMemory():
		return shell.Parts(nil, row).Whole
	}
	return row.Whole()
}

// search finds what can stand at the cursor.
func (f *messageFilter) search() {
	c := &f.complete
	c.found, c.at, c.taken = nil, 0, false
	typed, behind := f.field.Field.Around()
	expression, ok := filter.TypedExpression(typed)
	if !ok {
		return
	}
	from, names := 0, []string(nil)
	if name := strings.TrimLeft(expression, " "); strings.HasPrefix(name, filter.SavedMark) {
		from = len(expression) - len(name)
		for _, saved := range f.saved.Names() {
			if strings.HasPrefix(saved, name) && saved != name {
				names = append(names, saved)
			}
		}
	} else {
		from, names = filter.Complete(expression, c.paths)
	}
	c.found, c.before, c.behind = names, typed[:len(typed)-len(expression)+from], behind
}

// take puts what is offered into the field, and then the next of it.
func (f *messageFilter) take(by int) {
	c := &f.complete
	if len(c.found) == 0 {
		return
	}
	if c.taken {
		c.at = (c.at + by + len(c.found)) % len(c.found)
	}
	c.taken = true
	f.field.Field.SetAround(c.before+c.found[c.at], c.behind)
}

// typed takes a key while the filter is typed.
func (f *messageFilter) typed(k *shell.KeyMap, msg tea.KeyMsg) {
	switch {
	case term.Is(msg, k.Complete):
		f.take(1)
	case term.Is(msg, k.CompleteBack):
		f.take(-1)
	default:
		f.field.Handle(msg)
		f.search()
	}
}

// keys are those of the line that is typed.
func (f *messageFilter) keys(k *shell.KeyMap) []key.Binding {
	keys := []key.Binding{k.Accept, k.Abandon}
	if len(f.complete.found) > 0 {
		keys = append(keys, k.Complete)
	}
	return keys
}

// lines are how many lines of the screen the filter takes.
func (f *messageFilter) lines() int {
	switch {
	case f.field.Typing, f.err != nil && f.field.Visible():
		return 2
	case f.field.Visible():
		return 1
	}
	return 0
}

// hint is the line below the filter: what tab offers, or why the text cannot be read.
func (f *messageFilter) hint(s *term.Styles, width int) string {
	c := &f.complete
	switch {
	case f.field.Typing && len(c.found) > 0:
		line := "   " + s.Muted.Render("tab completes")
		for i := max(0, c.at-1); i < len(c.found); i++ {
			look := s.Text
			if i == c.at {
				look = s.Strong
			}
			line += "  " + look.Render(model.Printable(c.found[i]))
		}
		return term.Cut(line, width-1, "…")
	case f.err != nil:
		words := term.MarkWarning + " " + model.Printable(f.err.Error())
		return "   " + s.Warning.Render(term.Cut(words, width-4, "…"))
	case f.field.Text() == "":
		words := "text in any case, or = and an expression: =deaths > 3"
		if len(f.saved) > 0 {
			words += ", or a saved one: =" + f.saved.Names()[0]
		}
		return "   " + s.Muted.Render(term.Cut(words, width-4, "…"))
	}
	return ""
}
