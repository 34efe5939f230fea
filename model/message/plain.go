package message

import (
	"bytes"
	"cmp"
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/dlxtop/dlxtop/model"
)

// plainField is a header, a member of the body, or an entry of a table in one, in which a worker wrote about failures.
type plainField struct {
	plainName
	at     path
	text   string // of an error, or of an origin
	value  any
	unread bool // its name says that it counts tries, its value is no count
}

// plainFields returns the fields of the headers, best first. A vague name counts when the message died or something
// else says that a worker republished it; vague stays set where only a death says so.
func (m *Message) plainFields() []plainField {
	found := m.headerFields()
	if !slices.ContainsFunc(found, func(f plainField) bool { return f.vague }) {
		return bestFirst(found)
	}

	read := slices.Clone(found) // beavers-dlq-error beside beavers-dlq-origin-queue, or beside a stack trace
	for f := range model.Each(found) {
		if f.prefix != "" && slices.ContainsFunc(read, func(o plainField) bool {
			return (o.role >= queueRole || o.role == stackRole) && o.prefix == f.prefix
		}) {
			f.vague, f.prefix = false, ""
		}
	}

	certain := func(f plainField) bool { return !f.vague && !f.unread }
	written := slices.ContainsFunc(found, certain) || m.publishedAgain()
	died := len(m.Deaths) > 0
	found = slices.DeleteFunc(found, func(f plainField) bool { return f.vague && !died && !written })
	for i := range found {
		found[i].vague = found[i].vague && !written
	}

	return bestFirst(found)
}

// headerFields returns all fields of the headers, in any order.
func (m *Message) headerFields() (found []plainField) {
	tables := false
	for key, v := range m.Headers {
		if IsBrokerHeader(key) {
			continue
		}
		_, isTable := model.AsTable(v)
		tables = tables || isTable || writtenTable(v) != nil

		n, ok := plainNameOf("", key)
		if text, _ := model.AsText(v); !ok && strings.Contains(text, ": ") && stateFails(key, text) {
			n, ok = plainName{role: traceRole, rank: len(plainNames()), vague: true}, true // status "failed: smtp is down"
		}
		if ok && (!isTable || n.role == traceRole || n.role >= queueRole) {
			found = n.read(found, path{key}, v)
		}
	}

	if !tables || m.Frameworks() != nil { // a framework's tables are described by its row
		return found
	}

	for key, v := range m.Headers {
		if IsBrokerHeader(key) { // x-death from a client that unwraps an array with one element
			continue
		}
		if outer, _ := plainNameOf("", key); outer.role == traceRole {
			continue // read as a whole
		}
		table, _ := model.AsTable(v)
		counts, counted := countsByName(key, table)
		for inner, v := range table {
			if n, ok := innerName(key, inner); ok {
				found = n.read(found, path{key, inner}, v)
			} else if counted {
				found = counts.read(found, path{key, inner}, v)
			}
		}

		for inner, v := range writtenTable(v) {
			if n, ok := innerName(key, inner); ok && n.role >= queueRole { // only a table's counts can be reset
				found = n.read(found, path{key, inner}, v)
			}
		}
	}

	return found
}

// countsByName returns what the name of a table says whose entries are counts, each of one queue or worker: only
// counts, under names that say nothing else.
func countsByName(outer string, table model.Table) (n plainName, ok bool) {
	n, ok = plainNameOf("", outer)
	for inner, v := range table {
		var s spelled
		_, isCount := count(v)
		_, named := innerName(outer, inner)
		if !isCount || named || !s.spell(inner) || s.has(s.words, bounds) {
			return n, false
		}
	}

	return n, ok && n.role == triesRole
}

// writtenTable returns a header that is a JSON object as text; nil for any other.
func writtenTable(v any) (table model.Table) {
	text, ok := model.AsText(v)
	if !ok || len(text) > maxPart || !strings.HasPrefix(text, "{") {
		return nil
	}
	var object any
	if json.Unmarshal([]byte(text), &object) == nil {
		table, _ = model.AsTable(object)
	}
	return table
}

// innerName returns what a name in a table of any name says.
func innerName(outer, inner string) (plainName, bool) {
	n, ok := plainNameOf(outer, inner)
	if ok && n.prefix == "" && n.rank < len(plainNames()) {
		return n, true
	}
	n, ok = plainNameOf("", inner)
	n.vague = n.vague || n.role == triesRole
	return n, ok
}

