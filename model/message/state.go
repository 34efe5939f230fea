package message

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/dlxtop/dlxtop/model"
)

// stateHints are parts of the names of members that say how work ended.
var stateHints = [][]byte{[]byte("tatus"), []byte("utcome"), []byte("uccess"), []byte(`"ok"`)}

// statusNames are names of a text or a code that says how work ended; of successNames, false says so.
var statusNames, successNames = model.WordSet("status outcome"), model.WordSet("success succeeded ok")

// stateFails reports whether a field says that work failed: status "error", status 503, success false.
func stateFails(name string, v any) bool {
	name = strings.ToLower(name)
	text, isText := model.AsText(v)
	code, _ := model.AsInteger(v)
	switch {
	case successNames[name]:
		return v == false
	case !statusNames[name]:
		return false
	case isText:
		return model.NamedForFailures(text)
	}

	return code >= 400 && code < 600
}

// statesFailure reports whether a JSON object has a field that says that work failed. It may be the work itself, unless
// a worker published it where failures go.
func statesFailure(object []byte) bool {
	for p := range JSONParts(object) {
		var v any
		raw := object[p.From:p.To]
		if len(raw) < maxKind && json.Unmarshal(raw, &v) == nil && stateFails(p.Name(), v) {
			return true
		}
	}

	return false
}

// saidOf returns what a member says about the failure that a status beside it states.
func saidOf(name string) (n plainName, ok bool) {
	n, ok = plainNameOf("error", name)
	return n, ok && n.prefix == "" && (n.role == messageRole || n.role == traceRole)
}

func containsAny(text []byte, parts [][]byte) bool {
	for _, part := range parts {
		if bytes.Contains(text, part) {
			return true
		}
	}

	return false
}
