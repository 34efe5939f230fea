package model

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
)

// Draft is a message as a replay publishes it, without ReplayHeader: what is edited.
type Draft struct {
	Address
	Properties Properties
	Headers    Table
	Body       []byte
}

// Draft is what a replay of a message of a queue publishes by itself. Where that is not known, it has the address of its origin.
func (t *Topology) Draft(from QueueRef, m *Message, user string) Draft {
	p := Plan{Operation: Replay, From: from, User: user, Target: t.Target(from, ToAuto, Address{})}
	o := p.opening(m)
	way := p.Target.wayOf(m, o)
	if way.Problem != "" {
		origin, _ := m.originBy(o.envelope)
		way.Address = origin
	}
	out := p.publishing(o.Message, way)
	delete(out.Headers, ReplayHeader)
	if len(out.Headers) == 0 {
		out.Headers = nil
	}
	return Draft{out.Address, out.Properties, out.Headers, out.Body}
}

// Same reports whether two drafts publish the same.
func (d *Draft) Same(other *Draft) bool { return d.fingerprint() == other.fingerprint() }

func (d *Draft) fingerprint() Fingerprint {
	p := Publishing{Address: d.Address, Properties: d.Properties, Headers: d.Headers, Body: d.Body}
	return p.fingerprint()
}

// shownValue is how many characters of a value a difference shows.
const shownValue = 40

// Differences tell what was changed from d to other, a line for each field.
func (d *Draft) Differences(other *Draft) []string {
	var lines []string
	differ := func(name, was, is string) {
		if was != is {
			lines = append(lines, fmt.Sprintf("%s: %s → %s", Printable(name), shown(was), shown(is)))
		}
	}
	differ("exchange", ExchangeName(d.Exchange), ExchangeName(other.Exchange))
	differ("routing_key", d.RoutingKey, other.RoutingKey)
	for _, f := range propertyFields(&d.Properties, &other.Properties) {
		differ(f.name, f.was, f.is)
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
			lines = append(lines, fmt.Sprintf("without the header %s", Printable(name)))
		case !before:
			lines = append(lines, fmt.Sprintf("with the header %s: %s", Printable(name), headerText(is)))
		case headerLine(was) != headerLine(is):
			lines = append(lines, fmt.Sprintf("header %s: %s → %s", Printable(name), headerText(was), headerText(is)))
		}
	}
	if !bytes.Equal(d.Body, other.Body) {
		at := 0
		for at < min(len(d.Body), len(other.Body)) && d.Body[at] == other.Body[at] {
			at++
		}
		lines = append(lines, fmt.Sprintf("body: %d → %s, different from byte %d on", len(d.Body), Plural(len(other.Body), "byte"), at+1))
	}
	return lines
}

// headerLine is a header's value as JSON, headerText the beginning of that.
func headerLine(v any) string {
	text, err := JSONLine(headerJSON(v))
	if err != nil {
		return "?" // all of it is JSON's own types
	}
	return string(text)
}

func headerText(v any) string { return shown(headerLine(v)) }

func shown(text string) string {
	runes := []rune(Printable(text))
	if len(runes) > shownValue {
		runes = append(runes[:shownValue], '…')
	}
	return quoted(string(runes))
}