func bestFirst(fields []plainField) []plainField {
	slices.SortFunc(fields, func(a, b plainField) int {
		return cmp.Or(cmp.Compare(a.rank, b.rank), slices.Compare(a.at, b.at), cmp.Compare(a.role, b.role))
	})
	return fields
}

// publishedAgain reports whether the message, apart from its plain fields, says that a worker republished it: by an
// origin that it recorded, or by where it published it. For a dead letter RabbitMQ chose that place.
func (m *Message) publishedAgain() bool {
	_, _, key := m.FirstKey()
	_, _, origin := (&reader{m: m}).writtenOrigin()
	return key || origin || m.publishedToFailures()
}

// publishedToFailures reports whether a publisher sent a message to an exchange or a queue that is named for failures.
func (m *Message) publishedToFailures() bool {
	return len(m.Deaths) == 0 &&
		(model.NamedForFailures(m.Exchange) || m.Exchange == "" && model.NamedForFailures(m.RoutingKey))
}

// read adds the value of a name if it fits what the name says.
func (n plainName) read(found []plainField, at path, v any) []plainField {
	f := plainField{plainName: n, at: at, value: v}
	switch n.role {
	case triesRole, leftRole:
		return f.readCount(found)
	case timeRole:
		if !failedAt(v).IsZero() {
			found = append(found, f)
		}
		return found
	}

	text, ok := model.AsText(v)
	switch {
	case n.role >= queueRole:
		f.text = text
		return append(found, f)
	case n.role == stackRole:
		text, ok = linesOf(v)
	}

	if ok {
		if f.text = strings.ToValidUTF8(text, "\uFFFD"); !isError(f.text) {
			return found
		}
		if n.role != traceRole || text[0] != '{' && text[0] != '[' || json.Unmarshal([]byte(text), &v) != nil {
			return append(found, f)
		}
	}

	if number, ok := model.AsInteger(v); ok && number != 0 {
		switch n.role {
		case kindRole:
			f.text = strconv.FormatInt(number, 10)
			return append(found, f)
		case traceRole:
			if name := at[len(at)-1]; !n.vague && strings.HasSuffix(name, "s") { // failures: 3
				f.role, f.vague = triesRole, true
				return f.readCount(found)
			}
		}
	}

	if n.role != traceRole {
		return found
	}

	return f.readParts(found, v)
}

// isError reports whether a text can be that of an error: not one that only says whether there was one.
func isError(text string) bool {
	text = strings.TrimSpace(text)
	_, err := strconv.ParseBool(text)
	return text != "" && err != nil && !strings.EqualFold(text, "null") && !strings.EqualFold(text, "none")
}

// readCount adds a count: a number, a text that is one, or a list, whose length counts.
func (f plainField) readCount(found []plainField) []plainField {
	n, ok := tally(f.value)
	if ok && (n > 0 || n == 0 && f.role == leftRole) && n < math.MaxInt32 {
		return append(found, f)
	}
	if f.unread = !f.vague && !(ok && n == 0) && f.value != nil && f.value != "" && f.role == triesRole; f.unread {
		found = append(found, f)
	}

	return found
}

// tally returns a count, or that of a list: the sum of its counts, as in x-death, or its length, as a worker that keeps
// a list of its failures counts by it.
func tally(v any) (sum int64, ok bool) {
	list, ok := v.([]any)
	if !ok {
		return count(v)
	}

	for _, e := range list {
		table, _ := model.AsTable(e)
		n, counts := count(table["count"])
		if !counts || n < 0 {
			return int64(len(list)), true
		}
		sum = AddCapped(sum, n)
	}

	return sum, true
}

