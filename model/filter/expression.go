package filter

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/file"
	"github.com/expr-lang/expr/types"
	"github.com/expr-lang/expr/vm"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/message"
)

// builtins are the functions of expressions, which make nothing larger than their arguments: repeat, replace, join and
// the like could turn a small body into terabytes.
var builtins = []string{
	"all", "any", "none", "one", "count", "filter", "find", "findIndex", "sum",
	"len", "abs", "ceil", "floor", "round", "int", "float", "string", "trim", "trimPrefix", "trimSuffix", "upper", "lower",
	"split", "indexOf", "lastIndexOf", "hasPrefix", "hasSuffix", "max", "min", "first", "last", "get", "keys", "values",
	"fromJSON", "now", "duration", "date",
}

// ownFunctions are those in place of the library's, which give keys in random order, and round large numbers.
var ownFunctions = map[string]expr.Option{
	"keys": expr.Function("keys", func(v ...any) (any, error) {
		of, isTable := v[0].(map[string]any)
		if !isTable {
			return nil, errors.New("no table")
		}
		return slices.Sorted(maps.Keys(of)), nil
	}, new(func(map[string]any) []string)),
	"fromJSON": expr.Function("fromJSON", func(v ...any) (any, error) {
		text, isText := v[0].(string)
		made := parseJSON([]byte(text))
		if !isText || made == nil && strings.TrimSpace(text) != "null" {
			return nil, errors.New("no JSON")
		}
		return made, nil
	}, new(func(string) any)),
}

// language are the options of the compiler: the fields, the functions, and those that bounding calls.
var language = sync.OnceValue(func() []expr.Option {
	names := types.Map{}
	for _, f := range fields {
		names[f.Name] = fieldTypes[f.Type].of
	}

	options := []expr.Option{
		expr.Env(names), expr.AsBool(), expr.MaxNodes(maxNodes), expr.Optimize(false), expr.DisableAllBuiltins(),
	}
	for _, name := range builtins {
		if ownFunctions[name] == nil {
			options = append(options, expr.EnableBuiltin(name))
		}
	}

	for name, t := range fieldTypes {
		options = append(options, internalFunction("!field "+name, func(e *evaluation, v []any) (any, error) {
			return e.field(v[0].(int))
		}, t.read))
	}

	return append(slices.AppendSeq(options, maps.Values(ownFunctions)),
		internalFunction("!check", func(e *evaluation, _ []any) (any, error) { return nil, e.check() }),
		internalFunction("!step", func(e *evaluation, _ []any) (any, error) { return nil, e.step() }),
		internalFunction("!cost", func(e *evaluation, v []any) (any, error) { return v[1], e.cost(v[0].(int), v[1]) }),
		internalFunction("!text", func(e *evaluation, v []any) (any, error) { return v[1], e.text(v[0].(int), v[1]) }),
		internalFunction("!add", func(e *evaluation, v []any) (any, error) { return e.add(v[0], v[1]) }),
	)
})

func internalFunction(name string, do func(e *evaluation, v []any) (any, error), signature ...any) expr.Option {
	return expr.Function(name, func(v ...any) (any, error) { return do(v[0].(*evaluation), v[1:]) }, signature...)
}

// ParseExpression parses a filter expression, as --filter takes it: `deaths > 3 and json.user.id == 121`. An error says
// in one sentence what is wrong and where.
func ParseExpression(expression string) (f *Filter, err error) {
	defer func() {
		if r := recover(); r != nil { // of the library
			f, err = nil, errors.New("the filter cannot be read: write it in another way")
		}
	}()

	switch {
	case strings.TrimSpace(expression) == "":
		return nil, errors.New("the filter is empty: write a condition, for example deaths > 3")
	case len(expression) > maxExpression:
		return nil, fmt.Errorf("the filter is %s long: %s is the most", message.Size(int64(len(expression))),
			message.Size(maxExpression))
	}

	// Errors are about the expression itself, with the types of its parts, not about what bounding makes of it.
	if _, err := expr.Compile(expression, language()...); err != nil {
		return nil, expressionError(expression, err)
	}
	bounded := &bounding{}
	program, err := expr.Compile(expression, append(slices.Clone(language()), expr.Patch(bounded))...)
	if bounded.refused != nil {
		err = bounded.refused
	}
	if err != nil {
		return nil, expressionError(expression, err)
	}

	return &Filter{Text: expression, program: program, steps: maxSteps}, nil
}

// namedToken matches a token as the library names it: Operator("==").
var namedToken = regexp.MustCompile(`\b[A-Z]\w+\("(.*)"\)`)

// expressionError makes one sentence of the library's lines.
func expressionError(expression string, err error) error {
	line, _, _ := strings.Cut(err.Error(), "\n")
	if got, ok := strings.CutPrefix(line, "expected bool, but got "); ok {
		return fmt.Errorf("the filter is not a condition: it gives a value (%s), not true or false", model.Printable(got))
	}
	at := (*file.Error)(nil)
	if !errors.As(err, &at) {
		return fmt.Errorf("the filter cannot be read: %s", model.Printable(line))
	}

	line, _, _ = strings.Cut(at.Message, "\n")
	line = namedToken.ReplaceAllString(line, "$1")
	if name, unknown := strings.CutPrefix(line, "unknown name "); unknown {
		known := expressionNames()
		if rest := []rune(expression)[at.From:]; strings.HasPrefix(strings.TrimPrefix(string(rest), name), "(") {
			known = builtins
		}
		line += " (there are " + strings.Join(known, ", ") + ")"
	}

	return fmt.Errorf("the filter cannot be read at character %d: %s", at.From+1, model.Printable(strings.TrimSpace(line)))
}

func expressionNames() []string { return slices.Sorted(slices.Values(fieldNames())) }

func (f *Filter) evaluate(m *message.Message) bool {
	e := &evaluation{ctx: f.ctx, message: m, read: map[int]any{}, steps: f.steps, began: time.Now()}
	machine := vm.VM{MemoryBudget: maxMemory}
	result, err := machine.Run(f.program, e)
	matched, isTruth := result.(bool)

	return err == nil && isTruth && matched
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
