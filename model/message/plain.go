package message

import (
	"bytes"
	"cmp"
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"

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
)

// plainName is what a name says about its value.
type plainName struct {
	role  plainRole
	rank  int  // of several in a message, the lowest wins
	vague bool // it may be business data, too
}

// plainNames are the names that workers without a framework use, in the form of plainNameOf: each first word combined
// with each last word, "." standing for none. The best come first.
var plainNames = func() map[string]plainName {
	names := map[string]plainName{}
	add := func(role plainRole, vague bool, firsts, lasts string) {
		for _, last := range strings.Fields(lasts) {
			for _, first := range strings.Fields(firsts) {
				name := strings.ReplaceAll(first+last, ".", "")
				if _, there := names[name]; !there {
					names[name] = plainName{role, len(names), vague}
				}
			}
		}
	}
	const failures = "error exception failure err lasterror lastexception lastfailure lasterr fault "
	add(kindRole, false, failures, "class type kind name code classname")
	add(messageRole, false, failures+"fail failed", "message msg description")
	add(traceRole, false, failures+"errors exceptions failures", ".")
	add(traceRole, false, failures+"fail failed errored", "text reason details detail info cause string")
	add(traceRole, false, "reject rejected rejection deadletter dlq dlx nack retry requeue poison park parking quarantine",
		"reason error")
	add(traceRole, true, "reason cause fail", ".")
	add(stackRole, false, failures, "stacktrace stack trace backtrace traceback")
	add(stackRole, false, "stacktrace traceback backtrace", ".")
	add(stackRole, true, "stack trace", ".")
	add(timeRole, false, failures+"failed errored lastfailed", "at time timestamp date on")
	add(timeRole, false, "timeof lasttimeof", "failure error exception")
	const tries = "retry retries try tries attempt attempts retryattempt retryattempts deliveryattempt deliveryattempts " +
		"failedattempt failedattempts redelivery redeliveries requeue republish "
	add(triesRole, false, tries, "count counter number no num made")
	add(triesRole, false, ". num numof numberof current", "retries tries attempts deliveryattempts retryattempts "+
		"failedattempts redeliveries")
	add(triesRole, false, "current", "retry try attempt")
	add(triesRole, true, tries, ".")
	add(triesRole, true, "fail failed failure failures error errors", "count counter")
	return names
}()

// plainNameOf looks up a name whatever its case and separators: "X-Retry-Count" and "_retryCount" are "retrycount".
// outer is the name of the surrounding table, "" for a header. A name that begins with x- is never business data.
func plainNameOf(outer, name string) (plainName, bool) {
	var b [40]byte
	text := b[:0]
	for _, part := range [...]string{outer, name} {
		for i := range len(part) {
			c := part[i]
			if strings.IndexByte("-_. ", c) >= 0 {
				continue
			}
			if c >= 'A' && c <= 'Z' {
				c += 'a' - 'A'
			}
			if len(text) == len(b) {
				return plainName{}, false
			}
			text = append(text, c)
		}
	}
	n, ok := plainNames[string(text)]
	if !ok && len(text) > 0 && text[0] == 'x' {
		n, ok = plainNames[string(text[1:])]
		n.vague = false
	}
	return n, ok
}

// plainField is a header, or an entry of a table in one, in which a worker wrote about failures.
type plainField struct {
	plainName
	at    path
	text  string // of an error
	value any
}

// plainFields are the fields of the headers, best first. A vague name counts when the message died or something else
// says that a worker republished it; vague stays set where only a death says so.
func (m *Message) plainFields() []plainField {
	var found []plainField
	tables := false
	for key, v := range m.Headers {
		_, isTable := model.AsTable(v)
		n, ok := plainNameOf("", key)
		if ok && (!isTable || n.role == traceRole) {
			found = n.read(found, path{key}, v)
		}
		tables = tables || isTable
	}
	if tables && m.Frameworks() == nil { // a framework's tables are described by its row
		for key, v := range m.Headers {
			table, _ := model.AsTable(v)
			if IsDeathHeader(key) { // from a client that unwraps an array with one element
				continue
			}
			for inner, v := range table {
				n, ok := plainNameOf(key, inner)
				if !ok {
					n, ok = plainNameOf("", inner)
					n.vague = n.vague || n.role == triesRole
				}
				if ok {
					found = n.read(found, path{key, inner}, v)
				}
			}
		}
	}
	if slices.ContainsFunc(found, func(f plainField) bool { return f.vague }) {
		written := slices.ContainsFunc(found, func(f plainField) bool { return !f.vague }) || m.publishedAgain()
		died := len(m.Deaths) > 0
		found = slices.DeleteFunc(found, func(f plainField) bool { return f.vague && !died && !written })
		for i := range found {
			found[i].vague = found[i].vague && !written
		}
	}
	return bestFirst(found)
}

