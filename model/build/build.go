package build

import (
	"bytes"
	"embed"
	"fmt"
	"io/fs"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/dlxtop/dlxtop/model"
)

// This file is a small language for topologies in tests: Broker("4.0.5", Queue("a", DLX("x")), Exchange("direct", "x"),
// Bind("x", "k", "b")).

// Part adds an object to a broker.
type Part func(*model.Snapshot)

// Broker returns the snapshot of a broker with the vhost /, the default exchange and these parts.
func Broker(version string, parts ...Part) *model.Snapshot {
	s := &model.Snapshot{
		TakenAt:  time.Unix(1_800_000_000, 0),
		Overview: model.Overview{Version: model.ParseVersion(version)}, VHosts: []string{"/"},
	}

	s.Exchanges = append(s.Exchanges, model.Exchange{ExchangeRef: model.ExchangeRef{VHost: "/", Name: ""}, Type: "direct"})
	s.Bindings = []model.Binding{}
	for _, p := range parts {
		p(s)
	}

	return s
}

// TopologyOf returns the topology of such a broker.
func TopologyOf(version string, parts ...Part) *model.Topology {
	return model.NewTopology(Broker(version, parts...))
}

// Described returns the topology of a broker that has what a text says (Text), and these parts.
func Described(version, text string, parts ...Part) *model.Topology {
	return TopologyOf(version, append([]Part{Text(text)}, parts...)...)
}

// Ref returns a queue of the vhost /.
func Ref(name string) model.QueueRef { return model.QueueRef{VHost: "/", Name: name} }

// Refs returns queues of the vhost /.
func Refs(names ...string) []model.QueueRef {
	var rs []model.QueueRef
	for _, n := range names {
		rs = append(rs, Ref(n))
	}
	return rs
}

// Setting changes a queue.
type Setting func(*model.Queue)

// Some returns a count.
func Some(n int64) model.Opt[int64] { return model.Some(n) }

// Queue returns a durable classic queue, empty and without consumers unless a setting says otherwise.
func Queue(name string, settings ...Setting) Part {
	return func(s *model.Snapshot) {
		q := model.Queue{
			QueueRef:         Ref(name),
			Type:             model.Classic,
			Durable:          true,
			Arguments:        model.Table{},
			PolicyDefinition: model.Table{},
			Ready:            model.Some[int64](0),
			Unacked:          model.Some[int64](0),
			Consumers:        model.Some[int64](0),
		}

		for _, set := range settings {
			set(&q)
		}

		s.Queues = append(s.Queues, q)
	}
}

// Quorum returns a Queue that is a quorum queue.
func Quorum(name string, settings ...Setting) Part {
	return Queue(name, append(settings, OfType(model.Quorum))...)
}

// Argument sets an argument of the queue; the settings below are shortcuts for common ones.
func Argument(key string, v any) Setting { return func(q *model.Queue) { q.Arguments[key] = v } }

// DLX sets the queue's dead-letter exchange and, optionally, routing key, as arguments.
func DLX(name string, key ...string) Setting {
	return func(q *model.Queue) {
		Argument("x-dead-letter-exchange", name)(q)
		for _, k := range key {
			DeadKey(k)(q)
		}
	}
}

// Buffer returns a queue in which messages wait this many ms before they go to another one.
func Buffer(name, to string, ms int64, settings ...Setting) Part {
	return Queue(name, append(settings, DLX("", to), TTL(ms))...)
}

// DeadKey sets the dead-letter routing key, as an argument.
func DeadKey(key string) Setting { return Argument("x-dead-letter-routing-key", key) }

// TTL sets the message TTL in ms, as an argument.
func TTL(ms int64) Setting { return Argument("x-message-ttl", ms) }

// DeliveryLimit sets the delivery limit, as an argument.
func DeliveryLimit(n int64) Setting { return Argument("x-delivery-limit", n) }

// Consumers sets the number of consumers.
func Consumers(n int64) Setting { return func(q *model.Queue) { q.Consumers = model.Some(n) } }

// Ready sets the number of ready messages.
func Ready(n int64) Setting { return func(q *model.Queue) { q.Ready = model.Some(n) } }

// OfType sets the queue type.
func OfType(t model.QueueType) Setting { return func(q *model.Queue) { q.Type = t } }

