package message

import (
	_ "embed"
	"slices"
	"strings"
	"sync"

	"github.com/dlxtop/dlxtop/model"
)

// plainRole is what workers without a framework write under a name.
type plainRole int

const (
	kindRole    plainRole = iota // the type or the code of an error
	messageRole                  // its message
	traceRole                    // both: "TimeoutError: smtp gateway", a stack trace, a table of its parts
	stackRole
	timeRole // when it failed
	triesRole
	leftRole // how many tries are left, of an unknown total
	queueRole
	groupRole   // with a channel: the queue of one group of consumers
	channelRole // a topic, whose queue may have its name
	exchangeRole
	keyRole
	vhostRole
)

// UnmarshalText reads a role of names.toml.
func (r *plainRole) UnmarshalText(text []byte) error {
	*r = plainRole(slices.Index(strings.Fields(
		"kind message trace stack time tries left queue group channel exchange key vhost"), string(text)))
	return nil
}

// plainName is what a name says about its value.
type plainName struct {
	role  plainRole
	rank  int  // of several in a message, the lowest wins
	vague bool // it may be business data, too
	// the first of the words before it, as in login-attempts or beavers-dlq-error; "" when these words are of messaging
	prefix string
}

//go:embed names.toml
var namesFile string

// plainNames are the names of names.toml, in the form of plainNameOf: each first word combined with each last word.
var plainNames = sync.OnceValue(func() map[string]plainName {
	names := map[string]plainName{}
	for _, row := range decoded[struct {
		Role         plainRole
		Vague        bool
		Firsts, Then string
	}](namesFile) {
		for _, last := range strings.Fields(row.Then) {
			for _, first := range strings.Fields(row.Firsts) {
				name := strings.ReplaceAll(first+last, ".", "")
				if _, there := names[name]; !there {
					names[name] = plainName{role: row.Role, rank: len(names), vague: row.Vague}
				}
			}
		}
	}
	return names
})

// plumbing are words of messaging: a name that has one is not business data.
var plumbing = model.WordSet("dlq dlx dead letter death poison poisoned parking retry retries requeue requeuer " +
	"redelivery redelivered queue message msg amqp rabbit rabbitmq consumer worker handler job task delivery meta " +
	"metadata headers envelope attributes")

// bounds are words with which a name does not count tries, but bounds or delays them.
var bounds = model.WordSet("max maximum min limit allowed total delay interval timeout ttl ms seconds backoff factor " +
	"next")

// spelled is a name as words, whatever its case and separators: "X-Retry-Count" and "xRetryCount" are "x retry count".
type spelled struct {
	text   [64]byte // without separators, in lower case
	starts [16]uint8
	length int
	words  int
}

// spell reads names behind each other; false for one with more than 64 letters or 16 words.
func (s *spelled) spell(names ...string) bool {
	for _, name := range names {
		next := true
		for i := range len(name) {
			c := name[i]
			if strings.IndexByte("-_. :/", c) >= 0 {
				next = true
				continue
			}

			if s.length == len(s.text) {
				return false
			}

			capital := isCapital(c)
			if capital && i > 0 && (!isCapital(name[i-1]) || i+1 < len(name) && isSmall(name[i+1])) {
				next = true
			}

			if next {
				if s.words == len(s.starts) {
					return false
				}
				s.starts[s.words] = uint8(s.length)
				s.words++
			}

			next = false
			if capital {
				c += 'a' - 'A'
			}

			s.text[s.length] = c
			s.length++
		}
	}

	return s.words > 0
}

func isCapital(c byte) bool { return c >= 'A' && c <= 'Z' }

func isSmall(c byte) bool { return c >= 'a' && c <= 'z' }

// word returns one of the words.
func (s *spelled) word(i int) []byte {
	to := s.length
	if i+1 < s.words {
		to = int(s.starts[i+1])
	}
	return s.text[s.starts[i]:to]
}

// has reports whether one of the first n words is in a set.
func (s *spelled) has(n int, of map[string]bool) bool {
	for i := range n {
		if of[string(s.word(i))] {
			return true
		}
	}

	return false
}

// plainNameOf looks up a name by its last words, whatever its case and separators: "X-Retry-Count" and "_retryCount"
// are "retrycount", and "beavers-dlq-error" is an "error". outer is the name of the surrounding table, "" for a header.
// A name that begins with x- is never business data.
func plainNameOf(outer, name string) (plainName, bool) {
	var s spelled
	if !s.spell(outer, name) {
		return plainName{}, false
	}
	text := s.text[:s.length]
	if n, ok := plainNames()[string(text)]; ok {
		return n, true
	}
	ours := text[0] == 'x'
	if ours {
		if n, ok := plainNames()[string(text[1:])]; ok {
			n.vague = n.vague && n.role == queueRole // x-queue can be the one to go to
			return n, true
		}
	}

	ours = ours && len(s.word(0)) == 1
	for i := 1; i < s.words; i++ {
		n, ok := plainNames()[string(text[s.starts[i]:])]
		if !ok {
			continue
		}
		if n.vague || n.role == triesRole && s.has(i, bounds) {
			return plainName{}, false
		}

		n.rank += len(plainNames()) // behind a name without a prefix
		of := i
		if n.role < triesRole {
			of = s.words // dlq-error says it itself
		}

		named := ours && (n.role != triesRole || s.has(s.words, plumbing)) // x-login-attempts may count anything
		if !named && !s.has(of, plumbing) {
			n.prefix = string(s.word(0))
			n.vague = n.role < queueRole
		}

		return n, true
	}

	return plainName{}, false
}
