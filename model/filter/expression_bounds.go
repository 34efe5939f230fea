package filter

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"maps"
	"reflect"
	"slices"
	"time"

	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/file"
	"github.com/expr-lang/expr/vm/runtime"

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
// Comparisons make nothing: they cost steps.
var costs = map[string]int{
	"lower": 4, "upper": 4, "string": 4, "split": 16, "keys": 16, "values": 16, "fromJSON": 48, "max": 1, "min": 1,
	"+": 8, "matches": 8, "pattern": maxBytes / maxExpression,
}

const valueBytes = 24 // of a value in a list, or in a text

// evaluation is the evaluation of an expression on a message.
type evaluation struct {
	fields       []Field
	ctx          context.Context
	message      *message.Message
	around       Around
	read         map[int]any // fields computed so far, by index
	absent       map[string]bool
	assume       bool // what a comparison with an unknown value is
	steps, spent int
	began        time.Time
}

// field computes a field once, when the expression needs it: parsing every body of a long queue takes time.
func (e *evaluation) field(i int) (any, error) {
	v, err := e.value(i)
	if v == nil && e.fields[i].Absent != "" {
		e.absent[e.fields[i].Name] = true
	}
	return plainOf(v), err
}

func (e *evaluation) value(i int) (any, error) {
	if v, known := e.read[i]; known {
		return v, nil
	}

	f := &e.fields[i]
	if f.Name == "json" {
		if err := e.spend(costs["fromJSON"] * len(e.message.Body)); err != nil {
			return nil, err
		}
	}

	var v any
	switch {
	case !f.Around:
		v = f.value(e.message)
	case e.around != nil:
		v = e.around(f.Name, e.message)
	}

	e.read[i] = v
	return v, nil
}

func (e *evaluation) known(i int) (bool, error) {
	v, err := e.field(i)
	return v != nil, err
}

// decide returns the result of a comparison of a field, on its left side; where only a bound of the value is known,
// which does not decide that, what is assumed.
func (e *evaluation) decide(i int, operator string, result bool) bool {
	bound, is := e.read[i].(Bound)
	greater := operator[0] == '>'
	ordering := greater || operator[0] == '<'
	if !is || ordering && result == (greater != bound.Most) {
		return result
	}

	e.absent[e.fields[i].Name] = true
	return e.assume
}

func (e *evaluation) check() error {
	if time.Since(e.began) > maxTime || e.ctx != nil && e.ctx.Err() != nil {
		return errors.New("it takes too long, or is not wanted any more")
	}
	return nil
}

func (e *evaluation) step() error {
	if e.steps--; e.steps < 0 {
		return errors.New("too many steps")
	}
	if e.steps%64 == 0 {
		return e.check()
	}
	return nil
}

func (e *evaluation) spend(bytes int) error {
	if e.spent += bytes; e.spent > maxBytes {
		return errors.New("too much text")
	}
	return nil
}

// cost accounts for going through a value, and for what is made of each of its bytes. A list that is in another one
// several times counts as often: [a, a] in [b, b], and so on, is soon larger than any memory.
func (e *evaluation) cost(each int, v any) error {
	switch v := v.(type) {
	case string:
		return e.spend(each * len(v))
	case []int:
		return e.spend(each * valueBytes * len(v))
	case []string:
		return costOf(e, each, slices.Values(v))
	case []any:
		return costOf(e, each, slices.Values(v))
	case map[string]any:
		if err := costOf(e, each, maps.Keys(v)); err != nil {
			return err
		}
		return costOf(e, each, maps.Values(v))
	}

	return e.spend(each * valueBytes)
}

func costOf[T any](e *evaluation, each int, values iter.Seq[T]) error {
	for v := range values {
		if err := e.step(); err != nil {
			return err
		}
		if err := e.cost(each, v); err != nil {
			return err
		}
	}

	return nil
}

// text accounts for reading a text. It refuses other values.
func (e *evaluation) text(each int, v any) error {
	if _, isText := v.(string); !isText {
		return errors.New("no text")
	}
	return e.cost(each, v)
}

// add returns the operator +, which makes a text as long as both.
func (e *evaluation) add(a, b any) (any, error) {
	if _, isText := a.(string); isText {
		if err := errors.Join(e.cost(costs["+"], a), e.cost(costs["+"], b)); err != nil {
			return nil, err
		}
	}
	return runtime.Add(a, b), nil
}

// bounding makes an expression count its steps and the text that it reads and makes, because the library bounds
// neither, and cannot be interrupted: a loop in a loop over a long list in a body would run for days. Before each
// function, and each comparison of what may be large, it asks whether to go on. It also makes fields computed when they
// are needed, and refuses what it cannot bound.
type bounding struct {
	fields  []Field
	uses    map[string]bool // those that it names
	refused *file.Error
	reads   map[ast.Node]int // fields that may be unknown, by the call that reads them
}

// Visit implements ast.Visitor. It visits children first, and nothing that it made itself.
func (b *bounding) Visit(node *ast.Node) {
	switch n := (*node).(type) {
	case *ast.IdentifierNode:
		if i := slices.IndexFunc(b.fields, func(f Field) bool { return f.Name == n.Value }); i >= 0 {
			b.uses[n.Value] = true
			b.read(node, i)
		} else if n.Value == environment {
			b.refuse(n, "unknown name "+environment)
		}
	case *ast.PredicateNode:
		n.Node = &ast.SequenceNode{Nodes: []ast.Node{internal("!step"), n.Node}}
	case *ast.CallNode:
		name, named := n.Callee.(*ast.IdentifierNode)
		if !named || ownFunctions[name.Value] == nil {
			b.refuse(n, "a value is no function")
			return
		}
		boundCall(node, name.Value, n.Arguments)
	case *ast.BuiltinNode:
		boundCall(node, n.Name, n.Arguments)
	case *ast.BinaryNode:
		b.operator(node, n)
	}
}

