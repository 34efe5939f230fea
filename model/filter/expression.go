package filter

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/file"
	"github.com/expr-lang/expr/vm"
	"github.com/expr-lang/expr/vm/runtime"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/message"
)

// expressionEnv is what an expression can ask of a message.
type expressionEnv struct {
	Body           string         `expr:"body"`
	JSON           any            `expr:"json"` // the parsed body; nil when it is not JSON
	Headers        map[string]any `expr:"headers"`
	Exchange       string         `expr:"exchange"`
	RoutingKey     string         `expr:"routing_key"`
	MessageID      string         `expr:"message_id"`
	CorrelationID  string         `expr:"correlation_id"`
	ContentType    string         `expr:"content_type"`
	Type           string         `expr:"type"`
	AppID          string         `expr:"app_id"`
	Priority       int            `expr:"priority"`
	Expiration     string         `expr:"expiration"`
	Size           int            `expr:"size"`   // bytes of the body
	Deaths         int            `expr:"deaths"` // all of x-death together
	Reason         string         `expr:"reason"` // of the newest death
	Failure        string         `expr:"failure"`
	FailureKind    string         `expr:"failure_kind"`
	FailureMessage string         `expr:"failure_message"`
	Redelivered    bool           `expr:"redelivered"`
	Age            any            `expr:"age"` // seconds since it was published; nil when that is unknown
	Position       int            `expr:"position"`

	// These are put into expressions by bounded: see there.
	Step  func() bool                  `expr:"__step"`
	Check func() bool                  `expr:"__check"`
	Read  func(cost int, v any) any    `expr:"__read"`
	Add   func(cost int, a, b any) any `expr:"__add"`
}

// The bounds of an expression on one message.
const (
	maxExpression = 4096       // bytes of its text
	maxNodes      = 1000       // of its tree
	maxSteps      = 10_000_000 // iterations of any, all, count…
	maxMemory     = 10_000_000 // values in lists that it makes
	maxBytes      = 512 << 20  // of memory for what functions make of text, as costs has it
	maxTime       = 2 * time.Second
)

// costs are how many bytes each byte of a text may become: a JSON of empty objects grows most. To match takes no
// memory, and 30 ns for each byte, in which nothing interrupts it. A pattern that is not a constant has as many bytes
// as an expression.
var costs = map[string]int{
	"lower": 4, "upper": 4, "string": 4, "split": 16, "keys": 16, "values": 16, "fromJSON": 48,
	"+": 8, "matches": 8, "pattern": maxBytes / maxExpression,
}

// builtins are the functions of expressions. What they make is never larger than what they get: repeat, replace, join
// and their like can turn a small body into terabytes.
var builtins = []string{
	"all", "any", "none", "one", "count", "filter", "find", "findIndex", "sum",
	"len", "abs", "ceil", "floor", "round", "int", "float", "string", "trim", "trimPrefix", "trimSuffix", "upper", "lower",
	"split", "indexOf", "lastIndexOf", "hasPrefix", "hasSuffix", "max", "min", "first", "last", "get", "keys", "values",
	"fromJSON", "now", "duration", "date",
}

// ParseExpression reads a filter expression, as --filter takes it: `deaths > 3 and json.user.id == 121`. An error says
// in one sentence what is wrong and where.
func ParseExpression(expression string) (f *Filter, err error) {
	defer func() {
		if r := recover(); r != nil {
			f, err = nil, fmt.Errorf("the filter cannot be read: %v", r)
		}
	}()
	switch {
	case strings.TrimSpace(expression) == "":
		return nil, errors.New("the filter is empty: write a condition, for example deaths > 3")
	case len(expression) > maxExpression:
		return nil, fmt.Errorf("the filter is %s long: %s is the most", message.Size(int64(len(expression))),
			message.Size(maxExpression))
	}
	visitor := &bounded{uses: map[string]bool{}}
	options := []expr.Option{
		expr.Env(expressionEnv{}), expr.AsBool(), expr.MaxNodes(maxNodes), expr.Patch(visitor), expr.DisableAllBuiltins(),
	}
	for _, name := range builtins {
		options = append(options, expr.EnableBuiltin(name))
	}
	program, err := expr.Compile(expression, options...)
	if err != nil {
		return nil, expressionError(err)
	}
	return &Filter{Text: expression, Program: program, uses: visitor.uses, steps: maxSteps}, nil
}

// expressionError makes one sentence of what the compiler says over several lines.
func expressionError(err error) error {
	var at *file.Error
	if !errors.As(err, &at) {
		line, _, _ := strings.Cut(err.Error(), "\n")
		if got, ok := strings.CutPrefix(line, "expected bool, but got "); ok {
			return fmt.Errorf("the filter is not a condition: it gives a value (%s), not true or "+
				"false", model.Printable(got))
		}
		return fmt.Errorf("the filter cannot be read: %s", model.Printable(line))
	}
	line, _, _ := strings.Cut(at.Message, "\n")
	hint := ""
	if strings.HasPrefix(line, "unknown name") {
		hint = " (there are " + strings.Join(expressionNames(), ", ") + ")"
	}
	return fmt.Errorf("the filter cannot be read at character %d: %s%s", at.From+1, model.Printable(line), hint)
}

