package messages

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/around"
	"github.com/dlxtop/dlxtop/model/filter"
	"github.com/dlxtop/dlxtop/model/find"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/ui/press"
	"github.com/dlxtop/dlxtop/ui/shell"
	"github.com/dlxtop/dlxtop/ui/term"
)

const (
	// filterAtOnce is how many bytes of bodies a filter searches inside Update, so that a keystroke shows its effect at
	// once: some milliseconds. More than that, messages on disk, and what an expression does not finish within
	// filterAtOnceTime, are searched outside.
	filterAtOnce     = 1 << 20
	filterAtOnceRows = 2000
	filterAtOnceTime = 50 * time.Millisecond

	filterJournalTime = 10 * time.Second // for reading what was replayed earlier
)

// messageFilter is the filter of a queue's messages: plain text, or "=" and an expression.
type messageFilter struct {
	term.FilterField
	complete completion
	saved    filter.Saved
	chips    []chip             // the parts of its text, while that is what they make
	parsed   *filter.Filter     // the current filter: the last text that could be parsed; nil: none
	err      error              // why the text cannot be parsed
	request  shell.Request      // the search in flight; 0: none
	cancel   context.CancelFunc // ends it
}

func newMessageFilter(e *shell.Env) messageFilter {
	return messageFilter{FilterField: term.NewFilterField(), saved: e.Filters}
}

func (f messageFilter) pending() bool { return f.request != 0 }

// match returns the condition of the table; nil shows all.
func (f messageFilter) match() func(*shell.MessageRow) bool {
	if f.parsed == nil {
		return nil
	}
	return func(r *shell.MessageRow) bool { return r.Matched }
}

// sought returns the text that is looked for; "" for none or for an expression.
func (f messageFilter) sought() string {
	if f.parsed == nil || f.parsed.Expression() != "" {
		return ""
	}
	return f.parsed.Text
}

// apply parses the text and filters the rows: at once if that is quick, otherwise in a command. A text that cannot be
// parsed leaves the previous filter.
func (f *messageFilter) apply(e *shell.Env, rows []*shell.MessageRow, look around.Look) (cmd tea.Cmd) {
	text := f.Text()
	f.request, f.err = 0, nil
	if f.cancel != nil {
		f.cancel()
		f.cancel = nil
	}

	if strings.TrimSpace(text) == "" {
		f.parsed = nil
		return nil
	}

	parsed, err := f.saved.Filter(text)
	if err != nil {
		f.err = err
	} else {
		f.parsed = look.Filter(parsed)
	}

	if f.parsed == nil {
		return nil
	}
	bytes := 0
	for _, r := range rows {
		bytes += r.Size
	}

	few := bytes <= filterAtOnce && len(rows) <= filterAtOnceRows
	inMemory := len(rows) == 0 || rows[0].Peeked.InMemory()
	readsJournal := strings.Contains(text, "replayed")
	if few && inMemory && !readsJournal {
		ctx, stop := context.WithTimeout(context.Background(), filterAtOnceTime)
		defer stop()
		if matched, err := search(ctx, f.parsed, rows); ctx.Err() == nil {
			f.takeMatched(matched, err, rows)
			return nil
		}
	}

	f.request = e.NewRequest()
	f.parsed = look.Filter(f.parsed.Anew())
	id, sought := f.request, f.parsed
	cmd, f.cancel = e.Stoppable(func(ctx context.Context) tea.Msg {
		matched, err := search(ctx, sought, rows)
		if ctx.Err() != nil {
			return nil
		}
		return shell.EndedMsg[[]bool]{Request: id, Result: matched, Err: err}
	})

	return cmd
}

// search searches every message, on all processors, until ctx ends.
func search(ctx context.Context, sought *filter.Filter, rows []*shell.MessageRow) ([]bool, error) {
	matched, sought := make([]bool, len(rows)), sought.Within(ctx)
	match := func(i int) error {
		m, err := rows[i].Peeked.At(int(rows[i].Index), 0)
		if err == nil {
			matched[i] = find.Matches(sought, &m)
		}
		return err
	}

	err := shell.ForEach(ctx, len(rows), func() func(int) error { return match })
	return matched, err
}

