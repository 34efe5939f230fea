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
	Name       Framework
	Evidence   []evidence        // alternatives; none: its messages cannot be recognized
	Failures   []failureForm     // alternatives, best first
	Stack      []spot            // alternatives for the stack trace of a failure, besides the traces of failures
	FailedAt   []spot            `toml:"failed_at"` // times of failures
	Task       []spot            // alternatives for what the worker should do: a task, an actor, a type
	Tries      []counter         // all of them are counted and reset
	Eta        []spot            // alternatives for the time before which the worker does not run it
	Expires    []spot            // alternatives for the time after which the worker discards it
	Stale      []spot            // traces of a past failure; the name of a header may end in *
	Recovery   []spot            // headers with which the next worker fails it again at once
	Left       []spot            // how many retries are left, where the total is unknown
	Origin     *originConvention // where it was published before
	Worker     *workerConvention // the queue in which it failed
	NamesReply bool              `toml:"names_reply"` // every message names a reply queue, even when nothing waits for it
	EarlyRun   bool              `toml:"early_run"`   // its worker does not check eta again: a replay runs it at once
	Stamps     bool              // Symfony's, in headers or in a body of PHP's serialize: symfony reads and removes them
}

// spot is where a value is: in a header or a JSON body.
type spot struct {
	in   place
	path path
}

// UnmarshalText reads a spot as frameworks.toml has it: "retry_info/error_class", "body/failure/message".
func (s *spot) UnmarshalText(text []byte) error {
	in, below, deeper := strings.Cut(string(text), "/")
	if deeper && place(in) == inBody {
		*s = spot{inBody, strings.Split(below, "/")}
	} else {
		*s = spot{inHeaders, strings.Split(string(text), "/")}
	}

	return nil
}

// counter is where a framework counts. In a header's path * stands for each entry of a table.
type counter struct {
	At       spot
	Attempts bool // it counts tries; false: those after the first
	Absent   bool // missing before the first try; false: it is 0 then
	Lists    bool // the length of a list counts, too
}

// evidence is what only one framework writes. The name of a queue does not count: applications choose it. All of the
// fields that are set must be present.
type evidence struct {
	Texts   []spot   // headers whose values are texts
	Headers []string // headers of any type
	Prefix  string   // of a header's name
	Kind    string   // contained in the type property
	Begins  []string // the body begins with one of them
	Members []string // members of the body, a JSON object
}

type failureForm struct {
	Needs   []spot // all must be present, so that a similar body or header is not mistaken for it
	Kind    []spot // alternatives for the exception's type
	Message []spot // alternatives for its message
	Trace   []spot // alternatives for a text that holds both: "TimeoutError: smtp gateway", or a stack trace
}

type originConvention struct {
	Exchange, Key spot
	Needs         []spot // required besides these
}

type workerConvention struct {
	Queue spot
	Needs []spot // required besides the queue
	Topic bool   // a queue has its name, or an exchange does, depending on the application's setup
}

// Framework returns the framework that wrote the message or its failure: the first in the table when it has marks of
// several, false when it has none.
func (m *Message) Framework() (Framework, bool) {
	for k := range m.rows() {
		return k.Name, true
	}
	return "", false
}

// Frameworks returns all frameworks whose marks the message has, in the order of the table.
func (m *Message) Frameworks() []Framework {
	var found []Framework
	for k := range m.rows() {
		found = append(found, k.Name)
	}
	return found
}

// rows returns the rows of the table for which the message has evidence.
func (m *Message) rows() iter.Seq[*framework] {
	return func(yield func(*framework) bool) {
		r := reader{m: m}
		for k := range model.Each(frameworks()) {
			if k.wrote(&r) && !yield(k) {
				return
			}
		}
	}
}

func (k *framework) wrote(r *reader) bool {
	for i := range k.Evidence {
		if k.Evidence[i].in(r) {
			return true
		}
	}
	return false
}

// in reports whether a message has the evidence. Cheap checks come first.
func (e *evidence) in(r *reader) bool {
	headers := r.m.Headers
	if e.Prefix != "" && !hasPrefix(headers, e.Prefix) || len(headers) == 0 && (len(e.Headers) > 0 || len(e.Texts) > 0) {
		return false
	}
	for _, name := range e.Headers {
		if _, there := headers[name]; !there {
			return false
		}
	}

	return r.has(e.Texts) && (e.Kind == "" || strings.Contains(r.m.Properties.Type, e.Kind)) &&
		(len(e.Begins) == 0 || beginsWithOne(r.m.Body, e.Begins)) &&
		(len(e.Members) == 0 || r.haveMembers(e.Members...))
}

// hasPrefix reports whether the name of a header begins so.
func hasPrefix(headers model.Table, prefix string) bool {
	for name := range headers {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}

	return false
}

func beginsWithOne(body []byte, begins []string) bool {
	return slices.ContainsFunc(begins, func(b string) bool { return len(body) >= len(b) && string(body[:len(b)]) == b })
}
