package filter

import (
	"math"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/dlxtop/dlxtop/model/message"
)

// evaluation is the evaluation of an expression on a message. An error ends it with a panic, from which Match recovers.
type evaluation struct {
	filter       *Filter
	message      *message.Message
	variables    []any
	read         map[int]any // fields computed so far, by index
	steps, spent int
	began        time.Time
}

// field computes a field once, when the expression needs it: parsing every body of a long queue takes time.
func (e *evaluation) field(i int) any {
	v, known := e.read[i]
	if !known {
		if fields[i].Name == "json" {
			e.spend(costs["fromJSON"] * len(e.message.Body))
		}
		v = fields[i].value(e.message)
		e.read[i] = v
	}
	return v
}

func (e *evaluation) check() {
	if time.Since(e.began) > maxTime || e.filter.ctx != nil && e.filter.ctx.Err() != nil {
		panic("it takes too long, or is not wanted any more")
	}
}

func (e *evaluation) step() {
	if e.steps++; e.steps > e.filter.steps {
		panic("too many steps")
	}
	if e.steps%64 == 0 {
		e.check()
	}
}

func (e *evaluation) spend(bytes int) {
	if e.spent += bytes; e.spent > maxBytes {
		panic("too much text")
	}
}

// spendOn accounts for making something from values. Lists and tables are at most as large as the body.
func (e *evaluation) spendOn(cost int, values ...any) {
	if cost == 0 {
		return
	}
	for _, v := range values[:min(len(values), 1)] {
		switch v := v.(type) {
		case string:
			e.spend(cost * len(v))
		case []any, map[string]any:
			e.spend(cost * len(e.message.Body))
		}
	}
}

// all evaluates terms into a list.
func (e *evaluation) all(terms []term) []any {
	e.spend(valueBytes * len(terms))
	values := make([]any, len(terms))
	for i := range terms {
		e.step()
		values[i] = terms[i].value(e)
	}
	return values
}

// operators have the kind of their result, and the kinds of their operands.
var operators = map[string]struct {
	gives kind
	takes []kind
	do    func(e *evaluation, a, b any) any
}{
	"==":         {truth, []kind{anything}, func(e *evaluation, a, b any) any { return e.equal(a, b) }},
	"!=":         {truth, []kind{anything}, func(e *evaluation, a, b any) any { return !e.equal(a, b) }},
	"<":          {truth, ordered, func(_ *evaluation, a, b any) any { return compare(a, b) < 0 }},
	"<=":         {truth, ordered, func(_ *evaluation, a, b any) any { return compare(a, b) <= 0 }},
	">":          {truth, ordered, func(_ *evaluation, a, b any) any { return compare(a, b) == 1 }},
	">=":         {truth, ordered, func(_ *evaluation, a, b any) any { c := compare(a, b); return c == 0 || c == 1 }},
	"in":         {truth, nil, (*evaluation).in},
	"contains":   {truth, texts, func(_ *evaluation, a, b any) any { return strings.Contains(a.(string), b.(string)) }},
	"startsWith": {truth, texts, func(_ *evaluation, a, b any) any { return strings.HasPrefix(a.(string), b.(string)) }},
	"endsWith":   {truth, texts, func(_ *evaluation, a, b any) any { return strings.HasSuffix(a.(string), b.(string)) }},
	"..":         {list, []kind{whole}, (*evaluation).between},
	"+":          {anything, []kind{number, text, moment, span}, (*evaluation).add},
	"-":          {anything, []kind{number, moment, span}, func(_ *evaluation, a, b any) any { return subtract(a, b) }},
	"*":          {anything, []kind{number, span}, func(_ *evaluation, a, b any) any { return multiply(a, b) }},
	"/":          {number, []kind{number}, func(_ *evaluation, a, b any) any { return float(a) / float(b) }},
	"%":          {whole, []kind{whole}, func(_ *evaluation, a, b any) any { return a.(int) % b.(int) }},
	"**":         {number, []kind{number}, func(_ *evaluation, a, b any) any { return math.Pow(float(a), float(b)) }},
}