// readParts adds the parts of an error that is a table, or of the newest one in a list of them.
func (f plainField) readParts(found []plainField, v any) []plainField {
	if list, ok := v.([]any); ok && len(list) > 0 {
		v = newestOf(list)
		if text, ok := v.(string); ok {
			return f.plainName.read(found, f.at, text)
		}
		counts := f
		counts.role, counts.text, counts.value = triesRole, "", list
		found = append(found, counts)
	}

	table, _ := model.AsTable(v)
	before := len(found)
	for inner, v := range table {
		part, ok := plainNameOf("error", inner)
		if !ok || part.prefix != "" {
			part, ok = plainNameOf("", inner)
		}
		if _, nested := v.(model.Table); !ok || nested && len(f.at) > maxNested {
			continue
		}

		part.vague, part.prefix = f.vague, f.prefix
		at := f.at
		if part.role > stackRole {
			at = append(slices.Clone(at), inner)
		}

		found = part.read(found, at, v)
	}

	if f.text != "" && len(found) == before {
		found = append(found, f)
	}

	return found
}

const maxNested = 4

// newestOf returns the newest of several failures: by their times, or else the last, as workers append.
func newestOf(list []any) any {
	first, last := list[0], list[len(list)-1]
	if at, end := timeIn(first), timeIn(last); at.After(end) && !end.IsZero() {
		return first
	}
	return last
}

func timeIn(v any) (at time.Time) {
	table, _ := model.AsTable(v)
	for name, v := range table {
		if n, ok := plainNameOf("error", name); ok && n.role == timeRole {
			return failedAt(v)
		}
	}

	return at
}

// bodyHints are parts of the names for which a body is read.
var bodyHints = [][]byte{
	[]byte("rror"), []byte("xception"), []byte("ailure"), []byte("ttempt"), []byte("etr"),
	[]byte("tries"), []byte("dead"),
}

const maxPart = 1 << 20 // bytes of a member that is decoded

// bodyFields returns the fields of a JSON body, best first: of its members, and of the members of those that are tables
// for messaging, such as dead_letter or meta.
func (m *Message) bodyFields() (found []plainField) {
	body := bytes.TrimLeft(m.Body, " \t\r\n")
	if !m.whole() || len(body) == 0 || body[0] != '{' {
		return nil
	}
	mayState := containsAny(body, stateHints) && m.publishedToFailures()
	if !mayState && !containsAny(body, bodyHints) || !json.Valid(body) {
		return nil
	}

	states := mayState && statesFailure(body)
	for p := range JSONParts(body) {
		name, raw := p.Name(), body[p.From:p.To]
		n, ok := plainNameOf("", name)
		if said, says := saidOf(name); states && says && (!ok || n.vague) {
			n, ok = said, true
		}
		var v any
		if len(raw) > maxPart || !ok && (raw[0] != '{' || !isPlumbing(name)) || json.Unmarshal(raw, &v) != nil {
			continue
		}
		if ok {
			found = n.read(found, path{name}, v)
			continue
		}

		table, _ := model.AsTable(v)
		for inner, v := range table {
			if n, ok := plainNameOf("", inner); ok {
				found = n.read(found, path{name, inner}, v)
			}
		}
	}

	found = slices.DeleteFunc(found, func(f plainField) bool { return f.prefix != "" })
	return bestFirst(found)
}

func isPlumbing(name string) bool {
	var s spelled
	return s.spell(name) && s.has(s.words, plumbing)
}

// bodyFailure returns the fields of a body that describe a failure.
func (m *Message) bodyFailure() []plainField {
	return slices.DeleteFunc(m.bodyFields(), func(f plainField) bool { return f.vague || f.role > timeRole })
}

func firstText(fields []plainField, role plainRole) string {
	for _, f := range fields {
		if f.role == role {
			return f.text
		}
	}

	return ""
}

// CountedByWorker returns the highest count by a worker without a framework; 0 when there is none.
func (m *Message) CountedByWorker() (most int64) {
	for _, f := range append(m.plainFields(), m.bodyCounters()...) {
		if n, ok := tally(f.value); ok && f.role == triesRole && !f.unread && f.prefix == "" {
			most = max(most, n)
		}
	}

	return most
}

// bodyCounters returns the counters in the body of a message without a framework that failed: what a failure says about
// itself is none that a worker reads.
func (m *Message) bodyCounters() []plainField {
	found := m.bodyFields()
	if found == nil || m.Frameworks() != nil {
		return nil
	}
	if _, failed := m.Failure(); !failed {
		return nil
	}

	return slices.DeleteFunc(found, func(f plainField) bool {
		_, ok := tally(f.value)
		outer, _ := plainNameOf("", f.at[0])
		return !ok || f.role != triesRole || f.unread || outer.role == traceRole
	})
}
