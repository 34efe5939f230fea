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
	w := headerValue(want)
	return w != nil && w == headerValue(got)
}

// headerValue returns a value as one of its class; nil for none that matches.
func headerValue(v any) any {
	switch v := v.(type) {
	case bool, float64:
		return v
	case float32:
		return float64(v)
	case time.Time:
		return v.Unix() // the management API writes a binding's timestamp as a number
	}

	if text, ok := AsText(v); ok {
		return text
	}
	if n, ok := AsInteger(v); ok {
		return n
	}

	return nil
}
