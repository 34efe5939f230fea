package filter

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/dlxtop/dlxtop/model"
)

// kind is what is known about a value before there is a message.
type kind string

const (
	anything kind = "any"
	null     kind = "nil"
	truth    kind = "bool"
	whole    kind = "int"
	number   kind = "float"
	text     kind = "string"
	list     kind = "list"
	table    kind = "map"
	moment   kind = "time"
	span     kind = "duration"
)

// may reports whether a value of a kind can be one of others.
func (k kind) may(others ...kind) bool {
	return k == anything || slices.Contains(others, k) || slices.Contains(others, anything) ||
		k == whole && slices.Contains(others, number)
}

// term is a compiled part of an expression. The language is that of expr-lang.org, except for what docs/expressions.md
// lists. Its own virtual machine finds methods by name: the linker then keeps every method of every type, which with
// the machine itself took 3.6 MB of 27.
type term struct {
	kind     kind
	value    func(*evaluation) any
	constant any   // a literal; otherwise nil
	compared *term // for a comparison: its right side
	at       int   // where it begins
}

// token is a token of an expression. kind: 0 the end, 'n' a name, '1' a number, 's' a text, 'o' an operator.
type token struct {
	kind rune
	text string
	at   int
}

// mistake is an error in an expression, with its position.
type mistake struct {
	at    int
	words string
}

func (m *mistake) Error() string {
	return fmt.Sprintf("the filter cannot be read at character %d: %s", m.at+1, model.Printable(m.words))
}

// tokenForms match a name, a number, a text and an operator. A number after a name or a bracket begins with a digit.
var tokenForms = []struct {
	kind rune
	form *regexp.Regexp
}{
	{' ', regexp.MustCompile(`^(?:\s+|//[^\n]*|/\*(?s:.*?)\*/)`)},
	{'n', regexp.MustCompile(`^[\pL_$][\pL\pN_$]*`)},
	{'1', regexp.MustCompile(`^(?:0[xX][0-9a-fA-F_]+|(?:[0-9][0-9_]*(?:\.[0-9][0-9_]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)`)},
	{'s', regexp.MustCompile("^(?s:\"(?:[^\"\\\\]|\\\\.)*\"|'(?:[^'\\\\]|\\\\.)*'|`[^`]*`)")},
	{'o', regexp.MustCompile(`^(?:[=!<>]=|&&|\|\||\?\?|\?\.|\?:|\.\.|\*\*|[-<>!+*/%^|?:()\[\]{},;.#=])`)},
}

// tokensOf splits an expression into tokens.
func tokensOf(s string) (tokens []token) {
	for at := 0; at < len(s); {
		t := token{at: at}
		for _, f := range tokenForms {
			if t.text = f.form.FindString(s[at:]); t.text != "" {
				t.kind = f.kind
				break
			}
		}
		last := token{}
		if len(tokens) > 0 {
			last = tokens[len(tokens)-1]
		}
		switch {
		case t.kind == 0:
			r, _ := utf8.DecodeRuneInString(s[at:])
			panic(&mistake{at, fmt.Sprintf("unexpected character %q", r)})
		case t.kind == 'n' && slices.Contains(expressionWords, t.text):
			t.kind = 'o'
		case t.kind == '1' && t.text[0] == '.' && (last.kind == 'n' || strings.ContainsAny(last.text, ")]}#")):
			t.kind, t.text = 'o', "."
		}
		at += len(t.text)
		if t.kind == 's' {
			t.text = unquote(t)
		}
		if t.kind != ' ' {
			tokens = append(tokens, t)
		}
	}
	return append(tokens, token{text: "EOF", at: max(len(s)-1, 0)})
}

func unquote(t token) string {
	quote, rest := t.text[0], t.text[1:len(t.text)-1]
	if quote == '`' {
		return rest
	}
	var b strings.Builder
	for rest != "" {
		if rest[0] != '\\' || rest[1] == '"' || rest[1] == '\'' {
			rest = strings.TrimPrefix(rest, "\\")
			b.WriteByte(rest[0])
			rest = rest[1:]
			continue
		}
		r, multibyte, tail, err := strconv.UnquoteChar(rest, quote)
		if err != nil {
			panic(&mistake{t.at + len(t.text) - 1 - len(rest), "unknown escape in a text"})
		}
		if rest = tail; multibyte {
			b.WriteRune(r)
		} else {
			b.WriteByte(byte(r))
		}
	}
	return b.String()
}

