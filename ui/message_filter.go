package ui

import (
	"context"
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"dlxtop/model"
)

const (
	// filterAtOnce is how many bytes of bodies a filter looks through inside Update, so that a keystroke shows its effect at
	// once: some milliseconds. More than that is looked through outside.
	filterAtOnce     = 1 << 20
	filterAtOnceRows = 2000
)

// messageFilter is the filter of a queue's messages: plain text, or "=" and an expression.
type messageFilter struct {
	field   filterField
	parsed  *model.Filter // the filter that applies: the last text that could be read; nil: none
	err     error         // why the text cannot be read
	request request       // the search in flight; 0: none
}

// filteredMsg is the answer to a search: for each row whether it matches.
type filteredMsg struct {
	request request
	matched []bool
}

func newMessageFilter(e *env) messageFilter { return messageFilter{field: newFilterField(e)} }

// pending reports whether what is shown is not yet what the filter says.
func (f messageFilter) pending() bool { return f.request != 0 }

// match is what the table narrows by; nil shows all.
func (f messageFilter) match() func(*messageRow) bool {
	if f.parsed == nil {
		return nil
	}
	return func(r *messageRow) bool { return r.matched }
}

// apply reads the text and looks for it in the rows: at once when that is quick, else in a command. A text that cannot be read
// leaves the filter before it.
func (f messageFilter) apply(e *env, rows []*messageRow) (messageFilter, tea.Cmd) {
	text := f.field.text()
	f.request, f.err = 0, nil
	if strings.TrimSpace(text) == "" {
		f.parsed = nil
		return f, nil
	}
	parsed, err := model.ParseFilter(text)
	if err != nil {
		f.err = err
	} else {
		f.parsed = parsed
	}
	if f.parsed == nil {
		return f, nil
	}
	bytes := 0
	for _, r := range rows {
		bytes += len(r.message.Body)
	}
	filter := f.parsed
	if bytes <= filterAtOnce && len(rows) <= filterAtOnceRows {
		for _, r := range rows {
			r.matched = filter.Match(r.message)
		}
		return f, nil
	}
	f.request = e.newRequest()
	id := f.request
	return f, e.command(0, func(ctx context.Context) tea.Msg {
		matched := make([]bool, len(rows))
		for i, r := range rows {
			if ctx.Err() != nil {
				return nil
			}
			matched[i] = filter.Match(r.message)
		}
		return filteredMsg{id, matched}
	})
}

// answered takes the answer to the search in flight and reports whether the rows changed.
func (f *messageFilter) answered(msg filteredMsg, rows []*messageRow) bool {
	if msg.request != f.request || len(msg.matched) != len(rows) {
		return false
	}
	f.request = 0
	for i, r := range rows {
		r.matched = msg.matched[i]
	}
	return true
}
