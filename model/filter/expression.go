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
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/file"
	"github.com/expr-lang/expr/types"
	"github.com/expr-lang/expr/vm"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/message"
)

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

// Language is what expressions can name: the fields of messages, or facts.
type Language struct {
	noun, example string // what an expression is called in errors, and one
	fields        []Field
	options       func() []expr.Option
}

// NewLanguage returns a language with these fields.
func NewLanguage(noun, example string, fields []Field) *Language {
	l := &Language{noun: noun, example: example, fields: fields}
	l.options = sync.OnceValue(l.newOptions)
	return l
}

var ofMessages = NewLanguage("filter", "deaths > 3", fields)

// newOptions are the options of the compiler: the fields, the functions, and those that bounding calls.
func (l *Language) newOptions() []expr.Option {
	names := types.Map{}
	for _, f := range l.fields {
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
		internalFunction("!known", func(e *evaluation, v []any) (any, error) {
			return e.known(v[0].(int))
		}, new(func(any, int) bool)),
		internalFunction("!decide", func(e *evaluation, v []any) (any, error) {
			return e.decide(v[0].(int), v[1].(string), v[2].(bool)), nil
		}, new(func(any, int, string, bool) bool)),
		internalFunction("!assumed", func(e *evaluation, _ []any) (any, error) {
			return e.assume, nil
		}, new(func(any) bool)),
		internalFunction("!add", func(e *evaluation, v []any) (any, error) { return e.add(v[0], v[1]) }),
	)
}

func internalFunction(name string, do func(e *evaluation, v []any) (any, error), signature ...any) expr.Option {
	return expr.Function(name, func(v ...any) (any, error) { return do(v[0].(*evaluation), v[1:]) }, signature...)
}

// ParseExpression parses a filter expression, as --filter takes it: `deaths > 3 and json.user.id == 121`. An error says
// in one sentence what is wrong and where.
func ParseExpression(expression string) (*Filter, error) {
	program, _, err := ofMessages.compile(expression)
	if err != nil {
		return nil, err
	}
	return &Filter{Text: expression, program: program, steps: maxSteps}, nil
}

// compile returns the program of an expression, and the fields that it names.
func (l *Language) compile(expression string) (program *vm.Program, uses map[string]bool, err error) {
	defer func() {
		if r := recover(); r != nil { // of the library
			program, err = nil, fmt.Errorf("the %s cannot be read: write it in another way", l.noun)
		}
	}()

	switch {
	case strings.TrimSpace(expression) == "":
		return nil, nil, fmt.Errorf("the %s is empty: write a condition, for example %s", l.noun, l.example)
	case len(expression) > maxExpression:
		return nil, nil, fmt.Errorf("the %s is %s long: %s is the most", l.noun, message.Size(int64(len(expression))),
			message.Size(maxExpression))
	}

	// Errors are about the expression itself, with the types of its parts, not about what bounding makes of it.
	spelled, place := inSeconds(expression)
	if _, err := expr.Compile(spelled, l.options()...); err != nil {
		return nil, nil, l.explain(spelled, place, err)
	}
	bounded := &bounding{fields: l.fields, uses: map[string]bool{}, reads: map[ast.Node]int{}}
	program, err = expr.Compile(spelled, append(slices.Clone(l.options()), expr.Patch(bounded))...)
	if bounded.refused != nil {
		err = bounded.refused
	}
	if err != nil {
		return nil, nil, l.explain(spelled, place, err)
	}

	return program, bounded.uses, nil
}

// durations matches texts in quotes, and durations: 10m, 1.5h.
var durations = regexp.MustCompile("\"(?:\\\\.|[^\"\\\\])*\"|'(?:\\\\.|[^'\\\\])*'|`[^`]*`|" +
	`\b(\d+(?:\.\d+)?)(ms|s|m|h|d)\b`)

// inSeconds replaces durations by their seconds, as all times in expressions are in seconds. place returns where a
// character of the result was.
func inSeconds(expression string) (spelled string, place func(at int) int) {
	units := map[string]float64{"ms": 0.001, "s": 1, "m": 60, "h": 3600, "d": 86400}
	place = func(at int) int { return at }
	var b strings.Builder
	last := 0
	for _, m := range durations.FindAllStringSubmatchIndex(expression, -1) {
		if m[2] < 0 {
			continue
		}
		n, _ := strconv.ParseFloat(expression[m[2]:m[3]], 64)
		seconds := strconv.FormatFloat(n*units[expression[m[4]:m[5]]], 'f', -1, 64)
		b.WriteString(expression[last:m[0]])
		from, growth, before := utf8.RuneCountInString(b.String()), len(seconds)-(m[1]-m[0]), place
		place = func(at int) int {
			if at > from {
				at -= growth
			}
			return before(at)
		}

		b.WriteString(seconds)
		last = m[1]
	}

	return b.String() + expression[last:], place
}

// namedToken matches a token as the library names it: Operator("==").
var namedToken = regexp.MustCompile(`\b[A-Z]\w+\("(.*)"\)`)

// explain makes one sentence of the library's lines.
func (l *Language) explain(spelled string, place func(int) int, err error) error {
	line, _, _ := strings.Cut(err.Error(), "\n")
	if got, ok := strings.CutPrefix(line, "expected bool, but got "); ok {
		return model.Errorf("the %s is not a condition: it gives a value (%v), not true or false", l.noun,
			got)
	}
	at := (*file.Error)(nil)
	if !errors.As(err, &at) {
		return model.Errorf("the %s cannot be read: %v", l.noun, line)
	}

	line, _, _ = strings.Cut(at.Message, "\n")
	line = namedToken.ReplaceAllString(line, "$1")
	if name, unknown := strings.CutPrefix(line, "unknown name "); unknown {
		known := l.names()
		if rest := []rune(spelled)[at.From:]; strings.HasPrefix(strings.TrimPrefix(string(rest), name), "(") {
			known = builtins
		}
		line += " (there are " + strings.Join(known, ", ") + ")"
	}

	return model.Errorf("the %s cannot be read at character %d: %v", l.noun, place(at.From)+1,
		strings.TrimSpace(line))
}

func (l *Language) names() (names []string) {
	for _, f := range l.fields {
		names = append(names, f.Name)
	}
	return slices.Sorted(slices.Values(names))
}

// evaluate reports whether a message surely meets the condition: where a value is unknown, whatever it is. So neither
// `tries > 3` nor `not (tries > 3)` match where the tries are unknown.
func (f *Filter) evaluate(m *message.Message) bool {
	e := &evaluation{
		fields: fields, ctx: f.ctx, message: m, around: f.around, read: map[int]any{}, absent: map[string]bool{},
		steps: f.steps, began: time.Now(),
	}

	matched, _ := e.run(f.program)
	if matched && len(e.absent) > 0 {
		e.assume = true
		matched, _ = e.run(f.program)
	}
	if !matched {
		f.lacks.add(e.absent)
	}

	return matched
}

func (e *evaluation) run(program *vm.Program) (bool, error) {
	machine := vm.VM{MemoryBudget: uint(min(maxMemory, max(e.steps, 1)))}
	result, err := machine.Run(program, e)
	holds, _ := result.(bool)

	return err == nil && holds, err
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
