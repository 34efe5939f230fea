package model

import (
	"net/url"
	"strings"
)

// workerConventions are where frameworks write down the queue in which a message failed.
var workerConventions = []struct {
	name  string
	needs path // beside the queue
	queue path
}{
	{name: "NServiceBus", queue: path{"NServiceBus.FailedQ"}},
	{name: "Rebus", queue: path{"rbs2-source-queue"}, needs: path{"rbs2-error-details"}},
	{name: "Rascal", queue: path{"rascal", "originalQueue"}},
	{name: "MassTransit", queue: path{"MT-Fault-InputAddress"}},
	{name: "Watermill", queue: path{"topic_poisoned"}, needs: path{"reason_poisoned"}},
}

// Worker is the queue in which a message failed, and the framework that wrote it down; false when none did. What x-death tells
// is not in it: the newest death can be one in a buffer.
func (m *Message) Worker() (queue, framework string, ok bool) {
	return m.workerBy(opening(m).envelope)
}

// workerBy is Worker for a message whose envelope, if there is one, is open.
func (m *Message) workerBy(e *Envelope) (queue, framework string, ok bool) {
	if e != nil && e.Worker != "" {
		return e.Worker, e.Framework, true
	}
	if len(m.Headers) == 0 {
		return "", "", false
	}
	r := reader{m: m}
	for _, c := range workerConventions {
		queue, ok := r.text(inHeaders, c.queue)
		if !ok || queue == "" {
			continue
		}
		if c.needs != nil && !r.has(inHeaders, []path{c.needs}) {
			continue
		}
		if strings.Contains(queue, "://") { // MassTransit writes an address: rabbitmq://host/vhost/queue?durable=true
			u, err := url.Parse(queue)
			if err != nil {
				continue
			}
			escaped := u.EscapedPath()
			if queue, err = url.PathUnescape(escaped[strings.LastIndexByte(escaped, '/')+1:]); err != nil {
				continue
			}
		}
		return queue, c.name, queue != ""
	}
	return "", "", false
}
