package message

import (
	"strings"
	"time"

	"github.com/dlxtop/dlxtop/model"
)

// Task returns what the worker should do, by its framework's name for it: a task, an actor, a type of message.
func (m *Message) Task() (string, bool) {
	r := reader{m: m}
	for k := range m.rows() {
		if text := r.first(k.Task); text != "" {
			return WholeRunes(text, maxTask), true
		}
		if s, ok := k.stamped(m); ok && s.class != "" {
			return WholeRunes(s.class, maxTask), true
		}
	}

	return "", false
}

const maxTask = 300

// discriminators are the members by which JSON bodies say what they are.
var discriminators = []string{
	"$type", "@type", "@class", "__type", "_type", "messageType", "message_type", "eventType", "event_type", "type",
}

// Name returns the class or type of the message: its framework's name for it, its property type, or what CloudEvents'
// header or its JSON body says; "" when nothing does.
func (m *Message) Name() string {
	if task, ok := m.Task(); ok {
		return task
	}

	name := strings.TrimSpace(m.Properties.Type)
	for _, header := range []string{"cloudEvents:type", "cloudEvents_type"} {
		if name == "" {
			name, _ = model.AsText(m.Headers[header])
		}
	}

	for _, member := range discriminators {
		if name == "" {
			name, _ = jsonText(m.Body, path{member})
		}
	}

	name, _, _ = strings.Cut(name, "\n") // of a list
	return WholeRunes(strings.ToValidUTF8(name, "\uFFFD"), maxTask)
}

// Eta returns the time before which the worker does not run the message. held is false where the worker no longer
// checks it once the message is in its queue.
func (m *Message) Eta() (at time.Time, held, ok bool) {
	for k := range m.rows() {
		if at, ok := m.timeAt(k.Eta); ok {
			return at, !k.EarlyRun, true
		}
	}

	return at, false, false
}

// Expires returns the time after which its worker discards the message.
func (m *Message) Expires() (time.Time, bool) {
	for k := range m.rows() {
		if at, ok := m.timeAt(k.Expires); ok {
			return at, true
		}
	}

	return time.Time{}, false
}

// timeAt reads a time with its offset from UTC. A time without an offset is unknown: it could be in any zone.
func (m *Message) timeAt(spots []spot) (time.Time, bool) {
	r := reader{m: m}
	for _, s := range spots {
		text, ok := r.text(s)
		if !ok || len(text) > 40 {
			continue
		}
		if at, err := time.Parse(time.RFC3339Nano, text); err == nil {
			return at, true
		}
	}

	return time.Time{}, false
}

// Retried returns how often the message was tried, as counted by its framework. more is true where the count leaves out
// the first try: a message that has failed was then tried once more.
func (m *Message) Retried() (n int64, more, ok bool) {
	for k := range m.rows() {
		for c := range model.Each(k.Tries) {
			if found, there := m.counted(c); there && (!ok || found > n) {
				n = found
				more = !c.Attempts
				ok = true
			}
		}

		if s, stamped := k.stamped(m); stamped && s.retries > 0 {
			return s.retries, true, true
		}
		if ok {
			return n, more, true
		}
	}

	return 0, false, false
}

// RetriesLeft returns how many retries its framework still allows, for frameworks that count down.
func (m *Message) RetriesLeft() (int64, bool) {
	r := reader{m: m}
	for k := range m.rows() {
		for _, s := range k.Left {
			text, _ := r.text(s)
			if n, ok := count(text); ok {
				return n, true
			}
		}
	}

	return 0, false
}

// counted returns the highest count at the places of a counter.
func (m *Message) counted(c *counter) (most int64, ok bool) {
	if c.At.in == inBody {
		r := reader{m: m}
		text, _ := r.text(c.At)
		return count(text)
	}

	v, there := m.Headers[c.At.path[0]]
	if !there {
		return 0, false
	}
	changed(v, c.At.path[1:], c.At.path[:1], func(_ []string, v any) (any, bool) {
		if n, counts := count(v); counts && n >= 0 {
			most, ok = max(most, n), true
		}
		return v, true
	})

	return most, ok
}

// WantsReply reports whether the sender expects a reply, where the message names a queue for it. Celery names one in
// every task, even when nothing waits for it.
func (m *Message) WantsReply() bool {
	for k := range m.rows() {
		if k.NamesReply {
			return false
		}
	}

	return m.Properties.ReplyTo != ""
}

// FrameworkWords describe what the message's framework wrote into it: "Celery: shop.charge, counts 2, due
// 2026-11-22T07:00:05.000Z"; "" without a framework.
func (m *Message) FrameworkWords() string {
	f := m.frameworkJSON()
	if f == nil {
		return ""
	}
	words := string(f.Name)
	mark := ": "
	add := func(what, text string) {
		if text != "" {
			words, mark = words+mark+what+text, ", "
		}
	}
	add("", model.Printable(f.Task))
	if f.Counted != nil {
		add("counts ", model.Count(*f.Counted))
	}
	if left, ok := m.RetriesLeft(); ok {
		add("retries left: ", model.Count(left))
	}

	add("due ", f.Due)
	add("expires ", f.Expires)
	return words
}
