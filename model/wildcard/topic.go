// Package wildcard has the patterns with wildcards: those of topic exchanges, and globs.
package wildcard

import (
	"slices"
	"strings"
)

// Words splits a topic key or pattern as RabbitMQ does: the empty key has no words, and each dot separates two
// words, either of which may be empty.
func Words(key string) []string {
	if key == "" {
		return nil
	}
	return strings.Split(key, ".")
}

// Topic reports whether a topic pattern's words match a key's words: * is exactly one word, # any number of them.
func Topic(pattern, key []string) bool { return matches(pattern, key, "#", "*") }

// Covers reports whether a topic pattern surely matches each key that a narrower one matches.
func Covers(pattern, narrower []string) bool {
	return Topic(pattern, narrower) && !(slices.Contains(pattern, "*") && slices.Contains(narrower, "#"))
}

// Overlap reports whether some key matches both topic patterns.
func Overlap(a, b []string) bool {
	same := 0
	for same < min(len(a), len(b)) && a[same] == b[same] && a[same] != "#" {
		same++
	}

	a, b = a[same:], b[same:]
	if min(len(a), len(b)) > 0 && !IsTopic(a[:1]) && !IsTopic(b[:1]) {
		return false
	}

	// overlap[j] is whether the rest of a, from the word that is looked at, and b[j:] overlap.
	overlap, before := make([]bool, len(b)+1), make([]bool, len(b)+1)
	for i := len(a); i >= 0; i-- {
		for j := len(b); j >= 0; j-- {
			switch {
			case i == len(a) && j == len(b):
				overlap[j] = true
			case i < len(a) && a[i] == "#":
				overlap[j] = before[j] || j < len(b) && overlap[j+1]
			case j < len(b) && b[j] == "#":
				overlap[j] = overlap[j+1] || i < len(a) && before[j]
			case i < len(a) && j < len(b) && (a[i] == b[j] || a[i] == "*" || b[j] == "*"):
				overlap[j] = before[j+1]
			default:
				overlap[j] = false
			}
		}

		overlap, before = before, overlap
	}

	return before[0]
}

// Topics splits several topic keys or patterns.
func Topics(keys []string) [][]string {
	patterns := make([][]string, len(keys))
	for i, key := range keys {
		patterns[i] = Words(key)
	}
	return patterns
}

// matches reports whether a pattern matches a text: many stands for any number of elements, one for exactly one.
func matches[T comparable](pattern, text []T, many, one T) bool {
	// Two pointers with a single backtrack point: when the rest does not match, the last many takes one element more.
	p, at := 0, 0
	back, taken := -1, 0
	for at < len(text) {
		switch {
		case p < len(pattern) && pattern[p] == many:
			back, taken = p, at
			p++
		case p < len(pattern) && (pattern[p] == one || pattern[p] == text[at]):
			p++
			at++
		case back >= 0:
			taken++
			p, at = back+1, taken
		default:
			return false
		}
	}

	for p < len(pattern) && pattern[p] == many {
		p++
	}

	return p == len(pattern)
}

// IsTopic reports whether words have a wildcard, so that they match more than one key.
func IsTopic(words []string) bool {
	return slices.Contains(words, "*") || slices.Contains(words, "#")
}
