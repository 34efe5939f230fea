package model

import (
	"encoding/base64"
	"fmt"
	"strings"
	"time"

	"github.com/expr-lang/expr/vm"
)

// Filter is a condition on messages. It is safe for concurrent use. The zero Filter, and nil, match everything.
type Filter struct {
	Text    string          // as the user wrote it
	plain   string          // what is looked for, in lower case
	program *vm.Program     // nil: plain text
	uses    map[string]bool // names of the expression: what nobody asks for is not worked out
	steps   int             // at most so many iterations on one message
}

// ParseFilter reads a filter as it is typed on a screen: plain text is looked for in body, headers, ids, exchange, routing
// key and failure whatever its case; "=EXPR" is an expression, as ParseExpression reads it.
func ParseFilter(text string) (*Filter, error) {
	if expression, ok := strings.CutPrefix(strings.TrimSpace(text), "="); ok {
		f, err := ParseExpression(expression)
		if err != nil {
			return nil, err
		}
		f.Text = text
		return f, nil
	}
	return &Filter{Text: text, plain: strings.ToLower(text)}, nil
}

// Match reports whether a message meets the condition. An expression that fails on a message does not match it: nothing
// happens to a message because of a filter that was not written for it. A body that was not kept is empty.
func (f *Filter) Match(m *Message) (matched bool) {
	if f == nil {
		return true
	}
	defer func() {
		if recover() != nil { // hostile input must not end the program; Match says what happens instead
			matched = false
		}
	}()
	if f.program != nil {
		return f.evaluate(m)
	}
	return f.plain == "" || f.contains(m)
}

func (f *Filter) contains(m *Message) bool {
	p := &m.Properties
	for _, s := range [...]string{
		m.RoutingKey, m.Exchange, p.MessageID, p.CorrelationID, p.Type, p.AppID, p.UserID, p.ReplyTo, p.ContentType, m.DeathSummary(),
	} {
		if f.in(s) {
			return true
		}
	}
	if f.inValue(m.Headers, 0) || f.in(string(m.Body)) {
		return true
	}
	failure, ok := m.Failure()
	return ok && (f.in(failure.String()) || f.in(failure.Kind))
}

func (f *Filter) in(s string) bool {
	return len(s) > 0 && strings.Contains(strings.ToLower(s), f.plain)
}

// maxDepth is how deep headers are read: a frame of a hostile client can nest tens of thousands of tables.
const maxDepth = 64

func (f *Filter) inValue(v any, depth int) bool {
	if depth > maxDepth {
		return false
	}
	if t, ok := asTable(v); ok {
		for key, e := range t {
			if f.in(key) || f.inValue(e, depth+1) {
				return true
			}
		}
		return false
	}
	switch v := v.(type) {
	case nil:
		return false
	case []any:
		for _, e := range v {
			if f.inValue(e, depth+1) {
				return true
			}
		}
		return false
	case time.Time:
		return f.in(v.UTC().Format(time.RFC3339))
	case []byte:
		return f.in(string(v)) || f.in(base64.StdEncoding.EncodeToString(v))
	case string:
		return f.in(v)
	}
	return f.in(fmt.Sprint(v))
}
