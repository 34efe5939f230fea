package message

import (
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/dlxtop/dlxtop/model"
)

// Failure is why a message failed, as far as the message itself says.
type Failure struct {
	Kind    string // the exception's type or the death's reason: "TimeoutError", "rejected"; "" when unknown
	Message string // "smtp gateway"; "" when unknown
	Source  string // the convention that it was read from: "Spring AMQP", "x-death"
}

// FromDeaths is the source of a failure that only x-death shows.
const FromDeaths = "x-death"

// The sources of failures written by workers without a framework.
const (
	fromHeader = "an error header"
	fromBody   = "an error in the body"
)

const maxFailureText = 2000

// Failure reads why a message failed from the headers or the body that its framework writes, then from headers that
// applications commonly use, then from the newest death. It is false without any of them.
func (m *Message) Failure() (Failure, bool) {
	r := reader{m: m}
	for i := range frameworks() {
		if f, ok := frameworks()[i].failure(&r); ok {
			return f, true
		}
	}

	if f, ok := failureOf(fromHeader, m.plainFields()); ok {
		return f, true
	}

	// A rejection writes nothing into the body.
	if d := m.FailingDeath(); d == nil || d.Reason == model.Expired {
		if f, ok := failureOf(fromBody, m.bodyFailure()); ok {
			return f, true
		}
	}

	if d := m.FailedBy(); d != nil {
		return Failure{Kind: Died(d.Reason, 1), Message: inQueue(d.Queue), Source: FromDeaths}, true
	}

	return Failure{}, false
}

// FailingDeath returns the death by which a message failed: the newest one other than an expiry, because an expired
// message has mostly waited for another try. The newest expiry counts where there is nothing else, or where the same
// queue gave the message up for another reason, too: then it is no buffer. Without x-death it is the one of
// x-last-death-*, and without these, which RabbitMQ writes from 3.13, the one of x-first-death-*; nil without these,
// too.
func (m *Message) FailingDeath() *Death {
	if len(m.Deaths) == 0 {
		for _, named := range [][2]string{
			{"x-last-death-reason", "x-last-death-queue"}, {"x-first-death-reason", "x-first-death-queue"},
		} {
			if reason, _ := m.Headers.Text(named[0]); reason != "" {
				queue, _ := m.Headers.Text(named[1])
				return &Death{Queue: queue, Reason: model.Reason(reason)}
			}
		}

		return nil
	}

	newest := &m.Deaths[0]
	for d := range model.Each(m.Deaths) {
		if d.Reason == model.Expired {
			continue
		}
		if newest.Reason == model.Expired && slices.ContainsFunc(m.Deaths, func(other Death) bool {
			return other.Reason != model.Expired && other.Queue == newest.Queue
		}) {
			return newest
		}

		return d
	}

	return newest
}

// FailedBy is FailingDeath, but of a message that a limit pushed out of a queue the newest death before, by a rejection
// or a delivery limit, if there is one: a limit fails nothing, and a failed queue can have one.
func (m *Message) FailedBy() *Death {
	last := m.FailingDeath()
	for d := range model.Each(m.Deaths) {
		if last.Reason == model.MaxLen && d.Reason != model.MaxLen && d.Reason != model.Expired {
			return d
		}
	}

	return last
}

// FailureTitle returns the title of the column with the failures of a queue's messages. In a buffer they have not
// failed for good: they wait for another try.
func FailureTitle(buffer bool) string {
	if buffer {
		return "LAST FAILURE"
	}
	return "FAILURE"
}

// FailureIn returns the text below FailureTitle, "" without a failure. In a buffer it is why the last try failed: that
// a waiting message has expired on its way is not a failure.
func (m *Message) FailureIn(buffer bool) string {
	f, ok := m.Failure()
	if !ok {
		return ""
	}
	if buffer && f.Source == FromDeaths && f.Kind == string(model.Expired) {
		return ""
	}

	return f.String()
}

