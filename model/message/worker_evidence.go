package message

import (
	"net/url"
	"regexp"
	"strings"

	"github.com/dlxtop/dlxtop/model"
)

// Statement is the queue in which a message failed, as a framework or an application recorded it.
type Statement struct {
	Queue     string
	Others    []string          // other names that the queue can have: of a channel and a group
	VHost     model.Opt[string] // where it is recorded
	Framework string            // "" for an application's own record
	Where     string            // without a framework: "x-original-queue"
	Topic     bool              // Queue is a topic: a queue only if one of that name exists
	Weak      bool              // Where is no name of an origin: believed where nothing disagrees
	Unusable  string            // why the record names no queue: "is a table"; "" when it does
}

// Worker returns the queue in which a message of a vhost failed, with its vhost where that is another one, and the
// framework that recorded it; "" without a record. x-death does not count: its newest death may be in a buffer.
func (m *Message) Worker(vhost string) (queue, framework string) {
	for _, s := range m.Stated(Opening(m).Envelope) {
		if s.Unusable != "" {
			continue
		}
		if other := s.VHost.Or(vhost); other != vhost {
			s.Queue = model.QueueRef{VHost: other, Name: s.Queue}.String()
		}
		return s.Queue, s.Framework
	}

	return "", ""
}

// Stated returns the records of the queue in which a message failed whose envelope, if any, is open: of its framework,
// then of its application.
func (m *Message) Stated(e *Envelope) (stated []Statement) {
	if e != nil && e.Worker != "" {
		return []Statement{{Queue: e.Worker, Framework: e.Framework}}
	}

	r := reader{m: m}
	for k := range model.Each(frameworks()) {
		if k.Worker == nil {
			continue
		}

		queue, ok := r.text(k.Worker.Queue)
		if !ok || queue == "" || !r.has(k.Worker.Needs) {
			continue
		}
		if s := (Statement{Queue: queue, Framework: string(k.Name), Topic: k.Worker.Topic}); s.readAddress() {
			stated = append(stated, s)
			break
		}
	}

	if s, ok := m.recorded().queue(); ok && (s.Unusable != "" || s.readAddress()) {
		stated = append(stated, s)
	}

	return stated
}

// address10 matches an address of AMQP 1.0, of both versions that RabbitMQ knows.
var address10 = regexp.MustCompile(`^/(queues|queue|amq/queue)/[^/]+$`)

// readAddress splits a queue that is written as an address; false when it names none.
func (s *Statement) readAddress() (ok bool) {
	if strings.Contains(s.Queue, "://") || address10.MatchString(s.Queue) {
		if s.VHost, s.Queue, ok = readAddress(s.Queue); !ok {
			return false
		}
	}

	return s.Queue != ""
}

// readAddress parses a queue's address as MassTransit writes it: rabbitmq://host/vhost/queue?durable=true, without a
// vhost for the default one; or as Wolverine does: rabbitmq://queue/NAME, of an unknown vhost.
func readAddress(address string) (vhost model.Opt[string], queue string, ok bool) {
	u, err := url.Parse(address)
	if err != nil {
		return vhost, "", false
	}
	escaped := strings.TrimPrefix(u.EscapedPath(), "/")
	slash := strings.LastIndexByte(escaped, '/')
	queue, _ = url.PathUnescape(escaped[slash+1:]) // what was parsed can be
	if !strings.HasPrefix(u.Scheme, "rabbitmq") && !strings.HasPrefix(u.Scheme, "amqp") ||
		u.Host == "queue" && slash < 0 {
		return vhost, queue, true
	}
	name := "/"
	if slash >= 0 {
		name, _ = url.PathUnescape(escaped[:slash])
	}

	return model.Some(name), queue, true
}