// atLeastOnce makes it a quorum queue that keeps dead letters until a queue confirms them.
func atLeastOnce(q *model.Queue) {
	q.Type = model.Quorum
	q.Arguments["x-dead-letter-strategy"], q.Arguments["x-overflow"] = "at-least-once", "reject-publish"
}

// Policy sets the policy that applies to the queue.
func Policy(name string, definition model.Table) Setting {
	return func(q *model.Queue) { q.Policy, q.PolicyDefinition = name, definition }
}

// Exchange returns an exchange; its arguments are alternating names and values.
func Exchange(kind, name string, arguments ...any) Part {
	return func(s *model.Snapshot) {
		x := model.Exchange{ExchangeRef: model.ExchangeRef{VHost: "/", Name: name}, Type: kind, Arguments: model.Table{}}
		for i := 0; i+1 < len(arguments); i += 2 {
			x.Arguments[arguments[i].(string)] = arguments[i+1]
		}
		s.Exchanges = append(s.Exchanges, x)
	}
}

// Bind binds a queue to an exchange.
func Bind(source, key, queue string) Part {
	return func(s *model.Snapshot) {
		s.Bindings = append(s.Bindings, model.Binding{VHost: "/", Source: source, RoutingKey: key, Destination: queue})
	}
}

// BindExchange binds an exchange to another one.
func BindExchange(source, key, destination string) Part {
	return func(s *model.Snapshot) {
		s.Bindings = append(s.Bindings, model.Binding{
			VHost:       "/",
			Source:      source,
			RoutingKey:  key,
			Destination: destination,
			ToExchange:  true,
		})
	}
}

// BindHeaders binds a queue to a headers exchange.
func BindHeaders(source, queue string, arguments model.Table) Part {
	return func(s *model.Snapshot) {
		s.Bindings = append(s.Bindings, model.Binding{VHost: "/", Source: source, Destination: queue, Arguments: arguments})
	}
}

// UserPolicy returns a policy in the broker's list; which one applies to a queue is the queue's own setting. applyTo:
// queues by default.
func UserPolicy(name, pattern string, priority int64, definition model.Table, applyTo ...string) Part {
	return func(s *model.Snapshot) {
		p := model.Policy{
			VHost:      "/",
			Name:       name,
			Pattern:    pattern,
			Priority:   priority,
			Definition: definition,
			ApplyTo:    "queues",
		}

		for _, to := range applyTo {
			p.ApplyTo = to
		}

		s.Policies = append(s.Policies, p)
	}
}

// CheckPrintable checks that a terminal shows a text unchanged, on one line.
func CheckPrintable(t interface{ Errorf(string, ...any) }, s string) {
	if !utf8.ValidString(s) {
		t.Errorf("not UTF-8: %q", s)
	}

	for i, r := range s {
		if !unicode.IsPrint(r) || model.IsHidden(r) || i == 0 && unicode.IsMark(r) {
			t.Errorf("%U at %d of %q", r, i, s)
		}
	}
}