// failure returns why a message failed, as this framework writes it.
func (k *framework) failure(r *reader) (Failure, bool) {
	for c := range model.Each(k.Failures) {
		if !r.has(c.Needs) {
			continue
		}
		f, ok := newFailure(string(k.Name), r.first(c.Kind), r.first(c.Message), r.first(c.Trace))
		if ok {
			return f, true
		}
	}

	if s, ok := k.stamped(r.m); ok {
		return newFailure(string(k.Name), s.kind, s.message, "")
	}

	return Failure{}, false
}

// failureOf returns the failure in the fields of a worker without a framework.
func failureOf(source string, fields []plainField) (Failure, bool) {
	kind := firstText(fields, kindRole)
	message := firstText(fields, messageRole)
	trace := firstText(fields, traceRole)
	if source == fromBody && message == "" && trace == "" {
		return Failure{}, false
	}
	return newFailure(source, kind, message, trace)
}

// String returns "TimeoutError: smtp gateway", or the half that is known. The kind is written without package or
// namespace.
func (f Failure) String() string {
	kind := ShortKind(f.Kind)
	switch {
	case kind == "":
		return f.Message
	case f.Message == "":
		return kind
	case f.Source == FromDeaths:
		return kind + " " + f.Message // "rejected in worker-queue"
	}

	return kind + ": " + f.Message
}

func inQueue(queue string) string {
	if queue == "" {
		return ""
	}
	return "in " + queue
}

// newFailure fills in a missing kind or message from a trace: both halves must belong to the same exception.
func newFailure(source, kind, message, trace string) (Failure, bool) {
	kind, message = strings.TrimSpace(kind), strings.TrimSpace(message)
	if kind == "" && message != "" && trace != "" {
		kind = kindOfMessage(trace, message)
	}

	if kind == "" && message == "" {
		kind, message = splitTrace(trace)
	} else if kind != "" && message == "" && trace != "" {
		k, m := splitTrace(trace)
		message = m
		if k != "" && k != kind && ShortKind(k) != ShortKind(kind) {
			message = k + ": " + m
		}
	}

	if kind == "" {
		kind, message = splitError(message)
	}

	f := Failure{Kind: WholeRunes(kind, maxFailureText), Message: WholeRunes(message, maxFailureText), Source: source}
	return f, f.Kind != "" || f.Message != ""
}

const maxKind = 300

// typed matches "java.lang.IllegalStateException: text", "Net::OpenTimeout: text", `App\MailException: text`. The colon
// after the name must not be part of a ::, as in "DBD::Pg::st execute failed".
var typed = regexp.MustCompile(`^([A-Za-z_][\w.$+:\\` + "`" + `]*\w):( +.*|[^ :].*|)$`)

// errorEndings are the last parts of typical names of errors.
var errorEndings = []string{
	"Error", "Exception", "Fault", "Failure", "Timeout", "Interrupt", "Exit", "Warning", "Panic",
}

// namedLikeError reports whether a name is typical of errors: TimeoutError, ECONNREFUSED. It runs for each message of a
// queue, and a regular expression takes fifty times as long.
func namedLikeError(name string) bool {
	for _, ending := range errorEndings {
		if strings.HasSuffix(name, ending) {
			return true
		}
	}

	capitals := strings.TrimPrefix(name, "E")
	return capitals != name && len(capitals) >= 3 &&
		!strings.ContainsFunc(capitals, func(r rune) bool { return r < 'A' || r > 'Z' })
}