// read makes a name read a field. A truth that is unknown is what evaluation.assume says.
func (b *bounding) read(node *ast.Node, i int) {
	f := &b.fields[i]
	field := &ast.IntegerNode{Value: i}
	replace(node, internal("!field "+f.Type, field))
	switch {
	case f.Absent == "":
	case f.Type == "true or false":
		replace(node, &ast.ConditionalNode{Cond: internal("!known", field), Exp1: *node, Exp2: internal("!assumed")})
	default:
		b.reads[*node] = i
	}
}

// operator bounds an operator, and guards a comparison with a field that may be unknown.
func (b *bounding) operator(node *ast.Node, n *ast.BinaryNode) {
	sides := [...]ast.Node{n.Left, n.Right}
	operators := [...]string{n.Operator, cmp.Or(mirrored[n.Operator], n.Operator)}
	boundOperator(node, n)
	for side, of := range sides {
		_, ofNil := sides[1-side].(*ast.NilNode)
		if i, may := b.reads[of]; may && !ofNil && !slices.Contains(notComparing, n.Operator) {
			guard(node, i, operators[side])
		}
	}
}

// mirrored are comparisons with their sides changed; others stay what they are.
var mirrored = map[string]string{"<": ">", ">": "<", "<=": ">=", ">=": "<="}

var notComparing = []string{"and", "&&", "or", "||", "??", "+", "-", "*", "/", "%", "**", "^", ".."}

// guard makes a comparison with a field that is unknown what evaluation.assume says.
func guard(node *ast.Node, i int, operator string) {
	field := &ast.IntegerNode{Value: i}
	replace(node, &ast.ConditionalNode{
		Cond: internal("!known", field),
		Exp1: internal("!decide", field, &ast.StringNode{Value: operator}, *node),
		Exp2: internal("!assumed"),
	})
}

func (b *bounding) refuse(n ast.Node, words string) {
	if b.refused == nil {
		b.refused = &file.Error{Location: n.Location(), Message: words}
	}
}

func boundCall(node *ast.Node, name string, arguments []ast.Node) {
	for i := range arguments {
		if costs[name] > 0 {
			arguments[i] = costing(name, arguments[i])
		}
	}
	if name == "trim" && len(arguments) == 2 { // as slow as the product of both, when they are not ASCII
		arguments[1] = pattern(arguments[1])
	}
	replace(node, checked(*node))
}

func boundOperator(node *ast.Node, n *ast.BinaryNode) {
	switch n.Operator {
	case "and", "&&", "or", "||", "??":
		return // their time is that of what they connect
	case "contains", "startsWith", "endsWith":
		n.Left, n.Right = text(n.Operator, n.Left), text(n.Operator, n.Right)
	case "matches":
		n.Left, n.Right = text(n.Operator, n.Left), pattern(n.Right)
	case "==", "!=", "in":
		if maybe(n.Left, reflect.Slice, reflect.Map) && maybe(n.Right, reflect.Slice, reflect.Map) {
			n.Left = costing(n.Operator, n.Left)
			n.Right = costing(n.Operator, n.Right)
		}
	}

	large := []reflect.Kind{reflect.String, reflect.Slice, reflect.Map}
	switch {
	case !maybe(n.Left, large...) || !maybe(n.Right, large...):
	case n.Operator == "+":
		replace(node, internal("!add", n.Left, n.Right))
	default:
		replace(node, checked(n))
	}
}

// replace puts a node in place of another one, with its type, which decides what may be large.
func replace(node *ast.Node, with ast.Node) {
	with.SetNature(*(*node).Nature())
	ast.Patch(node, with)
}

// environment is the library's name for the evaluation, which it is given as the environment.
const environment = "$env"

// internal returns a call of a function that expressions cannot name, with the evaluation as its first argument.
func internal(name string, arguments ...ast.Node) ast.Node {
	evaluation := &ast.IdentifierNode{Value: environment}
	return &ast.CallNode{
		Callee: &ast.IdentifierNode{Value: name}, Arguments: append([]ast.Node{evaluation}, arguments...),
	}
}

func checked(n ast.Node) ast.Node {
	return &ast.SequenceNode{Nodes: []ast.Node{internal("!check"), n}}
}

func costing(what string, v ast.Node) ast.Node {
	return internal("!cost", &ast.IntegerNode{Value: costs[what]}, v)
}

// text returns a value that fails when it is no text. To the library nil contains nothing, so that not (nil contains
// "a") is true: a filter that was not written for a message would match it.
func text(what string, v ast.Node) ast.Node {
	if costs[what] == 0 && v.Type().Kind() == reflect.String {
		return v
	}
	return internal("!text", &ast.IntegerNode{Value: costs[what]}, v)
}

func pattern(v ast.Node) ast.Node {
	if _, constant := v.(*ast.StringNode); constant {
		return v
	}
	return text("pattern", v)
}

// maybe reports whether a value may be of one of these kinds. Fields of JSON may be of any.
func maybe(n ast.Node, kinds ...reflect.Kind) bool {
	return slices.Contains(append(kinds, reflect.Interface), n.Type().Kind())
}
