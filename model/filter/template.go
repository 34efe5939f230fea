package filter

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/message"
)

// template is a URL with fields in it; it has at least one part.
type template []templatePart

// templatePart is a text, or the path to a field: "headers", "traceparent".
type templatePart struct {
	text  string
	field []string // nil for a text
}

func (p *templatePart) name() string { return model.Printable(strings.Join(p.field, ".")) }

// mostOfValue is the maximum length of a value in a URL or in a command's environment, in bytes.
const mostOfValue = 4096

// parseTemplate parses "…{{headers.traceparent}}…". A field is a name in expressions; headers. is followed by one
// header's name, json. by a path of members.
func parseTemplate(text string) (template, error) {
	var t template
	for {
		before, rest, more := strings.Cut(text, "{{")
		if before != "" || !more && len(t) == 0 {
			t = append(t, templatePart{text: before})
		}
		if !more {
			return t, nil
		}
		name, behind, closed := strings.Cut(rest, "}}")
		if !closed {
			return nil, errors.New("{{ is not closed by }}")
		}
		field, err := parseField(strings.TrimSpace(name))
		if err != nil {
			return nil, err
		}
		t = append(t, templatePart{field: field})
		text = behind
		if text == "" {
			return t, nil
		}
	}
}

func parseField(name string) ([]string, error) {
	root, below, nested := strings.Cut(name, ".")
	if !slices.Contains(ofMessages.names(), root) {
		return nil, model.Errorf("there is no field %v: there are %s", name,
			strings.Join(ofMessages.names(), ", "))
	}
	takes := root == "headers" || root == "json"
	switch {
	case takes != nested || nested && below == "":
		return nil, model.Errorf("the field %v: headers.NAME and json.MEMBER name one value, and the other fields have "+
			"nothing behind them", name)
	case root == "headers":
		return []string{root, below}, nil
	}

	return strings.Split(name, "."), nil
}

// fill replaces the fields by the values of a message, escaped.
func (t template) fill(m *message.Message) (string, error) {
	var b strings.Builder
	for i := range t {
		if t[i].field == nil {
			b.WriteString(t[i].text)
			continue
		}

		value, ok := fieldText(m, t[i].field)
		switch {
		case !ok:
			return "", fmt.Errorf("this message has no %s", t[i].name())
		case len(value) > mostOfValue:
			return "", fmt.Errorf("%s has more than %sB", t[i].name(), message.Size(mostOfValue))
		}

		b.WriteString(escaped(value))
	}

	return b.String(), nil
}

// fieldText returns the value of a field as text; false if it is empty or nil, or has members.
func fieldText(m *message.Message, path []string) (string, bool) {
	i := slices.IndexFunc(fields, func(f Field) bool { return f.Name == path[0] })
	value := fields[i].of(m)
	for _, name := range path[1:] {
		members, ok := value.(map[string]any)
		if !ok {
			return "", false
		}
		value = members[name]
	}

	return scalarText(value)
}

func scalarText(value any) (string, bool) {
	switch v := value.(type) {
	case nil, map[string]any, []any:
		return "", false
	case time.Time:
		value = v.UTC().Format(time.RFC3339Nano)
	}

	text := fmt.Sprint(value)
	return text, text != ""
}
