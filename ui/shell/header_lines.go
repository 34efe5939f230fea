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

	"github.com/charmbracelet/x/ansi"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/ui/term"
)

const (
	valueLimit = 2000 // displayed characters of one header's value
	traceLimit = 8000 // the same for one with several lines
	valueDepth = 6    // displayed levels of nested tables
	treeLimit  = 500  // displayed lines of headers
)

// Named is one line of a list of names and values.
type Named struct{ Name, Value string }

// NamedLines draws names with their values beside them, or below where there is no room for both.
func NamedLines(all []Named, width int) (lines []string) {
	for _, n := range all {
		if one := term.Accent.Render(n.Name) + "  " + n.Value; ansi.StringWidthWc(one) <= width {
			lines = append(lines, one)
			continue
		}

		indent := strings.Repeat(" ", min(len(n.Name)-len(strings.TrimLeft(n.Name, " "))+2, width/2))
		for _, l := range term.Wrap(strings.TrimRight(n.Name, " "), width) {
			lines = append(lines, term.Accent.Render(l))
		}
		for _, l := range term.Wrap(n.Value, width-len(indent)) {
			lines = append(lines, indent+l)
		}
	}

	return lines
}

// PropertyLines returns the properties that a message has, with AMQP's names.
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

// tableNames returns the names of a table in order. x-death comes last: it is long, and the story shows it.
func tableNames(t model.Table) []string {
	names := slices.Sorted(maps.Keys(t))
	if i := slices.Index(names, "x-death"); i >= 0 {
		names = append(slices.Delete(names, i, i+1), "x-death")
	}
	return names
}

func tableLines(t model.Table) []Named {
	names := tableNames(t)
	lines := make([]Named, 0, len(names))
	for _, name := range names {
		lines = append(lines, Named{model.Printable(name), valueText(t[name])})
	}
	return lines
}

// TreeLines returns the entries of a table with nested tables expanded and indented: "x-death" and below it "1 count
// 3".
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
			if text := model.PrintableLines(message.WholeRunes(v, traceLimit)); len(text) > 1 {
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

// valueText returns one header's value on one line, printable and bounded.
func valueText(v any) string {
	text := unbounded(v, 0)
	if cut := message.WholeRunes(text, valueLimit); len(cut) < len(text) {
		return cut + "…"
	}
	return text
}

// unbounded returns a value as printable text, as long as a frame allows.
func unbounded(v any, depth int) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case string:
		return model.Printable(v)
	case []byte:
		if utf8.Valid(v) {
			return model.Printable(string(v))
		}
		return "0x" + hex.EncodeToString(v)
	case time.Time:
		return v.Local().Format(time.DateTime)
	case model.Decimal:
		return fmt.Sprintf("%de-%d", v.Value, v.Scale)
	case []any:
		if depth >= valueDepth {
			return "[…]"
		}

		elements := make([]string, len(v))
		for i, e := range v {
			elements[i] = unbounded(e, depth+1)
		}
		return "[" + strings.Join(elements, ", ") + "]"
	case model.Repeated:
		return fmt.Sprintf("%d values ", len(v)) + unbounded([]any(v), depth)
	case model.RawValue:
		return "unreadable, 0x" + hex.EncodeToString(append([]byte{v.Type}, v.Bytes...))
	case map[string]any:
		return unbounded(model.Table(v), depth)
	case model.Table:
		if depth >= valueDepth {
			return "{…}"
		}
		var entries []string
		for _, name := range slices.Sorted(maps.Keys(v)) {
			entries = append(entries, model.Printable(name)+": "+unbounded(v[name], depth+1))
		}
		return "{" + strings.Join(entries, ", ") + "}"
	}

	return model.Printable(fmt.Sprint(v))
}
