package build

import (
	"strconv"
	"strings"

	"github.com/dlxtop/dlxtop/model"
)

// Text returns the objects of a text, one a line; their settings follow as name=value, and arguments by their own
// names:
//
//	exchange TYPE NAME
//	queue NAME consumers=1 dlx=x key=k ttl=1000 policy=p,message-ttl=5
//	quorum NAME delivery-limit=3 at-least-once
//	stream NAME x-max-age=1h
//	buffer NAME TO TTL
//	bind EXCHANGE [KEY] QUEUE
//	bind-exchange EXCHANGE [KEY] EXCHANGE
//	bind-headers EXCHANGE QUEUE name=value
//	policy NAME PATTERN PRIORITY name=value
func Text(lines string) Part {
	return func(s *model.Snapshot) {
		for line := range strings.Lines(lines) {
			if words := strings.Fields(line); len(words) > 0 {
				object(words[0], words[1:])(s)
			}
		}
	}
}

// UnmarshalText reads a Text from a file of cases.
func (p *Part) UnmarshalText(text []byte) error {
	*p = Text(string(text))
	return nil
}

func object(kind string, words []string) Part {
	last := len(words) - 1
	switch kind {
	case "exchange":
		var arguments []any
		for name, value := range table(words[2:]) {
			arguments = append(arguments, name, value)
		}
		return Exchange(words[0], words[1], arguments...)

	case "queue":
		return Queue(words[0], settings(words[1:])...)
	case "quorum":
		return Quorum(words[0], settings(words[1:])...)
	case "stream":
		return Queue(words[0], append(settings(words[1:]), OfType(model.Stream))...)

	case "buffer":
		return Buffer(words[0], words[1], number(words[2]), settings(words[3:])...)
	case "bind":
		return Bind(words[0], strings.Join(words[1:last], ""), words[last])
	case "bind-exchange":
		return BindExchange(words[0], strings.Join(words[1:last], ""), words[last])
	case "bind-headers":
		return BindHeaders(words[0], words[1], table(words[2:]))
	case "policy":
		return UserPolicy(words[0], words[1], number(words[2]), table(words[3:]))
	}

	panic("an unknown object: " + kind)
}

func settings(words []string) (all []Setting) {
	for _, word := range words {
		all = append(all, setting(word))
	}
	return all
}

// arguments are short names of common arguments.
var arguments = map[string]string{
	"delivery-limit": "x-delivery-limit",
	"dlx":            "x-dead-letter-exchange",
	"key":            "x-dead-letter-routing-key",
	"max-length":     "x-max-length",
	"ttl":            "x-message-ttl",
}

func setting(word string) Setting {
	name, text, _ := strings.Cut(word, "=")
	switch name {
	case "consumers":
		return Consumers(number(text))
	case "ready":
		return Ready(number(text))
	case "bytes":
		return func(q *model.Queue) { q.ReadyBytes = model.Some(number(text)) }
	case "acked":
		return Counted(0, int64(number(text)))
	case "delivered":
		return func(q *model.Queue) { q.Delivered = model.Some(number(text)) }
	case "published":
		return func(q *model.Queue) { q.Published = model.Some(number(text)) }
	case "exclusive":
		return func(q *model.Queue) { q.Exclusive = true }
	case "at-least-once":
		return atLeastOnce
	case "reject-publish":
		return Argument("x-overflow", name)
	case "policy":
		words := strings.Split(text, ",")
		return Policy(words[0], table(words[1:]))
	}

	if argument, known := arguments[name]; known {
		name = argument
	}
	if !strings.HasPrefix(name, "x-") {
		panic("an unknown setting: " + word)
	}
	return Argument(name, value(text))
}

func table(words []string) model.Table {
	all := model.Table{}
	for _, word := range words {
		name, text, _ := strings.Cut(word, "=")
		all[name] = value(text)
	}
	return all
}

// value returns an integer, or else a text.
func value(text string) any {
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return n
	}
	return text
}

func number(text string) int64 { return value(text).(int64) }
