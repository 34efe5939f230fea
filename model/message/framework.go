package message

import (
	"iter"
	"slices"
	"strings"

	"github.com/dlxtop/dlxtop/model"
)

// Framework is the name of a client framework: its row in the table of frameworks has what dlxtop knows of its
// messages.
type Framework string

// framework is one row of the table: where a framework writes what people want to know about its messages. It is only
// data: the methods of Message interpret it.
type framework struct {
	name       Framework
	evidence   []evidence    // alternatives; none: its messages cannot be recognized
	failures   []failureForm // alternatives, best first
	stack      []spot        // alternatives for the stack trace of a failure, besides the traces of failures
	failedAt   []spot        // times of failures
	task       []spot        // alternatives for what the worker should do: a task, an actor, a type
	tries      []counter     // all of them are counted and reset
	eta        []spot        // alternatives for the time before which the worker does not run it
	expires    []spot        // alternatives for the time after which the worker discards it
	stale      []spot        // traces of a past failure; the name of a header may end in *
	recovery   []path        // headers with which the next worker fails it again at once
	left       []spot        // how many retries are left, where the total is unknown
	namesReply bool          // every message names a reply queue, even when nothing waits for a reply
	stamps     bool          // Symfony's, in headers or in a body of PHP's serialize: symfony reads and removes them
	earlyRun   bool          // its worker does not check eta again: a replay runs it at once
}

type spot struct {
	in   place
	path path
}

// counter is where a framework counts. In a header's path * stands for each entry of a table.
type counter struct {
	spot
	attempts bool // it counts tries; false: those after the first
	absent   bool // missing before the first try; false: it is 0 then
	lists    bool // the length of a list counts, too
}

// header is the spot of a header, or of a value in its table.
func header(p ...string) spot { return spot{inHeaders, p} }

func body(p ...string) spot { return spot{inBody, p} }

func headers(names ...string) []spot { return spotsOf(header, names) }

func bodies(names ...string) []spot { return spotsOf(body, names) }

func spotsOf(of func(...string) spot, names []string) (spots []spot) {
	for _, name := range names {
		spots = append(spots, of(name))
	}
	return spots
}

// evidence is what only one framework writes. The name of a queue does not count: applications choose it. All of the
// fields that are set must be present.
type evidence struct {
	texts   []spot   // headers whose values are texts
	headers []string // headers of any type
	prefix  string   // of a header's name
	kind    string   // contained in the type property
	begins  []string // the body begins with one of them
	members []string // members of the body, a JSON object
}

type failureForm struct {
	needs   []spot // all must be present, so that a similar body or header is not mistaken for it
	kind    []spot // alternatives for the exception's type
	message []spot // alternatives for its message
	trace   []spot // alternatives for a text that holds both: "TimeoutError: smtp gateway", or a stack trace
}

// Framework is the framework that wrote the message or its failure: the first in the table when it has marks of
// several, false when it has none.
func (m *Message) Framework() (Framework, bool) {
	for k := range m.rows() {
		return k.name, true
	}
	return "", false
}

// Frameworks are all frameworks whose marks the message has, in the order of the table.
func (m *Message) Frameworks() []Framework {
	var found []Framework
	for k := range m.rows() {
		found = append(found, k.name)
	}
	return found
}

// rows are the rows of the table for which the message has evidence.
func (m *Message) rows() iter.Seq[*framework] {
	return func(yield func(*framework) bool) {
		marks := marks{prefixes: prefixesOf(m.Headers)}
		for i := range frameworks {
			if k := &frameworks[i]; k.wrote(m, &marks) && !yield(k) {
				return
			}
		}
	}
}

func (k *framework) wrote(m *Message, marks *marks) bool {
	return slices.ContainsFunc(k.evidence, func(e evidence) bool { return e.in(m, marks) })
}

// in reports whether a message has the evidence. Cheap checks come first.
func (e *evidence) in(m *Message, marks *marks) bool {
	if !marks.prefixes.has(e.prefix) || len(m.Headers) == 0 && (len(e.headers) > 0 || len(e.texts) > 0) {
		return false
	}
	for _, name := range e.headers {
		if _, there := m.Headers[name]; !there {
			return false
		}
	}

	return (&reader{m: m}).has(e.texts) && (e.kind == "" || strings.Contains(m.Properties.Type, e.kind)) &&
		e.inBody(m.Body, marks)
}

func (e *evidence) inBody(body []byte, marks *marks) bool {
	if len(e.begins) > 0 && !beginsWithOne(body, e.begins) {
		return false
	}
	if len(e.members) == 0 {
		return true
	}

	if len(body) == 0 || len(body) > MaxEnvelope {
		return false
	}

	return marks.of(body).hasAll(e.members)
}

// marks are what scanning a message finds; it is scanned once, whatever is asked about it.
type marks struct {
	prefixes prefixSet
	members  members
	read     bool // whether members are read
}

// of are the members of a body, which must be the same at each call.
func (s *marks) of(body []byte) members {
	if !s.read {
		s.members, s.read = membersOf(body), true
	}
	return s.members
}

// prefixSet is which of headerPrefixes occur in the headers of a message, so that they are scanned once.
type prefixSet uint64

func prefixesOf(headers model.Table) (found prefixSet) {
	for name := range headers {
		for i, prefix := range headerPrefixes {
			if strings.HasPrefix(name, prefix) {
				found |= 1 << i
			}
		}
	}

	return found
}

func (s prefixSet) has(prefix string) bool {
	return prefix == "" || s&(1<<slices.Index(headerPrefixes, prefix)) != 0
}

func beginsWithOne(body []byte, begins []string) bool {
	return slices.ContainsFunc(begins, func(b string) bool { return len(body) >= len(b) && string(body[:len(b)]) == b })
}
