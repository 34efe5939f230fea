package message

import (
	"net/url"
	"strings"

	"github.com/dlxtop/dlxtop/model"
)

// workerConventions are where frameworks write down the queue in which a message failed.
var workerConventions = []struct {
	name  string
	queue spot
	needs []spot // required besides the queue
	topic bool   // a queue has its name, or an exchange does, depending on the application's setup
}{
	{name: "NServiceBus", queue: header("NServiceBus.FailedQ")},
	{name: "Rebus", queue: header("rbs2-source-queue"), needs: headers("rbs2-error-details")},
	{name: "Rascal", queue: header("rascal", "originalQueue")},
	{name: "MassTransit", queue: header("MT-Fault-InputAddress")},
	{name: "Watermill", queue: header("topic_poisoned"), needs: headers("reason_poisoned"), topic: true},
}

// Statement is the queue in which a message failed, as a framework recorded it.
type Statement struct {
	Queue     string
	VHost     model.Opt[string] // only MassTransit records it
	Framework string
	Topic     bool // Queue is a topic (Watermill): a queue only if one of that name exists
}

// Worker is the queue in which a message failed, and the framework that recorded it; false without a record. x-death
// does not count: its newest death may be in a buffer.
func (m *Message) Worker() (queue, framework string, ok bool) {
	s, ok := m.Stated(Opening(m).Envelope)
	return s.Queue, s.Framework, ok
}

// Stated is Worker for a message whose envelope, if any, is open.
func (m *Message) Stated(e *Envelope) (Statement, bool) {
	if e != nil && e.Worker != "" {
		return Statement{Queue: e.Worker, Framework: e.Framework}, true
	}
	if len(m.Headers) == 0 {
		return Statement{}, false
	}
	r := reader{m: m}
	for _, c := range workerConventions {
		queue, ok := r.text(c.queue)
		if !ok || queue == "" || !r.has(c.needs) {
			continue
		}
		s := Statement{Queue: queue, Framework: c.name, Topic: c.topic}
		if strings.Contains(queue, "://") {
			if s.VHost, s.Queue, ok = readAddress(queue); !ok {
				continue
			}
		}
		return s, s.Queue != ""
	}
	return Statement{}, false
}

// readAddress parses a queue's address as MassTransit writes it: rabbitmq://host/vhost/queue?durable=true, without a
// vhost for the default one.
func readAddress(address string) (vhost model.Opt[string], queue string, ok bool) {
	u, err := url.Parse(address)
	if err != nil {
		return vhost, "", false
	}
	escaped := strings.TrimPrefix(u.EscapedPath(), "/")
	slash := strings.LastIndexByte(escaped, '/')
	if queue, err = url.PathUnescape(escaped[slash+1:]); err != nil {
		return vhost, "", false
	}
	if !strings.HasPrefix(u.Scheme, "rabbitmq") && !strings.HasPrefix(u.Scheme, "amqp") {
		return vhost, queue, true
	}
	name := "/"
	if slash >= 0 {
		if name, err = url.PathUnescape(escaped[:slash]); err != nil {
			return vhost, queue, true
		}
	}
	return model.Some(name), queue, true
}