// parser parses and compiles an expression in one pass.
type parser struct {
	tokens []token
	names  []string // of variables, by slot; "#" is an element of a list
	most   int      // the highest number of names
	terms  int
}

func (p *parser) wrong(at int, format string, values ...any) {
	panic(&mistake{at, fmt.Sprintf(format, values...)})
}

// is consumes the next token if it is this operator.
func (p *parser) is(symbol string) bool {
	t := p.tokens[0]
	if t.kind == 'o' && t.text == symbol {
		p.tokens = p.tokens[1:]
		return true
	}
	return false
}

func (p *parser) take(symbol string) {
	if t := p.tokens[0]; !p.is(symbol) {
		p.wrong(t.at, "unexpected token %s, where %s is to come", t.text, symbol)
	}
}

// name consumes a name, which after a dot may also be an operator.
func (p *parser) name() string {
	t := p.tokens[0]
	if t.kind != 'n' && !slices.Contains(expressionWords, t.text) {
		p.wrong(t.at, "unexpected token %s, where a name is to come", t.text)
	}
	p.tokens = p.tokens[1:]
	return t.text
}

// with compiles a part in which one more variable is in scope.
func (p *parser) with(name string, read func() term) (term, int) {
	place := len(p.names)
	p.names = append(p.names, name)
	p.most = max(p.most, len(p.names))
	t := read()
	p.names = p.names[:place]
	return t, place
}

// block is an expression with preceding variables: let n = 1; n > 0
func (p *parser) block() term {
	t := p.tokens[0]
	if t.kind != 'n' || t.text != "let" {
		return p.expression(0)
	}
	p.tokens = p.tokens[1:]
	name := p.name()
	p.take("=")
	is := p.expression(0)
	p.take(";")
	body, place := p.with(name, p.block)
	return term{kind: body.kind, at: t.at, value: func(e *evaluation) any {
		e.variables[place] = is.value(e)
		return body.value(e)
	}}
}

// precedences are those of binary operators.
var precedences = map[string]int{
	"|": 0, "or": 10, "||": 10, "and": 15, "&&": 15, "==": 20, "!=": 20, "<": 20, ">": 20, "<=": 20, ">=": 20, "in": 20,
	"matches": 20, "contains": 20, "startsWith": 20, "endsWith": 20, "..": 25, "+": 30, "-": 30, "*": 60, "/": 60, "%": 60,
	"**": 100, "^": 100, "??": 500,
}

const (
	ofNot  = 50
	ofSign = 90
)

// expression parses operators of at least this precedence.
func (p *parser) expression(least int) term {
	left := p.prefix()
	for {
		t := p.tokens[0]
		negated := t.kind == 'o' && t.text == "not"
		if negated {
			t = p.tokens[1]
		}
		precedence, known := precedences[t.text]
		if t.kind != 'o' || !known || precedence < least {
			break
		}
		if p.tokens = p.tokens[1:]; negated {
			p.tokens = p.tokens[1:]
		}
		if t.text == "|" {
			left = p.postfix(p.call(p.tokens[0].at, p.name(), &left))
			continue
		}
		next := precedence + 1
		if t.text == "**" || t.text == "^" {
			next = precedence
		}
		left = p.binary(t, left, p.expression(next))
		if negated {
			left = not(left)
		}
	}
	if least > 0 {
		return left
	}
	switch {
	case p.is("?:"):
		other := p.expression(0)
		return choice(left, left, other)
	case p.is("?"):
		p.condition(left, "?")
		yes := p.expression(0)
		p.take(":")
		return choice(left, yes, p.expression(0))
	}
	return left
}

func choice(condition, yes, other term) term {
	k := yes.kind
	if other.kind != k {
		k = anything
	}
	return term{kind: k, at: condition.at, value: func(e *evaluation) any {
		if condition.value(e).(bool) {
			return yes.value(e)
		}
		return other.value(e)
	}}
}

