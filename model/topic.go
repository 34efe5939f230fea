package model

import (
	"slices"
	"strings"
)

// topicWords splits a topic key or pattern as RabbitMQ does: the empty key has no words, and each dot separates two
// words, either of which may be empty.
func topicWords(key string) []string {
	if key == "" {
		return nil
	}
	return strings.Split(key, ".")
}

// topicMatches reports whether a pattern's words match a key's words: * is exactly one word, # any number of them.
func topicMatches(pattern, key []string) bool { return matches(pattern, key, "#", "*") }

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

func isTopicPattern(words []string) bool {
	return slices.Contains(words, "*") || slices.Contains(words, "#")
}