// splitError splits an error's text into kind and message when it begins with the name of a type. "dial tcp: i/o
// timeout" does not: all of it is the message.
func splitError(s string) (kind, message string) {
	s = strings.TrimSpace(s)
	line, rest, _ := strings.Cut(WholeRunes(s, 4*maxFailureText), "\n")
	if kind, message, ok := strings.Cut(line, "-->"); ok && namedLikeError(kind) { // CAP
		return kind, message
	}

	var match []string
	if strings.Contains(line[:min(len(line), maxKind)], ":") {
		match = typed.FindStringSubmatch(strings.TrimRight(line, "\r"))
	}

	if match == nil {
		if len(s) <= maxKind && namedLikeError(s) && !strings.ContainsFunc(s, unicode.IsSpace) {
			return s, ""
		}
		return "", s
	}

	name := ShortKind(match[1])
	if !namedLikeError(name) && (name == match[1] || !unicode.IsUpper(rune(name[0]))) {
		return "", s
	}
	message = strings.TrimLeft(match[2], " ")
	if rest != "" {
		message = strings.TrimSpace(message + "\n" + rest)
	}

	return match[1], message
}

// splitTrace finds the error in a text: one line, or a stack trace as Python, Java and .NET write it. Of nested
// exceptions it takes the direct cause when the outer one is only a wrapper.
func splitTrace(trace string) (kind, message string) {
	trace = strings.TrimSpace(WholeRunes(trace, 64<<10))
	if !strings.Contains(trace, "\n") && !strings.Contains(trace, "---> ") {
		return splitError(trace)
	}
	lines := errorLines(trace)
	if strings.HasPrefix(trace, "Traceback (most recent call last)") {
		for i := len(lines) - 1; i >= 0; i-- {
			if kind, message = splitError(lines[i]); kind != "" {
				return kind, message
			}
		}
		return "", lines[len(lines)-1]
	}

	var outer, outerMessage string
	for _, line := range lines {
		k, m := splitError(line)
		if k == "" {
			continue
		}
		if !slices.Contains(wrappers, ShortKind(k)) {
			return k, m
		}
		if outer == "" {
			outer, outerMessage = k, m
		}
	}

	if outer != "" {
		return outer, outerMessage
	}

	return "", lines[0]
}

// kindOfMessage returns the type that a stack trace names for a message.
func kindOfMessage(trace, message string) string {
	firstLine, _, _ := strings.Cut(message, "\n")
	for _, line := range errorLines(WholeRunes(trace, 64<<10)) {
		if kind, m := splitError(line); kind != "" && strings.HasPrefix(m, strings.TrimSpace(firstLine)) {
			return kind
		}
	}

	if kind, _ := splitError(message); kind != "" {
		return "" // the message names it itself
	}
	kind, _ := splitTrace(trace)
	return kind
}

// dated matches what Rebus writes before each exception: "2024-05-01 12:00:00 +02:00: ".
var dated = regexp.MustCompile(`^\d[\d/.\-]*[ T][\d:.]+( ?[AP]M)?( ?[+-][\d:]+|Z)?: `)

// errorLines returns the lines of a trace that can name an error, each without what stands before the name; at least
// one.
func errorLines(trace string) []string {
	var lines []string
	for _, line := range strings.Split(strings.TrimSpace(trace), "\n") {
		for _, part := range strings.Split(line, "---> ") {
			part = strings.TrimSpace(part)
			part = strings.TrimPrefix(part, "Caused by: ")
			part = strings.TrimPrefix(part, "(Inner Exception #0) ")
			if part != "" && part[0] >= '0' && part[0] <= '9' {
				part = dated.ReplaceAllString(part, "")
			}
			if part == "" || strings.HasPrefix(part, "at ") || strings.HasPrefix(part, "File \"") {
				continue
			}
			lines = append(lines, part)
		}
	}

	if lines == nil {
		return []string{""}
	}

	return lines
}

// wrappers are exceptions that only wrap the actual one.
var wrappers = []string{
	"ListenerExecutionFailedException", "AggregateException", "TargetInvocationException",
	"MessagingException", "MessageHandlingException", "InvocationTargetException",
}

// ShortKind returns a type's name without its package, namespace or module.
func ShortKind(kind string) string {
	if strings.ContainsFunc(kind, unicode.IsSpace) {
		return kind
	}
	if i := strings.LastIndexAny(kind, `.:\+`); i >= 0 && i < len(kind)-1 {
		return kind[i+1:]
	}
	return kind
}
