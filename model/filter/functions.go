package filter

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

type function struct {
	least, most int // number of arguments
	takes       [][]kind
	gives       kind
	do          func(e *evaluation, values []any) any
	each        func(e *evaluation, of []any, each func(any) any) any // for functions with a predicate for each element
}

// builtins are their names, for documentation and completion.
var builtins = []string{
	"all", "any", "none", "one", "count", "filter", "find", "findIndex", "sum",
	"len", "abs", "ceil", "floor", "round", "int", "float", "string", "trim", "trimPrefix", "trimSuffix", "upper", "lower",
	"split", "indexOf", "lastIndexOf", "hasPrefix", "hasSuffix", "max", "min", "first", "last", "get", "keys", "values",
	"fromJSON", "now", "duration", "date",
}

func on(least, most int, takes []kind, gives kind, do func(v []any) any) function {
	return function{least, most, [][]kind{takes}, gives, func(_ *evaluation, v []any) any { return do(v) }, nil}
}

func onText(gives kind, least, most int, do func(s []string) any) function {
	return on(least, most, texts, gives, func(values []any) any {
		s := make([]string, len(values))
		for i, v := range values {
			s[i] = v.(string)
		}
		return do(s)
	})
}

func onNumber(do func(float64) float64) function {
	return on(1, 1, []kind{number}, number, func(v []any) any { return do(float(v[0])) })
}

func onList(gives kind, least int, each func(e *evaluation, of []any, each func(any) any) any) function {
	return function{least, 2, [][]kind{{list}, {anything}}, gives, nil, each}
}

// are counts the elements for which a predicate is true.
func are(of []any, each func(any) any) (n int) {
	for _, v := range of {
		if each(v).(bool) {
			n++
		}
	}
	return n
}

func first(of []any, each func(any) any) int {
	return slices.IndexFunc(of, func(v any) bool { return each(v).(bool) })
}

