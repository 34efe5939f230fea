package draft

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/body"
	"github.com/dlxtop/dlxtop/model/message"
)

// Draft is a message as a replay publishes it, without ReplayHeader: this is what the user edits.
type Draft message.Publishing

// Message returns the draft as a message that can be displayed.
func (d *Draft) Message() message.Message {
	return message.Message{
		Exchange:   d.Exchange,
		RoutingKey: d.RoutingKey,
		Properties: d.Properties,
		Headers:    d.Headers,
		Body:       d.Body,
		BodyBytes:  len(d.Body),
	}
}

func (d *Draft) Same(other *Draft) bool { return d.fingerprint() == other.fingerprint() }

func (d *Draft) fingerprint() message.Fingerprint {
	m := d.Message()
	return message.FingerprintOf(&m)
}

// shownValue is how many characters of a value a difference shows.
const shownValue = 40

// Differences describe the changes from d to other, a line for each field, and one for the body.
func (d *Draft) Differences(other *Draft) []string {
	lines := d.differencesAbove(other)
	if !bytes.Equal(d.Body, other.Body) {
		at := 0
		for at < min(len(d.Body), len(other.Body)) && d.Body[at] == other.Body[at] {
			at++
		}
		lines = append(lines, model.Sayf("body: %d → %v byte(s), different from byte %d on", len(d.Body), len(other.Body),
			at+1))
	}

	return lines
}

// Compare returns what differs above the bodies, and their lines side by side; of bodies that differ beyond what is
// read of them, only where.
func (d *Draft) Compare(other *Draft) (above []string, lines []body.Row) {
	if bytes.Equal(d.Body, other.Body) {
		return d.differencesAbove(other), nil
	}
	was, is := d.Message(), other.Message()
	lines = body.Compare(body.Read(&was).Lines, body.Read(&is).Lines)
	if !slices.ContainsFunc(lines, func(r body.Row) bool { return !r.Same }) {
		return d.Differences(other), nil
	}

	return d.differencesAbove(other), lines
}

// differencesAbove describe the changes from d to other, except in the body.
func (d *Draft) differencesAbove(other *Draft) []string {
	var lines []string
	differ := func(name, was, is string) {
		if was != is {
			lines = append(lines, model.Sayf("%v: %s → %s", name, shown(was), shown(is)))
		}
	}

	differ("exchange", model.ExchangeName(d.Exchange), model.ExchangeName(other.Exchange))
	differ("routing_key", d.RoutingKey, other.RoutingKey)

	for _, f := range Properties(&d.Properties, &other.Properties) {
		differ(f.Name, f.Was, f.Is)
	}

	names := slices.Collect(maps.Keys(d.Headers))
	for name := range other.Headers {
		if _, there := d.Headers[name]; !there {
			names = append(names, name)
		}
	}

	slices.Sort(names)
	for _, name := range names {
		was, before := d.Headers[name]
		is, after := other.Headers[name]
		switch {
		case !after:
			lines = append(lines, model.Sayf("without the header %v", name))
		case !before:
			lines = append(lines, model.Sayf("with the header %v: %s", name, headerText(is)))
		case headerLine(was) != headerLine(is):
			lines = append(lines, model.Sayf("header %v: %s → %s", name, valueText(was, is),
				valueText(is, was)))
		}
	}

	return lines
}

// headerLine returns a header's value as JSON, headerText the beginning of that.
func headerLine(v any) string {
	text, err := model.JSONLine(message.HeaderJSON(v))
	if err != nil {
		return "?" // it has only JSON's own types
	}
	return string(text)
}

// valueText is headerText, without the type of a number if other has the same type.
func valueText(v, other any) string {
	if n, whole := model.AsInteger(v); whole && reflect.TypeOf(v) == reflect.TypeOf(other) {
		return fmt.Sprint(n)
	}
	return headerText(v)
}

func headerText(v any) string { return shown(headerLine(v)) }

func shown(text string) string { return model.Quoted(model.Beginning(text, shownValue)) }

// Property is one property before and after, as text; "" when it is absent.
type Property struct{ Name, Was, Is string }

func Properties(was, is *message.Properties) []Property {
	fields := make([]Property, 0, 13)
	after := is.Fields()
	for i, f := range was.Fields() {
		fields = append(fields, Property{f.Name, was.Shown(&f), is.Shown(&after[i])})
	}
	return fields
}

// MarshalJSON writes the draft as a message.
func (d Draft) MarshalJSON() ([]byte, error) {
	m := d.Message()
	return json.Marshal(m.JSON())
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (d *Draft) UnmarshalJSON(text []byte) error {
	var in message.MessageJSON
	if err := message.Decode(text, &in); err != nil {
		return err
	}
	m, err := in.Message()
	*d = Draft{
		Address: model.Address{Exchange: m.Exchange, RoutingKey: m.RoutingKey}, Properties: m.Properties,
		Headers: m.Headers, Body: m.Body,
	}

	return err
}
