package model

import (
	"strings"
	"time"
)

// headersMatch reports whether a headers binding matches a message. x-match: all (the default), any, all-with-x,
// any-with-x; without "-with-x" the binding's own keys that begin with x- do not count. A nil value in the binding only
// requires presence. Values compare within a class of types: all integers are one class (all versions, from
// rabbit_exchange_type_headers).
func headersMatch(binding, headers Table) bool {
	mode, _ := binding.Text("x-match")
	withX := strings.HasSuffix(mode, "-with-x")
	anyOne := strings.HasPrefix(mode, "any")
	for key, want := range binding {
		if key == "x-match" || !withX && strings.HasPrefix(key, "x-") {
			continue
		}
		got, present := headers[key]
		matches := present && (want == nil || sameHeader(want, got))
		if matches && anyOne {
			return true
		}
		if !matches && !anyOne {
			return false
		}
	}

	return !anyOne
}

func sameHeader(want, got any) bool {
	if w, ok := AsText(want); ok {
		g, ok := AsText(got)
		return ok && g == w
	}

	if w, ok := want.(bool); ok {
		g, ok := got.(bool)
		return ok && g == w
	}

	if t, ok := got.(time.Time); ok {
		got = t.Unix() // the management API writes a binding's timestamp as a number
	}

	if w, ok := float(want); ok {
		g, ok := float(got)
		return ok && w == g
	}

	if _, ok := float(got); ok {
		return false
	}
	w, okW := AsInteger(want)
	g, okG := AsInteger(got)
	return okW && okG && w == g
}

func float(v any) (float64, bool) {
	switch v := v.(type) {
	case float64:
		return v, true
	case float32:
		return float64(v), true
	}

	return 0, false
}