func not(t term) term {
	return term{kind: truth, at: t.at, value: func(e *evaluation) any { return !t.value(e).(bool) }}
}

func (p *parser) condition(t term, operator string) {
	if !t.kind.may(truth) {
		p.wrong(t.at, "invalid operation: %s (mismatched type %s)", operator, t.kind)
	}
}

// prefix parses a unary operator, or a value.
func (p *parser) prefix() term {
	t := p.tokens[0]
	switch {
	case p.is("not"), p.is("!"):
		of := p.expression(ofNot)
		p.condition(of, t.text)
		return not(of)
	case p.is("-"), p.is("+"):
		of := p.expression(ofSign)
		if !of.kind.may(number, span) {
			p.wrong(t.at, "invalid operation: %s (mismatched type %s)", t.text, of.kind)
		}
		return term{kind: of.kind, at: t.at, value: func(e *evaluation) any { return signed(t.text, of.value(e)) }}
	}
	return p.postfix(p.primary())
}

// primary parses a value without operators.
func (p *parser) primary() term {
	if p.terms++; p.terms > maxNodes {
		p.wrong(p.tokens[0].at, "it has more than %d values", maxNodes)
	}
	t := p.tokens[0]
	switch t.kind {
	case '1':
		p.tokens = p.tokens[1:]
		return p.number(t)
	case 's':
		p.tokens = p.tokens[1:]
		return fixed(text, t.text, t.at)
	case 'n':
		return p.named(t)
	}
	switch {
	case p.is("("):
		inner := p.block()
		p.take(")")
		return inner
	case p.is("["):
		values := p.several("]")
		return term{kind: list, at: t.at, value: func(e *evaluation) any { return e.all(values) }}
	case p.is("{"):
		return p.table(t.at)
	case p.is("#"):
		return p.variable("#", t)
	case t.text == ".":
		return p.variable("#", t)
	}
	p.wrong(t.at, "unexpected token %s", t.text)
	return term{}
}

func fixed(k kind, value any, at int) term {
	return term{kind: k, at: at, constant: value, value: func(*evaluation) any { return value }}
}

func (p *parser) number(t token) term {
	if n, err := strconv.ParseInt(t.text, 0, 0); err == nil {
		return fixed(whole, int(n), t.at)
	}
	n, err := strconv.ParseFloat(strings.ReplaceAll(t.text, "_", ""), 64)
	if err != nil {
		p.wrong(t.at, "%s is no number", t.text)
	}
	return fixed(number, n, t.at)
}

// named parses what begins with a name.
func (p *parser) named(t token) term {
	p.tokens = p.tokens[1:]
	if next := p.tokens[0]; next.kind == 'o' && next.text == "(" {
		return p.call(t.at, t.text, nil)
	}
	switch t.text {
	case "true", "false":
		return fixed(truth, t.text == "true", t.at)
	case "nil":
		return fixed(null, nil, t.at)
	}
	if slices.Contains(p.names, t.text) {
		return p.variable(t.text, t)
	}
	i := slices.IndexFunc(fields, func(f Field) bool { return f.Name == t.text })
	if i < 0 {
		p.wrong(t.at, "unknown name %s (there are %s)", t.text, strings.Join(expressionNames(), ", "))
	}
	return term{kind: fields[i].kind, at: t.at, value: func(e *evaluation) any { return e.field(i) }}
}

// variable is the innermost variable of a name.
func (p *parser) variable(name string, t token) term {
	for place := len(p.names) - 1; place >= 0; place-- {
		if p.names[place] == name {
			return term{kind: anything, at: t.at, value: func(e *evaluation) any { return e.variables[place] }}
		}
	}
	p.wrong(t.at, "unexpected token %s", t.text)
	return term{}
}

// several parses values up to the end of their list.
func (p *parser) several(end string) (values []term) {
	for !p.is(end) {
		values = append(values, p.expression(0))
		if p.is(end) {
			break
		}
		p.take(",")
	}
	return values
}

