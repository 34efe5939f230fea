package message

import (
	"bytes"
	"cmp"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/dlxtop/dlxtop/model"
)

// ResetKind is what a replay does to one thing that a framework, or a worker without one, wrote into a message.
type ResetKind string

const (
	CounterReset ResetKind = "counter reset" // it counts from Was back to Is
	CounterKept  ResetKind = "counter kept"  // it stays at Was: on request, or because it cannot be written
	CounterLeft  ResetKind = "counter left"  // it stays at Was: it may be business data, or what it began with is unknown
	NoCounter    ResetKind = "no counter"    // it stays: its name says that it counts tries, its value is no count
	MarkRemoved  ResetKind = "mark removed"  // the next worker would fail a message with it at once
	ErrorRemoved ResetKind = "error removed" // it describes a past failure
)

// Reset is one change that brings a message closer to what it was before its first try.
type Reset struct {
	Framework Framework // "" without one: an application's own header
	Kind      ResetKind
	Name      string // "retries", "rascal.recovery.QUEUE.forwarded"
	Header    string // the header itself, or the one that contains it; "" when it is in the body
	Was, Is   int64  // values of a counter
	Edit      string // the jq program that would reset what stays; "" when there is none
}

// Counts reports whether Was and Is are the values of a counter.
func (r Reset) Counts() bool {
	return r.Kind == CounterReset || r.Kind == CounterKept || r.Kind == CounterLeft
}

// ResetWish is what a replay should do about the tries of a message.
type ResetWish struct {
	KeepTries bool // counters stay as they are
	MarksOnly bool // only marks with which the next worker would fail it at once are removed: for a move
}

// Reset returns the message as it was before its first try, as far as later additions are known: counters at their
// start, and without traces of a past failure. The message itself stays as it is.
func (m *Message) Reset(wish ResetWish) (*Message, []Reset) {
	r := resetter{m: m, wish: wish}
	for k := range m.rows() {
		r.framework = k.Name
		r.row(k)
	}

	r.framework = ""
	r.plain()
	return r.now(), r.resets
}

// resetter changes a copy of a message, made at the first change.
type resetter struct {
	m         *Message
	changed   *Message
	owned     bool // changed has headers of its own
	wish      ResetWish
	framework Framework
	resets    []Reset
}

func (r *resetter) now() *Message { return cmp.Or(r.changed, r.m) }

func (r *resetter) own() *Message {
	if r.changed == nil {
		r.changed = new(*r.m)
	}
	return r.changed
}

func (r *resetter) row(k *framework) {
	for _, p := range k.Recovery {
		r.headers(p.path, r.removal(MarkRemoved))
	}
	if r.wish.MarksOnly {
		return
	}
	for c := range model.Each(k.Tries) {
		if c.At.in == inHeaders {
			r.headers(c.At.path, r.counter(c))
		} else {
			r.bodyCounter(c)
		}
	}

	if k.Stamps {
		r.resetSymfony()
	}

	for _, s := range k.Stale {
		if s.in == inHeaders {
			r.removeStale(s.path)
		} else {
			r.removeMember(s.path[0])
		}
	}
}

// note records a change to a header, or to a value in it; header is "" for the body.
func (r *resetter) note(kind ResetKind, header, name string, was int64) {
	reset := Reset{
		Framework: r.framework,
		Kind:      kind,
		Name:      name,
		Header:    header,
		Was:       was,
	}

	if kind == CounterKept || kind == CounterLeft {
		reset.Is = was
	}

	r.resets = append(r.resets, reset)
}

func (r *resetter) removal(kind ResetKind) func(at []string, v any) (any, bool) {
	return func(at []string, _ any) (any, bool) {
		r.note(kind, at[0], strings.Join(at, "."), 0)
		return nil, false
	}
}

// counter sets a count to 0 in its own type. A value that is not a count stays.
func (r *resetter) counter(c *counter) func(at []string, v any) (any, bool) {
	return func(at []string, v any) (any, bool) {
		n, ok := count(v)
		if c.Lists {
			n, ok = tally(v)
		}

		switch {
		case !ok || n <= 0:
			return v, true
		case r.wish.KeepTries:
			r.note(CounterKept, at[0], strings.Join(at, "."), n)
			return v, true
		}

		r.note(CounterReset, at[0], strings.Join(at, "."), n)
		return zeroLike(v), !c.Absent
	}
}

// count reads a number, or a text that is one.
func count(v any) (int64, bool) {
	if n, ok := model.AsInteger(v); ok {
		return n, true
	}
	if s, ok := model.AsText(v); ok && len(s) <= 10 {
		n, err := strconv.ParseInt(s, 10, 32)
		return n, err == nil
	}

	return 0, false
}

// zeroLike returns 0 in the type of a count.
func zeroLike(v any) any {
	switch v.(type) {
	case string:
		return "0"
	case []byte:
		return []byte("0")
	}

	return reflect.Zero(reflect.TypeOf(v)).Interface()
}

// headers passes the values at a path to change, which returns the new value and whether to keep it.
func (r *resetter) headers(p path, change func(at []string, v any) (any, bool)) {
	headers := r.now().Headers
	v, there := headers[p[0]]
	if !there {
		return
	}
	before := len(r.resets)
	now, stays := changed(v, p[1:], p[:1], change)
	if len(r.resets) == before {
		return
	}
	r.set(p[0], now, stays)
}