// The five systems of the demo, as their brokers declare them.
var ScenarioParts = map[string][]Part{
	"retry-queue": {
		Text(`
			exchange fanout RetryExchange
			queue RetryQueue consumers=2
			bind RetryExchange RetryQueue
			queue default-delay dlx=RetryExchange ttl=60000
			queue test-delay dlx=RetryExchange ttl=10000
		`),
	},
	"delayed": {
		Text(`
			exchange direct out.exchange
			exchange direct dlx.exchange
			queue buffer-queue dlx=dlx.exchange key=dlx.routing.key
			queue worker-queue consumers=1
			bind out.exchange out.routing.key buffer-queue
			bind dlx.exchange dlx.routing.key worker-queue
		`),
	},
	"delayed, queue TTL, the worker is down": {
		Text(`
			exchange direct out.exchange
			exchange direct dlx.exchange
			queue buffer-queue dlx=dlx.exchange key=dlx.routing.key ttl=5000
			queue worker-queue
			bind out.exchange out.routing.key buffer-queue
			bind dlx.exchange dlx.routing.key worker-queue
		`),
	},
	"pubsub": {
		Text(`
			exchange topic master
			exchange topic master.retry
			exchange topic master.failed
			queue ucenter@user consumers=1
			bind master user.* ucenter@user
			bind master ucenter@user ucenter@user
			queue ucenter@user@retry dlx=master key=ucenter@user ttl=30000
			bind master.retry ucenter@user ucenter@user@retry
			queue ucenter@user@failed
			bind master.failed ucenter@user ucenter@user@failed
			queue user-monitor consumers=1
			bind master user.* user-monitor
			bind master user-monitor user-monitor
		`),
	},
	"lifecycle": {
		Text(`
			exchange fanout amq.fanout
			exchange fanout example.dlx.exchange
			queue example.delay.life dlx=example.dlx.exchange
			queue example.delay.heaven
			bind amq.fanout example.delay.life
			bind example.dlx.exchange example.delay.heaven
		`),
	},
	"a worker that dead-letters into its retry buffer, policies only": {
		Text(`
			exchange direct dlx
			queue orders consumers=3 policy=orders,dead-letter-exchange=dlx,dead-letter-routing-key=wait
			queue orders.wait policy=wait-10s,message-ttl=10000,dead-letter-exchange=,dead-letter-routing-key=orders
			bind dlx wait orders.wait
		`),
	},
	"the same, with the worker down": {
		Text(`
			queue orders dlx= key=orders.wait
			queue orders.wait dlx= key=orders ttl=10000
		`),
	},
	"a plain worker with a dead-letter queue": {
		Text(`
			exchange fanout dead
			queue mail consumers=1 dlx=dead
			queue mail.dlq
			bind dead mail.dlq
		`),
	},
	"a plain worker that is down": {
		Text(`
			exchange fanout dead
			queue mail dlx=dead ttl=86400000
			queue mail.dlq
			bind dead mail.dlq
		`),
	},
	"a worker that is named for retries, and is down": {
		Text(`
			exchange fanout RetryExchange
			queue RetryQueue dlx= key=FailedQueue
			queue FailedQueue
			bind RetryExchange RetryQueue
			queue test-delay dlx=RetryExchange ttl=10000
		`),
	},
	"a chain of buffers": {
		Text(`
			queue mail consumers=1
			queue wait.1 dlx= key=wait.2 ttl=10000
			queue wait.2 dlx= key=mail ttl=60000
		`),
	},
	"nothing that waits or fails": {Text(`
		queue a consumers=1
		queue b
	`)},
}

// Told writes flows as one line for each queue, for comparison in tests.
func Told(flows []model.Flow) []string {
	var lines []string
	for _, f := range flows {
		line := f.Name + ":"
		for _, b := range f.Buffers {
			ttl := "per message"
			if d, ok := b.TTL.Get(); ok {
				ttl = model.ShortDuration(d)
			}
			if most, ok := b.MaxTTL.Get(); ok {
				ttl += "…" + model.LongDuration(most)
			}
			line += fmt.Sprintf(" %s=%s(%s, %s)", b.Name(), b.Role, ttl, b.TTLSource)
		}

		for _, m := range f.Failed {
			line += fmt.Sprintf(" %s=failed", m.Queue.Name)
		}
		if f.DelayedRetry.Type.Set {
			line += fmt.Sprintf(" retries by itself: %s", f.DelayedRetry.Type)
		}

		lines = append(lines, line)
	}

	return lines
}

// DelayLevels returns the exchanges and queues with which NServiceBus and Celery delay: level n holds a message for 2^n
// s when the key's word for that level is 1, and passes it on through a binding between exchanges when it is 0.
func DelayLevels(name, delivery string, levels int) []Part {
	parts := []Part{Exchange("topic", delivery)}
	words := func(level int, last string) string { return strings.Repeat("*.", levels-1-level) + last }
	for level := levels - 1; level >= 0; level-- {
		at, next := fmt.Sprintf(name, level), delivery
		if level > 0 {
			next = fmt.Sprintf(name, level-1)
		}
		parts = append(parts,
			Exchange("topic", at),
			Queue(at, OfType(model.Quorum), DLX(next), TTL(1000<<level), Argument("x-overflow", "reject-publish"),
				Argument("x-dead-letter-strategy", "at-least-once")),
			Bind(at, words(level, "1.#"), at), BindExchange(at, words(level, "0.#"), next),
		)
	}

	return parts
}

// DramatiqParts are the queues that Dramatiq declares for a queue mail: its own, delayed and dead messages.
var DramatiqParts = []Part{
	Text(`
		queue mail consumers=1 dlx= key=mail.XQ
		queue mail.DQ consumers=1 dlx= key=mail.XQ
		queue mail.XQ ttl=604800000
	`),
}

// Noon is the time at which tests take place.
var Noon = time.Date(2024, 5, 1, 12, 0, 0, 0, time.UTC)

