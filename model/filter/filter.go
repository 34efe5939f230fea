package filter

import (
	"context"
	"strings"

	"github.com/expr-lang/expr/vm"

	"github.com/dlxtop/dlxtop/model/message"
)

// Filter is a condition on messages. It is safe for concurrent use. The zero Filter, and nil, match everything.
type Filter struct {
	Text    string          // as the user wrote it
	plain   needle          // the text to look for
	program *vm.Program     // of an expression; nil: plain text
	steps   int             // iterations on one message, at most
	ctx     context.Context // cancels evaluation; nil: never
	around  Around          // nil: only what messages say themselves is known
	lacks   *lacks          // nil: not counted
}

// Within returns the same filter bound to ctx: once that is done, it matches nothing.
func (f *Filter) Within(ctx context.Context) *Filter {
	if f == nil {
		return nil
	}
	within := *f
	within.ctx = ctx
	return &within
}

// expressionMark begins a typed filter that is an expression.
const expressionMark = "="

// Parse parses a filter as typed on a screen: plain text is looked for in body, headers, ids, exchange, routing key and
// failure, ignoring case; "=EXPR" is an expression, as for ParseExpression.
func Parse(text string) (*Filter, error) {
	if expression, ok := strings.CutPrefix(strings.TrimSpace(text), expressionMark); ok {
		f, err := ParseExpression(expression)
		if err != nil {
			return nil, err
		}
		f.Text = text
		return f, nil
	}

	return plainFilter(text), nil
}

// TypedExpression returns the expression in a filter that is being typed, and whether it is one.
func TypedExpression(text string) (expression string, ok bool) {
	return strings.CutPrefix(strings.TrimLeft(text, " "), expressionMark)
}

// Expression returns the filter's expression, "" when it is plain text.
func (f *Filter) Expression() string {
	if f == nil || f.program == nil {
		return ""
	}
	return expressionOf(f.Text)
}

// expressionOf removes the mark of a typed expression.
func expressionOf(text string) string {
	return strings.TrimPrefix(strings.TrimSpace(text), expressionMark)
}

func plainFilter(text string) *Filter { return &Filter{Text: text, plain: newNeedle(text)} }

// Match reports whether a message meets the condition. An expression that fails on a message does not match: nothing
// must happen to a message because of a filter not written for it. A body that was not kept is empty.
func (f *Filter) Match(m *message.Message) (matched bool) {
	switch {
	case f == nil:
		return true
	case f.ctx != nil && f.ctx.Err() != nil:
		return false
	}

	defer func() {
		if recover() != nil { // hostile input must not crash the program
			matched = false
		}
	}()

	if f.program != nil {
		return f.evaluate(m)
	}

	return f.plain.text == "" || f.contains(m)
}

func (f *Filter) contains(m *message.Message) bool {
	if _, ok := f.Where(m); ok || f.plain.in(m.DeathSummary()) {
		return true
	}
	failure := failureOf(m)
	return f.plain.in(failure.String()) || f.plain.in(failure.Kind)
}
