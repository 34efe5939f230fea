package message

import (
	"bytes"
	"maps"
	"slices"
	"strings"

	"github.com/dlxtop/dlxtop/model"
)

// recorded is where an application wrote that a message came from, by names such as x-original-queue, originRoutingKey
// or source_exchange: in headers, or in a body that describes a failure. It is a claim: what it names may not exist. A
// plain "queue" beside an error is one, too, but a weak one, and none where x-death has the queue.
type recorded []plainField

func (m *Message) recorded() recorded {
	fields := m.headerFields()
	found := originsIn(fields)
	if len(found) == 0 {
		if found = fields; !describesFailure(found, false) {
			found = m.bodyFields()
		}
		if !describesFailure(found, true) {
			found = nil
		}
	}

	weak := len(m.Deaths) == 0 && describesFailure(found, false)
	return slices.DeleteFunc(bestFirst(found), func(f plainField) bool { return f.role < queueRole || f.vague && !weak })
}

// describesFailure reports whether fields have an error, or what may be one.
func describesFailure(fields []plainField, maybe bool) bool {
	return slices.ContainsFunc(fields, func(f plainField) bool {
		return (f.role == messageRole || f.role == traceRole) && (maybe || !f.vague)
	})
}

// originsIn returns those of the headers' fields that name an origin, in any order.
func originsIn(fields []plainField) (found []plainField) {
	for _, f := range fields {
		if f.role >= queueRole && !f.vague && !slices.ContainsFunc(frameworks(), func(k framework) bool {
			return k.Worker != nil && k.Worker.Queue.path[0] == f.at[0] // its row says when it counts
		}) {
			found = append(found, f)
		}
	}

	return found
}

// get returns the best usable field of a role.
func (told recorded) get(role plainRole) (plainField, bool) {
	for _, f := range told {
		if _, text := model.AsText(f.value); f.role == role && text && len(f.text) <= longestName {
			return f, true
		}
	}

	return plainField{}, false
}

// longestName is the maximum length of AMQP's names and keys, in bytes.
const longestName = 255

// queue returns the queue that is named, or that the names of a channel and of a group make.
func (told recorded) queue() (s Statement, ok bool) {
	if vhost, named := told.get(vhostRole); named {
		s.VHost = model.Some(vhost.text)
	}

	if queue, named := told.get(queueRole); named && queue.text != "" {
		s.Queue, s.Where, s.Weak = queue.text, queue.where(), queue.vague
		return s, true
	}

	channel, named := told.get(channelRole)
	group, grouped := told.get(groupRole)
	if named && grouped {
		for _, pair := range [][2]string{{group.text, channel.text}, {channel.text, group.text}} {
			for _, between := range []string{".", "-", "_", ":", "/", "@"} {
				s.Others = append(s.Others, pair[0]+between+pair[1])
			}
		}

		s.Queue, s.Others = s.Others[0], s.Others[1:]
		s.Where = channel.where() + " and " + group.where()
		return s, true
	}

	for _, f := range []plainField{channel, group} {
		if f.text != "" {
			s.Queue, s.Where, s.Topic = f.text, f.where(), true
			return s, true
		}
	}

	for _, f := range told {
		if f.role == queueRole {
			s.Where, s.Unusable = f.where(), f.unusable()
			return s, true
		}
	}

	return s, false
}

func (f *plainField) where() string { return strings.Join(f.at, ".") }

// unusable returns why the value of a field is no name.
func (f *plainField) unusable() string {
	text, ok := model.AsText(f.value)
	switch {
	case !ok:
		return "is " + kindOf(f.value)
	case text == "":
		return "is empty"
	}

	return model.Sayf("has %v bytes, and a name at most %d", len(text), longestName)
}

// FirstKey returns the routing key with which the message was first published, if the application recorded it, and
// where.
func (m *Message) FirstKey() (key, where string, ok bool) {
	if f, ok := recorded(bestFirst(originsIn(m.headerFields()))).get(keyRole); ok {
		return m.OwnKey(f.text), f.where(), true
	}
	return "", "", false
}

// Mentions returns a text that is one of those wanted, alone in a header or in a member of a JSON body, and where it
// stands.
func (m *Message) Mentions(wanted func(text string) bool) (text, where string, ok bool) {
	for _, key := range slices.Sorted(maps.Keys(m.Headers)) {
		if text, is := m.Headers.Text(key); is && !IsBrokerHeader(key) && wanted(text) {
			return text, key, true
		}
	}

	body := bytes.TrimLeft(m.Body, " \t\r\n")
	if !m.whole() || len(body) == 0 || body[0] != '{' {
		return "", "", false
	}
	for p := range JSONParts(body) {
		var text string
		raw := body[p.From:p.To]
		if len(raw) <= longestName+2 && jsonString(raw, &text) && wanted(text) {
			return text, "body." + p.Name(), true
		}
	}

	return "", "", false
}