func expressionNames() []string {
	var names []string
	t := reflect.TypeFor[expressionEnv]()
	for i := range t.NumField() {
		if name := t.Field(i).Tag.Get("expr"); !strings.HasPrefix(name, "__") {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// bounded makes an expression count its steps and the text that it reads and puts together, because the library bounds
// neither: a loop in a loop over a long list in a body would run for days, and text doubled forty times ends the
// program. Before each function, and each comparison of what may be large, it asks whether to go on. It also notes the
// names that the expression uses.
type bounded struct{ uses map[string]bool }

// Visit implements ast.Visitor.
func (b *bounded) Visit(node *ast.Node) {
	switch n := (*node).(type) {
	case *ast.IdentifierNode:
		b.uses[n.Value] = true
	case *ast.PredicateNode:
		step := &ast.CallNode{Callee: &ast.IdentifierNode{Value: "__step"}}
		n.Node = &ast.SequenceNode{Nodes: []ast.Node{step, n.Node}}
	case *ast.BuiltinNode:
		if costs[n.Name] > 0 && len(n.Arguments) > 0 {
			n.Arguments[0] = costing("__read", n.Name, n.Arguments[0])
		}
		ast.Patch(node, checked(n))
	case *ast.BinaryNode:
		switch {
		case slices.Contains(connectives, n.Operator), !maybeLarge(n.Left), !maybeLarge(n.Right):
		case n.Operator == "+":
			ast.Patch(node, costing("__add", n.Operator, n.Left, n.Right))
		default:
			if n.Operator == "matches" {
				n.Left = costing("__read", n.Operator, n.Left)
				if _, constant := n.Right.(*ast.StringNode); !constant {
					n.Right = costing("__read", "pattern", n.Right)
				}
			}
			ast.Patch(node, checked(n))
		}
	}
}

// connectives are operators whose time is that of what they connect.
var connectives = []string{"and", "&&", "or", "||", "??"}

func checked(n ast.Node) ast.Node {
	check := &ast.CallNode{Callee: &ast.IdentifierNode{Value: "__check"}}
	return &ast.SequenceNode{Nodes: []ast.Node{check, n}}
}

func costing(name, what string, values ...ast.Node) ast.Node {
	cost := &ast.IntegerNode{Value: costs[what]}
	return &ast.CallNode{Callee: &ast.IdentifierNode{Value: name}, Arguments: append([]ast.Node{cost}, values...)}
}

// maybeLarge reports whether a value may be a text, a list or a table.
func maybeLarge(n ast.Node) bool {
	t := n.Type()
	large := []reflect.Kind{reflect.String, reflect.Interface, reflect.Slice, reflect.Map}
	return t == nil || slices.Contains(large, t.Kind())
}

func (f *Filter) evaluate(m *message.Message) bool {
	steps, spent, began := 0, 0, time.Now()
	spend := func(cost, n int) {
		if spent += cost * n; spent > maxBytes {
			panic("too much text")
		}
	}
	if f.uses["$env"] || f.uses["json"] {
		spend(costs["fromJSON"], len(m.Body))
	}
	env := f.env(m)
	env.Check = func() bool {
		if time.Since(began) > maxTime || f.ctx != nil && f.ctx.Err() != nil {
			panic("it takes too long, or is not wanted any more")
		}
		return true
	}
	env.Step = func() bool {
		if steps++; steps > f.steps {
			panic("too many steps")
		}
		return steps%64 != 0 || env.Check()
	}
	env.Read = func(cost int, v any) any {
		switch v := v.(type) {
		case string:
			spend(cost, len(v))
		case []any, map[string]any: // as the body has them
			spend(cost, len(m.Body))
		}
		return v
	}
	env.Add = func(cost int, a, b any) any {
		left, ok1 := a.(string)
		right, ok2 := b.(string)
		if !ok1 || !ok2 {
			return runtime.Add(a, b)
		}
		spend(cost, len(left)+len(right))
		return left + right
	}
	machine := vm.VM{MemoryBudget: maxMemory}
	result, err := machine.Run(f.Program, env)
	matched, ok := result.(bool)
	return err == nil && ok && matched
}

// env works out what the expression uses: parsing every body of a long queue takes its time.
func (f *Filter) env(m *message.Message) expressionEnv {
	p := &m.Properties
	env := expressionEnv{
		Exchange: m.Exchange, RoutingKey: m.RoutingKey, MessageID: p.MessageID, CorrelationID: p.CorrelationID,
		ContentType: p.ContentType, Type: p.Type, AppID: p.AppID, Priority: int(p.Priority), Expiration: p.Expiration,
		Size: max(m.BodyBytes, len(m.Body)), Deaths: int(min(m.DeathCount(), math.MaxInt)),
		Redelivered: m.Redelivered, Position: m.Position,
	}
	if len(m.Deaths) > 0 {
		env.Reason = string(m.Deaths[0].Reason)
	}
	all := f.uses["$env"]
	if all || f.uses["body"] {
		env.Body = string(m.Body)
	}
	if all || f.uses["json"] {
		env.JSON = parseJSON(m.Body)
	}
	if all || f.uses["headers"] {
		env.Headers, _ = plainValue(m.Headers, 0).(map[string]any)
	}
	if all || f.uses["failure"] || f.uses["failure_kind"] || f.uses["failure_message"] {
		failure, _ := m.Failure()
		env.Failure, env.FailureKind, env.FailureMessage = failure.String(), failure.Kind, failure.Message
	}
	if published, ok := m.PublishedAt(); ok {
		env.Age = time.Since(published).Seconds()
	}
	return env
}

// parseJSON reads a body, whole numbers as integers: identifiers beyond 2^53 must not be rounded.
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

// plainValue turns a header's value into the types that expressions compare: int, float64, string, bool, time, list,
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