var (
	ordered = []kind{number, text, moment, span}
	texts   = []kind{text}
)

// binary compiles a binary operator.
func (p *parser) binary(t token, a, b term) term {
	op := t.text
	for other, name := range map[string]string{"&&": "and", "||": "or", "^": "**"} {
		if op == other {
			op = name
		}
	}
	made := term{at: a.at}
	mismatch := func(wrong bool) {
		if wrong {
			p.wrong(t.at, "invalid operation: %s (mismatched types %s and %s)", t.text, a.kind, b.kind)
		}
	}
	switch op {
	case "and", "or":
		mismatch(!a.kind.may(truth) || !b.kind.may(truth))
		made.kind, made.value = truth, func(e *evaluation) any {
			if a.value(e).(bool) == (op == "or") {
				return op == "or"
			}
			return b.value(e).(bool)
		}
		return made
	case "??":
		made.kind, made.value = anything, func(e *evaluation) any {
			if v := a.value(e); v != nil {
				return v
			}
			return b.value(e)
		}
		return made
	case "matches":
		mismatch(!a.kind.may(text) || !b.kind.may(text))
		return p.matching(made, a, b)
	}
	if c := a.compared; c != nil && slices.Contains(comparisons, op) { // 1 < n < 5
		rest := p.binary(t, *c, b)
		return p.binary(token{'o', "and", t.at}, a, rest)
	}
	o := operators[op]
	if made.kind = o.gives; op == "in" {
		mismatch(!b.kind.may(list, table))
	} else {
		mismatch(!a.kind.may(o.takes...) || !b.kind.may(o.takes...) || !alike(a.kind, b.kind, op))
	}
	switch {
	case made.kind != anything:
	case a.kind == b.kind && a.kind != moment:
		made.kind = a.kind
	case a.kind.may(number) && b.kind.may(number) && a.kind != anything && b.kind != anything:
		made.kind = number
	}
	if slices.Contains(comparisons, op) {
		made.compared = &b
	}
	heavy := op == "==" || op == "!=" || op == "in" || op == "contains" || op == "+"
	made.value = func(e *evaluation) any {
		left, right := a.value(e), b.value(e)
		if heavy {
			e.check()
		}
		return o.do(e, left, right)
	}
	return made
}

var comparisons = []string{"<", "<=", ">", ">="}

// alike reports whether an operator can have operands of these kinds.
func alike(a, b kind, op string) bool {
	switch {
	case a == anything || b == anything || a == b, a.may(number) && b.may(number):
		return true
	case op == "==" || op == "!=":
		return a == null || b == null
	}
	return a == moment && b == span && (op == "+" || op == "-") || a == span && b == moment && op == "+" ||
		op == "*" && (a == span && b.may(number) || b == span && a.may(number))
}

// matching compiles the operator matches: a constant pattern is compiled once.
func (p *parser) matching(made, a, b term) term {
	made.kind = truth
	var constant *regexp.Regexp
	if pattern, ok := b.constant.(string); ok {
		var err error
		if constant, err = regexp.Compile(pattern); err != nil {
			p.wrong(b.at, "%v", err)
		}
	}
	made.value = func(e *evaluation) any {
		s, pattern := a.value(e).(string), constant
		if e.spendOn(costs["matches"], s); pattern == nil {
			written := b.value(e).(string)
			e.spendOn(costs["pattern"], written)
			pattern = regexp.MustCompile(written)
		}
		e.check()
		return pattern.MatchString(s)
	}
	return made
}

func (e *evaluation) equal(a, b any) bool {
	switch a := a.(type) {
	case int, float64:
		switch b.(type) {
		case int, float64:
			return compare(a, b) == 0
		}
		return false
	case time.Time:
		b, ok := b.(time.Time)
		return ok && a.Equal(b)
	case []any:
		b, ok := b.([]any)
		return ok && slices.EqualFunc(a, b, func(a, b any) bool { e.step(); return e.equal(a, b) })
	case map[string]any:
		b, ok := b.(map[string]any)
		if !ok || len(a) != len(b) {
			return false
		}
		for key, v := range a {
			e.step()
			if w, there := b[key]; !there || !e.equal(v, w) {
				return false
			}
		}
		return true
	}
	switch b.(type) {
	case []any, map[string]any:
		return false
	}
	return a == b
}

