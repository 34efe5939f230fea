package wildcard_test

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/model/wildcard"
)

func TestTopic(t *testing.T) {
	tests := []struct {
		pattern, key string
		want         bool
	}{
		{"#", "", true},
		{"#", "a.b.c", true},
		{"*", "", false},
		{"*", "a", true},
		{"*", "a.b", false},
		{"a.*.c", "a..c", true},
		{"a.#.c", "a.c", true},
		{"a.#.c", "a.b.b.c", true},
		{"a.#.c", "a.b", false},
		{"#.a.#", "b.a.a.c", true},
		{"*.#.*", "a", false},
		{"*.#.*", "a.b", true},
		{"a.", "a", false},
		{"a.", "a.", true},
		{"", "", true},
		{"", "a", false},
		{"#.#", "", true},
	}

	for _, test := range tests {
		assert.Equal(t, wildcard.Topic(wildcard.Words(test.pattern), wildcard.Words(test.key)), test.want,
			"pattern %q, key %q", test.pattern, test.key)
	}
}

// The rule of the specification, literally.
func topicRule(pattern, key []string) bool {
	switch {
	case len(pattern) == 0:
		return len(key) == 0
	case pattern[0] == "#":
		return topicRule(pattern[1:], key) || len(key) > 0 && topicRule(pattern, key[1:])
	case len(key) == 0:
		return false
	}

	return (pattern[0] == "*" || pattern[0] == key[0]) && topicRule(pattern[1:], key[1:])
}

func TestTopicMatchesAsTheRuleSays(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pattern := strings.Join(rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "*", "#", ""}), 0, 7).Draw(t,
			"pattern"), ".")
		key := strings.Join(rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", ""}), 0, 7).Draw(t, "key"), ".")
		p := wildcard.Words(pattern)
		k := wildcard.Words(key)
		got := wildcard.Topic(p, k)
		want := topicRule(p, k)
		must.That(t, got == want, "pattern %q, key %q: %v, want %v", pattern, key, got, want)
	})
}

// Two patterns overlap when some key matches both, and one covers another when no key matches the other alone.
func TestTopicPatternsOverlapAsTheirKeysDo(t *testing.T) {
	word := rapid.SampledFrom([]string{"a", "b", "*", "#"})
	keys := [][]string{nil}
	for n := 0; len(keys[n]) < 6; n++ { // a.a.a.# and #.b.a.a share one of six words
		for _, w := range []string{"a", "b", "c"} {
			keys = append(keys, append(slices.Clone(keys[n]), w))
		}
	}

	rapid.Check(t, func(t *rapid.T) {
		p := rapid.SliceOfN(word, 0, 4).Draw(t, "pattern")
		q := rapid.SliceOfN(word, 0, 4).Draw(t, "other pattern")

		overlap, alone := false, false
		for _, key := range keys {
			matches, other := topicRule(p, key), topicRule(q, key)
			overlap = overlap || matches && other
			alone = alone || !matches && other
		}

		must.That(t, wildcard.Overlap(p, q) == overlap, "%q and %q: overlap %v", p, q, overlap)
		must.That(t, !alone || !wildcard.Covers(p, q), "%q does not cover %q", p, q)
		must.That(t, wildcard.Covers(p, p) || slices.Contains(p, "#"), "%q covers itself", p)
	})
}
