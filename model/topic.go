package model

import "strings"

// topicWords splits a topic key or pattern as RabbitMQ does: the empty key has no words, and each dot separates two
// words, which may be empty.
func topicWords(key string) []string {
	if key == "" {
		return nil
	}
	return strings.Split(key, ".")
}

// topicMatches reports whether a pattern's words match a key's words: * is exactly one word, # any number of them.
func topicMatches(pattern, key []string) bool {
	// Two pointers with one point of return: the last # seen takes one word more each time the rest does not fit.
	p, k := 0, 0
	back, taken := -1, 0
	for k < len(key) {
		switch {
		case p < len(pattern) && pattern[p] == "#":
			back, taken = p, k
			p++
		case p < len(pattern) && (pattern[p] == "*" || pattern[p] == key[k]):
			p++
			k++
		case back >= 0:
			taken++
			p, k = back+1, taken
		default:
			return false
		}
	}
	for p < len(pattern) && pattern[p] == "#" {
		p++
	}
	return p == len(pattern)
}

func isTopicPattern(words []string) bool {
	for _, w := range words {
		if w == "*" || w == "#" {
			return true
		}
	}
	return false
}