// Endpoint returns a queue with its exchange of the same name, bound to the delays as NServiceBus does it.
func Endpoint(name string, consumers int64) Part {
	return func(s *model.Snapshot) {
		for _, p := range []Part{
			Exchange("fanout", name), Quorum(name, Consumers(consumers)), Bind(name, "", name),
			BindExchange("nsb.v2.delay-delivery", "#."+name, name),
		} {
			p(s)
		}
	}
}

// An error message as EasyNetQ 3 writes it, with every property and a flag whether it was present.
const EasyNetQ3 = `{"RoutingKey":"orders.new","Exchange":"Orders:Shop","Queue":"Orders:Shop_billing","Exception":"System.TimeoutException: smtp gateway\r\n   at Mail.Send()","Message":"{\"Id\":121,\"Name\":\"Zo\\u00eb \\\"Z\\\" Łuk — 日本 \\/\",\"Big\":12345678901234567890.10}","DateTime":"2024-05-01T12:00:00.1234567Z","BasicProperties":{"ContentTypePresent":false,"ContentEncodingPresent":false,"HeadersPresent":true,"DeliveryModePresent":true,"PriorityPresent":false,"CorrelationIdPresent":true,"ReplyToPresent":false,"ExpirationPresent":true,"MessageIdPresent":false,"TimestampPresent":true,"TypePresent":true,"UserIdPresent":false,"AppIdPresent":false,"ClusterIdPresent":false,"ContentType":null,"ContentEncoding":null,"Headers":{"tenant":"blue","attempt":2,"ratio":0.5,"urgent":true,"nothing":null},"DeliveryMode":2,"Priority":0,"CorrelationId":"c-1","ReplyTo":null,"Expiration":"60000","MessageId":null,"Timestamp":1714564800,"Type":"Orders:Shop","UserId":null,"AppId":null,"ClusterId":null,"PropertyFlags":4096}}`

//go:embed testdata
var dead embed.FS

// ExportedLines returns lines of `dlxtop export`: messages that real nodes dead-lettered for each of the four reasons,
// and one with headers of every type.
func ExportedLines(tb testing.TB) [][]byte {
	tb.Helper()
	files, err := fs.Glob(dead, "testdata/dead-*.jsonl")
	if err != nil || len(files) != 3 {
		tb.Fatal(files, err)
	}

	lines := [][]byte{[]byte(everyType)}
	for _, name := range files {
		text, err := dead.ReadFile(name)
		if err != nil {
			tb.Fatal(err)
		}
		lines = append(lines, bytes.Split(bytes.TrimSpace(text), []byte("\n"))...)
	}

	return lines
}

const everyType = `{"position":1,"exchange":"$base64:/w==","routing_key":"k","redelivered":true,"properties":{"expiration":"5","timestamp":"@253402300800","priority":9},` +
	`"headers":{"b":{"$type":"bytes","value":"dGV4dA=="},"s":{"$type":"string","value":"/w=="},"t":{"$type":"timestamp","value":"2026-05-06T07:08:09.000Z"},` +
	`"d":{"$type":"decimal","value":{"scale":2,"value":-1250}},"i":{"$type":"int32","value":-1},"u":{"$type":"uint64","value":18446744073709551615},` +
	`"f":{"$type":"float32","value":"NaN:7fc00001"},"g":{"$type":"float64","value":"-0"},"h":0.5,"n":null,"l":[true,{"a":{"$type":"table","value":{"$type":"int8"}}}],` +
	`"$base64:/w==":1,"$type":"x"},"body":"/w==","body_encoding":"base64","body_bytes":1,"deaths":[]}`

// CheckError checks that an error can be shown: one printable line of bounded length.
func CheckError(t *testing.T, err error) {
	t.Helper()
	if text := err.Error(); model.Printable(text) != text || len(text) > 1000 {
		t.Errorf("the error cannot be shown: %d bytes, %.1500q", len(text), text)
	}
}

// CheckLine writes a value as a line of JSON, and checks that it has no effect on a terminal.
func CheckLine(t *testing.T, v any) []byte {
	t.Helper()
	line, err := model.JSONLine(v)
	if err != nil {
		t.Fatalf("%+v cannot be written: %v", v, err)
	}
	if !utf8.Valid(line) || bytes.ContainsFunc(line, func(r rune) bool { return r == '\n' || model.Hidden(r) }) {
		t.Errorf("a line that a terminal would act on: %q", line)
	}

	return line
}