// changed returns a value with the value at a path inside it changed. Tables on the way are copied.
func changed(v any, rest path, at []string, change func([]string, any) (any, bool)) (any, bool) {
	if len(rest) == 0 {
		return change(at, v)
	}
	t, ok := model.AsTable(v)
	if !ok {
		return v, true // JSON inside a text is not changed
	}
	keys := []string{rest[0]}
	if rest[0] == "*" {
		keys = slices.Sorted(maps.Keys(t))
	}

	var out model.Table
	for _, key := range keys {
		inner, there := t[key]
		if !there {
			continue
		}
		if out == nil {
			out = maps.Clone(t)
		}
		now, stays := changed(inner, rest[1:], append(slices.Clone(at), key), change)
		if out[key] = now; !stays {
			delete(out, key)
		}
	}

	if out == nil {
		return v, true
	}

	return out, true
}

// set writes or removes one header of the changed message.
func (r *resetter) set(key string, v any, stays bool) {
	m := r.own()
	if !r.owned {
		m.Headers, r.owned = maps.Clone(m.Headers), true
	}
	if m.Headers[key] = v; !stays {
		delete(m.Headers, key)
	}
}

func (r *resetter) removeStale(p path) {
	prefix, many := strings.CutSuffix(p[0], "*")
	if !many {
		r.headers(p, r.removal(ErrorRemoved))
		return
	}

	for _, key := range slices.Sorted(maps.Keys(r.now().Headers)) {
		if strings.HasPrefix(key, prefix) {
			r.note(ErrorRemoved, key, key, 0)
			r.set(key, nil, false)
		}
	}
}

// bodyCounter sets a count in a JSON body to 0, and leaves every other byte as it is. Deeper counts are handled with
// their envelope.
func (r *resetter) bodyCounter(c *counter) {
	name := strings.Join(c.At.path, ".")
	if len(c.At.path) != 1 {
		return
	}
	object, at := r.member(name)
	n, err := strconv.ParseInt(string(object.value(at)), 10, 32)
	switch {
	case err != nil || n <= 0:
	case r.wish.KeepTries:
		r.note(CounterKept, "", name, n)
	default:
		r.note(CounterReset, "", name, n)
		r.setBody(object.with(map[*JSONPart][]byte{at: []byte("0")}))
	}
}

func (r *resetter) removeMember(name string) {
	if object, at := r.member(name); at != nil {
		r.note(ErrorRemoved, "", name, 0)
		r.setBody(object.without([]string{name}))
	}
}

// member returns a member of a JSON body; nil without it.
func (r *resetter) member(name string) (object jsonObject, at *JSONPart) {
	if m := r.now(); m.whole() && bytes.Contains(m.Body, []byte(`"`+name+`"`)) {
		object, _ = objectIn(m.Body)
		at = object.member(name)
	}

	return object, at
}

// whole reports whether the body is complete, and small enough to be read for an envelope.
func (m *Message) whole() bool {
	return len(m.Body) > 0 && len(m.Body) <= MaxEnvelope && len(m.Body) >= m.BodyBytes
}

func (r *resetter) setBody(body []byte) {
	m := r.own()
	m.Body, m.BodyBytes = body, len(body)
}

// plain resets what workers without a framework write: their counters, and the fields that a failure is read from.
// Possible business data is removed only where something says that a worker wrote it, and counters that are or stand in
// the body are named as what stays.
func (r *resetter) plain() {
	if r.wish.MarksOnly {
		return
	}
	fields := r.now().plainFields()
	slices.SortStableFunc(fields, func(a, b plainField) int {
		return cmp.Or(slices.Compare(a.at, b.at), cmp.Compare(b.role, a.role)) // a list that counts before its error
	})

	for _, f := range fields {
		name := strings.Join(f.at, ".")
		kept := slices.ContainsFunc(r.resets, func(noted Reset) bool {
			return noted.Name == name && noted.Kind != MarkRemoved
		})
		switch {
		case kept || r.ownedByFramework(f.at[0]):
		case f.role == triesRole || f.role == leftRole:
			r.plainCounter(&f, name)
		case f.role <= stackRole && !f.vague && f.prefix == "":
			r.removeStale(f.at)
		}
	}

	if r.wish.KeepTries {
		return
	}
	for _, f := range r.m.bodyCounters() { // whether its worker reads them is unknown
		n, _ := tally(f.value)
		r.note(CounterLeft, "", "body."+strings.Join(f.at, "."), n)
		r.resets[len(r.resets)-1].Edit = f.edit("body")
	}
}

// ownedByFramework reports whether a header is the counter of a framework that the message is of.
func (r *resetter) ownedByFramework(header string) bool {
	for k := range r.m.rows() {
		if slices.ContainsFunc(k.Tries, func(c counter) bool { return c.At.in == inHeaders && c.At.path[0] == header }) {
			return true
		}
	}

	return false
}

func (r *resetter) plainCounter(f *plainField, name string) {
	n, _ := tally(f.value)
	switch {
	case f.unread:
		r.note(NoCounter, f.at[0], name, 0)
	case f.role == leftRole:
		r.note(CounterLeft, f.at[0], name, n)
	case f.prefix != "":
		r.note(CounterLeft, f.at[0], name, n)
		r.resets[len(r.resets)-1].Edit = f.edit("headers")
	default:
		r.headers(f.at, r.counter(&counter{Lists: true, Absent: isList(f.value)}))
	}
}

func isList(v any) bool {
	_, list := v.([]any)
	return list
}

// edit returns the jq program that resets a counter.
func (f *plainField) edit(in string) string {
	program := "." + in
	for _, name := range f.at {
		quoted, err := model.JSONLine(name)
		if err != nil {
			return ""
		}
		program += "[" + strings.TrimSpace(string(quoted)) + "]"
	}

	switch f.value.(type) {
	case []any:
		return program + " = []"
	case string, []byte:
		return program + ` = "0"`
	}

	return program + " = 0"
}
