package messages

import (
	"context"
	"slices"
	"strconv"
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/dlxtop/dlxtop/model/around"
	"github.com/dlxtop/dlxtop/model/filter"
	"github.com/dlxtop/dlxtop/ui/press"
	"github.com/dlxtop/dlxtop/ui/shell"
	"github.com/dlxtop/dlxtop/ui/term"
)

// chip is a condition that a key has chosen, a part of the filter's expression.
type chip struct{ label, expression string }

// textOf returns the filter of which chips are the parts; "" without any.
func textOf(chips []chip) string {
	if len(chips) == 0 {
		return ""
	}
	parts := make([]string, len(chips))
	for i, c := range chips {
		parts[i] = c.expression
	}
	return "=" + strings.Join(parts, " and ")
}

// parts returns the chips of the filter: an expression that was typed is one.
func (f *messageFilter) parts() []chip {
	text := f.Text()
	if text != "" && text == textOf(f.chips) {
		return f.chips
	}
	if expression, typed := filter.TypedExpression(text); typed && f.parsed != nil {
		return []chip{{strings.TrimSpace(expression), "(" + f.parsed.Expression() + ")"}}
	}

	return nil
}

// around is what is known of the messages that were read.
func (s *Screen) around() around.Look {
	e, t := s.env, s.Topology
	look := around.Look{Topology: t, Queue: s.Queue, Messages: s.Peeked.Messages}
	if e.Journal == nil {
		return look
	}

	look.Replayed = func() around.Replayed {
		ctx, stop := context.WithTimeout(context.Background(), filterJournalTime)
		defer stop()
		sent, err := e.Journal.Replayed(ctx, e.Broker.Address(), t.Snapshot.Overview.ClusterName)
		if err != nil {
			return nil
		}
		return sent
	}

	return look
}

// choosing returns the keys that choose messages like the one under the cursor, and those that take a chip off.
func (s *Screen) choosing() []term.Key {
	like := func(field, operator string) func() tea.Cmd {
		return func() tea.Cmd { return s.narrow(field, operator) }
	}

	keys := []term.Key{
		term.On(press.LikeName, "of the same class or type", like("name", "==")),
		term.On(press.LikeWorker, "that failed in the same worker", like("worker", "==")),
		term.On(press.LikeFramework, "of the same framework", like("framework", "==")),
		term.On(press.LikeAfter, "that failed when this one did, or later", like("failed_at", ">=")),
		term.On(press.LikeBefore, "that failed when this one did, or earlier", like("failed_at", "<=")),
	}
	for i, c := range s.filter.parts() {
		off := press.Binding("without "+c.label, strconv.Itoa(i+1))
		keys = append(keys, term.On(off, "", func() tea.Cmd { return s.takeOff(i) }))
	}

	return append(keys, term.Named(press.Cancel)...)
}

// narrow shows only messages that are like the one under the cursor, besides what the filter asks already.
func (s *Screen) narrow(field, operator string) tea.Cmd {
	m, typed := s.current(), s.filter.parts()
	switch {
	case m == nil || s.Topology == nil:
		return shell.Notice(noneAimed, true)
	case s.filter.Text() != "" && typed == nil:
		return shell.Notice("the filter is a text, which no other condition can join: esc clears it", true)
	}

	label, expression, known := filter.Like(field, operator, s.around().Values(), m)
	c := chip{label, expression}
	if !known {
		return shell.Notice("the "+field+" of this message is unknown", true)
	}
	if slices.Contains(typed, c) {
		return nil
	}

	return s.chosen(append(slices.Clone(typed), c))
}

func (s *Screen) takeOff(i int) tea.Cmd {
	return s.chosen(slices.Delete(slices.Clone(s.filter.parts()), i, i+1))
}

func (s *Screen) chosen(chips []chip) tea.Cmd {
	s.filter.chips = chips
	s.filter.Field.Set(textOf(chips))
	return s.filtered()
}

// view draws the filter's line: its chips, or what was typed.
func (f *messageFilter) view(width int, found string) string {
	if f.Typing || len(f.chips) == 0 || f.Text() != textOf(f.chips) {
		return f.View(width, found)
	}

	line := term.Accent.Render(" / ")
	for i, c := range f.chips {
		line += term.Muted.Render(strconv.Itoa(i+1)+" ") + term.Strong.Render("["+c.label+"]") + " "
	}
	line = term.Cut(line, width-len(found)-len("  c 1 takes off  "))
	line += term.Muted.Render(" " + press.Narrow.Help().Key + " 1 takes off")

	return term.Spread(line, term.Muted.Render(found+" "), width)
}
