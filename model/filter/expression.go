package filter

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/message"
)

// The bounds of an expression on one message.
const (
	maxExpression = 4096       // bytes of its text
	maxNodes      = 1000       // in its syntax tree
	maxSteps      = 10_000_000 // iterations of any, all, count…
	maxMemory     = 10_000_000 // values in lists that it creates
	maxBytes      = 512 << 20  // of memory for what functions make of text, by costs
	maxTime       = 2 * time.Second
)

// costs are the bytes that each byte of a text may become: JSON of empty objects grows most. Matching needs no memory
// but 30 ns for each byte, without interruption. A pattern that is not constant is at most as long as an expression.
var costs = map[string]int{
	"lower": 4, "upper": 4, "string": 4, "split": 48, "keys": 16, "values": 16, "fromJSON": 48,
	"+": 8, "matches": 8, "pattern": maxBytes / maxExpression,
}

// ParseExpression parses a filter expression, as --filter takes it: `deaths > 3 and json.user.id == 121`. An error says
// in one sentence what is wrong and where.
func ParseExpression(expression string) (f *Filter, err error) {
	defer func() {
		if r := recover(); r != nil {
			wrong, ok := r.(*mistake)
			if !ok {
				panic(r)
			}
			f, err = nil, wrong
		}
	}()
	switch {
	case strings.TrimSpace(expression) == "":
		return nil, errors.New("the filter is empty: write a condition, for example deaths > 3")
	case len(expression) > maxExpression:
		return nil, fmt.Errorf("the filter is %s long: %s is the most", message.Size(int64(len(expression))),
			message.Size(maxExpression))
	}
	p := &parser{tokens: tokensOf(expression)}
	condition := p.block()
	if t := p.tokens[0]; t.kind != 0 {
		p.wrong(t.at, "unexpected token %s", t.text)
	}
	if !condition.kind.may(truth) {
		return nil, fmt.Errorf("the filter is not a condition: it gives a value (%s), not true or false", condition.kind)
	}
	return &Filter{Text: expression, condition: condition.value, variables: p.most, steps: maxSteps}, nil
}

func expressionNames() []string { return slices.Sorted(slices.Values(fieldNames())) }

func (f *Filter) evaluate(m *message.Message) bool {
	e := evaluation{
		filter: f, message: m, variables: make([]any, f.variables), read: map[int]any{}, began: time.Now(),
	}
	matched, ok := f.condition(&e).(bool)
	return ok && matched
}

// parseJSON decodes a body with whole numbers as integers: identifiers beyond 2^53 must not be rounded.
func parseJSON(body []byte) any {
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	var v any
	if d.Decode(&v) != nil {
		return nil
	}
	if _, err := d.Token(); err != io.EOF {
		return nil
	}
	return numbers(v)
}

func numbers(v any) any {
	switch v := v.(type) {
	case json.Number:
		if i, err := v.Int64(); err == nil && int64(int(i)) == i {
			return int(i)
		}
		f, _ := v.Float64()
		return f
	case []any:
		for i, e := range v {
			v[i] = numbers(e)
		}
	case map[string]any:
		for key, e := range v {
			v[key] = numbers(e)
		}
	}
	return v
}

// plainValue converts a header's value to the types that expressions compare: int, float64, string, bool, time, list,
// map.
func plainValue(v any, depth int) any {
	if depth > message.MaxDepth {
		return nil
	}
	if t, ok := model.AsTable(v); ok {
		m := make(map[string]any, len(t))
		for key, e := range t {
			m[key] = plainValue(e, depth+1)
		}
		return m
	}
	switch v := v.(type) {
	case []any:
		return plainList(v, depth+1)
	case model.Repeated:
		return plainList(v, depth+1)
	case []byte:
		return string(v)
	case model.RawValue:
		return string(v.Bytes)
	case float64, string, bool, nil, time.Time:
		return v
	case float32:
		return float64(v)
	case model.Decimal:
		return float64(v.Value) / math.Pow10(int(v.Scale))
	}
	if n, ok := model.AsInteger(v); ok {
		return int(n)
	}
	return fmt.Sprint(v)
}

func plainList(values []any, depth int) []any {
	list := make([]any, len(values))
	for i, v := range values {
		list[i] = plainValue(v, depth)
	}
	return list
}