func (p *parser) table(at int) term {
	values := map[string]term{}
	for !p.is("}") {
		key := p.tokens[0].text
		if p.tokens[0].kind == 's' {
			p.tokens = p.tokens[1:]
		} else {
			key = p.name()
		}
		p.take(":")
		if values[key] = p.expression(0); !p.is(",") {
			p.take("}")
			break
		}
	}
	keys := slices.Sorted(maps.Keys(values))
	return term{kind: table, at: at, value: func(e *evaluation) any {
		made := map[string]any{}
		for _, key := range keys {
			e.step()
			made[key] = values[key].value(e)
		}
		return made
	}}
}

// nothing is the value of an optional member of nil, until its chain of members ends.
type nothing struct{}

// postfix parses members and elements: .name ?.name [1] [1:2]
func (p *parser) postfix(of term) term {
	optional := false
	for {
		t, from := p.tokens[0], of
		at := from.at
		var read func(*evaluation, any) any
		switch {
		case p.is("."), p.is("?."):
			if p.is("[") {
				read = p.element()
				break
			}
			name := p.name()
			read = func(_ *evaluation, v any) any { return v.(map[string]any)[name] }
			if !from.kind.may(table) {
				p.wrong(t.at, "type %s has no member %s", from.kind, name)
			}
		case p.is("["):
			if !from.kind.may(list, table, text) {
				p.wrong(t.at, "type %s has no elements", from.kind)
			}
			read = p.element()
		case optional:
			return term{kind: anything, at: at, value: func(e *evaluation) any {
				v := from.value(e)
				if v == (nothing{}) {
					return nil
				}
				return v
			}}
		default:
			return of
		}
		skips := t.text == "?."
		optional = optional || skips
		of = term{kind: anything, at: at, value: func(e *evaluation) any {
			v := from.value(e)
			if v == any(nothing{}) || v == nil && skips {
				return nothing{}
			}
			return read(e, v)
		}}
	}
}

// element parses an index or a slice in brackets.
func (p *parser) element() func(*evaluation, any) any {
	var first, end *term
	slice := p.is(":")
	if !slice {
		t := p.expression(0)
		first, slice = &t, p.is(":")
	}
	if !p.is("]") {
		if !slice {
			p.take("]")
		}
		t := p.expression(0)
		end = &t
		p.take("]")
	}
	if !slice {
		return func(e *evaluation, v any) any { return element(v, first.value(e)) }
	}
	return func(e *evaluation, v any) any {
		from, to := 0, length(v)
		if end != nil {
			to = end.value(e).(int)
		}
		if first != nil {
			from = first.value(e).(int)
		}
		return part(v, from, to)
	}
}

// call parses the arguments of a function. first: the value that was piped into it.
func (p *parser) call(at int, name string, first *term) term {
	p.take("(")
	f, known := functions[name]
	if !known {
		p.wrong(at, "unknown name %s (there are %s)", name, strings.Join(builtins, ", "))
	}
	var arguments []term
	if first != nil {
		arguments = append(arguments, *first)
	}
	place := -1
	for !p.is(")") {
		var t term
		if f.each != nil && len(arguments) == 1 {
			t, place = p.with("#", p.predicate)
		} else {
			t = p.expression(0)
		}
		if arguments = append(arguments, t); p.is(")") {
			break
		}
		p.take(",")
	}
	if n := len(arguments); n < f.least || n > f.most {
		p.wrong(at, "%s takes %d arguments, not %d", name, max(f.least, min(n, f.most)), n)
	}
	for i, a := range arguments {
		if takes := f.takes[min(i, len(f.takes)-1)]; !a.kind.may(takes...) {
			p.wrong(a.at, "invalid argument for %s (type %s)", name, a.kind)
		}
	}
	return term{kind: f.gives, at: at, value: func(e *evaluation) any {
		e.check()
		if f.each == nil {
			values := make([]any, len(arguments))
			for i := range arguments {
				values[i] = arguments[i].value(e)
			}
			e.spendOn(costs[name], values...)
			return f.do(e, values)
		}
		of := arguments[0].value(e).([]any)
		return f.each(e, of, func(v any) any {
			e.step()
			if place >= 0 {
				e.variables[place] = v
				v = arguments[1].value(e)
			}
			return v
		})
	}}
}

// predicate parses the condition for each element: {# > 1}, or without the braces.
func (p *parser) predicate() term {
	if !p.is("{") {
		return p.expression(0)
	}
	t := p.block()
	p.take("}")
	return t
}