// functions make nothing larger than their arguments: repeat, replace, join and the like could turn a small body into
// terabytes.
var functions = map[string]function{
	"any":  onList(truth, 2, func(_ *evaluation, of []any, each func(any) any) any { return first(of, each) >= 0 }),
	"none": onList(truth, 2, func(_ *evaluation, of []any, each func(any) any) any { return first(of, each) < 0 }),
	"all": onList(truth, 2, func(_ *evaluation, of []any, each func(any) any) any {
		return !slices.ContainsFunc(of, func(v any) bool { return !each(v).(bool) })
	}),
	"one":   onList(truth, 2, func(_ *evaluation, of []any, each func(any) any) any { return are(of, each) == 1 }),
	"count": onList(whole, 1, func(_ *evaluation, of []any, each func(any) any) any { return are(of, each) }),
	"findIndex": onList(anything, 2, func(_ *evaluation, of []any, each func(any) any) any {
		if i := first(of, each); i >= 0 {
			return i
		}
		return nil
	}),
	"find": onList(anything, 2, func(_ *evaluation, of []any, each func(any) any) any {
		if i := first(of, each); i >= 0 {
			return of[i]
		}
		return nil
	}),
	"filter": onList(list, 2, func(e *evaluation, of []any, each func(any) any) any {
		made := []any{}
		for _, v := range of {
			if each(v).(bool) {
				e.spend(valueBytes)
				made = append(made, v)
			}
		}
		return made
	}),
	"sum": onList(anything, 1, func(e *evaluation, of []any, each func(any) any) any {
		var sum any = 0
		for _, v := range of {
			sum = e.add(sum, each(v))
		}
		return sum
	}),

	"trim": onText(text, 1, 2, func(s []string) any {
		if len(s) == 2 {
			return strings.Trim(s[0], s[1])
		}
		return strings.TrimSpace(s[0])
	}),
	"trimPrefix":  onText(text, 2, 2, func(s []string) any { return strings.TrimPrefix(s[0], s[1]) }),
	"trimSuffix":  onText(text, 2, 2, func(s []string) any { return strings.TrimSuffix(s[0], s[1]) }),
	"upper":       onText(text, 1, 1, func(s []string) any { return strings.ToUpper(s[0]) }),
	"lower":       onText(text, 1, 1, func(s []string) any { return strings.ToLower(s[0]) }),
	"indexOf":     onText(whole, 2, 2, func(s []string) any { return strings.Index(s[0], s[1]) }),
	"lastIndexOf": onText(whole, 2, 2, func(s []string) any { return strings.LastIndex(s[0], s[1]) }),
	"hasPrefix":   onText(truth, 2, 2, func(s []string) any { return strings.HasPrefix(s[0], s[1]) }),
	"hasSuffix":   onText(truth, 2, 2, func(s []string) any { return strings.HasSuffix(s[0], s[1]) }),
	"split":       on(2, 3, []kind{text, whole}, list, split),
	"fromJSON": onText(anything, 1, 1, func(s []string) any {
		v := parseJSON([]byte(s[0]))
		if v == nil && strings.TrimSpace(s[0]) != "null" {
			panic("no JSON")
		}
		return v
	}),
	"duration": onText(span, 1, 1, func(s []string) any { return sure(time.ParseDuration(s[0])) }),
	"date":     onText(moment, 1, 3, date),
	"now":      on(0, 0, []kind{anything}, moment, func([]any) any { return time.Now() }),

	"ceil": onNumber(math.Ceil), "floor": onNumber(math.Floor), "round": onNumber(math.Round),
	"abs": on(1, 1, []kind{number}, anything, func(v []any) any {
		if compare(v[0], 0) < 0 {
			return signed("-", v[0])
		}
		return v[0]
	}),
	"int": on(1, 1, []kind{number, text}, whole, func(v []any) any {
		switch v := v[0].(type) {
		case int:
			return v
		case string:
			return sure(strconv.Atoi(v))
		}
		return int(v[0].(float64))
	}),
	"float": on(1, 1, []kind{number, text}, number, func(v []any) any {
		if s, ok := v[0].(string); ok {
			return sure(strconv.ParseFloat(s, 64))
		}
		return float(v[0])
	}),
	"string": on(1, 1, []kind{anything}, text, func(v []any) any { return fmt.Sprint(v[0]) }),
	"max":    on(1, maxNodes, []kind{number, list}, anything, func(v []any) any { return extreme(v, 1) }),
	"min":    on(1, maxNodes, []kind{number, list}, anything, func(v []any) any { return extreme(v, -1) }),

	"len": on(1, 1, []kind{text, list, table}, whole, func(v []any) any {
		switch v := v[0].(type) {
		case string:
			return utf8.RuneCountInString(v)
		case map[string]any:
			return len(v)
		}
		return len(v[0].([]any))
	}),
	"first": on(1, 1, []kind{list}, anything, func(v []any) any { return get(v[0], 0) }),
	"last":  on(1, 1, []kind{list}, anything, func(v []any) any { return get(v[0], -1) }),
	"get":   on(2, 2, []kind{anything}, anything, func(v []any) any { return get(v[0], v[1]) }),
	"keys": on(1, 1, []kind{table}, list, func(v []any) any {
		return listOf(slices.Sorted(maps.Keys(v[0].(map[string]any))))
	}),
	"values": on(1, 1, []kind{table}, list, func(v []any) any {
		return slices.Collect(maps.Values(v[0].(map[string]any)))
	}),
}

func sure[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func listOf(texts []string) []any {
	made := make([]any, len(texts))
	for i := range texts {
		made[i] = texts[i]
	}
	return made
}

func split(v []any) any {
	n := -1
	if len(v) == 3 {
		n = v[2].(int)
	}
	return listOf(strings.SplitN(v[0].(string), v[1].(string), n))
}

// dates are the accepted forms of a date without a layout.
var dates = []string{
	time.DateOnly, time.TimeOnly, time.DateTime, time.RFC3339, time.RFC822, time.RFC850, time.RFC1123,
}

func date(s []string) any {
	zone, layouts := time.UTC, dates
	if len(s) > 1 {
		layouts = s[1:2]
	}
	if len(s) > 2 {
		zone = sure(time.LoadLocation(s[2]))
	}
	for _, layout := range layouts {
		if at, err := time.ParseInLocation(layout, s[0], zone); err == nil {
			return at
		}
	}
	panic("no date")
}

// extreme is the largest or smallest of numbers and lists of numbers.
func extreme(values []any, sign int) any {
	var most any
	for _, v := range values {
		if of, ok := v.([]any); ok {
			v = extreme(of, sign)
		}
		if most == nil || compare(v, most) == sign {
			most = v
		}
	}
	return sure(most, nil)
}

// get returns an element, nil if there is none.
func get(of, at any) any {
	if of == nil {
		return nil
	}
	if l, ok := of.([]any); ok {
		if i := at.(int); i >= len(l) || i < -len(l) {
			return nil
		}
	}
	return element(of, at)
}
