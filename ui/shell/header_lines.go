package shell

import (
	"cmp"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/message"
)

const (
	valueLimit = 2000 // displayed characters of one header's value
	traceLimit = 8000 // the same for one with several lines
	valueDepth = 6    // displayed levels of nested tables
	treeLimit  = 500  // displayed lines of headers
)

// Named is one line of a list of names and values.
type Named struct{ Name, Value string }

// PropertyLines are the properties that a message has, with AMQP's names.
func PropertyLines(m *message.Message) []Named {
	p := &m.Properties
	lines := []Named{{"exchange", model.ExchangeName(m.Exchange)}, {"routing_key", m.RoutingKey}}
	fields := p.Fields()
	slices.SortStableFunc(fields[:], func(a, b message.Property) int { // the id comes first
		return cmp.Compare(b.Flag&message.PropMessageID, a.Flag&message.PropMessageID)
	})
	for _, f := range fields {
		value := p.Shown(&f)
		switch {
		case value == "":
		case f.Flag == message.PropDeliveryMode && p.Persistent():
			value += " persistent"
		case f.Flag == message.PropDeliveryMode:
			value += " transient"
		case f.Time != nil:
			value = f.Time.Local().Format(time.DateTime)
		}
		if value != "" {
			lines = append(lines, Named{f.Name, value})
		}
	}
	if m.Redelivered {
		lines = append(lines, Named{"redelivered", "true"})
	}
	for i := range lines {
		lines[i].Value = model.Printable(lines[i].Value)
	}
	return lines
}

// tableNames are the names of a table in order. x-death comes last: it is long, and the story shows it.
func tableNames(t model.Table) []string {
	names := slices.Sorted(maps.Keys(t))
	if i := slices.Index(names, "x-death"); i >= 0 {
		names = append(slices.Delete(names, i, i+1), "x-death")
	}
	return names
}

// tableLines are the entries of a table, each on one line.
func tableLines(t model.Table) []Named {
	names := tableNames(t)
	lines := make([]Named, 0, len(names))
	for _, name := range names {
		lines = append(lines, Named{model.Printable(name), valueText(t[name])})
	}
	return lines
}

// TreeLines are the entries of a table with nested tables expanded and indented: "x-death" and below it "1 count 3".
func TreeLines(t model.Table) []Named {
	var lines []Named
	var add func(name string, v any, depth int)
	add = func(name string, v any, depth int) {
		if len(lines) >= treeLimit {
			return
		}
		indent := strings.Repeat("  ", depth)
		switch v := v.(type) {
		case string: // a stack trace keeps its lines
			w := valueWriter{left: traceLimit}
			if text := model.PrintableLines(w.fits(v)); len(text) > 1 {
				lines = append(lines, Named{indent + name, ""})
				for _, line := range text[:min(len(text), treeLimit-len(lines))] {
					lines = append(lines, Named{indent, line})
				}
				return
			}
		case model.Repeated:
			for _, e := range v {
				add(name, e, depth)
			}
			return
		case model.Table:
			if depth < valueDepth && len(v) > 0 {
				lines = append(lines, Named{indent + name, ""})
				for _, inner := range tableNames(v) {
					add(model.Printable(inner), v[inner], depth+1)
				}
				return
			}
		case []any:
			if depth < valueDepth && slices.ContainsFunc(v, func(e any) bool { _, ok := e.(model.Table); return ok }) {
				lines = append(lines, Named{indent + name, ""})
				for i, e := range v {
					add(strconv.Itoa(i+1), e, depth+1)
				}
				return
			}
		}
		lines = append(lines, Named{indent + name, valueText(v)})
	}
	for _, name := range tableNames(t) {
		add(model.Printable(name), t[name], 0)
	}
	if len(lines) >= treeLimit {
		lines = append(lines, Named{"…", "not all headers are shown"})
	}
	return lines
}

// valueText is one header's value on one line, printable and bounded.
func valueText(v any) string {
	w := valueWriter{left: valueLimit}
	w.value(v, 0)
	if w.left <= 0 {
		w.b.WriteString("…")
	}
	return w.b.String()
}

// valueWriter writes until its room is used up: a hostile header can be as large as a frame allows.
type valueWriter struct {
	b    strings.Builder
	left int
}

// text writes text from a message.
func (w *valueWriter) text(s string) { w.b.WriteString(model.Printable(w.fits(s))) }

// mark writes what stands between values.
func (w *valueWriter) mark(s string) { w.b.WriteString(w.fits(s)) }

// fits is the beginning of a text for which there is room.
func (w *valueWriter) fits(s string) string {
	room := max(w.left, 0)
	w.left -= len(s)
	return message.WholeRunes(s, room)
}

func (w *valueWriter) value(v any, depth int) {
	if w.left <= 0 {
		return
	}
	switch v := v.(type) {
	case nil:
		w.text("null")
	case string:
		w.text(v)
	case []byte:
		if utf8.Valid(v) {
			w.text(string(v))
		} else {
			w.text("0x" + hex.EncodeToString(v[:min(len(v), w.left/2+1)]))
		}
	case time.Time:
		w.text(v.Local().Format(time.DateTime))
	case model.Decimal:
		w.text(fmt.Sprintf("%de-%d", v.Value, v.Scale))
	case []any:
		w.list(v, depth)
	case model.Repeated:
		w.mark(fmt.Sprintf("%d values ", len(v)))
		w.list(v, depth)
	case model.RawValue:
		w.text("unreadable, 0x" + hex.EncodeToString(append([]byte{v.Type}, v.Bytes[:min(len(v.Bytes), w.left/2+1)]...)))
	case model.Table:
		w.table(v, depth)
	case map[string]any:
		w.table(v, depth)
	default:
		w.text(fmt.Sprint(v))
	}
}

// within writes this many values between brackets.
func (w *valueWriter) within(open, end string, values, depth int, write func(i int)) {
	if depth >= valueDepth {
		w.mark(open + "…" + end)
		return
	}
	w.mark(open)
	for i := range values {
		if w.left <= 0 {
			return
		}
		if i > 0 {
			w.mark(", ")
		}
		write(i)
	}
	w.mark(end)
}

func (w *valueWriter) list(v []any, depth int) {
	w.within("[", "]", len(v), depth, func(i int) { w.value(v[i], depth+1) })
}

func (w *valueWriter) table(v map[string]any, depth int) {
	names := slices.Sorted(maps.Keys(v))
	w.within("{", "}", len(names), depth, func(i int) {
		w.text(names[i])
		w.mark(": ")
		w.value(v[names[i]], depth+1)
	})
}
