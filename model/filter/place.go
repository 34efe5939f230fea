package filter

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/message"
)

// PlaceKind is the part of a message in which a filter found something.
type PlaceKind string

// The kinds. Matched is the whole message: an expression or a match in the failure has no single place.
const (
	InProperty PlaceKind = "property"
	InHeader   PlaceKind = "header"
	InBody     PlaceKind = "body"
	Matched    PlaceKind = "matched"
)

// Place is where a filter found something in a message, with some of the original text around it.
type Place struct {
	Kind                 PlaceKind
	Name                 string // of the property or the header; otherwise ""
	Before, Found, After string // before and after are short; all are empty with Matched
}

// Bytes of context around the match.
const (
	placeBefore = 24
	placeFound  = 200
	placeAfter  = 60
)

// Where reports whether a message meets the condition, and the first place that does: properties and address first,
// then headers, then the body. It searches where Match does, except in the failure, which is derived from headers and
// body. It does not parse the body for plain text.
func (f *Filter) Where(m *message.Message) (Place, bool) {
	if f == nil || f.program != nil || f.plain.text == "" {
		return Place{Kind: Matched}, f.Match(m)
	}
	p := &m.Properties
	for _, part := range [...]struct{ name, text string }{
		{"message_id", p.MessageID},
		{"correlation_id", p.CorrelationID},
		{"routing_key", m.RoutingKey},
		{"exchange", m.Exchange},
		{"type", p.Type},
		{"app_id", p.AppID},
		{"user_id", p.UserID},
		{"reply_to", p.ReplyTo},
		{"content_type", p.ContentType},
	} {
		if place, ok := f.plain.place(InProperty, part.name, part.text); ok {
			return place, true
		}
	}

	if place, ok := f.plain.inTable("", m.Headers, 0); ok {
		return place, true
	}

	return f.InBody(m.Body)
}

// InBody finds the filter's text in a body, unpacked or not; it never finds anything for an expression.
func (f *Filter) InBody(body []byte) (Place, bool) {
	if f == nil || f.plain.text == "" {
		return Place{}, false
	}
	return f.plain.place(InBody, "", string(body))
}

// needle is a text to search for, ignoring case.
type needle struct {
	text  string   // in lower case
	other []string // its JSON escapes inside a string; none if they are the same
}

func newNeedle(text string) needle {
	n := needle{text: strings.ToLower(text)}
	quoted, err := json.Marshal(text)
	if err != nil || !utf8.ValidString(text) {
		return n
	}
	plain := strings.NewReplacer(`\u003c`, "<", `\u003e`, ">", `\u0026`, "&").Replace(string(quoted[1 : len(quoted)-1]))
	escaped := strings.ToLower(escapedRunes(plain))
	for _, other := range []string{strings.ToLower(plain), escaped, strings.ReplaceAll(escaped, "/", `\/`)} {
		if other != n.text && (len(n.other) == 0 || n.other[len(n.other)-1] != other) {
			n.other = append(n.other, other)
		}
	}

	return n
}

// escapedRunes escapes everything but ASCII, as some JSON encoders do.
func escapedRunes(text string) string {
	var b []byte
	for _, r := range text {
		if r < utf8.RuneSelf {
			b = append(b, byte(r))
		} else {
			b = model.AppendEscaped(b, r)
		}
	}

	return string(b)
}

func (n *needle) in(s string) bool {
	_, _, ok := n.index(s)
	return ok
}

// index returns the first position in a text.
func (n *needle) index(s string) (from, to int, ok bool) {
	from, to = loweredIndex(s, n.text)
	for i := 0; from < 0 && i < len(n.other) && strings.IndexByte(s, '\\') >= 0; i++ {
		from, to = loweredIndex(s, n.other[i])
	}

	return from, from + to, from >= 0
}

// loweredIndex returns the position of a lower-case text in another one, and its length there.
func loweredIndex(s, lower string) (at, length int) {
	folded := strings.ToLower(s)
	at = strings.Index(folded, lower)
	if at < 0 || len(folded) == len(s) {
		return at, len(lower)
	}

	// Some letters have another length in lower case, but none becomes two runes.
	first := utf8.RuneCountInString(folded[:at])
	runes := utf8.RuneCountInString(lower)
	start, end, n := len(s), len(s), 0
	for i := range s {
		if n == first {
			start = i
		}
		if n == first+runes {
			end = i
			break
		}
		n++
	}

	return start, end - start
}

// place returns the first match in a text, with its context.
func (n *needle) place(kind PlaceKind, name, s string) (Place, bool) {
	from, to, ok := n.index(s)
	if !ok {
		return Place{}, false
	}
	before := max(from-placeBefore, 0)
	after := min(to+placeAfter, len(s))
	for before > 0 && before < from && !utf8.RuneStart(s[before]) {
		before++
	}

	to = min(to, from+placeFound)
	for after < len(s) && after > to && !utf8.RuneStart(s[after]) {
		after--
	}

	return Place{
		kind, name, strings.Clone(s[before:from]), strings.Clone(s[from:to]), strings.Clone(s[to:after]),
	}, true
}

// inValue searches a header's value, at any depth.
func (n *needle) inValue(name string, v any, depth int) (Place, bool) {
	if depth > message.MaxDepth {
		return Place{}, false
	}
	if t, ok := model.AsTable(v); ok {
		return n.inTable(name, t, depth+1)
	}
	switch v := v.(type) {
	case nil:
		return Place{}, false
	case []any:
		return n.inList(name, v, depth+1)
	case model.Repeated:
		return n.inList(name, v, depth+1)
	case model.RawValue:
		return n.inBytes(name, v.Bytes)
	case time.Time:
		return n.place(InHeader, name, v.UTC().Format(time.RFC3339))
	case []byte:
		return n.inBytes(name, v)
	case string:
		return n.place(InHeader, name, v)
	}

	return n.place(InHeader, name, fmt.Sprint(v))
}

// inTable returns the match in the first member by name. Members of the headers' table are headers.
func (n *needle) inTable(name string, t model.Table, depth int) (found Place, ok bool) {
	first := ""
	for key, e := range t {
		if ok && key > first {
			continue
		}
		if depth == 0 {
			name = key
		}

		place, here := n.place(InHeader, name, key)
		if !here {
			place, here = n.inValue(name, e, depth)
		}
		if here {
			found, first, ok = place, key, true
		}
	}

	return found, ok
}

func (n *needle) inList(name string, values []any, depth int) (Place, bool) {
	for _, v := range values {
		if place, ok := n.inValue(name, v, depth); ok {
			return place, true
		}
	}

	return Place{}, false
}

func (n *needle) inBytes(name string, b []byte) (Place, bool) {
	if place, ok := n.place(InHeader, name, string(b)); ok {
		return place, true
	}
	return n.place(InHeader, name, base64.StdEncoding.EncodeToString(b))
}