// unordered is the result of compare with a NaN.
const unordered = 2

// compare returns -1, 0 or 1.
func compare(a, b any) int {
	switch a := a.(type) {
	case string:
		return strings.Compare(a, b.(string))
	case time.Time:
		return a.Compare(b.(time.Time))
	case time.Duration:
		return int(min(max((a-b.(time.Duration)), -1), 1))
	case int:
		if b, ok := b.(int); ok {
			return min(max(a-b, -1), 1)
		}
	}
	switch x, y := float(a), float(b); {
	case x < y:
		return -1
	case x > y:
		return 1
	case x == y:
		return 0
	}
	return unordered
}

func float(v any) float64 {
	if n, ok := v.(int); ok {
		return float64(n)
	}
	return v.(float64)
}

func (e *evaluation) in(v, of any) any {
	switch of := of.(type) {
	case nil:
		return false
	case map[string]any:
		_, there := of[v.(string)]
		return there
	}
	return slices.ContainsFunc(of.([]any), func(w any) bool { e.step(); return e.equal(v, w) })
}

// valueBytes is the memory for a list's element.
const valueBytes = 24

func (e *evaluation) between(from, to any) any {
	first, last := from.(int), to.(int)
	if last < first {
		return []any{}
	}
	if n := uint(last) - uint(first); n >= maxMemory {
		panic("too long a list")
	}
	e.spend(valueBytes * (last - first + 1))
	made := make([]any, last-first+1)
	for i := range made {
		made[i] = first + i
	}
	return made
}

func (e *evaluation) add(a, b any) any {
	switch left := a.(type) {
	case string:
		right := b.(string)
		e.spend(costs["+"] * (len(left) + len(right)))
		return left + right
	case time.Time:
		return left.Add(b.(time.Duration))
	case time.Duration:
		if at, ok := b.(time.Time); ok {
			return at.Add(left)
		}
		return left + b.(time.Duration)
	case int:
		if right, ok := b.(int); ok {
			return left + right
		}
	}
	return float(a) + float(b)
}

func subtract(a, b any) any {
	switch left := a.(type) {
	case time.Time:
		if at, ok := b.(time.Time); ok {
			return left.Sub(at)
		}
		return left.Add(-b.(time.Duration))
	case time.Duration:
		return left - b.(time.Duration)
	case int:
		if right, ok := b.(int); ok {
			return left - right
		}
	}
	return float(a) - float(b)
}

func multiply(a, b any) any {
	if d, ok := b.(time.Duration); ok {
		a, b = d, a
	}
	if d, ok := a.(time.Duration); ok {
		return time.Duration(float64(d) * float(b))
	}
	left, ok1 := a.(int)
	right, ok2 := b.(int)
	if ok1 && ok2 {
		return left * right
	}
	return float(a) * float(b)
}

func signed(sign string, v any) any {
	switch v := v.(type) {
	case int:
		if sign == "-" {
			return -v
		}
	case time.Duration:
		if sign == "-" {
			return -v
		}
	default:
		if n := v.(float64); sign == "-" {
			return -n
		}
	}
	return v
}

// length is the length of a list, or of a text in bytes.
func length(v any) int {
	if s, ok := v.(string); ok {
		return len(s)
	}
	return len(v.([]any))
}

// element returns an element of a list, counted from the end when negative, or a member of a table.
func element(of, at any) any {
	if t, ok := of.(map[string]any); ok {
		return t[at.(string)]
	}
	l, i := of.([]any), at.(int)
	if i < 0 {
		i += len(l)
	}
	return l[i]
}

// part is a slice of a list or a text.
func part(of any, from, to int) any {
	n := length(of)
	place := func(i int) int {
		if i < 0 {
			i += n
		}
		return min(max(i, 0), n)
	}
	from, to = place(from), place(to)
	from = min(from, to)
	if s, ok := of.(string); ok {
		return s[from:to]
	}
	return of.([]any)[from:to]
}