// answered applies the answer to the search in flight, for each row whether it matches, and reports whether the rows
// changed.
func (f *messageFilter) answered(msg shell.EndedMsg[[]bool], rows []*shell.MessageRow) bool {
	if msg.Request != f.request || len(msg.Result) != len(rows) {
		return false
	}
	f.request = 0
	f.takeMatched(msg.Result, msg.Err, rows)
	return true
}

func (f *messageFilter) takeMatched(matched []bool, err error, rows []*shell.MessageRow) {
	if err != nil { // otherwise the text's error stays: the search was for the previous filter
		f.err = err
	}
	for i, r := range rows {
		r.Matched = matched[i]
	}
}

// completion is the possible continuations of an expression while it is typed.
type completion struct {
	paths  []string // headers and members of the messages, as of when the line was opened
	before string   // the completed word stands after this
	behind string   // and before this
	found  []string
	at     int  // the one that tab takes
	taken  bool // it is in the field
}

// open begins to type. Names are those of the headers that were read, and of the message under the cursor.
func (f *messageFilter) open(headers map[string]bool, current *message.Message) {
	f.Open()
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

// current returns the message under the cursor, if it was read or is in memory; otherwise nil.
func (s *Screen) current() *message.Message {
	row, ok := s.Table.Current()
	switch {
	case !ok:
		return nil
	case row.Whole() == nil && row.Peeked.InMemory():
		return shell.Parts(nil, row).Whole
	}

	return row.Whole()
}

func (f *messageFilter) search() {
	c := &f.complete
	c.found = nil
	c.at = 0
	c.taken = false
	typed, behind := f.Field.Around()
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

	c.found = names
	c.before = typed[:len(typed)-len(expression)+from]
	c.behind = behind
}

// acceptCompletion puts the current or the next completion into the field.
func (f *messageFilter) acceptCompletion(by int) {
	c := &f.complete
	if len(c.found) == 0 {
		return
	}
	if c.taken {
		c.at = (c.at + by + len(c.found)) % len(c.found)
	}

	c.taken = true
	f.Field.SetAround(c.before+c.found[c.at], c.behind)
}

func (f *messageFilter) typed(msg tea.KeyMsg) {
	if _, pressed := term.Press(f.keys(), msg); !pressed {
		f.Field.Update(msg)
		f.search()
	}
}

// keys returns its keys while it is typed.
func (f *messageFilter) keys() []term.Key {
	complete := func(by int) func() { return func() { f.acceptCompletion(by) } }
	return append(f.TypingKeys(),
		term.On(press.Complete, "complete a name in an expression; again: the next one", complete(1)).
			Shown(len(f.complete.found) > 0),
		term.On(press.CompleteBack, "complete the one before", complete(-1)).Shown(false))
}

func (f *messageFilter) lines() int {
	switch {
	case f.Typing, f.err != nil && f.Visible(), f.parsed.Lacking() != "" && f.Visible():
		return 2
	case f.Visible():
		return 1
	}

	return 0
}

// hint returns the line below the filter: what tab offers, or why the text cannot be parsed.
func (f *messageFilter) hint(width int) string {
	c := &f.complete
	switch {
	case f.Typing && len(c.found) > 0:
		line := "   " + term.Muted.Render("tab completes")
		for i := max(0, c.at-1); i < len(c.found); i++ {
			look := term.Text
			if i == c.at {
				look = term.Strong
			}
			line += "  " + look.Render(model.Printable(c.found[i]))
		}

		return term.Cut(line, width-1)
	case f.err != nil:
		words := term.MarkWarning + " " + model.Printable(f.err.Error())
		return "   " + term.Warning.Render(term.Cut(words, width-4))
	case f.Text() != "" && f.parsed.Lacking() != "":
		return "   " + term.Muted.Render(term.Cut(f.parsed.Lacking(), width-4))
	case f.Text() == "":
		words := "text in any case, or = and an expression: =deaths > 3"
		if len(f.saved) > 0 {
			words += ", or a saved one: =" + f.saved.Names()[0]
		}
		return "   " + term.Muted.Render(term.Cut(words, width-4))
	}

	return ""
}