func bestFirst(fields []plainField) []plainField {
	slices.SortFunc(fields, func(a, b plainField) int {
		return cmp.Or(cmp.Compare(a.rank, b.rank), slices.Compare(a.at, b.at))
	})
	return fields
}

// publishedAgain reports whether the message, apart from its plain fields, says that a worker republished it: by an
// origin that it recorded, or by where it published it. For a dead letter RabbitMQ chose that place.
func (m *Message) publishedAgain() bool {
	_, _, key := m.FirstKey()
	_, _, origin := (&reader{m: m}).writtenOrigin()
	return key || origin || len(m.Deaths) == 0 &&
		(model.NamedForFailures(m.Exchange) || m.Exchange == "" && model.NamedForFailures(m.RoutingKey))
}

// read adds the value of a name if it fits what the name says.
func (n plainName) read(found []plainField, at path, v any) []plainField {
	f := plainField{plainName: n, at: at, value: v}
	switch n.role {
	case triesRole:
		if tries, ok := count(v); ok && tries > 0 && tries < math.MaxInt32 {
			found = append(found, f)
		}
		return found
	case timeRole:
		if !failedAt(v).IsZero() {
			found = append(found, f)
		}
		return found
	}
	if text, ok := model.AsText(v); ok {
		if f.text = strings.ToValidUTF8(text, "\uFFFD"); strings.TrimSpace(text) == "" {
			return found
		}
		if n.role != traceRole || text[0] != '{' || json.Unmarshal([]byte(text), &v) != nil {
			return append(found, f)
		}
	}
	if code, ok := model.AsInteger(v); ok && code != 0 && n.role == kindRole {
		f.text = strconv.FormatInt(code, 10)
		return append(found, f)
	}
	if n.role != traceRole {
		return found
	}
	if list, ok := v.([]any); ok && len(list) > 0 {
		v = list[len(list)-1] // the newest
		if text, ok := v.(string); ok {
			return n.read(found, at, text)
		}
	}
	table, _ := model.AsTable(v)
	before := len(found)
	for inner, v := range table {
		if part, ok := plainNameOf("error", inner); ok && part.role <= stackRole {
			part.vague = n.vague
			found = part.read(found, at, v)
		}
	}
	if f.text != "" && len(found) == before {
		found = append(found, f)
	}
	return found
}

// bodyFields are the fields of a JSON body that describes an error.
func (m *Message) bodyFields() (found []plainField) {
	if !m.whole() || !bytes.Contains(m.Body, []byte("rror")) {
		return nil
	}
	var members map[string]json.RawMessage
	if json.Unmarshal(m.Body, &members) != nil {
		return nil
	}
	for name, raw := range members {
		var v any
		if n, ok := plainNameOf("", name); ok && !n.vague && n.role <= stackRole && json.Unmarshal(raw, &v) == nil {
			found = n.read(found, path{name}, v)
		}
	}
	return bestFirst(found)
}

func firstText(fields []plainField, role plainRole) string {
	for _, f := range fields {
		if f.role == role {
			return f.text
		}
	}
	return ""
}

// CountedByWorker is the highest count in the headers by a worker without a framework; 0 when there is none.
func (m *Message) CountedByWorker() (most int64) {
	for _, f := range m.plainFields() {
		if n, ok := count(f.value); ok && f.role == triesRole {
			most = max(most, n)
		}
	}
	return most
}
