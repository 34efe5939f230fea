package filter

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/dlxtop/dlxtop/model/message"
)

// The bounds of what completion offers from one message.
const (
	mostPaths  = 200 // names
	pathDepth  = 6   // members of members
	pathBodies = 1 << 20
)

// expressionWords are the operators of expressions that are words.
var expressionWords = []string{"and", "or", "not", "in", "contains", "startsWith", "endsWith", "matches"}

// Complete lists how the last word of an expression can continue: a field's name, a function, or one of paths, from
// Paths. from is where the word that they replace begins. An empty text can become any field; a complete word has no
// continuations.
func Complete(text string, paths []string) (from int, found []string) {
	if strings.TrimSpace(text) == "" {
		return len(text), fieldNames()
	}
	known := completions(paths)
	quote := rune(0)
	previous := ' '
	for i, r := range text {
		if quote == 0 && !partOfName(previous) {
			if found = begunBy(known, text[i:]); len(found) > 0 {
				return i, found
			}
		}

		switch {
		case quote == 0 && (r == '"' || r == '\'' || r == '`'):
			quote = r
		case quote == r && previous != '\\':
			quote = 0
		}

		previous = r
	}

	return len(text), nil
}

func completions(paths []string) []string {
	known := slices.Concat(fieldNames(), paths)
	for _, f := range builtins {
		known = append(known, f+"(")
	}
	return append(known, expressionWords...)
}

// begunBy returns the names that begin with a text and are longer.
func begunBy(names []string, text string) (found []string) {
	for _, name := range names {
		if len(name) > len(text) && strings.HasPrefix(name, text) && !slices.Contains(found, name) {
			found = append(found, name)
		}
	}

	return found
}

// partOfName reports whether a name cannot begin directly after this character.
func partOfName(r rune) bool {
	return r == '_' || r == '.' || r == '"' || r == ']' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' ||
		r >= 'A' && r <= 'Z'
}

// Paths returns the headers of a message and the members of its JSON body, as written in expressions:
// `headers["x-tenant"]`, `json.user.id`. From a long list they include the first element.
func Paths(m *message.Message) []string {
	paths := HeaderPaths(slices.Sorted(maps.Keys(m.Headers)))
	if len(m.Body) <= pathBodies {
		paths = jsonPaths(paths, "json", parseJSON(m.Body), 0)
	}
	return paths[:min(len(paths), mostPaths)]
}

func HeaderPaths(names []string) []string {
	paths := make([]string, len(names))
	for i, name := range names {
		paths[i] = "headers[" + strconv.Quote(name) + "]"
	}
	return paths
}

func jsonPaths(paths []string, at string, v any, depth int) []string {
	if depth > pathDepth || len(paths) >= mostPaths {
		return paths
	}
	switch v := v.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			below := at + "[" + strconv.Quote(name) + "]"
			if isName(name) {
				below = at + "." + name
			}
			paths = jsonPaths(append(paths, below), below, v[name], depth+1)
		}
	case []any:
		if len(v) > 0 {
			below := at + "[0]"
			paths = jsonPaths(append(paths, below), below, v[0], depth+1)
		}
	}

	return paths
}

// isName reports whether a member can be written after a dot.
func isName(text string) bool {
	for i, r := range text {
		if !partOfName(r) || r == '.' || r == '"' || r == ']' || i == 0 && r >= '0' && r <= '9' {
			return false
		}
	}

	return text != "" && !slices.Contains(expressionWords, text)
}
